"""What AWS Config stores about remediation in one account and Region."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from threading import RLock
from typing import Any

from moto.config.models import config_backends
from moto.core.exceptions import JsonRESTError

from config_rule_sandbox.config.results import ResourceKey, Result
from config_rule_sandbox.patching.memory import memory_of
from config_rule_sandbox.ssm.execution import (
    CANCELLED,
    FAILED,
    PENDING,
    SUCCESS,
    TIMED_OUT,
    Execution,
)


class RemediationError(JsonRESTError):
    """A refusal by one of the calls."""

    code = 400


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


@dataclass(frozen=True, slots=True)
class Captured:
    """The results of a rule that were captured for automatic remediation, and when (seconds since 1970)."""

    time: float
    results: list[Result]


@dataclass
class Remediations:
    """Configurations by rule, the runs of each rule by resource, oldest first, and exceptions by rule and resource.

    `configured` has the time of each rule's last PutRemediationConfigurations (seconds since 1970), and `captured` its results.
    """

    configurations: dict[str, dict[str, Any]] = field(default_factory=dict)
    configured: dict[str, float] = field(default_factory=dict)
    captured: dict[str, Captured] = field(default_factory=dict)
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

    def grow_older(self, age: timedelta) -> None:
        """Let every configuration and every run be older."""
        with self.lock:
            self.configured = {name: moment - age.total_seconds() for name, moment in self.configured.items()}
            self.captured = {
                name: replace(found, time=found.time - age.total_seconds()) for name, found in self.captured.items()
            }
            self.runs = {
                key: [replace(run, invoked=run.invoked - age.total_seconds()) for run in runs]
                for key, runs in self.runs.items()
            }

    def excepted(self, rule_name: str, resource: ResourceKey, moment: float) -> bool:
        """Return whether a resource is under a remediation exception that has not expired at a moment."""
        found = self.exceptions.get((rule_name, resource))
        return found is not None and found.get("ExpirationTime", moment + 1) > moment


def remediations_of(account_id: str, region: str) -> Remediations:
    """Return what is stored for one account and Region. A reset of moto's backend removes it."""
    return memory_of(config_backends[account_id][region], Remediations)
