"""Where a mutant is: its enclosing definition and the text there, found again after the code has moved."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml

FOLDERS = ("functions", "cli", "integrations", "instrument", "runbooks")
FILES = ("template.yaml", "integrations/template.yaml")
TEXT_THAT_IS_ENOUGH = 25
"""Characters of a text that is looked for everywhere if no definition has the old name."""


@dataclass(frozen=True, slots=True)
class Place:
    """A range of characters of a file, relative to the tree, and what surrounds it."""

    file: str
    start: int
    end: int


def sources(tree: Path, suffix: str) -> list[Path]:
    """Return the files of a tree that can hold a mutant, all of one suffix."""
    found = [file for folder in FOLDERS for file in sorted((tree / folder).rglob(f"*{suffix}"))]
    found += [tree / name for name in FILES if name.endswith(suffix) and (tree / name).exists()]
    return [file for file in dict.fromkeys(found) if not {"tests", ".venv"} & set(file.relative_to(tree).parts)]


def places(tree: Path, file: str, definition: str, text: str) -> list[Place]:
    """Return where a mutant can be applied, best first: same path, same file name, any other file.

    A definition that exists nowhere any more is not looked for, but a long text is found in any.
    """
    suffix = Path(file).suffix
    files = {str(found.relative_to(tree)): found.read_text(encoding="utf-8") for found in sources(tree, suffix)}
    search = _python if suffix == ".py" else _yaml
    for wanted in (definition, definition.rpartition(".")[2], None):
        if wanted is None and len(text) < TEXT_THAT_IS_ENOUGH:
            break
        found = [place for name, source in files.items() for place in search(name, source, wanted, text)]
        if found and (wanted is not None or len(found) == 1):
            return sorted(found, key=lambda place: (place.file != file, Path(place.file).name != Path(file).name))
    return []


def definitions(module: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Return the functions, classes, methods, and constants of a module with their qualified names."""
    for statement in module.body:
        yield from ((name, statement) for name in _names(statement))
        if isinstance(statement, ast.ClassDef):
            for member in statement.body:
                yield from ((f"{statement.name}.{name}", member) for name in _names(member))


@lru_cache(maxsize=1000)
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


@lru_cache(maxsize=100)
def _blocks(source: str) -> list[tuple[str, int, int]]:
    return list(blocks(source))


def _names(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _python(file: str, source: str, definition: str | None, needle: str) -> Iterator[Place]:
    if definition is not None and definition.rpartition(".")[2] not in source:
        return
    starts = _line_starts(source)
    wanted = _node(needle)
    seen = set()
    for name, statement in definitions(_parsed(source)):
        if definition not in (None, name, name.rpartition(".")[2]):
            continue
        for node in ast.walk(statement):
            if not isinstance(node, ast.expr | ast.stmt) or not _same(node, wanted):
                continue
            place = Place(file, _offset(starts, node), _offset(starts, node, at_end=True))
            if place not in seen:
                seen.add(place)
                yield place


def _node(text: str) -> ast.AST:
    try:
        return ast.parse(f"(\n{text}\n)", mode="eval").body
    except SyntaxError:
        [statement] = ast.parse(text).body
        return statement


def _same(node: ast.AST, other: ast.AST) -> bool:
    return type(node) is type(other) and ast.dump(node) == ast.dump(other)


def count(statement: ast.stmt, text: str) -> int:
    """Return how often an expression or a statement occurs in a definition."""
    wanted = _node(text)
    return sum(isinstance(node, ast.expr | ast.stmt) and _same(node, wanted) for node in ast.walk(statement))


def _line_starts(source: str) -> list[tuple[int, str]]:
    found, start = [], 0
    for line in source.splitlines(keepends=True):
        found.append((start, line))
        start += len(line)
    return found


def _offset(starts: list[tuple[int, str]], node: ast.expr | ast.stmt, *, at_end: bool = False) -> int:
    line, column = (node.end_lineno, node.end_col_offset) if at_end else (node.lineno, node.col_offset)
    start, text = starts[(line or 1) - 1]
    return start + len(text.encode()[:column].decode())


def blocks(source: str) -> Iterator[tuple[str, int, int]]:
    """Return the named things of a YAML file, with their first line and the line after the last, counted from 0.

    They are the entries of the top level's members and the steps: logical ids, parameters, names of steps.
    """

    def walk(node: yaml.Node, depth: int) -> Iterator[tuple[str, int, int]]:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if depth == 1:
                    yield str(key.value), key.start_mark.line, _last(value)
                yield from walk(value, depth + 1)
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                if isinstance(item, yaml.MappingNode):
                    for key, value in item.value:
                        if key.value == "name" and isinstance(value, yaml.ScalarNode):
                            yield value.value, item.start_mark.line, _last(item)
                yield from walk(item, depth + 2)

    yield from walk(yaml.compose(source, yaml.SafeLoader), 0)


def _last(node: yaml.Node) -> int:
    return node.end_mark.line + (node.end_mark.column > 0)


def _yaml(file: str, source: str, definition: str | None, needle: str) -> Iterator[Place]:
    lines = source.splitlines(keepends=True)
    wanted = [line.strip() for line in needle.splitlines()]
    ranges = [(first, last) for name, first, last in _blocks(source) if definition in (None, name)]
    seen = set()
    for first, last in ranges:
        for start in range(first, last - len(wanted) + 1):
            if start not in seen and [line.strip() for line in lines[start : start + len(wanted)]] == wanted:
                seen.add(start)
                offset = sum(map(len, lines[:start]))
                yield Place(file, offset, offset + sum(map(len, lines[start : start + len(wanted)])))


def replaced(source: str, place: Place, replacement: str) -> str:
    """Return a file's text with a mutant in it."""
    found = source[place.start : place.end]
    if place.file.endswith(".yaml"):
        indent = " " * (len(found) - len(found.lstrip(" ")))
        new = "".join(f"{indent}{line}\n" for line in replacement.splitlines())
    else:
        column = place.start - (source.rfind("\n", 0, place.start) + 1)
        first, *others = replacement.split("\n")
        new = "\n".join([first, *(" " * column + line if line else line for line in others)])
    return source[: place.start] + new + source[place.end :]
