"""The configuration file: where it is found, what it sets, what is ignored, and its faults."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from express_path_cli.findings.settings import FILE
from tests.support.command import invoke
from tests.support.scenarios import dump_of

NAT = str(dump_of("nat-gateway-zonal"))
PUBLIC = "INTERNET_GATEWAY"


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


def entry(expires: str = "2999-12-31", **values: str) -> str:
    """Return an entry of the list of ignored findings."""
    lines = [f'{key.replace("_", "-")} = "{value}"' for key, value in values.items()]
    return "\n".join(["[[ignore]]", *lines, 'reason = "moves in March"', f"expires = {expires}", ""])


def test_the_file_sets_parameters(folder: Path) -> None:
    """The command line wins, and a note names the file. An explanation has the same parameters."""
    (folder / FILE).write_text('[parameters]\npublicSubnets = "NON_COMPLIANT"\n')
    assert compliance(PUBLIC) == "NON_COMPLIANT"
    assert compliance(PUBLIC, "--parameter", "publicSubnets=NOT_APPLICABLE") == "NOT_APPLICABLE"
    found = scan("--format", "json")
    assert f"note: the settings in {folder / FILE} are used" in found.stderr
    [public] = [row["subnetId"] for row in json.loads(found.stdout)["subnets"] if row["reason"] == PUBLIC]
    explained = invoke(["explain", public, "--from-dump", NAT, "--format", "json"])
    assert json.loads(explained.stdout)["compliance"] == "NON_COMPLIANT"


def test_the_file_is_in_this_folder_or_the_root_of_its_repository(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is never read from above the repository. That of this folder comes first."""
    (folder / FILE).write_text('parameters = {publicSubnets = "NON_COMPLIANT"}')
    inner = folder / "repository" / "folder"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert compliance(PUBLIC) == "COMPLIANT"
    (inner.parent / ".git").mkdir()
    assert compliance(PUBLIC) == "COMPLIANT"
    (inner.parent / FILE).write_text('parameters = {publicSubnets = "NON_COMPLIANT"}')
    assert compliance(PUBLIC) == "NON_COMPLIANT"
    (inner / FILE).write_text('parameters = {publicSubnets = "NOT_APPLICABLE"}')
    assert compliance(PUBLIC) == "NOT_APPLICABLE"


@pytest.mark.parametrize("key", ["subnet", "route-table", "vpc", "account"])
def test_an_ignored_finding_does_not_count(folder: Path, key: str) -> None:
    """It makes no scan fail, is in no output, and is counted in a note. JSON has it with its reason and date."""
    row = flagged()
    ids = {
        "subnet": row["subnetId"],
        "route-table": row["routeTableId"],
        "vpc": row["vpcId"],
        "account": row["accountId"],
    }
    (folder / FILE).write_text(entry(**{key.replace("-", "_"): ids[key], "finding": "NAT_GATEWAY"}))
    for output_format in ("table", "csv", "html"):
        found = scan("--format", output_format)
        assert (found.exit_code, row["subnetId"] in found.stdout) == (0, False)
    assert f"note: 1 finding ignored by {folder / FILE}: --format json lists them" in found.stderr
    assert flagged()["ignored"] == {"why": "moves in March", "expires": "2999-12-31"}


def test_another_finding_of_the_same_resource_counts(folder: Path) -> None:
    """An entry describes all of its values, and a note says that it describes nothing."""
    subnet_id = flagged()["subnetId"]
    (folder / FILE).write_text(entry(subnet=subnet_id, finding="NAT_INSTANCE"))
    found = scan()
    assert found.exit_code == 1
    assert f"note: the entry for {subnet_id} NAT_INSTANCE describes no finding of this scan" in found.stderr


def test_an_expired_entry_counts_again_and_says_so(folder: Path) -> None:
    """From the day after its date."""
    subnet_id = flagged()["subnetId"]
    (folder / FILE).write_text(entry("2026-01-31", subnet=subnet_id))
    found = scan()
    assert (found.exit_code, "ignored" in flagged()) == (1, False)
    expired = f"note: the entry for {subnet_id} expired on 2026-01-31, so 1 finding counts again (moves in March)"
    assert expired in found.stderr


def test_an_ignored_finding_is_not_new(folder: Path) -> None:
    """A pipeline that fails on new findings passes; without the entry, it fails."""
    Path("last.json").write_text(scan("--format", "json", "--vpc", "vpc-0elsewhere").stdout)
    options = ("--baseline", "last.json", "--fail-on", "new")
    assert scan(*options).exit_code == 1
    (folder / FILE).write_text(entry(subnet=flagged()["subnetId"]))
    assert scan(*options).exit_code == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ignore = [", "is not valid TOML"),
        ("parameter = 1", "parameter: unknown key (did you mean parameters?)"),
        ("parameters = 1", "parameters: not a table"),
        (
            "parameters = {publicSubnet = 'COMPLIANT'}",
            "parameters.publicSubnet: unknown key (did you mean publicSubnets?)",
        ),
        ("parameters = {publicSubnets = 'NO'}", "parameters.publicSubnets: 'NO' is not allowed (must be one of"),
        ("parameters = {publicSubnets = true}", "parameters.publicSubnets: True is not a text"),
        ("ignore = 1", "ignore: not a list"),
        ("[[ignore]]\nreason = 'x'\nexpires = 2999-01-01", "ignore[1]: does not say what to ignore"),
        ("[[ignore]]\nvpc = 'vpc-1'\nexpires = 2999-01-01", "ignore[1].reason: missing"),
        ("[[ignore]]\nvpc = 'vpc-1'\nreason = 'x'", "ignore[1].expires: not a date"),
        ("[[ignore]]\nvpc = 'vpc-1'\nreason = 'x'\nexpires = 2999-01-01T00:00:00", "ignore[1].expires: not a date"),
        ("[[ignore]]\nvpc = 'vpc-1'\nfinding = 'NAT'\nreason = 'x'\nexpires = 2999-01-01", "'NAT' is not a reason"),
        (
            "[[ignore]]\nsubnets = 'x'\nreason = 'x'\nexpires = 2999-01-01",
            "ignore[1].subnets: unknown key (did you mean subnet?)",
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
