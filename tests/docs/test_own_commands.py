"""The express-path commands and make targets in the documents exist, with their options."""

import re
from pathlib import Path

import pytest

from express_path_cli.main import SUBCOMMANDS

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
CODE = re.compile(r"^```sh\n(.*?)^```|^ {4}(\S.*?)$|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"\bexpress-path (?P<name>(?:(?:org|bench) )?[a-z]+)(?P<rest>[^#|\n]*)")
TARGET = re.compile(r"\bmake (?P<name>[a-z-]+)")


def code(document: Path) -> str:
    """Return the code in a document, one piece on each line."""
    found = CODE.findall(document.read_text(encoding="utf-8").replace("\\\n", " "))
    return "\n".join("".join(groups) for groups in found)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_exist_with_their_options(document: Path) -> None:
    """A reader can copy each command; express-path accepts every option that is shown with it."""
    for found in COMMAND.finditer(code(document)):
        assert found["name"] in {**SUBCOMMANDS.all(), **SUBCOMMANDS.groups}, found[0]
        options = {option for parameter in SUBCOMMANDS.load(found["name"]).params for option in parameter.opts}
        assert set(re.findall(r"(?<= )--[a-z-]+", found["rest"])) <= options | {"--help"}, found[0]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_make_targets_exist(document: Path) -> None:
    """A reader can run each make target that is shown."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {found["name"] for found in TARGET.finditer(code(document))} <= targets


def test_the_commands_are_found() -> None:
    """The checks above see something: documents show every command, and how to set up, check, and try the project."""
    shown = "\n".join(code(document) for document in DOCUMENTS if document.name != "command.md")
    commands = {found["name"] for found in COMMAND.finditer(shown)}
    assert commands >= {"scan", "explain", "report", "cost", "diagnose", "doctor", "heal", "heals", "undo", "collect"}
    assert commands >= {"org check", "org status"}
    assert {found["name"] for found in TARGET.finditer(shown)} >= {"setup", "test", "demo"}


def test_the_demo_starts_with_the_demo() -> None:
    """`make demo` shows neither its own commands nor those that build what it needs."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [recipe] = re.findall(r"^demo:(?! \$).*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    commands = recipe.splitlines()
    assert all(command.startswith("\t@") for command in commands)
    assert "--silent" in commands[0]
    assert commands[0].endswith(">/dev/null")
