"""What the rule does and AWS charges for, counted in a sandbox: evaluations, items, invocations, events, and logs."""

import io
import math
import os
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from aws_lambda_powertools.utilities.typing import LambdaContext

from config_rule_sandbox.cloudwatch.printed import earlier, extracted
from config_rule_sandbox.config.deployment import RuleDefinition
from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.public_sides import BehindNatGateway
from config_rule_sandbox.server import Sandbox
from express_path.domain.verdict.fanout import ResourceType
from express_path.handlers import evaluate

VPCS, PRIVATE_SUBNETS = 4, 4
"""The size of the network that is counted: VPCs, and subnets of each VPC that one route table governs."""
EVENT_BYTES = 64 * 1024
"""EventBridge charges for each 64 KB of an event (https://aws.amazon.com/eventbridge/pricing/)."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What one occasion causes. log_bytes and event_bytes are bytes; the rest are numbers of requests or records."""

    subnets: int
    items: int
    invocations: int
    evaluations: int
    metric_requests: int
    events: int
    event_bytes: int
    log_bytes: int


@dataclass(frozen=True, slots=True)
class Occasions:
    """The occasions on which the function runs, and the names of the metrics that a sweep emits.

    idle_sweep and idle_gauges are those of the same network when every subnet is COMPLIANT. When the rule is created
    or updated, AWS Config sends the last item of every resource in scope.
    """

    created: Counts
    updated: Counts
    sweep: Counts
    verdict_change: Counts
    other_change: Counts
    gauges: tuple[str, ...]
    idle_sweep: Counts
    idle_gauges: tuple[str, ...]


def counted_in_new_sandbox() -> Occasions:
    """Count in a sandbox of its own. Only one sandbox runs in a process."""
    with Sandbox() as sandbox, patch.dict(os.environ, sandbox.environment()):
        return counted(sandbox)


def counted(sandbox: Sandbox) -> Occasions:
    """Run the rule on a small network in an empty sandbox, to which the environment leads, and count each occasion."""
    counter = _Counter(sandbox)
    created = counter.during(counter.evaluate_again)
    updated = counter.during(counter.evaluate_again)
    counter.during(counter.loop.scheduled)
    counter.store_gauges()
    sweep = counter.during(counter.loop.scheduled)
    gauges = tuple(sorted(counter.gauges))
    counter.settle()
    endpoint = counter.during(lambda: counter.deliver(counter.associate_endpoint))
    other = counter.during(lambda: counter.deliver(counter.rename_table))
    counter.associate_all_endpoints()
    for _ in range(2):  # the first one emits zeros once
        counter.during(counter.loop.scheduled)
        counter.store_gauges()
    idle = counter.during(counter.loop.scheduled)
    return Occasions(created, updated, sweep, endpoint, other, gauges, idle, tuple(sorted(counter.gauges)))


class _Counter:
    """The rule in a sandbox, with what it printed."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Build the network and deploy the rule."""
        self._sandbox = sandbox
        account = Account(sandbox)
        self._account = account
        self._vpcs = [BehindNatGateway(account) for _ in range(VPCS)]
        for vpc in self._vpcs:
            for _ in range(PRIVATE_SUBNETS - 1):
                account.subnet(vpc.vpc, vpc.table)
        self._services = evaluate.compose_services(os.environ)
        self._printed = io.StringIO()
        self._days = iter(range(10, 0, -1))
        self._invocations = self._items = 0
        rule = RuleDefinition(resource_types=tuple(kind.value for kind in ResourceType))
        self.loop = ConfigLoop(sandbox, self._invoke, rule=rule)
        self.loop.baseline()

    def during(self, occasion: Callable[[], object]) -> Counts:
        """Return what an occasion causes."""
        self._sandbox.calls.clear()
        self._invocations = self._items = 0
        self._printed.seek(0)
        self._printed.truncate()
        occasion()
        if self.loop.on_failure:
            raise RuntimeError(f"the function failed: {self.loop.on_failure[0]}")
        calls = self._sandbox.calls
        entries = [entry for call in calls.of("events", "PutEvents") for entry in call.parameters["Entries"]]
        posted = [len(call.parameters["Evaluations"]) for call in calls.of("config", "PutEvaluations")]
        read = [len(call.parameters["MetricDataQueries"]) for call in calls.of("cloudwatch", "GetMetricData")]
        sizes = [len(entry["Detail"].encode()) for entry in entries]
        return Counts(
            subnets=VPCS * (PRIVATE_SUBNETS + 1),
            items=self._items,
            invocations=self._invocations,
            evaluations=sum(posted),
            metric_requests=sum(read),
            events=sum(math.ceil(size / EVENT_BYTES) for size in sizes),
            event_bytes=sum(sizes),
            log_bytes=len(self._printed.getvalue().encode()),
        )

    @property
    def gauges(self) -> set[str]:
        """The names of the metrics that were printed during the last occasion."""
        return {point.name for point in extracted(self._printed.getvalue().splitlines())}

    def store_gauges(self) -> None:
        """Store what was printed during the last occasion as if it had been on one of the days before."""
        points = extracted(self._printed.getvalue().splitlines())
        self._sandbox.metrics.add(earlier(points, timedelta(days=next(self._days))))

    def evaluate_again(self) -> None:
        """Deliver the last item of every resource once more, instead of the changes that have not been delivered."""
        self.loop.take()
        self.loop.evaluate_again()
        self.loop.deliver()

    def settle(self) -> None:
        """Forget the changes that have not been delivered."""
        self.loop.notice()
        self.loop.deliver()

    def deliver(self, change: Callable[[], object]) -> None:
        """Make a change, let AWS Config record it, and deliver the items."""
        change()
        self._items = len(self.loop.notice())
        self.loop.deliver()

    def associate_endpoint(self) -> None:
        """Create an endpoint for the route table of private subnets, as a heal does."""
        self._account.endpoint(self._vpcs[0].vpc, self._vpcs[0].table)

    def associate_all_endpoints(self) -> None:
        """Create the endpoints of the other VPCs, so that every subnet is COMPLIANT."""
        for vpc in self._vpcs[1:]:
            self._account.endpoint(vpc.vpc, vpc.table)
        self.settle()

    def rename_table(self) -> None:
        """Change a tag of a route table, which changes no path."""
        tags = [{"Key": "Name", "Value": "private"}]
        self._account.ec2.create_tags(Resources=[self._vpcs[1].table], Tags=tags)

    def _invoke(self, event: dict[str, Any]) -> Any:  # noqa: ANN401  # a function may return anything
        self._invocations += 1
        context = LambdaContext()
        for name in ("function_name", "function_version", "invoked_function_arn", "aws_request_id"):
            setattr(context, f"_{name}", name)
        context._memory_limit_in_mb = 1024  # noqa: SLF001  # Lambda makes contexts, nobody else can
        handler: Any = evaluate.logger.registered_handler
        handler.stream, before = self._printed, handler.stream
        try:
            with redirect_stdout(self._printed):
                return evaluate.handler(event, context, self._services)
        finally:
            handler.stream = before


def scaled(counts: Counts, subnets: int) -> Counts:
    """Return the counts of a sweep for another number of subnets. Invocations and metrics do not grow with it."""
    factor = subnets / counts.subnets
    size = round(counts.event_bytes * factor)
    return replace(
        counts,
        subnets=subnets,
        evaluations=round(counts.evaluations * factor),
        event_bytes=size,
        events=max(counts.events, math.ceil(size / EVENT_BYTES)) if counts.events else 0,
    )
