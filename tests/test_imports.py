"""Imports go one way: handlers -> evaluation, healing -> adapters -> events -> domain; command, integrations -> adapters."""

import ast
import sys
from functools import cache
from pathlib import Path

from tests.support.layout import INSTRUMENT_USES, PACKAGES, PARTS, RANKS, ROOT, lies_in

PRODUCT = [package for package in PACKAGES if package.name.startswith("express_path")]
ENVIRONMENT = ("environ", "environb", "getenv", "getenvb")
MODULES = sorted(path for package in PRODUCT for path in (ROOT / package.folder).rglob("*.py"))


def module_name(path: Path) -> str:
    """Return the dotted name of a module below functions/, cli/, or instrument/."""
    parts = path.relative_to(ROOT).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part(module: str) -> str:
    """Return the part of the code that a module belongs to: the longest name in PARTS that covers it."""
    return max((name for name in PARTS if lies_in(module, name)), key=len)


@cache
def nodes(source: str) -> list[ast.AST]:
    """Return every node of a module's syntax tree."""
    return list(ast.walk(ast.parse(source)))


@cache
def imported(source: str) -> set[str]:
    """Return the dotted names that a module imports anywhere in it, `from a import b` as a.b."""
    names: set[str] = set()
    for node in nodes(source):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where they lead"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def forbidden(module: str, source: str) -> set[str]:
    """Return the names that a module imports but must not."""
    allowed = PARTS[part(module)].imports
    return {
        name
        for name in imported(source)
        if name.split(".", maxsplit=1)[0] not in sys.stdlib_module_names
        and not any(lies_in(name, allowed_name) for allowed_name in allowed)
    }


# One test for all modules: a test for each takes longer than the check.
def test_modules_import_only_what_their_part_can() -> None:
    """No import points in the wrong direction, and each library is imported only by the part that may use it."""
    assert len(MODULES) > 200
    found = {module_name(path): forbidden(module_name(path), path.read_text(encoding="utf-8")) for path in MODULES}
    assert {module: names for module, names in found.items() if names} == {}


def test_packages_import_only_what_they_can() -> None:
    """The sandbox and what deploys to an organization import nothing of the product. Every package is listed."""
    names = {package.name for package in PACKAGES}
    found = {
        (package.name, name)
        for package in PACKAGES
        for path in (ROOT / package.folder).rglob("*.py")
        for name in names & {name.partition(".")[0] for name in imported(path.read_text(encoding="utf-8"))}
    }
    allowed = {(package.name, name) for package in PACKAGES for name in (package.name, *package.imports)}
    assert found - allowed == set()
    inits = {*ROOT.glob("*/__init__.py"), *ROOT.glob("*/*/__init__.py")}
    packages = {path.parent for path in inits if path.parent.name != "tests" or path.parent.parent == ROOT}
    outer = {path for path in packages if path.parent not in packages and path.relative_to(ROOT).parts[0] != "build"}
    assert outer <= {ROOT / package.folder for package in PACKAGES}


def command_rooms_below(room: str) -> set[str]:
    """Return the rooms of the command that a room of it may import besides itself."""
    [rank] = [place for place, rooms in enumerate(RANKS) if room in rooms]
    return set().union(*RANKS[:rank])


def against_the_ranks(module: str, source: str) -> set[str]:
    """Return the rooms of the command that a module of the command or of the instrument imports but must not."""
    package, room = [*module.split("."), ""][:2]
    allowed = {room} | command_rooms_below(room) if package == "express_path_cli" else {*INSTRUMENT_USES}
    used = {name.split(".")[1] for name in imported(source) if name.startswith("express_path_cli.")}
    return used - allowed


def test_the_rooms_of_the_command_import_only_lower_ranks() -> None:
    """No command imports a command, and what several share lies below them."""
    packages = ("express_path_cli.", "express_path_instrument")
    rooms = {path: module_name(path) for path in MODULES if module_name(path).startswith(packages)}
    found = {module: against_the_ranks(module, path.read_text(encoding="utf-8")) for path, module in rooms.items()}
    assert {module: names for module, names in found.items() if names} == {}
    assert {module.split(".")[1] for module in found if module.startswith("express_path_cli.")} == set().union(*RANKS)


def reached(names: set[str]) -> set[str]:
    """Return the modules of the Lambda package that these import, directly or not, and their packages."""
    paths = {module_name(path): path for path in MODULES}
    found: set[str] = set()
    while names:
        found |= names
        mentioned = names | {
            imported_name for name in names for imported_name in imported(paths[name].read_text(encoding="utf-8"))
        }
        # Importing a name imports its module, and the packages around it.
        around = {
            ".".join(mentioned_name.split(".")[:depth])
            for mentioned_name in mentioned
            for depth in range(1, mentioned_name.count(".") + 2)
        }
        names = {name for name in around if name in paths} - found
    return found


def test_the_lambda_packages_hold_exactly_what_the_handlers_reach() -> None:
    """Code that only the command needs is in no package, and only the integrations write findings."""
    functions = {name for path in MODULES if lies_in(name := module_name(path), "express_path")}
    integrations = {name for path in MODULES if lies_in(name := module_name(path), "express_path_integrations")}
    by_rule = reached(
        {f"express_path.handlers.{name}" for name in ("check_health", "check_organization", "evaluate", "plan_heal")}
    )
    by_integrations = reached({"express_path_integrations.handlers.security_hub"})
    assert integrations <= by_integrations
    assert functions == by_rule | (by_integrations - integrations)
    assert {name for name in functions - by_rule if not lies_in(name, "express_path.domain.findings")} == set()


def environment_reads(source: str) -> list[str]:
    """Return the ways in which a module reads the environment: os.environ, os.getenv, or names imported from os."""
    return [
        ast.unparse(node)
        for node in nodes(source)
        if (isinstance(node, ast.Attribute) and node.attr in ENVIRONMENT)
        or (isinstance(node, ast.ImportFrom) and any(alias.name in ENVIRONMENT for alias in node.names))
    ]


def test_only_handlers_read_the_environment() -> None:
    """The rest of the Lambda packages gets its settings as arguments."""
    reading = {
        module_name(path)
        for path in MODULES
        if module_name(path).partition(".")[0] in ("express_path", "express_path_integrations")
        and environment_reads(path.read_text(encoding="utf-8"))
    }
    assert {part(module) for module in reading} == {"express_path.handlers", "express_path_integrations.handlers"}
