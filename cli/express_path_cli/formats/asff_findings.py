"""Verdicts as findings in the AWS Security Finding Format, for securityhub:BatchImportFindings.

https://docs.aws.amazon.com/securityhub/latest/userguide/securityhub-findings-format.html
"""

from collections.abc import Iterator, Mapping
from typing import Any

from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.formats.json_rows import json_array
from express_path_cli.remedies import Remedies
from express_path_cli.resource_labels import ResourceLabels
from express_path_cli.result import Result
from express_path_cli.wording import (
    RULE_NAME,
    TITLE,
    partition,
    path_text,
    subnet_arn,
    subnet_uid,
)

_STATUS = {
    Compliance.NON_COMPLIANT: "FAILED",
    Compliance.COMPLIANT: "PASSED",
    Compliance.NOT_APPLICABLE: "NOT_AVAILABLE",
}

_MAX_TEXT = 512
"""The longest text of a recommendation, in characters
(https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_Recommendation.html)."""


def as_asff(result: Result) -> Iterator[str]:
    """Yield a list of findings, one for each subnet, with the same ids in every scan. One call imports up to 100."""
    stamp = result.made_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    remedies, labels = Remedies(result.views), ResourceLabels(result.views, result.tag_keys)
    yield from json_array(
        _finding(verdict, stamp, labels, result.mark(verdict) or "") | _remediation(verdict, remedies)
        for verdict in result.verdicts
    )
    yield "\n"


def _finding(verdict: Verdict, stamp: str, labels: ResourceLabels, mark: str) -> dict[str, Any]:
    failed, names = verdict.compliance is Compliance.NON_COMPLIANT, labels.names(verdict)
    arn = f"arn:{partition(verdict.region)}:securityhub:{verdict.region}:{verdict.account_id}"
    return {
        "SchemaVersion": "2018-10-08",
        "Id": subnet_uid(verdict),
        "ProductArn": f"{arn}:product/{verdict.account_id}/default",
        "ProductName": "express-path",
        "GeneratorId": RULE_NAME,
        "AwsAccountId": verdict.account_id,
        "Region": verdict.region,
        "Types": ["Software and Configuration Checks/AWS Best Practices/Network Reachability"],
        "CreatedAt": stamp,
        "UpdatedAt": stamp,
        "Severity": {"Label": "MEDIUM" if failed else "INFORMATIONAL"},
        "Title": TITLE,
        "Description": verdict.annotation,
        "ProductFields": {
            "express-path/reason": verdict.reason,
            "express-path/routeTableId": verdict.route_table_id or "unknown",
            "express-path/path": path_text(verdict) or "none",
            **_not_blank({"express-path/routeTableName": names.route_table, "express-path/vpcName": names.vpc}),
            **_not_blank({"express-path/baseline": mark}),
        },
        "Resources": [_resource(verdict, {"Name": names.subnet, **labels.tags(verdict)})],
        "Compliance": {"Status": _STATUS[verdict.compliance]},
        "RecordState": "ACTIVE",
    }


def _remediation(verdict: Verdict, remedies: Remedies) -> dict[str, Any]:
    """Return the remedy of a finding; empty if nothing has to change."""
    remedy = remedies.of(verdict)
    if remedy is None:
        return {}
    text = str(remedy) if len(str(remedy)) <= _MAX_TEXT else remedy.text[:_MAX_TEXT]
    return {"Remediation": {"Recommendation": {"Text": text, "Url": remedy.url}}}


def _not_blank(values: Mapping[str, str]) -> dict[str, str]:
    """Return the values that are not blank, because Security Hub rejects a finding with a blank one."""
    return {key: value for key, value in values.items() if value.strip()}


def _resource(verdict: Verdict, tags: Mapping[str, str]) -> dict[str, Any]:
    shown_tags = _not_blank(tags)
    known = {"SubnetId": verdict.subnet_id, "VpcId": verdict.vpc_id, "AvailabilityZoneId": verdict.availability_zone_id}
    return {
        "Type": "AwsEc2Subnet",
        "Id": subnet_arn(verdict),
        "Partition": partition(verdict.region),
        "Region": verdict.region,
        "Details": {"AwsEc2Subnet": {key: value for key, value in known.items() if value}},
    } | ({"Tags": shown_tags} if shown_tags else {})
