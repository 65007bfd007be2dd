"""The calls that read compliance, checked as AWS Config checks them.

https://docs.aws.amazon.com/config/latest/APIReference/API_GetComplianceDetailsByConfigRule.html
"""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from sandbox.config_loop import ConfigLoop
from sandbox.config_service import ConfigResults
from sandbox.config_service.deployment import RuleDefinition
from sandbox.server import Sandbox

pytestmark = pytest.mark.usefixtures("loop")

Make = Callable[..., dict[str, Any]]
SUBNET = "AWS::EC2::Subnet"


@pytest.fixture
def config(sandbox: Sandbox) -> BaseClient:
    """A client, after the rule is deployed."""
    return sandbox.client("config")


@pytest.fixture
def put(config: BaseClient, loop: ConfigLoop, evaluation: Make, network_rule: RuleDefinition) -> Callable[..., None]:
    """Return a function that puts one evaluation for each resource id and compliance."""

    def put_all(**compliance_of: str) -> None:
        evaluations = [evaluation(resource_id, compliance) for resource_id, compliance in compliance_of.items()]
        config.put_evaluations(Evaluations=evaluations, ResultToken=loop.results.issue_token(network_rule.name))

    return put_all


def ids(answer: dict[str, Any]) -> list[str]:
    """Return the resource ids of a response with EvaluationResults."""
    found = [result["EvaluationResultIdentifier"] for result in answer["EvaluationResults"]]
    return [result["EvaluationResultQualifier"]["ResourceId"] for result in found]


def error_of(call: Callable[..., Any], **parameters: object) -> str:
    """Return the error code of a rejected call."""
    with pytest.raises(ClientError) as raised:
        call(**parameters)
    return str(raised.value.response["Error"]["Code"])


def test_details_have_the_api_shape(
    config: BaseClient, loop: ConfigLoop, evaluation: Make, network_rule: RuleDefinition
) -> None:
    """A result has the rule, the resource, the compliance, the annotation, and the time of the event."""
    token = loop.results.issue_token(network_rule.name)
    config.put_evaluations(Evaluations=[evaluation(Annotation="because")], ResultToken=token)
    (result,) = config.get_compliance_details_by_config_rule(ConfigRuleName=network_rule.name)["EvaluationResults"]
    identifier = result["EvaluationResultIdentifier"]
    assert identifier["EvaluationResultQualifier"] == {
        "ConfigRuleName": network_rule.name,
        "ResourceType": SUBNET,
        "ResourceId": "subnet-1",
        "EvaluationMode": "DETECTIVE",
    }
    assert identifier["OrderingTimestamp"].timestamp() == 100
    assert (result["ComplianceType"], result["Annotation"]) == ("COMPLIANT", "because")
    assert result["ConfigRuleInvokedTime"] <= result["ResultRecordedTime"]


def test_details_filter_by_compliance(
    config: BaseClient, put: Callable[..., None], network_rule: RuleDefinition
) -> None:
    """ComplianceTypes filters results; without it, all are returned."""
    put(a="COMPLIANT", b="NON_COMPLIANT", c="NOT_APPLICABLE")
    details = config.get_compliance_details_by_config_rule
    assert ids(details(ConfigRuleName=network_rule.name)) == ["a", "b", "c"]
    wanted = ["COMPLIANT", "NON_COMPLIANT"]
    assert ids(details(ConfigRuleName=network_rule.name, ComplianceTypes=wanted)) == ["a", "b"]
    refused = error_of(details, ConfigRuleName=network_rule.name, ComplianceTypes=["INSUFFICIENT_DATA"])
    assert refused == "InvalidParameterValueException"


def test_details_come_in_pages(config: BaseClient, put: Callable[..., None], network_rule: RuleDefinition) -> None:
    """A page has ten results by default, and tokens lead to all further pages."""
    put(**{f"subnet-{number:02}": "COMPLIANT" for number in range(25)})
    paginator = config.get_paginator("get_compliance_details_by_config_rule")
    pages = [ids(page) for page in paginator.paginate(ConfigRuleName=network_rule.name)]
    assert [len(page) for page in pages] == [10, 10, 5]
    assert [resource_id for page in pages for resource_id in page] == [f"subnet-{number:02}" for number in range(25)]


def test_details_limit_is_at_most_a_hundred(
    config: BaseClient, put: Callable[..., None], network_rule: RuleDefinition
) -> None:
    """A Limit of 100 is accepted, 101 is rejected, and 0 means the default."""
    put(**{f"subnet-{number:02}": "COMPLIANT" for number in range(30)})
    details = config.get_compliance_details_by_config_rule
    assert len(ids(details(ConfigRuleName=network_rule.name, Limit=100))) == 30
    assert len(ids(details(ConfigRuleName=network_rule.name, Limit=0))) == 10
    assert error_of(details, ConfigRuleName=network_rule.name, Limit=101) == "InvalidLimitException"


def test_details_refuse_a_foreign_page_token(config: BaseClient, network_rule: RuleDefinition) -> None:
    """A token that AWS Config did not issue, or that is past the end, is an error."""
    details = config.get_compliance_details_by_config_rule
    for token in ("nonsense", "page-99"):
        assert error_of(details, ConfigRuleName=network_rule.name, NextToken=token) == "InvalidNextTokenException"


def test_details_of_a_long_or_unknown_name(config: BaseClient) -> None:
    """This call accepts names of up to 64 characters, although a rule can have a longer name."""
    details = config.get_compliance_details_by_config_rule
    assert error_of(details, ConfigRuleName="r" * 65) == "ValidationException"
    assert error_of(details, ConfigRuleName="r" * 64) == "NoSuchConfigRuleException"


def test_compliance_types_are_three_at_most(config: BaseClient, network_rule: RuleDefinition) -> None:
    """A fourth ComplianceType is rejected (botocore model, ComplianceTypes)."""
    details = config.get_compliance_details_by_config_rule
    assert (
        error_of(details, ConfigRuleName=network_rule.name, ComplianceTypes=["COMPLIANT"] * 4) == "ValidationException"
    )


def test_clean_up_drops_what_is_not_applicable(
    config: BaseClient, put: Callable[..., None], results: ConfigResults, network_rule: RuleDefinition
) -> None:
    """NOT_APPLICABLE results are listed until AWS Config removes them."""
    put(a="COMPLIANT", b="NOT_APPLICABLE")
    assert ids(config.get_compliance_details_by_config_rule(ConfigRuleName=network_rule.name)) == ["a", "b"]
    results.clean_up()
    assert ids(config.get_compliance_details_by_config_rule(ConfigRuleName=network_rule.name)) == ["a"]


def test_delete_evaluation_results(
    config: BaseClient, put: Callable[..., None], results: ConfigResults, network_rule: RuleDefinition
) -> None:
    """DeleteEvaluationResults deletes the results of one rule only."""
    put(a="COMPLIANT")
    config.delete_evaluation_results(ConfigRuleName=network_rule.name)
    assert results.of_rule(network_rule.name) == []


def test_results_die_with_the_rule(
    config: BaseClient, put: Callable[..., None], results: ConfigResults, network_rule: RuleDefinition
) -> None:
    """DeleteConfigRule also deletes the rule's results."""
    put(a="COMPLIANT")
    config.delete_config_rule(ConfigRuleName=network_rule.name)
    assert results.of_rule(network_rule.name) == []
    assert error_of(config.delete_config_rule, ConfigRuleName=network_rule.name) == "NoSuchConfigRuleException"
