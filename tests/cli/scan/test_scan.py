"""The scan command: its exit status, what its options select, and where its output goes."""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from express_path_cli.sources.source import EXAMPLE_NOTE
from tests.support.command import invoke
from tests.support.scenarios import dump_of

COMPLIANT, NAT = str(dump_of("gateway-endpoint")), str(dump_of("nat-gateway-zonal"))
VPC = "vpc-0edcd841989b4dde2"


def scanned(*options: str, dump: str = NAT) -> dict[str, Any]:
    """Return the JSON document of a scan."""
    document: dict[str, Any] = json.loads(invoke(["scan", "--from-dump", dump, "--format", "json", *options]).stdout)
    return document


def refused(*options: str, dump: str = NAT) -> str:
    """Return the one line with which a scan ends before it prints anything."""
    result = invoke(["scan", "--from-dump", dump, *options])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    ("dump", "words", "status"),
    [
        (COMPLIANT, [], 0),
        (NAT, [], 1),
        (NAT, ["never"], 0),
        (NAT, ["NAT_INSTANCE"], 0),
        (NAT, ["NAT_INSTANCE", "nat_gateway"], 1),
        (NAT, ["UNRESOLVED_EGRESS"], 0),
        (COMPLIANT, ["COMPLIANT"], 1),
    ],
)
def test_fail_on_chooses_what_fails(dump: str, words: list[str], status: int) -> None:
    """The status is 1 if a subnet has one of the words, NON_COMPLIANT by default, and 0 otherwise."""
    assert invoke(["scan", "--from-dump", dump, *(f"--fail-on={word}" for word in words)]).exit_code == status


def test_the_table_is_the_default() -> None:
    """Without a format, a scan prints the table, and its next commands run as they are printed."""
    out = invoke(["scan", "--from-dump", NAT]).stdout
    assert out.startswith("2 subnets: 1 NON_COMPLIANT, 1 COMPLIANT, 0 NOT_APPLICABLE\n\nNON_COMPLIANT\n")
    commands = [line.split() for line in out.splitlines() if line.startswith("  express-path ")]
    assert [command[1] for command in commands] == ["scan", "explain"]
    assert all("subnet-" in invoke(command[1:]).stdout for command in commands)


def test_show_hides_rows_but_not_their_status(tmp_path: Path) -> None:
    """A hidden row still makes the scan fail, and the summary never looks as if the rows that are shown were all."""
    command = ["scan", "--from-dump", NAT, "--show", "COMPLIANT"]
    shown, written = invoke(command), invoke([*command, "--output", str(tmp_path / "out.csv")])
    assert (shown.exit_code, written.exit_code) == (1, 1)
    assert shown.stdout.startswith("1 of 2 subnets shown: 0 NON_COMPLIANT, 1 COMPLIANT, ")
    assert "1 of 2 subnets shown: " in written.stderr
    assert "NAT" not in shown.stdout
    document = scanned("--show", "COMPLIANT", "--vpc", VPC, "--parameter", "publicSubnets=NON_COMPLIANT")
    assert (document["subnets"], document["totals"]["evaluated"], document["filters"]) == ([], 2, [f"--vpc {VPC}"])
    assert document["parameters"]["publicSubnets"] == "NON_COMPLIANT"


def test_a_vpc_that_was_not_found_is_named() -> None:
    """The others are reported, and the status is 2."""
    options = ["--format", "json", "--vpc", "vpc-0elsewhere", "--vpc", VPC, "--tag", "Team"]
    result = invoke(["scan", "--from-dump", NAT, *options])
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        (
            "express-path: --vpc vpc-0elsewhere: this VPC was not found "
            "(a scan without --vpc lists all subnets with their VPCs)"
        ),
        "express-path: --tag Team: no subnet has this tag, nor its route table or VPC instead (keys and values are case-sensitive)",
    ]
    assert len(scanned("--vpc", VPC, "--vpc", "vpc-0elsewhere")["subnets"]) == 2


def test_the_format_wins_over_the_suffix_of_the_file(tmp_path: Path) -> None:
    """Without --format, the suffix of the file chooses. The file replaces an older one, and standard output is empty."""
    file = tmp_path / "out.json"
    file.write_text("from yesterday", encoding="utf-8")
    for options, beginning in (["--format", "csv"], "accountId,"), ([], "{"):
        result = invoke(["scan", "--from-dump", NAT, *options, "-o", str(file)])
        assert (result.exit_code, result.stdout) == (1, "")
        assert file.read_text(encoding="utf-8").startswith(beginning)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--fail-on", "NAT"], "--fail-on NAT: unknown compliance or reason"),
        (["--fail-on", "never", "--fail-on", "NAT_GATEWAY"], "--fail-on never and another --fail-on"),
        (["--fail-on", "new"], "--fail-on new needs a baseline"),
        (["--tag", "=data"], "--tag =data has no key"),
        (["--from-dump", "nowhere", "--output", "missing/paths.html"], "missing/paths.html cannot be written: No such"),
    ],
)
def test_wrong_options_are_refused(options: list[str], says: str) -> None:
    """One line says what is wrong, and what to use instead."""
    line = refused(*options)
    assert line.startswith(f"express-path: {says}")
    assert line.endswith(")")


def test_the_example_needs_no_aws() -> None:
    """Every command that accepts --example reads the same sample network, and says that it is one."""
    scan = invoke(["scan", "--example"])
    assert (scan.exit_code, scan.stderr) == (1, f"express-path: note: {EXAMPLE_NOTE}\n")
    assert "4 subnets: 2 NON_COMPLIANT, 2 COMPLIANT, 0 NOT_APPLICABLE" in scan.stdout
    shown = [shlex.split(line)[1:] for line in scan.stdout.splitlines() if line.startswith("  express-path ")]
    assert [words[0] for words in shown] == ["scan", "explain"]
    details, explain = map(invoke, shown)
    assert (details.exit_code, explain.exit_code) == (1, 0)
    assert "app-private-b" in details.stdout
    assert EXAMPLE_NOTE in explain.stdout
    unknown = invoke(["explain", "subnet-0", "--example"])
    assert "is named subnet-0 (express-path scan --example --format csv lists" in unknown.stderr


@pytest.mark.parametrize("option", [["--from-dump", NAT], ["--region", "us-east-1"], ["--profile", "prod"]])
@pytest.mark.parametrize("command", [("scan",), ("explain", "subnet-0a1b2c3d4e5f60718")], ids=" ".join)
def test_the_example_is_one_source(command: tuple[str, ...], option: list[str]) -> None:
    """--example is refused with an option that selects another network."""
    result = invoke([*command, "--example", *option])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"express-path: --example and {option[0]} cannot be used together (leave one of them out)\n"
    )


def test_a_bad_folder_of_a_dump_is_named_beside_the_verdicts_of_the_others(tmp_path: Path) -> None:
    """On standard error and under notRead, with status 2, in a scan and in an explanation of what was read."""
    shutil.copytree(dump_of("nat-gateway-zonal"), tmp_path / "good")
    (tmp_path / "bad").mkdir()
    result = invoke(["scan", "--from-dump", str(tmp_path), "--format", "json"])
    found = json.loads(result.stdout)
    [subnet_id] = [row["subnetId"] for row in found["subnets"] if row["compliance"] == "NON_COMPLIANT"]
    assert (result.exit_code, [place["where"] for place in found["notRead"]]) == (2, ["folder bad"])
    explained = invoke(["explain", subnet_id, "--from-dump", str(tmp_path)])
    assert (explained.exit_code, "NAT_GATEWAY" in explained.stdout) == (2, True)
    assert invoke(["scan", "--from-dump", str(tmp_path), "--fail-on", "never"]).exit_code == 2
    for shown in (result, explained):
        assert shown.stderr.startswith(f"express-path: folder bad: {tmp_path / 'bad' / 'identity.json'}: ")
    (tmp_path / "good" / "vpcs.json").unlink()
    neither = invoke(["scan", "--from-dump", str(tmp_path), "--format", "json"])
    assert (neither.exit_code, neither.stdout, len(neither.stderr.splitlines())) == (2, "", 2)
