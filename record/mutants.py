"""Run the mutants of mutants.tsv: on the base commit, or again on the tree as it is. See README.md."""

import argparse
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path

import places
import rows
from coverage.numbits import numbits_to_nums
from rows import Mutant

HERE = Path(__file__).parent
ROOT = HERE.parent
BASE = HERE / "base.txt"
LIST = HERE / "mutants.tsv"
MOST_TESTS = 25
MOST_SECONDS_OF_TESTS = 40.0
"""How long the tests of one mutant may have taken together when they were measured."""
CPU_SECONDS = 200
WALL_SECONDS = 900
"""Far more than the tests need: this machine may be busy. What runs longer is an endless loop, which counts as found."""
MEASURED = [
    "domain",
    "adapters",
    "handlers",
    "cli",
    "runbooks",
    "demo",
    "org",
    "benchmarks",
    "findings",
    "integrations",
    "test_evaluation.py",
    "test_healing.py",
    "test_errors.py",
    "test_operations.py",
    "test_sample_events.py",
]
NOT_MEASURED = ("sandbox", "lab", "docs", "iam", "template", "terraform")
PYTEST = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--timeout=300"]
FAST_FIRST = ("tests/domain", "tests/adapters", "tests/test_", "tests/cli", "tests/handlers", "")
OF_YAML = {
    "runbooks": (
        "test_documents.py test_runbooks.py test_automation_role.py",
        "test_heal_runs.py test_undo_runs.py test_heal_approved.py",
    ),
    "template.yaml": (
        (
            "test_parameters.py test_alarms.py test_function.py test_rule.py test_policy.py test_remediation.py"
            " test_automation_role.py test_security_hub.py test_security_document.py test_runbooks.py test_operations.py"
            " test_policies.py test_roles.py test_evaluate_role.py test_permissions.py test_template.py"
        ),
    ),
}
"""Test files for what is not measured, by their names, because they may move."""


def environment(tree: Path) -> dict[str, str]:
    """Return an environment in which Python imports from a tree."""
    folders = [tree, *(tree / name for name in ("functions", "cli", "instrument", "sandbox", "integrations"))]
    paths = os.pathsep.join(str(folder) for folder in folders if folder.is_dir())
    return os.environ | {"PYTHONPATH": paths}


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """Check out a commit into a temporary folder, with the environments of this tree that tests look for."""
    with tempfile.TemporaryDirectory(prefix="express-path-record-") as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", str(tree), commit], cwd=ROOT, check=True)
        try:
            for name in (".venv-sam", ".venv-awscli", ".lambda-rie", "build/cdk"):
                if (ROOT / name).exists():
                    (tree / name).parent.mkdir(exist_ok=True)
                    (tree / name).symlink_to((ROOT / name).resolve())
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)


class Coverage:
    """Which tests cover a line, how long they take, and which fail without any mutant."""

    def __init__(self, folder: Path, tree: Path) -> None:
        """Read what `measure` wrote."""
        logs = [file.read_text(encoding="utf-8") for file in sorted(folder.glob("log*"))]
        self.seconds: Counter[str] = Counter()
        self.failing: set[str] = set()
        for log in logs:
            for seconds, test in re.findall(r"^([\d.]+)s (?:call|setup|teardown)\s+(.+)$", log, re.MULTILINE):
                self.seconds[test] += float(seconds)
            self.failing |= set(re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", log, re.MULTILINE))
        self.tests: dict[tuple[str, int], set[str]] = defaultdict(set)
        by_file: dict[str, set[str]] = defaultdict(set)
        for data in sorted(folder.glob(".coverage*")):
            query = (
                "select file.path, context.context, line_bits.numbits from line_bits"
                " join file on file.id = line_bits.file_id join context on context.id = line_bits.context_id"
            )
            for path, context, bits in sqlite3.connect(data).execute(query):
                test, _, _when = context.partition("|")
                name = str(Path(path).relative_to(tree)) if Path(path).is_absolute() else path
                if not test:
                    continue
                by_file[name].add(test)
                for line in numbits_to_nums(bits):
                    self.tests[name, line].add(test)
        self._by_file = by_file

    def of(self, file: str, first: int, last: int) -> list[str]:
        """Return tests of some lines, fast ones first, spread over test files.

        Lines that run only when a module is imported are in no test; those of the whole module stand in.
        """
        found = set().union(*(self.tests.get((file, line), ()) for line in range(first, last + 1)))
        found = (found or self._by_file.get(file, set())) - self.failing
        files: dict[str, list[str]] = defaultdict(list)
        for test in sorted(found, key=lambda test: (self.seconds[test], test)):
            files[test.partition("::")[0]].append(test)
        ranked = sorted(files.values(), key=lambda tests: (_rank(tests[0]), self.seconds[tests[0]]))
        chosen, total = [], 0.0
        for test in (test for turn in zip_longest(*ranked) for test in turn if test):
            if len(chosen) < MOST_TESTS and total + self.seconds[test] <= MOST_SECONDS_OF_TESTS:
                chosen.append(test)
                total += self.seconds[test]
        return sorted(chosen, key=lambda test: (_rank(test), test.partition("::")[0], self.seconds[test]))


def _rank(test: str) -> int:
    return next(rank for rank, start in enumerate(FAST_FIRST) if test.startswith(start))


def measure(tree: Path, folder: Path, turns: int = 2) -> None:
    """Run the tests of a tree once and note which test covers which line: the fast files, then the slow ones.

    What is measured already stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sources = [
        name for name in ("functions", "cli/express_path_cli", "integrations", "instrument") if (tree / name).is_dir()
    ]
    tests = [f"tests/{name}" for name in MEASURED if (tree / "tests" / name).exists()]
    tests += [f"{name}/tests" for name in ("integrations", "instrument") if (tree / name / "tests").is_dir()]
    marks = ("not slow and not runtime", "slow and not runtime and not no_cover")
    for number, mark in enumerate(marks[:turns]):
        log, unfinished, settings = (folder / f"{name}{number}" for name in ("log", "unfinished", "settings"))
        if log.exists():
            continue
        lines = ["[run]", "branch = False", "parallel = True", "relative_files = True"]
        lines += [f"data_file = {folder}/.coverage{number}", "source =", *(f"    {name}" for name in sources)]
        settings.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [*("nice", "-n", "19", sys.executable, "-m", "pytest"), *PYTEST, "-n", "2", "--dist=loadfile"]
        command += ["--no-loadscope-reorder", "--cov", f"--cov-config={settings}", "--cov-context=test"]
        command += ["--cov-report=", "-m", mark, "--durations=0", "-vv", *tests]
        with unfinished.open("w", encoding="utf-8") as out:
            # Some tests fail in a scratch copy, or on a busy machine; they find nothing then.
            subprocess.run(command, cwd=tree, env=environment(tree), stdout=out, stderr=out, check=False)
        unfinished.rename(log)


def run_tests(tree: Path, tests: Iterable[str]) -> str | None:
    """Return the first test that fails, None if all pass."""
    command = [sys.executable, "-m", "pytest", "-x", *PYTEST, "--no-header", "--tb=no", *tests]
    process = subprocess.Popen(
        command,
        cwd=tree,
        env=environment(tree) | {"PYTHONDONTWRITEBYTECODE": "1"},  # nothing compiled from a mutant stays
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS)),  # noqa: PLW1509
    )
    try:
        shown, _ = process.communicate(timeout=WALL_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "endless"
    if failed := re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", shown, re.MULTILINE):
        return failed[1]
    if process.returncode in (0, 5):  # all pass; none collected
        return None
    return "endless" if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL) else "pytest does not start"


def yaml_tests(tree: Path, file: str) -> Iterator[list[str]]:
    """Return the tests of a runbook or template, in the turns in which they run."""
    for names in OF_YAML.get(file.partition("/")[0], OF_YAML["template.yaml"]):
        turn = [
            str(found.relative_to(tree))
            for name in names.split()
            for found in sorted(tree.glob(f"tests/**/{name}"))
            if "sandbox" not in found.parts
        ]
        if turn:
            yield turn


@contextmanager
def applied(tree: Path, mutant: Mutant, place: places.Place) -> Iterator[None]:
    """Put a mutant into a tree for as long as the context lasts."""
    file = tree / place.file
    before, times = file.read_bytes(), file.stat()
    changed = places.replaced(before.decode(), place, mutant.replacement)
    file.write_bytes(changed.encode())
    try:
        yield
    finally:
        file.write_bytes(before)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def find(tree: Path, mutant: Mutant) -> places.Place | None:
    """Return where a mutant is in a tree, None if it is gone."""
    return next(iter(places.places(tree, mutant.file, mutant.definition, mutant.original)), None)


def judge(tree: Path, mutant: Mutant, place: places.Place, coverage: Coverage) -> Mutant:
    """Return a mutant with its result."""
    source = (tree / place.file).read_text(encoding="utf-8")
    first, last = (source.count("\n", 0, at) + 1 for at in (place.start, place.end))
    turns = [coverage.of(place.file, first, last)] if place.file.endswith(".py") else yaml_tests(tree, place.file)
    with applied(tree, mutant, place):
        found = next(filter(None, (run_tests(tree, tests) for tests in turns if tests)), None)
    return rows.Mutant(*_key(mutant), "FOUND" if found else "NOT FOUND", found or "")


def _key(mutant: Mutant) -> tuple:
    return mutant.number, mutant.file, mutant.definition, mutant.original, mutant.replacement, mutant.operator


def run(folder: Path, numbers: set[int], *, is_fast: bool) -> int:
    """Run the mutants of the base commit that have no result yet, and append each result to the list.

    Return 1 if a test that found one fails without it, too.
    """
    with worktree(BASE.read_text(encoding="utf-8").strip()) as tree:
        measure(tree, folder, 1 if is_fast else 2)
        coverage = Coverage(folder, tree)
        todo = [mutant for mutant in rows.read(LIST) if not mutant.result and (not numbers or mutant.number in numbers)]
        for mutant in todo:
            place = find(tree, mutant)
            if place is None:
                raise ValueError(f"not in the base commit: {mutant}")
            done = judge(tree, mutant, place, coverage)
            with LIST.open("a", encoding="utf-8") as out:
                out.write(rows.line(done))
            print(done.number, done.file, done.operator, done.result, done.found_by, flush=True)
        tidy()
        return int(bool(unsound(tree)))


def unsound(tree: Path) -> list[str]:
    """Print and return the tests that found a mutant and fail without any, in a tree without mutants."""
    tests = sorted({mutant.found_by for mutant in rows.read(LIST) if mutant.found_by.startswith("tests/")})
    found = []
    for start in range(0, len(tests), 50):
        turn = tests[start : start + 50]
        while failed := run_tests(tree, turn):
            print("fails without a mutant:", failed, flush=True)
            found.append(failed)
            if failed not in turn:
                break
            turn.remove(failed)
    return found


def retry() -> None:
    """Forget that mutants in Python were not found, so that they run again, with slow tests too."""
    found = [
        rows.Mutant(*_key(mutant)) if mutant.result == "NOT FOUND" and mutant.file.endswith(".py") else mutant
        for mutant in rows.read(LIST)
    ]
    with LIST.open("w", encoding="utf-8") as out:
        rows.write(out, found)


def tidy() -> None:
    """Leave one line for each mutant, in order."""
    found = sorted(rows.read(LIST), key=lambda mutant: mutant.number)
    with LIST.open("w", encoding="utf-8") as out:
        rows.write(out, found)
    print(len(found), "mutants:", dict(Counter(mutant.result or "not run" for mutant in found)))


def moved_tests(tree: Path, test: str) -> list[str]:
    """Return where a test is now; it may have moved to another file."""
    path, _, within = test.partition("[")[0].partition("::")
    name = within.rpartition("::")[2]
    files = [file for file in tree.glob("**/test_*.py") if not {".venv", "build"} & set(file.relative_to(tree).parts)]
    if not name:  # not even the file could be imported
        return [str(file.relative_to(tree)) for file in files if path and file.name == Path(path).name]
    found = [file for file in files if f"def {name}(" in file.read_text(encoding="utf-8")]
    found.sort(key=lambda file: file.name != Path(path).name)
    same = [file for file in found if file.name == Path(path).name] or found
    return [f"{file.relative_to(tree)}::{within}" for file in same]


def again(folder: Path, numbers: set[int]) -> int:
    """Run the mutants on a copy of this tree, with uncommitted changes left out. Return 1 if one is newly missed."""
    results: dict[int, str] = {}
    state = folder / "again.tsv"
    folder.mkdir(parents=True, exist_ok=True)
    if state.exists():
        results = {
            int(number): result for number, result in (line.split("\t") for line in state.read_text().splitlines())
        }
    mutants = [mutant for mutant in rows.read(LIST) if not numbers or mutant.number in numbers]
    with worktree("HEAD") as tree:
        coverage = None
        for mutant in mutants:
            if mutant.number in results or mutant.result != "FOUND":
                continue
            place = find(tree, mutant)
            if place is None:
                result = "gone"
            else:
                with applied(tree, mutant, place):
                    tests = moved_tests(tree, mutant.found_by)
                    failed = run_tests(tree, tests) if tests else None
                result = f"found now: {failed}" if failed else ""
                if not result:
                    if coverage is None:
                        measure(tree, folder)
                        coverage = Coverage(folder, tree)
                    found = judge(tree, mutant, place, coverage)
                    result = f"found now: {found.found_by}" if found.result == "FOUND" else "newly missed"
            results[mutant.number] = result
            with state.open("a", encoding="utf-8") as out:
                out.write(f"{mutant.number}\t{result}\n")
            print(mutant.number, mutant.file, mutant.definition, result, flush=True)
    report(mutants, results)
    return int("newly missed" in results.values())


def report(mutants: list[Mutant], results: dict[int, str]) -> None:
    """Print the sums, and every mutant that is gone or newly missed."""
    for mutant in mutants:
        result = results.get(mutant.number, "")
        if result in ("gone", "newly missed"):
            print(f"{result:12}  {mutant.number:4}  {mutant.file}  {mutant.definition}  {mutant.original!r}")
    kinds = Counter(result.partition(":")[0] for result in results.values())
    before = sum(mutant.result == "FOUND" for mutant in mutants)
    print(
        f"{len(mutants)} mutants, {before} found before, {kinds['found now']} found now, {kinds['gone']} gone,"
        f" {kinds['newly missed']} newly missed"
    )


def apply(numbers: set[int]) -> int:
    """Print where each mutant is in this tree, without changing anything."""
    gone = 0
    for mutant in rows.read(LIST):
        if numbers and mutant.number not in numbers:
            continue
        place = find(ROOT, mutant)
        gone += place is None
        where = "gone"
        if place:
            line = (ROOT / place.file).read_text(encoding="utf-8").count("\n", 0, place.start) + 1
            where = f"{place.file}:{line}"
        print(mutant.number, mutant.file, mutant.definition, "->", where)
    print(gone, "gone")
    return 0


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "again", "apply", "tidy", "retry"))
    parser.add_argument("numbers", nargs="*", type=int, help="only these mutants")
    parser.add_argument("--fast", action="store_true", help="run only tests of files that are not slow")
    parser.add_argument("--coverage", type=Path, help="where the measurement is or will be")
    given = parser.parse_args()
    numbers = set(given.numbers)
    folder = (given.coverage or ROOT / "build" / "record" / ("base" if given.what == "run" else "again")).resolve()
    match given.what:
        case "run":
            return run(folder, numbers, is_fast=given.fast)
        case "again":
            return again(folder, numbers)
        case "apply":
            return apply(numbers)
        case "retry":
            retry()
        case _:
            tidy()
    return 0


if __name__ == "__main__":
    sys.exit(main())
