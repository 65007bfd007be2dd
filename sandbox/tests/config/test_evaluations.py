"""PutEvaluations and the calls that read compliance, as AWS Config checks them.

https://docs.aws.amazon.com/config/latest/APIReference/API_PutEvaluations.html,
https://docs.aws.amazon.com/config/latest/APIReference/API_GetComplianceDetailsByConfigRule.html
"""

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient
from botocore.config import Config

from config_rule_sandbox.config.deployment import RuleDefinition
from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.config.results import ConfigResults
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import CREDENTIALS, Sandbox

pytestmark = pytest.mark.usefixtures("loop")

RULE = "network-rule"


@pytest.fixture
def config(sandbox: Sandbox) -> BaseClient:
    """A client without client-side validation, after the rule is deployed."""
    unchecked = Config(parameter_validation=False, retries={"total_max_attempts": 1})
    return boto3.client(
        "config", region_name=sandbox.region, endpoint_url=sandbox.endpoint_url, config=unchecked, **CREDENTIALS
    )


@pytest.fixture
def token(loop: ConfigLoop, network_rule: RuleDefinition) -> str:
    """A result token of the deployed rule."""
    assert network_rule.name == RULE
    return loop.results.issue_token(RULE)


def evaluation(
    resource_id: str = "subnet-1", compliance: str = "COMPLIANT", at: int = 100, **more: object
) -> dict[str, Any]:
    """Return an evaluation of a subnet."""
    return {
        "ComplianceResourceType": "AWS::EC2::Subnet",
        "ComplianceResourceId": resource_id,
        "ComplianceType": compliance,
        "OrderingTimestamp": at,
        **more,
    }


@pytest.fixture
def put(config: BaseClient, token: str) -> Callable[..., Any]:
    """Return a function that puts evaluations of the rule and returns those that failed."""
    return lambda *evaluations: config.put_evaluations(Evaluations=evaluations, ResultToken=token)["FailedEvaluations"]


def refusal(config: BaseClient, token: str, *evaluations: dict[str, Any], test_mode: bool = False) -> str:
    """Return the error code of a rejected call."""
    return str(refused(config.put_evaluations, Evaluations=evaluations, ResultToken=token, TestMode=test_mode))


def ids(answer: dict[str, Any]) -> list[str]:
    """Return the resource ids of a response with EvaluationResults."""
    found = [result["EvaluationResultIdentifier"] for result in answer["EvaluationResults"]]
    return [result["EvaluationResultQualifier"]["ResourceId"] for result in found]


def test_what_is_put_is_returned(config: BaseClient, put: Callable[..., Any]) -> None:
    """A result has the rule, the resource, the compliance, the annotation, and the time of the event."""
    assert put() == []
    assert put(evaluation(Annotation="x" * 256)) == []
    [result] = config.get_compliance_details_by_config_rule(ConfigRuleName=RULE)["EvaluationResults"]
    identifier = result["EvaluationResultIdentifier"]
    assert identifier["EvaluationResultQualifier"] == {
        "ConfigRuleName": RULE,
        "ResourceType": "AWS::EC2::Subnet",
        "ResourceId": "subnet-1",
        "EvaluationMode": "DETECTIVE",
    }
    assert identifier["OrderingTimestamp"].timestamp() == 100
    assert (result["ComplianceType"], result["Annotation"]) == ("COMPLIANT", "x" * 256)
    assert result["ConfigRuleInvokedTime"] <= result["ResultRecordedTime"]


def test_takes_a_hundred_and_not_one_more(
    config: BaseClient, token: str, results: ConfigResults, put: Callable[..., Any]
) -> None:
    """A call accepts at most 100 evaluations, and one invocation makes several calls. Of a larger call, none is stored."""
    many = [evaluation(f"subnet-{number}") for number in range(101)]
    assert refusal(config, token, *many) == "ValidationException"
    assert results.of_rule(RULE) == []
    put(*many[:100])
    put(many[100])
    assert len(results.of_rule(RULE)) == 101


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"Annotation": "x" * 257}, "ValidationException"),
        ({"ComplianceResourceType": "x" * 257}, "ValidationException"),
        ({"ComplianceType": "GOOD"}, "ValidationException"),
        ({"ComplianceType": "INSUFFICIENT_DATA"}, "InvalidParameterValueException"),
    ],
)
def test_refuses_all_if_one_is_malformed(
    config: BaseClient, token: str, results: ConfigResults, changed: dict[str, Any], code: str
) -> None:
    """Lengths, enums, and required members are those of the service model; a rule cannot report INSUFFICIENT_DATA."""
    assert refusal(config, token, evaluation("subnet-good"), evaluation() | changed) == code
    assert results.of_rule(RULE) == []


def test_refuses_a_bad_token(config: BaseClient, token: str, results: ConfigResults) -> None:
    """AWS Config must have issued the token, for a rule that exists, and tokens expire."""
    for bad in ("", "never-issued"):
        assert refusal(config, bad, evaluation()) == "InvalidResultTokenException"
    config.delete_config_rule(ConfigRuleName=RULE)
    assert refusal(config, token, evaluation()) == "NoSuchConfigRuleException"
    results.expire_tokens()
    assert refusal(config, token, evaluation()) == "InvalidResultTokenException"


@pytest.mark.parametrize(("second", "kept"), [(99, "COMPLIANT"), (101, "NON_COMPLIANT")])
def test_older_event_never_overwrites(results: ConfigResults, put: Callable[..., Any], second: int, kept: str) -> None:
    """The result of the newer event is kept, whatever the order in which the two arrive."""
    put(evaluation(at=100))
    put(evaluation(compliance="NON_COMPLIANT", at=second))
    assert [result.compliance for result in results.of_rule(RULE)] == [kept]


def test_details_are_filtered_and_cleaned_up(
    config: BaseClient, put: Callable[..., Any], results: ConfigResults
) -> None:
    """ComplianceTypes filters results, and AWS Config removes NOT_APPLICABLE ones some day."""
    put(evaluation("a"), evaluation("b", "NON_COMPLIANT"), evaluation("c", "NOT_APPLICABLE"))
    details = config.get_compliance_details_by_config_rule
    assert ids(details(ConfigRuleName=RULE)) == ["a", "b", "c"]
    assert ids(details(ConfigRuleName=RULE, ComplianceTypes=["NON_COMPLIANT"])) == ["b"]
    results.clean_up()
    assert ids(details(ConfigRuleName=RULE)) == ["a", "b"]


def test_details_come_in_pages(config: BaseClient, put: Callable[..., Any]) -> None:
    """A page has ten results by default and up to 100 on request, and tokens lead to all further pages."""
    wanted = [f"subnet-{number:02}" for number in range(25)]
    put(*map(evaluation, wanted))
    details = config.get_compliance_details_by_config_rule
    pages = [
        ids(page)
        for page in config.get_paginator("get_compliance_details_by_config_rule").paginate(ConfigRuleName=RULE)
    ]
    assert [len(page) for page in pages] == [10, 10, 5]
    assert [resource_id for page in pages for resource_id in page] == wanted
    assert len(ids(details(ConfigRuleName=RULE, Limit=100))) == 25
    assert len(ids(details(ConfigRuleName=RULE, Limit=0))) == 10


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"Limit": 101}, "ValidationException"),
        ({"NextToken": "page-99"}, "InvalidNextTokenException"),
        ({"ComplianceTypes": ["INSUFFICIENT_DATA"]}, "InvalidParameterValueException"),
        ({"ComplianceTypes": ["COMPLIANT"] * 4}, "ValidationException"),
        ({"ConfigRuleName": "r" * 64}, "NoSuchConfigRuleException"),
    ],
)
def test_details_refuse_what_is_out_of_range(config: BaseClient, given: dict[str, Any], code: str) -> None:
    """Limits, tokens, types, and names are validated; names have 64 characters here, although a rule can have more."""
    assert refused(config.get_compliance_details_by_config_rule, **{"ConfigRuleName": RULE, **given}) == code
