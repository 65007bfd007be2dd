"""Time and memory for scans of dumps with many subnets."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from express_path_cli.formats.registry import Format
from tests.support.many_subnets import SUBNETS_OF_A_VPC, write_dump

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from Linux's /proc"),
]

VPCS = 500
SECONDS, READINGS = 10, 6
"""How long a scan may take: seconds or, on a slower machine, times as long as reading the same files as JSON."""
MEBIBYTES = 1024
# The command, which tells at its end what it used. VmHWM is the peak of this program alone, while the ru_maxrss of a
# child counts what its parent had when it was started (https://man7.org/linux/man-pages/man5/proc_pid_status.5.html).
MEASURED = """
import atexit, json, resource, sys
from pathlib import Path
from express_path_cli.main import app

def tell():
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(json.dumps([used.ru_utime + used.ru_stime, int(peak.split()[1]) / 1024]), file=sys.stderr)

atexit.register(tell)
app()
"""


def reading(dump: Path) -> float:
    """Return the CPU seconds that it takes to parse the files as JSON."""
    start = time.process_time()
    for file in dump.iterdir():
        json.loads(file.read_text(encoding="utf-8"))
    return time.process_time() - start


class Dump(NamedTuple):
    """A dump with the given number of subnets."""

    folder: Path
    subnets: int

    def scan(self, form: str, out: Path, limit: float = SECONDS) -> str:
        """Scan in a format, check the limits of time and memory, and return the output."""
        with out.open("wb") as file:
            arguments = ["scan", "--from-dump", str(self.folder), "--format", form]
            command = [sys.executable, "-c", MEASURED, *arguments]
            result = subprocess.run(
                command, stdout=file, stderr=subprocess.PIPE, text=True, check=False, timeout=280, env=unmeasured()
            )
        assert result.returncode == 1, result.stderr
        seconds, mebibytes = json.loads(result.stderr)
        share = self.subnets / (VPCS * SUBNETS_OF_A_VPC)
        assert seconds < limit or seconds < READINGS * max(reading(self.folder), reading(self.folder))
        assert mebibytes < MEBIBYTES * share
        return out.read_text(encoding="utf-8")


def unmeasured() -> dict[str, str]:
    """Return the environment without coverage of child processes, which would double their time."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


def dump_of(vpcs: int, folder: Path) -> Dump:
    """Write a dump with the given number of VPCs."""
    write_dump(folder / "dump", vpcs)
    return Dump(folder / "dump", vpcs * SUBNETS_OF_A_VPC)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Dump:
    """Return a dump of 100,000 subnets."""
    return dump_of(VPCS, tmp_path_factory.mktemp("large"))


@pytest.fixture(scope="module")
def smaller(tmp_path_factory: pytest.TempPathFactory) -> Dump:
    """Return a dump of a fifth of that."""
    return dump_of(VPCS // 5, tmp_path_factory.mktemp("smaller"))


def test_100_000_subnets_take_little_time_and_memory(large: Dump, tmp_path: Path) -> None:
    """A scan of 100,000 subnets takes 10 CPU seconds or a few times the parsing time, and 1 GiB.

    Processor time, since a machine that runs tests runs several at once.
    """
    rows = json.loads(large.scan("json", tmp_path / "out"))["subnets"]
    assert len(rows) == large.subnets
    assert sum(row["compliance"] == "COMPLIANT" for row in rows) == len(rows) // 2


@pytest.mark.parametrize(("form", "row"), [("table", "\nsubnet-"), ("ocsf", '"class_uid": 2003,')])
def test_large_formats_take_little_time_and_memory(large: Dump, tmp_path: Path, form: str, row: str) -> None:
    """The limits also hold for the table and for OCSF, which writes far more than it reads."""
    assert large.scan(form, tmp_path / "out").count(row) == large.subnets


@pytest.mark.parametrize("form", [form for form in Format if form not in ("table", "json", "ocsf")])
def test_every_format_is_cheap(smaller: Dump, tmp_path: Path, form: Format) -> None:
    """A fifth of the subnets takes a fifth of the memory in each of the others, and half the time, as it has to start.

    test_formats.py looks at what is written.
    """
    assert smaller.scan(form, tmp_path / "out", SECONDS / 2)
