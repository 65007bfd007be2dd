"""Many subnets from a dump: how long, and in how much memory."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.many_subnets import SUBNETS_OF_A_VPC, write_dump

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
    """The seconds of processor time that reading the files as JSON takes."""
    start = time.process_time()
    for file in dump.iterdir():
        json.loads(file.read_text(encoding="utf-8"))
    return time.process_time() - start


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from Linux's /proc")
def test_100_000_subnets_take_little_time_and_memory(tmp_path: Path) -> None:
    """A scan of 100,000 subnets takes 10 seconds, or a few times as long as reading them, 1 GiB, and misses none.

    Processor time, since a machine that runs tests runs several at once.
    """
    write_dump(tmp_path / "dump", VPCS)
    before = reading(tmp_path / "dump")
    out = tmp_path / "out.json"
    with out.open("wb") as file:
        arguments = ["scan", "--from-dump", str(tmp_path / "dump"), "--format", "json"]
        result = subprocess.run(
            [sys.executable, "-c", MEASURED, *arguments],
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=280,
        )
    assert result.returncode == 1, result.stderr
    seconds, mebibytes = json.loads(result.stderr)
    assert seconds < max(SECONDS, READINGS * max(before, reading(tmp_path / "dump")))
    assert mebibytes < MEBIBYTES
    rows = json.loads(out.read_text(encoding="utf-8"))["subnets"]
    assert len(rows) == VPCS * SUBNETS_OF_A_VPC
    assert sum(each["compliance"] == "COMPLIANT" for each in rows) == len(rows) // 2
