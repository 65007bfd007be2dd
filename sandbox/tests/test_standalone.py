"""The sandbox stands alone: it imports nothing from the product, and CORRECTIONS.md lists every correction of moto."""

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "sandbox"
MODULES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted(Path(__file__).parent.rglob("*.py"))
DEPENDENCIES = {"boto3", "botocore", "cfnlint", "moto", "pytest", "werkzeug", "yaml"}
CORRECTIONS = (ROOT / "CORRECTIONS.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
PRODUCT = re.compile(r"express.path|S3ExpressGatewayEndpoint|s3express-no-nat")
ROW = re.compile(r"^\| `(?P<module>[\w/]+\.py)` \|(?P<cells>.+)\|$", re.MULTILINE)
LINK = re.compile(r"\]\((https://[^)]+)\)")
UPSTREAM = {"yes", "in part", "no"}
WITHOUT_SOURCE = ("botocore model", "not a difference from AWS")


def name(path: Path) -> str:
    """Return the path of a file below the sandbox or its tests."""
    return str(path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else ROOT))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Return every node of a file's syntax tree."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported(path: Path) -> set[str]:
    """Return the dotted names that a file imports, `from a import b` as a.b."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def patches(path: Path) -> bool:
    """Return whether a module replaces or wraps attributes of moto."""
    calls = [node.func for node in nodes(path) if isinstance(node, ast.Call)]
    return any(
        isinstance(called, ast.Attribute)
        and called.attr in ("set", "wrap")
        and ast.unparse(called.value).endswith("patches")
        for called in calls
    )


def corrections() -> list[tuple[str, list[str]]]:
    """Return the module of each row of the table of corrections, and its other cells."""
    table = CORRECTIONS.partition("<!-- corrections -->")[2].partition("<!-- /corrections -->")[0]
    return [(row["module"], [cell.strip() for cell in row["cells"].split(" | ")]) for row in ROW.finditer(table)]


# One test for all files: a test for each takes longer than the check.
def test_modules_import_only_the_sandbox_and_its_dependencies() -> None:
    """A module imports the standard library, moto and what moto needs, and other modules of the sandbox."""
    assert len(MODULES) > 80
    allowed = {*sys.stdlib_module_names, *DEPENDENCIES, "sandbox"}
    roots = {name(path): {module.partition(".")[0] for module in imported(path)} for path in MODULES}
    assert {path: found - allowed for path, found in roots.items() if not found <= allowed} == {}


def test_modules_do_not_name_the_product() -> None:
    """Names of the product's rule, functions, runbooks and tags are passed in."""
    assert [name(path) for path in MODULES if PRODUCT.search(path.read_text(encoding="utf-8"))] == []


def test_tests_of_the_sandbox_import_nothing_from_the_product() -> None:
    """These tests can be extracted together with the package."""
    assert len(TESTS) > 20
    allowed = {*sys.stdlib_module_names, *DEPENDENCIES, "sandbox"}
    roots = {name(path): {module.partition(".")[0] for module in imported(path)} for path in TESTS}
    assert {path: found - allowed for path, found in roots.items() if not found <= allowed} == {}


def test_module_that_changes_moto_is_listed() -> None:
    """The table of corrections has a row for each module that replaces something in moto, and none for another."""
    changing = {name(path) for path in MODULES if patches(path)}
    assert {module for module, _ in corrections()} == changing
    assert len(changing) > 25


@pytest.mark.parametrize(("module", "cells"), corrections())
def test_correction_names_its_source(module: str, cells: list[str]) -> None:
    """A row has a source that a module beside it cites too, and says whether the correction could go upstream."""
    _, aws, upstream = cells
    assert upstream in UPSTREAM
    path = PACKAGE / module
    package = [path] if path.parent in (PACKAGE, PACKAGE / "ec2") else sorted(path.parent.rglob("*.py"))
    cited = "".join(neighbor.read_text(encoding="utf-8") for neighbor in package)
    links = LINK.findall(aws)
    assert links or any(words in aws for words in WITHOUT_SOURCE)
    assert [link for link in links if link not in cited] == []


def test_document_links_lead_somewhere() -> None:
    """A module that a document names exists."""
    named = re.findall(r"`([\w/]+\.py)`", README + CORRECTIONS)
    assert [path for path in named if not (PACKAGE / path).exists()] == []
