"""Fixtures for the permission tests: a sandbox, networks in it, and the stack's roles."""

from collections.abc import Iterator

import pytest

from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path.healing import rereading
from tests.iam.deployed import Deployed
from tests.support.network import Builder, Private
from tests.support.stack import CALENDAR, EVERYTHING, POLICY, POLICY_PARAMETER, Stack


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """Return a VPC with one private subnet behind a NAT gateway."""
    return Private(builder)


@pytest.fixture
def stack(sandbox: Sandbox) -> Stack:
    """Return the stack with every parameter that adds a permission."""
    return Stack(sandbox, **EVERYTHING)


@pytest.fixture
def deployed(stack: Stack, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    """Yield the deployed stack; the environment is that of its plan function."""
    monkeypatch.setattr(rereading, "SECONDS_APART", 0)
    with Automation(sandbox) as automation:
        automation.knobs.time_scale = 0.001
        automation.knobs.open_calendars.add(CALENDAR)
        sandbox.client("ssm").put_parameter(Name=POLICY_PARAMETER, Value=POLICY, Type="String")
        yield Deployed(stack, automation, monkeypatch.setenv)


@pytest.fixture
def subnet(builder: Builder, vpc: Private) -> str:
    """Return a private subnet whose heal is not blocked."""
    builder.ec2.modify_vpc_attribute(VpcId=vpc.vpc, EnableDnsHostnames={"Value": True})
    return vpc.subnet
