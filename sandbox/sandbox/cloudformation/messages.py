"""Queues, events, logs, and alarms."""

import json
from typing import Any

from sandbox.cloudformation.account import Account
from sandbox.cloudformation.values import Created


def create_queue(account: Account, name: str, properties: dict[str, Any]) -> Created:
    """Create a queue; every property is an attribute of the queue."""
    name = properties.pop("QueueName", name[-80:])
    tags = {tag["Key"]: tag["Value"] for tag in properties.pop("Tags", [])}
    url = account.call("sqs", "create_queue", QueueName=name, Attributes=properties, tags=tags)["QueueUrl"]
    found = account.call("sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
    return Created(url, {"Arn": found["QueueArn"], "QueueName": name, "QueueUrl": url})


def update_queue(account: Account, physical_id: str, _earlier: dict[str, Any], properties: dict[str, Any]) -> None:
    """Set the attributes of a queue. Attributes that the template has no more keep their values."""
    attributes = {name: value for name, value in properties.items() if name not in ("QueueName", "Tags")}
    account.call("sqs", "set_queue_attributes", QueueUrl=physical_id, Attributes=attributes)


def delete_queue(account: Account, physical_id: str, _properties: dict[str, Any]) -> None:
    """Delete a queue."""
    account.call("sqs", "delete_queue", QueueUrl=physical_id)


def create_queue_policy(account: Account, name: str, properties: dict[str, Any]) -> Created:
    """Set the policy of queues."""
    update_queue_policy(account, name, {}, properties)
    return Created(name)


def update_queue_policy(
    account: Account, _physical_id: str, _earlier: dict[str, Any], properties: dict[str, Any]
) -> None:
    """Put the policy as it is to be."""
    policy = json.dumps(properties["PolicyDocument"])
    for url in properties["Queues"]:
        account.call("sqs", "set_queue_attributes", QueueUrl=url, Attributes={"Policy": policy})


def delete_queue_policy(account: Account, _physical_id: str, properties: dict[str, Any]) -> None:
    """Remove the policy of queues."""
    for url in properties["Queues"]:
        account.call("sqs", "set_queue_attributes", QueueUrl=url, Attributes={"Policy": ""})


def create_event_bus(account: Account, _name: str, properties: dict[str, Any]) -> Created:
    """Create an event bus."""
    arn = account.call("events", "create_event_bus", **properties)["EventBusArn"]
    return Created(properties["Name"], {"Arn": arn, "Name": properties["Name"]})


def delete_event_bus(account: Account, physical_id: str, _properties: dict[str, Any]) -> None:
    """Delete an event bus."""
    account.call("events", "delete_event_bus", Name=physical_id)


def create_event_bus_policy(account: Account, name: str, properties: dict[str, Any]) -> Created:
    """Add a statement to the policy of an event bus."""
    update_event_bus_policy(account, name, {}, properties)
    return Created(name)


def update_event_bus_policy(
    account: Account, _physical_id: str, _earlier: dict[str, Any], properties: dict[str, Any]
) -> None:
    """Put the statement as it is to be."""
    statement = {"Sid": properties["StatementId"], **properties["Statement"]}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    account.call("events", "put_permission", Policy=policy, **_bus(properties))


def delete_event_bus_policy(account: Account, _physical_id: str, properties: dict[str, Any]) -> None:
    """Remove a statement from the policy of an event bus."""
    account.call("events", "remove_permission", StatementId=properties["StatementId"], **_bus(properties))


def create_event_rule(account: Account, name: str, properties: dict[str, Any]) -> Created:
    """Create a rule of EventBridge with its targets."""
    name = properties.pop("Name", name[-64:])
    targets = properties.pop("Targets", [])
    arn = account.call("events", "put_rule", Name=name, **properties)["RuleArn"]
    account.call("events", "put_targets", Rule=name, Targets=targets, **_bus(properties))
    return Created(name, {"Arn": arn})


def update_event_rule(account: Account, physical_id: str, earlier: dict[str, Any], properties: dict[str, Any]) -> None:
    """Put the rule and its targets as they are to be."""
    settings = {name: value for name, value in properties.items() if name not in ("Name", "Targets")}
    account.call("events", "put_rule", Name=physical_id, **settings)
    targets = properties.get("Targets", [])
    account.call("events", "put_targets", Rule=physical_id, Targets=targets, **_bus(properties))
    removed = {row["Id"] for row in earlier.get("Targets", [])} - {row["Id"] for row in targets}
    if removed:
        account.call("events", "remove_targets", Rule=physical_id, Ids=sorted(removed), **_bus(properties))


def delete_event_rule(account: Account, physical_id: str, properties: dict[str, Any]) -> None:
    """Delete a rule of EventBridge after its targets."""
    ids = [target["Id"] for target in properties.get("Targets", [])]
    account.call("events", "remove_targets", Rule=physical_id, Ids=ids, **_bus(properties))
    account.call("events", "delete_rule", Name=physical_id, **_bus(properties))


def _bus(properties: dict[str, Any]) -> dict[str, str]:
    return {"EventBusName": properties["EventBusName"]} if "EventBusName" in properties else {}


def create_log_group(account: Account, name: str, properties: dict[str, Any]) -> Created:
    """Create a log group."""
    name = properties.get("LogGroupName", name)
    account.call("logs", "create_log_group", logGroupName=name)
    if "RetentionInDays" in properties:
        days = properties["RetentionInDays"]
        account.call("logs", "put_retention_policy", logGroupName=name, retentionInDays=days)
    return Created(name, {"Arn": f"arn:aws:logs:{account.region}:{account.account_id}:log-group:{name}:*"})


def update_log_group(account: Account, physical_id: str, _earlier: dict[str, Any], properties: dict[str, Any]) -> None:
    """Set for how long a log group keeps its events."""
    if "RetentionInDays" in properties:
        days = properties["RetentionInDays"]
        account.call("logs", "put_retention_policy", logGroupName=physical_id, retentionInDays=days)
    else:
        account.call("logs", "delete_retention_policy", logGroupName=physical_id)


def delete_log_group(account: Account, physical_id: str, _properties: dict[str, Any]) -> None:
    """Delete a log group."""
    account.call("logs", "delete_log_group", logGroupName=physical_id)


def create_alarm(account: Account, name: str, properties: dict[str, Any]) -> Created:
    """Create an alarm."""
    name = properties.get("AlarmName", name)
    update_alarm(account, name, {}, properties)
    return Created(name, {"Arn": f"arn:aws:cloudwatch:{account.region}:{account.account_id}:alarm:{name}"})


def update_alarm(account: Account, physical_id: str, _earlier: dict[str, Any], properties: dict[str, Any]) -> None:
    """Put the alarm as it is to be."""
    account.call("cloudwatch", "put_metric_alarm", **{**properties, "AlarmName": physical_id})


def delete_alarm(account: Account, physical_id: str, _properties: dict[str, Any]) -> None:
    """Delete an alarm."""
    account.call("cloudwatch", "delete_alarms", AlarmNames=[physical_id])
