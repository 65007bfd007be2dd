"""Rows as Compliance Findings of OCSF."""

import json
from typing import Any

from py_ocsf_models.events.findings.compliance_finding import ComplianceFinding

from express_path_cli.findings.formats import Format
from express_path_cli.findings.result import Result
from tests.cli.findings.results import (
    ACCOUNT,
    COMPLIANT,
    EVERY,
    FLAGGED,
    LABELED,
    MADE_AT,
    NAT,
    REGION,
    compared,
    labeled,
    rendered,
    result_of,
)


def findings_in(result: Result) -> list[dict[str, Any]]:
    """Return the findings, which fit the models of OCSF."""
    found: list[dict[str, Any]] = json.loads(rendered(Format.OCSF, result))
    for finding in found:
        ComplianceFinding.model_validate(finding)
    return found


def test_each_subnet_is_a_finding() -> None:
    """It has the status of its compliance, the time of the scan, and the remedy if something has to change."""
    findings = findings_in(result_of(*EVERY))
    assert [finding["compliance"]["status"] for finding in findings] == ["Fail", "Pass", *["Not applicable"] * 3]
    assert {finding["time"] for finding in findings} == {round(MADE_AT.timestamp() * 1000)}
    assert [finding["message"] for finding in findings] == [row.annotation for row in EVERY]
    assert [(finding["severity_id"], finding["compliance"]["status_id"]) for finding in findings[:3]] == [
        (3, 3),
        (1, 1),
        (1, 99),
    ]
    assert findings[0]["finding_info"]["uid"] == f"s3express-no-nat-path/{ACCOUNT}/{REGION}/{FLAGGED.subnet_id}"
    assert findings[0]["resources"][0]["data"]["path"] == f"0.0.0.0/0 -> {NAT.id}"
    assert "aws ec2 modify-vpc-endpoint" in findings[0]["remediation"]["desc"]
    assert "remediation" not in findings[1]
    version = ComplianceFinding.model_fields["metadata"].annotation.model_fields["version"].default
    assert findings[0]["metadata"]["version"] == version


def test_a_resource_has_a_name_and_labels() -> None:
    """The name is the subnet's, or its ID. Labels are its tags."""
    first, second = (finding["resources"][0] for finding in findings_in(labeled()))
    assert (first["name"], first["labels"]) == ("app-a", ["owner:data:team", "cost=center:42"])
    assert first["data"]["names"] == LABELED.names()
    assert (second["name"], "labels" in second) == ("subnet-2", False)


def test_a_finding_says_what_happened_since_the_baseline() -> None:
    """A new finding is created, an unchanged one updated, and a fixed one closed. Without a baseline, it is created."""
    findings = {finding["resources"][0]["uid"].rpartition("/")[2]: finding for finding in findings_in(compared())}
    shown = {name: (found["activity_name"], found.get("status")) for name, found in findings.items()}
    assert shown == {
        FLAGGED.subnet_id: ("Update", None),
        "subnet-new": ("Create", "New"),
        "subnet-worse": ("Create", "New"),
        "subnet-fixed": ("Close", "Resolved"),
        "subnet-hidden": ("Update", None),
        "subnet-fine": ("Create", None),
    }
    assert findings["subnet-fixed"]["type_uid"] == 200303
    assert [found["activity_name"] for found in findings_in(result_of(COMPLIANT))] == ["Create"]
