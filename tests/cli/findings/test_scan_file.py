"""Reading the findings of an earlier scan from its JSON output."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from express_path_cli.findings.scan_file import FindingId, read_findings
from express_path_cli.terminal.errors import OptionError


def row(**values: str) -> dict[str, str]:
    """Return a NON_COMPLIANT row of a scan."""
    here = {"accountId": "123456789012", "region": "us-east-1", "subnetId": "subnet-00000000"}
    return {**here, "compliance": "NON_COMPLIANT", "reason": "NAT_GATEWAY"} | values


def of_rows(*rows: Mapping[str, object]) -> str:
    """Return the JSON document of a scan with these rows."""
    return json.dumps({"schemaVersion": 1, "subnets": rows, "fixed": []})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "scan.json is not JSON, or is cut short"),
        ("[]", "scan.json is not the JSON output of a scan"),
        ('{"schemaVersion": 1, "subnets": {}}', "scan.json: subnets must be a list of objects"),
        ('{"schemaVersion": 1, "subnets": [{"a": 1, "a": 2}]}', "has the key 'a' twice in one object"),
        (of_rows(row(), row(region="")), "scan.json: subnet-00000000: field region is ''"),
        (of_rows(row(compliance="FAILED")), "scan.json: subnet-00000000: field compliance is 'FAILED'"),
        (of_rows(row() | {"subnetId": 1}), "scan.json: the scan: field subnetId is 1"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    """The message names the file, the subnet, and the field; the hint says how to make a good one."""
    file = tmp_path / "scan.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(OptionError) as error:
        read_findings(file)
    assert problem in str(error.value)
    assert "express-path scan --format json" in error.value.hint


def test_a_scan_lists_each_flagged_subnet_once(tmp_path: Path) -> None:
    """Rows of other compliances are ignored; unknown fields do not matter."""
    file = tmp_path / "scan.json"
    rows = [row(), row(), row(subnetId="subnet-1", compliance="NOT_APPLICABLE")]
    file.write_text(of_rows(*rows), encoding="utf-8")
    assert read_findings(file) == [FindingId("123456789012", "us-east-1", "subnet-00000000", "NAT_GATEWAY")]
