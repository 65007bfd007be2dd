"""Verdicts as findings in the AWS Security Finding Format, for securityhub:BatchImportFindings.

https://docs.aws.amazon.com/securityhub/latest/userguide/securityhub-findings-format.html
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from express_path.domain.network.arns import partition, subnet_arn
from express_path.domain.path.reasons import Compliance
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.formats.findings import Finding
from express_path_cli.formats.json_rows import JsonRows, json_array
from express_path_cli.result import Result
from express_path_cli.wording import (
    RULE_NAME,
    TITLE,
    path_text,
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
    yield from asff_list(asff_rows(result), result.verdicts)


def asff_rows(result: Result) -> JsonRows:
    """Return what makes the findings of a result."""
    return JsonRows(result, partial(_finding, stamp=result.made_at.strftime("%Y-%m-%dT%H:%M:%SZ")))


def asff_list(rows: JsonRows, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield a list of the findings of these verdicts."""
    yield from json_array(rows.of(verdicts))
    yield "\n"


def _finding(finding: Finding, stamp: str) -> dict[str, Any]:
    verdict, names = finding.verdict, finding.names
    failed = verdict.compliance is Compliance.NON_COMPLIANT
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
            **_not_blank({"express-path/baseline": finding.mark or ""}),
        },
        "Resources": [_resource(verdict, {"Name": names.subnet, **finding.tags})],
        "Compliance": {"Status": _STATUS[verdict.compliance]},
        "RecordState": "ACTIVE",
        **_remediation(finding.remedy),
    }


def _remediation(remedy: Remedy | None) -> dict[str, Any]:
    """Return the remedy of a finding; empty if nothing has to change."""
    if remedy is None:
        return {}
    texts = (str(remedy), str(replace(remedy, note="")), remedy.text[:_MAX_TEXT])
    text = next(text for text in texts if len(text) <= _MAX_TEXT)
    return {"Remediation": {"Recommendation": {"Text": text, "Url": remedy.url}}}


def _not_blank(values: Mapping[str, str]) -> dict[str, str]:
    """Return the values that are not blank, because Security Hub rejects a finding with a blank one."""
    return {key: value for key, value in values.items() if value.strip()}


def _resource(verdict: Verdict, tags: Mapping[str, str]) -> dict[str, Any]:
    shown_tags = _not_blank(tags)
    known = {"SubnetId": verdict.subnet_id, "VpcId": verdict.vpc_id, "AvailabilityZoneId": verdict.availability_zone_id}
    return {
        "Type": "AwsEc2Subnet",
        "Id": subnet_arn(verdict.account_id, verdict.region, verdict.subnet_id),
        "Partition": partition(verdict.region),
        "Region": verdict.region,
        "Details": {"AwsEc2Subnet": {key: value for key, value in known.items() if value}},
    } | ({"Tags": shown_tags} if shown_tags else {})
