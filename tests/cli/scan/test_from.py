"""scan --from: an earlier scan in another format, without AWS."""

import json
import re
from pathlib import Path

import pytest

from tests.support.command import invoke
from tests.support.scenarios import dump_of

TWO = str(dump_of("two-accounts"))


def scanned(folder: Path, *options: str) -> str:
    """Scan a dump of two accounts, and return the file with the JSON document."""
    file = folder / "scan.json"
    invoke(["scan", "--from-dump", TWO, *options, "--output", str(file)])
    return str(file)


def without_times(text: str) -> str:
    """Return a document without the times at which it was made."""
    return re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?|[0-9]{13}", "", text)


@pytest.mark.parametrize(
    "options",
    [
        ["--format", "html"],
        ["--show", "NON_COMPLIANT"],
        ["--tag", "Name=web-private-a"],
        ["--vpc", "vpc-0elsewhere"],
        ["--fail-on", "never"],
    ],
    ids=" ".join,
)
def test_an_earlier_scan_is_shown_like_a_new_one(options: list[str], tmp_path: Path) -> None:
    """Output and exit status are the same, with every option that selects or shows; the next commands read the file, too."""
    file = scanned(tmp_path)
    earlier, now = invoke(["scan", "--from", file, *options]), invoke(["scan", "--from-dump", TWO, *options])
    hints = earlier.stdout.replace("its path and", "why, route by route, and").replace(
        f"--from {file}", f"--from-dump {TWO}"
    )
    assert without_times(hints) == without_times(now.stdout) != ""
    assert earlier.exit_code == now.exit_code


def test_a_comparison_is_kept_or_made(tmp_path: Path) -> None:
    """A scan can be compared when it is made or later, but not twice; `--fail-on new` needs one of both."""
    plain = scanned(tmp_path)
    before = Path(plain).rename(tmp_path / "before.json")
    empty = json.loads(before.read_text(encoding="utf-8"))
    empty |= {"subnets": [row for row in empty["subnets"] if row["compliance"] != "NON_COMPLIANT"]}
    empty["totals"]["compliances"]["NON_COMPLIANT"] = 0
    before.write_text(json.dumps(empty), encoding="utf-8")
    compared = scanned(tmp_path, "--baseline", str(before))
    kept = invoke(["scan", "--from", compared, "--fail-on", "new"])
    assert kept.exit_code == 1
    assert "Compared with the baseline: 1 new" in kept.stdout
    twice = invoke(["scan", "--from", compared, "--baseline", str(before)])
    assert (twice.exit_code, twice.stdout) == (2, "")
    assert "compared with a baseline already" in twice.stderr
    later = scanned(tmp_path)
    assert invoke(["scan", "--from", later, "--baseline", str(before)]).stdout == kept.stdout
    refused = invoke(["scan", "--from", later, "--fail-on", "new"])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--fail-on new needs a baseline" in refused.stderr


@pytest.mark.parametrize(
    "option",
    [
        ["--from-dump", TWO],
        ["--example"],
        ["--aggregator", "all"],
        ["--region", "us-east-1"],
        ["--profile", "prod"],
        ["--parameter", "publicSubnets=NON_COMPLIANT"],
    ],
    ids=lambda option: option[0],
)
def test_an_earlier_scan_was_read_and_judged_already(option: list[str], tmp_path: Path) -> None:
    """An option that selects what is read, or how it is judged, is refused."""
    result = invoke(["scan", "--from", scanned(tmp_path), *option])
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"--from and {option[0]} cannot be used together" in result.stderr


def test_a_scan_that_lacks_rows_is_refused(tmp_path: Path) -> None:
    """With --show, a document does not have what the exit status depends on."""
    result = invoke(["scan", "--from", scanned(tmp_path, "--show", "NON_COMPLIANT")])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "does not list all subnets that its scan evaluated (make it without --show)" in result.stderr
