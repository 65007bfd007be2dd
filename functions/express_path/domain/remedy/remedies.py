"""The remedy of a verdict: what to do, the command that does it, and the page to read."""

import re
import shlex
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from express_path.domain.heal.endpoints import (
    NEW_ENDPOINT,
    endpoint_to_create,
    is_associated,
    network_concerns,
    usable_endpoints,
)
from express_path.domain.heal.ownership import owner_tag
from express_path.domain.heal.patches import associate_patches, create_patches, fitting
from express_path.domain.heal.records import FULL_ACCESS, Blocker, Concern, HealSettings
from express_path.domain.heal.transit import TRANSIT
from express_path.domain.network.addresses import Cidr, parse_cidr
from express_path.domain.network.resources import Rank, RouteTable, TargetKind, VpcEndpoint
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.outcomes import nat_on
from express_path.domain.path.reasons import NAT_REASONS, Compliance, Reason
from express_path.domain.path.routing import overlap
from express_path.domain.path.tracing import Tracer
from express_path.domain.remedy.texts import (
    ASSOCIATED,
    BREAKS,
    DEFAULT_ROUTE_WINS,
    IN_THAT_TOOL,
    NAT64_PAGE,
    NAT64_WINS,
    PAGES,
    PRIORITY_PAGE,
    PROPAGATED_WINS,
    ROUTE_WINS,
    TEXTS,
    Names,
    Remedy,
    association_text,
    how_to_find_out,
    listed,
)
from express_path.domain.verdict.evaluator import Evaluator, Verdict


def association(verdicts: Sequence[Verdict], endpoint: VpcEndpoint, owner: str = "") -> Remedy:
    """Return the remedy that associates the route tables of all these verdicts with an endpoint, in one command.

    The verdicts are of one VPC, the worst first. owner: which of the resources infrastructure code owns, in words; then
    only the patch for that tool is shown.
    """
    table_ids = list(dict.fromkeys(verdict.route_table_id for verdict in verdicts if verdict.route_table_id))
    names, url = _joint_names(verdicts, table_ids), PAGES[verdicts[0].reason]
    if endpoint.id == NEW_ENDPOINT:
        named = replace(names, endpoint=f"a new gateway endpoint for S3 Express in {names.vpc}")
        patches = create_patches(endpoint, table_ids, FULL_ACCESS)
    else:
        named = replace(names, endpoint=f"gateway endpoint {endpoint.id}")
        patches = associate_patches(endpoint, table_ids)
    text = named.fill(association_text(verdict.reason for verdict in verdicts))
    if endpoint.id == NEW_ENDPOINT and len(table_ids) > 1:
        text += " One endpoint serves all of these route tables."
    in_tool = f" {owner}: {IN_THAT_TOOL}" if owner else ""
    note = ""
    if endpoint.id == NEW_ENDPOINT:
        tables = "the route table" if len(table_ids) == 1 else "the route tables"
        note = f"If {endpoint.vpc_id} gets an endpoint for S3 Express first, associate {tables} with that one."
    is_safe = all(re.fullmatch(r"[\w(). -]+", part) for part in (*table_ids, endpoint.id, endpoint.vpc_id))
    patches = fitting(patches, owner) if is_safe else {}
    whole_text, command = f"{text} {BREAKS}{in_tool}", patches.get("cli", "").strip()
    return Remedy(whole_text, command, url, patches, note, endpoint, owner, instruction=f"{text}{in_tool}")


def _joint_names(verdicts: Sequence[Verdict], table_ids: Sequence[str]) -> Names:
    """Return the names in verdicts of one VPC together."""
    # Most subnets of a route table have the same path.
    distinct = {(verdict.reason, verdict.path): verdict for verdict in verdicts}
    names = [(verdict.reason, names_of(verdict)) for verdict in distinct.values()]
    nats = [verdict_names.nat for reason, verdict_names in names if reason in NAT_REASONS]
    appliances = [verdict_names.appliance for reason, verdict_names in names if reason is Reason.NAT_BEHIND_APPLIANCE]
    named = "route table " if len(table_ids) == 1 else "route tables "
    return replace(
        names[0][1],
        table=listed(table_ids, "and", "route tables", named),
        nat=listed(nats, "or", "NATs"),
        appliance=listed(appliances, "and", "appliances"),
    )


def names_of(verdict: Verdict) -> Names:
    """Return the names that the verdict itself contains."""
    names = Names(subnet=verdict.subnet_id, note=verdict.note, how=how_to_find_out(verdict))
    vpc = verdict.vpc_id or names.vpc
    known = {"vpc": vpc, "endpoint": f"a gateway endpoint for S3 Express in {vpc}"}
    if verdict.route_table_id:
        known["table"] = f"route table {verdict.route_table_id}"
    nat = nat_on(verdict.path)
    if nat:
        known["nat"] = nat.id
    if verdict.path:
        first = verdict.path[0]
        appliance = next((hop for hop in verdict.path if hop.kind is TargetKind.APPLIANCE_ENDPOINT), first)
        known["appliance"] = appliance.id
        known["route"] = f"route {first.destination} -> {first.id}"
    return replace(names, **known)


class _InVpc(Protocol):
    @property
    def vpc_id(self) -> str:
        """The VPC of the resource."""


_Resource = TypeVar("_Resource", bound=_InVpc)


class VpcNetworks:
    """The VPCs of a snapshot, each with its own subnets, route tables and endpoints.

    Functions that look at every subnet of a route table are fast on one VPC, and slow on a Region with 100,000 subnets.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        """Group the resources by VPC."""
        self._snapshot = snapshot
        self._subnets = _by_vpc(snapshot.subnets)
        self._route_tables = _by_vpc(snapshot.route_tables)
        self._vpc_endpoints = _by_vpc(snapshot.vpc_endpoints)
        self._tracers: dict[str, Tracer] = {}

    def tracer(self, vpc_id: str) -> Tracer:
        """Return a tracer of one VPC; it finds governing route tables, but follows no path out of the VPC."""
        if vpc_id not in self._tracers:
            self._tracers[vpc_id] = Tracer(
                replace(
                    self._snapshot,
                    subnets=self._subnets.get(vpc_id, {}),
                    route_tables={**self._route_tables.get("", {}), **self._route_tables.get(vpc_id, {})},
                    vpc_endpoints=self._vpc_endpoints.get(vpc_id, {}),
                )
            )
        return self._tracers[vpc_id]


def _by_vpc(resources: Mapping[str, _Resource]) -> Mapping[str, Mapping[str, _Resource]]:
    groups: dict[str, dict[str, _Resource]] = defaultdict(dict)
    for resource_id, resource in resources.items():
        groups[resource.vpc_id][resource_id] = resource
    return groups


_NAT64 = parse_cidr("64:ff9b::/96")


class Remedies:
    """The remedies of verdicts. Subnets with the same route table, reason and path share one."""

    def __init__(self, evaluators: Iterable[Evaluator] = ()) -> None:
        """Name the endpoints of these networks; without the network of a verdict, its remedy has no command."""
        self._evaluators = {(evaluator.account.id, evaluator.snapshot.region): evaluator for evaluator in evaluators}
        self._networks: dict[Tracer, VpcNetworks] = {}
        self._remedies: dict[Hashable, Remedy | None] = {}

    def of(self, verdict: Verdict) -> Remedy | None:
        """Return the remedy of a verdict; None if nothing has to change, such as for COMPLIANT subnets."""
        if not needs_remedy(verdict):
            return None
        # Subnets differ only if the reason is PARTLY_NAT.
        subnet_id = verdict.subnet_id if verdict.reason is Reason.PARTLY_NAT else ""
        place = (verdict.account_id, verdict.region, verdict.vpc_id, subnet_id, verdict.route_table_id)
        key = (place, verdict.compliance, verdict.reason, verdict.path, verdict.note, verdict.unknown)
        if key not in self._remedies:
            self._remedies[key] = remedy(verdict, self._evaluator(verdict))
        return self._remedies[key]

    def _evaluator(self, verdict: Verdict) -> Evaluator | None:
        evaluator = self._evaluators.get((verdict.account_id, verdict.region))
        if evaluator is None:
            return None
        # The accounts of one Region share a tracer.
        if evaluator.tracer not in self._networks:
            self._networks[evaluator.tracer] = VpcNetworks(evaluator.snapshot)
        return evaluator.in_network(self._networks[evaluator.tracer].tracer(verdict.vpc_id))


def needs_remedy(verdict: Verdict) -> bool:
    """Return whether something has to change, or has to be checked."""
    if verdict.reason is Reason.INTERNET_GATEWAY:
        return verdict.compliance is Compliance.NON_COMPLIANT
    return verdict.compliance is not Compliance.COMPLIANT and verdict.reason in TEXTS


def remedy(verdict: Verdict, evaluator: Evaluator | None) -> Remedy | None:
    """Return the remedy of a verdict, with its route table, endpoint, NAT and command; None if nothing has to change.

    It is one that a heal would accept, as far as the network decides, or it says what blocks a heal.
    The evaluator needs only the verdict's VPC. Without one, the remedy has no command.
    """
    if not needs_remedy(verdict):
        return None
    table = evaluator.table_of(verdict) if evaluator else None
    if evaluator is None or table is None or verdict.reason not in {*ASSOCIATED, Reason.PARTLY_NAT}:
        return Remedy(names_of(verdict).fill(TEXTS[verdict.reason]), url=PAGES[verdict.reason])
    endpoint = _endpoint(evaluator.tracer, table)
    owner = owner_of(table)
    if verdict.reason is Reason.PARTLY_NAT or is_associated(evaluator.snapshot, table, endpoint):
        return _other_route(verdict, table, evaluator.snapshot, f"gateway endpoint {endpoint.id}", owner)
    concerns = list(network_concerns(evaluator, verdict, table, endpoint, HealSettings()))
    blockers = [concern for concern in concerns if concern.code is not Blocker.OWNED_BY_IAC]
    transit = [concern for concern in blockers if concern.code in TRANSIT]
    if transit:
        return Remedy(_transit_text(table, transit[0]), url=PAGES[verdict.reason])
    if blockers:
        text = "; ".join(f"{concern.evidence} (to fix: {concern.fix})" for concern in blockers[:MAX_BLOCKERS])
        text += f"; and {len(blockers) - MAX_BLOCKERS} more" if blockers[MAX_BLOCKERS:] else ""
        return Remedy(f"An endpoint alone does not fix {table.id}: {text}.", url=PRIORITY_PAGE)
    return association([verdict], endpoint, owner_of(endpoint) or owner)


def is_accepted(remedy: Remedy | None) -> bool:
    """Return whether a heal would accept a remedy: it associates route tables, and nobody's code owns the endpoint."""
    return remedy is not None and remedy.endpoint is not None and not owner_of(remedy.endpoint)


def _transit_text(table: RouteTable, concern: Concern) -> str:
    """Return why no command is shown for a table that traffic of other VPCs consults, and what to do first."""
    when = "yet" if concern.code is Blocker.TRANSIT_TRAFFIC else "before you know whether other VPCs use it"
    return f"Do not associate {table.id} with an endpoint {when}: {concern.evidence}. To fix: {concern.fix}."


MAX_BLOCKERS = 3
"""How many blockers a remedy names. The plan of a heal has all of them."""


def owner_of(resource: VpcEndpoint | RouteTable) -> str:
    """Return which resource infrastructure code owns, and the tag that shows it, in words; empty if no tag shows it."""
    tag = owner_tag(resource, HealSettings())
    return f"{resource.id} has the tag {tag}" if tag else ""


def _endpoint(tracer: Tracer, table: RouteTable) -> VpcEndpoint:
    """Return the endpoint that the table is associated with, or else one of its VPC, or else a new one."""
    usable = usable_endpoints(tracer, table, HealSettings())
    associated = [endpoint for endpoint in usable if is_associated(tracer.snapshot, table, endpoint)]
    return next(iter([*associated, *usable]), None) or endpoint_to_create(tracer, table)


def _other_route(verdict: Verdict, table: RouteTable, snapshot: Snapshot, endpoint: str, owner: str) -> Remedy:
    """Return the remedy for a table that has a route to an endpoint, and another route that wins."""
    names = replace(names_of(verdict), endpoint=endpoint)
    destination = verdict.path[0].destination
    subnet = snapshot.subnets.get(verdict.subnet_id)
    block = _block(destination)
    if block and subnet and subnet.dns64 and overlap(block, _NAT64):
        command = _command(verdict, "modify-subnet-attribute", "--subnet-id", verdict.subnet_id)
        return Remedy(names.fill(NAT64_WINS), f"{command} --no-enable-dns64", NAT64_PAGE)
    if block and block.length == 0:
        return Remedy(names.fill(DEFAULT_ROUTE_WINS), url=PRIORITY_PAGE)
    if any(route.rank is Rank.PROPAGATED and str(route.destination) == destination for route in table.routes):
        return Remedy(names.fill(PROPAGATED_WINS), url=PRIORITY_PAGE)
    if owner:
        return Remedy(f"{names.fill(ROUTE_WINS)} {owner}: {IN_THAT_TOOL}", url=PRIORITY_PAGE)
    is_named = block is not None or destination.startswith("pl-")
    command = _delete_route(verdict, table, destination) if is_named else ""
    return Remedy(names.fill(ROUTE_WINS), command, PRIORITY_PAGE)


def _block(destination: str) -> Cidr | None:
    """Return the block that a destination is; None for a prefix list, which has no ID yet if a change makes it."""
    try:
        return parse_cidr(destination)
    except ValueError:
        return None


def _delete_route(verdict: Verdict, table: RouteTable, destination: str) -> str:
    """Return the command that deletes a route by its destination."""
    kind = (
        "prefix-list-id" if destination.startswith("pl-") else "ipv6-cidr-block" if ":" in destination else "cidr-block"
    )
    words = ("--route-table-id", table.id, f"--destination-{kind}", destination)
    return _command(verdict, "delete-route", *words)


def _command(verdict: Verdict, operation: str, *words: str) -> str:
    return f"aws ec2 {operation} --region {shlex.quote(verdict.region)} {shlex.join(words)}"
