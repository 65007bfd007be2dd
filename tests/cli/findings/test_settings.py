"""The configuration file: where it is found, what it sets, what is ignored, and its faults."""

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from express_path_cli.findings.settings import FILE, LONGEST, this_day
from tests.support.command import invoke
from tests.support.scenarios import dump_of

NAT = str(dump_of("nat-gateway-zonal"))
PUBLIC = "INTERNET_GATEWAY"
TODAY = this_day()
LATEST = str(TODAY + LONGEST)
"""The last day that an entry may have."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scan(*options: str) -> Result:
    """Scan a network with one NAT path."""
    return invoke(["scan", "--from-dump", NAT, *options])


def document(*options: str) -> dict[str, Any]:
    """Return the JSON of a scan."""
    found: dict[str, Any] = json.loads(scan("--format", "json", *options).stdout)
    return found


def flagged() -> dict[str, Any]:
    """Return the one finding."""
    [row] = [row for row in document()["subnets"] if row["compliance"] == "NON_COMPLIANT"]
    found: dict[str, Any] = row
    return found


def compliance(reason: str, *options: str) -> str:
    """Return the compliance of the subnets with a reason."""
    [found] = {row["compliance"] for row in document(*options)["subnets"] if row["reason"] == reason}
    return str(found)


def entry(expires: str = LATEST, **values: str) -> str:
    """Return an entry of the list of ignored findings."""
    lines = [f'{key.replace("_", "-")} = "{value}"' for key, value in values.items()]
    return "\n".join(["[[ignore]]", *lines, 'reason = "moves in March"', f"expires = {expires}", ""])


def test_the_file_sets_parameters(folder: Path) -> None:
    """The command line wins, and the first line says what the file decides. An explanation has the same parameters."""
    (folder / FILE).write_text('[parameters]\npublicSubnets = "NON_COMPLIANT"\n')
    assert compliance(PUBLIC) == "NON_COMPLIANT"
    assert compliance(PUBLIC, "--parameter", "publicSubnets=NOT_APPLICABLE") == "NOT_APPLICABLE"
    found = scan("--format", "json")
    decides = f"{folder / FILE} sets publicSubnets=NON_COMPLIANT"
    assert found.stderr.splitlines()[0] == f"express-path: note: {decides}"
    assert json.loads(found.stdout)["settings"] == [decides]
    assert scan().stdout.startswith(f"{decides}\n")
    [public] = [row["subnetId"] for row in json.loads(found.stdout)["subnets"] if row["reason"] == PUBLIC]
    explained = invoke(["explain", public, "--from-dump", NAT, "--format", "json"])
    assert json.loads(explained.stdout)["compliance"] == "NON_COMPLIANT"
    assert explained.stderr == f"express-path: note: {decides}\n"
    (folder / "scan.json").write_text(found.stdout)
    again = invoke(["scan", "--from", "scan.json", "--format", "markdown"])
    assert f"{folder / FILE} sets nothing" in again.stdout.replace("\\", "")


def test_the_file_is_in_this_folder_or_the_root_of_its_repository(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is never read from above the repository, nor from one of somebody else. That of this folder comes first."""
    (folder / FILE).write_text('parameters = {publicSubnets = "NON_COMPLIANT"}')
    inner = folder / "repository" / "folder"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert compliance(PUBLIC) == "COMPLIANT"
    (inner.parent / ".git").mkdir()
    assert compliance(PUBLIC) == "COMPLIANT"
    (inner.parent / FILE).write_text('parameters = {publicSubnets = "NON_COMPLIANT"}')
    assert compliance(PUBLIC) == "NON_COMPLIANT"
    with monkeypatch.context() as somebody_else:
        somebody_else.setattr(os, "getuid", lambda: 4711)
        assert compliance(PUBLIC) == "COMPLIANT"
    (inner / FILE).write_text('parameters = {publicSubnets = "NOT_APPLICABLE"}')
    assert compliance(PUBLIC) == "NOT_APPLICABLE"
    (inner / FILE).unlink()
    (inner / FILE).symlink_to(inner.parent / FILE)
    (inner.parent / ".git").rmdir()
    (inner.parent / ".git").write_text("gitdir: elsewhere")  # a work tree, or a submodule
    assert compliance(PUBLIC) == "NON_COMPLIANT"
    (inner.parent / FILE).unlink()
    (inner.parent / FILE).symlink_to(folder / FILE)
    result = scan()
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{inner / FILE} is a symbolic link that leads out of {inner.parent} (" in result.stderr


@pytest.mark.parametrize("key", ["subnet", "route-table", "vpc", "account"])
def test_an_ignored_finding_does_not_count(folder: Path, key: str) -> None:
    """It makes no scan fail. The first lines say why, and for how long."""
    row = flagged()
    ids = {
        "subnet": row["subnetId"],
        "route-table": row["routeTableId"],
        "vpc": row["vpcId"],
        "account": row["accountId"],
    }
    (folder / FILE).write_text(entry(**{key.replace("-", "_"): ids[key], "finding": "NAT_GATEWAY"}))
    found = scan()
    assert (found.exit_code, row["subnetId"] in found.stdout) == (0, False)
    assert found.stderr.splitlines() == [
        f"express-path: note: {folder / FILE} sets ignore (1)",
        (
            f"express-path: note: the entry for {ids[key]} NAT_GATEWAY ignores 1 finding of this scan: "
            f"moves in March (until {LATEST})"
        ),
    ]
    assert scan("--vpc", "vpc-0elsewhere").exit_code == 2


@pytest.mark.parametrize(
    ("output_format", "counted"),
    [
        ("table", "; 1 finding ignored\n"),
        ("markdown", "; 1 finding ignored**"),
        ("html", "; 1 finding ignored."),
        ("json", '"ignored":1'),
        ("json", '"ignored":{"why":"moves in March"'),
        ("csv", ",moves in March (until "),
        ("ocsf", '"status_id":3,"status":"Suppressed","comment":"ignored: moves in March (until '),
        ("sarif", '"express-path/ignored":1'),
        ("sarif", "ignores 1 finding of this scan: moves in March (until "),
        ("junit", 'failures="0" errors="0" skipped="1" tests="1"'),
        ("junit", '<skipped message="ignored: moves in March (until '),
    ],
)
def test_every_format_counts_what_is_ignored(folder: Path, output_format: str, counted: str) -> None:
    """In its totals and in words; and it names the file, unless it is a list of subnets."""
    (folder / FILE).write_text(entry(subnet=flagged()["subnetId"]))
    found = scan("--format", output_format)
    assert found.exit_code == 0
    assert counted in found.stdout.replace('": ', '":')
    assert (f"{FILE} sets ignore (1)" in found.stdout.replace("\\", "")) is (output_format not in ("csv", "ocsf"))


def test_another_finding_of_the_same_resource_counts(folder: Path) -> None:
    """An entry describes all of its values, and a note says that it ignores nothing."""
    subnet_id = flagged()["subnetId"]
    (folder / FILE).write_text(entry(subnet=subnet_id, finding="NAT_INSTANCE"))
    found = scan()
    assert found.exit_code == 1
    assert f"note: the entry for {subnet_id} NAT_INSTANCE ignores 0 findings of this scan" in found.stderr


def test_an_expired_entry_counts_again_and_says_so(folder: Path) -> None:
    """From the day after its date."""
    subnet_id = flagged()["subnetId"]
    (folder / FILE).write_text(entry("2026-01-31", subnet=subnet_id))
    found = scan()
    assert (found.exit_code, "ignored" in flagged()) == (1, False)
    expired = f"the entry for {subnet_id} no longer ignores 1 finding of this scan: moves in March (until 2026-01-31)"
    assert expired in found.stderr


def test_an_ignored_finding_is_not_new(folder: Path) -> None:
    """A pipeline that fails on new findings passes, also on the last day of the entry; without the entry, it fails."""
    Path("last.json").write_text(scan("--format", "json", "--vpc", "vpc-0elsewhere").stdout)
    options = ("--baseline", "last.json", "--fail-on", "new")
    assert scan(*options).exit_code == 1
    (folder / FILE).write_text(entry(str(this_day()), subnet=flagged()["subnetId"]))
    assert scan(*options).exit_code == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ignore = [", "is not valid TOML"),
        ("parameter = 1", "unknown field `parameter` (did you mean parameters?)"),
        ("parameters = 1", "Expected `object`, got `int` - at `parameters` (the names are parameters, ignore, "),
        (
            "parameters = {publicSubnet = 'COMPLIANT'}",
            "parameters.publicSubnet: 'COMPLIANT' is not allowed (did you mean publicSubnets?)",
        ),
        ("parameters = {publicSubnets = 'NO'}", "parameters.publicSubnets: 'NO' is not allowed (must be one of"),
        ("parameters = {publicSubnets = true}", "Expected `str`, got `bool` - at `parameters[...]`"),
        (
            "parameters = {networkRoleArn = 'arn:aws:iam::111122223333:role/Mine'}",
            "parameters.networkRoleArn: this file may not name a role to assume (use --parameter networkRoleArn=ARN",
        ),
        ("[[ignore]]\nvpc = 1\nreason = 'x'", "Expected `str`, got `int` - at `ignore[0].vpc`"),
        ("ignore = 1", "Expected `array`, got `int` - at `ignore`"),
        (
            "[[ignore]]\nreason = 'x'\nexpires = 2026-01-01",
            "ignore[0]: does not say what to ignore (add one of subnet, ",
        ),
        ("[[ignore]]\nvpc = 'vpc-1'\nexpires = 2999-01-01", "missing required field `reason` - at `ignore[0]`"),
        ("[[ignore]]\nvpc = 'vpc-1'\nreason = ''\nexpires = 2999-01-01", "length >= 1 - at `ignore[0].reason`"),
        ("[[ignore]]\nvpc = 'vpc-1'\nreason = 'x'", "missing required field `expires` - at `ignore[0]`"),
        ("[[ignore]]\nvpc = 'vpc-1'\nreason = 'x'\nexpires = 2026-01-01T00:00:00", "Expected `date`, got `datetime`"),
        (
            f"[[ignore]]\nvpc = 'vpc-1'\nreason = 'x'\nexpires = {TODAY + LONGEST + timedelta(1)}",
            f"is more than 180 days away (must be {LATEST} or earlier)",
        ),
        (
            "[[ignore]]\nvpc = 'vpc-1'\nfinding = 'NAT_GATWAY'\nreason = 'x'\nexpires = 2999-01-01",
            "Invalid enum value 'NAT_GATWAY' - at `ignore[0].finding` (did you mean NAT_GATEWAY?)",
        ),
        (
            "[[ignore]]\nsubnets = 'x'\nreason = 'x'\nexpires = 2999-01-01",
            "unknown field `subnets` - at `ignore[0]` (did you mean subnet?)",
        ),
    ],
)
def test_a_fault_of_the_file_is_named(folder: Path, text: str, says: str) -> None:
    """With the file and the key, before anything is read; the status is 2."""
    (folder / FILE).write_text(text)
    result = scan()
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert line.startswith(f"express-path: {folder / FILE}")
    assert says in line
