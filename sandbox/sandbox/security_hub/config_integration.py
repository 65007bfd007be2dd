"""The findings that Security Hub creates of AWS Config's results, when a test says that they arrive.

https://docs.aws.amazon.com/securityhub/latest/userguide/securityhub-internal-providers.html#integration-config: within
about five minutes, only for changes of the compliance, with the severity MEDIUM and without the annotation. A finding
stays as it is when Config has no result anymore, for example because its resource was deleted.
"""

from datetime import UTC, datetime

from moto.config.models import config_backends
from moto.utilities.utils import get_partition

from sandbox.config_service.results import Result, results_of
from sandbox.security_hub.store import findings_of

STATUS = {"COMPLIANT": "PASSED", "NON_COMPLIANT": "FAILED", "NOT_APPLICABLE": "NOT_AVAILABLE"}
"""What the result of NOT_APPLICABLE becomes is not documented."""

RESOURCE_TYPES = {"AWS::EC2::Subnet": ("AwsEc2Subnet", "ec2", "subnet/")}
"""The type in findings, and how an ARN begins, by Config's resource type."""


def forward_results(account_id: str, region: str) -> int:
    """Create or update the findings of results that changed since the last call, and return how many there are."""
    findings = findings_of(account_id, region)
    sent: dict[tuple[str, str], str] = vars(findings).setdefault("sent_by_config", {})
    forwarded = 0
    for rule_name in config_backends[account_id][region].config_rules:
        for result in results_of(account_id, region).of_rule(rule_name):
            key = (rule_name, result.resource[1])
            if sent.get(key) == result.compliance or (key not in sent and result.compliance == "NOT_APPLICABLE"):
                continue
            sent[key] = result.compliance
            findings.provide(_finding(account_id, region, result))
            forwarded += 1
    return forwarded


def _finding(account_id: str, region: str, result: Result) -> dict[str, object]:
    partition = get_partition(region)
    rule_arn = config_backends[account_id][region].config_rules[result.rule_name].config_rule_arn
    now = datetime.now(UTC).isoformat()
    return {
        "SchemaVersion": "2018-10-08",
        "Id": f"{rule_arn.rpartition('/')[2]}-{result.resource[1]}",
        "ProductArn": f"arn:{partition}:securityhub:{region}::product/aws/config",
        "ProductName": "Config",
        "CompanyName": "AWS",
        "Region": region,
        "GeneratorId": rule_arn,
        "AwsAccountId": account_id,
        "Types": ["Software and Configuration Checks"],
        "CreatedAt": now,
        "UpdatedAt": now,
        "Severity": {"Label": "MEDIUM", "Normalized": 40},
        "Title": result.rule_name,
        "Description": f"This finding is created for a resource compliance change for config rule: {result.rule_name}",
        "ProductFields": {
            "aws/config/ConfigRuleArn": rule_arn,
            "aws/config/ConfigRuleName": result.rule_name,
            "aws/config/ConfigComplianceType": result.compliance,
        },
        "Resources": [_resource(account_id, region, result)],
        "Compliance": {"Status": STATUS[result.compliance]},
        "RecordState": "ACTIVE",
    }


def _resource(account_id: str, region: str, result: Result) -> dict[str, str]:
    partition = get_partition(region)
    kind, service, prefix = RESOURCE_TYPES[result.resource[0]]
    arn = f"arn:{partition}:{service}:{region}:{account_id}:{prefix}{result.resource[1]}"
    return {"Type": kind, "Id": arn, "Partition": partition, "Region": region}
