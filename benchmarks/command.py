"""The command on a dump of 100,000 subnets in ten accounts: where a scan's time goes, and what each format takes.

A quarter of the subnets are behind a transit gateway. The floor is to read the same files as JSON, in this run.
"""

import tempfile
import time
from collections import deque
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.command_runs import measured_runs, seconds_to_read
from express_path.adapters.memory import gc_paused
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.formats.registry import RENDER, Format
from express_path_cli.progress import Silent
from express_path_cli.result import Result
from express_path_cli.selection import Selection, evaluate_all
from express_path_cli.sources.source import Source
from tests.support.many_subnets import SUBNETS_OF_A_VPC, write_organization

ACCOUNTS, VPCS = 10, 50
SUBNETS = ACCOUNTS * VPCS * SUBNETS_OF_A_VPC


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / "dump"
        write_organization(dump, ACCOUNTS, VPCS)
        _show("where the time goes", _steps(dump), seconds_to_read(dump), {})
        runs = {f"scan --format {form}": run for form, run in measured_runs(dump, Path(folder), Format).items()}
        taken = {name: run.seconds for name, run in runs.items()}
        peaks = {name: run.mebibytes for name, run in runs.items()}
        _show("whole scans, without imports", taken, seconds_to_read(dump), peaks)


def _steps(dump: Path) -> dict[str, float]:
    """Return the CPU seconds of each step of a scan: reading, evaluating, and writing each format."""
    parameters, taken = RuleParameters(), {}
    with gc_paused():
        started = time.process_time()
        network = Source(dump).read(parameters, Silent())
        taken["read the dump, as records"] = time.process_time() - started
        started = time.process_time()
        verdicts = evaluate_all(network.views, parameters, Selection())
        taken["evaluate every subnet"] = time.process_time() - started
    result = Result(verdicts, datetime.now(UTC), views=network.views, parameters=parameters)
    for form in Format:
        started = time.process_time()
        deque(RENDER[form](result), maxlen=0)
        taken[f"write {form}"] = time.process_time() - started
    return taken


def _show(title: str, taken: dict[str, float], floor: float, peaks: dict[str, float]) -> None:
    """Print the CPU seconds of each step or scan, and how many times the floor they are."""
    table = Table("what", title=f"{SUBNETS:,} subnets: {title}", title_justify="left")
    for unit in ("s CPU", "times the floor", *(["MiB peak"] if peaks else [])):
        table.add_column(unit, justify="right")
    for name, value in {"floor: read the files as JSON": floor, **taken}.items():
        peak = [f"{peaks[name]:,.0f}" if name in peaks else ""] if peaks else []
        table.add_row(name, f"{value:.2f}", f"{value / floor:.2f}x", *peak)
    Console(width=max(100, Console().width)).print(table)
