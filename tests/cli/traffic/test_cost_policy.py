"""The policy in docs/traffic.md has exactly the calls that cost makes in addition to a scan."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from express_path_cli.traffic import flow_logs
from sandbox.networks import Account, BehindNatGateway
from sandbox.server import Sandbox
from tests.cli.traffic.costs import cost
from tests.cli.traffic.flow_records import GROUP, FlowLogs
from tests.support.command import invoke

DOCUMENT = Path(__file__).parents[3] / "docs" / "traffic.md"


def actions() -> dict[str, set[str]]:
    """Return the documented actions by statement."""
    [policy] = re.findall(r"```json\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    return {statement["Sid"]: set(statement["Action"]) for statement in json.loads(policy)["Statement"]}


def called(sandbox: Sandbox) -> set[str]:
    """Return the actions called since the last time, except those that need no permission."""
    found = {f"{call.service}:{call.operation}" for call in sandbox.calls} - {"sts:GetCallerIdentity"}
    sandbox.calls.clear()
    return found


def test_the_documented_policy_is_what_cost_calls(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost of zonal and regional gateways and of a stopped query calls exactly the documented actions."""
    monkeypatch.setattr(flow_logs, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(flow_logs, "TIMEOUT_SECONDS", 0.0)
    network = BehindNatGateway(Account(sandbox))
    made = network.account.ec2.create_nat_gateway(VpcId=network.vpc, AvailabilityMode="regional")["NatGateway"]
    network.account.subnet(network.vpc, network.account.table(network.vpc, NatGatewayId=made["NatGatewayId"]))
    FlowLogs(network.account).publish(network.public, age=timedelta(days=9))
    sandbox.calls.clear()
    invoke(["scan"])
    scanning = called(sandbox)
    cost()
    bound = called(sandbox) - scanning
    sandbox.logs.endings.append("Running")
    cost("--flow-logs", GROUP)
    assert {"UpperBound": bound, "MeasuredShare": called(sandbox) - scanning - bound} == actions()
