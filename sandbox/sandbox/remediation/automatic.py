"""Automatic remediation: attempts on what is NON_COMPLIANT, retries of what failed, and exceptions in the end.

https://docs.aws.amazon.com/config/latest/developerguide/setup-autoremediation.html and the botocore model,
RemediationConfiguration.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

from sandbox.config_service.results import ConfigResults, ResourceKey
from sandbox.remediation import exceptions
from sandbox.remediation.configurations import configuration, controls
from sandbox.remediation.memory import RUNNING, Remediations, Run
from sandbox.remediation.runs import Begin

FAILED = "FAILED"


@dataclass
class AutomaticRemediation:
    """Automatic remediation of one rule. `clock` gives seconds since 1970, `finish` waits for the end of a run."""

    memory: Remediations
    results: ConfigResults
    rule_name: str
    begin: Begin
    finish: Callable[[Run], None]
    clock: Callable[[], float]

    def remediate(self) -> list[Run]:
        """Remediate every resource that is NON_COMPLIANT and not excepted, until it works or was tried often enough.

        After MaximumAutomaticAttempts failures within RetryAttemptSeconds a resource gets a remediation exception.
        Returns all attempts in order. A resource is attempted at most MaximumAutomaticAttempts times in one call.
        """
        found = configuration(self.memory, self.rule_name)
        attempts: list[Run] = []
        if not found["Automatic"]:
            return attempts
        due = self._due()
        for _ in range(found["MaximumAutomaticAttempts"]):
            runs = self._pass(due, found)
            attempts += runs
            failed = {run.resource for run in runs if run.state == FAILED}
            due = [resource for resource in due if resource in failed and not self._except(resource, found)]
        return attempts

    def _due(self) -> list[ResourceKey]:
        """Return the resources to be remediated: what the last known results say, which may be stale."""
        return [
            result.resource
            for result in self.results.of_rule(self.rule_name)
            if result.compliance == "NON_COMPLIANT"
            and not self.memory.excepted(self.rule_name, result.resource, self.clock())
            and not self._runs(result.resource)
        ]

    def _runs(self, resource: ResourceKey) -> bool:
        last = self.memory.last(self.rule_name, resource)
        return last is not None and last.state in RUNNING

    def _pass(self, due: list[ResourceKey], found: dict[str, Any]) -> list[Run]:
        """Attempt each resource once, so many at once as allowed, until too many attempts have failed."""
        concurrent, errors = controls(found)
        size = max(1, ceil(len(due) * concurrent / 100))
        runs: list[Run] = []
        for start in range(0, len(due), size):
            batch = [self.begin(self.rule_name, resource) for resource in due[start : start + size]]
            for run in batch:
                self.finish(run)
            runs += batch
            if 100 * sum(run.state == FAILED for run in runs) > errors * len(due):
                break
        return runs

    def _except(self, resource: ResourceKey, found: dict[str, Any]) -> bool:
        """Add an exception if the resource has failed too often lately, and say whether that was so."""
        since = self.clock() - found["RetryAttemptSeconds"]
        runs = self.memory.runs[(self.rule_name, resource)]
        failures = sum(run.state == FAILED and run.invoked >= since for run in runs)
        if failures < found["MaximumAutomaticAttempts"]:
            return False
        message = f"{failures} remediation attempts have failed within {found['RetryAttemptSeconds']} seconds."
        exceptions.add(self.memory, self.rule_name, resource, message)
        return True
