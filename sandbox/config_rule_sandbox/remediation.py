"""AWS Config's remediation: configurations, executions, exceptions, and automatic remediation.

with Sandbox() as sandbox, Automation(sandbox) as automation, Remediation(sandbox, automation) as remediation:
    sandbox.client("config").put_remediation_configurations(...)
    remediation.remediate("my-rule")
"""

import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from math import ceil
from threading import RLock
from typing import Any, Self

from botocore import xform_name
from moto.config.exceptions import InvalidParameterValueException, ResourceInUseException
from moto.config.models import ConfigBackend, config_backends
from moto.config.responses import ConfigResponse
from moto.core.exceptions import JsonRESTError
from moto.ssm.exceptions import SSMException
from moto.utilities.utils import get_partition

from config_rule_sandbox.config_service import checks
from config_rule_sandbox.config_service.results import ConfigResults, ResourceKey, results_of
from config_rule_sandbox.memory import memory_of
from config_rule_sandbox.patches import Patches
from config_rule_sandbox.server import CREDENTIALS, Sandbox
from config_rule_sandbox.ssm import Automation
from config_rule_sandbox.ssm.document import Document
from config_rule_sandbox.ssm.execution import (
    CANCELLED,
    FAILED,
    IN_PROGRESS,
    PENDING,
    SUCCESS,
    TIMED_OUT,
    WAITING,
    Execution,
    StepRun,
)
from config_rule_sandbox.ssm.operations import find_runbook
from config_rule_sandbox.ssm.roles import Caller

# --- errors --------------------------------------------------------------------------------------------------------
#
# The errors of AWS Config's remediation calls (botocore model).


class RemediationError(JsonRESTError):
    """A refusal by one of the calls."""

    code = 400


# --- memory --------------------------------------------------------------------------------------------------------
#
# What AWS Config stores about remediation in one account and Region.


STATES = {PENDING: "QUEUED", SUCCESS: "SUCCEEDED", FAILED: "FAILED", TIMED_OUT: "FAILED", CANCELLED: "FAILED"}
"""States of a remediation execution by the status of its automation; any other is IN_PROGRESS (botocore model)."""

RUNNING = ("QUEUED", "IN_PROGRESS")
RUN_FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Run:
    """One remediation of one resource. `refusal` says why there is no execution. Times are seconds since 1970."""

    resource: ResourceKey
    invoked: float
    execution: Execution | None = None
    refusal: str | None = None

    @property
    def state(self) -> str:
        """QUEUED, IN_PROGRESS, SUCCEEDED or FAILED."""
        return STATES.get(self.execution.status, "IN_PROGRESS") if self.execution else "FAILED"


@dataclass
class Remediations:
    """Configurations by rule, the runs of each rule by resource, oldest first, and exceptions by rule and resource."""

    configurations: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: dict[tuple[str, ResourceKey], list[Run]] = field(default_factory=dict)
    exceptions: dict[tuple[str, ResourceKey], dict[str, Any]] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock)

    def last(self, rule_name: str, resource: ResourceKey) -> Run | None:
        """Return the latest run for a resource, or None if there was none."""
        runs = self.runs.get((rule_name, resource))
        return runs[-1] if runs else None

    def is_running(self, rule_name: str, resource: ResourceKey) -> bool:
        """Return whether a resource is being remediated."""
        last = self.last(rule_name, resource)
        return last is not None and last.state in RUNNING

    def of_rule(self, rule_name: str) -> list[Run]:
        """Return the latest run for each resource of a rule, sorted by resource."""
        return [runs[-1] for (rule, _), runs in sorted(self.runs.items()) if rule == rule_name]

    def add(self, rule_name: str, run: Run) -> None:
        """Keep a new run."""
        with self.lock:
            self.runs.setdefault((rule_name, run.resource), []).append(run)

    def excepted(self, rule_name: str, resource: ResourceKey, moment: float) -> bool:
        """Return whether a resource is under a remediation exception that has not expired at a moment."""
        found = self.exceptions.get((rule_name, resource))
        return found is not None and found.get("ExpirationTime", moment + 1) > moment


def remediations_of(account_id: str, region: str) -> Remediations:
    """Return what is stored for one account and Region. A reset of moto's backend removes it."""
    return memory_of(config_backends[account_id][region], Remediations)


# --- configurations ------------------------------------------------------------------------------------------------
#
# Remediation configurations: which runbook fixes what a rule finds.
#
# https://docs.aws.amazon.com/config/latest/APIReference/API_PutRemediationConfigurations.html


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


# --- exceptions ----------------------------------------------------------------------------------------------------
#
# Remediation exceptions: resources that automatic remediation leaves alone.
#
# https://docs.aws.amazon.com/config/latest/APIReference/API_PutRemediationExceptions.html


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


# --- runs ----------------------------------------------------------------------------------------------------------
#
# StartRemediationExecution and DescribeRemediationExecutionStatus.
#
# https://docs.aws.amazon.com/config/latest/APIReference/API_StartRemediationExecution.html


Begin = Callable[[str, ResourceKey], Run]
"""Starts the remediation of a rule for a resource."""

STEP_STATES = {
    SUCCESS: "SUCCEEDED",
    FAILED: "FAILED",
    TIMED_OUT: "FAILED",
    CANCELLED: "EXITED",
    IN_PROGRESS: "IN_PROGRESS",
    WAITING: "IN_PROGRESS",
}
"""States of a step by its status in Automation; a step that has not begun is PENDING (botocore model)."""

MAXIMUM_LIMIT = 100


def start_runs(
    backend: ConfigBackend, memory: Remediations, parameters: dict[str, Any], begin: Begin
) -> dict[str, Any]:
    """Start the remediation of resources, but of those that are compliant or being remediated already."""
    rule_name = parameters["ConfigRuleName"]
    configuration(memory, rule_name)
    failed: list[dict[str, str]] = []
    reasons: list[str] = []
    for key in parameters["ResourceKeys"]:
        resource = (key["resourceType"], key["resourceId"])
        reason = _obstacle(backend, memory, rule_name, resource) or begin(rule_name, resource).refusal
        if reason:
            failed.append(key)
            reasons.append(reason)
    return {"FailureMessage": "; ".join(reasons), "FailedItems": failed} if failed else {}


def status_of_runs(_backend: ConfigBackend, memory: Remediations, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the state of the latest remediation of each resource of a rule, or of those that are named."""
    rule_name = parameters["ConfigRuleName"]
    configuration(memory, rule_name)
    wanted = [(key["resourceType"], key["resourceId"]) for key in parameters.get("ResourceKeys") or []]
    chosen = [run for run in memory.of_rule(rule_name) if not wanted or run.resource in wanted]
    page, token = checks.page(chosen, parameters.get("NextToken"), parameters.get("Limit") or MAXIMUM_LIMIT)
    return {"RemediationExecutionStatuses": [_status(run) for run in page]} | ({"NextToken": token} if token else {})


def _obstacle(backend: ConfigBackend, memory: Remediations, rule_name: str, resource: ResourceKey) -> str | None:
    if memory.is_running(rule_name, resource):
        return f"{resource[1]}: a remediation is in progress"
    result = results_of(backend.account_id, backend.region_name).results.get((rule_name, resource))
    if result and result.compliance == "COMPLIANT":
        return f"{resource[1]}: the resource is already compliant"
    return None


def _status(run: Run) -> dict[str, Any]:
    """Return a RemediationExecutionStatus (botocore model); times are seconds since 1970."""
    steps = list(run.execution.steps.values()) if run.execution else []
    return {
        "ResourceKey": {"resourceType": run.resource[0], "resourceId": run.resource[1]},
        "State": run.state,
        "StepDetails": [_step(step) for step in steps],
        "InvocationTime": run.invoked,
        "LastUpdatedTime": _last_update(run.execution) or run.invoked,
    }


def _step(step: StepRun) -> dict[str, Any]:
    found = {
        "Name": step.step.name,
        "State": STEP_STATES.get(step.status, "PENDING"),
        "ErrorMessage": step.failure,
        "StartTime": _seconds(step.started),
        "StopTime": _seconds(step.ended),
    }
    return {key: value for key, value in found.items() if value is not None}


def _last_update(execution: Execution | None) -> float | None:
    if execution is None:
        return None
    moments = [moment for step in execution.steps.values() for moment in (step.started, step.ended) if moment]
    return _seconds(max(moments, default=execution.started))


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None


# --- service -------------------------------------------------------------------------------------------------------
#
# AWS Config's remediation calls on the sandbox's server, and automatic remediation on request.


Operation = Callable[[ConfigBackend, Remediations, dict[str, Any]], dict[str, Any]]

OPERATIONS: dict[str, Operation] = {
    "PutRemediationConfigurations": put_configurations,
    "DescribeRemediationConfigurations": describe_configurations,
    "DeleteRemediationConfiguration": delete_configuration,
    "DescribeRemediationExecutionStatus": status_of_runs,
    "PutRemediationExceptions": put_exceptions,
    "DescribeRemediationExceptions": describe_exceptions,
    "DeleteRemediationExceptions": delete_exceptions,
}
"""What answers each operation; StartRemediationExecution needs the running Automation, too."""

SERVICE_ROLE = "assumed-role/AWSServiceRoleForConfigRemediation/AwsConfigRemediation"
"""https://docs.aws.amazon.com/config/latest/developerguide/using-service-linked-roles.html."""


class Remediation:
    """Remediation in a running sandbox with Automation, as a context manager.

    `clock` gives the time by which attempts are counted, in seconds since 1970; a test may put another in its place.
    """

    def __init__(self, sandbox: Sandbox, automation: Automation) -> None:
        """Prepare; moto is not changed yet."""
        self.clock: Callable[[], float] = time.time
        self._sandbox = sandbox
        self._automation = automation
        self._patches = Patches()

    def __enter__(self) -> Self:
        """Let the sandbox's server answer Config's remediation calls."""
        for name, operation in (OPERATIONS | {"StartRemediationExecution": self._start_on_demand}).items():
            self._patches.set(ConfigResponse, xform_name(name), _method(name, operation))
        self._patches.wrap(ConfigResponse, "delete_config_rule", _unless_configured)
        return self

    def __exit__(self, *_exception: object) -> None:
        """Undo the changes."""
        self._patches.undo()

    def remediate(self, rule_name: str) -> list[Run]:
        """Run automatic remediation of a rule of the sandbox's own account and Region; return all attempts in order.

        Every resource that is NON_COMPLIANT and not excepted is remediated, until that works or was tried
        MaximumAutomaticAttempts times. After so many failures within RetryAttemptSeconds, it gets an exception:
        https://docs.aws.amazon.com/config/latest/developerguide/setup-autoremediation.html and the botocore model,
        RemediationConfiguration.
        """
        place = self._sandbox.account_id, self._sandbox.region
        memory = remediations_of(*place)
        found = configuration(memory, rule_name)
        attempts: list[Run] = []
        due = self._due(memory, results_of(*place), rule_name)
        for _ in range(found["MaximumAutomaticAttempts"]):
            runs = self._attempt(memory, rule_name, due)
            attempts += runs
            failed = {run.resource for run in runs if run.state == RUN_FAILED}
            due = [one for one in due if one in failed and not self._except(memory, rule_name, one, found)]
        return attempts

    def _due(self, memory: Remediations, results: ConfigResults, rule_name: str) -> list[ResourceKey]:
        """Return the resources to be remediated: what the last known results say, which may be stale."""
        return [
            result.resource
            for result in results.of_rule(rule_name)
            if result.compliance == "NON_COMPLIANT"
            and not memory.excepted(rule_name, result.resource, self.clock())
            and not memory.is_running(rule_name, result.resource)
        ]

    def _attempt(self, memory: Remediations, rule_name: str, due: list[ResourceKey]) -> list[Run]:
        """Attempt each resource once, so many at once as allowed, until too many attempts have failed."""
        concurrent, errors = controls(configuration(memory, rule_name))
        size = max(1, ceil(len(due) * concurrent / 100))
        runs: list[Run] = []
        for start in range(0, len(due), size):
            if not configuration(memory, rule_name)["Automatic"]:  # it can be changed at any time
                break
            account_id, region = self._sandbox.account_id, self._sandbox.region
            batch = [self._begin(account_id, region, rule_name, resource) for resource in due[start : start + size]]
            for run in batch:
                if run.execution:
                    self._automation.wait(run.execution.id)
            runs += batch
            if 100 * sum(run.state == RUN_FAILED for run in runs) > errors * len(due):
                break
        return runs

    def _except(self, memory: Remediations, rule_name: str, resource: ResourceKey, found: dict[str, Any]) -> bool:
        """Add an exception if the resource has failed too often lately, and say whether that was so."""
        since = self.clock() - found["RetryAttemptSeconds"]
        runs = memory.runs[(rule_name, resource)]
        failures = sum(run.state == RUN_FAILED and run.invoked >= since for run in runs)
        if failures < found["MaximumAutomaticAttempts"]:
            return False
        message = f"{failures} remediation attempts have failed within {found['RetryAttemptSeconds']} seconds."
        add_exception(memory, rule_name, resource, message)
        return True

    def _start_on_demand(
        self, backend: ConfigBackend, memory: Remediations, parameters: dict[str, Any]
    ) -> dict[str, Any]:
        begin = partial(self._begin, backend.account_id, backend.region_name)
        return start_runs(backend, memory, parameters, begin)

    def _begin(self, account_id: str, region: str, rule_name: str, resource: ResourceKey) -> Run:
        """Start the runbook of a rule for a resource, and keep the run. A refusal by Automation is a failed run."""
        memory = remediations_of(account_id, region)
        found = configuration(memory, rule_name)
        request = {"DocumentName": found["TargetId"], "Parameters": runbook_parameters(found, resource[1])}
        if "TargetVersion" in found:
            request["DocumentVersion"] = found["TargetVersion"]
        who = Caller(f"arn:{get_partition(region)}:sts::{account_id}:{SERVICE_ROLE}", CREDENTIALS)
        invoked = self.clock()
        try:
            run = Run(resource, invoked, self._automation.start(request, who, account_id, region))
        except SSMException as error:
            run = Run(resource, invoked, refusal=str(error))
        memory.add(rule_name, run)
        return run


def _unless_configured(original: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse to delete a rule that has a remediation configuration (botocore model, ResourceInUseException)."""

    def delete_config_rule(self: ConfigResponse) -> object:
        name = json.loads(self.body or "{}").get("ConfigRuleName")
        if name in remediations_of(self.current_account, self.region).configurations:
            raise ResourceInUseException(f"A remediation action is associated with the rule {name}.")
        return original(self)

    return delete_config_rule


def _method(name: str, operation: Operation) -> Callable[[ConfigResponse], str]:
    """Return a method of moto's response class that checks a request against its model, and answers it."""

    def answer(self: ConfigResponse) -> str:
        memory = remediations_of(self.current_account, self.region)
        return json.dumps(operation(self.config_backend, memory, checks.parameters(self, name)))

    return answer
