"""AWS Config's remediation calls on the sandbox's server, and automatic remediation on request."""

import json
import time
from collections.abc import Callable
from copy import copy
from functools import partial
from math import ceil
from typing import Any, Self

from botocore import xform_name
from moto.config.exceptions import ResourceInUseException
from moto.config.models import ConfigBackend
from moto.config.responses import ConfigResponse
from moto.ssm.exceptions import SSMException
from moto.utilities.utils import get_partition

from config_rule_sandbox.answers import LaterSteps, RemediationSnapshot, RemediationTrigger
from config_rule_sandbox.config import checks
from config_rule_sandbox.config.remediation.configurations import (
    configuration,
    controls,
    delete_configuration,
    describe_configurations,
    put_configurations,
    runbook_parameters,
)
from config_rule_sandbox.config.remediation.exceptions import (
    add_exception,
    delete_exceptions,
    describe_exceptions,
    put_exceptions,
)
from config_rule_sandbox.config.remediation.memory import RUN_FAILED, Captured, Remediations, Run, remediations_of
from config_rule_sandbox.config.remediation.runs import start_runs, status_of_runs
from config_rule_sandbox.config.results import ConfigResults, ResourceKey, Result, results_of
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.server import CREDENTIALS, Sandbox
from config_rule_sandbox.ssm import Automation
from config_rule_sandbox.ssm.roles import Caller

Operation = Callable[[ConfigBackend, Remediations, dict[str, Any]], dict[str, Any]]

OPERATIONS: dict[str, Operation] = {
    "PutRemediationConfigurations": put_configurations,
    "DescribeRemediationConfigurations": describe_configurations,
    "DeleteRemediationConfiguration": delete_configuration,
    "PutRemediationExceptions": put_exceptions,
    "DescribeRemediationExceptions": describe_exceptions,
    "DeleteRemediationExceptions": delete_exceptions,
}
"""What answers each operation; those about runs need the running sandbox, too."""

SERVICE_ROLE = "assumed-role/AWSServiceRoleForConfigRemediation/AwsConfigRemediation"
"""https://docs.aws.amazon.com/config/latest/developerguide/using-service-linked-roles.html."""

SECONDS_OF_A_SNAPSHOT = 6 * 60 * 60
"""How long results are used that are captured only now and then."""


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
        of_runs: dict[str, Operation] = {
            "StartRemediationExecution": self._start_on_demand,
            "DescribeRemediationExecutionStatus": self._status,
        }
        for name, operation in (OPERATIONS | of_runs).items():
            self._patches.set(ConfigResponse, xform_name(name), _method(name, operation))
        self._patches.wrap(ConfigResponse, "delete_config_rule", _unless_configured)
        return self

    def __exit__(self, *_exception: object) -> None:
        """Undo the changes."""
        self._patches.undo()

    def seen_from(self, sandbox: Sandbox) -> "Remediation":
        """Return this remediation for rules of the account and Region of another view of the sandbox."""
        seen = copy(self)
        seen._sandbox = sandbox
        return seen

    def remediate(self, rule_name: str, *, capture: bool = True) -> list[Run]:
        """Run automatic remediation of a rule of the sandbox's own account and Region; return all attempts in order.

        Every resource that is NON_COMPLIANT and not excepted is remediated, until that works or was tried
        MaximumAutomaticAttempts times. After so many failures within RetryAttemptSeconds, it gets an exception:
        https://docs.aws.amazon.com/config/latest/developerguide/setup-autoremediation.html and
        https://docs.aws.amazon.com/config/latest/APIReference/API_RemediationConfiguration.html. The answer
        `remediation_trigger` says what starts a remediation again. `capture`: whether the results are captured before.
        """
        place = self._sandbox.account_id, self._sandbox.region
        memory = remediations_of(*place)
        found = configuration(memory, rule_name)
        if capture:
            self._capture(memory, rule_name)
        attempts: list[Run] = []
        due = self._due(memory, results_of(*place), rule_name)
        for _ in range(found["MaximumAutomaticAttempts"]):
            runs = self._attempt(memory, rule_name, due)
            attempts += runs
            failed = {run.resource for run in runs if run.state == RUN_FAILED}
            due = [one for one in due if one in failed and not self._except(memory, rule_name, one, found)]
        return attempts

    def _capture(self, memory: Remediations, rule_name: str) -> None:
        """Capture the results of a rule, unless it is too early."""
        known, now = memory.captured.get(rule_name), self.clock()
        is_slow = self._sandbox.answers.remediation_snapshot is RemediationSnapshot.HOURS_OLD
        if known and is_slow and now - known.time < SECONDS_OF_A_SNAPSHOT:
            return
        results = results_of(self._sandbox.account_id, self._sandbox.region)
        memory.captured[rule_name] = Captured(now, results.of_rule(rule_name))

    def _due(self, memory: Remediations, results: ConfigResults, rule_name: str) -> list[ResourceKey]:
        """Return the resources to be remediated: what the last known results say, which may be stale."""
        return [
            result.resource
            for result in self._known_results(memory, results, rule_name)
            if result.compliance == "NON_COMPLIANT"
            and not memory.excepted(rule_name, result.resource, self.clock())
            and not memory.is_running(rule_name, result.resource)
            and self._is_started(memory, results, result)
        ]

    def _known_results(self, memory: Remediations, results: ConfigResults, rule_name: str) -> list[Result]:
        """Return the results with which AWS Config decides what to remediate."""
        if self._sandbox.answers.remediation_snapshot is RemediationSnapshot.CURRENT:
            return results.of_rule(rule_name)
        return memory.captured[rule_name].results if rule_name in memory.captured else []

    def _is_started(self, memory: Remediations, results: ConfigResults, result: Result) -> bool:
        """Return whether something has started a remediation of a resource that is not done yet.

        It is done after a run that succeeded, or MaximumAutomaticAttempts that failed.
        """
        started = self._started(memory, results, result)
        if started is None:
            return False
        runs = memory.runs.get((result.rule_name, result.resource), [])
        since = [run for run in runs if run.invoked >= started]
        attempts = configuration(memory, result.rule_name)["MaximumAutomaticAttempts"]
        return not since or (since[-1].state == RUN_FAILED and len(since) < attempts)

    def _started(self, memory: Remediations, results: ConfigResults, result: Result) -> float | None:
        """Return when something last started a remediation of a resource (seconds since 1970), None if nothing did."""
        configured = memory.configured.get(result.rule_name, 0.0)
        changed = results.changed(result)
        known = memory.captured.get(result.rule_name)
        captured = known.time if known else 0.0
        match self._sandbox.answers.remediation_trigger:
            case RemediationTrigger.REPORTED_RESULT:
                return max(result.recorded, configured)
            case RemediationTrigger.STORED_RESULT:
                return max(captured, configured) if changed <= max(captured, configured) else None
            case RemediationTrigger.CHANGED_RESULT:
                return max(changed, configured)
            case RemediationTrigger.CONFIGURATION_ONLY:
                return configured if changed <= configured else None

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
        return start_runs(backend, memory, parameters, begin, self._sandbox.answers)

    def _status(self, _backend: ConfigBackend, memory: Remediations, parameters: dict[str, Any]) -> dict[str, Any]:
        shows_later = self._sandbox.answers.later_steps is LaterSteps.PENDING
        return status_of_runs(memory, parameters, shows_later=shows_later)

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
