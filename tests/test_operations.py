"""The lists operations.json have exactly the operations that each function calls."""

import ast
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from botocore import xform_name
from botocore.session import get_session

ROOT = Path(__file__).parents[1]
PACKAGES = {ROOT / "functions": "express_path", ROOT / "integrations": "express_path_integrations"}
LISTS: dict[Path, dict[str, dict[str, list[str]]]] = {
    folder: json.loads((folder / "operations.json").read_bytes()) for folder in PACKAGES
}
HANDLERS = {
    handler: folder / package / "handlers" / f"{handler}.py"
    for folder, package in PACKAGES.items()
    for handler in LISTS[folder]
}
OPERATIONS = {handler: services for listed in LISTS.values() for handler, services in listed.items()}


@cache
def methods() -> dict[str, set[tuple[str, str]]]:
    """Return the operations behind each method of the clients of all services in use, by the method's name."""
    session, found = get_session(), dict[str, set[tuple[str, str]]]()
    for service in sorted({service for services in OPERATIONS.values() for service in services}):
        for operation in session.get_service_model(service).operation_names:
            found.setdefault(xform_name(operation), set()).add((service, operation))
    return found


@cache
def nodes(source: str) -> list[ast.AST]:
    """Return every node of a module's syntax tree."""
    return list(ast.walk(ast.parse(source)))


def words(source: str) -> Iterator[str]:
    """Yield what may name a client's method: attributes that are used, and strings such as a paginator's name."""
    for node in nodes(source):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@cache
def called(source: str) -> list[set[tuple[str, str]]]:
    """Return the operations that a module names; each is one of several if services have a method of the same name."""
    return [methods()[word] for word in words(source) if word in methods()]


@cache
def imported_modules(path: Path) -> set[Path]:
    """Return the files of our own modules that a module imports, by name or a name from within."""
    found: set[Path] = set()
    for node in nodes(path.read_text(encoding="utf-8")):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        files = (folder.joinpath(*name.split(".")).with_suffix(".py") for name in names for folder in PACKAGES)
        found |= {file for file in files if file.is_file()}
    return found


def run_by(handler: str) -> set[Path]:
    """Return all modules that a handler reaches by imports: the adapters of the command alone are not among them."""
    reached: set[Path] = set()
    waiting = {HANDLERS[handler]}
    while waiting:
        reached |= waiting
        waiting = {found for path in waiting for found in imported_modules(path)} - reached
    return reached


def test_every_handler_has_its_list() -> None:
    """Each file lists the handler modules of its folder and nothing else."""
    for folder, package in PACKAGES.items():
        paths = (folder / package / "handlers").glob("*.py")
        entries = {path.stem for path in paths if "\ndef handler(" in path.read_text(encoding="utf-8")}
        assert entries == LISTS[folder].keys()


@pytest.mark.parametrize("handler", OPERATIONS)
def test_list_of_operations_is_what_the_function_calls(handler: str) -> None:
    """The list, which the role and the artifact must match, has exactly the function's operations."""
    listed = {(service, operation) for service, names in OPERATIONS[handler].items() for operation in names}
    found = [meant for path in run_by(handler) for meant in called(path.read_text(encoding="utf-8"))]
    assert all(meant & listed for meant in found)
    assert listed <= set().union(*found)
