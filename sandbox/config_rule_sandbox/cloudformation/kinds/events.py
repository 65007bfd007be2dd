"""Resource types of EventBridge."""

import json

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, Properties, deleting, putting, shortened
from config_rule_sandbox.cloudformation.values import Created


def create_event_bus(account: Account, _name: str, properties: Properties) -> Created:
    """Create an event bus."""
    arn = account.call("events", "create_event_bus", **properties)["EventBusArn"]
    return Created(properties["Name"], {"Arn": arn, "Name": properties["Name"]})


def put_event_bus_policy(account: Account, properties: Properties) -> None:
    """Put the statement as it is to be."""
    statement = {"Sid": properties["StatementId"], **properties["Statement"]}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    account.call("events", "put_permission", Policy=policy, **_bus(properties))


def delete_event_bus_policy(account: Account, _physical_id: str, properties: Properties) -> None:
    """Remove a statement from the policy of an event bus."""
    account.call("events", "remove_permission", StatementId=properties["StatementId"], **_bus(properties))


def create_event_rule(account: Account, name: str, properties: Properties) -> Created:
    """Create a rule of EventBridge with its targets."""
    name = properties.pop("Name", shortened(name, 64))
    targets = properties.pop("Targets", [])
    arn = account.call("events", "put_rule", Name=name, **properties)["RuleArn"]
    account.call("events", "put_targets", Rule=name, Targets=targets, **_bus(properties))
    return Created(name, {"Arn": arn})


def delete_event_rule(account: Account, physical_id: str, properties: Properties) -> None:
    """Delete a rule of EventBridge after its targets."""
    ids = [target["Id"] for target in properties.get("Targets", [])]
    account.call("events", "remove_targets", Rule=physical_id, Ids=ids, **_bus(properties))
    account.call("events", "delete_rule", Name=physical_id, **_bus(properties))


def _bus(properties: Properties) -> dict[str, str]:
    return {"EventBusName": properties["EventBusName"]} if "EventBusName" in properties else {}


KINDS = {
    "AWS::Events::EventBus": Kind(create_event_bus, deleting("events", "delete_event_bus", "Name")),
    "AWS::Events::EventBusPolicy": putting(put_event_bus_policy, delete_event_bus_policy),
    "AWS::Events::Rule": Kind(create_event_rule, delete_event_rule),
}
