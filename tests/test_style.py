"""Checks that linters lack: small modules, short functions, and a sentence for each test."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median

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


def functions_in(node: ast.AST) -> Iterator[Function]:
    """Yield each function below a node. Only statements, and parts of them, contain functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            if isinstance(child, Function):
                yield child
            yield from functions_in(child)


@cache
def lengths(path: Path) -> list[tuple[str, int]]:
    """Return the name of each function and the number of lines after its parameters, since a command has many."""
    found = functions_in(ast.parse(path.read_text(encoding="utf-8")))
    return [(node.name, (node.end_lineno or 0) - node.body[0].lineno + 1) for node in found]


# One test for all files: a test for each takes longer than the check.
def test_modules_are_small_and_functions_short() -> None:
    """No module is longer than 230 lines, no function longer than 30."""
    assert len(SOURCES) > 400
    assert {name(path): lines for path in SOURCES if (lines := length(path)) > LONGEST_MODULE} == {}
    assert {
        f"{name(path)}:{function}": lines
        for path in SOURCES
        for function, lines in lengths(path)
        if lines > LONGEST_FUNCTION
    } == {}


def test_most_modules_are_smaller_and_most_functions_shorter_still() -> None:
    """Half of the shipped modules and functions are far below the limits."""
    assert median(map(length, SHIPPED)) <= MEDIAN_MODULE
    assert median(lines for path in SHIPPED for _, lines in lengths(path)) <= MEDIAN_FUNCTION


def says_what_it_shows(test: Function) -> bool:
    """Return whether the first paragraph of a test's docstring is a sentence."""
    return (ast.get_docstring(test) or "").partition("\n\n")[0].endswith((".", "?"))


def test_every_test_says_in_a_sentence_what_it_shows() -> None:
    """Every test has a docstring of one sentence, so a failure can be understood without reading the code."""
    modules = {path: ast.parse(path.read_text(encoding="utf-8")) for path in TESTS}
    assert [name(path) for path, module in modules.items() if not ast.get_docstring(module)] == []
    tests = [
        (path, node)
        for path, module in modules.items()
        for node in functions_in(module)
        if node.name.startswith("test_")
    ]
    assert len(tests) > 2000
    assert [f"{name(path)}:{test.name}" for path, test in tests if not says_what_it_shows(test)] == []
