"""For random networks: a plan that is not blocked cures, as EC2 would carry it out."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import event, given, settings

from express_path.domain.heal.records import Plan, PlanAction
from express_path.domain.network.resources import Rank, Route, RouteTable, TargetKind, VpcEndpoint
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.origins import families_of
from express_path.domain.path.reasons import Compliance
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator
from express_path.domain.verdict.parameters import RuleParameters
from tests.support.drawing import SEEDS, Draw, composite, lists, mostly, sampled_from
from tests.support.heal_situation import EXPRESS_LIST_6, blockers, network, planned
from tests.support.make import EXPRESS_LIST, endpoint, route, subnet

pytestmark = pytest.mark.no_cover

FAMILIES = {"ipv4": {"IPv4"}, "ipv6": {"IPv6"}, "dualstack": {"IPv4", "IPv6"}}


class RefusedError(Exception):
    """What EC2 answers to a change that it does not make: the error code."""


RANKS, STATES = mostly(Rank.STATIC, Rank.PROPAGATED), mostly("active", "blackhole")
TARGETS = sampled_from(["nat-1", "nat-1", "nat-2", "igw-1", "vgw-1", "local"])
DESTINATIONS = sampled_from(
    ["198.51.100.0/25", "198.51.100.0/24", "198.51.0.0/16", "198.51.100.7/32", "2001:db8::/36", "2001:db8::/40"]
)
LISTS = sampled_from([(EXPRESS_LIST,), (EXPRESS_LIST, EXPRESS_LIST_6), (EXPRESS_LIST, EXPRESS_LIST_6)])
FAMILIES_OF_SUBNETS = sampled_from(
    [
        *[{}, {}, {"has_ipv6": True}, {"has_ipv6": True}, {"has_ipv6": True, "ipv6_native": True}],
        {"has_ipv6": True, "ipv6_native": True, "dns64": True},
    ]
)
ENDPOINT_IDS = lists(sampled_from(["vpce-1", "vpce-2"]), max_size=2, unique=True)
ADDRESS_TYPES = sampled_from(["ipv4", "ipv4", "dualstack", "ipv6"])
ENDPOINT_STATES = sampled_from(["available", "available", "pending", "deleted"])


@composite
def networks(draw: Draw) -> Snapshot:
    """A table of one to three subnets that leads to NATs, perhaps past longer routes, and up to two endpoints."""
    endpoints = [
        endpoint(endpoint_id, ip_address_type=draw(ADDRESS_TYPES), state=draw(ENDPOINT_STATES))
        for endpoint_id in draw(ENDPOINT_IDS)
    ]
    routes = [route("0.0.0.0/0", "nat-1")]
    routes += [
        route(destination, draw(sampled_from(["nat-2", "igw-1"])))
        for destination in draw(sampled_from([(), ("::/0",)]))
    ]
    routes += [
        route(destination, draw(TARGETS), rank=draw(RANKS), state=draw(STATES))
        for destination in draw(lists(DESTINATIONS, max_size=1, unique=True))
    ]
    for list_id in draw(sampled_from([(), (), (), ("pl-express",), ("pl-express6",)])):
        routes.append(route(list_id, draw(sampled_from(["nat-1", *(one.id for one in endpoints)]))))
    families = draw(lists(FAMILIES_OF_SUBNETS, min_size=1, max_size=3))
    subnets = tuple(subnet(f"subnet-{place + 1}", **flags) for place, flags in enumerate(families))
    return network(*routes, subnets=subnets, endpoints=tuple(endpoints), lists=draw(LISTS))


def carried_out(plan: Plan, before: Snapshot) -> Snapshot:
    """The network after the runbook's two changes, as EC2's pages say; RefusedError where it would not make them."""
    tracer = Tracer(before)
    table = before.route_tables[str(plan.verdict.route_table_id)]
    if plan.action is PlanAction.CREATE_AND_ASSOCIATE:
        endpoint = VpcEndpoint(
            "vpce-new", table.vpc_id, "gateway", plan.service_name, "available", plan.ip_address_type
        )
    else:
        endpoint = replace(before.vpc_endpoints[str(plan.endpoint_id)], state="available")
    if endpoint.vpc_id != table.vpc_id:
        raise RefusedError("InvalidParameter")
    for governed in before.subnets.values():
        if tracer.governing_table(governed) is table:
            _check_families(endpoint.ip_address_type, *families_of(governed)[:2])
    associated = _with_routes(table, endpoint, before)
    return replace(
        before,
        vpc_endpoints={**before.vpc_endpoints, endpoint.id: endpoint},
        route_tables={**before.route_tables, table.id: associated},
    )


def _check_families(ip_address_type: str, ipv4: bool, ipv6: bool) -> None:
    """https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-ip-address-type."""
    allowed = {"ipv4": True, "ipv6": ipv6 and not ipv4, "dualstack": ipv4 and ipv6}
    if not allowed[ip_address_type]:
        raise RefusedError("InvalidParameter")


def _with_routes(table: RouteTable, endpoint: VpcEndpoint, network: Snapshot) -> RouteTable:
    """A table has one route to a destination (RouteAlreadyExists)."""
    added = []
    for prefix_list in network.express_prefix_lists:
        if prefix_list.family.value in FAMILIES[endpoint.ip_address_type]:
            there = [route for route in table.routes if route.destination == prefix_list.id]
            if any(route.target_id != endpoint.id for route in there):
                raise RefusedError("RouteAlreadyExists")
            added += [] if there else [Route(prefix_list.id, endpoint.id, TargetKind.VPC_ENDPOINT)]
    return replace(table, routes=(*table.routes, *added))


@settings(max_examples=400)
@given(seed=SEEDS)
def test_plan_that_is_not_blocked_cures(seed: int) -> None:
    """After EC2 applies the plan's change, the evaluator returns COMPLIANT."""
    found = networks()(Random(seed))
    evaluator = Evaluator(Tracer(found), RuleParameters())
    plan = planned(found)
    event(f"{plan.action} {','.join(sorted(set(blockers(plan))))}")
    if plan.action in (PlanAction.ASSOCIATE, PlanAction.CREATE_AND_ASSOCIATE):
        after = evaluator.after(carried_out(plan, found)).verdict("subnet-1")
        assert after.compliance is Compliance.COMPLIANT
    elif plan.action is PlanAction.NOTHING_TO_DO:
        assert plan.verdict.compliance is not Compliance.NON_COMPLIANT
    else:
        assert plan.blockers
