"""The remedy of a verdict: what to do, the command that does it, and the page to read."""

import re
import shlex
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_network

from express_path.domain.heal.endpoint_choice import (
    NEW_ENDPOINT,
    endpoint_to_create,
    is_associated,
    owner_tag,
    usable_endpoints,
)
from express_path.domain.heal.patches import associate_patches, create_patches
from express_path.domain.heal.records import FULL_ACCESS, HealSettings
from express_path.domain.network.resources import RouteTable, VpcEndpoint
from express_path.domain.network.targets import TargetKind
from express_path.domain.path.reasons import NAT_REASONS, SEVERITY_ORDER, Compliance, Reason
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.crossed_nats import nat_on
from express_path_cli.remedy_texts import DEFAULT_ROUTE_WINS, NAT64_WINS, ROUTE_WINS, TEXTS, Names
from express_path_cli.result import View, is_flagged
from express_path_cli.unresolved_egress import how_to_find_out
from express_path_cli.vpc_networks import VpcNetworks

ENDPOINT_PAGE = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-express-networking.html"
_ROUTES_PAGE = "https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Route_Tables.html"
_PRIORITY_PAGE = "https://docs.aws.amazon.com/vpc/latest/userguide/route-tables-priority.html"
_NAT64_PAGE = "https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-nat64-dns64.html"
PAGES = {
    **dict.fromkeys(Reason, ENDPOINT_PAGE),
    Reason.PARTLY_NAT: _PRIORITY_PAGE,
    Reason.UNRESOLVED_EGRESS: _ROUTES_PAGE,
    Reason.DROPPED: _ROUTES_PAGE,
}
"""The page of the AWS documentation to read about each reason."""
_NEEDS_ENDPOINT = NAT_REASONS | {Reason.INTERNET_GATEWAY}
_NAT64 = ip_network("64:ff9b::/96")
_SUBNET_ID, _ROUTE_TABLE_ID = Verdict._fields.index("subnet_id"), Verdict._fields.index("route_table_id")
"""Positions in a verdict. Only the Availability Zone is between them."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do, in sentences; a command to copy, empty if no single command fits; and the URL of a page to read.

    patches: the same change for CloudFormation, Terraform and the AWS CLI, by name; empty if it has none.
    """

    text: str
    command: str = ""
    url: str = ENDPOINT_PAGE
    patches: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        """Return text and command in one text."""
        return f"{self.text} Command: {self.command}" if self.command else self.text


class Remedies:
    """The remedies of verdicts. Subnets with the same route table, reason and path share one."""

    def __init__(self, views: Iterable[View] = ()) -> None:
        """Name the endpoints of these views; without the view of a verdict, its remedy has no command."""
        self._tracers = {(view.account.id, view.region): view.tracer for view in views}
        self._networks: dict[Tracer, VpcNetworks] = {}
        self._remedies: dict[Hashable, Remedy | None] = {}

    def of(self, verdict: Verdict) -> Remedy | None:
        """Return the remedy of a verdict; None if nothing has to change, such as for COMPLIANT subnets."""
        if not needs_remedy(verdict):
            return None
        key = self.key(verdict)
        if key not in self._remedies:
            self._remedies[key] = remedy(verdict, self._tracer(verdict))
        return self._remedies[key]

    def key(self, verdict: Verdict) -> Hashable:
        """Return all that decides a remedy: subnets differ only if the reason is PARTLY_NAT, and zones never do."""
        subnet_id = verdict.subnet_id if verdict.reason is Reason.PARTLY_NAT else ""
        return verdict[:_SUBNET_ID], subnet_id, verdict[_ROUTE_TABLE_ID:]

    def _tracer(self, verdict: Verdict) -> Tracer | None:
        tracer = self._tracers.get((verdict.account_id, verdict.region))
        if tracer is None:
            return None
        # The accounts of one Region share a tracer.
        if tracer not in self._networks:
            self._networks[tracer] = VpcNetworks(tracer.snapshot)
        return self._networks[tracer].tracer(verdict.vpc_id)


def needs_remedy(verdict: Verdict) -> bool:
    """Return whether something has to change, or has to be checked."""
    if verdict.reason is Reason.INTERNET_GATEWAY:
        return is_flagged(verdict)
    return verdict.compliance is not Compliance.COMPLIANT and verdict.reason in TEXTS


def counted_remedies(verdicts: Iterable[Verdict], remedies: Remedies) -> list[tuple[Reason, Remedy, int]]:
    """Return each remedy of NON_COMPLIANT subnets, worst reason first, with the number of subnets that it is for."""
    found = ((verdict.reason, remedies.of(verdict)) for verdict in filter(is_flagged, verdicts))
    counts = Counter((reason, remedy) for reason, remedy in found if remedy)
    listed = ((reason, remedy, number) for (reason, remedy), number in counts.items())
    return sorted(listed, key=lambda row: (SEVERITY_ORDER[row[0]], -row[2], row[1].text, row[1].command))


def remedy(verdict: Verdict, tracer: Tracer | None) -> Remedy | None:
    """Return the remedy of a verdict, with its route table, endpoint, NAT and command; None if nothing has to change.

    The tracer needs only the verdict's VPC. Without one, the remedy has no command.
    """
    if not needs_remedy(verdict):
        return None
    names = _names(verdict)
    table = tracer.snapshot.route_tables.get(verdict.route_table_id or "") if tracer else None
    if tracer and table and verdict.reason in {*_NEEDS_ENDPOINT, Reason.PARTLY_NAT}:
        endpoint = _endpoint(tracer, table)
        if verdict.reason is Reason.PARTLY_NAT or is_associated(tracer.snapshot, table, endpoint):
            return _other_route(verdict, tracer, replace(names, endpoint=f"gateway endpoint {endpoint.id}"))
        return _association(verdict, endpoint, names)
    return Remedy(names.fill(TEXTS[verdict.reason]), url=PAGES[verdict.reason])


def _names(verdict: Verdict) -> Names:
    """Return the names that the verdict itself contains."""
    names = Names(subnet=verdict.subnet_id, note=verdict.note, how=how_to_find_out(verdict))
    nat, first = nat_on(verdict.path), next(iter(verdict.path), None)
    appliance = next((hop for hop in verdict.path if hop.kind is TargetKind.APPLIANCE_ENDPOINT), first)
    return replace(
        names,
        table=f"route table {verdict.route_table_id}" if verdict.route_table_id else names.table,
        vpc=verdict.vpc_id or names.vpc,
        endpoint=f"a gateway endpoint for S3 Express in {verdict.vpc_id or names.vpc}",
        nat=nat.id if nat else names.nat,
        appliance=appliance.id if appliance else names.appliance,
        route=f"route {first.destination} -> {first.id}" if first else names.route,
    )


def _endpoint(tracer: Tracer, table: RouteTable) -> VpcEndpoint:
    """Return the endpoint that the table is associated with, or else one of its VPC, or else a new one."""
    usable = usable_endpoints(tracer, table, HealSettings())
    associated = [endpoint for endpoint in usable if is_associated(tracer.snapshot, table, endpoint)]
    return next(iter([*associated, *usable]), None) or endpoint_to_create(tracer, table)


def _association(verdict: Verdict, endpoint: VpcEndpoint, names: Names) -> Remedy:
    """Return the remedy for a table that has no route to an endpoint."""
    table_id = str(verdict.route_table_id)
    if endpoint.id == NEW_ENDPOINT:
        named = replace(names, endpoint=f"a new gateway endpoint for S3 Express in {names.vpc}")
        patches, owner = create_patches(endpoint, table_id, FULL_ACCESS), ""
    else:
        named = replace(names, endpoint=f"gateway endpoint {endpoint.id}")
        patches, owner = associate_patches(endpoint, table_id), owner_tag(endpoint, HealSettings())
    text = named.fill(TEXTS[verdict.reason])
    if owner:
        text += f" {endpoint.id} has the tag {owner}: make the change in that tool."
    is_safe = all(re.fullmatch(r"[\w(). -]+", part) for part in (table_id, endpoint.id, endpoint.vpc_id))
    if not is_safe:
        return Remedy(text, url=PAGES[verdict.reason])
    return Remedy(text, patches["cli"].strip(), PAGES[verdict.reason], patches)


def _other_route(verdict: Verdict, tracer: Tracer, names: Names) -> Remedy:
    """Return the remedy for a table that has a route to an endpoint, and another route that wins."""
    destination = verdict.path[0].destination if verdict.path else ""
    subnet = tracer.snapshot.subnets.get(verdict.subnet_id)
    if not destination.startswith("pl-") and destination:
        block = ip_network(destination)
        if subnet and subnet.dns64 and block.version == _NAT64.version and block.overlaps(_NAT64):
            command = _command(verdict, "modify-subnet-attribute", "--subnet-id", verdict.subnet_id)
            return Remedy(names.fill(NAT64_WINS), f"{command} --no-enable-dns64", _NAT64_PAGE)
        if block.prefixlen == 0:
            return Remedy(names.fill(DEFAULT_ROUTE_WINS), url=_PRIORITY_PAGE)
    return Remedy(names.fill(ROUTE_WINS), _delete_route(verdict, destination), _PRIORITY_PAGE)


def _delete_route(verdict: Verdict, destination: str) -> str:
    """Return the command that deletes a route by its destination; empty if the verdict has no path."""
    if not destination:
        return ""
    kind = (
        "prefix-list-id" if destination.startswith("pl-") else "ipv6-cidr-block" if ":" in destination else "cidr-block"
    )
    words = ("--route-table-id", str(verdict.route_table_id), f"--destination-{kind}", destination)
    return _command(verdict, "delete-route", *words)


def _command(verdict: Verdict, operation: str, *words: str) -> str:
    return f"aws ec2 {operation} --region {shlex.quote(verdict.region)} {shlex.join(words)}"
