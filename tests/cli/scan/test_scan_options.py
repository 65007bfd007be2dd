"""Options of scan: which subnets to evaluate, which to show, where to write, and when to fail."""

import json
import shlex
from pathlib import Path

import pytest

from express_path_cli.sources.source import EXAMPLE_NOTE
from tests.support.command import invoke
from tests.support.scenarios import dump_of

DUMP = str(dump_of("gateway-endpoint"))
NAT = str(dump_of("nat-gateway-zonal"))


def subnets(*options: str, dump: str = NAT) -> dict[str, str]:
    """Return the reasons that a scan shows, by subnet."""
    result = invoke(["scan", "--from-dump", dump, "--format", "json", *options])
    return {row["subnetId"]: row["reason"] for row in json.loads(result.stdout)["subnets"]}


def status(*options: str, dump: str = NAT) -> int:
    """Return the exit status of a scan."""
    return invoke(["scan", "--from-dump", dump, *options]).exit_code


def test_vpc_filter_keeps_only_its_subnets() -> None:
    """With --vpc, only subnets of these VPCs are evaluated."""
    vpc = json.loads((dump_of("nat-gateway-zonal") / "vpcs.json").read_text(encoding="utf-8"))["Vpcs"][0]["VpcId"]
    assert subnets("--vpc", vpc) == subnets()
    assert status("--vpc", vpc) == 1


def test_a_missing_vpc_is_named() -> None:
    """A VPC that does not exist is named, the status is 2, and the others are reported."""
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
        (["scan", "--tags", ""], "--tags"),
        (["scan", "--region", ""], "--region"),
        (["explain", ""], "SUBNET"),
        (["diagnose", ""], "SUBNET"),
        (["cost", "--flow-logs", ""], "--flow-logs"),
    ],
)
def test_an_empty_value_is_refused(arguments: list[str], named: str) -> None:
    """An unset shell variable must not select everything or nothing."""
    result = invoke(arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"express-path: {named} is empty (")


def test_an_empty_default_is_accepted() -> None:
    """An empty external ID is the same as no external ID."""
    assert status("--external-id", "") == 1


def test_tag_filter_takes_keys_and_values(tmp_path: Path) -> None:
    """--tag matches a key or key=value, case-sensitively; several must all match."""
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
    result = invoke(["scan", "--from-dump", str(tmp_path), "--quiet", "--tag", "team=data", "--tag", "Team"])
    assert (result.exit_code, result.stderr) == (
        2,
        "express-path: --tag Team: no subnet has this tag (keys and values are case-sensitive)\n",
    )


def test_a_tag_without_a_key_is_refused() -> None:
    """An unset shell variable for the tag's key is an error."""
    result = invoke(["scan", "--from-dump", NAT, "--tag", "=data"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("express-path: --tag =data has no key (")


def test_verdict_filter_hides_rows_but_not_their_status() -> None:
    """--verdict selects rows by compliance or reason, in any case; hidden rows still make the scan fail."""
    everything = subnets()
    assert set(everything.values()) > {"NAT_GATEWAY"}
    assert subnets("--show", "NAT_GATEWAY") == {key: r for key, r in everything.items() if r == "NAT_GATEWAY"}
    assert subnets("--show", "non_compliant") == subnets("--show", "NAT_GATEWAY")
    assert status("--show", "COMPLIANT") == 1


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
    """--fail-on selects the verdicts that give status 1; the default is NON_COMPLIANT."""
    assert status(*(f"--fail-on={word}" for word in words)) == expected


@pytest.mark.parametrize("option", ["--fail-on", "--show"])
def test_words_that_name_no_verdict_are_refused(option: str) -> None:
    """A word that is neither a compliance nor a reason is refused in one line with the allowed words."""
    result = invoke(["scan", "--from-dump", NAT, option, "NAT"])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert option in line
    assert "NAT_GATEWAY" in line


@pytest.mark.parametrize("form", ["table", "json", "sarif"])
def test_output_goes_whole_into_a_file(tmp_path: Path, form: str) -> None:
    """--output writes the terminal's output without colors to a file; standard output stays empty."""
    file = tmp_path / "paths.out"
    file.write_text("from yesterday", encoding="utf-8")
    result = invoke(["scan", "--from-dump", NAT, "--format", form, "--output", str(file)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "NAT_GATEWAY" in file.read_text(encoding="utf-8")
    assert "\x1b" not in file.read_text(encoding="utf-8")
    assert str(file) in result.stderr
    assert list(tmp_path.iterdir()) == [file]


def test_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    """If the folder does not exist, one line names the file and what to do, and the status is 2."""
    result = invoke(["scan", "--from-dump", NAT, "--output", str(tmp_path / "no" / "paths.json")])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert "paths.json cannot be written" in line


def test_region_chooses_among_the_folders_of_a_dump() -> None:
    """--region selects Regions of a dump and refuses one that the dump does not have."""
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


def test_the_example_needs_no_aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command that accepts --example reads the same sample network, and says that it is one."""
    monkeypatch.chdir(tmp_path)
    scan = invoke(["scan", "--example"])
    assert (scan.exit_code, scan.stderr) == (1, f"express-path: note: {EXAMPLE_NOTE}\n")
    assert "4 subnets: 2 NON_COMPLIANT, 2 COMPLIANT, 0 NOT_APPLICABLE" in scan.stdout
    shown = [shlex.split(line)[1:] for line in scan.stdout.splitlines() if line.startswith("  express-path ")]
    assert [words[0] for words in shown] == ["scan", "explain"]
    details, explain = map(invoke, shown)
    assert (details.exit_code, explain.exit_code) == (1, 0)
    assert "app-private-b" in details.stdout
    assert EXAMPLE_NOTE in explain.stdout
    report = invoke(["report", "--example"])
    assert (report.exit_code, EXAMPLE_NOTE in report.stderr) == (1, True)
    assert EXAMPLE_NOTE in Path("express-path.html").read_text(encoding="utf-8")
    unknown = invoke(["explain", "subnet-0", "--example"])
    assert unknown.stderr.startswith("express-path: the sample network has no subnet subnet-0 (")


@pytest.mark.parametrize("option", [["--from-dump", DUMP], ["--region", "us-east-1"], ["--profile", "prod"]])
@pytest.mark.parametrize("command", [("scan",), ("explain", "subnet-0a1b2c3d4e5f60718"), ("report",)], ids=" ".join)
def test_the_example_is_one_source(command: tuple[str, ...], option: list[str]) -> None:
    """--example is refused with an option that selects another network."""
    result = invoke([*command, "--example", *option])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"express-path: --example and {option[0]} cannot be used together (leave one of them out)\n"
    )


@pytest.mark.parametrize("option", ["--profile", "--external-id"])
@pytest.mark.parametrize("command", [("scan",), ("explain", "subnet-0a1b2c3d4e5f60718"), ("report",)], ids=" ".join)
def test_a_dump_needs_no_credentials(command: tuple[str, ...], option: str) -> None:
    """Every command that reads dumps refuses options for credentials together with --from-dump."""
    result = invoke([*command, "--from-dump", DUMP, option, "prod"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"express-path: --from-dump and {option} cannot be used together (leave one of them out)\n"
    )


@pytest.mark.parametrize(
    "options",
    [
        ["--from-dump", DUMP, "--all-regions"],
        ["--from-dump", DUMP, "--aggregator", "all"],
        ["--example", "--aggregator", "all"],
        ["--region", "eu-west-1", "--all-regions"],
        ["--organization"],
        ["--role-name", "Audit"],
        ["--from-dump", DUMP, "--fail-on", "never", "--fail-on", "NAT_GATEWAY"],
    ],
)
def test_conflicting_options_are_refused(options: list[str]) -> None:
    """Conflicting options are refused before anything is read, in one line that says what to use instead."""
    result = invoke(["scan", *options])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert line.endswith(")")


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("out.json", "{"),
        ("out.csv", "accountId,"),
        ("out.md", "## "),
        ("out.xml", "<?xml"),
        ("out.junit", "<?xml"),
        ("out.SARIF", "{"),
        ("out.html", "<!doctype html>"),
        ("out.txt", "2 subnets: "),
    ],
)
def test_the_suffix_of_the_file_is_its_format(tmp_path: Path, name: str, start: str) -> None:
    """Without --format, -o out.json writes JSON; a suffix that no format has gets a table."""
    invoke(["scan", "--from-dump", NAT, "-o", str(tmp_path / name)])
    assert (tmp_path / name).read_text(encoding="utf-8").lower().startswith(start.lower())


def test_format_wins_over_the_suffix(tmp_path: Path) -> None:
    """--format says it explicitly."""
    invoke(["scan", "--from-dump", NAT, "--format", "csv", "-o", str(tmp_path / "out.json")])
    assert (tmp_path / "out.json").read_text(encoding="utf-8").startswith("accountId,")


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_a_filtered_summary_names_the_number_of_all_subnets(form: str, tmp_path: Path) -> None:
    """The summary never looks as if the rows that are shown were all."""
    total, shown = len(subnets()), len(subnets("--show", "NAT_GATEWAY"))
    assert total > shown
    command = ["scan", "--from-dump", NAT, "--format", form, "--show", "NAT_GATEWAY"]
    assert f"{shown} of {total} subnets shown: " in invoke(command).stdout
    assert f"{shown} of {total} subnets shown: " in invoke([*command, "-o", str(tmp_path / "out")]).stderr
    assert "shown" not in invoke(command[:5]).stdout
