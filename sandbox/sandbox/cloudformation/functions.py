"""Lambda functions, what may invoke them, and what becomes of their events."""

from typing import Any

from moto.sqs.models import sqs_backends

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


def update_function(account: Account, physical_id: str, earlier: dict[str, Any], properties: dict[str, Any]) -> None:
    """Update the code and the settings of a function."""
    if properties["Code"] != earlier["Code"]:
        account.call("lambda", "update_function_code", FunctionName=physical_id, **properties["Code"])
    kept_apart = ("Architectures", "Code", "FunctionName", "ReservedConcurrentExecutions", "Tags")
    settings = {name: value for name, value in properties.items() if name not in kept_apart}
    account.call("lambda", "update_function_configuration", FunctionName=physical_id, **settings)
    reserved = properties.get("ReservedConcurrentExecutions")
    if reserved is not None:
        call, more = "put_function_concurrency", {"ReservedConcurrentExecutions": reserved}
        account.call("lambda", call, FunctionName=physical_id, **more)
    elif "ReservedConcurrentExecutions" in earlier:
        account.call("lambda", "delete_function_concurrency", FunctionName=physical_id)


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
    account.call("lambda", "put_function_event_invoke_config", **_invoke_settings(properties))
    return Created(name)


def update_invoke_config(
    account: Account, _physical_id: str, _earlier: dict[str, Any], properties: dict[str, Any]
) -> None:
    """Set them anew. moto keeps the earlier ones unless they are deleted first."""
    account.call("lambda", "delete_function_event_invoke_config", FunctionName=properties["FunctionName"])
    account.call("lambda", "put_function_event_invoke_config", **_invoke_settings(properties))


def _invoke_settings(properties: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in properties.items() if (key, value) != ("Qualifier", UNQUALIFIED)}


def delete_invoke_config(account: Account, _physical_id: str, properties: dict[str, Any]) -> None:
    """Return to the defaults."""
    account.call("lambda", "delete_function_event_invoke_config", FunctionName=properties["FunctionName"])


def create_mapping(account: Account, _name: str, properties: dict[str, Any]) -> Created:
    """Let a queue invoke a function. moto would do so in a container when a message is sent; here, a test polls."""
    tags = {tag["Key"]: tag["Value"] for tag in properties.pop("Tags", [])}
    made = account.call("lambda", "create_event_source_mapping", **properties, **({"Tags": tags} if tags else {}))
    for queue in sqs_backends[account.account_id][account.region].queues.values():
        queue.lambda_event_source_mappings.clear()
    return Created(made["UUID"], {"Id": made["UUID"]})


def delete_mapping(account: Account, physical_id: str, _properties: dict[str, Any]) -> None:
    """Stop a queue from invoking a function."""
    account.call("lambda", "delete_event_source_mapping", UUID=physical_id)
