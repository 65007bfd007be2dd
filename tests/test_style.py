"""A check that linters lack: a sentence for each test."""

import ast
from pathlib import Path

TESTS = sorted(Path(__file__).parent.rglob("*.py"))


def test_every_test_says_in_a_sentence_what_it_shows() -> None:
    """Every test has a docstring of one sentence, so a failure can be understood without reading the code."""
    silent = [
        f"{path.name}:{node.name}"
        for path in TESTS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not (ast.get_docstring(node) or "").partition("\n\n")[0].endswith((".", "?"))
    ]
    assert silent == []
