"""Verdicts as Compliance Findings of the Open Cybersecurity Schema Framework (https://schema.ocsf.io, class 2003)."""

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

from express_path.domain.network.arns import partition, subnet_arn
from express_path.domain.path.reasons import Compliance
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.baseline import Mark
from express_path_cli.formats.findings import Finding
from express_path_cli.formats.json_rows import JsonRows, json_array
from express_path_cli.result import Result
from express_path_cli.wording import (
    RULE_NAME,
    TITLE,
    path_text,
    subnet_uid,
)

SCHEMA_VERSION = "1.5.0"
_CLASS = 2003
_STATUS = {
    Compliance.COMPLIANT: (1, "Pass"),
    Compliance.NON_COMPLIANT: (3, "Fail"),
    Compliance.NOT_APPLICABLE: (99, "Not applicable"),
}
_ACTIVITIES = {Mark.UNCHANGED: (2, "Update"), Mark.UNKNOWN: (2, "Update"), Mark.FIXED: (3, "Close")}
_STATES = {Mark.NEW: (1, "New"), Mark.FIXED: (4, "Resolved")}
"""https://schema.ocsf.io/1.5.0/classes/compliance_finding"""


def as_ocsf(result: Result) -> Iterator[str]:
    """Yield a list of findings, one for each subnet, with the cloud profile."""
    milliseconds = round(result.made_at.timestamp() * 1000)
    row = partial(_finding, milliseconds=milliseconds, metadata=_metadata())
    yield from json_array(JsonRows(result, row).of(result.verdicts))
    yield "\n"


def _finding(finding: Finding, milliseconds: int, metadata: dict[str, Any]) -> dict[str, Any]:
    verdict = finding.verdict
    failed = verdict.compliance is Compliance.NON_COMPLIANT
    return {
        "category_uid": 2,
        "category_name": "Findings",
        "class_uid": _CLASS,
        "class_name": "Compliance Finding",
        "time": milliseconds,
        "severity_id": 3 if failed else 1,
        "severity": "Medium" if failed else "Informational",
        "message": verdict.annotation,
        "metadata": metadata,
        "finding_info": _finding_info(verdict, milliseconds),
        "compliance": _compliance(verdict),
        "cloud": _cloud(verdict),
        **_activity(finding.mark),
        "resources": [_resource(finding)],
        **_remediation(finding.remedy),
    }


def _activity(mark: Mark | None) -> dict[str, Any]:
    """Return what happened to a finding since the baseline: without a baseline, it is created."""
    activity_id, activity = (mark and _ACTIVITIES.get(mark)) or (1, "Create")
    status_id, status = (mark and _STATES.get(mark)) or (0, "")
    return {
        "activity_id": activity_id,
        "activity_name": activity,
        "type_uid": _CLASS * 100 + activity_id,
        "type_name": f"Compliance Finding: {activity}",
    } | ({"status_id": status_id, "status": status} if status else {})


def _remediation(remedy: Remedy | None) -> dict[str, Any]:
    """Return the remedy of a finding; empty if nothing has to change."""
    return {"remediation": {"desc": str(remedy), "references": [remedy.url]}} if remedy else {}


def _compliance(verdict: Verdict) -> dict[str, Any]:
    status_id, status = _STATUS[verdict.compliance]
    return {
        "control": RULE_NAME,
        "standards": ["express-path"],
        "requirements": [TITLE],
        "status_id": status_id,
        "status": status,
        "status_code": verdict.reason,
    }


def _cloud(verdict: Verdict) -> dict[str, Any]:
    account = {"uid": verdict.account_id, "name": verdict.account_id, "type_id": 10, "type": "AWS Account"}
    return {"provider": "AWS", "region": verdict.region, "account": account}


def _metadata() -> dict[str, Any]:
    product = {"name": "express-path", "vendor_name": "express-path", "version": version("express-path")}
    return {"version": SCHEMA_VERSION, "profiles": ["cloud"], "product": product}


def _finding_info(verdict: Verdict, milliseconds: int) -> dict[str, Any]:
    return {
        "uid": subnet_uid(verdict),
        "title": TITLE,
        "desc": verdict.annotation,
        "types": ["Network path"],
        "created_time": milliseconds,
    }


def _resource(finding: Finding) -> dict[str, Any]:
    """Return the subnet, by its name if it has one; its labels are the selected tags."""
    verdict, names, tags = finding.verdict, finding.names, finding.tags
    return {
        "uid": subnet_arn(verdict.account_id, verdict.region, verdict.subnet_id),
        "name": names.subnet or verdict.subnet_id,
        "type": "AWS::EC2::Subnet",
        "region": verdict.region,
        "cloud_partition": partition(verdict.region),
        "data": {
            "vpcId": verdict.vpc_id,
            "routeTableId": verdict.route_table_id,
            "availabilityZoneId": verdict.availability_zone_id,
            "path": path_text(verdict),
            "names": names.fields(),
        },
    } | ({"labels": [f"{key}:{value}" for key, value in tags.items()]} if tags else {})
