"""express-path doctor's text and its commands to copy, on one deployment whose recorder is stopped."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from express_path_cli.doctor.checkup import QUESTIONS
from sandbox.server import Sandbox
from tests.cli.doctor.checks import examine, text
from tests.cli.doctor.whole_stack import WholeStack, healthy_stack
from tests.support.command import invoke

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def stack(running_sandbox: Sandbox) -> Iterator[WholeStack]:
    """Yield a deployment whose recorder is stopped and records only subnets. No test changes it."""
    with healthy_stack(running_sandbox) as deployed:
        deployed.set_recorder({"resourceTypes": ["AWS::EC2::Subnet"]})
        deployed.config.stop_configuration_recorder(ConfigurationRecorderName="default")
        yield deployed


@pytest.mark.parametrize("columns", ["80", "120"])
def test_the_text_says_states_in_words(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is grouped by headings, with a word for each state, its fix, and a summary, in short lines."""
    monkeypatch.setenv("COLUMNS", columns)
    result = invoke(["doctor"])
    assert (result.exit_code, result.stderr) == (1, "")
    for heading in dict.fromkeys(question.group for question in QUESTIONS):
        assert f"\n{heading}\n" in result.stdout
    assert "FAIL recorder: recorder default is stopped" in text(result)
    assert "fix: start it aws configservice start-configuration-recorder" in text(result)
    assert result.stdout.rstrip().endswith("from the top.")
    assert "2 FAIL, 0 UNKNOWN. Some checks failed" in text(result)
    long = [line for line in result.stdout.splitlines() if len(line) > int(columns)]
    assert all(line.strip().startswith("aws ") for line in long)
    assert all(line == line.rstrip() for line in result.stdout.splitlines())


def test_commands_keep_the_given_options() -> None:
    """A command to copy has the options that doctor was run with, so that it acts on the same account."""
    assert examine("--region", "us-east-1")[0]["recorder"]["command"].endswith("-name default --region us-east-1")
    assert examine()[0]["recorder"]["command"].endswith("-name default")


def test_commands_can_be_copied(stack: WholeStack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A profile name with a space is quoted for the shell."""
    keys = {name: value for name, value in stack.sandbox.environment().items() if "KEY" in name}
    lines = ["[my prod]", *(f"{name.lower()} = {value}" for name, value in keys.items())]
    (tmp_path / "credentials").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    command = examine("--profile", "my prod")[0]["recorder"]["command"]
    assert shlex.split(command)[-2:] == ["--profile", "my prod"]
