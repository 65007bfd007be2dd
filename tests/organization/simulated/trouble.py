"""What goes wrong in the simulation: random faults of AWS's services, functions that stop, and delays."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from config_rule_sandbox.server import Sandbox
from tests.organization.simulated.timeline import Timeline

READS = ("DescribeSubnets", "DescribeRouteTables", "DescribeVpcs", "DescribeVpcEndpoints")
OUTAGES = (("events", "PutEvents"), ("ec2", "DescribeRouteTables"), ("securityhub", "GetFindings"))
OUTAGE_BEGINS, OUTAGE_LASTS, OUTAGE_RETURNS = 5, 12, 60
"""Attempts to run a function: before which an outage begins, how long it lasts, and when it returns."""
LATE_MESSAGES, LATE = 0.02, 20
"""The probability that a message is late, and how many times as late as the others."""
REPEATED_MESSAGES = 0.1
"""The probability that a message arrives twice."""
Span = tuple[float, float]


class StoppedError(Exception):
    """A function was stopped, as Lambda stops it at its timeout."""


@dataclass
class Outage:
    """An operation that one account and Region is denied again and again, for a number of attempts to run a function.

    It lasts for more than the three attempts of an asynchronous invocation.
    """

    service: str
    operation: str
    attempts: int

    def is_on(self) -> bool:
        """Count an attempt, and return whether the operation is denied in it."""
        self.attempts += 1
        return self.attempts >= 0 and self.attempts % OUTAGE_RETURNS < OUTAGE_LASTS


@dataclass
class Trouble:
    """Faults from `begin` on, for some seconds of simulated time. Each concerns one invocation of a function."""

    sandbox: Sandbox
    timeline: Timeline
    random: Random
    _since: float = 0.0
    _until: float = 0.0
    _happened: set[str] = field(default_factory=set)

    def begin(self, seconds: float) -> None:
        """Let faults occur from now on, for some seconds."""
        self._since, self._until = self.timeline.now, self.timeline.now + seconds

    @property
    def is_on(self) -> bool:
        """Whether faults occur now."""
        return self.timeline.now < self._until

    def is_within(self, span: Span) -> bool:
        """Return whether faults occur now, and began some seconds ago: between the first and the second number."""
        return self.is_on and span[0] <= self.timeline.now - self._since < span[1]

    def often(self, fault: str, probability: float) -> bool:
        """Return whether a fault happens this time. It always happens the first time, so that no run is without it."""
        is_first = self.is_on and fault not in self._happened
        if is_first:
            self._happened.add(fault)
        return is_first or (self.is_on and self.random.random() < probability)

    def outage(self, number: int) -> Outage:
        """Return what the account and Region with this number is denied, and let it begin soon."""
        return Outage(*OUTAGES[number % len(OUTAGES)], -self.random.randint(1, OUTAGE_BEGINS))

    def delay(self, mean: float) -> float:
        """Return the seconds until a message arrives; a few take much longer than the others."""
        return self.random.expovariate(1 / mean) * (LATE if self.random.random() < LATE_MESSAGES else 1)

    def copies(self) -> int:
        """Return how often a message arrives."""
        return 2 if self.random.random() < REPEATED_MESSAGES else 1

    @contextmanager
    def around(self, function: str, outage: Outage) -> Iterator[None]:
        """Let things go wrong for one invocation of the function that is named."""
        try:
            if self.is_on and outage.is_on():
                self.sandbox.faults.deny(outage.service, outage.operation)
            {"rule": self._rule, "security hub": self._security_hub}[function]()
            yield
        finally:
            self.sandbox.faults.clear()
            self.sandbox.eventbridge.succeed()

    def _rule(self) -> None:
        faults = self.sandbox.faults
        if self.often("read throttled", 0.04):
            faults.throttle("ec2", self.random.choice(READS), times=1)
        if self.often("report throttled", 0.02):
            faults.throttle("config", "PutEvaluations", times=1)
        if self.often("stored results throttled", 0.02):
            faults.throttle("config", "GetComplianceDetailsByResource", times=1)
        if self.often("entries failed", 0.06):
            self.sandbox.eventbridge.fail_entries("ThrottlingException", times=self.random.randint(1, 8))
        if self.often("events throttled", 0.02):
            faults.throttle("events", "PutEvents", times=1)
        if self.often("stopped before publishing", 0.01):
            faults.before("events", "PutEvents", _stop)

    def _security_hub(self) -> None:
        faults = self.sandbox.faults
        for operation in ("GetFindings", "BatchImportFindings"):
            if self.often(f"{operation} throttled", 0.04):
                faults.throttle("securityhub", operation, times=1)
        if self.often("stored results of findings throttled", 0.03):
            faults.throttle("config", "GetComplianceDetailsByResource", times=1)


def _stop() -> None:
    raise StoppedError("the function was stopped before it could publish")
