"""What AWS Config does with rules, items, and results where its documentation leaves that open."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.answers import (
    AggregatorItems,
    FirstSweep,
    ItemOrder,
    NewerItems,
    NewerTypes,
    OlderResult,
    RepeatedItem,
    StoredResults,
    UpdatedRule,
)
from config_rule_sandbox.config.deployment import RuleDefinition, deploy_rule
from config_rule_sandbox.config.items.kinds import PREFIX_LIST, SUBNET, VPC
from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.config.results import results_of
from config_rule_sandbox.local_aws import AwsConfig
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation

RULE = RuleDefinition("network", resource_types=(SUBNET, PREFIX_LIST))
Message = dict[str, object]


@pytest.fixture
def loop(sandbox: Sandbox) -> ConfigLoop:
    """Return the loop of a rule that reports nothing."""
    return ConfigLoop(sandbox, lambda event: event, rule=RULE)


def messages(loop: ConfigLoop) -> list[Message]:
    """Deliver what waits, and return the messages."""
    return [json.loads(delivery.event["invokingEvent"]) for delivery in loop.deliver()]


@pytest.mark.parametrize(
    ("answer", "difference"),
    [(RepeatedItem.NULL, "None"), (RepeatedItem.ABSENT, "absent"), (RepeatedItem.UNCHANGED, "UPDATE")],
)
def test_item_that_is_sent_again(loop: ConfigLoop, answer: RepeatedItem, difference: str) -> None:
    """Its difference is as the answer says."""
    loop.sandbox.answers.repeated_item = answer
    loop.baseline()
    loop.take()
    loop.evaluate_again()
    [first, *_] = messages(loop)
    found = first.get("configurationItemDiff", "absent")
    assert str(found["changeType"] if isinstance(found, dict) else found) == difference


def test_messages_in_another_order(loop: ConfigLoop) -> None:
    """They are reversed, or come twice."""
    loop.baseline()
    [*expected] = messages(loop)
    for answer, order in ((ItemOrder.REVERSED, expected[::-1]), (ItemOrder.REPEATED, [*expected, *expected])):
        loop.sandbox.answers.item_order = answer
        loop.baseline()
        assert [item["configurationItem"]["resourceId"] for item in messages(loop)] == [  # type: ignore[index]
            item["configurationItem"]["resourceId"]  # type: ignore[index]
            for item in order
        ]


def test_newer_types(loop: ConfigLoop, sandbox: Sandbox) -> None:
    """A rule for a prefix list is refused, or never told of one, or told with another item."""
    ec2 = sandbox.client("ec2")
    made = ec2.create_managed_prefix_list(PrefixListName="mine", MaxEntries=1, AddressFamily="IPv4")["PrefixList"]
    identity, arn = made["PrefixListId"], f":prefix-list/{made['PrefixListId']}"
    for answer, resource_id, names in (
        (NewerItems.AS_IN_EC2, identity, "prefixListId"),
        (NewerItems.EMPTY, identity, ""),
        (NewerItems.NAMED_BY_ARN, arn, ""),
    ):
        sandbox.answers.newer_items = answer
        items = [item for item in loop.baseline() if item["resourceType"] == PREFIX_LIST]
        assert all(names in item["configuration"] for item in items) or not names
        told = [message["configurationItem"] for message in messages(loop)]
        [item] = [item for item in told if item["resourceType"] == PREFIX_LIST]  # type: ignore[index]
        assert item["resourceId"].endswith(resource_id)  # type: ignore[index]
    sandbox.answers.newer_types = NewerTypes.NOT_RECORDED
    loop.baseline()
    assert {message["configurationItem"]["resourceType"] for message in messages(loop)} == {SUBNET}  # type: ignore[index]
    sandbox.answers.newer_types = NewerTypes.REFUSED
    with pytest.raises(ClientError, match=f"{PREFIX_LIST} is not supported in a scope"):
        deploy_rule(sandbox, RuleDefinition("other", resource_types=(PREFIX_LIST,)))


def test_results_that_are_older_or_shown_later(loop: ConfigLoop, sandbox: Sandbox) -> None:
    """An older result replaces a newer one, and a result is shown after an hour."""
    config, results = sandbox.client("config"), results_of(sandbox.account_id, sandbox.region)

    def report(compliance: str, read: datetime) -> list[str]:
        result = {"ComplianceResourceType": SUBNET, "ComplianceResourceId": "subnet-1", "ComplianceType": compliance}
        token = results.issue_token(loop.rule.name)
        config.put_evaluations(Evaluations=[{**result, "OrderingTimestamp": read}], ResultToken=token)
        return shown()

    def shown() -> list[str]:
        rows = config.get_compliance_details_by_config_rule(ConfigRuleName=loop.rule.name)["EvaluationResults"]
        return [row["ComplianceType"] for row in rows]

    now = datetime.now(UTC)
    assert report("COMPLIANT", now) == ["COMPLIANT"]
    assert report("NON_COMPLIANT", now - timedelta(hours=1)) == ["COMPLIANT"]
    sandbox.answers.older_result = OlderResult.IS_REPLACED
    assert report("NON_COMPLIANT", now - timedelta(hours=1)) == ["NON_COMPLIANT"]
    sandbox.answers.stored_results = StoredResults.LATER
    assert shown() == []
    results.grow_older(timedelta(hours=2))
    assert report("COMPLIANT", now) == ["NON_COMPLIANT"]
    assert [result.compliance for result in results.of_rule(loop.rule.name)] == ["COMPLIANT"]


@pytest.fixture
def remediation(sandbox: Sandbox) -> Iterator[Remediation]:
    """Yield remediation, which AWS Config needs."""
    with Automation(sandbox) as automation, Remediation(sandbox, automation) as running:
        yield running


@pytest.mark.parametrize(
    ("first_sweep", "updated_rule", "at_creation", "at_update"),
    [
        (FirstSweep.AT_CREATION_AND_UPDATE, UpdatedRule.EVERYTHING, "SC", "SC"),
        (FirstSweep.AT_CREATION, UpdatedRule.NOTHING, "SC", ""),
        (FirstSweep.AFTER_A_PERIOD, UpdatedRule.EVERYTHING, "C", "C"),
    ],
)
def test_what_a_new_rule_and_an_updated_one_are_sent(
    sandbox: Sandbox,
    remediation: Remediation,
    first_sweep: FirstSweep,
    updated_rule: UpdatedRule,
    at_creation: str,
    at_update: str,
) -> None:
    """S is the scheduled message, and C that of the default VPC. The next scheduled message can be let come."""
    told: list[str] = []

    def tell(_function: str, event: dict[str, str]) -> None:
        told.append(json.loads(event["invokingEvent"])["messageType"][0])

    def sent() -> str:
        aws_config.settle(30)
        found = "".join(told)
        told.clear()
        return found

    aws_config, definition = AwsConfig(sandbox, tell, remediation), RuleDefinition("vpcs", resource_types=(VPC,))
    sandbox.answers.first_sweep, sandbox.answers.updated_rule = first_sweep, updated_rule
    deploy_rule(sandbox, definition, {"value": "first"})
    assert sent() == at_creation
    deploy_rule(sandbox, definition, {"value": "second"})
    assert sent() == at_update
    aws_config.send_scheduled()
    assert sent() == "S"


def test_items_of_an_aggregator(sandbox: Sandbox, remediation: Remediation) -> None:
    """A query and a single item are answered from what is recorded, at once or an hour later."""
    config, place = sandbox.client("config"), (sandbox.account_id, sandbox.region)
    sources = [{"AccountIds": [place[0]], "AwsRegions": [place[1]]}]
    config.put_configuration_aggregator(ConfigurationAggregatorName="all", AccountAggregationSources=sources)
    query = f"SELECT resourceId, configuration WHERE resourceType = '{SUBNET}' AND awsRegion IN ('{place[1]}')"
    named = {"SourceAccountId": place[0], "SourceRegion": place[1], "ResourceType": SUBNET}

    def subnets(expression: str = query, name: str = "all") -> list[str]:
        rows = config.select_aggregate_resource_config(Expression=expression, ConfigurationAggregatorName=name)
        return [json.loads(row)["resourceId"] for row in rows["Results"]]

    def subnet_id(resource_id: str) -> str:
        item = config.get_aggregate_resource_config(
            ConfigurationAggregatorName="all", ResourceIdentifier={**named, "ResourceId": resource_id}
        )["ConfigurationItem"]
        return str(json.loads(item["configuration"])["subnetId"])

    AwsConfig(sandbox, lambda _function, event: event, remediation).look()
    [first, *others] = subnets()
    assert subnet_id(first) == first
    sandbox.answers.aggregator_items = AggregatorItems.LATER
    assert subnets() == []
    with pytest.raises(ClientError, match="is not in the aggregator"):
        subnet_id(first)
    results_of(*place).grow_older(timedelta(hours=2))
    assert subnets() == [first, *others]
    with pytest.raises(ClientError, match="does not serve this query"):
        subnets("SELECT *")
    with pytest.raises(ClientError, match="NoSuchConfigurationAggregator"):
        subnets(name="none")
