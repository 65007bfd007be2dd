"""Reading what AWS Config knows of the deployed rule."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from express_path.adapters.aws import calling, pages
from express_path.adapters.fields import Description, identifier, nested, rows
from express_path_cli.doctor.heal_checks import Remediation
from express_path_cli.doctor.rule_checks import RuleTimes

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient

MOST_COUNTED = 1000
"""How many results are counted at most, as AWS Config gives a hundred a call."""
_HOURS = {"One_Hour": 1, "Three_Hours": 3, "Six_Hours": 6, "Twelve_Hours": 12, "TwentyFour_Hours": 24}


class Rule(NamedTuple):
    """A rule of AWS Config; period is that of its schedule, None where it has none."""

    name: str
    state: str
    function_arn: str
    period: timedelta | None


def find_rules(config: "ConfigServiceClient", name: str) -> list[Rule]:
    """The rules of that name in this account and Region: its own first, then those of packs and the organization.

    A conformance pack appends -conformance-pack-... to a rule's name, an organization puts OrgConfigRule- before it and
    a suffix behind. Raises ApiError, RecordError.
    """
    found = pages(config, "config", "describe_config_rules", "ConfigRules")
    rules = [_rule(each) for each in found if _is_named(identifier(each, "ConfigRuleName", "rule"), name)]
    return sorted(rules, key=lambda each: (each.name != name, each.name))


def _is_named(found: str, name: str) -> bool:
    return found == name or found.startswith((f"{name}-conformance-pack-", f"OrgConfigRule-{name}-"))


def _rule(row: Description) -> Rule:
    name = identifier(row, "ConfigRuleName", "rule")
    source = nested(row, "Source", name)
    scheduled = [each for each in rows(source, "SourceDetails", name) if each["MessageType"] == "ScheduledNotification"]
    period = _period(scheduled[0]) if scheduled else None
    return Rule(
        name,
        identifier(row, "ConfigRuleState", name),
        identifier(source, "SourceIdentifier", name),
        period,
    )


def _period(details: Description) -> timedelta:
    """A schedule that says nothing is daily (https://docs.aws.amazon.com/config/latest/APIReference/API_SourceDetail.html)."""
    return timedelta(hours=_HOURS[details.get("MaximumExecutionFrequency") or "TwentyFour_Hours"])


def read_times(config: "ConfigServiceClient", name: str) -> RuleTimes:
    """When AWS Config last invoked the rule and took results, as far as it tells. Raises ApiError."""
    with calling("config:DescribeConfigRuleEvaluationStatus"):
        found = config.describe_config_rule_evaluation_status(ConfigRuleNames=[name])
    for row in found["ConfigRulesEvaluationStatus"]:
        error = (row.get("LastErrorCode"), row.get("LastErrorMessage"))
        return RuleTimes(
            row.get("FirstActivatedTime"),
            row.get("LastSuccessfulInvocationTime"),
            row.get("LastFailedInvocationTime"),
            row.get("LastSuccessfulEvaluationTime"),
            row.get("LastFailedEvaluationTime"),
            ": ".join(filter(None, error)),
        )
    return RuleTimes()


def count_flagged(config: "ConfigServiceClient", name: str) -> int:
    """How many subnets AWS Config holds as NON_COMPLIANT, counting up to MOST_COUNTED. Raises ApiError."""
    operation = "get_compliance_details_by_config_rule"
    wanted = {"ConfigRuleName": name, "ComplianceTypes": ["NON_COMPLIANT"]}
    limits = {"MaxItems": MOST_COUNTED, "PageSize": 100}
    return len(pages(config, "config", operation, "EvaluationResults", PaginationConfig=limits, **wanted))


def read_remediation(config: "ConfigServiceClient", name: str) -> Remediation | None:
    """What AWS Config is set to do about flagged subnets, None where nothing. Raises ApiError."""
    with calling("config:DescribeRemediationConfigurations"):
        found = config.describe_remediation_configurations(ConfigRuleNames=[name])["RemediationConfigurations"]
    for each in found:
        role = each.get("Parameters", {}).get("AutomationAssumeRole", {}).get("StaticValue", {}).get("Values", [])
        return Remediation(each.get("Automatic", False), each["TargetId"], _first(role))
    return None


def _first(values: Sequence[str]) -> str:
    return values[0] if values else ""


def list_exceptions(config: "ConfigServiceClient", name: str) -> list[str]:
    """The subnets that automatic remediation leaves alone. Raises ApiError.

    AWS Config pages this list, although botocore's model has no paginator for it.
    """
    found: list[str] = []
    token = ""
    while True:
        with calling("config:DescribeRemediationExceptions"):
            answer = config.describe_remediation_exceptions(ConfigRuleName=name, **_from(token))
        found += [each["ResourceId"] for each in answer["RemediationExceptions"]]
        token = answer.get("NextToken", "")
        if not token:
            return found


def _from(token: str) -> Any:  # noqa: ANN401  # the request's other members have other types
    return {"NextToken": token} if token else {}
