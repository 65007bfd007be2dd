"""The documents name everything that the product has, and links to code lead to something that exists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from express_path.domain.heal.records import MAY_WARN, Blocker
from express_path.domain.path.reasons import Reason
from express_path.domain.verdict.parameters import PARAMETERS

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FOLDERS = (
    "acceptance",
    "benchmarks",
    "cli",
    "demo",
    "docs",
    "functions",
    "instrument",
    "integrations",
    "org",
    "runbooks",
    "sandbox",
    "tests",
)
RUNBOOKS = sorted((ROOT / "runbooks").glob("*.yaml"))
CODE_LINK = re.compile(r"\]\((?!https?:)(?P<file>[^)#\s]+\.(?:py|yaml))#(?P<fragment>[^)\s]+)\)")


def text(name: str) -> str:
    """Return the text of a document."""
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_every_rule_parameter_is_explained(parameter: str) -> None:
    """docs/deploy.md has a row for each rule parameter."""
    assert f"| `{parameter}` |" in text("docs/deploy.md")


def test_every_stack_parameter_is_explained() -> None:
    """docs/deploy.md or docs/heal-and-undo.md names each parameter of the template."""
    explained = text("docs/deploy.md") + text("docs/heal-and-undo.md")
    section = text("template.yaml").partition("\nParameters:\n")[2].partition("\nMappings:\n")[0]
    parameters = re.findall(r"^  (\w+):$", section, re.MULTILINE)
    assert len(parameters) > 20
    assert [name for name in parameters if f"`{name}`" not in explained] == []


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_explained(reason: Reason) -> None:
    """how-it-decides.md describes when each reason applies."""
    assert reason in text("docs/reference/how-it-decides.md")


def test_every_blocker_is_explained() -> None:
    """docs/heal-and-undo.md has a row for each blocker of a heal, in their order, and says which of them may warn."""
    rows = re.findall(r"^\| ([A-Z_]+) \| .+ \| (yes)? ?\|$", text("docs/heal-and-undo.md"), re.MULTILINE)
    assert rows == [(blocker, "yes" if blocker in MAY_WARN else "") for blocker in Blocker]


@pytest.mark.parametrize("runbook", RUNBOOKS, ids=lambda path: path.stem)
def test_every_runbook_input_is_explained(runbook: Path) -> None:
    """docs/heal-and-undo.md names each runbook and each of its inputs."""
    healing = text("docs/heal-and-undo.md")
    assert runbook.stem in healing
    for name in yaml.load(runbook.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["parameters"]:
        assert name in healing, name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_code_name_something(document: Path) -> None:
    """The fragment is a symbol of a module, or a resource of the template. `make site` checks all other links."""
    for link in CODE_LINK.finditer(document.read_text(encoding="utf-8")):
        assert link["fragment"] in set(names_in(document.parent / link["file"])), link[0]


def test_the_map_names_files_that_exist() -> None:
    """Each path in docs/architecture.md is the end of a path in the repository."""
    paths = {f"/{path.relative_to(ROOT)}" for folder in FOLDERS for path in (ROOT / folder).rglob("*")}
    paths |= {f"/{path.name}" for path in ROOT.iterdir()}
    shown = re.findall(r"`([\w./-]+(?:\.(?:py|yaml|json|toml)|/))`", text("docs/architecture.md"))
    assert len(shown) > 50
    assert [name for name in shown if not any(path.endswith(f"/{name.rstrip('/')}") for path in paths)] == []


def names_in(path: Path) -> Iterator[str]:
    """Yield what a link's fragment can name in a file: definitions, or resources of a template."""
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from definitions(ast.parse(content).body)
    else:
        yield from re.findall(r"^  (\w+):$", content.partition("\nResources:\n")[2], re.MULTILINE)


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
