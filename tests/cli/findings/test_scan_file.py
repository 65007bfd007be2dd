"""The JSON document of an earlier scan, read strictly: a damaged file must not hide a finding."""

import json
from pathlib import Path
from typing import Any

import pytest

from express_path_cli.findings.formats import Format
from express_path_cli.findings.scan_file import FindingId, read_findings
from express_path_cli.terminal.errors import OptionError
from tests.cli.findings.results import EVERY, FLAGGED, rendered, result_of

ROW = {
    "accountId": "123456789012",
    "region": "us-east-1",
    "vpcId": "vpc-app",
    "subnetId": "subnet-a",
    "compliance": "NON_COMPLIANT",
    "reason": "NAT_GATEWAY",
}


def written(folder: Path, document: object) -> Path:
    """Write a document and return its file."""
    file = folder / "last.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return file


def test_the_findings_of_a_scan_are_read(tmp_path: Path) -> None:
    """They are its NON_COMPLIANT subnets, each once. The version and these fields of the rows are enough."""
    file = written(tmp_path, rendered(Format.JSON, result_of(*EVERY)))
    assert read_findings(file) == [FindingId(*FLAGGED.key, "NAT_GATEWAY")]
    assert read_findings(written(tmp_path, {"schemaVersion": 1, "subnets": [ROW, ROW]})) == [
        FindingId("123456789012", "us-east-1", "subnet-a", "NAT_GATEWAY")
    ]


@pytest.mark.parametrize(
    ("subnets", "fault"),
    [
        ({}, "the scan: field subnets is {}: must be a list of objects"),
        ([ROW, 1], "the scan: field subnets[1] is 1: must be an object"),
        ([{}], "subnets[0]: field subnetId is None: must be an id such as subnet-"),
        ([ROW | {"subnetId": "\x1b[2J"}], "subnets[0]: field subnetId"),
        ([ROW | {"accountId": 123456789012}], "subnet-a: field accountId"),
        ([ROW | {"reason": None}], "subnet-a: field reason"),
        ([ROW | {"vpcId": 1}], "subnet-a: field vpcId"),
        ([ROW | {"compliance": "non_compliant"}], "subnet-a: field compliance"),
    ],
)
def test_a_row_that_is_not_valid_is_named(tmp_path: Path, subnets: Any, fault: str) -> None:
    """The error names the file, the subnet, and the field, and how to make another file."""
    file = written(tmp_path, {"schemaVersion": 1, "subnets": subnets})
    with pytest.raises(OptionError) as raised:
        read_findings(file)
    assert str(raised.value).startswith(f"{file}: ")
    assert fault in str(raised.value)
    assert raised.value.hint == "make one with: express-path scan --format json --output last.json"
