"""What a plan does: nothing, associate, create and associate."""

from dataclasses import replace

import pytest

from express_path.domain.heal.ledger import LedgerView, TableRecord, VpcRecord
from express_path.domain.heal.plan import is_healable
from express_path.domain.heal.records import FULL_ACCESS, Action, Blocker
from express_path.domain.network.resources import (
    NetworkInterface,
    PrefixList,
    Subnet,
    TransitGatewayAttachment,
    TransitGatewayRouteTable,
)
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.parameters import RuleParameters
from tests.support.heal_situation import (
    DUAL_STACK,
    EXPRESS_LIST_6,
    IPV6_ONLY,
    TO_NAT,
    blockers,
    network,
    planned,
)
from tests.support.make import EXPRESS, EXPRESS_LIST, NEIGHBOUR, by_id, endpoint, route, subnet, table, verdict_on

HEALABLE = {
    "NAT_GATEWAY",
    "NAT_INSTANCE",
    "NAT_BEHIND_APPLIANCE",
    "NAT_BEYOND_TRANSIT_GATEWAY",
    "PARTLY_NAT",
}


def nat_instance() -> Snapshot:
    """The way out is an instance in a public subnet that forwards."""
    return network(
        route("0.0.0.0/0", "eni-1"),
        other_subnets=(subnet("subnet-public"),),
        tables=(table("rtb-public", route("0.0.0.0/0", "igw-1"), subnets=("subnet-public",)),),
        network_interfaces=by_id(NetworkInterface("eni-1", "subnet-public", source_dest_check=False)),
    )


def appliance() -> Snapshot:
    """The way out is a firewall, behind which is a NAT gateway."""
    firewall = endpoint("vpce-firewall", endpoint_type="gatewayloadbalancer", subnet_ids=("subnet-firewall",))
    return network(
        route("0.0.0.0/0", "vpce-firewall"),
        endpoints=(firewall,),
        other_subnets=(subnet("subnet-firewall"),),
        tables=(table("rtb-firewall", TO_NAT, subnets=("subnet-firewall",)),),
    )


def transit_gateway() -> Snapshot:
    """The way out is a transit gateway, behind which is a NAT gateway of another VPC."""

    def attachment(name: str, subnet_id: str) -> TransitGatewayAttachment:
        attached = TransitGatewayAttachment(
            f"tgw-attach-{name}", "tgw-1", "vpc", f"vpc-{name}", subnet_ids=(subnet_id,)
        )
        return replace(attached, route_table_id="tgw-rtb-1")

    return network(
        route("0.0.0.0/0", "tgw-1"),
        other_subnets=(subnet("subnet-egress", "vpc-2"),),
        tables=(table("rtb-egress", TO_NAT, vpc_id="vpc-2", subnets=("subnet-egress",)),),
        transit_gateway_attachments=by_id(attachment("1", "subnet-1"), attachment("2", "subnet-egress")),
        transit_gateway_route_tables=by_id(
            TransitGatewayRouteTable("tgw-rtb-1", (route("0.0.0.0/0", "tgw-attach-2"),))
        ),
    )


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (network(), Reason.NAT_GATEWAY),
        (nat_instance(), Reason.NAT_INSTANCE),
        (appliance(), Reason.NAT_BEHIND_APPLIANCE),
        (transit_gateway(), Reason.NAT_BEYOND_TRANSIT_GATEWAY),
    ],
    ids=lambda value: value if isinstance(value, Reason) else "",
)
def test_every_kind_of_nat_is_healed(found: Snapshot, reason: Reason) -> None:
    """Whatever kind of NAT is on the way, an endpoint's route in the subnet's own table takes the traffic off it."""
    assert verdict_on(found).reason is reason
    plan = planned(found)
    assert (plan.action, plan.blockers, plan.verdict.reason) == (Action.CREATE_AND_ASSOCIATE, (), reason)


@pytest.mark.parametrize("reason", Reason)
def test_only_paths_over_a_nat_are_healable(reason: Reason) -> None:
    """Heals are for the reasons of NATs and for PARTLY_NAT, and for no other."""
    assert is_healable(replace(verdict_on(network()), reason=reason)) is (reason in HEALABLE)


@pytest.mark.parametrize(
    "found",
    [
        network(TO_NAT, route("pl-express", "vpce-express"), endpoints=(endpoint(),)),
        network(route("0.0.0.0/0", "igw-1")),
        network(route("10.0.0.0/16", "local")),
        network(route("0.0.0.0/0", "vgw-1")),
        network(lists=()),
        network(subnets=(subnet("subnet-2"),)),
    ],
    ids=["endpoint", "internet gateway", "no route", "unresolved", "service not offered", "subnet deleted"],
)
def test_nothing_is_done_without_a_nat(found: Snapshot) -> None:
    """A subnet that is not NON_COMPLIANT needs no heal, even if other subnets are blocked."""
    plan = planned(found)
    assert (plan.action, plan.blockers, plan.warnings, plan.patches) == (Action.NOTHING_TO_DO, (), (), {})


@pytest.mark.parametrize(
    ("found", "parameters"),
    [
        (network(route("0.0.0.0/0", "igw-1")), RuleParameters(public_subnets=Compliance.NON_COMPLIANT)),
        (network(route("0.0.0.0/0", "vgw-1")), RuleParameters(unresolved_egress=Compliance.NON_COMPLIANT)),
    ],
    ids=["internet gateway", "unresolved"],
)
def test_what_is_non_compliant_without_a_nat_is_not_healed(found: Snapshot, parameters: RuleParameters) -> None:
    """NOT_A_NAT_PATH blocks where the rule's parameters alone make a path NON_COMPLIANT, and the verdict says why."""
    plan = planned(found, parameters=parameters)
    assert (plan.action, blockers(plan)) == (Action.BLOCKED, [Blocker.NOT_A_NAT_PATH])
    assert plan.blockers[0].evidence == plan.verdict.annotation


def test_subnet_of_another_account_is_not_healed() -> None:
    """NOT_OWNED blocks: the owner of a shared subnet is responsible for its route table."""
    plan = planned(network(subnets=(subnet(owner_id=NEIGHBOUR),)))
    assert (plan.action, blockers(plan)) == (Action.BLOCKED, [Blocker.NOT_OWNED])


@pytest.mark.parametrize(
    ("found", "parameters"),
    [
        (network(subnets=(subnet(tags={"express-path:exclude": ""}),)), RuleParameters()),
        (network(tags={"team": "db"}), RuleParameters(exclude_tag="team=db")),
        (network(), RuleParameters(vpc_ids=frozenset({"vpc-2"}))),
    ],
    ids=["subnet's tag", "table's tag", "vpcIds"],
)
def test_excluded_subnet_is_not_healed(found: Snapshot, parameters: RuleParameters) -> None:
    """EXCLUDED blocks, by whichever parameter the subnet is excluded."""
    plan = planned(found, parameters=parameters)
    assert (plan.action, blockers(plan)) == (Action.BLOCKED, [Blocker.EXCLUDED])


def test_table_of_an_excluded_subnet_is_not_changed_for_another() -> None:
    """A heal moves the traffic of every subnet of its table, so one that is left out blocks it, and is named."""
    left_out = subnet("subnet-2", tags={"express-path:exclude": "until spring"})
    plan = planned(network(subnets=(subnet(), left_out)))
    assert (plan.action, blockers(plan)) == (Action.BLOCKED, [Blocker.EXCLUDED])
    assert plan.blockers[0].evidence.startswith("rtb-1 also governs subnet-2,")
    elsewhere = network(other_subnets=(left_out,), tables=(table("rtb-2", TO_NAT, subnets=("subnet-2",)),))
    assert planned(elsewhere).action is Action.CREATE_AND_ASSOCIATE


def test_existing_endpoint_is_associated() -> None:
    """If the VPC has the endpoint, the plan names it and its CLI patch, and does not create a second one."""
    plan = planned(network(endpoints=(endpoint("vpce-1"),)))
    assert (plan.action, plan.endpoint_id, plan.service_name, plan.ip_address_type) == (
        Action.ASSOCIATE,
        "vpce-1",
        EXPRESS,
        "ipv4",
    )
    assert plan.policy == ""


def test_new_endpoint_is_described_in_full() -> None:
    """A VPC without the endpoint gets one, with the configured policy."""
    plan = planned(network(), policy='{"Statement":[]}')
    assert (plan.action, plan.endpoint_id, plan.service_name) == (Action.CREATE_AND_ASSOCIATE, None, EXPRESS)
    assert (plan.policy, plan.ip_address_type) == ('{"Statement":[]}', "ipv4")


def test_endpoint_that_an_undo_deletes_is_not_used() -> None:
    """An undo records the deletion first, so that no heal starts to use the endpoint in the meantime."""
    ledger = LedgerView(TableRecord("rtb-1"), VpcRecord("vpc-1", deleted_ids=frozenset({"vpce-1"})))
    plan = planned(network(endpoints=(endpoint("vpce-1"),)), ledger=ledger)
    assert (plan.action, plan.endpoint_id) == (Action.CREATE_AND_ASSOCIATE, None)


def test_new_endpoint_allows_everything_unless_told_otherwise() -> None:
    """Without a configured policy, the endpoint has the one that EC2 would give it."""
    assert planned(network()).policy == FULL_ACCESS


@pytest.mark.parametrize(
    ("subnets", "lists", "expected"),
    [
        ((subnet(),), (EXPRESS_LIST, EXPRESS_LIST_6), "ipv4"),
        ((DUAL_STACK,), (EXPRESS_LIST, EXPRESS_LIST_6), "dualstack"),
        ((IPV6_ONLY,), (EXPRESS_LIST, EXPRESS_LIST_6), "ipv6"),
        ((DUAL_STACK,), (EXPRESS_LIST,), "ipv4"),
        ((DUAL_STACK, subnet("subnet-2")), (EXPRESS_LIST, EXPRESS_LIST_6), "ipv4"),
        ((DUAL_STACK, replace(IPV6_ONLY, id="subnet-2")), (EXPRESS_LIST, EXPRESS_LIST_6), "ipv4"),
        ((DUAL_STACK, replace(DUAL_STACK, id="subnet-2")), (EXPRESS_LIST, EXPRESS_LIST_6), "dualstack"),
    ],
    ids=["IPv4", "dual stack", "IPv6 only", "no IPv6 list", "IPv4 beside", "IPv6-only beside", "all dual stack"],
)
def test_address_type_follows_all_subnets_of_the_table(
    subnets: tuple[Subnet, ...], lists: tuple[PrefixList, ...], expected: str
) -> None:
    """An address type needs every subnet of the table to have it, so ipv4 unless all have IPv6 (or nothing else)."""
    found = network(TO_NAT, route("::/0", "nat-1"), subnets=subnets, lists=lists)
    plan = planned(found)
    assert plan.ip_address_type == expected


def test_address_type_does_not_ask_other_tables() -> None:
    """Subnets of other route tables are ignored."""
    other = table("rtb-2", TO_NAT, subnets=("subnet-2",))
    found = network(
        subnets=(DUAL_STACK,),
        lists=(EXPRESS_LIST, EXPRESS_LIST_6),
        other_subnets=(subnet("subnet-2"),),
        tables=(other,),
    )
    assert planned(found).ip_address_type == "dualstack"
