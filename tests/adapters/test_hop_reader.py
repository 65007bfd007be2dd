"""Reading interfaces, instances, and transit gateways: few calls, all pages, and the effect of a denial."""

from collections.abc import Iterable
from ipaddress import IPv4Network
from itertools import islice

import pytest
from moto.ec2.models import ec2_backends

from express_path.adapters.aws import Aws, OptionalReads
from express_path.adapters.network_reader import (
    read_instances,
    read_network_interfaces,
    read_transit_gateway_routes,
    read_transit_gateways,
)
from express_path.adapters.records import route_table
from express_path.domain.network.resources import RouteTable, TargetKind, target_ids
from express_path.errors import ApiError
from sandbox.ec2.transit_gateways import Target, static_routes
from sandbox.networks import Account, BehindNatGateway, BehindNatInstance, Hub
from sandbox.server import Sandbox


@pytest.fixture
def account(sandbox: Sandbox) -> Account:
    """The account that reads."""
    return Account(sandbox)


def tables(aws: Aws, table_ids: Iterable[str]) -> list[RouteTable]:
    """Read some route tables."""
    found = aws.ec2.describe_route_tables(RouteTableIds=list(table_ids))["RouteTables"]
    return [route_table(description) for description in found]


def operations(sandbox: Sandbox) -> list[str]:
    """Return the names of the called operations, in order."""
    return [call.operation for call in sandbox.calls]


def test_targets_are_named_once(aws: Aws, account: Account) -> None:
    """Targets of one kind are sorted and unique, however many routes lead to them."""
    vpc = BehindNatGateway(account)
    account.route(vpc.table, "192.0.2.0/24", NatGatewayId=vpc.nat)
    both = tables(aws, [vpc.table, vpc.public_table])
    assert target_ids(both, TargetKind.NAT_GATEWAY) == [vpc.nat]
    assert target_ids(both, TargetKind.INTERNET_GATEWAY) == [vpc.internet_gateway]
    assert target_ids(both, TargetKind.TRANSIT_GATEWAY) == []


def test_blackholes_lead_nowhere(aws: Aws, account: Account) -> None:
    """The target of a blackhole is not read."""
    vpc = BehindNatInstance(account)
    before = tables(aws, [vpc.table])
    assert len(read_network_interfaces(aws, before)) == 1
    vpc.terminate()
    after = tables(aws, [vpc.table])
    account.sandbox.calls.clear()
    assert read_network_interfaces(aws, after) == {}
    assert operations(account.sandbox) == []


def test_interface_tells_its_check_and_instance(aws: Aws, account: Account) -> None:
    """An interface has its own source/destination check, its subnet, and the instance that it is attached to."""
    vpc = BehindNatInstance(account, check=True)
    [found] = read_network_interfaces(aws, tables(aws, [vpc.table])).values()
    assert (found.id, found.subnet_id, found.instance_id) == (vpc.interface, vpc.public, vpc.instance)
    assert found.source_dest_check is True


def test_interfaces_are_read_in_hundreds(aws: Aws, account: Account) -> None:
    """A filter accepts 200 values: 201 interfaces are read in two calls."""
    vpc = account.vpc()
    subnet, table_id = account.subnet(vpc), account.table(vpc)
    backend = ec2_backends[account.account_id][account.sandbox.region]
    for block in islice(IPv4Network("198.18.0.0/15").subnets(new_prefix=32), 201):
        interface = backend.create_network_interface(backend.get_subnet(subnet), [])
        backend.create_route(table_id, str(block), interface_id=interface.id)
    [table] = tables(aws, [table_id])
    account.sandbox.calls.clear()
    assert len(read_network_interfaces(aws, [table])) == 201
    assert operations(account.sandbox) == ["DescribeNetworkInterfaces"] * 2


def test_instances_are_read_where_an_interface_forwards(aws: Aws, account: Account) -> None:
    """The capacity is read only for instances that forward."""
    vpcs = [BehindNatInstance(account, kind, check=kind == "t4g.nano") for kind in ("c7gn.medium", "t4g.nano")]
    interfaces = read_network_interfaces(aws, tables(aws, [vpc.table for vpc in vpcs]))
    [found] = read_instances(aws, interfaces.values()).values()
    assert (found.id, found.instance_type) == (vpcs[0].instance, "c7gn.medium")
    assert (found.baseline_gbps, found.peak_gbps) == (3.125, 25.0)
    account.sandbox.calls.clear()
    assert read_instances(aws, [interface for interface in interfaces.values() if interface.source_dest_check]) == {}
    assert operations(account.sandbox) == []


def test_bandwidth_of_several_cards_adds_up(aws: Aws, account: Account) -> None:
    """The capacity of an instance type is the sum of its network cards."""
    vpc = BehindNatInstance(account, "p4d.24xlarge")
    interfaces = read_network_interfaces(aws, tables(aws, [vpc.table]))
    [found] = read_instances(aws, interfaces.values()).values()
    [described] = account.ec2.describe_instance_types(InstanceTypes=["p4d.24xlarge"])["InstanceTypes"]
    cards = described["NetworkInfo"]["NetworkCards"]
    assert len(cards) > 1
    assert found.peak_gbps == sum(card["PeakBandwidthInGbps"] for card in cards)


def test_transit_gateways_of_their_owner(aws: Aws, account: Account) -> None:
    """The owner reads attachments with their tables, subnets and appliance mode, and each table's routes."""
    hub = Hub(account, appliance_mode=True)
    spoke = hub.join(account, "a", "b")
    optional = OptionalReads()
    found = read_transit_gateways(aws, optional)
    assert found.attachments
    assert found.route_tables
    ours, theirs = found.attachments[hub.attachment], found.attachments[spoke.attachment]
    assert (ours.route_table_id, ours.appliance_mode, ours.resource_id) == (hub.own_table, True, hub.vpc)
    assert (theirs.route_table_id, theirs.appliance_mode) == (hub.spokes_table, False)
    assert theirs.subnet_ids == tuple(spoke.subnets)
    assert [route.target_id for route in found.route_tables[hub.spokes_table].routes] == [hub.attachment]
    assert [route.target_id for route in found.route_tables[hub.own_table].routes] == [spoke.attachment]
    assert optional.denied == []


def test_transit_gateways_of_a_spoke(sandbox: Sandbox, aws: Aws, account: Account) -> None:
    """A spoke reads its own attachment, whose table it cannot see, and does not request any table's routes."""
    hub = Hub(Account(sandbox, "111122223333", first=100))
    hub.share(account)
    spoke = hub.join(account)
    sandbox.calls.clear()
    found = read_transit_gateways(aws, OptionalReads())
    assert found.attachments
    assert found.attachments.keys() == {spoke.attachment}
    assert found.attachments[spoke.attachment].route_table_id is None
    assert found.route_tables is None
    assert "SearchTransitGatewayRoutes" not in operations(sandbox)


def test_denied_reads_are_named(aws: Aws, account: Account) -> None:
    """Resources that may not be read are None, not empty, and the read is named."""
    Hub(account).join(account)
    account.sandbox.faults.deny("ec2", "DescribeTransitGatewayAttachments", times=1)
    optional = OptionalReads()
    found = read_transit_gateways(aws, optional)
    assert {attachment.route_table_id for attachment in (found.attachments or {}).values()} == {None}
    assert found.route_tables is None
    assert optional.denied == ["ec2:DescribeTransitGatewayAttachments"]


def test_unreadable_subnets_of_attachments(aws: Aws, account: Account) -> None:
    """Without ec2:DescribeTransitGatewayVpcAttachments, attachments are known except for their subnets."""
    hub = Hub(account)
    account.sandbox.faults.deny("ec2", "DescribeTransitGatewayVpcAttachments")
    optional = OptionalReads()
    found = read_transit_gateways(aws, optional)
    assert found.attachments
    assert found.attachments[hub.attachment].subnet_ids is None
    assert optional.denied == ["ec2:DescribeTransitGatewayVpcAttachments"]


def test_failures_other_than_denials_raise(aws: Aws, account: Account) -> None:
    """If an optional read fails for another reason than a missing permission, it raises."""
    account.sandbox.faults.fail("ec2", "DescribeTransitGatewayAttachments", "InvalidParameterValue", 400)
    with pytest.raises(ApiError, match="InvalidParameterValue"):
        read_transit_gateways(aws, OptionalReads())


def test_all_pages_of_a_search(aws: Aws, account: Account) -> None:
    """A table of more than 1,000 routes is read completely."""
    hub = Hub(account)
    fill(hub, 2500)
    account.sandbox.calls.clear()
    found = read_transit_gateway_routes(aws, hub.spokes_table)
    assert (len(found["Routes"]), found["AdditionalRoutesAvailable"]) == (2501, False)
    assert operations(account.sandbox) == ["SearchTransitGatewayRoutes"] * 3


def test_search_that_cannot_go_on(aws: Aws, account: Account) -> None:
    """If a search omits routes and returns no token, the table counts as truncated."""
    hub = Hub(account)
    hub.join(account)
    fill(hub, 1000, gives_tokens=False)
    assert read_transit_gateway_routes(aws, hub.spokes_table)["AdditionalRoutesAvailable"] is True
    found = read_transit_gateways(aws, OptionalReads()).route_tables
    assert found
    assert found[hub.spokes_table].truncated is True


def fill(hub: Hub, number: int, *, gives_tokens: bool = True) -> None:
    """Add blackholes to the spokes' table directly in the sandbox's memory."""
    backend = ec2_backends[hub.account.account_id][hub.account.sandbox.region]
    table = backend.transit_gateways_route_tables[hub.spokes_table]
    table.gives_tokens = gives_tokens  # type: ignore[attr-defined]
    for block in islice(IPv4Network("198.18.0.0/15").subnets(new_prefix=32), number):
        static_routes(table)[block] = Target(None, blackhole=True)
