"""The lab's network: routes, limits, isolation, and what remains of it."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from express_path_instrument.lab.isolation import IsolatedError, run_isolated
from express_path_instrument.lab.needs import PROGRAMS, find_program, find_server, missing
from express_path_instrument.lab.network import CONGESTION_CONTROL

ROOT = Path(__file__).parents[3]
FACTS = Path(__file__).with_name("network_facts.py")
ENDLESS = f"sleep 1000.{os.getpid()}"
"""A command that only this process starts: others run the tests of the lab on this machine, too."""
needs_namespaces = pytest.mark.skipif(bool(missing()), reason="; ".join(missing()))


@needs_namespaces
def test_route_selects_the_path_and_nothing_leaves_the_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest prefix decides, connections use the pinned congestion control, and a foreign link is an error."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    facts = json.loads(run_isolated([sys.executable, str(FACTS)], 60))
    assert facts["linkAtFirst"] == facts["linkWithoutRoute"] == "c-nat"
    assert facts["linkWithRoute"] == "c-endpoint"
    assert facts["limit"] == "tbf"
    assert facts["congestionControl"] == CONGESTION_CONTROL
    assert json.loads(facts["routesOutside"] or "[]") == []
    assert "leak" in facts["leak"]


@needs_namespaces
def test_program_that_takes_too_long_is_ended() -> None:
    """After its time, the program and its children are gone, and the error says so."""
    with pytest.raises(IsolatedError, match=r"longer than 0\.3 s"):
        run_isolated(["sh", "-c", f"{ENDLESS} & {ENDLESS}"], 0.3)
    assert any(ENDLESS not in commands() for _ in range(100)), "a child outlived the program"


@needs_namespaces
def test_lab_that_receives_too_many_bytes_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the limit of bytes, everything ends at once, here before the server has started."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    settings = json.dumps({"bytes_limit": -1})
    with pytest.raises(IsolatedError, match="status 3"):
        run_isolated([sys.executable, "-m", "express_path_instrument.lab.inside", "/bin/true", settings], 60)


@needs_namespaces
def test_nothing_is_left_after_kill_9() -> None:
    """If the lab's own process is killed, the kernel ends every process of the lab, and its namespaces with them."""
    program = (
        "import sys; from express_path_instrument.lab.isolation import run_isolated; run_isolated(sys.argv[1:], 1000)"
    )
    inner = ["sh", "-c", "ip link add lab0 type veth; sleep 1001 & echo $$ >&2; sleep 1001"]
    lab = subprocess.Popen([sys.executable, "-c", program, *inner], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert lab.stderr
    with lab.stderr:
        first_line = lab.stderr.readline()
        started = descendants(lab.pid)
        inside = namespaces(started) - namespaces([os.getpid()])
        ends = [os.pidfd_open(pid) for pid in started]
        lab.kill()
        lab.wait()
    assert first_line == "1\n"
    assert len(started) >= 3
    for end in ends:
        assert select.select([end], [], [], 30)[0], "a process outlived the lab"
        os.close(end)
    assert inside
    assert inside.isdisjoint(namespaces(int(folder.name) for folder in Path("/proc").glob("[0-9]*")))


def test_missing_programs_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the programs and the server, the message says what to install."""
    monkeypatch.setattr("express_path_instrument.lab.needs._SBIN", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert find_program("ip") is None
    assert find_server() is None
    text = " ".join(missing())
    assert all(name in text for name in (*PROGRAMS.values(), "Install Go"))


def test_refused_namespaces_are_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If the kernel refuses, the message has its error and the settings that decide."""
    for name in PROGRAMS:
        (tmp_path / name).write_text("#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "versitygw").touch(0o755)
    [reason] = missing()
    assert "Operation not permitted" in reason
    assert "user.max_user_namespaces" in reason


def commands() -> list[str]:
    """Return the command lines of all processes of this machine."""
    listed = subprocess.run(["ps", "-eo", "args"], check=True, capture_output=True, text=True)
    return listed.stdout.splitlines()


def namespaces(processes: Iterable[int]) -> set[str]:
    """Return the network namespaces that processes are in."""
    found = set()
    for pid in processes:
        try:
            found.add(str(Path(f"/proc/{pid}/ns/net").readlink()))
        except OSError:  # the process ended, or belongs to another user
            continue
    return found


def descendants(pid: int) -> list[int]:
    """Return the processes that a process started, and those that they started."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], check=True, capture_output=True, text=True)
    parents = dict(tuple(map(int, line.split())) for line in listed.stdout.splitlines())
    found = [pid]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found[1:]
