"""The history of scans: what a JSON document says about its scan, and how a folder of them is read."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from express_path.domain.path.reasons import Reason
from express_path.errors import ApiError
from express_path_cli.findings.formats.json import as_json
from express_path_cli.findings.history import HistoryPoint, read_history, scope_changes
from express_path_cli.findings.result import Result
from express_path_cli.terminal.errors import Failure, OptionError
from tests.support.command import invoke
from tests.support.scenarios import dump_of

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
    options = ("--vpc", vpc, "--parameter", "publicSubnets=NON_COMPLIANT", "--verdict", "ENDPOINT")
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
    """An account that could not be read is named with the error, and the history knows it."""
    denied = Failure("account 444455556666 eu-west-1", ApiError("ec2:DescribeSubnets", "UnauthorizedOperation", "no"))
    result = Result([], EARLIER, [denied])
    [place] = json.loads("".join(as_json(result)))["notRead"]
    assert place["where"] == denied.where
    assert "UnauthorizedOperation" in place["error"]
    assert result.as_point().not_read == (denied.where,)


def test_a_folder_is_read_oldest_first(tmp_path: Path) -> None:
    """Each scan is a point with its numbers, whatever its file is called; a copy of a scan counts once."""
    newer = scan_into(tmp_path / "a.json", ENDPOINT)
    older = scan_into(tmp_path / "b.json", NAT)
    older["madeAt"] = "2026-02-13T06:48:51+01:00"
    (tmp_path / "b.json").write_text(json.dumps(older), encoding="utf-8")
    shutil.copy(tmp_path / "a.json", tmp_path / "latest.json")
    (tmp_path / "README.md").write_text("not a scan", encoding="utf-8")
    first, last = read_history(tmp_path)
    assert first.made_at == EARLIER
    assert last.made_at == datetime.fromisoformat(newer["madeAt"])
    assert (first.evaluated, first.flagged, first.crossing_nat) == (
        older["totals"]["evaluated"],
        older["totals"]["compliances"]["NON_COMPLIANT"],
        older["totals"]["reasons"]["NAT_GATEWAY"],
    )
    assert first.flagged > 0
    assert (last.flagged, last.crossing_nat, last.dropped, last.unresolved, last.excluded) == (0, 0, 0, 0, 0)
    assert first.accounts == ("123456789012 us-east-1",)


def test_separately_counted_subnets_are_in_the_history() -> None:
    """DROPPED, UNRESOLVED_EGRESS and EXCLUDED subnets have numbers of their own, and PARTLY_NAT crosses a NAT."""
    reasons = {Reason.DROPPED: 2, Reason.UNRESOLVED_EGRESS: 3, Reason.EXCLUDED: 4, Reason.PARTLY_NAT: 5}
    point = HistoryPoint(EARLIER, {"NON_COMPLIANT": 5, "NOT_APPLICABLE": 9}, reasons)
    assert (point.evaluated, point.flagged, point.crossing_nat) == (14, 5, 5)
    assert (point.dropped, point.unresolved, point.excluded) == (2, 3, 4)


def test_a_report_has_the_history_and_its_own_scan(tmp_path: Path) -> None:
    """`report --history` summarizes the trend, and says if the scans do not cover the same."""
    older = scan_into(tmp_path / "scans" / "1.json", NAT, "--parameter", "publicSubnets=NON_COMPLIANT")
    older |= {"madeAt": "2026-02-13T05:48:51Z", "accounts": ["210987654321 eu-west-1", *older["accounts"]]}
    (tmp_path / "scans" / "1.json").write_text(json.dumps(older), encoding="utf-8")
    file = tmp_path / "paths.html"
    command = ["report", "--from-dump", str(ENDPOINT), "--history", str(tmp_path / "scans"), "--output", str(file)]
    result = invoke(command)
    assert (result.exit_code, result.stdout) == (0, "")
    assert file.exists()
    today = datetime.now(UTC).date()
    _, trend, scope = result.stderr.splitlines()
    assert trend.startswith(
        "express-path: trend of 2 scans: NON_COMPLIANT subnets went from 2 of 2 (2026-02-13) to 0 of"
    )
    assert trend.endswith(f"({today})")
    assert scope == (
        f"express-path: the scope of the scans changed on {today}: 210987654321 eu-west-1 was not read; "
        "publicSubnets changed from NON_COMPLIANT to COMPLIANT"
    )
    assert invoke([*command, "--quiet"]).stderr == ""


def test_differences_in_scope_are_in_words() -> None:
    """Several accounts are one difference, and filters are shown as they were given."""
    before = HistoryPoint(EARLIER, {}, {}, ("1 r", "2 r"), filters=("--vpc vpc-1",))
    after = HistoryPoint(EARLIER, {}, {}, ("3 r",))
    assert scope_changes(before, after) == [
        "3 r was added",
        "1 r and 1 more were not read",
        "the filters changed from --vpc vpc-1 to none",
    ]
    assert scope_changes(before, before) == []


def test_places_that_could_not_be_read_are_differences_in_scope() -> None:
    """A scan that failed to read something has fewer findings. An account and Region is named once."""
    denied = tuple(f"account {number} (web) eu-west-1" for number in (1, 2))
    before = HistoryPoint(EARLIER, {}, {}, ("1 eu-west-1",))
    after = HistoryPoint(EARLIER, {}, {}, not_read=denied)
    assert scope_changes(before, after) == ["1 eu-west-1 was not read", f"{denied[1]} could not be read"]
    assert scope_changes(after, before) == ["1 eu-west-1 was added", f"{denied[1]} could be read again"]
    assert scope_changes(after, after) == []
    assert scope_changes(HistoryPoint(EARLIER, {}, {}), after) == [f"{denied[0]} and 1 more could not be read"]


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
        ('{"schemaVersion": 1, "subnets": []}', "field madeAt is None"),
    ],
)
def test_a_file_that_is_not_a_scan_is_named(tmp_path: Path, content: str, fault: str) -> None:
    """A damaged file, or one of another tool, ends with status 2 and one line that names it; nothing is written."""
    (tmp_path / "bad.json").write_text(content, encoding="utf-8")
    output = tmp_path / "paths.html"
    result = invoke(["report", "--from-dump", str(NAT), "--history", str(tmp_path), "--output", str(output)])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert f"{tmp_path / 'bad.json'}" in line
    assert fault in line
    assert not output.exists()


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("madeAt", "yesterday", "field madeAt"),
        ("madeAt", 5, "field madeAt"),
        ("totals", None, "field COMPLIANT is None"),
        ("totals", {"compliances": {"NON_COMPLIANT": -1, "COMPLIANT": 0, "NOT_APPLICABLE": 0}}, "is -1"),
        ("totals", {"compliances": {"NON_COMPLIANT": "1", "COMPLIANT": 0, "NOT_APPLICABLE": 0}}, "is '1'"),
        ("accounts", "123456789012", "field accounts"),
        ("parameters", {"scope": 1}, "field scope"),
        ("notRead", [{}], "field where"),
        ("filters", ["\x1b[31m"], "field filters"),
    ],
)
def test_a_field_with_a_wrong_value_is_named(tmp_path: Path, field: str, value: object, fault: str) -> None:
    """A point with a wrong time or number would draw a wrong trend, so the file and the field are named."""
    document = scan_into(tmp_path / "scan.json", ENDPOINT) | {field: value, "addedLater": "ignored"}
    (tmp_path / "scan.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(OptionError, match=f"scan.json: .*{fault}"):
        read_history(tmp_path)


def test_a_folder_without_scans_says_how_to_add_one(tmp_path: Path) -> None:
    """A missing or empty folder ends with status 2 and the command that adds a scan."""
    for folder in (tmp_path, tmp_path / "missing"):
        result = invoke(["report", "--from-dump", str(NAT), "--history", str(folder)])
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"express-path scan --output {folder / 'scan.json'}" in result.stderr
