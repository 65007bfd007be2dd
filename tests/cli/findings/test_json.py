"""The JSON document of a scan: what it says about its scan, and how it is read again as a baseline."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from express_path.errors import ApiError
from express_path_cli.findings.baseline import Baseline, Coverage, notes_on_scope, read_baseline
from express_path_cli.findings.formats.json import as_json
from express_path_cli.findings.result import Result
from express_path_cli.schema.command import FILES, Schema
from express_path_cli.terminal.errors import Failure, OptionError
from tests.support.command import invoke
from tests.support.scenarios import dump_of

SCHEMA = Draft202012Validator(json.loads(FILES[Schema.SCAN].read_text(encoding="utf-8")))
NAT, ENDPOINT = dump_of("nat-gateway-zonal"), dump_of("gateway-endpoint")
EARLIER = datetime(2026, 2, 13, 5, 48, 51, tzinfo=UTC)


def scan_into(file: Path, dump: Path, *options: str) -> dict[str, Any]:
    """Write the JSON output of a scan to a file, and return the document."""
    file.parent.mkdir(exist_ok=True)
    result = invoke(["scan", "--from-dump", str(dump), "--output", str(file), *options])
    assert result.exit_code in (0, 1), result.stderr
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


def test_a_document_says_when_and_how_it_was_made(tmp_path: Path) -> None:
    """The JSON output names its time, rule parameters, accounts and Regions, filters, and totals."""
    before = datetime.now(UTC).replace(microsecond=0)
    [vpc] = {subnet["vpcId"] for subnet in scan_into(tmp_path / "all.json", NAT)["subnets"]}
    options = ("--vpc", vpc, "--parameter", "publicSubnets=NON_COMPLIANT", "--show", "ENDPOINT")
    document = scan_into(tmp_path / "some.json", NAT, *options)
    assert before <= datetime.fromisoformat(document["madeAt"]) <= datetime.now(UTC)
    assert document["madeAt"].endswith("Z")
    assert document["parameters"] == {
        "publicSubnets": "NON_COMPLIANT",
        "unresolvedEgress": "NOT_APPLICABLE",
        "scope": "ALL",
        "excludeTag": "express-path:exclude",
    }
    assert document["accounts"] == ["123456789012 us-east-1"]
    assert document["filters"] == [f"--vpc {vpc}"]
    assert document["notRead"] == []
    assert document["subnets"] == []
    totals = document["totals"]
    assert totals["evaluated"] == sum(totals["compliances"].values()) == sum(totals["reasons"].values()) > 0
    assert (totals["reasons"]["NAT_GATEWAY"], totals["reasons"]["INTERNET_GATEWAY"]) == (1, 1)
    assert totals["compliances"]["NON_COMPLIANT"] == 2


def test_a_document_names_what_could_not_be_read() -> None:
    """An account that could not be read is named with the error, and the result knows it."""
    denied = Failure("account 444455556666 eu-west-1", ApiError("ec2:DescribeSubnets", "UnauthorizedOperation", "no"))
    result = Result([], EARLIER, [denied])
    [place] = json.loads(b"".join(as_json(result)))["notRead"]
    assert place["where"] == denied.where
    assert "UnauthorizedOperation" in place["error"]
    assert result.coverage.not_read == (denied.where,)


def changes(before: Coverage, after: Coverage) -> list[str]:
    """Return how a scan covers something else than its baseline, without the beginning of each sentence."""
    return [note.removeprefix("since the baseline, ") for note in notes_on_scope(Baseline({}, before), after)]


def test_differences_in_scope_are_in_words() -> None:
    """Several accounts are one difference, and filters are shown as they were given."""
    before, after = Coverage(("1 r", "2 r"), filters=("--vpc vpc-1",)), Coverage(("3 r",))
    assert changes(before, after) == [
        "3 r was added",
        "1 r and 1 more were not read",
        "the filters changed from --vpc vpc-1 to none",
    ]
    assert changes(before, before) == []
    assert notes_on_scope(Baseline({}), after) == []


def test_what_could_not_be_read_is_named_once() -> None:
    """What this scan could not read is an error of its own, and findings that the baseline could not see count as new."""
    denied = tuple(f"account {number} (web) eu-west-1" for number in (1, 2))
    assert changes(Coverage(("1 eu-west-1",)), Coverage(not_read=denied)) == ["1 eu-west-1 was not read"]
    assert changes(Coverage(not_read=denied[:1]), Coverage(("1 eu-west-1",))) == [
        "1 eu-west-1 was added",
        "the baseline lacks account 1 (web) eu-west-1: findings there count as new",
    ]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "not JSON, or is cut short"),
        ('{"schemaVersion": 1, "subnets": [', "not JSON, or is cut short"),
        ("[" * 100_000, "not JSON, or is cut short"),
        ("[]", "is not the JSON output of a scan"),
        ('{"schemaVersion": 1, "heals": []}', "is not the JSON output of a scan"),
        ('{"Subnets": []}', "is not the JSON output of a scan"),
        ('{"schemaVersion": 1, "subnets": {}}', "subnets must be a list of objects"),
        ('{"schemaVersion": 1, "subnets": [1]}', "subnets must be a list of objects"),
        ('{"schemaVersion": 2, "subnets": []}', "has the schemaVersion 2"),
        ('{"schemaVersion": true, "subnets": []}', "has the schemaVersion True"),
        ('{"schemaVersion": "1", "subnets": []}', "has the schemaVersion '1'"),
        ('{"schemaVersion": 1, "subnets": [], "subnets": []}', "has the key 'subnets' twice"),
        ('{"schemaVersion": 1, "subnets": [{"a": 1, "a": 2}]}', "has the key 'a' twice"),
    ],
)
def test_a_file_that_is_not_a_scan_is_named(tmp_path: Path, content: str, fault: str) -> None:
    """A damaged file, or one of another tool, ends with status 2 and one line that names it; nothing is written."""
    (tmp_path / "bad.json").write_text(content, encoding="utf-8")
    output = tmp_path / "paths.html"
    result = invoke(
        ["scan", "--from-dump", str(NAT), "--baseline", str(tmp_path / "bad.json"), "--output", str(output)]
    )
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert f"{tmp_path / 'bad.json'}" in line
    assert fault in line
    assert not output.exists()


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("totals", None, "field NON_COMPLIANT is None"),
        ("totals", {"compliances": {"NON_COMPLIANT": -1, "COMPLIANT": 0, "NOT_APPLICABLE": 0}}, "is -1"),
        ("totals", {"compliances": {"NON_COMPLIANT": "1", "COMPLIANT": 0, "NOT_APPLICABLE": 0}}, "is '1'"),
        ("accounts", "123456789012", "field accounts"),
        ("parameters", {"scope": 1}, "field scope"),
        ("notRead", [{}], "field where"),
        ("filters", ["\x1b[31m"], "field filters"),
    ],
)
def test_a_field_with_a_wrong_value_is_named(tmp_path: Path, field: str, value: object, fault: str) -> None:
    """A wrong value could hide a difference in scope, so the file and the field are named."""
    document = scan_into(tmp_path / "scan.json", ENDPOINT) | {field: value, "addedLater": "ignored"}
    (tmp_path / "scan.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(OptionError, match=f"scan.json: .*{fault}"):
        read_baseline(tmp_path / "scan.json")


@pytest.mark.parametrize(
    "dump", ["two-accounts", "table-in-force-unreadable", "vpc-without-subnets", "endpoint-blackhole"]
)
def test_the_schema_describes_every_field(dump: str, tmp_path: Path) -> None:
    """Documents fit the published schema, which has no field that they lack, also if there is a baseline."""
    without = scan_into(tmp_path / "last.json", dump_of(dump), "--tags", "Name")
    compared = scan_into(
        tmp_path / "now.json", dump_of(dump), "--tags", "Name", "--baseline", str(tmp_path / "last.json")
    )
    for document in (without, compared):
        SCHEMA.validate(document)
    assert compared.keys() == SCHEMA.schema["properties"].keys()
    fields = SCHEMA.schema["$defs"]["subnet"]["properties"].keys()
    assert all(subnet.keys() == fields for subnet in compared["subnets"])
