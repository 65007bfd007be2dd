"""Traffic of other VPCs: it blocks the heal of a table that it consults, and of no other table."""

from dataclasses import replace
from typing import Any

import pytest

from express_path.domain.heal.records import Action, Blocker
from express_path.domain.heal.transit import cut_off
from express_path.domain.network.addresses import Family
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
    assert (plan.action is Action.CREATE_AND_ASSOCIATE) is (not plan.blockers)
    return [found.code for found in plan.blockers]


# --- the transit gateway's tables can be read ------------------------------------------------------------------------


def test_hub_is_blocked() -> None:
    """TRANSIT_TRAFFIC names the tables, the attachment, and what to do first; WarnOnly cannot turn it off."""
    plan = planned(vpc(transit_routes=LEADS_HERE))
    [found] = plan.blockers
    assert (plan.action, found.code, found.resource) == (Action.BLOCKED, Blocker.TRANSIT_TRAFFIC, "rtb-1")
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
        Action.CREATE_AND_ASSOCIATE,
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
