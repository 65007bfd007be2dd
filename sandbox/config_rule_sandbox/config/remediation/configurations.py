"""Remediation configurations: which runbook fixes what a rule finds.

https://docs.aws.amazon.com/config/latest/APIReference/API_PutRemediationConfigurations.html
"""

import time
import uuid
from typing import Any

from moto.config.exceptions import InvalidParameterValueException
from moto.config.models import ConfigBackend
from moto.ssm.exceptions import SSMException

from config_rule_sandbox.config import checks
from config_rule_sandbox.config.remediation.memory import RUNNING, RemediationError, Remediations
from config_rule_sandbox.ssm.document import Document
from config_rule_sandbox.ssm.start import find_runbook

ASSUME_ROLE = "AutomationAssumeRole"
"""The one name that the role's parameter may have where remediation is automatic (botocore model)."""

DEFAULTS = {"Automatic": False, "MaximumAutomaticAttempts": 5, "RetryAttemptSeconds": 60}
CONTROL_DEFAULTS = {"ConcurrentExecutionRatePercentage": 10, "ErrorPercentage": 50}
"""Defaults (botocore model)."""


def put_configurations(backend: ConfigBackend, memory: Remediations, parameters: dict[str, Any]) -> dict[str, Any]:
    """Store configurations, one for each rule; a second one for a rule replaces the first."""
    for configuration in parameters["RemediationConfigurations"]:
        _check(backend, configuration)
    for configuration in parameters["RemediationConfigurations"]:
        name = configuration["ConfigRuleName"]
        memory.configurations[name] = {**configuration, "Arn": f"{_arn(backend)}/{name}/{uuid.uuid4()}"}
        memory.configured[name] = time.time()
    return {"FailedBatches": []}


def describe_configurations(
    _backend: ConfigBackend, memory: Remediations, parameters: dict[str, Any]
) -> dict[str, Any]:
    """Return the configurations of the named rules, those that there are."""
    known = memory.configurations
    return {"RemediationConfigurations": [known[name] for name in parameters["ConfigRuleNames"] if name in known]}


def delete_configuration(_backend: ConfigBackend, memory: Remediations, parameters: dict[str, Any]) -> dict[str, Any]:
    """Delete a rule's configuration, unless a remediation of the rule is in progress."""
    name = parameters["ConfigRuleName"]
    configuration(memory, name)
    if any(run.state in RUNNING for run in memory.of_rule(name)):
        raise RemediationError("RemediationInProgressException", f"A remediation of the rule {name} is in progress.")
    del memory.configurations[name]
    return {}


def configuration(memory: Remediations, rule_name: str) -> dict[str, Any]:
    """Return the configuration of a rule with the defaults. NoSuchRemediationConfigurationException without one."""
    found = memory.configurations.get(rule_name)
    if found is None:
        message = f"The rule {rule_name} has no remediation configuration."
        raise RemediationError("NoSuchRemediationConfigurationException", message)
    return {**DEFAULTS, **found}


def controls(found: dict[str, Any]) -> tuple[int, int]:
    """Return the percentages of a configuration: of concurrent remediations, and of tolerated failures."""
    given = {**CONTROL_DEFAULTS, **found.get("ExecutionControls", {}).get("SsmControls", {})}
    return given["ConcurrentExecutionRatePercentage"], given["ErrorPercentage"]


def runbook_parameters(found: dict[str, Any], resource_id: str) -> dict[str, list[str]]:
    """Return the parameters for the runbook: static values, and the id of the resource for a ResourceValue."""
    return {
        name: value["StaticValue"]["Values"] if "StaticValue" in value else [resource_id]
        for name, value in found.get("Parameters", {}).items()
    }


def _arn(backend: ConfigBackend) -> str:
    return f"arn:{backend.partition}:config:{backend.region_name}:{backend.account_id}:remediation-configuration"


def _check(backend: ConfigBackend, new: dict[str, Any]) -> None:
    """Raise InvalidParameterValueException for a configuration that Config does not take."""
    checks.rule(backend, new["ConfigRuleName"])
    parameters = new.get("Parameters", {})
    for name, value in parameters.items():
        if len(value) != 1:
            raise InvalidParameterValueException(f"{name} needs either a ResourceValue or a StaticValue.")
    if new.get("Automatic") and not _is_given(parameters.get(ASSUME_ROLE)):
        raise InvalidParameterValueException(f"Automatic remediation needs a value for {ASSUME_ROLE}.")
    _check_runbook(backend, new, parameters)


def _check_runbook(backend: ConfigBackend, new: dict[str, Any], parameters: dict[str, Any]) -> None:
    """Check that the runbook exists, has these parameters, gets those that it needs, and has a role to act as."""
    try:
        _, runbook = find_runbook(new["TargetId"], new.get("TargetVersion"), backend.account_id, backend.region_name)
    except SSMException as error:
        raise InvalidParameterValueException(str(error)) from error
    unknown = sorted(set(parameters) - set(runbook.parameters))
    if unknown:
        raise InvalidParameterValueException(f"The document {new['TargetId']} has no parameters {unknown}.")
    missing = sorted(
        name for name, parameter in runbook.parameters.items() if parameter.default is None and name not in parameters
    )
    if missing:
        raise InvalidParameterValueException(f"The document {new['TargetId']} needs the parameters {missing}.")
    if not _has_role(runbook, parameters):
        raise InvalidParameterValueException(f"The document {new['TargetId']} has no role to act as.")


def _has_role(runbook: Document, parameters: dict[str, Any]) -> bool:
    name = runbook.assume_role.strip("{} ")
    known = runbook.parameters.get(name)
    return bool(name) and (known is None or bool(known.default) or _is_given(parameters.get(name)))


def _is_given(value: dict[str, Any] | None) -> bool:
    return bool(value and value.get("StaticValue", {}).get("Values"))
