"""Time and memory for scans of dumps with many subnets. `make bench` measures a dump of 100,000 subnets."""

import json
import sys

import pytest

from benchmarks.command_runs import Run, measured_runs
from express_path_cli.findings.output import Format
from tests.support.many_subnets import SUBNETS_OF_A_VPC, write_organization

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from Linux's /proc"),
]

ACCOUNTS, VPCS = 10, 5
SUBNETS = ACCOUNTS * VPCS * SUBNETS_OF_A_VPC
READINGS = 25
"""How long a scan may take: times as long as reading the same files as JSON, since machines differ in speed.

On a quiet machine it takes 6 to 10, and twice that if other programs use the same processors.
"""
MEBIBYTES = 76


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Return scans of 10,000 subnets in ten accounts, a quarter of them behind a transit gateway."""
    folder = tmp_path_factory.mktemp("scale")
    write_organization(folder / "dump", ACCOUNTS, VPCS)
    return measured_runs(folder / "dump", folder, Format)


@pytest.mark.parametrize("form", Format)
def test_every_format_takes_little_time_and_memory(scans: dict[str, Run], form: Format) -> None:
    """A scan takes a few times the CPU time of parsing its files, and little memory.

    Processor time, since a machine that runs tests runs several at once.
    """
    run = scans[form]
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
