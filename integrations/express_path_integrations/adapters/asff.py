"""A verdict as a finding in the AWS Security Finding Format.

https://docs.aws.amazon.com/securityhub/latest/userguide/securityhub-findings-format.html
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from express_path.domain.findings.texts import TITLE, finding_id, path_text, severity
from express_path.domain.network.resources import partition, subnet_arn
from express_path.domain.path.reasons import Compliance
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict

_STATUS = {
    Compliance.NON_COMPLIANT: "FAILED",
    Compliance.COMPLIANT: "PASSED",
    Compliance.NOT_APPLICABLE: "NOT_AVAILABLE",
}
_MAX_TEXT = 512
"""The longest text of a recommendation, in characters
(https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_Recommendation.html)."""


def asff_finding(
    verdict: Verdict, remedy: Remedy | None, tags: Mapping[str, str], rule_name: str, stamp: str
) -> dict[str, Any]:
    """Return the finding of a verdict. stamp is the time of the evaluation (ISO 8601)."""
    return {
        "SchemaVersion": "2018-10-08",
        "Id": finding_id(rule_name, verdict.account_id, verdict.region, verdict.subnet_id),
        "ProductArn": product_arn(verdict.account_id, verdict.region),
        "ProductName": "express-path",
        "GeneratorId": rule_name,
        "AwsAccountId": verdict.account_id,
        "Region": verdict.region,
        "Types": ["Software and Configuration Checks/AWS Best Practices/Network Reachability"],
        "CreatedAt": stamp,
        "UpdatedAt": stamp,
        "Severity": {"Label": severity(verdict)},
        "Title": TITLE,
        "Description": verdict.annotation,
        "ProductFields": {
            "express-path/reason": verdict.reason,
            "express-path/routeTableId": verdict.route_table_id or "unknown",
            "express-path/path": path_text(verdict) or "none",
        },
        "Resources": [_resource(verdict, tags)],
        "Compliance": {"Status": _STATUS[verdict.compliance]},
        "RecordState": "ACTIVE",
        **_remediation(remedy),
    }


def product_arn(account_id: str, region: str) -> str:
    """Return the ARN of an account's default product, under which it can import findings of its own.

    https://docs.aws.amazon.com/securityhub/latest/userguide/securityhub-custom-providers.html
    """
    return f"arn:{partition(region)}:securityhub:{region}:{account_id}:product/{account_id}/default"


def _remediation(remedy: Remedy | None) -> dict[str, Any]:
    """Return the remedy of a finding; empty if nothing has to change."""
    if remedy is None:
        return {}
    texts = (str(remedy), str(replace(remedy, note="")), remedy.text[:_MAX_TEXT])
    text = next(text for text in texts if len(text) <= _MAX_TEXT)
    return {"Remediation": {"Recommendation": {"Text": text, "Url": remedy.url}}}


def _resource(verdict: Verdict, tags: Mapping[str, str]) -> dict[str, Any]:
    """Return the subnet, with its tags as Security Hub accepts them: not those of AWS itself, and none without a value.

    https://docs.aws.amazon.com/securityhub/latest/userguide/asff-resources-attributes.html
    """
    accepted = {key: value for key, value in tags.items() if value.strip() and not key.lower().startswith("aws:")}
    known = {"SubnetId": verdict.subnet_id, "VpcId": verdict.vpc_id, "AvailabilityZoneId": verdict.availability_zone_id}
    return {
        "Type": "AwsEc2Subnet",
        "Id": subnet_arn(verdict.account_id, verdict.region, verdict.subnet_id),
        "Partition": partition(verdict.region),
        "Region": verdict.region,
        "Details": {"AwsEc2Subnet": {key: value for key, value in known.items() if value}},
        **({"Tags": accepted} if accepted else {}),
    }
