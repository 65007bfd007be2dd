"""Accounts and Regions that run the rule for some days in a sandbox, and what their functions print."""

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

from moto.cloudwatch.models import cloudwatch_backends

from express_path import healing
from express_path.adapters.heal_steps import CONTRACT
from express_path.handlers import evaluate, plan_heal
from sandbox.cloudwatch import Datapoint, extracted, put
from sandbox.networks import Account, BehindNatGateway
from sandbox.server import Sandbox
from tests.support.ledgers import LEDGER, LedgerTable
from tests.support.rule import Context, Rule


@dataclass(frozen=True, slots=True)
class Printed:
    """What the functions of one account and Region printed or AWS measured there, as the monitoring account gets it."""

    account: str
    region: str
    datapoints: list[Datapoint] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)


class Place:
    """The rule in one account and Region, one day after the other. Heals are planned, made, and verified by hand."""

    def __init__(self, sandbox: Sandbox, account: str, vpcs: int, owned: int = 0) -> None:
        """Build VPCs whose private subnets use a NAT gateway, and deploy the rule.

        The first of them have an endpoint that Terraform owns, so heals of these VPCs are blocked.
        """
        self._sandbox = sandbox
        self._account = Account(sandbox)
        self.vpcs = [BehindNatGateway(self._account) for _ in range(vpcs)]
        for vpc in self.vpcs[:owned]:
            self._tag_owned(self._account.endpoint(vpc.vpc))
        self._rule = Rule(sandbox)
        self._rule.loop.baseline()
        LedgerTable(sandbox)
        self._settings = {"LEDGER_TABLE_NAME": LEDGER, "OWNER_TAGS": "managed-by=terraform"}
        self._to_heal = list(self.vpcs)
        self._healed: list[BehindNatGateway] = []
        self._last: list[Datapoint] = []
        self.printed = Printed(account, sandbox.region)

    def day(self, day: datetime, heals: int = 0, *, fails: bool = False, silent: bool = False) -> None:
        """Plan the next heals, make those that are not blocked, and run the sweep, on this day."""
        self._age(day)
        with self._capturing(day):
            for vpc in self._to_heal[:heals]:
                self._heal(vpc)
            del self._to_heal[:heals]
            if fails:
                self._sandbox.faults.deny("ec2", "DescribeRouteTables")
                failed = self._rule.loop.scheduled()
                self._sandbox.faults.clear()
                self._measure("AWS/Lambda", "FunctionName", "Errors", failed.attempts, day)
                queued = len(self._rule.loop.on_failure)
                self._measure("AWS/SQS", "QueueName", "ApproximateNumberOfMessagesVisible", queued, day)
            elif not silent:
                self._rule.sweep()
        for number, vpc in enumerate(self.vpcs, start=1):
            if vpc in self._healed:
                continue
            self._measure("AWS/NATGateway", "NatGatewayId", "BytesOutToDestination", 2e10 * number, day, vpc.nat)
            self._measure("AWS/NATGateway", "NatGatewayId", "BytesInFromDestination", 5e10 * number, day, vpc.nat)

    def _age(self, day: datetime) -> None:
        """Let CloudWatch have the last sweep as long ago as on this day, because the function sees the real time."""
        cloudwatch_backends[self._sandbox.account_id][self._sandbox.region].metric_data.clear()
        now = datetime.now(UTC)
        put(self._sandbox.client("cloudwatch"), [replace(point, time=now - (day - point.time)) for point in self._last])

    def _heal(self, vpc: BehindNatGateway) -> None:
        run = f"{self.printed.account}-{vpc.vpc}"
        if self._ask("plan", vpc.subnet, run)["action"] != "BLOCKED":
            self._account.endpoint(vpc.vpc, vpc.table)
            self._ask("verify", vpc.subnet, run)
            self._healed.append(vpc)

    def _tag_owned(self, endpoint_id: str) -> None:
        self._account.ec2.create_tags(Resources=[endpoint_id], Tags=[{"Key": "managed-by", "Value": "terraform"}])

    def _ask(self, action: str, subnet_id: str, run: str) -> dict[str, Any]:
        services = plan_heal.compose_services(os.environ | self._settings, self._sandbox.account_id)
        event = {"contract": CONTRACT, "action": action, "subnetId": subnet_id, "runId": run, "dryRun": "true"}
        return plan_heal.handler(event, Context(), services)

    @contextmanager
    def _capturing(self, day: datetime) -> Iterator[None]:
        """Keep what the functions print, as of this day."""
        stream = io.StringIO()
        loggers = [evaluate.logger.registered_handler, plan_heal.logger.registered_handler]
        before = [handler.stream for handler in loggers]
        for handler in loggers:
            handler.stream = stream
        try:
            with redirect_stdout(stream), patch.object(healing, "SECONDS_APART", 0):
                yield
        finally:
            for handler, old in zip(loggers, before, strict=True):
                handler.stream = old
        lines = stream.getvalue().splitlines()
        points = [replace(point, time=day) for point in extracted(lines)]
        self._last = points or self._last
        self.printed.datapoints.extend(points)
        self.printed.log.extend(json.loads(line) for line in lines if '"_aws"' not in line)

    def _measure(
        self, namespace: str, dimension: str, name: str, value: float, day: datetime, resource: str = ""
    ) -> None:
        """Keep what AWS measures of its own resources."""
        named = {"FunctionName": "express-path-EvaluateFunction-1", "QueueName": "express-path-FailedEventsQueue-1"}
        dimensions = ((dimension, resource or named[dimension]),)
        self.printed.datapoints.append(Datapoint(namespace, name, dimensions, "None", value, day))
