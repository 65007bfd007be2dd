"""The template's role has exactly the permissions that the function uses."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from config_rule_sandbox.networks.account import ANYWHERE_IPV6, Account
from config_rule_sandbox.networks.public_sides import BehindFirewall
from config_rule_sandbox.server import Sandbox
from tests.support.iam import actions
from tests.support.network import Builder, Private
from tests.support.rule import Rule
from tests.support.stack import NETWORK_ROLE, Stack
from tests.support.template import expanded

pytestmark = pytest.mark.slow

PARAMETERS = {"scope": "DIRECTORY_BUCKETS", "networkRoleArn": NETWORK_ROLE}
OF_LAMBDA_ITSELF = "logs:"


def policies() -> list[dict[str, Any]]:
    """Return the policies of the function's role in a stack with a network account."""
    found: list[dict[str, Any]] = expanded(NetworkRoleArn=NETWORK_ROLE).properties("EvaluateRole")["Policies"]
    return found


def allowed() -> set[str]:
    """Return the actions of the role, without those that Lambda itself uses with this role."""
    found = {
        action for policy in policies() for part in policy["PolicyDocument"]["Statement"] for action in actions(part)
    }
    return {action for action in found if not action.startswith(OF_LAMBDA_ITSELF)}


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """A VPC with a route to each kind of target that needs additional reads."""
    vpc = Private(builder)
    builder.dual_stack(vpc.vpc, vpc.subnet)
    account = Account(builder.sandbox)
    firewall = BehindFirewall(account)
    table = builder.table(
        vpc.vpc,
        VpcEndpointId=account.endpoint_of_firewall(
            account.firewall_arn(firewall.appliance_subnet), vpc.vpc, vpc.public_subnet
        ),
    )
    builder.subnet(vpc.vpc, table)
    builder.route(vpc.table, builder.prefix_list("192.0.2.1/32"), NatGatewayId=vpc.nat)
    run = builder.ec2.run_instances(ImageId="ami-12345678", MinCount=1, MaxCount=1, SubnetId=vpc.public_subnet)
    interface = run["Instances"][0]["NetworkInterfaces"][0]["NetworkInterfaceId"]
    builder.ec2.modify_network_interface_attribute(NetworkInterfaceId=interface, SourceDestCheck={"Value": False})
    builder.route(vpc.table, "192.0.2.2/32", NetworkInterfaceId=interface)
    gateway = builder.ec2.create_transit_gateway()["TransitGateway"]["TransitGatewayId"]
    builder.ec2.create_transit_gateway_vpc_attachment(TransitGatewayId=gateway, VpcId=vpc.vpc, SubnetIds=[vpc.subnet])
    builder.route(vpc.table, ANYWHERE_IPV6, TransitGatewayId=gateway)
    return vpc


def use_everything(rule: Rule, builder: Builder, vpc: Private) -> dict[str, str]:
    """Invoke the function for a change, an oversized item, and the schedule; return what the schedule reported."""
    rule.take_as_known()
    builder.tag(vpc.table, "Name", "changed")
    assert vpc.subnet in rule.changes(of=vpc.table)
    rule.loop.oversized_above = 0
    builder.tag(vpc.table, "Name", "changed again")
    assert vpc.subnet in rule.changes(of=vpc.table)
    rule.loop.results.forget_rule(rule.loop.rule.name)
    return rule.sweep()


@pytest.fixture
def stack(sandbox: Sandbox) -> Stack:
    """The roles of a stack with a network account, and the role in that account."""
    network_account, role_name = NETWORK_ROLE.split(":")[4], NETWORK_ROLE.rpartition("/")[2]
    iam = sandbox.client("iam", credentials=sandbox.credentials(network_account))
    trust = {"Effect": "Allow", "Principal": {"AWS": sandbox.account_id}, "Action": "sts:AssumeRole"}
    iam.create_role(RoleName=role_name, AssumeRolePolicyDocument=json.dumps({"Statement": [trust]}))
    reads = {"Effect": "Allow", "Action": sorted(action for action in allowed() if action.startswith("ec2:"))}
    document = json.dumps({"Version": "2012-10-17", "Statement": [{**reads, "Resource": "*"}]})
    iam.put_role_policy(RoleName=role_name, PolicyName="read", PolicyDocument=document)
    return Stack(sandbox, NetworkRoleArn=NETWORK_ROLE)


@contextmanager
def by_its_role(rule: Rule, stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give the function its role's credentials, and require a permission for every request."""
    for name, value in stack.credentials("EvaluateRole").items():
        monkeypatch.setenv(name.upper(), value)
    monkeypatch.setenv("EVENT_BUS_NAME", stack.bus_name)
    rule.restart()
    with stack.enforced():
        yield


def refused(stack: Stack) -> set[str]:
    """Return the operations that were denied."""
    codes = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError")
    return {call.operation for call in stack.sandbox.calls if call.error in codes}


def test_role_is_enough_where_permissions_are_enforced(
    stack: Stack, builder: Builder, vpc: Private, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the template's statements, every kind of invocation reports verdicts, and no request is denied."""
    stack.sandbox.ec2.sharing.share_subnet(vpc.subnet, "210987654321")
    rule = Rule(stack.sandbox, PARAMETERS)
    with by_its_role(rule, stack, monkeypatch):
        assert vpc.subnet in use_everything(rule, builder, vpc)
        assert refused(stack) == set()
