"""Count what there is to understand, in the base commit and now: `python3 record/counts.py`.

Both trees come from git (`git archive`), so changes that are not committed do not count. Tests are the files in a folder `tests`,
`test_*.py`, and `conftest.py`, also inside of packages; no other row has them. `lines` are those of Python.
Functions and classes are `def` and `class` statements of any depth. The first row has the whole repository without `record/`.
"""

import ast
import io
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
ROOMS = {
    "functions/": ("functions",),
    "integrations/": ("integrations",),
    "cli/": ("cli",),
    "instrument/ (base: lab/, measure/; its bench was in cli/)": ("instrument", "lab", "measure"),
    "sandbox/": ("sandbox",),
}
PRODUCT = ("functions", "integrations", "cli")
"""Where verdicts are held and rendered."""
COMPLIANCES, REASONS = {"compliance", "verdict"}, {"reason", "reasons"}
Tree = Mapping[str, str]
"""The texts of the files of a commit, by path; those that are no text are empty."""
Module = tuple[str, ast.Module]


def tree(commit: str) -> Tree:
    """Return the files of a commit without this folder. CalledProcessError if git does not have it."""
    command = ["git", "-C", str(ROOT), "archive", commit]
    archive = subprocess.run(command, check=True, capture_output=True).stdout  # a commit of this repository
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        files = [member for member in opened.getmembers() if member.isfile()]
        texts = {member.name: _text(opened, member) for member in files}
    return {path: text for path, text in texts.items() if not path.startswith("record/")}


def _text(archive: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    file = archive.extractfile(member)
    content = file.read() if file else b""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return ""


def is_test(path: str) -> bool:
    """Return whether a file belongs to the tests."""
    parts = PurePosixPath(path).parts
    return "tests" in parts or parts[-1].startswith("test_") or parts[-1] == "conftest.py"


def lines(texts: Iterable[str]) -> int:
    """Return the number of lines of texts."""
    return sum(len(text.splitlines()) for text in texts)


def modules(files: Tree) -> list[Module]:
    """Return the syntax trees of Python files."""
    return [(path, ast.parse(text)) for path, text in files.items() if path.endswith(".py")]


def counted(found: Iterable[Module], *kinds: type[ast.AST]) -> int:
    """Return the number of statements of some kinds, of any depth."""
    return sum(isinstance(node, kinds) for _, module in found for node in ast.walk(module))


def room(files: Tree) -> list[int]:
    """Return the columns of the first table: files, modules, lines, lines of tests, functions, classes."""
    own = {path: text for path, text in files.items() if not is_test(path)}
    python = {path: text for path, text in own.items() if path.endswith(".py")}
    of_tests = [text for path, text in files.items() if is_test(path) and path.endswith(".py")]
    found = modules(python)
    functions = counted(found, ast.FunctionDef, ast.AsyncFunctionDef)
    return [len(own), len(python), lines(python.values()), lines(of_tests), functions, counted(found, ast.ClassDef)]


def tests(files: Tree) -> list[int]:
    """Return the same columns of all tests."""
    python = {path: text for path, text in files.items() if is_test(path) and path.endswith(".py")}
    found = modules(python)
    functions = counted(found, ast.FunctionDef, ast.AsyncFunctionDef)
    size = lines(python.values())
    return [sum(map(is_test, files)), len(python), 0, size, functions, counted(found, ast.ClassDef)]


def below(files: Tree, folders: Iterable[str]) -> Tree:
    """Return the files of folders."""
    prefixes = tuple(f"{folder}/" for folder in folders)
    return {path: text for path, text in files.items() if path.startswith(prefixes)}


def product(files: Tree) -> list[Module]:
    """Return the modules of the functions, the integrations, and the command, without tests."""
    return modules({path: text for path, text in below(files, PRODUCT).items() if not is_test(path)})


def parameters(template: str) -> int:
    """Return the number of parameters of a template, which are the keys at the first depth of its section."""
    section = re.search(r"^Parameters:\n(.*?)(?=^\S)", template, re.MULTILINE | re.DOTALL)
    return len(re.findall(r"^  \w+:", section[1], re.MULTILINE)) if section else 0


def steps(runbook: str) -> int:
    """Return the number of steps of a runbook, those inside of loops included. Each has one action."""
    return len(re.findall(r"^ *(?:- )?action:", runbook, re.MULTILINE))


def verdict_classes(found: Iterable[Module]) -> tuple[set[str], set[str]]:
    """Return the classes with annotated fields for a compliance and a reason, and those with only one of them."""
    with_both: set[str] = set()
    with_one: set[str] = set()
    for _, module in found:
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                fields = {
                    member.target.id
                    for member in node.body
                    if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name)
                }
                kinds = bool(fields & COMPLIANCES) + bool(fields & REASONS)
                {1: with_one, 2: with_both}.get(kinds, set()).add(node.name)
    return with_both, with_one


def rendering_places(found: Iterable[Module]) -> list[str]:
    """Return the functions that read a reason and a compliance (or a verdict), or put a compliance into a text."""
    return [
        f"{path}:{node.name}"
        for path, module in found
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _renders(node)
    ]


def _renders(function: ast.AST) -> bool:
    read = set(_attributes(function))
    texts = [node for node in ast.walk(function) if isinstance(node, ast.JoinedStr)]
    return ("reason" in read and bool(read & COMPLIANCES)) or any("compliance" in _attributes(text) for text in texts)


def _attributes(node: ast.AST) -> list[str]:
    """Return the attributes that are read in a node."""
    found = [inner for inner in ast.walk(node) if isinstance(inner, ast.Attribute)]
    return [inner.attr for inner in found if isinstance(inner.ctx, ast.Load)]


def ranks(files: Tree) -> list[set[str]]:
    """Return the rooms of the command by rank, as tests/test_imports.py lists them; empty if it does not."""
    for node in ast.parse(files["tests/test_imports.py"]).body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["RANKS"]:
            found: list[set[str]] = [set(rooms) for rooms in ast.literal_eval(node.value)]
            return found
    return []


def against_ranks(files: Tree) -> str:
    """Return how many imports of the command lead to a room of the same or a higher rank."""
    known = ranks(files)
    if not known:
        return "no ranks"
    place = {name: number for number, rooms in enumerate(known) for name in rooms}
    found = 0
    for path, module in product(files):
        here = PurePosixPath(path).with_suffix("").parts
        if here[:2] == ("cli", "express_path_cli") and here[2] in place:
            used = [name for name in _imported(module) if name in place and name != here[2]]
            found += sum(place[name] >= place[here[2]] for name in used)
    return str(found)


def _imported(module: ast.Module) -> Iterator[str]:
    """Yield the room of each import of the command."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from {name.split(".")[1] for name in names if name.startswith("express_path_cli.")}


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table whose columns after the first are aligned to the right."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, rule, *rows]) + "\n"


def sizes(base: Tree, now: Tree) -> str:
    """Return the table of rooms, each cell with both numbers."""
    header = ["", "files", "modules", "lines", "lines of tests", "functions", "classes"]
    pairs = [("everything", room(base), room(now))]
    pairs += [(name, room(below(base, folders)), room(below(now, folders))) for name, folders in ROOMS.items()]
    pairs.append(("all tests", tests(base), tests(now)))
    rows = [
        [name, *(f"{old:,} → {new:,}" for old, new in zip(before, after, strict=True))] for name, before, after in pairs
    ]
    return table(header, rows)


def facts(files: Tree) -> dict[str, str]:
    """Return the other counts of a tree by what they count, as they are printed."""
    found: dict[str, str] = {}
    for name in ("template.yaml", "integrations/template.yaml"):
        text = files.get(name, "")
        found[f"{name}: lines, parameters"] = f"{lines([text]):,}, {parameters(text)}" if text else "none"
    for path, text in below(files, ["runbooks"]).items():
        name = PurePosixPath(path).stem
        found[f"{name}: lines, steps"] = f"{lines([text])}, {steps(text)}"
    loose = [path for path in files if re.fullmatch(r"cli/express_path_cli/\w+\.py", path)]
    found["loose modules at the root of cli/ (without __init__, main)"] = str(
        sum(PurePosixPath(path).stem not in ("__init__", "main") for path in loose)
    )
    code = product(files)
    with_both, with_one = verdict_classes(code)
    found["classes with a compliance (or verdict) and a reason"] = str(len(with_both))
    found["classes with one of them"] = str(len(with_one))
    found["functions that render a verdict"] = str(len(rendering_places(code)))
    found["imports against the ranks of the command"] = against_ranks(files)
    pages = [text for path, text in files.items() if path.startswith("docs/") and path.endswith(".md")]
    found["docs/: pages, lines"] = f"{len(pages)}, {lines(pages):,}"
    return found


def main(base_commit: str, now_commit: str) -> None:
    """Print all tables, and the classes by name."""
    base, now = tree(base_commit), tree(now_commit)
    before, after = facts(base), facts(now)
    rows = [[name, before.get(name, "none"), after.get(name, "none")] for name in {**before, **after}]
    text = [f"Base ({base_commit[:8]}) → now ({now_commit})\n", sizes(base, now), table(["", "base", "now"], rows)]
    for title, files in (("base", base), ("now", now)):
        with_both, with_one = verdict_classes(product(files))
        text.append(f"Classes with a compliance (or verdict) and a reason, {title}: {', '.join(sorted(with_both))}")
        text.append(f"With one of them: {', '.join(sorted(with_one))}\n")
    text.append(
        "A function of functions/, integrations/, or cli/ renders a verdict if it reads .reason and .compliance (or .verdict), or\n"
        "if an f-string in it reads .compliance. An import is against the ranks if it leads to another room that is not below."
    )
    sys.stdout.write("\n".join(text) + "\n")


if __name__ == "__main__":
    recorded = (ROOT / "record" / "base.txt").read_text(encoding="utf-8").strip()
    main(recorded, sys.argv[1] if len(sys.argv) > 1 else "HEAD")
