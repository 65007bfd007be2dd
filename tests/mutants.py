"""Run mutants again that a test has found: `.venv/bin/python -m tests.mutants [NUMBER or FILE ...]`.

A mutant is a deliberate mistake in the code that decides. mutants.tsv lists the 343 of 455 that tests found before much
was deleted. They were chosen at random from what the operators of mutmut 3.8 make of domain/, healing.py, evaluation.py,
and publishing.py: spread over modules and operators, each at a text that occurs once in its definition.

Mutants are applied to copies of the committed tree. The text of a mutant is looked for in its definition, then in one of
the same name in another file, and, if it is long, anywhere; if it is nowhere, the mutant is gone. First runs the test that
found it, wherever that is now, and then tests that cover the line. build/mutants/ keeps what they cover.

The list and this command are temporary.
"""

# ruff: noqa: T201
import argparse
import ast
import os
import re
import resource
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import zip_longest
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from coverage import CoverageData

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "mutants.tsv"
BUILD = ROOT / "build" / "mutants"
IMPORTED = (".", "functions", "cli", "instrument", "integrations", "sandbox")
MEASURED = (
    *("tests/domain", "tests/networks", "tests/test_healing.py", "tests/handlers", "tests/events", "tests/adapters"),
    *(
        "tests/test_fields.py",
        "tests/test_sample_events.py",
        "tests/cli/policies",
        "tests/cli/explain",
        "tests/cli/heal",
    ),
    *("tests/runbooks/test_heal_runs.py", "tests/runbooks/test_undo_runs.py", "tests/runbooks/test_heal_approved.py"),
    *("tests/cli/findings", "integrations/tests"),
)
PYTEST = ("-p", "no:cacheprovider", "-p", "no:randomly")
FAST = ("-x", "-q", "--timeout=0", "--assert=plain", "-p", "no:xdist")
PRELOADED = (
    *("boto3", "hypothesis", "moto.server", "orjson", "rich.progress", "rich.table", "typer.testing"),
    *("_hypothesis_pytestplugin", "pytest_cov.plugin", "pytest_socket", "pytest_timeout"),
    *("sandbox.networks", "sandbox.server"),
)
"""What tests import that contains no mutants."""
LONG_TEXT = 25
MOST_TESTS, MOST_SECONDS = 60, 2.0
CPU_SECONDS, WALL_SECONDS, MOST_BYTES = 90, 600, 8 << 30
"""What needs more is an endless loop, which counts as found."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A line of the list. Texts are as `ast.unparse` writes them."""

    number: str
    file: str
    definition: str
    original: str
    replacement: str
    operator: str
    found_by: str


@dataclass(frozen=True, slots=True)
class Place:
    """An expression or a statement in the functions, and its innermost definition."""

    file: str
    definition: str
    node: ast.expr | ast.stmt


def read() -> list[Mutant]:
    """Return the list."""
    return [Mutant(*line.split("\t")) for line in LIST.read_text(encoding="utf-8").splitlines()[1:]]


def definitions(body: list[ast.stmt], within: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Return the functions, methods, and constants of a module with their qualified names."""
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(ast.Name(name)):
                yield within + name, statement
            case ast.ClassDef(name=name):
                yield from definitions(statement.body, f"{within}{name}.")


@cache
def places(tree: Path) -> list[Place]:
    """Return all places of a tree."""
    return [
        Place(str(file.relative_to(tree)), name, node)
        for file in sorted((tree / "functions").rglob("*.py"))
        for name, statement in definitions(ast.parse(file.read_bytes()).body)
        for node in ast.walk(statement)
        if isinstance(node, ast.expr | ast.stmt)
    ]


def find(tree: Path, mutant: Mutant) -> Place | None:
    """Return where a mutant belongs, None if it is gone."""
    [statement] = ast.parse(mutant.original).body
    wanted = ast.dump(statement.value if isinstance(statement, ast.Expr) else statement)
    named = [place for place in places(tree) if place.definition == mutant.definition]
    for candidates in (named, places(tree) if len(mutant.original) >= LONG_TEXT else []):
        found = [place for place in candidates if ast.dump(place.node) == wanted]
        if found:
            return min(found, key=lambda place: place.file != mutant.file)
    return None


@contextmanager
def applied(tree: Path, mutant: Mutant, place: Place) -> Iterator[None]:
    """Put a mutant into a tree for as long as the context lasts."""
    file, node = tree / place.file, place.node
    right, times = file.read_bytes(), file.stat()
    lines = right.splitlines(keepends=True)
    start = len(b"".join(lines[: node.lineno - 1])) + node.col_offset
    end = len(b"".join(lines[: (node.end_lineno or 0) - 1])) + (node.end_col_offset or 0)
    text = f"({mutant.replacement})" if isinstance(node, ast.expr) else mutant.replacement
    file.write_bytes(right[:start] + text.encode() + right[end:])
    os.utime(file, (int(mutant.number), int(mutant.number)))  # no compiled module is taken for another
    try:
        yield
    finally:
        file.write_bytes(right)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


class Report:
    """A plugin that runs some tests in a given order, and writes the name of the first that fails into a file."""

    def __init__(self, file: Path, tests: list[str]) -> None:
        """Write to a file that does not exist."""
        self._file, self._tests = file, tests

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Run the tests in their order; or all that were collected if none has the name, because parameters changed."""
        found = {item.nodeid: item for item in items}
        items[:] = [found[test] for test in self._tests if test in found] or items

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        """Write a failure."""
        if report.failed and not self._file.exists():
            self._file.write_text(report.nodeid, encoding="utf-8")

    pytest_collectreport = pytest_runtest_logreport


def run(tests: list[str]) -> str:
    """Return the first test that fails, empty if all pass. They run in a process that has imported no mutant."""
    tree = Path.cwd()
    failed, log = tree.with_suffix(".failed"), tree.with_suffix(".log")
    failed.unlink(missing_ok=True)
    functions = dict.fromkeys(test.partition("[")[0] for test in tests)
    child = os.fork()
    if child == 0:
        code: int = pytest.ExitCode.INTERNAL_ERROR
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
            resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
            signal.alarm(WALL_SECONDS)
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            code = pytest.main([*PYTEST, *FAST, *functions], [Report(failed, tests)])
            sys.stdout.flush()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what a test has started
    if failed.exists():  # it names a test, or a file that cannot be imported
        name = failed.read_text(encoding="utf-8")
        return min(tests, key=lambda test: (test != name, not test.startswith(name.partition("[")[0])))
    if code == pytest.ExitCode.INTERNAL_ERROR:
        raise RuntimeError(log.read_text(encoding="utf-8"))
    # A conftest cannot be imported, or a signal has ended an endless loop.
    return tests[0] if code == pytest.ExitCode.USAGE_ERROR or code < 0 else ""


def enter(trees: "SimpleQueue[Path]") -> None:
    """Let a process work in the next tree."""
    tree = trees.get()
    os.chdir(tree)
    sys.modules.pop("tests", None)
    ours = {(ROOT / name).resolve() for name in IMPORTED}
    sys.path[:] = [str(tree / name) for name in IMPORTED] + [
        name for name in sys.path if Path(name).resolve() not in ours
    ]
    sys.dont_write_bytecode = False
    for name in PRELOADED:
        import_module(name)


def attempt(work: tuple[Mutant, list[str]]) -> tuple[Mutant, str]:
    """Return which of some tests finds a mutant, empty if none does."""
    mutant, tests = work
    place = find(Path.cwd(), mutant)
    if not place or not tests:
        return mutant, ""
    with applied(Path.cwd(), mutant, place):
        return mutant, run(tests)


def unsound(tests: list[str]) -> list[str]:
    """Return those tests that fail without a mutant."""
    found: list[str] = []
    while (left := [test for test in tests if test not in found]) and (failed := run(left)):
        found.append(failed)
    return found


class Coverage:
    """Which tests cover a line, and how long they take."""

    def __init__(self, folder: Path) -> None:
        """Read what `measured` wrote. A test that failed covers nothing."""
        log = (folder / "log").read_text(encoding="utf-8")
        self._seconds: Counter[str] = Counter()
        for seconds, test in re.findall(r"^([\d.]+)s (?:call|setup|teardown) +(.+)$", log, re.MULTILINE):
            self._seconds[test] += float(seconds)
        failing = set(re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", log, re.MULTILINE))
        self._tests: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        data = CoverageData(str(folder / "coverage"))
        data.read()
        for name in data.measured_files():
            for line, contexts in data.contexts_by_lineno(name).items():
                self._tests[name][line] = {context.rpartition("|")[0] for context in contexts} - failing - {""}

    def of(self, tree: Path, place: Place) -> list[str]:
        """Return tests of a place, spread over files, slow ones last.

        Lines that run only when a module is imported are in no test. Those that use what they define stand in.
        """
        lines, node = self._tests[place.file], place.node
        found = set().union(*(lines[line] for line in range(node.lineno, (node.end_lineno or 0) + 1)))
        if not found:
            name = place.definition.rpartition(".")[2]
            users = [
                user for user in places(tree) if name in (getattr(user.node, "id", ""), getattr(user.node, "attr", ""))
            ]
            found = set().union(*(self._tests[user.file][user.node.lineno] for user in users))
        files: dict[str, list[str]] = defaultdict(list)
        for test in sorted(found or set().union(*lines.values()), key=lambda test: (self._seconds[test], test)):
            files[test.partition("::")[0]].append(test)
        ranked = [files[file] for name in MEASURED for file in sorted(files) if file.startswith(name)]
        tests = [test for turn in zip_longest(*ranked) for test in turn if test]
        return sorted(tests, key=lambda test: self._seconds[test] > MOST_SECONDS)[:MOST_TESTS]


def measured(tree: Path, jobs: int) -> Coverage:
    """Run the tests of a tree, and note which lines they cover and how long they take. A commit is measured once."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tree, capture_output=True, check=True, text=True).stdout
    folder = BUILD / commit.strip()
    settings, log = folder / "settings", folder / "log"
    if not log.exists():
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            "[run]",
            "parallel = True",
            "relative_files = True",
            "source = functions",
            f"data_file = {folder}/coverage",
        ]
        settings.write_text("\n".join(lines), encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pytest",
            *PYTEST,
            "-vv",
            "--durations=0",
            f"-n{jobs}",
            "--cov",
            "--cov-report=",
        ]
        command += [f"--cov-config={settings}", "--cov-context=test", "-mnot long and not runtime and not no_cover"]
        command += [name for name in MEASURED if (tree / name).exists()]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(str(tree / name) for name in IMPORTED)}
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, check=False)
        log.write_bytes(done.stdout)
    return Coverage(folder)


def now(tree: Path, test: str) -> list[str]:
    """Return a test's name in the file where it is now, nothing if there is none."""
    path, _, within = test.partition("::")
    defined = f"def {within.partition('[')[0].rpartition('::')[2]}("
    files = [file for folder in ("tests", "integrations/tests") for file in sorted((tree / folder).rglob("test_*.py"))]
    found = [str(file.relative_to(tree)) for file in files if defined in file.read_text(encoding="utf-8")]
    found.sort(key=lambda name: (name != path, Path(name).name != Path(path).name))
    return [f"{name}::{within}" for name in found[:1]]


@contextmanager
def worktrees(count: int) -> Iterator[list[Path]]:
    """Check out HEAD several times."""
    with TemporaryDirectory(prefix="express-path-mutants-") as folder:
        trees = [Path(folder).resolve() / str(number) for number in range(count)]
        try:
            for tree in trees:
                subprocess.run(["git", "worktree", "add", "-q", "--detach", tree, "HEAD"], cwd=ROOT, check=True)
            yield trees
        finally:
            for tree in trees:
                subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=False)


def printed(results: Iterable[tuple[Mutant, str]]) -> Iterator[tuple[Mutant, str]]:
    """Print results as they come."""
    for mutant, test in results:
        print(mutant.number, mutant.file, mutant.definition, test or "passes", flush=True)
        yield mutant, test


def main() -> int:
    """Run mutants again. Return 1 if one that was found is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", help="only these numbers, and the files whose paths begin so")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    mutants = read()
    if given.which:
        mutants = [
            mutant
            for mutant in mutants
            if mutant.number in given.which
            or any(mutant.file.startswith(name) for name in given.which if not name.isdecimal())
        ]
    context = get_context("fork")
    with worktrees(given.jobs) as trees:
        queue = context.SimpleQueue()
        for tree in trees:
            queue.put(tree)
        found_in = {mutant: place for mutant in mutants if (place := find(trees[0], mutant))}
        with context.Pool(given.jobs, enter, [queue]) as pool:
            work = [(mutant, now(trees[0], mutant.found_by)) for mutant in found_in]
            results = dict(printed(pool.imap_unordered(attempt, work)))
            missed = [mutant for mutant, test in results.items() if not test]
            if missed:
                coverage = measured(trees[0], given.jobs)
                work = [(mutant, coverage.of(trees[0], found_in[mutant])) for mutant in missed]
                results |= printed(pool.imap_unordered(attempt, work))
            tests = sorted(filter(None, set(results.values())))
            parts = [tests[start : start + 30] for start in range(0, len(tests), 30)]
            failing = {test for found in pool.imap(unsound, parts) for test in found}
    newly_missed = [mutant for mutant, test in results.items() if not test or test in failing]
    for mutant in newly_missed:
        why = f" ({results[mutant]} fails without it, too)" if results[mutant] else ""
        print(f"newly missed: {mutant.number} {mutant.file} {mutant.definition}{why}")
        print(f"    {mutant.original}\n    {mutant.replacement}")
    print("gone:", *(mutant.number for mutant in mutants if mutant not in found_in))
    print(f"{len(mutants)} found before, {len(results) - len(newly_missed)} found now, ", end="")
    print(f"{len(mutants) - len(found_in)} gone, {len(newly_missed)} newly missed")
    return int(bool(newly_missed))


if __name__ == "__main__":
    sys.exit(main())
