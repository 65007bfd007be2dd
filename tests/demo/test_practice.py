"""`make sandbox`: a local AWS in a process of its own, in which the command heals and undoes, until Ctrl-C."""

import json
import re
import signal
import sys
from collections.abc import Iterator
from itertools import takewhile
from subprocess import PIPE, Popen

import pytest

from tests.support.command import invoke
from tests.support.template import ROOT

pytestmark = pytest.mark.long
LAST = "# Check the stack\n"


@pytest.fixture
def practice() -> Iterator[tuple[Popen[str], str]]:
    """Yield the process, which is killed in the end if it still runs, and what it prints."""
    with Popen([sys.executable, "-m", "demo.practice"], cwd=ROOT, stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stdout
        lines = list(takewhile(lambda line: LAST not in line, process.stdout))
        yield process, "".join(lines)
        process.kill()


def test_practice(practice: tuple[Popen[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With the variables that it prints, a subnet is healed and the heal undone; Ctrl-C ends it with status 0."""
    process, printed = practice
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
    assert checked["exitStatus"] == 0, checked

    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
