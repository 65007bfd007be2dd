"""Checks that linters lack: small modules, short functions, and a sentence for each test."""

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[1]
LONGEST_MODULE = 230
LONGEST_FUNCTION = 30
MEDIAN_MODULE = 100
MEDIAN_FUNCTION = 10
SHIPPED = sorted(path for folder in ("functions", "cli") for path in (ROOT / folder).rglob("*.py"))
SOURCES = sorted(
    [*SHIPPED, *(ROOT / "sandbox").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "lab").rglob("*.py")]
)
TESTS = sorted((ROOT / "tests").rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


def name(path: Path) -> str:
    """Return a file's path below the repository."""
    return str(path.relative_to(ROOT))


def length(path: Path) -> int:
    """Return a module's number of lines."""
    return len(path.read_text(encoding="utf-8").splitlines())


def functions(path: Path) -> Iterator[tuple[Function, int]]:
    """Yield each function of a module with the number of lines after its parameters, since a command has many."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, Function):
            yield node, (node.end_lineno or 0) - node.body[0].lineno + 1


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_module_is_small_and_its_functions_short(path: Path) -> None:
    """No module is longer than 230 lines, no function longer than 30."""
    assert length(path) <= LONGEST_MODULE
    assert {node.name: lines for node, lines in functions(path) if lines > LONGEST_FUNCTION} == {}


def test_most_modules_are_smaller_and_most_functions_shorter_still() -> None:
    """Half of the shipped modules and functions are far below the limits."""
    assert median(map(length, SHIPPED)) <= MEDIAN_MODULE
    assert median(lines for path in SHIPPED for _, lines in functions(path)) <= MEDIAN_FUNCTION


@pytest.mark.parametrize("path", TESTS, ids=name)
def test_every_test_says_in_a_sentence_what_it_shows(path: Path) -> None:
    """Every test has a docstring of one sentence, so a failure can be understood without reading the code."""
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    for node, _ in functions(path):
        if node.name.startswith("test_"):
            sentence = (ast.get_docstring(node) or "").partition("\n\n")[0]
            assert sentence.endswith((".", "?")), node.name
