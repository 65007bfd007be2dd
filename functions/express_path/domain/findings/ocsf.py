"""A verdict as a Compliance Finding of the Open Cybersecurity Schema Framework (https://schema.ocsf.io, class 2003)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from express_path.domain.findings.texts import RULE_NAME, TITLE, finding_id, path_text, severity
from express_path.domain.network.resources import partition, subnet_arn
from express_path.domain.path.reasons import Compliance
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict

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
class Activity:
    """What happened to a finding, and its status by ID and name; the status ID is 0 if it has none."""

    id: int
    name: str
    status_id: int = 0
    status: str = ""


CREATE, UPDATE, CLOSE = Activity(1, "Create"), Activity(2, "Update"), Activity(3, "Close", 4, "Resolved")


def ocsf_finding(
    verdict: Verdict,
    remedy: Remedy | None,
    tags: Mapping[str, str],
    milliseconds: int,
    activity: Activity,
    rule_name: str = RULE_NAME,
) -> dict[str, Any]:
    """Return the finding of a verdict, with the cloud profile. The time is in milliseconds since 1970."""
    label = severity(verdict)
    return {
        "category_uid": 2,
        "category_name": "Findings",
        "class_uid": _CLASS,
        "class_name": "Compliance Finding",
        "time": milliseconds,
        "severity_id": _SEVERITY_IDS[label],
        "severity": label.capitalize(),
        "message": verdict.annotation,
        "metadata": {
            "version": SCHEMA_VERSION,
            "profiles": ["cloud"],
            "product": {"name": "express-path", "vendor_name": "express-path"},
        },
        "finding_info": _finding_info(verdict, milliseconds, rule_name),
        "compliance": _compliance(verdict, rule_name),
        "cloud": _cloud(verdict),
        **_activity(activity),
        "resources": [_resource(verdict, tags)],
        **({"remediation": {"desc": str(remedy), "references": [remedy.url]}} if remedy else {}),
    }


def _activity(activity: Activity) -> dict[str, Any]:
    return {
        "activity_id": activity.id,
        "activity_name": activity.name,
        "type_uid": _CLASS * 100 + activity.id,
        "type_name": f"Compliance Finding: {activity.name}",
    } | ({"status_id": activity.status_id, "status": activity.status} if activity.status_id else {})


def _compliance(verdict: Verdict, rule_name: str) -> dict[str, Any]:
    status_id, status = _STATUS[verdict.compliance]
    return {
        "control": rule_name,
        "standards": ["express-path"],
        "requirements": [TITLE],
        "status_id": status_id,
        "status": status,
        "status_code": verdict.reason,
    }


def _cloud(verdict: Verdict) -> dict[str, Any]:
    account = {"uid": verdict.account_id, "name": verdict.account_id, "type_id": 10, "type": "AWS Account"}
    return {"provider": "AWS", "region": verdict.region, "account": account}


def _finding_info(verdict: Verdict, milliseconds: int, rule_name: str) -> dict[str, Any]:
    return {
        "uid": finding_id(rule_name, verdict.account_id, verdict.region, verdict.subnet_id),
        "title": TITLE,
        "desc": verdict.annotation,
        "types": ["Network path"],
        "created_time": milliseconds,
    }


def _resource(verdict: Verdict, tags: Mapping[str, str]) -> dict[str, Any]:
    return {
        "uid": subnet_arn(verdict.account_id, verdict.region, verdict.subnet_id),
        "name": verdict.subnet_id,
        "type": "AWS::EC2::Subnet",
        "region": verdict.region,
        "cloud_partition": partition(verdict.region),
        "data": {
            "vpcId": verdict.vpc_id,
            "routeTableId": verdict.route_table_id,
            "availabilityZoneId": verdict.availability_zone_id,
            "path": path_text(verdict),
        },
        **({"labels": [f"{key}:{value}" for key, value in tags.items()]} if tags else {}),
    }
