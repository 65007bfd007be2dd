"""What a scan is about, what it shows, where it writes, and when it fails."""

import json
from pathlib import Path

import pytest

from tests.support.command import invoke
from tests.support.scenarios import dump_of

DUMP = str(dump_of("gateway-endpoint"))
NAT = str(dump_of("nat-gateway-zonal"))


def subnets(*options: str, dump: str = NAT) -> dict[str, str]:
    """The reasons that a scan shows, by subnet."""
    result = invoke(["scan", "--from-dump", dump, "--format", "json", *options])
    return {row["subnetId"]: row["reason"] for row in json.loads(result.stdout)["subnets"]}


def status(*options: str, dump: str = NAT) -> int:
    """The exit status of a scan."""
    return invoke(["scan", "--from-dump", dump, *options]).exit_code


def test_vpc_filter_keeps_its_subnets_alone() -> None:
    """--vpc names the VPCs whose subnets are judged."""
    vpc = json.loads((dump_of("nat-gateway-zonal") / "vpcs.json").read_text(encoding="utf-8"))["Vpcs"][0]["VpcId"]
    assert subnets("--vpc", vpc) == subnets()
    assert status("--vpc", vpc) == 1


def test_a_vpc_that_is_not_there_is_named() -> None:
    """A VPC that is misspelt is not without NAT paths: it is named, the status is 2, and the others are told."""
    vpc = json.loads((dump_of("nat-gateway-zonal") / "vpcs.json").read_text(encoding="utf-8"))["Vpcs"][0]["VpcId"]
    result = invoke(["scan", "--from-dump", NAT, "--format", "json", "--vpc", "vpc-0elsewhere", "--vpc", vpc])
    assert result.exit_code == 2
    assert result.stderr == (
        "express-path: --vpc vpc-0elsewhere: this VPC was not found "
        "(a scan without --vpc lists all subnets with their VPCs)\n"
    )
    assert len(json.loads(result.stdout)["subnets"]) == len(subnets())
    assert subnets("--vpc", "vpc-0elsewhere") == {}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["scan", "--vpc", ""], "--vpc"),
        (["scan", "--vpc", "vpc-1", "--vpc", ""], "--vpc"),
        (["scan", "--tag", ""], "--tag"),
        (["scan", "--region", ""], "--region"),
        (["explain", ""], "SUBNET"),
        (["diagnose", ""], "SUBNET"),
        (["cost", "--flow-logs", ""], "--flow-logs"),
    ],
)
def test_an_empty_value_is_not_taken_for_none(arguments: list[str], named: str) -> None:
    """A shell's variable that is not set does not make a scan of everything, or of nothing."""
    result = invoke(arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"express-path: {named} is empty (")


def test_an_empty_default_may_be_given() -> None:
    """No external id is what there is without the option, too."""
    assert status("--external-id", "") == 1


def test_tag_filter_takes_keys_and_values(tmp_path: Path) -> None:
    """--tag fits a key or key=value, case counting; several must all fit."""
    source = dump_of("nat-gateway-zonal")
    for file in source.glob("*.json"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    described = json.loads((source / "subnets.json").read_text(encoding="utf-8"))
    first = described["Subnets"][0]
    first["Tags"] = [{"Key": "team", "Value": "data"}, {"Key": "stage", "Value": "prod"}]
    (tmp_path / "subnets.json").write_text(json.dumps(described), encoding="utf-8")
    only = [first["SubnetId"]]
    assert list(subnets("--tag", "team", dump=str(tmp_path))) == only
    assert list(subnets("--tag", "team=data", "--tag", "stage=prod", dump=str(tmp_path))) == only
    assert subnets("--tag", "team=data", "--tag", "stage=test", dump=str(tmp_path)) == {}
    assert subnets("--tag", "Team", dump=str(tmp_path)) == {}
    told = invoke(["scan", "--from-dump", str(tmp_path), "--quiet", "--tag", "team=data", "--tag", "Team"])
    assert (told.exit_code, told.stderr) == (0, "express-path: no subnet has the tag Team\n")


def test_a_tag_without_a_key_is_refused() -> None:
    """As where a shell's variable for the key is not set."""
    result = invoke(["scan", "--from-dump", NAT, "--tag", "=data"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("express-path: --tag =data has no key (")


def test_verdict_filter_hides_rows_but_not_their_status() -> None:
    """--verdict chooses what is shown, by compliance or reason in any case; what is hidden still fails the scan."""
    everything = subnets()
    assert set(everything.values()) > {"NAT_GATEWAY"}
    assert subnets("--verdict", "NAT_GATEWAY") == {key: r for key, r in everything.items() if r == "NAT_GATEWAY"}
    assert subnets("--verdict", "non_compliant") == subnets("--verdict", "NAT_GATEWAY")
    assert status("--verdict", "COMPLIANT") == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], 1),
        (["never"], 0),
        (["NAT_INSTANCE"], 0),
        (["NAT_GATEWAY"], 1),
        (["NAT_INSTANCE", "nat_gateway"], 1),
        (["UNRESOLVED_EGRESS"], 0),
    ],
)
def test_fail_on_chooses_what_fails(words: list[str], expected: int) -> None:
    """Status 1 is for what --fail-on names, by compliance or reason: NON_COMPLIANT unless said otherwise."""
    assert status(*(f"--fail-on={word}" for word in words)) == expected


@pytest.mark.parametrize("option", ["--fail-on", "--verdict"])
def test_words_that_name_no_verdict_are_refused(option: str) -> None:
    """A word that is neither a compliance nor a reason is refused in one line that lists those that are."""
    result = invoke(["scan", "--from-dump", NAT, option, "NAT"])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert option in line
    assert "NAT_GATEWAY" in line


@pytest.mark.parametrize("form", ["table", "json", "sarif"])
def test_output_goes_whole_into_a_file(tmp_path: Path, form: str) -> None:
    """--output writes what the terminal would get, a table without colours; standard output stays empty."""
    file = tmp_path / "paths.out"
    file.write_text("from yesterday", encoding="utf-8")
    result = invoke(["scan", "--from-dump", NAT, "--format", form, "--output", str(file)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "NAT_GATEWAY" in file.read_text(encoding="utf-8")
    assert "\x1b" not in file.read_text(encoding="utf-8")
    assert str(file) in result.stderr
    assert list(tmp_path.iterdir()) == [file]


def test_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    """A folder that is not there: the file is named, with what to do, and the status is 2."""
    result = invoke(["scan", "--from-dump", NAT, "--output", str(tmp_path / "no" / "paths.json")])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert "paths.json cannot be written" in line


def test_region_chooses_among_the_folders_of_a_dump() -> None:
    """--region keeps those Regions of a dump; one that it does not hold is refused."""
    several = str(dump_of("two-regions"))
    everything = json.loads(invoke(["scan", "--from-dump", several, "--format", "json"]).stdout)["subnets"]
    regions = sorted({row["region"] for row in everything})
    assert len(regions) == 2
    assert subnets("--region", regions[0], dump=several) == {
        row["subnetId"]: row["reason"] for row in everything if row["region"] == regions[0]
    }
    result = invoke(["scan", "--from-dump", several, "--region", "mx-central-1"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert regions[0] in result.stderr


@pytest.mark.parametrize("option", ["--profile", "--external-id"])
@pytest.mark.parametrize("command", [("scan",), ("explain", "subnet-0a1b2c3d4e5f60718"), ("report",)], ids=" ".join)
def test_a_dump_needs_no_credentials(command: tuple[str, ...], option: str) -> None:
    """Whoever names some expects AWS to be read: every command that reads dumps says the same."""
    result = invoke([*command, "--from-dump", DUMP, option, "prod"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"express-path: --from-dump and {option} cannot be used together (leave one of them out)\n"
    )


@pytest.mark.parametrize(
    "options",
    [
        ["--from-dump", DUMP, "--all-regions"],
        ["--region", "eu-west-1", "--all-regions"],
        ["--organization"],
        ["--role-name", "Audit"],
        ["--from-dump", DUMP, "--fail-on", "never", "--fail-on", "NAT_GATEWAY"],
    ],
)
def test_options_that_exclude_each_other(options: list[str]) -> None:
    """Options that do not go together are refused in one line with a way out, before anything is read."""
    result = invoke(["scan", *options])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert line.endswith(")")
