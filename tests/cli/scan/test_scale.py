"""Time and memory for scans of dumps with many subnets."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.command_runs import Run, environment, measured_runs
from express_path_cli.findings.formats import Format
from tests.support import processes
from tests.support.many_subnets import write_organization

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from Linux's /proc"),
]

ACCOUNTS, VPCS, SUBNETS_OF_A_VPC = 40, 2, 130
SUBNETS = ACCOUNTS * VPCS * SUBNETS_OF_A_VPC
READINGS = 50
"""How long a scan may take: times as long as reading the same files as JSON, since machines differ in speed.

It took 38 to 41 beside other runs. Machines that share processors change between the two, so a scan that takes longer is
measured again.
"""
ATTEMPTS = 3
MEBIBYTES = 86
"""The most memory, of which Markdown takes 82."""
LINES = {80: 84, 160: 70}
"""How many lines of a terminal a scan may take by its width, with those that it breaks."""
REPORT = 3 * 1024 * 1024


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dump of 10,400 subnets in 40 accounts, a quarter of them behind a transit gateway."""
    folder = tmp_path_factory.mktemp("scale") / "dump"
    write_organization(folder, ACCOUNTS, VPCS, SUBNETS_OF_A_VPC)
    return folder


@pytest.fixture(scope="module")
def scans(dump: Path) -> dict[str, Run]:
    """Return a scan of it in each format."""
    return measured_runs(dump, dump.parent, Format)


@pytest.mark.parametrize("form", Format)
def test_every_format_takes_little_time_and_memory(scans: dict[str, Run], dump: Path, form: Format) -> None:
    """A scan takes a few times the CPU time of parsing its files, and little memory.

    Processor time, since a machine that runs tests runs several at once.
    """
    run = scans[form]
    for _ in range(1, ATTEMPTS):
        if run.seconds >= READINGS * run.reading:
            run = measured_runs(dump, dump.parent, [form])[form]
    assert run.status == 1
    assert run.seconds < READINGS * run.reading
    assert run.mebibytes < MEBIBYTES


def test_no_subnet_is_left_out(scans: dict[str, Run]) -> None:
    """A scan of many subnets has a verdict on each of them, also on those behind a transit gateway of another account.

    tests/cli/findings/formats looks at what is written.
    """
    rows = json.loads(scans["json"].file.read_bytes())["subnets"]
    assert len({row["subnetId"] for row in rows}) == len(rows) == SUBNETS
    assert sum(row["compliance"] == "COMPLIANT" for row in rows) == SUBNETS // 2
    assert sum(row["reason"] == "NAT_BEYOND_TRANSIT_GATEWAY" for row in rows) == SUBNETS // 4
    assert scans["ocsf"].file.read_bytes().count(b'"class_uid":2003,') == SUBNETS
    assert scans["html"].file.stat().st_size < REPORT


@pytest.mark.parametrize("width", LINES)
def test_a_terminal_gets_a_few_lines(dump: Path, width: int) -> None:
    """It shows the totals, the worst tables, a few changes, and the commands for the rest."""
    env = {**environment(), "FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": str(width)}
    command = [*processes.command(env), "scan", "--quiet", "--from-dump", dump.name]
    run = subprocess.run(command, cwd=dump.parent, env=env, stdout=subprocess.PIPE, text=True, check=False)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", run.stdout).splitlines()
    half = f"{SUBNETS // 2:,}"
    assert lines[0] == f"{SUBNETS:,} subnets: {half} NON_COMPLIANT, {half} COMPLIANT, 0 NOT_APPLICABLE"
    assert sum(max(1, math.ceil(len(line) / width)) for line in lines) <= LINES[width]
    assert lines.count("  express-path scan --output express-path.html --from-dump dump") == 2
