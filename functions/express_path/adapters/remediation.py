"""What AWS Config remediates by itself: the setting of a rule, and the resources that it leaves out."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import calling

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient


@dataclass(frozen=True, slots=True)
class Remediation:
    """The rule's remediation: whether it is automatic, its runbook, and its role."""

    automatic: bool
    document: str
    role_arn: str = ""


def read_remediation(config: "ConfigServiceClient", rule_name: str) -> Remediation | None:
    """Read the rule's remediation, or return None without one. Raise ApiError."""
    with calling("config:DescribeRemediationConfigurations"):
        found = config.describe_remediation_configurations(ConfigRuleNames=[rule_name])["RemediationConfigurations"]
    for row in found:
        roles = row.get("Parameters", {}).get("AutomationAssumeRole", {}).get("StaticValue", {}).get("Values", [])
        return Remediation(row.get("Automatic", False), row["TargetId"], next(iter(roles), ""))
    return None


def list_exceptions(config: "ConfigServiceClient", rule_name: str) -> list[str]:
    """Read the subnets that AWS Config no longer heals, also if it added the exception itself. Raise ApiError.

    https://docs.aws.amazon.com/config/latest/APIReference/API_DescribeRemediationExceptions.html. AWS Config returns this
    list in pages, although botocore has no paginator for it.
    """
    found: list[str] = []
    start: Any = {}
    while True:
        with calling("config:DescribeRemediationExceptions"):
            answer = config.describe_remediation_exceptions(ConfigRuleName=rule_name, **start)
        found += [exception["ResourceId"] for exception in answer["RemediationExceptions"]]
        if not answer.get("NextToken"):
            return found
        start = {"NextToken": answer["NextToken"]}
