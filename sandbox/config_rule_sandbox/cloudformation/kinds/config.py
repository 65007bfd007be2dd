"""Resource types of AWS Config."""

import json

from moto.config.models import config_backends

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, Properties, calling, deleting, putting
from config_rule_sandbox.cloudformation.values import Created
from config_rule_sandbox.config.remediation import configurations
from config_rule_sandbox.config.remediation.memory import remediations_of

NUMBERS = ("MaximumAutomaticAttempts", "RetryAttemptSeconds")


class AlreadyExistsError(Exception):
    """A resource of that name exists, and was not created by this stack.

    PutConfigRule would update it, but a resource handler must not take over what it did not create:
    https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract-errors.html.
    """


def create_rule(account: Account, name: str, properties: Properties) -> Created:
    """Create a rule. AlreadyExistsError if there is one of that name; ClientError without a recorder."""
    name = properties.get("ConfigRuleName", name)
    if name in config_backends[account.account_id][account.region].config_rules:
        raise AlreadyExistsError(f"Resource of type 'AWS::Config::ConfigRule' with identifier '{name}' already exists.")
    update_rule(account, name, {}, properties)
    [known] = account.call("config", "describe_config_rules", ConfigRuleNames=[name])["ConfigRules"]
    return Created(name, {"Arn": known["ConfigRuleArn"], "ConfigRuleId": known["ConfigRuleId"]})


def update_rule(account: Account, physical_id: str, _earlier: Properties, properties: Properties) -> None:
    """Put the rule as it is to be. Its results remain."""
    inputs = properties.get("InputParameters", {})
    rule = properties | {"ConfigRuleName": physical_id, "InputParameters": json.dumps(inputs)}
    account.call("config", "put_config_rule", ConfigRule=rule)


def put_remediation(account: Account, properties: Properties) -> None:
    """Put the remediation as it is to be; texts become the numbers and booleans of the API."""
    numbers: Properties = {name: int(properties[name]) for name in NUMBERS if name in properties}
    controls = properties.get("ExecutionControls", {}).get("SsmControls", {})
    if controls:
        numbers["ExecutionControls"] = {"SsmControls": {name: int(value) for name, value in controls.items()}}
    configuration = properties | numbers
    backend = config_backends[account.account_id][account.region]
    memory = remediations_of(account.account_id, account.region)
    configurations.put_configurations(backend, memory, {"RemediationConfigurations": [configuration]})


def delete_remediation(account: Account, physical_id: str, _properties: Properties) -> None:
    """Remove the remediation of a rule."""
    backend = config_backends[account.account_id][account.region]
    configurations.delete_configuration(
        backend, remediations_of(account.account_id, account.region), {"ConfigRuleName": physical_id}
    )


KINDS = {
    "AWS::Config::ConfigurationAggregator": calling(
        "config",
        "put_configuration_aggregator",
        "ConfigurationAggregatorName",
        "delete_configuration_aggregator",
    ),
    "AWS::Config::ConfigRule": Kind(
        create_rule, deleting("config", "delete_config_rule", "ConfigRuleName"), update_rule
    ),
    "AWS::Config::RemediationConfiguration": putting(put_remediation, delete_remediation, "ConfigRuleName"),
}
