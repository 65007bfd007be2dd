"""The command: how long it takes to start, and on a dump of 100,000 subnets in ten accounts, where a scan's time goes.

A quarter of the subnets are behind a transit gateway. The floor of a scan is to read the same files as JSON, and that
of a start is to import boto3, both in this run.
"""

import tempfile
import time
from collections import deque
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.command_runs import measured_runs, seconds_to_read, seconds_to_run
from express_path.adapters.memory import gc_paused
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.findings.output import Format, rendered
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import rows_of
from express_path_cli.findings.selection import AccountParameters, Selection, evaluate_all
from express_path_cli.sources.source import Source
from express_path_cli.terminal.progress import Silent
from tests.support.many_subnets import SUBNETS_OF_A_VPC, write_organization

ACCOUNTS, VPCS = 10, 50
SUBNETS = ACCOUNTS * VPCS * SUBNETS_OF_A_VPC
_READ, _IMPORT = "floor: read the files as JSON", "floor: import boto3"


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        small, dump = Path(folder) / "small", Path(folder) / "dump"
        write_organization(small, accounts=1, vpcs=1)
        _show("starts, with imports", {_IMPORT: seconds_to_run("-c", "import boto3"), **_starts(small)}, {})
        write_organization(dump, ACCOUNTS, VPCS)
        _show(f"{SUBNETS:,} subnets: where the time goes", {_READ: seconds_to_read(dump), **_steps(dump)}, {})
        runs = {f"scan --format {form}": run for form, run in measured_runs(dump, Path(folder), Format).items()}
        taken = {name: run.seconds for name, run in runs.items()}
        peaks = {name: run.mebibytes for name, run in runs.items()}
        _show(f"{SUBNETS:,} subnets: whole scans, without imports", {_READ: seconds_to_read(dump), **taken}, peaks)


def _starts(dump: Path) -> dict[str, float]:
    """Return the CPU seconds of whole processes that do little but start."""
    command = ("-c", "from express_path_cli.main import app; app()")
    lines = (["--version"], ["--help"], ["scan", "--help"], ["scan", "--from-dump", str(dump)])
    return {f"express-path {' '.join(line[:2])}": seconds_to_run(*command, *line) for line in lines}


def _steps(dump: Path) -> dict[str, float]:
    """Return the CPU seconds of each step of a scan: reading, evaluating, and writing each format."""
    parameters, taken = RuleParameters(), {}
    with gc_paused():
        started = time.process_time()
        network = Source(dump).read(parameters, Silent())
        taken["read the dump, as records"] = time.process_time() - started
        started = time.process_time()
        verdicts = evaluate_all(network.views, AccountParameters(parameters), Selection())
        taken["evaluate every subnet"] = time.process_time() - started
        started = time.process_time()
        rows = rows_of(verdicts, network.views)
        taken["make rows"] = time.process_time() - started
    result = Result(rows, datetime.now(UTC), parameters=parameters)
    for form in Format:
        started = time.process_time()
        deque(rendered(result, form), maxlen=0)
        taken[f"write {form}"] = time.process_time() - started
    return taken


def _show(title: str, taken: dict[str, float], peaks: dict[str, float]) -> None:
    """Print the CPU seconds of each step or scan, and how many times the first one they are, which is the floor."""
    table, floor = Table("what", title=title, title_justify="left"), next(iter(taken.values()))
    for unit in ("s CPU", "times the floor", *(["MiB peak"] if peaks else [])):
        table.add_column(unit, justify="right")
    for name, value in taken.items():
        peak = [f"{peaks[name]:,.0f}" if name in peaks else ""] if peaks else []
        table.add_row(name, f"{value:.2f}", f"{value / floor:.2f}x", *peak)
    Console(width=max(100, Console().width)).print(table)
