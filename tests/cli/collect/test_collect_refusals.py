"""`express-path collect` on one network, which no test here changes, and where AWS refuses calls."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.pytest_plugin import emptied
from sandbox.server import Sandbox
from tests.cli.collect.collecting import OPTIONAL, REQUIRED, collect, everything
from tests.support.command import scan
from tests.support.network import Builder


@pytest.fixture(scope="module")
def with_everything(running_sandbox: Sandbox) -> Iterator[Sandbox]:
    """Yield the sandbox with a subnet for every kind of egress path."""
    with pytest.MonkeyPatch.context() as changed, emptied(running_sandbox, changed) as sandbox:
        everything(Builder(sandbox))
        yield sandbox


@pytest.fixture
def sandbox(with_everything: Sandbox) -> Sandbox:
    """Return the sandbox with the network, where no call fails yet."""
    with_everything.faults.clear()
    with_everything.calls.clear()
    return with_everything


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that does not exist yet."""
    return tmp_path / "dump"


def test_nothing_is_changed(sandbox: Sandbox, folder: Path) -> None:
    """Collecting makes no call that changes anything."""
    collect(folder)
    assert len(sandbox.calls) > len(REQUIRED)
    assert sandbox.calls.mutating() == []


@pytest.mark.parametrize("name", OPTIONAL)
def test_denied_optional_reads_are_named_and_left_out(sandbox: Sandbox, folder: Path, name: str) -> None:
    """A denied optional read writes no file and is named on stderr, and the dump can be scanned."""
    sandbox.faults.deny(*OPTIONAL[name])
    result = collect(folder)
    assert result.exit_code == 0
    lines = result.stderr.splitlines()
    assert lines
    assert all(line.startswith(str(folder / name)) and "denied" in line for line in lines)
    if name.endswith(".json"):
        assert not (folder / name).exists()
    assert scan(folder).exit_code == 1


@pytest.mark.parametrize("name", REQUIRED)
def test_denied_required_reads_make_no_dump(sandbox: Sandbox, folder: Path, name: str) -> None:
    """A denied required read ends the command with status 2, and the folder cannot be scanned as a dump."""
    service, operation = REQUIRED[name]
    sandbox.faults.deny(service, operation)
    result = collect(folder)
    assert result.exit_code == 2
    assert f"express-path: {sandbox.region}: {service}:{operation} failed with " in result.stderr
    assert "next:" not in result.stdout
    assert scan(folder).exit_code == 2


def test_failing_optional_reads_make_no_dump(sandbox: Sandbox, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Throttling is not a denial: a dump without the file would wrongly say that the data is not readable."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    sandbox.faults.throttle("ec2", "DescribeNetworkInterfaces")
    result = collect(folder)
    assert result.exit_code == 2
    assert "ec2:DescribeNetworkInterfaces failed with RequestLimitExceeded" in result.stderr
    assert scan(folder).exit_code == 2


def test_an_interrupted_collect_leaves_no_valid_dump(sandbox: Sandbox, folder: Path) -> None:
    """The file that makes a folder a dump is written last, so an interrupted dump is not valid."""
    sandbox.faults.deny("sts", "GetCallerIdentity")
    collect(folder)
    assert (folder / "subnets.json").exists()
    assert not (folder / "identity.json").exists()
    assert "identity.json" in scan(folder).stderr
