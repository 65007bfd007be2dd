"""Many subnets from a dump: how long, and in how much memory."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.many_subnets import SUBNETS_OF_A_VPC, write_dump

VPCS = 500
SECONDS = 10
MEBIBYTES = 1024


@pytest.mark.slow
def test_100_000_subnets_take_few_seconds_and_little_memory(tmp_path: Path) -> None:
    """The installed command scans 100,000 subnets within 10 s of processor time and 1 GiB, and misses none.

    Processor time, since a machine that runs tests runs several at once.
    """
    write_dump(tmp_path / "dump", VPCS)
    out = os.open(tmp_path / "out.json", os.O_CREAT | os.O_WRONLY)
    command = str(Path(sys.executable).with_name("express-path"))
    arguments = [command, "scan", "--from-dump", str(tmp_path / "dump"), "--format", "json"]
    process = os.posix_spawn(command, arguments, {"PATH": "/usr/bin"}, file_actions=[(os.POSIX_SPAWN_DUP2, out, 1)])
    os.close(out)
    _, status, used = os.wait4(process, 0)
    assert os.waitstatus_to_exitcode(status) == 1
    assert used.ru_utime + used.ru_stime < SECONDS
    assert used.ru_maxrss / 1024 < MEBIBYTES
    rows = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["subnets"]
    assert len(rows) == VPCS * SUBNETS_OF_A_VPC
    assert sum(each["compliance"] == "COMPLIANT" for each in rows) == len(rows) // 2
