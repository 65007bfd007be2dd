"""Rows as Compliance Findings of the Open Cybersecurity Schema Framework (https://schema.ocsf.io, class 2003)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from express_path.domain.findings.texts import TITLE, finding_id, path_text, severity
from express_path.domain.network.resources import partition, subnet_arn
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.parameters import RULE_NAME
from express_path_cli.findings.formats.json import document
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Mark, Row

SCHEMA_VERSION = "1.5.0"
_CLASS = 2003
_STATUS = {
    Compliance.COMPLIANT: (1, "Pass"),
    Compliance.NON_COMPLIANT: (3, "Fail"),
    Compliance.NOT_APPLICABLE: (99, "Not applicable"),
}
_SEVERITY_IDS = {"INFORMATIONAL": 1, "LOW": 2, "MEDIUM": 3, "HIGH": 4}
"""https://schema.ocsf.io/1.5.0/classes/compliance_finding"""


@dataclass(frozen=True, slots=True)
class _Activity:
    """What happened to a finding, and its status by ID and name; the status ID is 0 if it has none."""

    id: int
    name: str
    status_id: int = 0
    status: str = ""


_CREATE, _UPDATE = _Activity(1, "Create"), _Activity(2, "Update")
_ACTIVITIES = {
    Mark.NEW: _Activity(_CREATE.id, _CREATE.name, 1, "New"),
    Mark.UNCHANGED: _UPDATE,
    Mark.UNKNOWN: _UPDATE,
    Mark.FIXED: _Activity(3, "Close", 4, "Resolved"),
}
"""What happened to a finding since the baseline. Without a baseline, it is created. One that is ignored is suppressed."""


def as_ocsf(result: Result) -> Iterator[bytes]:
    """Yield a list of findings, one for each subnet, with the cloud profile."""
    milliseconds, product_version = round(result.made_at.timestamp() * 1000), version("express-path")
    yield from document(_finding(row, milliseconds, product_version) for row in result.rows)


def _finding(row: Row, milliseconds: int, product_version: str) -> dict[str, Any]:
    """Return the finding of a row, with the names and the tags of its subnet, if it has any."""
    label = severity(row)
    finding = {
        "category_uid": 2,
        "category_name": "Findings",
        "class_uid": _CLASS,
        "class_name": "Compliance Finding",
        "time": milliseconds,
        "severity_id": _SEVERITY_IDS[label],
        "severity": label.capitalize(),
        "message": row.annotation,
        "metadata": {
            "version": SCHEMA_VERSION,
            "profiles": ["cloud"],
            "product": {"name": "express-path", "vendor_name": "express-path", "version": product_version},
        },
        "finding_info": _finding_info(row, milliseconds),
        "compliance": _compliance(row),
        "cloud": _cloud(row),
        **_activity(row),
        "resources": [_resource(row)],
    }
    if row.remedy:
        finding["remediation"] = {"desc": str(row.remedy), "references": [row.remedy.url]}
    return finding


def _activity(row: Row) -> dict[str, Any]:
    activity = _ACTIVITIES.get(row.baseline, _CREATE) if row.baseline else _CREATE
    if row.ignored:
        activity = replace(activity, status_id=3, status="Suppressed")
    fields: dict[str, Any] = {
        "activity_id": activity.id,
        "activity_name": activity.name,
        "type_uid": _CLASS * 100 + activity.id,
        "type_name": f"Compliance Finding: {activity.name}",
    }
    if activity.status_id:
        fields |= {"status_id": activity.status_id, "status": activity.status}
    comment = _comment(row)
    if comment:
        fields["comment"] = comment
    return fields


def _comment(row: Row) -> str:
    """Return what the configuration file does to a subnet; empty if it does nothing."""
    comments = []
    if row.ignored:
        comments.append(f"ignored: {row.ignored}")
    if row.set_by:
        comments.append(f"set by {row.set_by}: {row.set_by.reason}")
    return "; ".join(comments)


def _compliance(row: Row) -> dict[str, Any]:
    status_id, status = _STATUS[row.compliance]
    return {
        "control": RULE_NAME,
        "standards": ["express-path"],
        "requirements": [TITLE],
        "status_id": status_id,
        "status": status,
        "status_code": row.reason,
    }


def _cloud(row: Row) -> dict[str, Any]:
    account = {"uid": row.account_id, "name": row.account_id, "type_id": 10, "type": "AWS Account"}
    return {"provider": "AWS", "region": row.region, "account": account}


def _finding_info(row: Row, milliseconds: int) -> dict[str, Any]:
    return {
        "uid": finding_id(RULE_NAME, row.account_id, row.region, row.subnet_id),
        "title": TITLE,
        "desc": row.annotation,
        "types": ["Network path"],
        "created_time": milliseconds,
    }


def _resource(row: Row) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "uid": subnet_arn(row.account_id, row.region, row.subnet_id),
        "name": row.subnet_name or row.subnet_id,
        "type": "AWS::EC2::Subnet",
        "region": row.region,
        "cloud_partition": partition(row.region),
        "data": {
            "vpcId": row.vpc_id,
            "routeTableId": row.route_table_id,
            "availabilityZoneId": row.availability_zone_id,
            "path": path_text(row),
            "names": row.names(),
        },
    }
    if row.tags:
        resource["labels"] = [f"{key}:{value}" for key, value in row.tags.items()]
    return resource
