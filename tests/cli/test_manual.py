"""Help has summaries, meanings, and examples, shells complete words, and errors are one line unless --debug is set."""

import os
import subprocess

import pytest

from express_path_cli.main import SUBCOMMANDS
from express_path_cli.terminal.errors import DEBUG
from tests.support import processes
from tests.support.command import invoke


@pytest.mark.parametrize("name", SUBCOMMANDS.all())
def test_help_has_the_summary_and_an_example(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The summary, which lists show without importing the command, is the first paragraph of its docstring."""
    monkeypatch.setenv("COLUMNS", "200")
    example = SUBCOMMANDS.module_of(name).EXAMPLES.strip().splitlines()[0].partition("  #")[0]
    assert SUBCOMMANDS.help_of(name).split("\n\n")[0] == SUBCOMMANDS.all()[name].summary
    assert example in " ".join(invoke([*name.split(), "--help"]).stdout.split())


@pytest.mark.parametrize("name", ["", *SUBCOMMANDS.groups])
def test_lists_of_commands_cut_no_summary(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns shows the first sentence of each summary."""
    monkeypatch.setenv("COLUMNS", "80")
    listed = invoke([*name.split(), "--help"]).stdout.partition("Commands")[2]
    assert "." in listed
    assert "..." not in listed


@pytest.mark.parametrize("name", SUBCOMMANDS.all())
def test_every_argument_and_option_has_a_meaning(name: str) -> None:
    """A hidden option is an old name, which help leaves out."""
    shown = [parameter for parameter in SUBCOMMANDS.load(name).params if not getattr(parameter, "hidden", False)]
    assert [parameter.name for parameter in shown if not parameter.help] == []


def completed(*words: str, **variables: str) -> set[str]:
    """Return what bash offers to complete the last of these words."""
    environment = {
        "PATH": os.environ["PATH"],
        "_EXPRESS_PATH_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
        **variables,
    }
    command = processes.command(environment)
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=60)
    return set(result.stdout.split())


def test_shells_complete_commands_options_and_words() -> None:
    """Shells complete commands, options, formats, and the words for verdicts."""
    assert {"scan", "explain", "bench"} <= completed("express-path", "")
    assert "--from-dump" in completed("express-path", "scan", "--fr")
    assert completed("express-path", "scan", "--format", "sa") == {"sarif"}
    assert completed("express-path", "org", "") == {"check", "status", "shadow"}
    assert completed("express-path", "scan", "--show", "NAT_I") == {"NAT_INSTANCE"}
    assert completed("express-path", "scan", "--fail-on", "nat_i") == {"nat_instance"}
    assert completed("express-path", "scan", "--parameter", "pub") == {"publicSubnets="}


@pytest.mark.parametrize("name", ["", *SUBCOMMANDS.groups, *SUBCOMMANDS.all()])
def test_help_shows_no_type_for_flags(name: str) -> None:
    """A flag takes no value."""
    assert "bool" not in invoke([*name.split(), "--help"]).stdout


@pytest.mark.usefixtures("sandbox")
def test_an_unexpected_error_is_never_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug ends with status 2, because 1 means NON_COMPLIANT, and the message says how to report it."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "nonsense")  # botocore refuses it by a ValueError, which no call expects
    result = invoke(["scan"])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert "unexpected ValueError" in line
    assert "--debug" in line


@pytest.mark.parametrize("line", [("--debug", "scan"), ("scan", "--debug")], ids=" ".join)
def test_debug_shows_the_trace(line: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """With --debug before or after the command's name, the trace precedes the error line."""
    monkeypatch.delenv(DEBUG, raising=False)
    assert "Traceback" not in invoke(["scan", "--from-dump", "/nowhere"]).stderr
    monkeypatch.setenv(DEBUG, "")  # so that what --debug sets is taken back after this test
    result = invoke([*line, "--from-dump", "/nowhere"])
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("express-path: /nowhere")


@pytest.mark.usefixtures("sandbox")
def test_debug_shows_the_trace_of_a_failed_region(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Region that fails does not end the scan, but --debug shows its trace."""
    monkeypatch.setenv(DEBUG, "1")
    result = invoke(["scan", "--region", "us-east-1", "--region", "no-where-1"])
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("express-path: account 123456789012 no-where-1")


def test_version_is_printed() -> None:
    """--version prints the command's name and version and does nothing else."""
    result = invoke(["--version"])
    assert result.exit_code == 0
    assert result.stdout.startswith("express-path ")
