"""The loop: events in AWS Config's format, and their delivery."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from moto.ec2.models import ec2_backends
from moto.ec2.models.route_tables import Route

from config_rule_sandbox.config.deployment import RuleDefinition
from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.server import Sandbox

pytestmark = pytest.mark.slow


def invoking(event: dict[str, Any]) -> dict[str, Any]:
    """Return the invoking event of an event."""
    parsed: dict[str, Any] = json.loads(event["invokingEvent"])
    return parsed


def ids(events: list[dict[str, Any]]) -> list[str]:
    """Return the resource ids that events are about."""
    return [invoking(event)["configurationItem"]["resourceId"] for event in events]


def test_event_has_all_of_configs_keys(
    loop: ConfigLoop, events: list[dict[str, Any]], network_rule: RuleDefinition
) -> None:
    """An event names the rule, role, account, and a token of its own. invokingEvent is a JSON string.

    https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules_example-events.html
    """
    loop.baseline()
    loop.deliver()
    tokens = [loop.results.token(event["resultToken"]) for event in events]
    assert {token.rule_name for token in tokens if token} == {network_rule.name}
    assert len({event["resultToken"] for event in events}) == len(events)
    event = events[0]
    assert {key: value for key, value in event.items() if key not in ("invokingEvent", "resultToken")} == {
        "version": "1.0",
        "eventLeftScope": False,
        "executionRoleArn": "arn:aws:iam::123456789012:role/aws-service-role/config.amazonaws.com/"
        "AWSServiceRoleForConfig",
        "configRuleArn": loop.rule.arn,
        "configRuleName": network_rule.name,
        "configRuleId": loop.rule.rule_id,
        "accountId": "123456789012",
        "evaluationMode": "DETECTIVE",
    }
    assert invoking(event)["messageType"] == "ConfigurationItemChangeNotification"
    assert loop.rule.arn.endswith(f":config-rule/{loop.rule.rule_id}")


def test_only_types_in_scope_are_delivered(
    loop: ConfigLoop, events: list[dict[str, Any]], network: Mapping[str, str]
) -> None:
    """A VPC is recorded but does not invoke the rule."""
    recorded = {item["resourceId"] for item in loop.baseline()}
    loop.deliver()
    assert network["vpc"] in recorded
    assert network["vpc"] not in ids(events)
    assert {network["private"], network["rtb-private"], network["vpce-s3"], network["nat"]} <= set(ids(events))


def test_scheduled(sandbox: Sandbox, events: list[dict[str, Any]], network_rule: RuleDefinition) -> None:
    """The scheduled notification has the account and no item; parameters of the rule are a JSON string."""
    ConfigLoop(sandbox, events.append, rule=network_rule, parameters={"publicSubnets": "COMPLIANT"}).scheduled()
    assert events[0]["ruleParameters"] == '{"publicSubnets": "COMPLIANT"}'
    message = invoking(events[0])
    assert (message["messageType"], message["awsAccountId"]) == ("ScheduledNotification", "123456789012")
    assert (message["recordVersion"], "configurationItem" in message) == ("1.0", False)


def test_oversized_item(
    sandbox: Sandbox, loop: ConfigLoop, events: list[dict[str, Any]], network: Mapping[str, str]
) -> None:
    """A notification above 256 KB, or a size that the test sets, has a summary, and the item is in the history.

    https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules_example-events.html
    """
    loop.baseline()
    loop.deliver()
    events.clear()
    table_id = network["rtb-private"]
    memory = ec2_backends[sandbox.account_id][sandbox.region]
    table, gateway = memory.get_route_table(table_id), memory.create_egress_only_internet_gateway(network["vpc"])
    for number in range(700):
        route = Route(table, None, f"2001:db8:0:{number:x}::/64", egress_only_igw=gateway)
        table._routes[route.id] = route  # noqa: SLF001  # without one call for each
    loop.notice()
    loop.deliver()
    message = invoking(events[0])
    summary = message["configurationItemSummary"]
    assert message["messageType"] == "OversizedConfigurationItemChangeNotification"
    assert (summary["resourceId"], summary["changeType"]) == (table_id, "UPDATE")
    assert "configuration" not in summary
    assert len(events[0]["invokingEvent"]) < loop.oversized_above
    (item,) = sandbox.client("config").get_resource_config_history(
        resourceType=summary["resourceType"],
        resourceId=table_id,
        laterTime=summary["configurationItemCaptureTime"],
        limit=1,
    )["configurationItems"]
    assert len(json.loads(item["configuration"])["routes"]) > 700
    loop.oversized_above = 0
    sandbox.client("ec2").delete_subnet(SubnetId=network["isolated"])
    loop.notice()
    loop.deliver()
    assert invoking(events[-1])["configurationItemSummary"]["changeType"] == "DELETE"


def test_deleted_resource_stays_in_scope(
    sandbox: Sandbox, loop: ConfigLoop, events: list[dict[str, Any]], network: Mapping[str, str]
) -> None:
    """A deletion is a status of the item; eventLeftScope is only about the scope.

    https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules-delete.html
    """
    loop.baseline()
    loop.deliver()
    events.clear()
    sandbox.client("ec2").delete_subnet(SubnetId=network["isolated"])
    loop.notice()
    loop.deliver()
    assert ids(events) == [network["rtb-isolated"], network["isolated"]]
    assert invoking(events[1])["configurationItem"]["configurationItemStatus"] == "ResourceDeleted"
    assert events[1]["eventLeftScope"] is False


def test_failing_function_is_retried_twice(sandbox: Sandbox, network_rule: RuleDefinition) -> None:
    """An event that fails three times, and no other, is sent to the on-failure destination, with the error.

    https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html
    """
    seen: list[dict[str, Any]] = []

    def fail(event: dict[str, Any]) -> None:
        seen.append(event)
        if len(seen) != 5:
            raise ValueError("no")

    loop = ConfigLoop(sandbox, fail, rule=network_rule)
    delivery = loop.scheduled()
    assert (delivery.attempts, str(delivery.error)) == (3, "no")
    assert seen[0] == seen[1] == seen[2]
    (record,) = loop.on_failure
    assert record["requestPayload"] == seen[0]
    assert record["responsePayload"] == {"errorMessage": "no", "errorType": "ValueError"}
    assert record["requestContext"]["condition"] == "RetriesExhausted"
    assert record["requestContext"]["functionArn"].endswith(":$LATEST")
    assert (loop.scheduled().attempts, len(loop.on_failure)) == (2, 1)
