"""The configuration file: where it is found, what it sets, what is ignored, and its faults."""

import json
import os
from datetime import timedelta
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from typer.testing import Result

from express_path.domain.verdict.parameters import PARAMETERS
from express_path_cli.findings.settings import FILE, LONGEST, this_day
from tests.support.command import invoke
from tests.support.plans import nat_route, network
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


def scan_of(dump: Path) -> Result:
    """Scan a dump."""
    return invoke(["scan", "--from-dump", str(dump), "--format", "json"])


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


def parameter(name: str = "publicSubnets", value: str = "NON_COMPLIANT", expires: str = LATEST) -> str:
    """Return an entry of the list of parameters."""
    return f'[[parameter]]\nname = "{name}"\nvalue = "{value}"\nreason = "moves in March"\nexpires = {expires}\n'


def test_the_file_sets_parameters(folder: Path) -> None:
    """The first line says what the file decides, and the second one why. An explanation has the same parameters."""
    (folder / FILE).write_text(parameter())
    assert compliance(PUBLIC) == "NON_COMPLIANT"
    found = scan("--format", "json")
    decides = f"{folder / FILE} sets publicSubnets=NON_COMPLIANT"
    effect = f"publicSubnets=NON_COMPLIANT changes the compliance of 1 subnet: moves in March (until {LATEST})"
    assert found.stderr.splitlines() == [f"express-path: note: {decides}", f"express-path: note: {effect}"]
    assert json.loads(found.stdout)["settings"] == [decides, effect]
    assert scan().stdout.startswith(f"{decides}\n")
    [public] = [row for row in json.loads(found.stdout)["subnets"] if row["reason"] == PUBLIC]
    assert public["setBy"] == "publicSubnets"
    explained = invoke(["explain", public["subnetId"], "--from-dump", NAT, "--format", "json"])
    assert json.loads(explained.stdout)["compliance"] == "NON_COMPLIANT"
    reason = f"publicSubnets=NON_COMPLIANT is set: moves in March (until {LATEST})"
    assert explained.stderr.splitlines() == [f"express-path: note: {decides}", f"express-path: note: {reason}"]


def test_a_parameter_of_the_command_line_wins(folder: Path) -> None:
    """It is the user's own, and is not counted; a note says so."""
    (folder / FILE).write_text(parameter())
    found = scan("--format", "json", "--parameter", "publicSubnets=NOT_APPLICABLE")
    answer = json.loads(found.stdout)
    assert answer["parameters"]["publicSubnets"] == "NOT_APPLICABLE"
    assert (answer["setParameters"], answer["totals"]["setByFile"]) == ([], 0)
    wins = "publicSubnets=NON_COMPLIANT is not used, because --parameter sets publicSubnets=NOT_APPLICABLE"
    assert answer["settings"] == [f"{folder / FILE} sets nothing", wins]
    assert wins in found.stderr
    public = next(row["subnetId"] for row in answer["subnets"] if row["reason"] == PUBLIC)
    explained = invoke(["explain", public, "--from-dump", NAT, "--parameter", "publicSubnets=NOT_APPLICABLE"])
    assert wins in explained.stderr


def test_the_next_commands_name_only_the_users_own_parameters(folder: Path) -> None:
    """They read the file themselves. With its parameters on the command line, nothing would be counted."""
    (folder / FILE).write_text(parameter())
    shown = scan("--parameter", "unresolvedEgress=NOT_APPLICABLE").stdout
    assert "--parameter unresolvedEgress=NOT_APPLICABLE" in shown
    assert "--parameter publicSubnets" not in shown


def test_an_expired_parameter_is_not_set_and_says_so(folder: Path) -> None:
    """From the day after its date."""
    (folder / FILE).write_text(parameter(expires=str(TODAY)))
    assert compliance(PUBLIC) == "NON_COMPLIANT"
    (folder / FILE).write_text(parameter(expires="2026-01-31"))
    found = scan("--format", "json")
    expired = "publicSubnets=NON_COMPLIANT is no longer set: moves in March (until 2026-01-31)"
    assert json.loads(found.stdout)["settings"] == [f"{folder / FILE} sets nothing", expired]
    assert expired in found.stderr
    assert compliance(PUBLIC) == "COMPLIANT"


HIDING = {
    "vpcIds": "vpc-0123456789abcdef0",
    "excludeTag": "Name",
    "scope": "DIRECTORY_BUCKETS",
    "publicSubnets": "NOT_APPLICABLE",
}
"""Values of parameters that change the compliance of a subnet of the network."""


@pytest.mark.parametrize("name", HIDING)
def test_what_a_parameter_changes_is_counted(folder: Path, name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each subnet with another compliance names the parameter."""
    dump = tmp_path_factory.mktemp("dump") / "dump"
    copytree(NAT, dump)
    (dump / "directory-buckets.json").write_text('{"Buckets": []}')
    (dump / "shared-subnets.json").write_text('{"resources": []}')
    before, options = (
        json.loads(scan_of(dump).stdout),
        {row["subnetId"]: row for row in json.loads(scan_of(dump).stdout)["subnets"]},
    )
    (folder / FILE).write_text(parameter(name, HIDING[name]))
    answer = json.loads(scan_of(dump).stdout)
    changed = {
        row["subnetId"] for row in answer["subnets"] if row["compliance"] != options[row["subnetId"]]["compliance"]
    }
    assert changed
    assert {row["subnetId"] for row in answer["subnets"] if row.get("setBy") == name} == changed
    [entry] = answer["setParameters"]
    assert entry == {
        "name": name,
        "value": HIDING[name],
        "why": "moves in March",
        "expires": LATEST,
        "subnets": len(changed),
    }
    assert (before["totals"]["setByFile"], answer["totals"]["setByFile"]) == (0, len(changed))


def test_each_of_two_parameters_says_what_it_changes(folder: Path) -> None:
    """One that changes the same subnets does not hide what the other one does."""
    (folder / FILE).write_text(parameter("vpcIds", HIDING["vpcIds"]) + parameter("publicSubnets", "NOT_APPLICABLE"))
    answer = document()
    judged = len([row for row in answer["subnets"] if row.get("setBy")])
    assert [entry["subnets"] for entry in answer["setParameters"]] == [judged, 1]
    assert answer["totals"]["setByFile"] == judged


@pytest.mark.parametrize(
    ("output_format", "counted"),
    [
        ("table", "; parameters of express-path.toml change the compliance of 1 subnet\n"),
        ("markdown", "; parameters of express-path.toml change the compliance of 1 subnet**"),
        ("markdown", "publicSubnets=NON_COMPLIANT changes the compliance of 1 subnet: moves in March (until "),
        ("html", "; parameters of express-path.toml change the compliance of 1 subnet."),
        ("html", "publicSubnets=NON_COMPLIANT changes the compliance of 1 subnet: moves in March (until "),
        ("json", '"setByFile":1'),
        ("csv", ",publicSubnets=NON_COMPLIANT: moves in March (until "),
        ("ocsf", '"comment":"set by publicSubnets=NON_COMPLIANT: moves in March (until '),
        ("sarif", '"express-path/setByFile":1'),
        ("sarif", "publicSubnets=NON_COMPLIANT changes the compliance of 1 subnet: moves in March (until "),
        ("junit", '<skipped message="changes the compliance of 1 subnet: moves in March (until '),
        ("junit", 'errors="0" skipped="1" tests="1"'),
    ],
)
def test_every_format_counts_what_parameters_change(folder: Path, output_format: str, counted: str) -> None:
    """In its totals and in words; also where the scan is shown again without the file."""
    (folder / FILE).write_text(parameter())
    found = scan("--format", output_format).stdout
    assert counted in found.replace('": ', '":').replace("\\", "")
    Path("scan.json").write_text(scan("--format", "json").stdout)
    (folder / FILE).unlink()
    again = invoke(["scan", "--from", "scan.json", "--format", output_format])
    assert counted in again.stdout.replace('": ', '":').replace("\\", "")
    assert "publicSubnets=NON_COMPLIANT changes the compliance of 1 subnet" in again.stderr


def test_a_plan_counts_what_parameters_change(folder: Path) -> None:
    """Also of subnets that do not exist yet."""
    nat_route(network()).write(folder)
    (folder / FILE).write_text(parameter("vpcIds", HIDING["vpcIds"]) + parameter("unresolvedEgress", "NON_COMPLIANT"))
    found = json.loads(invoke(["scan", "--plan", "plan.json", "--example", "--format", "json"]).stdout)
    assert found["totals"]["setByFile"] == sum("setBy" in row for row in found["subnets"]) > 3


def test_the_file_is_in_this_folder_or_the_root_of_its_repository(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is never read from above the repository, nor from one of somebody else. That of this folder comes first."""
    (folder / FILE).write_text(parameter())
    inner = folder / "repository" / "folder"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert compliance(PUBLIC) == "COMPLIANT"
    (inner.parent / ".git").mkdir()
    assert compliance(PUBLIC) == "COMPLIANT"
    (inner.parent / FILE).write_text(parameter())
    assert compliance(PUBLIC) == "NON_COMPLIANT"
    with monkeypatch.context() as somebody_else:
        somebody_else.setattr(os, "getuid", lambda: 4711)
        assert compliance(PUBLIC) == "COMPLIANT"
    (inner / FILE).write_text(parameter(value="NOT_APPLICABLE"))
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
        pytest.param(f"ignore = {'[' * 100_000}", "is not valid TOML", id="deep"),
        ("accaunts = {}", "unknown field `accaunts` (did you mean accounts?)"),
        ("ignores = 1", "unknown field `ignores` (did you mean ignore?)"),
        *[
            (plain, f"unknown field `{word}` (set it in an entry [[parameter]] with name, value, reason, and expires)")
            for plain, word in (
                ("[parameters]\nvpcIds = 'vpc-1'", "parameters"),
                ("parameters = {publicSubnets = 'COMPLIANT'}", "parameters"),
                *((f"{name} = 'x'", name) for name in PARAMETERS if name != "networkRoleArn"),
            )
        ],
        (
            "networkRoleArn = 'x'",
            "unknown field `networkRoleArn` (use --parameter networkRoleArn=ARN on the command line)",
        ),
        ("parameter = 1", "got `int` - at `parameter` (set it in an entry [[parameter]] with name, value, "),
        ("[parameter]\nname = 'scope'", "got `object` - at `parameter` (set it in an entry [[parameter]] with name"),
        (
            parameter("publicSubnet"),
            "parameter[0]: publicSubnet='NON_COMPLIANT' is not allowed (did you mean publicSubnets?)",
        ),
        (parameter(value="NO"), "parameter[0]: publicSubnets='NO' is not allowed (must be one of"),
        (parameter().replace('"NON_COMPLIANT"', "true"), "Expected `str`, got `bool` - at `parameter[0].value`"),
        (parameter().replace('reason = "moves in March"', ""), "missing required field `reason` - at `parameter[0]`"),
        (parameter().replace("moves in March", "  "), "parameter[0].reason"),
        (entry(vpc="vpc-1").replace("moves in March", " \\t"), "ignore[0].reason"),
        *(
            (parameter().replace("moves in March", blank), "parameter[0].reason: has no visible character")
            for blank in ("\u200b", "\u00ad", " \u2060\ufeff", "\u3164", "\u2800", "\u0301", "\u202e")
        ),
        (parameter("\u200b"), "parameter[0].name: has no visible character"),
        (entry(route_table="\u200b"), "ignore[0].route-table: has no visible character"),
        (parameter().replace("moves in March", ""), "length >= 1 - at `parameter[0].reason`"),
        (parameter().replace(f"expires = {LATEST}", ""), "missing required field `expires` - at `parameter[0]`"),
        (parameter().replace("value", "values"), "unknown field `values` - at `parameter[0]` (did you mean value?)"),
        (
            parameter(expires=str(TODAY + LONGEST + timedelta(1))),
            f"parameter[0].expires: {TODAY + LONGEST + timedelta(1)} is more than 180 days away (must be {LATEST} or earlier)",
        ),
        (parameter() * 2, "parameter[1].name: publicSubnets is set twice (leave one of the entries out)"),
        (
            parameter("networkRoleArn", "arn:aws:iam::111122223333:role/Mine"),
            "parameter[0].name: this file may not name a role to assume (use --parameter networkRoleArn=ARN",
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
