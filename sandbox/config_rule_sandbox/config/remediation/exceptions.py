"""Remediation exceptions: resources that automatic remediation leaves alone.

https://docs.aws.amazon.com/config/latest/APIReference/API_PutRemediationExceptions.html
"""

import time
from typing import Any

from moto.config.models import ConfigBackend

from config_rule_sandbox.config import checks
from config_rule_sandbox.config.remediation.memory import RemediationError, Remediations
from config_rule_sandbox.config.results import ResourceKey, results_of

PAGE = 100


def put_exceptions(backend: ConfigBackend, memory: Remediations, parameters: dict[str, Any]) -> dict[str, Any]:
    """Add exceptions for resources. Only those that are NON_COMPLIANT can have one."""
    rule_name = parameters["ConfigRuleName"]
    checks.rule(backend, rule_name)
    results = results_of(backend.account_id, backend.region_name).results
    failed = []
    for key in parameters["ResourceKeys"]:
        resource = _resource(key)
        result = results.get((rule_name, resource))
        new = _exception(rule_name, resource, parameters)
        if result is None or result.compliance != "NON_COMPLIANT":
            failed.append(new)
        else:
            memory.exceptions[(rule_name, resource)] = new
    message = "The resources are not NON_COMPLIANT."
    return {"FailedBatches": [{"FailureMessage": message, "FailedItems": failed}] if failed else []}


def describe_exceptions(_backend: ConfigBackend, memory: Remediations, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the exceptions of a rule that have not expired, all of them or those of the named resources."""
    rule_name = parameters["ConfigRuleName"]
    wanted = [_resource(key) for key in parameters.get("ResourceKeys") or []]
    chosen = [
        found
        for (rule, resource), found in sorted(memory.exceptions.items())
        if rule == rule_name and (not wanted or resource in wanted) and memory.excepted(rule, resource, time.time())
    ]
    page, token = checks.page(chosen, parameters.get("NextToken"), parameters.get("Limit") or PAGE)
    return {"RemediationExceptions": list(page)} | ({"NextToken": token} if token else {})


def delete_exceptions(_backend: ConfigBackend, memory: Remediations, parameters: dict[str, Any]) -> dict[str, Any]:
    """Lift exceptions. NoSuchRemediationExceptionException if a resource has none."""
    rule_name = parameters["ConfigRuleName"]
    keys = [(rule_name, _resource(key)) for key in parameters["ResourceKeys"]]
    for key in keys:
        if key not in memory.exceptions:
            message = f"The rule {rule_name} has no such exception."
            raise RemediationError("NoSuchRemediationExceptionException", message)
    for key in keys:
        del memory.exceptions[key]
    return {"FailedBatches": []}


def add_exception(memory: Remediations, rule_name: str, resource: ResourceKey, message: str) -> None:
    """Add the exception that Config itself adds when automatic remediation has failed too often."""
    memory.exceptions[(rule_name, resource)] = _exception(rule_name, resource, {"Message": message})


def _exception(rule_name: str, resource: ResourceKey, parameters: dict[str, Any]) -> dict[str, Any]:
    named = {"ConfigRuleName": rule_name, "ResourceType": resource[0], "ResourceId": resource[1]}
    return named | {key: parameters[key] for key in ("Message", "ExpirationTime") if key in parameters}


def _resource(key: dict[str, str]) -> ResourceKey:
    return key["ResourceType"], key["ResourceId"]
