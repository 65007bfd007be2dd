"""PutEvaluations by Config's rules (https://docs.aws.amazon.com/config/latest/APIReference/API_PutEvaluations.html)."""

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient
from botocore.config import Config
from botocore.exceptions import ClientError

from sandbox.config_loop import ConfigLoop
from sandbox.config_service import ConfigResults
from sandbox.config_service.deployment import RuleDefinition
from sandbox.server import CREDENTIALS, Sandbox

pytestmark = pytest.mark.usefixtures("loop")

Make = Callable[..., dict[str, Any]]


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
    return loop.results.issue_token(network_rule.name)


def refusal(config: BaseClient, token: str, *evaluations: dict[str, Any], test_mode: bool = False) -> str:
    """Return the error code of a rejected call."""
    with pytest.raises(ClientError) as raised:
        config.put_evaluations(Evaluations=list(evaluations), ResultToken=token, TestMode=test_mode)
    return str(raised.value.response["Error"]["Code"])


def test_stores_what_it_is_told(
    config: BaseClient, token: str, results: ConfigResults, evaluation: Make, network_rule: RuleDefinition
) -> None:
    """A verdict is stored with its rule, resource, annotation, and event time."""
    answer = config.put_evaluations(Evaluations=[evaluation(Annotation="because")], ResultToken=token)
    assert answer["FailedEvaluations"] == []
    (stored,) = results.of_rule(network_rule.name)
    assert (stored.resource, stored.compliance) == (("AWS::EC2::Subnet", "subnet-1"), "COMPLIANT")
    assert (stored.annotation, stored.ordering) == ("because", 100)


def test_takes_an_empty_list(config: BaseClient, token: str) -> None:
    """A call without evaluations is accepted."""
    assert config.put_evaluations(Evaluations=[], ResultToken=token)["FailedEvaluations"] == []


def test_takes_a_hundred_and_not_one_more(
    config: BaseClient, token: str, results: ConfigResults, evaluation: Make, network_rule: RuleDefinition
) -> None:
    """A call accepts at most 100 evaluations. Of a larger call, none is stored."""
    many = [evaluation(f"subnet-{number}") for number in range(101)]
    assert refusal(config, token, *many) == "ValidationException"
    assert results.of_rule(network_rule.name) == []
    config.put_evaluations(Evaluations=many[:100], ResultToken=token)
    assert len(results.of_rule(network_rule.name)) == 100


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("Annotation", ""),
        ("Annotation", "x" * 257),
        ("ComplianceResourceId", ""),
        ("ComplianceResourceId", "x" * 769),
        ("ComplianceResourceType", "x" * 257),
        ("ComplianceType", "GOOD"),
        ("ComplianceType", None),
        ("ComplianceResourceType", None),
    ],
)
def test_refuses_what_the_model_forbids(
    config: BaseClient, token: str, evaluation: Make, member: str, value: object
) -> None:
    """Lengths, enums, and required members are those of the service model."""
    assert refusal(config, token, evaluation() | {member: value}) == "ValidationException"


@pytest.mark.parametrize("length", [1, 256])
def test_takes_annotations_of_allowed_length(
    config: BaseClient, token: str, results: ConfigResults, evaluation: Make, length: int, network_rule: RuleDefinition
) -> None:
    """An annotation has 1 to 256 characters."""
    config.put_evaluations(Evaluations=[evaluation(Annotation="x" * length)], ResultToken=token)
    assert results.of_rule(network_rule.name)[0].annotation == "x" * length


def test_refuses_insufficient_data(config: BaseClient, token: str, evaluation: Make) -> None:
    """INSUFFICIENT_DATA is in the enum, but a rule cannot report it."""
    assert refusal(config, token, evaluation(compliance="INSUFFICIENT_DATA")) == "InvalidParameterValueException"


def test_refuses_all_if_one_is_malformed(
    config: BaseClient, token: str, results: ConfigResults, evaluation: Make, network_rule: RuleDefinition
) -> None:
    """If a call is rejected, its valid evaluations are not stored either."""
    refusal(config, token, evaluation("subnet-1"), evaluation("subnet-2", "GOOD"))
    assert results.of_rule(network_rule.name) == []


@pytest.mark.parametrize("bad_token", ["", "never-issued"])
def test_refuses_a_bad_token(config: BaseClient, evaluation: Make, bad_token: str) -> None:
    """AWS Config must have issued the token."""
    assert refusal(config, bad_token, evaluation()) == "InvalidResultTokenException"


def test_refuses_an_expired_token(config: BaseClient, token: str, results: ConfigResults, evaluation: Make) -> None:
    """A token expires."""
    results.expire_tokens()
    assert refusal(config, token, evaluation()) == "InvalidResultTokenException"


def test_refuses_the_token_of_a_deleted_rule(
    config: BaseClient, token: str, evaluation: Make, network_rule: RuleDefinition
) -> None:
    """A token is valid only for its rule."""
    config.delete_config_rule(ConfigRuleName=network_rule.name)
    assert refusal(config, token, evaluation()) == "NoSuchConfigRuleException"


def test_token_serves_several_calls(
    config: BaseClient, token: str, results: ConfigResults, evaluation: Make, network_rule: RuleDefinition
) -> None:
    """All batches of one invocation use its token."""
    for number in range(2):
        config.put_evaluations(Evaluations=[evaluation(f"subnet-{number}")], ResultToken=token)
    assert len(results.of_rule(network_rule.name)) == 2


def test_test_mode_writes_nothing(
    config: BaseClient, results: ConfigResults, evaluation: Make, network_rule: RuleDefinition
) -> None:
    """TestMode accepts any non-empty token, validates the evaluations, and stores none."""
    config.put_evaluations(Evaluations=[evaluation()], ResultToken="anything", TestMode=True)
    assert results.of_rule(network_rule.name) == []
    assert refusal(config, "", evaluation(), test_mode=True) == "InvalidResultTokenException"
    assert refusal(config, "anything", evaluation(compliance="GOOD"), test_mode=True) == "ValidationException"


@pytest.mark.parametrize(("second", "kept"), [(99, "COMPLIANT"), (101, "NON_COMPLIANT")])
def test_older_event_never_overwrites(
    config: BaseClient,
    token: str,
    results: ConfigResults,
    evaluation: Make,
    second: int,
    kept: str,
    network_rule: RuleDefinition,
) -> None:
    """The result of the newer event is kept, whatever the order in which the two arrive."""
    config.put_evaluations(Evaluations=[evaluation(at=100)], ResultToken=token)
    config.put_evaluations(Evaluations=[evaluation(compliance="NON_COMPLIANT", at=second)], ResultToken=token)
    assert [result.compliance for result in results.of_rule(network_rule.name)] == [kept]


def test_returns_failed_evaluations_on_request(
    config: BaseClient, token: str, results: ConfigResults, evaluation: Make, network_rule: RuleDefinition
) -> None:
    """A test can let some evaluations fail: they are returned and not stored, and the others are stored."""
    results.rejected.add("subnet-2")
    answer = config.put_evaluations(Evaluations=[evaluation("subnet-1"), evaluation("subnet-2")], ResultToken=token)
    assert [failed["ComplianceResourceId"] for failed in answer["FailedEvaluations"]] == ["subnet-2"]
    assert [result.resource[1] for result in results.of_rule(network_rule.name)] == ["subnet-1"]
