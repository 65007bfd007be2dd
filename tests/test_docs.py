"""The documents name everything that the product has, and every link has a target."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from express_path.domain.heal.records import Blocker
from express_path.domain.path.reasons import Reason
from express_path.domain.verdict.parameters import PARAMETERS

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("events/*.md"), *ROOT.glob("tests/networks/*.md")]
)
RUNBOOKS = sorted((ROOT / "runbooks").glob("*.yaml"))
LINK = re.compile(r"\]\((?!https?:|mailto:)(?P<file>[^)#\s]*)(?:#(?P<fragment>[^)\s]+))?\)")
CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def text(name: str) -> str:
    """Return the text of a document."""
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_readme_explains_every_rule_parameter(parameter: str) -> None:
    """The README names each rule parameter."""
    assert f"`{parameter}`" in text("README.md")


@pytest.mark.parametrize("reason", Reason)
def test_documents_explain_every_reason(reason: Reason) -> None:
    """The README says what to do about each reason, and how-it-decides.md describes how it is decided."""
    assert f"`{reason}`" in text("README.md")
    assert reason in text("docs/how-it-decides.md")


@pytest.mark.parametrize("blocker", Blocker)
def test_healing_document_has_a_fix_for_every_blocker(blocker: Blocker) -> None:
    """docs/healing.md explains each blocker."""
    assert blocker in text("docs/healing.md")


@pytest.mark.parametrize("runbook", RUNBOOKS, ids=lambda path: path.stem)
def test_every_runbook_input_is_documented(runbook: Path) -> None:
    """docs/healing.md names each runbook and each of its inputs."""
    healing = text("docs/healing.md")
    assert runbook.stem in healing
    for name in yaml.load(runbook.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["parameters"]:
        assert name in healing, name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_has_a_target(document: Path) -> None:
    """A link leads to a file; #name is a heading of a document, a symbol of a module, or a resource of the template."""
    for link in LINK.finditer(document.read_text(encoding="utf-8")):
        target = document.parent / link["file"] if link["file"] else document
        assert target.exists(), link[0]
        assert link["fragment"] is None or link["fragment"] in set(names_in(target)), link[0]


def names_in(path: Path) -> Iterator[str]:
    """Yield what a link's fragment can name in a file: headings, definitions, or resources of a template."""
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from definitions(ast.parse(content).body)
    elif path.suffix == ".yaml":
        yield from re.findall(r"^  (\w+):$", content.partition("\nResources:\n")[2], re.MULTILINE)
    else:
        yield from (anchor(title) for title in re.findall(r"^#+ (.+)$", CODE_BLOCK.sub("", content), re.MULTILINE))


def definitions(body: list[ast.stmt], scope: str = "") -> Iterator[str]:
    """Yield the names of functions, classes, and constants; a method is named Class.method."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield scope + statement.name
        if isinstance(statement, ast.ClassDef):
            yield from definitions(statement.body, f"{statement.name}.")
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from (scope + target.id for target in targets if isinstance(target, ast.Name))


def anchor(title: str) -> str:
    """Return the fragment by which GitHub links to a heading, such as #making-a-dump."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


QUESTIONS = (
    "Where is an event parsed?",
    "Which route wins?",
    "What decides COMPLIANT?",
    "What may a heal change?",
    "Where do I add an output format?",
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_newcomer_finds_the_answer_by_name(question: str) -> None:
    """Each of five first questions has a row that links to a symbol; the test above checks that the symbol exists."""
    [answer] = re.findall(rf"^\| {re.escape(question)} \| (.+) \|$", text("docs/architecture.md"), re.MULTILINE)
    assert any(link["fragment"] for link in LINK.finditer(answer))
