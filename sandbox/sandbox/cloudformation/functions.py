"""Lambda functions, what may invoke them, and what becomes of their events."""

from typing import Any

from sandbox.cloudformation.account import Account
from sandbox.cloudformation.values import Created

UNQUALIFIED = "$LATEST"


def create_function(account: Account, name: str, properties: dict[str, Any]) -> Created:
    """Create a function from code in a bucket."""
    name = properties.pop("FunctionName", name[-64:])
    tags = {tag["Key"]: tag["Value"] for tag in properties.pop("Tags", [])}
    reserved = properties.pop("ReservedConcurrentExecutions", None)
    made = account.call("lambda", "create_function", FunctionName=name, Tags=tags, **properties)
    if reserved is not None:
        account.call("lambda", "put_function_concurrency", FunctionName=name, ReservedConcurrentExecutions=reserved)
    return Created(name, {"Arn": made["FunctionArn"]})


def delete_function(account: Account, physical_id: str, _properties: dict[str, Any]) -> None:
    """Delete a function."""
    account.call("lambda", "delete_function", FunctionName=physical_id)


def create_permission(account: Account, name: str, properties: dict[str, Any]) -> Created:
    """Let a service invoke a function."""
    account.call("lambda", "add_permission", StatementId=name, **properties)
    return Created(name)


def delete_permission(account: Account, physical_id: str, properties: dict[str, Any]) -> None:
    """Revoke a permission."""
    function = properties["FunctionName"]
    account.call("lambda", "remove_permission", FunctionName=function, StatementId=physical_id)


def create_invoke_config(account: Account, name: str, properties: dict[str, Any]) -> Created:
    """Set retries of asynchronous invocations, and where failed events go."""
    settings = {key: value for key, value in properties.items() if (key, value) != ("Qualifier", UNQUALIFIED)}
    account.call("lambda", "put_function_event_invoke_config", **settings)
    return Created(name)


def delete_invoke_config(account: Account, _physical_id: str, properties: dict[str, Any]) -> None:
    """Return to the defaults."""
    account.call("lambda", "delete_function_event_invoke_config", FunctionName=properties["FunctionName"])


def create_mapping(account: Account, _name: str, properties: dict[str, Any]) -> Created:
    """Let a queue invoke a function."""
    tags = {tag["Key"]: tag["Value"] for tag in properties.pop("Tags", [])}
    made = account.call("lambda", "create_event_source_mapping", **properties, **({"Tags": tags} if tags else {}))
    return Created(made["UUID"], {"Id": made["UUID"]})


def delete_mapping(account: Account, physical_id: str, _properties: dict[str, Any]) -> None:
    """Stop a queue from invoking a function."""
    account.call("lambda", "delete_event_source_mapping", UUID=physical_id)
