"""Resource types of Lambda."""

from moto.sqs.models import sqs_backends

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, Properties, deleting, shortened
from config_rule_sandbox.cloudformation.values import Created

UNQUALIFIED = "$LATEST"


def create_function(account: Account, name: str, properties: Properties) -> Created:
    """Create a function from code in a bucket."""
    name = properties.pop("FunctionName", shortened(name, 64))
    tags = {tag["Key"]: tag["Value"] for tag in properties.pop("Tags", [])}
    made = account.call("lambda", "create_function", FunctionName=name, Tags=tags, **properties)
    return Created(name, {"Arn": made["FunctionArn"]})


def update_function(account: Account, physical_id: str, earlier: Properties, properties: Properties) -> None:
    """Update the code and the settings of a function."""
    if properties["Code"] != earlier["Code"]:
        account.call("lambda", "update_function_code", FunctionName=physical_id, **properties["Code"])
    kept_apart = ("Architectures", "Code", "FunctionName", "Tags")
    settings = {name: value for name, value in properties.items() if name not in kept_apart}
    account.call("lambda", "update_function_configuration", FunctionName=physical_id, **settings)


def create_permission(account: Account, name: str, properties: Properties) -> Created:
    """Let a service invoke a function."""
    account.call("lambda", "add_permission", StatementId=name, **properties)
    return Created(name)


def delete_permission(account: Account, physical_id: str, properties: Properties) -> None:
    """Revoke a permission."""
    function = properties["FunctionName"]
    account.call("lambda", "remove_permission", FunctionName=function, StatementId=physical_id)


def create_invoke_config(account: Account, name: str, properties: Properties) -> Created:
    """Set retries of asynchronous invocations, and where failed events go."""
    account.call("lambda", "put_function_event_invoke_config", **_invoke_settings(properties))
    return Created(name)


def _invoke_settings(properties: Properties) -> Properties:
    return {key: value for key, value in properties.items() if (key, value) != ("Qualifier", UNQUALIFIED)}


def delete_invoke_config(account: Account, _physical_id: str, properties: Properties) -> None:
    """Return to the defaults."""
    account.call("lambda", "delete_function_event_invoke_config", FunctionName=properties["FunctionName"])


def create_mapping(account: Account, _name: str, properties: Properties) -> Created:
    """Let a queue invoke a function. moto would do so in a container when a message is sent; here, a test polls."""
    tags = {tag["Key"]: tag["Value"] for tag in properties.pop("Tags", [])}
    made = account.call("lambda", "create_event_source_mapping", **properties, **({"Tags": tags} if tags else {}))
    for queue in sqs_backends[account.account_id][account.region].queues.values():
        queue.lambda_event_source_mappings.clear()
    return Created(made["UUID"], {"Id": made["UUID"]})


KINDS = {
    "AWS::Lambda::EventInvokeConfig": Kind(create_invoke_config, delete_invoke_config),
    "AWS::Lambda::EventSourceMapping": Kind(create_mapping, deleting("lambda", "delete_event_source_mapping", "UUID")),
    "AWS::Lambda::Function": Kind(
        create_function, deleting("lambda", "delete_function", "FunctionName"), update_function
    ),
    "AWS::Lambda::Permission": Kind(create_permission, delete_permission),
}
