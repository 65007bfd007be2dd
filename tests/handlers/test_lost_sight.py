"""A permission disappears: what becomes unknown by that keeps its result, and the invocation fails visibly."""

import pytest

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import Hub, Spoke
from config_rule_sandbox.networks.public_sides import BehindFirewall, BehindNatGateway, BehindNatInstance
from config_rule_sandbox.server import Sandbox
from express_path.errors import SightLostError
from tests.support.rule import Rule

pytestmark = pytest.mark.slow

NETWORK = "111122223333"
ROLE = f"arn:aws:iam::{NETWORK}:role/express-path-network"
WITH_ROLE = {"networkRoleArn": ROLE}


@pytest.fixture
def account(sandbox: Sandbox) -> Account:
    """The rule's own account."""
    return Account(sandbox)


@pytest.fixture
def spoke(sandbox: Sandbox, account: Account) -> Spoke:
    """A subnet whose traffic crosses a NAT in the network account."""
    hub = Hub(Account(sandbox, NETWORK, first=100))
    hub.share(account)
    return hub.join(account)


def sweep(rule: Rule) -> SightLostError | None:
    """Run a sweep; return the error that it ends with."""
    error = rule.loop.scheduled().error
    assert error is None or isinstance(error, SightLostError)
    return error


def held(rule: Rule) -> dict[str, str]:
    """Return the reason of each result that AWS Config has."""
    return {subnet_id: result.annotation.partition(":")[0] for subnet_id, result in rule.held().items()}


@pytest.mark.parametrize(
    ("service", "operation"),
    [
        ("sts", "AssumeRole"),
        ("ec2", "SearchTransitGatewayRoutes"),
        ("ec2", "DescribeSubnets"),
    ],
)
def test_the_network_role_is_removed(
    sandbox: Sandbox, account: Account, spoke: Spoke, service: str, operation: str
) -> None:
    """The NAT behind the transit gateway stays NON_COMPLIANT, other subnets are reported, and the error names the role."""
    rule = Rule(sandbox, WITH_ROLE)
    assert sweep(rule) is None
    assert held(rule)[spoke.subnet] == "NAT_BEYOND_TRANSIT_GATEWAY"
    new = BehindNatGateway(account)
    where = {"account_id": NETWORK} if service == "ec2" else {}
    sandbox.faults.deny(service, operation, **where)
    error = sweep(rule)
    assert error is not None
    assert (error.subnet_ids, error.role_arn, error.operations) == ((spoke.subnet,), ROLE, (f"{service}:{operation}",))
    assert f"{ROLE} (networkRoleArn)" in str(error)
    assert (held(rule)[spoke.subnet], held(rule)[new.subnet]) == ("NAT_BEYOND_TRANSIT_GATEWAY", "NAT_GATEWAY")
    sandbox.faults.clear()
    assert sweep(rule) is None
    assert held(rule)[spoke.subnet] == "NAT_BEYOND_TRANSIT_GATEWAY"


def test_a_change_while_the_network_role_is_gone(sandbox: Sandbox, spoke: Spoke) -> None:
    """An event fails too, and what it could not see is not reported, whether or not there is an earlier result."""
    rule = Rule(sandbox, WITH_ROLE)
    sandbox.faults.deny("sts", "AssumeRole")
    error = sweep(rule)
    assert error is not None
    assert spoke.subnet in error.subnet_ids
    assert spoke.subnet not in rule.held()


def test_a_nat_that_is_certain_without_the_role_is_reported(sandbox: Sandbox, account: Account, spoke: Spoke) -> None:
    """Part of the spoke's traffic crosses a NAT gateway of its own VPC, which needs no role."""
    lists = account.ec2.describe_prefix_lists()["PrefixLists"]
    [cidrs] = [found["Cidrs"] for found in lists if found["PrefixListName"].endswith(".s3express")]
    account.route(spoke.table, cidrs[0], NatGatewayId=account.nat_gateway(spoke.subnet))
    rule = Rule(sandbox, WITH_ROLE)
    sandbox.faults.deny("sts", "AssumeRole")
    assert sweep(rule) is None
    assert held(rule)[spoke.subnet] == "NAT_GATEWAY"


def test_without_a_role_the_path_is_reported_as_unknown(sandbox: Sandbox, spoke: Spoke) -> None:
    """An account that never had the role gets UNRESOLVED_EGRESS and no error, as before."""
    rule = Rule(sandbox, {"unresolvedEgress": "NON_COMPLIANT"})
    assert sweep(rule) is None
    assert held(rule)[spoke.subnet] == "UNRESOLVED_EGRESS"


@pytest.mark.parametrize(
    ("build", "service", "operation", "reason"),
    [
        (BehindNatInstance, "ec2", "DescribeNetworkInterfaces", "NAT_INSTANCE"),
        (BehindFirewall, "network-firewall", "ListFirewalls", "ENDPOINT"),
    ],
)
def test_an_optional_permission_disappears(
    sandbox: Sandbox, account: Account, build: type, service: str, operation: str, reason: str
) -> None:
    """A result with another reason stays, and the sweep fails; without a result, UNRESOLVED_EGRESS is reported."""
    place = build(account)
    if reason == "ENDPOINT":
        account.endpoint(place.vpc, place.appliance_table)
    rule = Rule(sandbox, {"unresolvedEgress": "NON_COMPLIANT"})
    assert sweep(rule) is None
    assert held(rule)[place.subnet] == reason
    sandbox.faults.deny(service, operation)
    error = sweep(rule)
    assert error is not None
    assert (error.subnet_ids, error.role_arn) == ((place.subnet,), "")
    assert held(rule)[place.subnet] == reason
    rule.loop.results.forget_rule(rule.loop.rule.name)
    assert sweep(rule) is None
    assert held(rule)[place.subnet] == "UNRESOLVED_EGRESS"
    assert sweep(rule) is None


def test_a_path_that_is_unknown_for_another_cause_is_reported(sandbox: Sandbox, account: Account) -> None:
    """A denied read that the path does not need keeps nothing."""
    place = BehindNatInstance(account)
    gateway = BehindNatGateway(account)
    rule = Rule(sandbox, {"unresolvedEgress": "NON_COMPLIANT"})
    assert sweep(rule) is None
    sandbox.faults.deny("ec2", "DescribeInstances")
    vpn = account.ec2.create_vpn_gateway(Type="ipsec.1")["VpnGateway"]["VpnGatewayId"]
    account.ec2.attach_vpn_gateway(VpcId=gateway.vpc, VpnGatewayId=vpn)
    account.replace(gateway.table, GatewayId=vpn)
    assert sweep(rule) is None
    assert (held(rule)[gateway.subnet], held(rule)[place.subnet]) == ("UNRESOLVED_EGRESS", "NAT_INSTANCE")
