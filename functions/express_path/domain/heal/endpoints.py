"""The endpoint of a heal: which one to use, what its route would change, and whether it fits the quotas."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from express_path.domain.heal.ownership import owner_tag
from express_path.domain.heal.preflight import ROUTE_QUOTA, Evidence
from express_path.domain.heal.records import MANAGED_TAG, Blocker, Concern, HealSettings
from express_path.domain.heal.transit import transit_concerns
from express_path.domain.network.addresses import Cidr, Family, from_nat64
from express_path.domain.network.resources import (
    BlockMode,
    PrefixList,
    Rank,
    Route,
    RouteTable,
    Subnet,
    TargetKind,
    Vpc,
    VpcEndpoint,
    target_kind,
)
from express_path.domain.network.snapshot import Snapshot, express_name, is_express_service
from express_path.domain.path.origins import families_of
from express_path.domain.path.outcomes import Outcome, TracedAddresses
from express_path.domain.path.reasons import NO_WAY_OUT, Compliance, Reason
from express_path.domain.path.routing import contains, overlap
from express_path.domain.path.tracing import ENTRIES, Tracer
from express_path.domain.verdict.evaluator import Evaluator, Verdict

_Closable = TypeVar("_Closable", Subnet, Vpc)

NEW_ENDPOINT = "(new)"
"""Stands for the id of an endpoint that does not exist yet."""
USABLE = frozenset({"available", "pending"})
"""The states of an endpoint that a route table may be associated with, now or soon."""


def express_endpoints(snapshot: Snapshot, vpc_id: str) -> list[VpcEndpoint]:
    """Return the VPC's gateway endpoints for S3 Express in any state, sorted by id."""
    return [
        endpoint
        for _, endpoint in sorted(snapshot.vpc_endpoints.items())
        if endpoint.vpc_id == vpc_id
        and endpoint.endpoint_type == "gateway"
        and is_express_service(endpoint.service_name, snapshot.region)
    ]


def usable_endpoints(tracer: Tracer, table: RouteTable, settings: HealSettings) -> list[VpcEndpoint]:
    """Return the endpoints that a table may be associated with, best first.

    Endpoints that no tool owns come first, and among them those that a heal created. EC2 accepts a dual-stack endpoint
    only for dual-stack subnets, and an IPv6 endpoint only for IPv6-only subnets
    (https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html).
    """
    accepted = {"ipv4", _widest_ip_address_type(tracer, table)}
    usable = [
        endpoint
        for endpoint in express_endpoints(tracer.snapshot, table.vpc_id)
        if endpoint.state in USABLE and endpoint.ip_address_type in accepted
    ]
    return sorted(
        usable,
        key=lambda endpoint: (owner_tag(endpoint, settings) != "", MANAGED_TAG not in endpoint.tags, endpoint.id),
    )


def prefix_lists_of(snapshot: Snapshot, endpoint: VpcEndpoint) -> list[PrefixList]:
    """Return the prefix lists to which an endpoint adds routes in a route table, by its IP address type.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html
    """
    return [
        prefix_list
        for prefix_list in snapshot.express_prefix_lists
        if endpoint.ip_address_type in ("dualstack", prefix_list.family.lower())
    ]


def _lists_without_route(snapshot: Snapshot, table: RouteTable, endpoint: VpcEndpoint) -> list[PrefixList]:
    """Return the prefix lists of an endpoint to which a table has no route through it."""
    routed = {route.destination for route in table.routes if route.target_id == endpoint.id}
    return [prefix_list for prefix_list in prefix_lists_of(snapshot, endpoint) if prefix_list.id not in routed]


def is_associated(snapshot: Snapshot, table: RouteTable, endpoint: VpcEndpoint) -> bool:
    """Return whether a table has every route that its association with an endpoint would add."""
    return not _lists_without_route(snapshot, table, endpoint)


def endpoint_to_create(tracer: Tracer, table: RouteTable) -> VpcEndpoint:
    """Return the endpoint that a heal would create, as if it were available; only what routing needs is set."""
    snapshot = tracer.snapshot
    lists = snapshot.express_prefix_lists
    name = next((prefix_list.name for prefix_list in lists if prefix_list.family is Family.IPV4), lists[0].name)
    offers_ipv6 = any(prefix_list.family is Family.IPV6 for prefix_list in lists)
    return VpcEndpoint(
        id=NEW_ENDPOINT,
        vpc_id=table.vpc_id,
        endpoint_type="gateway",
        service_name=name.replace(".ipv6.", "."),
        state="available",
        ip_address_type=_widest_ip_address_type(tracer, table) if offers_ipv6 else "ipv4",
        owner_id=snapshot.account_id,
    )


def _widest_ip_address_type(tracer: Tracer, table: RouteTable) -> str:
    """Return the widest IP address type that all subnets of a table accept."""
    families = {families_of(subnet) for subnet in tracer.governed_subnets(table)}
    if families and all(used.ipv6 and used.ipv4 for used in families):
        return "dualstack"
    return "ipv6" if families and all(used.ipv6 and not used.ipv4 for used in families) else "ipv4"


def endpoint_concerns(
    snapshot: Snapshot, table: RouteTable, endpoint: VpcEndpoint, settings: HealSettings
) -> Iterator[Concern]:
    """Yield what blocks the use of this endpoint, or its creation now."""
    owner = owner_tag(endpoint, settings)
    if owner and not settings.adopt_iac_owned and not is_associated(snapshot, table, endpoint):
        yield Concern(
            Blocker.OWNED_BY_IAC,
            endpoint.id,
            f"{endpoint.id} has the tag {owner}, so a tool owns it",
            "apply the patch with that tool, or allow heals to change it (stack parameter AdoptIacOwned)",
        )
    yield from _gateway_associations(table)
    deleting = [listed.id for listed in express_endpoints(snapshot, table.vpc_id) if listed.state == "deleting"]
    if deleting and endpoint.id == NEW_ENDPOINT:
        yield Concern(
            Blocker.ENDPOINT_DELETING,
            deleting[0],
            f"{deleting[0]} is being deleted, and its routes may still exist",
            "run the heal again when it is deleted",
        )
    for prefix_list in prefix_lists_of(snapshot, endpoint):
        for route in table.routes:
            if route.destination == prefix_list.id and route.target_id != endpoint.id:
                yield Concern(
                    Blocker.WOULD_NOT_CURE,
                    table.id,
                    f"{prefix_list.id} -> {route.target_id} in {table.id} has the destination of the endpoint's route",
                    "delete that route, or disassociate its endpoint from the table",
                )


_EDGES = (TargetKind.INTERNET_GATEWAY, TargetKind.VIRTUAL_PRIVATE_GATEWAY)


def _gateway_associations(table: RouteTable) -> Iterator[Concern]:
    """Yield a concern if a table is also that of a gateway: EC2 then accepts no route to a prefix list.

    https://docs.aws.amazon.com/vpc/latest/userguide/gateway-route-tables.html
    """
    gateways = [
        association.gateway_id for association in table.associations if association.gateway_id and association.may_count
    ]
    edges = [gateway_id for gateway_id in gateways if target_kind(gateway_id) in _EDGES]
    if edges:
        yield Concern(
            Blocker.WOULD_NOT_CURE,
            table.id,
            f"{table.id} is also associated with {edges[0]}, and EC2 accepts no route to a prefix list in the table of a "
            "gateway",
            "give the subnets a route table of their own, and heal that one",
        )


MAX_BLOCKS = 10
"""How many blocks of addresses a concern lists."""
READ_ENTRIES = f"grant {ENTRIES}, so that the prefix list's entries can be read"
"""What to do about a route that may win, because its prefix list cannot be read."""
NAT64_FIX = (
    "turn off DNS64 for the subnet (aws ec2 modify-subnet-attribute --no-enable-dns64), or use the dual-stack host "
    "names (s3express-<zone>.dualstack.<region>.amazonaws.com), which have IPv6 addresses of their own; the verdict "
    "changes only when DNS64 is off or the NAT64 route is deleted"
)
"""What to do about S3 Express traffic that crosses a NAT because DNS64 synthesizes addresses for its IPv4-only names
(https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-nat64-dns64.html)."""


def with_association(snapshot: Snapshot, table: RouteTable, endpoint: VpcEndpoint) -> Snapshot:
    """Return the snapshot after a heal: the endpoint is available, and the table has its routes.

    A route to the same prefix list that is already in the table stays.
    """
    taken = {route.destination for route in table.routes}
    added = [prefix_list.id for prefix_list in prefix_lists_of(snapshot, endpoint) if prefix_list.id not in taken]
    routes = [*table.routes, *(Route(list_id, endpoint.id, TargetKind.VPC_ENDPOINT) for list_id in added)]
    return replace(
        snapshot,
        vpc_endpoints={**snapshot.vpc_endpoints, endpoint.id: replace(endpoint, state="available")},
        route_tables={**snapshot.route_tables, table.id: replace(table, routes=tuple(routes))},
    )


def cures(evaluator: Evaluator, table: RouteTable, endpoint: VpcEndpoint, subnet_id: str) -> bool:
    """Return whether the subnet would be COMPLIANT after the table's association with this endpoint."""
    after = evaluator.after(with_association(evaluator.snapshot, table, endpoint))
    return after.verdict(subnet_id).compliance is Compliance.COMPLIANT


@dataclass(frozen=True, slots=True)
class _Obstacle:
    """What blocks a heal for some addresses: the kind of blocker, the route or table, and what to do about it.

    is_certain: false if it is not known whether the route matches the addresses.
    """

    code: Blocker
    where: str
    fix: str
    is_certain: bool = True


def network_concerns(
    evaluator: Evaluator, verdict: Verdict, table: RouteTable, endpoint: VpcEndpoint, settings: HealSettings
) -> Iterator[Concern]:
    """Yield what in the network blocks the association of a subnet's route table with an endpoint."""
    snapshot = evaluator.snapshot
    after = evaluator.after(with_association(snapshot, table, endpoint))
    yield from excluded_neighbors(evaluator, table)
    yield from opened_paths(evaluator, after, table)
    yield from blocking_routes(after, verdict.subnet_id)
    yield from endpoint_concerns(snapshot, table, endpoint, settings)
    lists = _lists_without_route(snapshot, table, endpoint)
    role_arn = evaluator.parameters.network_role_arn or ""
    for vpc_id in sorted({table.vpc_id, verdict.vpc_id} - {""}):
        yield from transit_concerns(evaluator.tracer, table, vpc_id, lists, role_arn)


_CERTAIN_TABLE = (
    "find out which route table governs the subnet (aws ec2 describe-route-tables in the account that owns the VPC), and "
    "read all accounts again"
)


def blocking_routes(after: Evaluator, subnet_id: str) -> Iterator[Concern]:
    """Yield the routes because of which a subnet would not be COMPLIANT after the heal; none if it would be."""
    changed = after.snapshot
    verdict = after.verdict(subnet_id)
    if verdict.compliance is Compliance.COMPLIANT:
        return
    table = after.table_of(verdict)
    if table is None:
        yield Concern(
            Blocker.WOULD_NOT_CURE,
            subnet_id,
            f"the route table that governs {subnet_id} would still not be certain: {verdict.note}",
            _CERTAIN_TABLE,
        )
        return
    versions = changed.versions_of(changed.subnets[subnet_id])
    results = [traced for version in versions for traced in after.tracer.trace_subnet(table, version).results]
    blocked: dict[_Obstacle, list[Cidr]] = {}
    for traced in _harmful(results) or results:
        for outcome in traced.outcomes:
            obstacle = _obstacle(changed, traced, outcome, table.id)
            blocked.setdefault(obstacle, []).append(traced.addresses.block)
    for obstacle, blocks in blocked.items():
        evidence = _evidence(obstacle, list(dict.fromkeys(blocks)))
        yield Concern(obstacle.code, table.id, evidence, obstacle.fix)


def _harmful(results: Sequence[TracedAddresses]) -> list[TracedAddresses]:
    """Return the addresses that neither use the endpoint nor lead nowhere, with their harmful outcomes only."""
    harmless = {Reason.ENDPOINT, *NO_WAY_OUT}
    harmful = (
        traced._replace(outcomes=tuple(outcome for outcome in traced.outcomes if outcome.reason not in harmless))
        for traced in results
    )
    return [traced for traced in harmful if traced.outcomes]


def opened_paths(evaluator: Evaluator, after: Evaluator, table: RouteTable) -> Iterator[Concern]:
    """Yield the table's subnets for which the heal opens a path that Block Public Access closes now, or may close."""
    snapshot = evaluator.snapshot
    modes = {subnet.block_mode for subnet in snapshot.subnets.values()}
    modes |= {vpc.block_mode for vpc in snapshot.vpcs.values()}
    if modes.isdisjoint({BlockMode.BIDIRECTIONAL, BlockMode.NEW}):
        return  # no path of the network is closed, so none has to be followed
    strict = evaluator.after(_closing_new_modes(snapshot)) if BlockMode.NEW in modes else evaluator
    for subnet in evaluator.tracer.governed_subnets(table):
        closed = list(_closed_blocks(evaluator, table, subnet))
        may_be_closed = list(_differing_blocks(evaluator, strict, table, subnet.id))
        if not (closed or may_be_closed):
            continue
        reached = [
            block
            for traced in after.tracer.trace_subnet(after.snapshot.route_tables[table.id], subnet).results
            for block in traced.addresses.blocks()
            if any(outcome.reason is Reason.ENDPOINT for outcome in traced.outcomes)
        ]
        opened = _within(closed, reached)
        if opened:
            yield path_closed(subnet.id, f"{subnet.id} would reach {_some(opened)} through the endpoint")
        elif opened := _within(may_be_closed, reached):
            evidence = f"{subnet.id} would reach {_some(opened)} through the endpoint"
            yield path_closed(subnet.id, evidence, "is in a mode that is not known here, and may close this path now")


def _within(blocks: Iterable[Cidr], reached: Sequence[Cidr]) -> list[Cidr]:
    return [block for block in blocks if any(overlap(block, reached_block) for reached_block in reached)]


def _some(blocks: Sequence[Cidr]) -> str:
    return ", ".join(map(str, blocks[:MAX_BLOCKS]))


def _closing_new_modes(snapshot: Snapshot) -> Snapshot:
    """Return the network in which a mode of Block Public Access that is not known here blocks both directions."""

    def closing(record: _Closable) -> _Closable:
        return replace(record, block_mode=BlockMode.BIDIRECTIONAL) if record.block_mode is BlockMode.NEW else record

    return replace(
        snapshot,
        vpcs={vpc_id: closing(vpc) for vpc_id, vpc in snapshot.vpcs.items()},
        subnets={subnet_id: closing(subnet) for subnet_id, subnet in snapshot.subnets.items()},
        versions={
            record_id: tuple(closing(record) if isinstance(record, Subnet) else record for record in versions)
            for record_id, versions in snapshot.versions.items()
        },
    )


def _differing_blocks(evaluator: Evaluator, other: Evaluator, table: RouteTable, subnet_id: str) -> Iterator[Cidr]:
    """Yield the blocks that have other results, or are closed, in another description of the same network."""
    here, there = (_results_by_block(judging, table, subnet_id) for judging in (evaluator, other))
    yield from (block for block, results in there.items() if here.get(block) != results)


def _results_by_block(evaluator: Evaluator, table: RouteTable, subnet_id: str) -> dict[Cidr, set[tuple[Reason, bool]]]:
    subnet = evaluator.snapshot.subnets[subnet_id]
    return {
        block: {(outcome.reason, outcome.is_closed) for outcome in traced.outcomes}
        for traced in evaluator.tracer.trace_subnet(table, subnet).results
        for block in traced.addresses.blocks()
    }


def is_closed(evaluator: Evaluator, verdict: Verdict) -> bool:
    """Return whether Block Public Access drops a part of a subnet's traffic."""
    table, subnet = evaluator.table_of(verdict), evaluator.snapshot.subnets.get(verdict.subnet_id)
    return bool(table and subnet and any(_closed_blocks(evaluator, table, subnet)))


def path_closed(subnet_id: str, evidence: str, what: str = "closes this path now") -> Concern:
    """Return the blocker for a path of a subnet that somebody closed; what: what Block Public Access does."""
    return Concern(
        Blocker.PATH_CLOSED,
        subnet_id,
        f"{evidence}; VPC Block Public Access {what}",
        "ask who closed it; if it should be open, create an exclusion, or associate the route table yourself",
    )


def _closed_blocks(evaluator: Evaluator, table: RouteTable, subnet: Subnet) -> Iterator[Cidr]:
    for traced in evaluator.tracer.trace_subnet(table, subnet).results:
        if any(outcome.is_closed for outcome in traced.outcomes):
            yield from traced.addresses.blocks()


def excluded_neighbors(evaluator: Evaluator, table: RouteTable) -> Iterator[Concern]:
    """Yield the table's subnets that the rule excludes: a heal for another subnet would also change their route."""
    for subnet_id in sorted(subnet.id for subnet in evaluator.tracer.governed_subnets(table)):
        if evaluator.excludes(subnet_id):
            yield Concern(
                Blocker.EXCLUDED,
                subnet_id,
                f"{table.id} also governs {subnet_id}, which excludeTag excludes",
                "give one of the two subnets its own route table, or remove the tag",
            )


def _obstacle(changed: Snapshot, traced: TracedAddresses, outcome: Outcome, table_id: str) -> _Obstacle:
    route = outcome.route
    where = f"{route.destination} -> {route.target_id} in {table_id}" if route else table_id
    if outcome.lacks == ENTRIES:
        return _Obstacle(Blocker.WOULD_NOT_CURE, where, READ_ENTRIES, is_certain=False)
    if route and _is_more_specific(changed, traced, route):
        fix = f"delete {route.destination} from {table_id}, or use a broader CIDR than the prefix list's"
        return _Obstacle(Blocker.MORE_SPECIFIC_ROUTE, where, fix)
    if from_nat64(traced.addresses.block):
        return _Obstacle(Blocker.WOULD_NOT_CURE, where, NAT64_FIX)
    fix = "the endpoint's route does not win there: change that route, or the subnet's address families"
    return _Obstacle(Blocker.WOULD_NOT_CURE, where, fix)


def _evidence(obstacle: _Obstacle, blocks: Sequence[Cidr]) -> str:
    """Return one sentence for a route and all the addresses that it decides."""
    listed = ", ".join(map(str, blocks[:MAX_BLOCKS])) + (", ..." if len(blocks) > MAX_BLOCKS else "")
    if obstacle.code is Blocker.MORE_SPECIFIC_ROUTE:
        return f"{obstacle.where} wins {listed} over the endpoint's route"
    carries = "would still" if obstacle.is_certain else "may"
    return f"{obstacle.where} {carries} carry S3 Express traffic to {listed}"


def _is_more_specific(changed: Snapshot, traced: TracedAddresses, route: Route) -> bool:
    """Return whether a route wins because its prefix is longer than the prefix list's block, or static and as long."""
    block = traced.addresses.block
    listed = [cidr for prefix_list in changed.express_prefix_lists for cidr in prefix_list.cidrs or ()]
    return any(contains(cidr, block) and (cidr != block or route.destination == block) for cidr in listed)


EXPRESS_WEIGHT = 6
"""How many routes an s3express prefix list counts as; those of S3 and DynamoDB count as one
(https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html)."""


def counts_against_quota(state: str) -> bool:
    """Return whether a gateway endpoint in this state counts toward the Region's quota. A deleting one does."""
    return state.lower() not in ("deleted", "failed")


def needs_more_routes_than_default(snapshot: Snapshot, table: RouteTable) -> bool:
    """Return whether a table with an s3express prefix list more could exceed AWS's default of the quota of routes."""
    return any(_routes_with_endpoint(snapshot, table, family) > ROUTE_QUOTA.value for family in Family)


def quota_concerns(
    snapshot: Snapshot, table: RouteTable, endpoint: VpcEndpoint, evidence: Evidence
) -> Iterator[Concern]:
    """Yield the quotas that a heal with this endpoint would exceed."""
    quota = evidence.endpoint_quota
    if endpoint.id == NEW_ENDPOINT and evidence.gateway_endpoints >= quota.value:
        yield Concern(
            Blocker.ENDPOINT_QUOTA,
            quota.code,
            f"the Region has {evidence.gateway_endpoints} gateway endpoints; the quota is {quota}",
            f"request an increase of quota {quota.code}",
        )
    for family in sorted({added.family for added in _lists_without_route(snapshot, table, endpoint)}):
        needed, quota = _routes_with_endpoint(snapshot, table, family), evidence.route_quota
        if needed > quota.value:
            yield Concern(
                Blocker.ROUTE_QUOTA,
                table.id,
                f"{table.id} has {needed - EXPRESS_WEIGHT} {family} routes, and the prefix list counts as "
                f"{EXPRESS_WEIGHT}; the quota is {quota}",
                f"request an increase of quota {quota.code}, or remove routes",
            )


def _routes_with_endpoint(snapshot: Snapshot, table: RouteTable, family: Family) -> int:
    """Return how many routes of a family count against the quota once the table has the s3express prefix list."""
    return sum(_weight(snapshot, route, family) for route in table.routes) + EXPRESS_WEIGHT


def _weight(snapshot: Snapshot, route: Route, family: Family) -> int:
    """Return how many routes of a family a route counts as. Propagated routes have their own quota."""
    if isinstance(route.destination, Cidr):
        return int(route.destination.family is family and route.rank is not Rank.PROPAGATED)
    prefix_list = snapshot.prefix_lists.get(route.destination)
    if prefix_list is None or prefix_list.family is not family:
        return 0
    if prefix_list.aws_owned:
        return EXPRESS_WEIGHT if express_name(prefix_list, snapshot.region) else 1
    return prefix_list.max_entries or len(prefix_list.cidrs or ())
