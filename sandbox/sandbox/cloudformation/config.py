"""Rules of AWS Config and their remediation."""

import json
from typing import Any

from moto.config.models import config_backends

from sandbox.cloudformation.account import Account
from sandbox.cloudformation.values import Created
from sandbox.remediation import configurations
from sandbox.remediation.memory import remediations_of


class AlreadyExistsError(Exception):
    """A resource of that name exists, and was not created by this stack.

    PutConfigRule would update it, but a resource handler must not take over what it did not create:
    https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract-errors.html.
    """


def create_rule(account: Account, name: str, properties: dict[str, Any]) -> Created:
    """Create a rule. AlreadyExistsError if there is one of that name; ClientError without a recorder."""
    name = properties.get("ConfigRuleName", name)
    if name in config_backends[account.account_id][account.region].config_rules:
        raise AlreadyExistsError(f"Resource of type 'AWS::Config::ConfigRule' with identifier '{name}' already exists.")
    update_rule(account, name, {}, properties)
    [known] = account.call("config", "describe_config_rules", ConfigRuleNames=[name])["ConfigRules"]
    return Created(name, {"Arn": known["ConfigRuleArn"], "ConfigRuleId": known["ConfigRuleId"]})


def update_rule(account: Account, physical_id: str, _earlier: dict[str, Any], properties: dict[str, Any]) -> None:
    """Put the rule as it is to be. Its results remain."""
    inputs = properties.get("InputParameters", {})
    rule = properties | {"ConfigRuleName": physical_id, "InputParameters": json.dumps(inputs)}
    account.call("config", "put_config_rule", ConfigRule=rule)


def delete_rule(account: Account, physical_id: str, _properties: dict[str, Any]) -> None:
    """Delete a rule."""
    account.call("config", "delete_config_rule", ConfigRuleName=physical_id)


def create_remediation(account: Account, _name: str, properties: dict[str, Any]) -> Created:
    """Configure what remediates a rule."""
    update_remediation(account, properties["ConfigRuleName"], {}, properties)
    return Created(properties["ConfigRuleName"])


def update_remediation(
    account: Account, _physical_id: str, _earlier: dict[str, Any], properties: dict[str, Any]
) -> None:
    """Put the remediation as it is to be; texts become the numbers and booleans of the API."""
    controls = properties["ExecutionControls"]["SsmControls"]
    numbers = {name: int(properties[name]) for name in ("MaximumAutomaticAttempts", "RetryAttemptSeconds")}
    configuration = {
        **properties,
        **numbers,
        "ExecutionControls": {"SsmControls": {name: int(value) for name, value in controls.items()}},
    }
    backend = config_backends[account.account_id][account.region]
    memory = remediations_of(account.account_id, account.region)
    configurations.put(backend, memory, {"RemediationConfigurations": [configuration]})


def delete_remediation(account: Account, physical_id: str, _properties: dict[str, Any]) -> None:
    """Remove the remediation of a rule."""
    backend = config_backends[account.account_id][account.region]
    configurations.delete(backend, remediations_of(account.account_id, account.region), {"ConfigRuleName": physical_id})
