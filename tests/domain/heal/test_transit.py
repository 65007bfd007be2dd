"""Traffic of other VPCs: it blocks the heal of a table that it consults, and of no other table."""

from dataclasses import replace
from typing import Any

import pytest

from express_path.domain.heal.entrances import has_connects
from express_path.domain.heal.records import Blocker, PlanAction
from express_path.domain.heal.transit import cut_off, transit_concerns
from express_path.domain.network.addresses import Family, parse_cidr
from express_path.domain.network.merging import merged
from express_path.domain.network.resources import (
    Instance,
    NatGateway,
    NetworkInterface,
    PrefixList,
    Route,
    TransitGatewayAttachment,
    TransitGatewayRouteTable,
)
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.parameters import RuleParameters
from tests.support.heal_situation import evidence_of, planned
from tests.support.make import EXPRESS_LIST, by_id, endpoint, firewalls, route, snapshot, subnet, table

CORE = "arn:aws:networkmanager::111122223333:core-network/core-network-1"
TO_NAT, BACK = route("0.0.0.0/0", "nat-1"), route("10.0.0.0/8", "tgw-1")
HERE = TransitGatewayAttachment("tgw-attach-1", "tgw-1", "vpc", "vpc-1", subnet_ids=("subnet-1",))
NEW_TARGET, NO_TARGET = route("10.0.0.0/8", "NewThing"), route("10.0.0.0/8", "")
LEADS_HERE = (route("0.0.0.0/0", "tgw-attach-1"),)
NAT = NatGateway("nat-1", "vpc-1", "subnet-nat")


def vpc(  # as much as differs
    *routes: Route,
    nat_routes: tuple[Route, ...] = (BACK,),
    attachment: TransitGatewayAttachment | None = HERE,
    transit_routes: tuple[Route, ...] | None = None,
    tables: tuple[object, ...] = (),
    subnets: tuple[object, ...] = (),
    gateway: NatGateway = NAT,
    **more: Any,
) -> Snapshot:
    """Return a VPC whose subnet-1 is in the transit gateway's attachment and leads to a NAT gateway.

    transit_routes are those of the transit gateway's only route table, None if it cannot be read.
    """
    readable = transit_routes is not None
    found = snapshot(
        subnets=by_id(subnet(), subnet("subnet-nat"), *subnets),
        route_tables=by_id(
            table("rtb-1", *(routes or (TO_NAT,)), subnets=("subnet-1",)),
            table("rtb-nat", route("0.0.0.0/0", "igw-1"), *nat_routes, subnets=("subnet-nat",)),
            *tables,
        ),
        nat_gateways=by_id(gateway),
        transit_gateway_attachments=by_id(attachment) if attachment else None,
        transit_gateway_route_tables=by_id(TransitGatewayRouteTable("tgw-rtb-1", transit_routes)) if readable else None,
        transit_gateway_of_table={"tgw-rtb-1": "tgw-1"} if readable else None,
    )
    return replace(found, **more)


def found_in(network: Snapshot, **more: Any) -> list[Blocker]:
    """Return the blockers of the plan for subnet-1, which changes its table if there are none."""
    plan = planned(network, **more)
    assert (plan.action is PlanAction.CREATE_AND_ASSOCIATE) is (not plan.blockers)
    return [found.code for found in plan.blockers]


# --- the transit gateway's tables can be read ------------------------------------------------------------------------


def test_hub_is_blocked() -> None:
    """TRANSIT_TRAFFIC names the tables, the attachment, and what to do first; WarnOnly cannot turn it off."""
    plan = planned(vpc(transit_routes=LEADS_HERE))
    [found] = plan.blockers
    assert (plan.action, found.code, found.resource) == (PlanAction.BLOCKED, Blocker.TRANSIT_TRAFFIC, "rtb-1")
    assert found.evidence.startswith("tgw-rtb-1 sends S3 Express traffic of other VPCs")
    assert "each VPC behind tgw-1 its own endpoint" in found.fix
    assert "a route table of their own" in found.fix
    everything = frozenset({Blocker.TRANSIT_TRAFFIC, Blocker.TRANSIT_UNKNOWN})
    assert found_in(vpc(transit_routes=LEADS_HERE), warn_only=everything) == [Blocker.TRANSIT_TRAFFIC]


ELSEWHERE = {
    "no default route": (route("10.1.0.0/16", "tgw-attach-1"),),
    "another VPC": (route("0.0.0.0/0", "tgw-attach-2"),),
    "a longer route to another VPC": (*LEADS_HERE, route("198.51.100.0/24", "tgw-attach-2")),
    "a blackhole": (route("0.0.0.0/0", "tgw-attach-1", state="blackhole"),),
    "no route": (),
    "an unreadable list to another VPC": (route("pl-unread", "tgw-attach-2"),),
}


@pytest.mark.parametrize("routes", ELSEWHERE.values(), ids=ELSEWHERE)
def test_vpc_with_its_own_nat_is_healed(routes: tuple[Route, ...]) -> None:
    """Most VPCs with a NAT and an attachment get no S3 Express traffic of other VPCs, although a route leads back."""
    assert found_in(vpc(transit_routes=routes)) == []


def test_only_the_longest_route_to_a_part_of_the_service_counts() -> None:
    """A route to half of a block of the service is enough."""
    assert found_in(vpc(transit_routes=(route("198.51.100.128/25", "tgw-attach-1"),))) == [Blocker.TRANSIT_TRAFFIC]


def test_tables_that_the_traffic_does_not_consult_are_healed() -> None:
    """An attachment with subnets of its own, whose table has no way out, leaves the tables of workloads alone."""
    attached = replace(HERE, subnet_ids=("subnet-tgw",))
    own = {"subnets": (subnet("subnet-tgw"),), "attachment": attached, "transit_routes": LEADS_HERE}
    assert found_in(vpc(**own, tables=(table("rtb-tgw", subnets=("subnet-tgw",)),))) == []
    assert found_in(vpc(**own, tables=(table("rtb-tgw", TO_NAT, subnets=("subnet-tgw",)),))) == []
    # A subnet of the attachment whose table is not known may use this one.
    assert found_in(vpc(**own)) == [Blocker.TRANSIT_TRAFFIC]


def inspected(**more: Any) -> Snapshot:
    """Return a VPC in which traffic of other VPCs crosses an appliance's endpoint, whose subnet is subnet-1."""
    attached = replace(HERE, subnet_ids=("subnet-tgw",))
    appliance = endpoint("vpce-appliance", endpoint_type="gatewayloadbalancer", subnet_ids=("subnet-1",))
    return vpc(
        attachment=attached,
        subnets=(subnet("subnet-tgw"),),
        tables=(table("rtb-tgw", route("0.0.0.0/0", "vpce-appliance"), subnets=("subnet-tgw",)),),
        vpc_endpoints=by_id(appliance),
        **more,
    )


def test_tables_behind_appliances_count() -> None:
    """The table of a firewall's or a Gateway Load Balancer's endpoint decides about traffic of other VPCs, too."""
    assert found_in(inspected(transit_routes=LEADS_HERE)) == [Blocker.TRANSIT_TRAFFIC]
    behind_firewall = inspected(transit_routes=LEADS_HERE, firewalls=firewalls("vpce-appliance"))
    assert found_in(behind_firewall) == [Blocker.TRANSIT_TRAFFIC]
    assert found_in(inspected(transit_routes=())) == []


def test_attachments_that_carry_nothing_do_not_count() -> None:
    """Traffic enters through no attachment that is deleted; one that is still made may carry it later."""
    assert found_in(vpc(attachment=replace(HERE, state="pending"), transit_routes=LEADS_HERE)) == [
        Blocker.TRANSIT_TRAFFIC
    ]
    gone = vpc(attachment=replace(HERE, state="deleted"), transit_routes=LEADS_HERE, nat_routes=())
    assert found_in(gone) == []
    new = replace(HERE, id="tgw-attach-2")
    both = vpc(transit_routes=LEADS_HERE, transit_gateway_attachments=by_id(replace(HERE, state="deleted"), new))
    assert found_in(both) == []


def test_table_that_already_has_the_endpoint_is_not_blocked() -> None:
    """While the endpoint of a heal is being made, its route is in the table, and the same heal goes on."""
    pending = by_id(endpoint(state="pending"))
    routed = vpc(TO_NAT, route("pl-express", "vpce-express"), transit_routes=LEADS_HERE, vpc_endpoints=pending)
    parameters = RuleParameters(unresolved_egress="NON_COMPLIANT")
    assert Blocker.TRANSIT_TRAFFIC not in [found.code for found in planned(routed, parameters=parameters).blockers]


def test_traffic_that_meets_an_endpoint_first_is_cut_off_already() -> None:
    """A heal behind a table with an endpoint's route takes nothing away."""
    routes = (route("0.0.0.0/0", "vpce-appliance"), route("pl-express", "vpce-express"))
    network = inspected(transit_routes=LEADS_HERE)
    tables = {**network.route_tables, "rtb-tgw": table("rtb-tgw", *routes, subnets=("subnet-tgw",))}
    endpoints = {**network.vpc_endpoints, **by_id(endpoint())}
    assert Blocker.TRANSIT_TRAFFIC not in [
        found.code for found in planned(replace(network, route_tables=tables, vpc_endpoints=endpoints)).blockers
    ]


# --- they cannot be read ---------------------------------------------------------------------------------------------

UNREADABLE = {
    "unreadable": vpc(),
    "attachments unreadable": vpc(attachment=None),
    "subnets of the attachment unreadable": vpc(attachment=replace(HERE, subnet_ids=None)),
    "tables not listed": vpc(transit_routes=(), transit_gateway_of_table=None),
    "a table not read": vpc(transit_routes=(), transit_gateway_of_table={"tgw-rtb-1": "tgw-1", "tgw-rtb-2": "tgw-1"}),
    "truncated": vpc(
        transit_routes=(),
        transit_gateway_route_tables=by_id(TransitGatewayRouteTable("tgw-rtb-1", LEADS_HERE, truncated=True)),
    ),
    "an unreadable list to this VPC": vpc(transit_routes=(route("pl-unread", "tgw-attach-1"),)),
    "the service's entries unreadable": vpc(
        prefix_lists=by_id(
            EXPRESS_LIST, PrefixList("pl-6", "com.amazonaws.us-east-1.ipv6.s3express", Family.IPV6, None)
        ),
        nat_routes=(BACK,),
    ),
    "a core network": vpc(nat_routes=(route("10.0.0.0/8", CORE),), attachment=None),
}


@pytest.mark.parametrize("network", UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_blocks_where_a_route_leads_back(network: Snapshot) -> None:
    """TRANSIT_UNKNOWN blocks; WarnOnly turns it into a warning."""
    assert found_in(network) == [Blocker.TRANSIT_UNKNOWN]
    plan = planned(network, warn_only=frozenset({Blocker.TRANSIT_UNKNOWN}))
    assert (plan.action, [found.code for found in plan.warnings]) == (
        PlanAction.CREATE_AND_ASSOCIATE,
        [Blocker.TRANSIT_UNKNOWN],
    )


def test_message_begins_with_what_would_decide() -> None:
    """The role, the permission, or the setting that decides comes first."""
    arn = "arn:aws:iam::444455556666:role/network"

    def decides(network: Snapshot, role: str | None = None) -> str:
        plan = planned(network, parameters=RuleParameters(network_role_arn=role))
        return evidence_of(plan, Blocker.TRANSIT_UNKNOWN)

    assert decides(vpc()).startswith("rule parameter networkRoleArn, with a role in the account that owns tgw-1,")
    assert decides(vpc(), arn).startswith(f"{arn} (networkRoleArn) must be a role in the account that owns tgw-1")
    assert decides(UNREADABLE["truncated"]).startswith("stack parameter WarnOnly decides, because tgw-rtb-1 has more")
    core = UNREADABLE["a core network"]
    assert decides(core).startswith("the plan function's role (stack output PlanRoleArn) needs networkmanager:")
    read = replace(core, core_network_attachments={})
    assert decides(read).startswith("stack parameter WarnOnly decides, because the routes of a core network")


def unread(**more: Any) -> Snapshot:
    """Return a VPC whose transit gateway cannot be read, and in which another table leads back to it."""
    other = (table("rtb-other", BACK, subnets=("subnet-other",)), *more.pop("tables", ()))
    return vpc(subnets=(subnet("subnet-other"), *more.pop("subnets", ())), tables=other, nat_routes=(), **more)


INTERFACES = by_id(
    NetworkInterface("eni-1", "subnet-nat", source_dest_check=False, instance_id="i-1"),
    NetworkInterface("eni-9", "subnet-other", source_dest_check=False, instance_id="i-9"),
)
SECOND = NetworkInterface("eni-2", "subnet-other", source_dest_check=False, instance_id="i-1")
TO_INSTANCE = route("0.0.0.0/0", "eni-1")
NOTHING_LEADS_BACK = {
    "no route to a gateway at all": vpc(nat_routes=()),
    "a zonal NAT gateway": unread(),
    "a regional NAT gateway": unread(
        gateway=replace(NAT, subnet_id=None, route_table_id="rtb-regional"),
        tables=(table("rtb-regional", route("0.0.0.0/0", "igw-1")),),
    ),
    "an attachment that is not listed": unread(attachment=None),
    "the path leads out where it came in": vpc(
        route("0.0.0.0/0", "tgw-1"),
        route("198.51.100.0/25", "nat-1"),
        nat_routes=(),
    ),
}


@pytest.mark.parametrize("network", NOTHING_LEADS_BACK.values(), ids=NOTHING_LEADS_BACK)
def test_nothing_comes_where_nothing_leads_back(network: Snapshot) -> None:
    """Responses could not return, so no other VPC uses this path."""
    plan = planned(network)
    assert not {Blocker.TRANSIT_TRAFFIC, Blocker.TRANSIT_UNKNOWN} & {found.code for found in plan.blockers}


def with_instance(**more: Any) -> Snapshot:
    """Return such a VPC with a NAT instance in place of the NAT gateway."""
    network = unread(**more)
    tables = {**network.route_tables, "rtb-1": table("rtb-1", TO_INSTANCE, subnets=("subnet-1",))}
    return replace(network, route_tables=tables)


def test_nat_instance_may_lead_back_from_any_of_its_interfaces() -> None:
    """The tables of all interfaces of a NAT instance count."""
    assert found_in(with_instance(network_interfaces=INTERFACES)) == []
    alone = by_id(NetworkInterface("eni-1", "subnet-nat", source_dest_check=False))
    assert found_in(with_instance(network_interfaces=alone)) == []
    both = {**INTERFACES, **by_id(SECOND)}
    assert found_in(with_instance(network_interfaces=both)) == [Blocker.TRANSIT_UNKNOWN]
    described = {"i-1": Instance("i-1", "c7g.large", subnet_of_interface={"eni-2": "subnet-other"})}
    assert found_in(with_instance(network_interfaces=INTERFACES, instances=described)) == [Blocker.TRANSIT_UNKNOWN]
    denied = with_instance(network_interfaces=INTERFACES, denied=("ec2:DescribeInstances",))
    assert found_in(denied) == [Blocker.TRANSIT_UNKNOWN]


def back_through(target: str, **more: Any) -> Snapshot:
    """Return such a VPC in which the NAT's table leads to an appliance for the addresses of other VPCs."""
    network = unread(**more)
    routes = (route("0.0.0.0/0", "igw-1"), route("10.0.0.0/8", target))
    return replace(
        network, route_tables={**network.route_tables, "rtb-nat": table("rtb-nat", *routes, subnets=("subnet-nat",))}
    )


APPLIANCE = endpoint("vpce-fw", endpoint_type="gatewayloadbalancer", subnet_ids=("subnet-other",))
WAY_BACK = {
    "the NAT gateway is not listed": unread(nat_gateways={}),
    "the NAT gateway is of another VPC": unread(gateway=replace(NAT, vpc_id="vpc-2")),
    "the NAT gateway's table is not listed": unread(gateway=replace(NAT, subnet_id="subnet-9")),
    "a regional NAT gateway's table is not listed": unread(gateway=replace(NAT, subnet_id=None)),
    "a firewall": back_through("vpce-fw", vpc_endpoints=by_id(APPLIANCE)),
    "an endpoint that is not listed": back_through("vpce-fw"),
    "an appliance": back_through("eni-2", network_interfaces=by_id(SECOND)),
    "an instance": back_through("i-1", network_interfaces=by_id(SECOND)),
    "an interface that is not listed": back_through("eni-2"),
    "a core network": back_through(CORE),
}


@pytest.mark.parametrize("network", WAY_BACK.values(), ids=WAY_BACK)
def test_way_back_is_followed_through_appliances(network: Snapshot) -> None:
    """What leads back, or may, is followed beyond firewalls, appliances, and interfaces."""
    assert Blocker.TRANSIT_UNKNOWN in found_in(network)


def test_way_back_ends_at_gateway_endpoints_and_loops() -> None:
    """A gateway endpoint leads nowhere, and tables that lead to each other are followed once."""
    s3 = endpoint("vpce-s3", service_name="com.amazonaws.us-east-1.s3")
    assert found_in(back_through("vpce-s3", vpc_endpoints=by_id(s3))) == []
    loop = endpoint("vpce-fw", endpoint_type="gatewayloadbalancer", subnet_ids=("subnet-nat",))
    assert found_in(back_through("vpce-fw", vpc_endpoints=by_id(loop))) == []


def test_path_without_a_nat_of_this_vpc_may_be_used() -> None:
    """An unreadable hop, or an appliance before the way out, excludes nothing."""
    partly = vpc(
        route("0.0.0.0/0", "nat-1"), route("198.51.100.0/25", "vgw-1"), nat_routes=(), tables=(table("rtb-b", BACK),)
    )
    assert Blocker.TRANSIT_UNKNOWN in found_in(partly)


# --- core networks ---------------------------------------------------------------------------------------------------


def core(*subnet_ids: str, **more: Any) -> Snapshot:
    """Return a VPC whose NAT leads back to a core network; its attachment has these subnets."""
    attachment = TransitGatewayAttachment("attachment-1", CORE, "vpc", "vpc-1", subnet_ids=subnet_ids)
    attached = (subnet("subnet-tgw"),)
    tables = (table("rtb-tgw", subnets=("subnet-tgw",)),)
    return vpc(
        nat_routes=(route("10.0.0.0/8", CORE),),
        attachment=None,
        subnets=attached,
        tables=tables,
        core_network_attachments=by_id(attachment),
        **more,
    )


def test_core_networks_attachment_is_judged_by_its_subnets() -> None:
    """Where Network Manager shows the attachment's subnets, only the tables that their traffic consults count."""
    assert found_in(core("subnet-1")) == [Blocker.TRANSIT_UNKNOWN]
    assert found_in(core("subnet-tgw")) == []
    leads = core("subnet-1")
    nowhere = {**leads.route_tables, "rtb-nat": table("rtb-nat", route("0.0.0.0/0", "igw-1"), subnets=("subnet-nat",))}
    assert found_in(replace(leads, route_tables=nowhere)) == []


# --- accounts that disagree ------------------------------------------------------------------------------------------

TGW_SUBNET = (subnet("subnet-tgw"),)
APART = replace(HERE, subnet_ids=("subnet-tgw",))
APART_TABLE = (table("rtb-tgw", subnets=("subnet-tgw",)),)
TRUNCATED = by_id(TransitGatewayRouteTable("tgw-rtb-1", (), truncated=True))
ELSEWHERE_NAT = replace(NAT, subnet_id="subnet-other")
NO_WAY_BACK = {"subnets": (subnet("subnet-other"),), "tables": (table("rtb-other", subnets=("subnet-other",)),)}
DISAGREEMENTS = {
    "the transit gateway's routes": (
        Blocker.TRANSIT_TRAFFIC,
        vpc(transit_routes=LEADS_HERE),
        vpc(transit_routes=()),
    ),
    "the state of the attachment": (
        Blocker.TRANSIT_TRAFFIC,
        vpc(transit_routes=LEADS_HERE),
        vpc(transit_routes=LEADS_HERE, attachment=replace(HERE, state="deleted"), nat_routes=()),
    ),
    "the subnets of the attachment": (
        Blocker.TRANSIT_TRAFFIC,
        vpc(transit_routes=LEADS_HERE, subnets=TGW_SUBNET, tables=APART_TABLE),
        vpc(transit_routes=LEADS_HERE, subnets=TGW_SUBNET, tables=APART_TABLE, attachment=APART),
    ),
    "the table of the attachment's subnet": (
        Blocker.TRANSIT_TRAFFIC,
        inspected(transit_routes=LEADS_HERE),
        vpc(transit_routes=LEADS_HERE, subnets=TGW_SUBNET, tables=APART_TABLE, attachment=APART),
    ),
    "whether a search is whole": (
        Blocker.TRANSIT_UNKNOWN,
        vpc(transit_routes=(), transit_gateway_route_tables=TRUNCATED),
        vpc(transit_routes=()),
    ),
    "which tables the transit gateway has": (
        Blocker.TRANSIT_UNKNOWN,
        vpc(transit_routes=(), transit_gateway_of_table={"tgw-rtb-1": "tgw-1", "tgw-rtb-2": "tgw-1"}),
        vpc(transit_routes=()),
    ),
    "the routes of the NAT's table": (Blocker.TRANSIT_UNKNOWN, vpc(), unread()),
    "the subnet of the NAT gateway": (
        Blocker.TRANSIT_UNKNOWN,
        vpc(**NO_WAY_BACK),
        vpc(**NO_WAY_BACK, gateway=ELSEWHERE_NAT),
    ),
    "the subnets of a firewall on the way back": (
        Blocker.TRANSIT_UNKNOWN,
        back_through("vpce-fw", vpc_endpoints=by_id(APPLIANCE)),
        back_through("vpce-fw", vpc_endpoints=by_id(replace(APPLIANCE, subnet_ids=("subnet-nat",)))),
    ),
    "the subnet of an interface on the way back": (
        Blocker.TRANSIT_UNKNOWN,
        back_through("eni-2", network_interfaces=by_id(SECOND)),
        back_through("eni-2", network_interfaces=by_id(replace(SECOND, subnet_id="subnet-nat"))),
    ),
    "the instance that has an interface": (
        Blocker.TRANSIT_UNKNOWN,
        with_instance(network_interfaces={**INTERFACES, **by_id(SECOND)}),
        with_instance(network_interfaces={**INTERFACES, **by_id(replace(SECOND, instance_id="i-9"))}),
    ),
    "whether instances could be read": (
        Blocker.TRANSIT_UNKNOWN,
        with_instance(network_interfaces=INTERFACES, denied=("ec2:DescribeInstances",)),
        with_instance(network_interfaces=INTERFACES),
    ),
    "the transit gateway of the attachment": (
        Blocker.TRANSIT_TRAFFIC,
        vpc(transit_routes=LEADS_HERE),
        vpc(transit_routes=(), attachment=replace(HERE, transit_gateway_id="tgw-2"), nat_routes=()),
    ),
    "the subnets of an attachment to a core network": (Blocker.TRANSIT_UNKNOWN, core("subnet-1"), core("subnet-tgw")),
}
"""What blocks, and two descriptions of a network that differ in one thing: with the first one it blocks, else it does not."""


@pytest.mark.parametrize(("code", "blocking", "other"), DISAGREEMENTS.values(), ids=DISAGREEMENTS)
def test_description_of_any_account_is_enough_to_block(code: Blocker, blocking: Snapshot, other: Snapshot) -> None:
    """Which account describes the network as it is now is not known."""
    assert found_in(blocking) == [code]
    assert not {Blocker.TRANSIT_TRAFFIC, Blocker.TRANSIT_UNKNOWN} & set(found_in(other))
    for first, second in ((blocking, other), (other, blocking)):
        plan = planned(merged([first, replace(second, account_id="444455556666")]))
        assert code in [found.code for found in plan.blockers]


def test_table_that_only_one_account_could_read_whole_is_not_known() -> None:
    """The message names the table."""
    whole, truncated = vpc(transit_routes=()), vpc(transit_routes=(), transit_gateway_route_tables=TRUNCATED)
    plan = planned(merged([whole, replace(truncated, account_id="444455556666")]))
    message = evidence_of(plan, Blocker.TRANSIT_UNKNOWN)
    assert message.startswith("stack parameter WarnOnly decides, because tgw-rtb-1 has more")


# --- hubs whose tables have the endpoint's route already -------------------------------------------------------------

TO_ENDPOINT = route("pl-express", "vpce-express")


def healed(**more: Any) -> Snapshot:
    """Return such a VPC in which the route table of the attachment's subnet has the endpoint's route already."""
    endpoints = by_id(endpoint(), *more.pop("endpoints", ()))
    return vpc(TO_NAT, TO_ENDPOINT, vpc_endpoints=endpoints, **more)


def cut_off_in(network: Snapshot) -> list[tuple[str, str, str, bool]]:
    """Return the table, the endpoint, and the attachment of what is cut off in vpc-1, and whether that is certain."""
    found = cut_off(Tracer(network), "vpc-1")
    return [(each.route_table_id, each.endpoint_id, each.entrance.attachment_id, each.is_certain) for each in found]


def test_endpoint_in_the_table_of_a_hub_cuts_other_vpcs_off() -> None:
    """It is certain where a table of the transit gateway leads S3 Express traffic here."""
    assert cut_off_in(healed(transit_routes=LEADS_HERE)) == [("rtb-1", "vpce-express", "tgw-attach-1", True)]


@pytest.mark.parametrize("routes", ELSEWHERE.values(), ids=ELSEWHERE)
def test_endpoint_of_a_vpc_with_its_own_nat_cuts_nobody_off(routes: tuple[Route, ...]) -> None:
    """The transit gateway's tables can be read, and lead no such traffic here."""
    assert cut_off_in(healed(transit_routes=routes)) == []


def test_endpoint_may_cut_others_off_where_the_tables_cannot_be_read() -> None:
    """As in a heal, nothing comes unless a route leads back from where the traffic would leave without the endpoint."""
    assert cut_off_in(healed()) == [("rtb-1", "vpce-express", "tgw-attach-1", False)]
    assert cut_off_in(healed(nat_routes=(), tables=(table("rtb-other", BACK),))) == []
    leaves_again = vpc(route("0.0.0.0/0", "tgw-1"), TO_ENDPOINT, vpc_endpoints=by_id(endpoint()))
    assert cut_off_in(leaves_again) == []


def test_endpoint_may_cut_off_what_a_core_network_leads_here() -> None:
    """The routes of core networks are not read."""
    network = core("subnet-1")
    tables = {**network.route_tables, "rtb-1": table("rtb-1", TO_NAT, TO_ENDPOINT, subnets=("subnet-1",))}
    found = replace(network, route_tables=tables, vpc_endpoints=by_id(endpoint()))
    assert cut_off_in(found) == [("rtb-1", "vpce-express", "attachment-1", False)]


def test_target_that_is_not_known_makes_no_hub() -> None:
    """A list of hubs names the gateway."""
    assert cut_off_in(healed(nat_routes=(NEW_TARGET,), attachment=None)) == []


def test_table_behind_a_firewall_is_named() -> None:
    """The table with the endpoint's route is the one to change. Behind an appliance, traffic may have another source."""
    network = inspected(transit_routes=LEADS_HERE)
    tables = {**network.route_tables, "rtb-1": table("rtb-1", TO_NAT, TO_ENDPOINT, subnets=("subnet-1",))}
    endpoints = {**network.vpc_endpoints, **by_id(endpoint())}
    found = replace(network, route_tables=tables, vpc_endpoints=endpoints)
    assert cut_off_in(found) == [("rtb-1", "vpce-express", "tgw-attach-1", False)]
    assert cut_off_in(replace(found, firewalls=firewalls("vpce-appliance"))) == [
        ("rtb-1", "vpce-express", "tgw-attach-1", True)
    ]


def test_endpoint_that_the_traffic_does_not_meet_cuts_nobody_off() -> None:
    """Workloads with a route table of their own have the endpoint, and one for another service does not count."""
    own = table("rtb-own", TO_ENDPOINT, subnets=("subnet-own",))
    apart = vpc(
        transit_routes=LEADS_HERE, tables=(own,), subnets=(subnet("subnet-own"),), vpc_endpoints=by_id(endpoint())
    )
    assert cut_off_in(apart) == []
    s3 = endpoint("vpce-express", service_name="com.amazonaws.us-east-1.s3")
    assert cut_off_in(replace(healed(transit_routes=LEADS_HERE), vpc_endpoints=by_id(s3))) == []


# --- hops that cannot be followed ------------------------------------------------------------------------------------

ENTRY_SUBNET = replace(HERE, subnet_ids=("subnet-tgw",))


def entered(*routes: Route, lead: tuple[Route, ...] | None = LEADS_HERE, **more: Any) -> Snapshot:
    """Return a VPC in which the table of the attachment's subnet has these routes; rtb-1 leads to the NAT gateway.

    The appliance's interface eni-in is in subnet-in, whose table has no route.
    """
    return vpc(
        attachment=more.pop("attachment", ENTRY_SUBNET),
        transit_routes=lead,
        subnets=(subnet("subnet-tgw"), subnet("subnet-in"), *more.pop("subnets", ())),
        tables=(
            table("rtb-tgw", *routes, subnets=("subnet-tgw",)),
            table("rtb-in", *more.pop("in_routes", ()), subnets=("subnet-in",)),
            *more.pop("tables", ()),
        ),
        **more,
    )


TO_APPLIANCE, TO_FIREWALL = route("0.0.0.0/0", "eni-in"), route("0.0.0.0/0", "vpce-fw")
EXPRESS_TO_ENDPOINT = route("pl-express", "vpce-express")
ENI_IN = NetworkInterface("eni-in", "subnet-in", source_dest_check=False, instance_id="i-1")
ENI_OUT = NetworkInterface("eni-out", "subnet-1", source_dest_check=True, instance_id="i-1")
TWO_ARMED = {"network_interfaces": by_id(ENI_IN, ENI_OUT)}
FIREWALL = endpoint("vpce-fw", endpoint_type="gatewayloadbalancer", subnet_ids=("subnet-1",))
AT_ENTRY = replace(FIREWALL, subnet_ids=("subnet-in",))
CONSULTED_BEYOND = {
    "the other interface of an appliance": entered(TO_APPLIANCE, **TWO_ARMED),
    "the other interface, as the instance shows it": entered(
        TO_APPLIANCE,
        network_interfaces=by_id(ENI_IN),
        instances=by_id(
            Instance("i-1", "c7g.large", subnet_of_interface={"eni-in": "subnet-in", "eni-out": "subnet-1"})
        ),
    ),
    "the other interface of an appliance that also leads to a NAT": entered(
        TO_APPLIANCE, in_routes=(TO_NAT,), **TWO_ARMED
    ),
    "the other interface of an appliance whose own table has an endpoint": entered(
        TO_APPLIANCE, in_routes=(EXPRESS_TO_ENDPOINT,), vpc_endpoints=by_id(endpoint()), **TWO_ARMED
    ),
    "the other interface of an appliance behind another one": entered(
        route("0.0.0.0/0", "eni-first"),
        network_interfaces=by_id(
            NetworkInterface("eni-first", "subnet-tgw", source_dest_check=False, instance_id="i-0"),
            NetworkInterface("eni-second", "subnet-mid", source_dest_check=False, instance_id="i-0"),
            ENI_IN,
            ENI_OUT,
        ),
        subnets=(subnet("subnet-mid"),),
        tables=(table("rtb-mid", TO_APPLIANCE, subnets=("subnet-mid",)),),
    ),
    "a firewall's endpoint that is pending": entered(
        TO_FIREWALL, vpc_endpoints=by_id(replace(FIREWALL, state="pending")), firewalls=firewalls("vpce-fw")
    ),
    "a firewall's endpoint behind a route in a new state": entered(
        replace(TO_FIREWALL, state="filtered"), vpc_endpoints=by_id(FIREWALL), firewalls=firewalls("vpce-fw")
    ),
    "an appliance behind a list that cannot be read": entered(
        route("pl-unread", "eni-in"),
        network_interfaces=by_id(replace(ENI_IN, subnet_id="subnet-1")),
    ),
}


@pytest.mark.parametrize("network", CONSULTED_BEYOND.values(), ids=CONSULTED_BEYOND)
def test_table_beyond_a_hop_that_does_not_show_the_next_one_is_consulted(network: Snapshot) -> None:
    """An appliance sends traffic out through any of its interfaces, and an endpoint carries it when it is available."""
    assert found_in(network) == [Blocker.TRANSIT_TRAFFIC]


ANY_TABLE = {
    "interfaces unreadable": entered(TO_APPLIANCE),
    "an interface that is not listed": entered(TO_APPLIANCE, network_interfaces={}),
    "an interface whose subnet is not shown": entered(
        TO_APPLIANCE, network_interfaces=by_id(replace(ENI_IN, subnet_id=""))
    ),
    "the appliance's other interfaces are not shown": entered(
        TO_APPLIANCE, network_interfaces=by_id(ENI_IN), denied=("ec2:DescribeInstances",)
    ),
    "an endpoint that is not listed": entered(TO_FIREWALL),
    "an endpoint whose subnets are not shown": entered(
        TO_FIREWALL, vpc_endpoints=by_id(replace(FIREWALL, subnet_ids=())), firewalls=firewalls("vpce-fw")
    ),
    "an endpoint of a new type": entered(TO_FIREWALL, vpc_endpoints=by_id(replace(AT_ENTRY, endpoint_type="tunnel"))),
    "an appliance behind a Gateway Load Balancer": entered(TO_FIREWALL, vpc_endpoints=by_id(AT_ENTRY)),
    "such an appliance whose endpoint's table has another endpoint": entered(
        TO_FIREWALL, in_routes=(EXPRESS_TO_ENDPOINT,), vpc_endpoints=by_id(AT_ENTRY, endpoint())
    ),
    "such an appliance whose endpoint's table leads to an internet gateway": entered(
        TO_FIREWALL, in_routes=(route("0.0.0.0/0", "igw-1"),), vpc_endpoints=by_id(AT_ENTRY)
    ),
    "an endpoint whose subnet's table is not listed": entered(
        TO_FIREWALL, vpc_endpoints=by_id(replace(FIREWALL, subnet_ids=("subnet-9",))), firewalls=firewalls("vpce-fw")
    ),
    "a target that is not known": entered(route("0.0.0.0/0", "NewThing")),
    "a target that is not shown": entered(route("0.0.0.0/0", "")),
}


@pytest.mark.parametrize("network", ANY_TABLE.values(), ids=ANY_TABLE)
def test_any_table_may_be_consulted_beyond_what_is_not_known(network: Snapshot) -> None:
    """Traffic certainly comes, and may consult the table. Who knows that it does not can make this a warning."""
    assert found_in(network) == [Blocker.TRANSIT_UNKNOWN]
    message = evidence_of(planned(network), Blocker.TRANSIT_UNKNOWN)
    assert message.startswith(
        "stack parameter WarnOnly decides, because which route tables S3 Express traffic of other"
    )


KNOWN_BEYOND = {
    "no S3 Express traffic comes": entered(TO_FIREWALL, lead=()),
    "a target outside of the VPC": entered(route("0.0.0.0/0", "vgw-1")),
    "an appliance, and then the transit gateway": entered(
        TO_FIREWALL, in_routes=(route("0.0.0.0/0", "tgw-1"),), vpc_endpoints=by_id(AT_ENTRY)
    ),
    "an appliance, and then a NAT": entered(
        TO_FIREWALL,
        in_routes=(route("0.0.0.0/0", "nat-2"),),
        vpc_endpoints=by_id(AT_ENTRY),
    ),
    "a blackhole": entered(route("0.0.0.0/0", "vpce-gone", state="blackhole")),
    "an interface that forwards nothing": entered(
        TO_APPLIANCE, network_interfaces=by_id(replace(ENI_IN, source_dest_check=True), ENI_OUT)
    ),
    "an appliance with one interface": entered(TO_APPLIANCE, network_interfaces=by_id(ENI_IN)),
    "a firewall, and then an internet gateway": entered(
        TO_FIREWALL,
        in_routes=(route("0.0.0.0/0", "igw-1"),),
        vpc_endpoints=by_id(AT_ENTRY),
        firewalls=firewalls("vpce-fw"),
    ),
}


@pytest.mark.parametrize("network", KNOWN_BEYOND.values(), ids=KNOWN_BEYOND)
def test_other_tables_are_healed_where_the_path_of_the_traffic_is_known(network: Snapshot) -> None:
    """Tables that such traffic does not meet are those of workloads."""
    assert found_in(network) == []


def before_nat(hop: str, *in_routes: Route, **more: Any) -> Snapshot:
    """Return a VPC whose traffic of other VPCs crosses a hop, then the NAT, from which nothing leads back.

    subnet-1 is in the attachment. What is behind the hop is in subnet-in, or in subnet-out.
    """
    return vpc(
        route("0.0.0.0/0", hop),
        nat_routes=(),
        subnets=(subnet("subnet-in"), subnet("subnet-out"), subnet("subnet-x")),
        tables=(
            table("rtb-in", TO_NAT, *in_routes, subnets=("subnet-in",)),
            table("rtb-out", *more.pop("out_routes", ()), subnets=("subnet-out",)),
            table("rtb-x", BACK, subnets=("subnet-x",)),
        ),
        **more,
    )


ARMS = {"network_interfaces": by_id(ENI_IN, replace(ENI_OUT, subnet_id="subnet-out"))}
PROXY = {
    "vpc_endpoints": by_id(AT_ENTRY),
    "firewalls": firewalls("vpce-fw", is_proxy=True, nat_gateway_ids={"vpce-fw": "nat-1"}),
}
BACK_TO_A_TRANSLATOR = {
    "an appliance": before_nat("eni-in", BACK, network_interfaces=by_id(ENI_IN)),
    "the appliance's other interface": before_nat("eni-in", out_routes=(BACK,), **ARMS),
    "a Gateway Load Balancer endpoint": before_nat("vpce-fw", BACK, vpc_endpoints=by_id(AT_ENTRY)),
    "a NAT/Proxy firewall": before_nat("vpce-fw", BACK, **PROXY),
}


@pytest.mark.parametrize("network", BACK_TO_A_TRANSLATOR.values(), ids=BACK_TO_A_TRANSLATOR)
def test_way_back_from_an_appliance_that_may_translate_counts(network: Snapshot) -> None:
    """The NAT sends responses to the appliance, which is in this VPC, and the appliance sends them on."""
    assert found_in(network) == [Blocker.TRANSIT_UNKNOWN]


NO_WAY_BACK_TO_A_TRANSLATOR = {
    "an appliance": before_nat("eni-in", **ARMS),
    "a Gateway Load Balancer endpoint": before_nat("vpce-fw", vpc_endpoints=by_id(AT_ENTRY)),
    "a NAT/Proxy firewall": before_nat("vpce-fw", **PROXY),
    "a firewall that does not translate": before_nat(
        "vpce-fw", BACK, vpc_endpoints=by_id(AT_ENTRY), firewalls=firewalls("vpce-fw")
    ),
}


@pytest.mark.parametrize("network", NO_WAY_BACK_TO_A_TRANSLATOR.values(), ids=NO_WAY_BACK_TO_A_TRANSLATOR)
def test_nothing_comes_where_neither_a_nat_nor_a_translator_leads_back(network: Snapshot) -> None:
    """A firewall that forwards traffic unchanged gets no response from the NAT for another VPC."""
    assert found_in(network) == []


# --- what is not known on the way back -------------------------------------------------------------------------------


def hidden(**more: Any) -> Snapshot:
    """Return a VPC without any route to a gateway that is known, whose transit gateway leads S3 Express traffic to it."""
    return vpc(nat_routes=more.pop("nat_routes", ()), transit_routes=LEADS_HERE, **more)


S3_ENDPOINT = endpoint("vpce-s3", service_name="com.amazonaws.us-east-1.s3")
NOT_WHOLE = {"vpc_endpoints": by_id(replace(S3_ENDPOINT, route_table_ids=("rtb-9",)))}


def in_vpc(vpc_id: str, network: Snapshot, table_id: str = "rtb-nat") -> Snapshot:
    """Return the same network, in which a table shows another VPC than its subnet, or none."""
    tables = {**network.route_tables, table_id: replace(network.route_tables[table_id], vpc_id=vpc_id)}
    return replace(network, route_tables=tables)


HIDDEN_WAY_BACK = {
    "a new target": hidden(nat_routes=(NEW_TARGET,)),
    "no target": hidden(nat_routes=(NO_TARGET,)),
    "a table that is not listed": hidden(**NOT_WHOLE),
    "a table that does not show its VPC": in_vpc("", hidden(nat_routes=(BACK,))),
    "a table that shows its VPC in a new form": in_vpc("VPC 1", hidden(nat_routes=(BACK,))),
    "the table of the heal does not show its VPC": in_vpc("", hidden(nat_routes=(BACK,)), "rtb-1"),
    "the subnet of the heal does not show its VPC": hidden(nat_routes=(BACK,), subnets=(subnet(vpc_id=""),)),
}


@pytest.mark.parametrize("network", HIDDEN_WAY_BACK.values(), ids=HIDDEN_WAY_BACK)
def test_traffic_comes_where_the_way_back_is_hidden(network: Snapshot) -> None:
    """The transit gateway's tables decide, if something that is not known may lead back."""
    assert found_in(network) == [Blocker.TRANSIT_TRAFFIC]


def test_transit_gateways_tables_decide_even_if_no_table_leads_back() -> None:
    """Responses may return another way, such as over a VPN. If no table is known to lead here, nothing comes."""
    assert found_in(hidden()) == [Blocker.TRANSIT_TRAFFIC]
    assert found_in(vpc(nat_routes=(), transit_routes=(route("10.0.0.0/8", "tgw-attach-1"),))) == []
    assert found_in(vpc(nat_routes=(), transit_routes=None)) == []
    assert found_in(replace(hidden(), transit_gateway_route_tables=None)) == []


def test_a_target_that_is_not_known_adds_nothing_to_a_certain_concern() -> None:
    """It may be the transit gateway about which there is one already."""
    beside = vpc(nat_routes=(BACK, route("10.9.0.0/16", "NewThing")), transit_routes=LEADS_HERE)
    assert found_in(beside) == [Blocker.TRANSIT_TRAFFIC]


def test_connect_attachments_are_read_only_where_there_may_be_one() -> None:
    """The types of the attachments decide; one that is not known may be a Connect attachment."""
    network = vpc(transit_routes=(route("10.0.0.0/8", "tgw-attach-9"),))
    for resource_types, expected in (
        (["vpc"], False),
        (["connect"], True),
        (["tunnel"], True),
        (["vpc", "connect"], True),
        (["connect", "vpc"], True),
        ([""], True),
    ):
        attachments = by_id(
            *(
                replace(HERE, id=f"tgw-attach-{number}", resource_type=resource_type)
                for number, resource_type in enumerate(resource_types)
            )
        )
        assert has_connects(replace(network, transit_gateway_attachments=attachments)) is expected, resource_types


MAY_LEAD_BACK = {
    "a new target": unread(
        gateway=replace(NAT, subnet_id="subnet-x"),
        subnets=(subnet("subnet-x"),),
        tables=(table("rtb-x", NEW_TARGET, subnets=("subnet-x",)),),
    ),
    "no target, and no gateway that is known": vpc(nat_routes=(NO_TARGET,), attachment=None),
    "a new target, and no gateway that is known": vpc(nat_routes=(NEW_TARGET,), attachment=None),
    "a table that does not show its VPC": in_vpc("", vpc()),
    "an endpoint whose subnets are not shown": back_through(
        "vpce-fw", vpc_endpoints=by_id(replace(APPLIANCE, subnet_ids=()))
    ),
    "an interface whose subnet is not shown": back_through(
        "eni-2", network_interfaces=by_id(replace(SECOND, subnet_id=""))
    ),
}


@pytest.mark.parametrize("network", MAY_LEAD_BACK.values(), ids=MAY_LEAD_BACK)
def test_what_is_not_known_may_lead_back(network: Snapshot) -> None:
    """Nothing proves that no response can return."""
    assert found_in(network) == [Blocker.TRANSIT_UNKNOWN]


LATTICE_LIST = PrefixList("pl-lattice", "com.amazonaws.us-east-1.vpc-lattice", Family.IPV4, None)
READ_LIST = replace(LATTICE_LIST, cidrs=(parse_cidr("129.224.0.0/17"),))
LEADS_NO_WHERE_ELSE = {
    "VPC Lattice's list": vpc(
        nat_routes=(route("pl-lattice", "VpcLattice"),), prefix_lists=by_id(EXPRESS_LIST, LATTICE_LIST)
    ),
    "link-local addresses": vpc(nat_routes=(route("169.254.171.0/24", "VpcLattice"),)),
    "reserved IPv6 addresses": vpc(nat_routes=(route("fd00:ec2:80::/64", "VpcLattice"),)),
    "a block of VPC Lattice's list": vpc(
        nat_routes=(route("129.224.0.0/17", "VpcLattice"),), prefix_lists=by_id(EXPRESS_LIST, READ_LIST)
    ),
    "a blackhole": vpc(nat_routes=(replace(NEW_TARGET, state="blackhole"),)),
    "a new target in another table than the NAT's": unread(
        subnets=(subnet("subnet-x"),), tables=(table("rtb-x", NEW_TARGET, subnets=("subnet-x",)),)
    ),
    "a new target in a table through which traffic would leave again": vpc(
        nat_routes=(),
        attachment=None,
        subnets=(subnet("subnet-x"),),
        tables=(table("rtb-x", route("0.0.0.0/0", "NewThing"), subnets=("subnet-x",)),),
    ),
}


@pytest.mark.parametrize("network", LEADS_NO_WHERE_ELSE.values(), ids=LEADS_NO_WHERE_ELSE)
def test_unknown_target_that_leads_no_response_back_blocks_nothing(network: Snapshot) -> None:
    """The addresses of AWS's own lists, and those that it reserves in a VPC, are never those of other VPCs."""
    assert found_in(network) == []


def test_message_names_the_target_that_is_not_known() -> None:
    """Nobody but the owner knows what it is."""
    for key, words in (
        ("a new target, and no gateway that is known", "because NewThing is a route's target of a form that is not"),
        ("no target, and no gateway that is known", "because a route does not show its target, which may be a Cloud"),
    ):
        message = evidence_of(planned(MAY_LEAD_BACK[key]), Blocker.TRANSIT_UNKNOWN)
        assert message.startswith(f"stack parameter WarnOnly decides, {words}")
    network = vpc(nat_routes=(), attachment=None, gateway=replace(NAT, subnet_id="subnet-9"), **NOT_WHOLE)
    message = evidence_of(planned(network), Blocker.TRANSIT_UNKNOWN)
    assert message.startswith("stack parameter WarnOnly decides, because vpce-s3 names rtb-9, which is not listed")


# --- transit gateways' routes whose attachment is not known ----------------------------------------------------------

UNCLEAR_ROUTES = {
    "not shown": (route("0.0.0.0/0", ""),),
    "a new form": (route("0.0.0.0/0", "attachment-1"),),
    "not shown, for a part": (route("0.0.0.0/0", "tgw-attach-2"), route("198.51.100.128/25", "")),
}


@pytest.mark.parametrize("routes", UNCLEAR_ROUTES.values(), ids=UNCLEAR_ROUTES)
def test_transit_gateways_route_without_a_known_attachment_may_lead_here(routes: tuple[Route, ...]) -> None:
    """It is not known that the route leads elsewhere."""
    network = vpc(transit_routes=routes)
    assert found_in(network) == [Blocker.TRANSIT_UNKNOWN]
    message = evidence_of(planned(network), Blocker.TRANSIT_UNKNOWN)
    assert message.startswith("stack parameter WarnOnly decides, because tgw-rtb-1 has a route to S3 Express")


def test_such_a_route_to_other_addresses_does_not_matter() -> None:
    """Neither does a blackhole, nor one that a longer route hides, nor one to an attachment of a new form that is listed."""
    elsewhere = route("198.51.100.0/24", "tgw-attach-2")
    for routes in (
        (route("10.1.0.0/16", ""),),
        (route("0.0.0.0/0", "", state="blackhole"),),
        (route("0.0.0.0/0", ""), elsewhere),
    ):
        assert found_in(vpc(transit_routes=routes)) == []
    other = replace(HERE, id="attachment-2", resource_id="vpc-2")
    network = vpc(transit_routes=(route("0.0.0.0/0", "attachment-2"),))
    assert found_in(replace(network, transit_gateway_attachments=by_id(HERE, other))) == []


# --- Connect attachments ---------------------------------------------------------------------------------------------

CONNECT = TransitGatewayAttachment("tgw-attach-9", "tgw-1", "connect", "tgw-attach-1")
APPLIANCE_HERE = NetworkInterface("eni-app", "subnet-1", source_dest_check=False, instance_id="i-app")
APPLIANCE_APART = replace(APPLIANCE_HERE, subnet_id="subnet-app")
TO_CONNECT = (route("0.0.0.0/0", "tgw-attach-9"),)


def tunneled(
    lead: tuple[Route, ...] | None = TO_CONNECT,
    *,
    transport: str | None = "tgw-attach-1",
    types: dict[str, str] | None = None,
    listed: tuple[TransitGatewayAttachment, ...] = (CONNECT,),
    interfaces: tuple[NetworkInterface, ...] = (APPLIANCE_HERE,),
    **more: Any,
) -> Snapshot:
    """Return a VPC whose attachment has a subnet of its own that leads nowhere, with a Connect attachment tgw-attach-9.

    lead are the routes of the transit gateway's table, and types what they show. rtb-1 governs subnet-1, as ever.
    """
    network = vpc(
        attachment=ENTRY_SUBNET,
        transit_routes=lead,
        subnets=(subnet("subnet-tgw"), subnet("subnet-app"), *more.pop("subnets", ())),
        tables=(
            table("rtb-tgw", subnets=("subnet-tgw",)),
            table("rtb-app", BACK, subnets=("subnet-app",)),
            *more.pop("tables", ()),
        ),
        transit_gateway_connects=None if transport is None else {"tgw-attach-9": frozenset({transport})},
        network_interfaces=by_id(*interfaces),
        interfaces_listed_in=more.pop("interfaces_listed_in", frozenset({"vpc-1"})),
        **more,
    )
    shown = {"tgw-attach-9": "connect"} if types is None else types
    tables = network.transit_gateway_route_tables
    if tables:
        tables = by_id(replace(tables["tgw-rtb-1"], attachment_types=shown))
    attachments = {**(network.transit_gateway_attachments or {}), **by_id(*listed)}
    return replace(network, transit_gateway_attachments=attachments, transit_gateway_route_tables=tables)


OTHER_TRANSPORT = "tgw-attach-2"
OF_NEW_FORM = replace(CONNECT, id="attach-9")
INTO_TUNNELS = {
    "over this VPC's attachment": tunneled(),
    "whose transport cannot be read": tunneled(transport=None),
    "whose transport is not shown": tunneled(transport=""),
    "whose transport has a new form": tunneled(transport="attachment 1"),
    "that is not among the readable ones": replace(tunneled(), transit_gateway_connects={}),
    "that only the route shows": tunneled(listed=()),
    "that only the list shows": tunneled(types={}),
    "of a type that is not known": tunneled(
        transport=None, types={"tgw-attach-9": "tunnel"}, listed=(replace(CONNECT, resource_type="tunnel"),)
    ),
    "of a type that is not shown": tunneled(transport=None, types={"tgw-attach-9": ""}, listed=()),
    "for a part": tunneled((route("0.0.0.0/0", "tgw-attach-2"), route("198.51.100.128/25", "tgw-attach-9"))),
    "while interfaces cannot be read": tunneled(interfaces=(), interfaces_listed_in=frozenset()),
    "with an interface whose subnet is not shown": tunneled(interfaces=(replace(APPLIANCE_HERE, subnet_id=""),)),
    "behind a firewall": tunneled(
        interfaces=(APPLIANCE_APART,),
        vpc_endpoints=by_id(endpoint("vpce-fw", endpoint_type="gatewayloadbalancer", subnet_ids=("subnet-1",))),
        firewalls=firewalls("vpce-fw"),
        route_tables={
            **tunneled().route_tables,
            "rtb-app": table("rtb-app", route("0.0.0.0/0", "vpce-fw"), subnets=("subnet-app",)),
        },
    ),
    "although nothing leads back from the NAT": tunneled(nat_routes=()),
    "while the transit gateway's tables cannot be read": tunneled(None),
    "of an unreadable list": tunneled((route("pl-unread", "tgw-attach-9"),)),
}


@pytest.mark.parametrize("network", INTO_TUNNELS.values(), ids=INTO_TUNNELS)
def test_traffic_that_comes_in_a_tunnel_may_consult_the_table_of_the_appliance(network: Snapshot) -> None:
    """Whether the appliance translates it to an address that the endpoint serves is not known: TRANSIT_UNKNOWN."""
    assert found_in(network) == [Blocker.TRANSIT_UNKNOWN]


PAST_THE_TABLE = {
    "over another VPC's attachment": tunneled(transport=OTHER_TRANSPORT),
    "whose transport is listed, in a new form": tunneled(transport="attach-9", listed=(CONNECT, OF_NEW_FORM)),
    "to which no route for the service leads": tunneled((route("10.1.0.0/16", "tgw-attach-9"),)),
    "behind a blackhole": tunneled((route("0.0.0.0/0", "tgw-attach-9", state="blackhole"),)),
    "which a longer route hides": tunneled((*TO_CONNECT, route("198.51.100.0/24", "tgw-attach-2"))),
    "to another type of attachment": tunneled(
        types={"tgw-attach-9": "vpn"}, listed=(replace(CONNECT, resource_type="vpn"),), transport=None
    ),
    "of another transit gateway": tunneled(None, listed=(replace(CONNECT, transit_gateway_id="tgw-2"),)),
    "whose appliance is in another subnet": tunneled(interfaces=(APPLIANCE_APART,)),
    "without an appliance": tunneled(interfaces=()),
    "with an interface that forwards nothing": tunneled(interfaces=(replace(APPLIANCE_HERE, source_dest_check=True),)),
    "with an interface of AWS": tunneled(interfaces=(replace(APPLIANCE_HERE, is_managed=True),)),
    "unreadable, and nothing leads back": tunneled(None, nat_routes=()),
}


def test_a_tunnel_adds_nothing_to_a_certain_concern_about_its_gateway() -> None:
    """The table is blocked once for each transit gateway."""
    parts = (route("0.0.0.0/0", "tgw-attach-1"), route("198.51.100.128/25", "tgw-attach-9"))
    network = tunneled(parts)
    here = replace(network, transit_gateway_attachments=by_id(HERE, CONNECT))
    assert found_in(here) == [Blocker.TRANSIT_TRAFFIC]


@pytest.mark.parametrize("network", PAST_THE_TABLE.values(), ids=PAST_THE_TABLE)
def test_table_that_no_tunneled_traffic_consults_is_healed(network: Snapshot) -> None:
    """Connect attachments of other VPCs, and tables that no appliance uses, block nothing."""
    assert found_in(network) == []


def test_message_about_a_connect_attachment_says_what_would_decide() -> None:
    """The permission that shows its transport, or that only somebody who knows the appliance can decide."""
    message = evidence_of(planned(tunneled()), Blocker.TRANSIT_UNKNOWN)
    assert message.startswith(
        "stack parameter WarnOnly decides, because tgw-rtb-1 sends S3 Express traffic of other VPCs"
    )
    assert "to the Connect attachment tgw-attach-9, whose appliance in vpc-1 may translate it" in message
    message = evidence_of(planned(tunneled(transport=None)), Blocker.TRANSIT_UNKNOWN)
    assert message.startswith(
        "ec2:DescribeTransitGatewayConnects in the account of the Connect attachment would decide"
    )
    assert "tgw-attach-9, which may run over tgw-attach-1" in message


def test_traffic_that_leaves_through_the_transit_gateway_behind_an_appliance_consults_its_table() -> None:
    """An appliance may inspect the traffic of other VPCs and send it back, to a NAT in another VPC."""
    tables = {"rtb-1": table("rtb-1", route("0.0.0.0/0", "tgw-1"), subnets=("subnet-1",))}
    network = tunneled(nat_routes=())
    network = replace(network, route_tables={**network.route_tables, **tables})
    assert concerns_of(network) == [Blocker.TRANSIT_UNKNOWN]


def concerns_of(network: Snapshot) -> list[Blocker]:
    """Return what traffic of other VPCs would block if rtb-1 were healed, whatever the verdict on its subnet is."""
    lists = network.express_prefix_lists
    return [
        found.code for found in transit_concerns(Tracer(network), network.route_tables["rtb-1"], "vpc-1", lists, "")
    ]


def test_any_account_that_shows_the_transport_of_a_connect_attachment_decides() -> None:
    """Accounts that disagree may each be right; one that does not show it says nothing."""
    here, elsewhere, hidden_transport = (
        tunneled(),
        tunneled(transport=OTHER_TRANSPORT),
        tunneled(transport=""),
    )
    for first, second, expected in (
        (here, elsewhere, [Blocker.TRANSIT_UNKNOWN]),
        (elsewhere, here, [Blocker.TRANSIT_UNKNOWN]),
        (elsewhere, hidden_transport, []),
        (hidden_transport, elsewhere, []),
    ):
        assert found_in(merged([first, replace(second, account_id="444455556666")])) == expected


def test_endpoint_in_the_table_of_an_appliance_may_cut_other_vpcs_off() -> None:
    """It is never certain. Without a route to the Connect attachment, nothing shows that the appliance is used."""
    endpoints = by_id(endpoint())
    tables = {"rtb-1": table("rtb-1", TO_NAT, TO_ENDPOINT, subnets=("subnet-1",))}

    def with_endpoint(network: Snapshot) -> Snapshot:
        return replace(network, route_tables={**network.route_tables, **tables}, vpc_endpoints=endpoints)

    assert cut_off_in(with_endpoint(tunneled())) == [("rtb-1", "vpce-express", "tgw-attach-1", False)]
    assert cut_off_in(with_endpoint(tunneled(transport=OTHER_TRANSPORT))) == []
    assert cut_off_in(with_endpoint(tunneled(None))) == []


# --- a list of S3 Express that is not known as a whole ---------------------------------------------------------------

PARTIAL = replace(EXPRESS_LIST, is_partial=True)


def test_entries_that_are_not_known_may_be_led_here() -> None:
    """Other addresses of the service may be where the transit gateway leads here. What is known stays certain."""
    part = (route("203.0.113.0/24", "tgw-attach-1"),)
    assert found_in(vpc(transit_routes=part)) == []
    for entries in (PARTIAL, replace(EXPRESS_LIST, cidrs=None)):
        assert concerns_of(vpc(transit_routes=part, prefix_lists=by_id(entries))) == [Blocker.TRANSIT_UNKNOWN]
    message = evidence_of(planned(vpc(transit_routes=part, prefix_lists=by_id(PARTIAL))), Blocker.TRANSIT_UNKNOWN)
    assert message.startswith("ec2:GetManagedPrefixListEntries would decide")
    assert Blocker.TRANSIT_TRAFFIC in found_in(vpc(transit_routes=LEADS_HERE, prefix_lists=by_id(PARTIAL)))
    assert Blocker.TRANSIT_UNKNOWN not in found_in(
        vpc(transit_routes=(route("0.0.0.0/0", "tgw-attach-2"),), prefix_lists=by_id(PARTIAL))
    )


def test_hub_of_entries_that_are_not_known_is_not_certain() -> None:
    """Only an address that is known to be the service's makes it certain."""
    part = (route("203.0.113.0/24", "tgw-attach-1"),)
    assert cut_off_in(healed(transit_routes=part)) == []
    found = cut_off_in(healed(transit_routes=part, prefix_lists=by_id(PARTIAL)))
    assert found == [("rtb-1", "vpce-express", "tgw-attach-1", False)]
    found = cut_off_in(healed(transit_routes=LEADS_HERE, prefix_lists=by_id(PARTIAL)))
    assert found == [("rtb-1", "vpce-express", "tgw-attach-1", True)]


# --- address families ------------------------------------------------------------------------------------------------

IPV6_LIST = PrefixList(
    "pl-express6", "com.amazonaws.us-east-1.ipv6.s3express", Family.IPV6, (parse_cidr("2001:db8::/36"),)
)
LEADS_IPV6 = (route("::/0", "tgw-attach-1"),)


def both_families(*, has_ipv6: bool, lead: tuple[Route, ...] | None, **more: Any) -> Snapshot:
    """Return a VPC whose workloads lead IPv6 traffic to an egress-only internet gateway; nothing leads IPv4 back."""
    return vpc(
        TO_NAT,
        route("::/0", "eigw-1"),
        BACK,
        nat_routes=(),
        transit_routes=lead,
        prefix_lists=by_id(EXPRESS_LIST, IPV6_LIST),
        subnets=(subnet(has_ipv6=has_ipv6),),
        **more,
    )


def test_only_address_families_of_the_endpoint_count() -> None:
    """An endpoint adds routes to the lists of its own IP address type."""
    blocked = (Blocker.TRANSIT_TRAFFIC, LEADS_IPV6), (Blocker.TRANSIT_UNKNOWN, None)
    for code, lead in blocked:
        assert found_in(both_families(has_ipv6=False, lead=lead)) == []
        plan = planned(both_families(has_ipv6=True, lead=lead))
        assert (plan.ip_address_type, [found.code for found in plan.blockers]) == ("dualstack", [code])
        existing = by_id(endpoint(ip_address_type="ipv4"))
        plan = planned(both_families(has_ipv6=False, lead=lead, vpc_endpoints=existing))
        assert (plan.action, plan.blockers) == (PlanAction.ASSOCIATE, ())
