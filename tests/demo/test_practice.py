"""`make sandbox`: a local AWS in a process of its own, in which the command heals and undoes, until Ctrl-C."""

import json
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from demo.organization import REGIONS
from tests.docs.test_organization_page import TOOLS_OF_SHELL, Person, sections
from tests.org.conftest import code, packaged
from tests.support.command import invoke
from tests.support.organization import Packaged
from tests.support.template import ROOT

__all__ = ["code", "packaged"]

pytestmark = pytest.mark.long
REPORTS_SECONDS = 60
"""How long the rule takes to report from all accounts, at most."""


@contextmanager
def practice(last: str, *options: str) -> Iterator[tuple[Popen[str], str]]:
    """Yield the process, which is killed in the end if it still runs, and what it prints before a line."""
    command = [sys.executable, "-m", "demo.practice", *options]
    with Popen(command, cwd=ROOT, stdout=PIPE, stderr=PIPE, text=True) as process:
        try:
            assert process.stdout
            yield process, "".join(takewhile(lambda line: last not in line, process.stdout))
        finally:
            process.kill()


def interrupt(process: Popen[str]) -> tuple[int, str]:
    """Press Ctrl-C, and return the exit status and what is on stderr."""
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


def test_practice(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the variables that it prints, a subnet is healed and the heal undone; Ctrl-C ends it with status 0."""
    with practice("# Check the stack\n") as (process, printed):
        heal_and_undo(printed, monkeypatch)
        assert interrupt(process) == (0, "")


def heal_and_undo(printed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do what the guide says."""
    for name, value in re.findall(r"^export (AWS_\w+|NO_PROXY)=(.*)$", printed, re.MULTILINE):
        monkeypatch.setenv(name, value)
    subnet_id, blocked = re.findall(r"heal (subnet-\w+)", printed)

    assert "9 subnets: 5 NON_COMPLIANT" in invoke(["scan", "--quiet"]).stdout
    assert invoke(["heal", blocked, "--yes"]).exit_code == 1
    healed = invoke(["heal", subnet_id, "--yes"])
    assert healed.exit_code == 0, healed.output
    assert "9 subnets: 4 NON_COMPLIANT" in invoke(["scan", "--quiet"]).stdout
    [heal] = json.loads(invoke(["heals", "--format", "json"]).stdout)["heals"]
    assert heal["principal"].startswith("arn:aws:")
    undone = invoke(["undo", heal["runId"], "--yes"])
    assert undone.exit_code == 0, undone.output
    assert "9 subnets: 5 NON_COMPLIANT" in invoke(["scan", "--quiet"]).stdout
    checked = json.loads(invoke(["doctor", "--quiet", "--format", "json"]).stdout)
    assert checked["exitStatus"] == 0, [row for row in checked["checks"] if row["status"] != "OK"]


@pytest.mark.timeout(300)
@pytest.mark.skipif(not (TOOLS_OF_SHELL / "aws").exists(), reason="no AWS CLI: make .venv-tools/.ready installs it")
def test_organization(packaged: Packaged, tmp_path: Path) -> None:
    """The guide leads through the page: an account fails, is named, and repaired. The rule reports from all accounts."""
    with practice("# The rule reports to the aggregator", "--organization") as (process, printed):
        lines = printed[printed.index("export PATH") : printed.index("\n\nThen follow")].splitlines()
        functions = "\n".join(line for line in lines if line.startswith("as_"))
        person = Person("bash", tmp_path, {}, {"deployed": packaged}, functions)
        person.run("\n".join(line for line in lines if not line.startswith(("as_", "export PATH", "unset"))))
        roll_out(person)
        person.run(printed[printed.rindex("\nas_legacy") :])
        status = ""
        until = time.monotonic() + REPORTS_SECONDS
        while "4 deployments in 2 accounts\n" not in status:  # otherwise, the line names what needs attention
            assert time.monotonic() < until, status
            status = person.run(sections()["8. Read the results"][0], (0, 1, 2))
        assert re.search(r"NAT_GATEWAY .* apps ", status)
        assert interrupt(process) == (0, "")


def roll_out(person: Person) -> None:
    """Paste the steps of the page, with the credentials that the guide gives."""
    page = sections()
    person.run(page["1. Build the package"][0])
    person.run("as_buckets\n" + page["2. Create the artifact buckets"][0] + "as_management")
    person.run(page["4. Create the roles of the auditor and the operator"][0])
    assert person.run(page["5. Check what would fail"][0], (1,)).count("RECORDER_MISSING") == 1
    person.run(page["6. Create the ledgers"][0])
    person.run(page["7. Deploy the rule"][0])
    assert person.run(page["If accounts fail"][0]).count("NoAvailableConfigurationRecorder") == len(REGIONS)
