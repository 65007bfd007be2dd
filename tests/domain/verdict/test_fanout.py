"""Which subnets a changed resource affects."""

from dataclasses import replace

import pytest

from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import (
    Association,
    Firewall,
    NatGateway,
    NetworkInterface,
    PrefixList,
    Route,
    TransitGatewayAttachment,
    TransitGatewayRouteTable,
    VpcEndpoint,
)
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.fanout import ChangedResource, ResourceType, concerned_subnets
from tests.support.make import by_id, endpoint, route, snapshot, subnet, table

NETWORK = snapshot(
    subnets=by_id(
        subnet("subnet-explicit"), subnet("subnet-implicit"), subnet("subnet-other", "vpc-2"), subnet("subnet-shared")
    ),
    route_tables=by_id(
        table("rtb-main", route("0.0.0.0/0", "igw-1"), main=True),
        table("rtb-own", route("0.0.0.0/0", "nat-1"), subnets=("subnet-explicit", "subnet-shared")),
    ),
    foreign_subnet_ids=frozenset({"subnet-shared"}),
)
"""vpc-1 with two tables, vpc-2 without visible tables, and a subnet that only another account lists."""

TABLE, SUBNET, ENDPOINT, NAT, OPTIONS, EXCLUSION, LIST, FIREWALL, BUCKET = ResourceType


@pytest.mark.parametrize(
    ("change", "concerned"),
    [
        (ChangedResource(SUBNET, "subnet-gone"), ["subnet-gone"]),
        (ChangedResource(ENDPOINT, "vpce-1", "vpc-1"), ["subnet-explicit", "subnet-implicit"]),
        (ChangedResource(ENDPOINT, "vpce-1"), ["subnet-explicit", "subnet-implicit", "subnet-other"]),
        (ChangedResource(NAT, "nat-1"), ["subnet-explicit"]),
        (ChangedResource(NAT, "nat-2"), []),
        (ChangedResource(TABLE, "rtb-own", "vpc-1"), ["subnet-explicit"]),
        (ChangedResource(TABLE, "rtb-main", "vpc-1"), ["subnet-implicit"]),
        (ChangedResource(TABLE, "rtb-own", "vpc-1", frozenset({"subnet-gone"})), ["subnet-explicit", "subnet-gone"]),
        (
            ChangedResource(TABLE, "rtb-main", "vpc-1", frozenset({"subnet-explicit"})),
            ["subnet-explicit", "subnet-implicit"],
        ),
        (ChangedResource(TABLE, "rtb-new", "vpc-1", main_changed=True), ["subnet-implicit"]),
        (ChangedResource(TABLE, "rtb-new", "vpc-1", None), ["subnet-explicit", "subnet-implicit"]),
        (ChangedResource(TABLE, "rtb-own", "vpc-2", None), ["subnet-explicit", "subnet-other"]),
        (ChangedResource(TABLE, "rtb-gone"), ["subnet-other"]),
        (ChangedResource(TABLE, "rtb-own", "vpc-2"), ["subnet-explicit", "subnet-other"]),
    ],
)
def test_a_change_affects_the_subnets_whose_verdict_it_may_change(
    change: ChangedResource, concerned: list[str]
) -> None:
    """A table those it governs or governed, an endpoint its VPC, a NAT gateway those that cross it, a subnet itself."""
    assert concerned_subnets(change, Tracer(NETWORK)) == concerned


BEHIND = snapshot(
    subnets=by_id(subnet("subnet-behind"), subnet("subnet-appliance"), subnet("subnet-other")),
    route_tables=by_id(
        table("rtb-behind", route("0.0.0.0/0", "eni-1"), subnets=("subnet-behind",)),
        table("rtb-main", route("0.0.0.0/0", "nat-1"), main=True),
        table("rtb-other", route("0.0.0.0/0", "nat-1"), subnets=("subnet-other",)),
    ),
    network_interfaces=by_id(NetworkInterface("eni-1", "subnet-appliance", source_dest_check=False)),
)
"""A subnet behind an appliance whose own subnet fell back to the main table."""


@pytest.mark.parametrize(
    ("change", "concerned"),
    [
        (ChangedResource(NAT, "nat-1"), ["subnet-appliance", "subnet-behind", "subnet-other"]),
        (ChangedResource(SUBNET, "subnet-appliance", "vpc-1"), ["subnet-appliance", "subnet-behind"]),
        (ChangedResource(TABLE, "rtb-main", "vpc-1"), ["subnet-appliance", "subnet-behind"]),
        (
            ChangedResource(TABLE, "rtb-former", "vpc-1", frozenset({"subnet-appliance"})),
            ["subnet-appliance", "subnet-behind"],
        ),
    ],
)
def test_a_change_further_along_a_path_affects_the_subnets_behind_it(
    change: ChangedResource, concerned: list[str]
) -> None:
    """The table that governs an appliance's subnet, now or before, decides for the subnets that route to it."""
    assert concerned_subnets(change, Tracer(BEHIND)) == concerned


FAR = snapshot(
    subnets=by_id(
        *(subnet(f"subnet-{name}") for name in ("nat", "behind-nat", "firewall", "behind-firewall", "list")),
        subnet("subnet-spoke", "vpc-2"),
        subnet("subnet-elsewhere", "vpc-3"),
    ),
    route_tables=by_id(
        table("rtb-main", main=True),
        table("rtb-nat", route("0.0.0.0/0", "igw-1"), subnets=("subnet-nat",)),
        table("rtb-behind-nat", route("0.0.0.0/0", "nat-1"), subnets=("subnet-behind-nat",)),
        table("rtb-firewall", route("0.0.0.0/0", "nat-1"), subnets=("subnet-firewall",)),
        table("rtb-behind-firewall", route("0.0.0.0/0", "vpce-fw"), subnets=("subnet-behind-firewall",)),
        table("rtb-list", route("pl-own", "nat-1"), subnets=("subnet-list",)),
        table("rtb-spoke", route("0.0.0.0/0", "tgw-1"), vpc_id="vpc-2", main=True),
        table("rtb-elsewhere", route("10.0.0.0/8", "vpce-fw"), vpc_id="vpc-3", main=True),
    ),
    nat_gateways=by_id(NatGateway("nat-1", "vpc-1", "subnet-nat")),
    vpc_endpoints=by_id(
        VpcEndpoint("vpce-fw", "vpc-1", "gatewayloadbalancer", "", "available", subnet_ids=("subnet-firewall",))
    ),
    firewalls={"arn-fw": Firewall("arn-fw", ("vpce-fw",)), "arn-other": Firewall("arn-other", ("vpce-other",))},
    transit_gateway_attachments=by_id(
        TransitGatewayAttachment("tgw-attach-1", "tgw-1", "vpc", "vpc-1", subnet_ids=("subnet-firewall",)),
        TransitGatewayAttachment("tgw-attach-2", "tgw-1", "vpc", "vpc-2", route_table_id="tgw-rtb-1"),
    ),
    transit_gateway_route_tables=by_id(
        TransitGatewayRouteTable("tgw-rtb-1", (route("0.0.0.0/0", "tgw-attach-1"),)),
    ),
)
"""A central VPC with a NAT gateway and a firewall, a spoke behind a transit gateway, and a VPC that routes elsewhere."""

BEHIND_NAT_SUBNET = sorted(FAR.subnets.keys() - {"subnet-elsewhere"})
VPC_1 = sorted(subnet_id for subnet_id, found in FAR.subnets.items() if found.vpc_id == "vpc-1")
BEHIND_FIREWALL_SUBNET = ["subnet-behind-firewall", "subnet-firewall", "subnet-spoke"]


@pytest.mark.parametrize(
    ("change", "concerned"),
    [
        (ChangedResource(SUBNET, "subnet-nat", "vpc-1"), BEHIND_NAT_SUBNET),
        (ChangedResource(SUBNET, "subnet-firewall", "vpc-1"), BEHIND_FIREWALL_SUBNET),
        (ChangedResource(EXCLUSION, "exclusion", subnet_id="subnet-firewall"), BEHIND_FIREWALL_SUBNET),
        (ChangedResource(EXCLUSION, "exclusion", "vpc-1"), BEHIND_NAT_SUBNET),
        (ChangedResource(EXCLUSION, "exclusion", "vpc-2"), ["subnet-spoke"]),
        (ChangedResource(OPTIONS, "123456789012"), sorted(FAR.subnets)),
        (ChangedResource(BUCKET, "lake--use1-az4--x-s3"), sorted(FAR.subnets)),
        (ChangedResource(LIST, "pl-own"), ["subnet-list"]),
        (ChangedResource(LIST, "pl-unused"), []),
        (ChangedResource(FIREWALL, "arn-fw"), ["subnet-behind-firewall"]),
        (ChangedResource(FIREWALL, "arn-other"), []),
        (ChangedResource(ENDPOINT, "vpce-fw", "vpc-1", is_appliance_endpoint=True), VPC_1),
        (
            ChangedResource(ENDPOINT, "vpce-fw", "vpc-3", is_appliance_endpoint=True),
            ["subnet-behind-firewall", "subnet-elsewhere"],
        ),
    ],
)
def test_a_change_of_what_paths_lead_through(change: ChangedResource, concerned: list[str]) -> None:
    """Subnets, exclusions, lists, endpoints, and firewalls concern those behind them; the options and buckets all."""
    assert concerned_subnets(change, Tracer(FAR)) == concerned


@pytest.mark.parametrize(
    "named",
    [route("pl-far", "tgw-attach-1"), replace(route("198.51.100.0/25", "tgw-attach-1"), prefix_list_id="pl-far")],
)
def test_a_list_that_only_a_transit_gateway_names_concerns_the_spokes(named: Route) -> None:
    """The transit gateway has a route for each entry, which names the list that the entry is from."""
    tables = by_id(TransitGatewayRouteTable("tgw-rtb-1", (route("0.0.0.0/0", "tgw-attach-1"), named)))
    found = replace(FAR, transit_gateway_route_tables=tables)
    assert concerned_subnets(ChangedResource(LIST, "pl-far"), Tracer(found)) == ["subnet-spoke"]
    assert concerned_subnets(ChangedResource(LIST, "pl-unused"), Tracer(found)) == []


def inspected(*, state: str = "available", is_deleted: bool = False, names_table: str = "") -> Snapshot:
    """Return an inspection VPC, vpc-1, whose transit gateway attachment leads to appliances: one for the spoke of each zone.

    A spoke in a zone is a VPC of its own. state is that of the first appliance's endpoint. names_table is a table that
    a gateway endpoint of the inspection VPC names.
    """
    zones, table_state = ("use1-az1", "use1-az2"), "blackhole" if is_deleted else "active"
    endpoints = [
        endpoint(
            "vpce-1", endpoint_type="gatewayloadbalancer", service_name="", state=state, subnet_ids=("subnet-nat",)
        ),
        endpoint("vpce-2", endpoint_type="gatewayloadbalancer", service_name="", subnet_ids=("subnet-nat",)),
        endpoint("vpce-gateway", route_table_ids=(names_table,) if names_table else ()),
    ]
    return snapshot(
        subnets=by_id(
            subnet("subnet-nat"),
            subnet("subnet-main"),
            *(subnet(f"subnet-attached-{n}", availability_zone_id=zones[n - 1]) for n in (1, 2)),
            *(subnet(f"subnet-spoke-{n}", f"vpc-spoke-{n}", availability_zone_id=zones[n - 1]) for n in (1, 2)),
            subnet("subnet-elsewhere", "vpc-elsewhere"),
        ),
        route_tables=by_id(
            table("rtb-main", main=True),
            table("rtb-nat", route("0.0.0.0/0", "nat-1"), subnets=("subnet-nat",)),
            table("rtb-1", route("0.0.0.0/0", "vpce-1", state=table_state), subnets=("subnet-attached-1",)),
            table("rtb-2", route("0.0.0.0/0", "vpce-2"), subnets=("subnet-attached-2",)),
            *(table(f"rtb-spoke-{n}", route("0.0.0.0/0", "tgw-1"), vpc_id=f"vpc-spoke-{n}", main=True) for n in (1, 2)),
            table("rtb-elsewhere", vpc_id="vpc-elsewhere", main=True),
        ),
        vpc_endpoints=by_id(*(found for found in endpoints if not (is_deleted and found.id == "vpce-1"))),
        transit_gateway_attachments=by_id(
            TransitGatewayAttachment(
                "tgw-attach-1", "tgw-1", "vpc", "vpc-1", subnet_ids=("subnet-attached-1", "subnet-attached-2")
            ),
            *(
                TransitGatewayAttachment(
                    f"tgw-attach-spoke-{n}",
                    "tgw-1",
                    "vpc",
                    f"vpc-spoke-{n}",
                    route_table_id="tgw-rtb-1",
                    subnet_ids=(f"subnet-spoke-{n}",),
                )
                for n in (1, 2)
            ),
        ),
        transit_gateway_route_tables=by_id(
            TransitGatewayRouteTable("tgw-rtb-1", (route("0.0.0.0/0", "tgw-attach-1"),)),
        ),
    )


INSPECTION = ["subnet-attached-1", "subnet-attached-2", "subnet-main", "subnet-nat"]


@pytest.mark.parametrize(
    "found",
    [
        inspected(),
        inspected(state="pendingacceptance"),
        inspected(state="rejected"),
        inspected(is_deleted=True),
    ],
    ids=["available", "pending", "rejected", "deleted"],
)
def test_an_appliance_endpoint_concerns_its_vpc_and_the_spokes_behind_it(found: Snapshot) -> None:
    """Whatever its state is, the spoke whose traffic it inspects is concerned, and the one in another zone is not."""
    change = ChangedResource(ENDPOINT, "vpce-1", "vpc-1", is_appliance_endpoint=True)
    assert concerned_subnets(change, Tracer(found)) == [*INSPECTION, "subnet-spoke-1"]


@pytest.mark.parametrize("names_table", ["", "rtb-main", "rtb-unlisted"])
def test_a_gateway_endpoint_concerns_all_paths_into_its_vpc(names_table: str) -> None:
    """It may show, or have shown, that the list of tables is partial: then nobody knows where the VPC's subnets lead."""
    found = inspected(names_table=names_table)
    change = ChangedResource(ENDPOINT, "vpce-gateway", "vpc-1")
    assert concerned_subnets(change, Tracer(found)) == [*INSPECTION, "subnet-spoke-1", "subnet-spoke-2"]


@pytest.mark.parametrize("table_id", ["rtb-main", "rtb-unlisted", None])
def test_a_regional_nat_gateway_concerns_all_paths_into_its_vpc(table_id: str | None) -> None:
    """It names a table of its own, which shows, or has shown, whether the list of tables is partial."""
    found = replace(inspected(), nat_gateways=by_id(NatGateway("nat-regional", "vpc-1", route_table_id=table_id)))
    regional = ChangedResource(NAT, "nat-regional", "vpc-1", may_be_regional=True)
    assert concerned_subnets(regional, Tracer(found)) == [*INSPECTION, "subnet-spoke-1", "subnet-spoke-2"]
    assert concerned_subnets(replace(regional, may_be_regional=False), Tracer(found)) == []


def test_a_deleted_firewall_concerns_the_paths_that_lead_to_no_other_firewall() -> None:
    """Nobody names its endpoints any longer, and their routes are blackholes."""
    gone = replace(
        FAR,
        firewalls={"arn-other": FAR.firewalls["arn-other"]},
        vpc_endpoints={},
        route_tables={
            **FAR.route_tables,
            **by_id(
                table(
                    "rtb-behind-firewall",
                    route("0.0.0.0/0", "vpce-fw", state="blackhole"),
                    subnets=("subnet-behind-firewall",),
                ),
                table("rtb-list", route("0.0.0.0/0", "vpce-other"), subnets=("subnet-list",)),
            ),
        },
    )
    assert concerned_subnets(ChangedResource(FIREWALL, "arn-fw"), Tracer(gone)) == ["subnet-behind-firewall"]


def test_a_former_main_table_is_no_main_table() -> None:
    """A table is the main one only if its association has an effect."""
    former = table("rtb-main", subnets=("subnet-explicit",))
    former = by_id(type(former)(former.id, "vpc-1", (), (*former.associations, Association(main=True, state="failed"))))
    found = snapshot(subnets=by_id(subnet("subnet-explicit")), route_tables=former)
    assert concerned_subnets(ChangedResource(TABLE, "rtb-new", "vpc-1", main_changed=True), Tracer(found)) == []


@pytest.mark.parametrize("cidrs", [None, ()], ids=["unreadable", "none"])
def test_a_table_concerns_its_subnets_whatever_is_known_of_the_addresses(cidrs: tuple[()] | None) -> None:
    """The table may gain a route or a tag that excludes it, even if there is no address to look up in it yet."""
    ipv6 = PrefixList("pl-ipv6", "com.amazonaws.us-east-1.ipv6.s3express", Family.IPV6, cidrs)
    found = snapshot(
        subnets=by_id(subnet("subnet-1", ipv6_native=True, has_ipv6=True), subnet("subnet-2", ipv6_native=True)),
        route_tables=by_id(table("rtb-1", subnets=("subnet-1",)), table("rtb-2", subnets=("subnet-2",))),
        prefix_lists=by_id(ipv6),
    )
    tracer = Tracer(found)
    assert concerned_subnets(ChangedResource(TABLE, "rtb-1", "vpc-1"), tracer) == ["subnet-1"]
    assert concerned_subnets(ChangedResource(TABLE, "rtb-2", "vpc-1"), tracer) == ["subnet-2"]
