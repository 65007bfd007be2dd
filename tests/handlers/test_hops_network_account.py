"""Reads of a transit gateway, or of the VPC behind it, in another account."""

from dataclasses import dataclass

import pytest

from express_path.errors import ApiError
from sandbox.networks import ANYWHERE_IPV6, Account, BehindNatGateway, Hub, PublicSide, attach
from sandbox.server import Sandbox
from tests.handlers.test_hops_live import NETWORK, ROLE, evaluation, swept
from tests.support.rule import Rule

NEEDED_AT_HOME = [
    "DescribeVpcs",
    "DescribeSubnets",
    "DescribeRouteTables",
    "DescribeVpcEndpoints",
    "DescribeNatGateways",
    "DescribePrefixLists",
]


@dataclass
class Place:
    """A subnet and the route table that governs it."""

    vpc: str
    table: str
    subnet: str


@pytest.fixture
def account(sandbox: Sandbox) -> Account:
    """The rule's own account."""
    return Account(sandbox)


@pytest.fixture
def network(sandbox: Sandbox) -> Account:
    """The network account."""
    return Account(sandbox, NETWORK, first=100)


def test_throttling_in_the_network_account_is_raised(
    sandbox: Sandbox, account: Account, network: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A throttled read is not treated as unreadable: the function reports nothing, and the old verdict stays."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    hub = Hub(network)
    hub.share(account)
    spoke = hub.join(account)
    sandbox.faults.before("sts", "AssumeRole", lambda: sandbox.faults.throttle("ec2", "DescribeSubnets"))
    with pytest.raises(ApiError, match="RequestLimitExceeded"):
        evaluation(Rule(sandbox, {"networkRoleArn": ROLE}), spoke)
    assert sandbox.calls.of("config", "PutEvaluations") == []


@pytest.mark.parametrize("ask", [swept, evaluation])
def test_own_egress_vpc_behind_a_foreign_transit_gateway(
    sandbox: Sandbox, account: Account, network: Account, ask: object
) -> None:
    """If a shared transit gateway leads to an egress VPC of the rule's account, an event and a sweep agree."""
    hub = Hub(network)
    hub.share(account)
    egress = BehindNatGateway(account)
    attachment = attach(account, hub.gateway, egress.vpc, egress.subnet)
    network.ec2.accept_transit_gateway_vpc_attachment(TransitGatewayAttachmentId=attachment)
    for half in ("0.0.0.0/1", "128.0.0.0/1"):
        hub.lead(half, attachment)
    spoke = hub.join(account)
    found = ask(Rule(sandbox, {"networkRoleArn": ROLE}), spoke)  # type: ignore[operator]
    assert found["reason"] == "NAT_BEYOND_TRANSIT_GATEWAY"


def test_table_that_only_its_owner_sees(sandbox: Sandbox, account: Account) -> None:
    """AWS tells other accounts that a transit gateway's table does not exist: it is unreadable, which is not a failure.

    https://github.com/hashicorp/terraform-provider-aws/issues/11029
    """
    spoke = Hub(account).join(account)
    sandbox.faults.fail("ec2", "SearchTransitGatewayRoutes", "InvalidRouteTableID.NotFound", 400)
    assert evaluation(Rule(sandbox), spoke)["reason"] == "UNRESOLVED_EGRESS"


def test_warm_runtime_reads_the_ipv6_list_after_a_customers(sandbox: Sandbox, account: Account) -> None:
    """A customer-managed prefix list in the first VPC of a warm runtime does not prevent reading the IPv6 list."""
    first = BehindNatGateway(account)
    made = account.ec2.create_managed_prefix_list(
        PrefixListName="customer", MaxEntries=5, AddressFamily="IPv4", Entries=[{"Cidr": "192.0.2.0/24"}]
    )
    account.route(first.table, made["PrefixList"]["PrefixListId"], NatGatewayId=first.nat)
    second = PublicSide(account, ipv6=True)
    account.route(second.public_table, ANYWHERE_IPV6, GatewayId=second.internet_gateway)
    place = Place(second.vpc, second.public_table, account.subnet(second.vpc, second.public_table, ipv6=True))
    rule = Rule(sandbox)
    assert evaluation(rule, first)["reason"] == "NAT_GATEWAY"
    assert evaluation(rule, place)["reason"] == "INTERNET_GATEWAY"
