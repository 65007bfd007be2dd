"""The remedy of a verdict: what to do, the command that does it, and the page to read."""

import shlex
from collections.abc import Hashable, Iterable
from dataclasses import replace
from ipaddress import ip_network
from typing import Protocol

from express_path.domain.heal.endpoints import NEW_ENDPOINT, endpoint_to_create, is_associated, usable_endpoints
from express_path.domain.heal.records import HealSettings
from express_path.domain.network.resources import RouteTable, VpcEndpoint
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.path.tracing import Tracer
from express_path.domain.remedy.associations import association, names_of
from express_path.domain.remedy.texts import (
    ASSOCIATED,
    DEFAULT_ROUTE_WINS,
    NAT64_PAGE,
    NAT64_WINS,
    PAGES,
    PRIORITY_PAGE,
    ROUTE_WINS,
    TEXTS,
    Remedy,
)
from express_path.domain.remedy.vpc_networks import VpcNetworks
from express_path.domain.verdict.evaluator import Account, Verdict

_NAT64 = ip_network("64:ff9b::/96")
_SUBNET_ID, _ROUTE_TABLE_ID = Verdict._fields.index("subnet_id"), Verdict._fields.index("route_table_id")
"""Positions in a verdict. Only the Availability Zone is between them."""


class AccountView(Protocol):
    """An account, and the network of one Region in which its traffic is traced."""

    @property
    def account(self) -> Account:
        """The account whose subnets have verdicts."""

    @property
    def tracer(self) -> Tracer:
        """The network."""


class Remedies:
    """The remedies of verdicts. Subnets with the same route table, reason and path share one."""

    def __init__(self, views: Iterable[AccountView] = ()) -> None:
        """Name the endpoints of these views; without the view of a verdict, its remedy has no command."""
        self._tracers = {(view.account.id, view.tracer.snapshot.region): view.tracer for view in views}
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

    def endpoint(self, verdict: Verdict) -> VpcEndpoint | None:
        """Return the endpoint to associate the verdict's route table with; None if the remedy is another one."""
        tracer = self._tracer(verdict)
        return endpoint_to_associate(verdict, tracer) if tracer and needs_remedy(verdict) else None

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
        return verdict.compliance is Compliance.NON_COMPLIANT
    return verdict.compliance is not Compliance.COMPLIANT and verdict.reason in TEXTS


def remedy(verdict: Verdict, tracer: Tracer | None) -> Remedy | None:
    """Return the remedy of a verdict, with its route table, endpoint, NAT and command; None if nothing has to change.

    The tracer needs only the verdict's VPC. Without one, the remedy has no command.
    """
    if not needs_remedy(verdict):
        return None
    table = _table(verdict, tracer)
    if tracer and table and verdict.reason in {*ASSOCIATED, Reason.PARTLY_NAT}:
        to_associate = endpoint_to_associate(verdict, tracer)
        if to_associate is None:
            return _other_route(verdict, tracer, f"gateway endpoint {_endpoint(tracer, table).id}")
        found = association([verdict], to_associate)
        note = f"If {verdict.vpc_id} gets an endpoint for S3 Express first, associate the route table with that one."
        return replace(found, note=note) if to_associate.id == NEW_ENDPOINT else found
    return Remedy(names_of(verdict).fill(TEXTS[verdict.reason]), url=PAGES[verdict.reason])


def endpoint_to_associate(verdict: Verdict, tracer: Tracer) -> VpcEndpoint | None:
    """Return the endpoint to associate the verdict's route table with; None if it has one, or needs none."""
    table = _table(verdict, tracer)
    if table is None or verdict.reason not in ASSOCIATED:
        return None
    endpoint = _endpoint(tracer, table)
    return None if is_associated(tracer.snapshot, table, endpoint) else endpoint


def _table(verdict: Verdict, tracer: Tracer | None) -> RouteTable | None:
    return tracer.snapshot.route_tables.get(verdict.route_table_id or "") if tracer else None


def _endpoint(tracer: Tracer, table: RouteTable) -> VpcEndpoint:
    """Return the endpoint that the table is associated with, or else one of its VPC, or else a new one."""
    usable = usable_endpoints(tracer, table, HealSettings())
    associated = [endpoint for endpoint in usable if is_associated(tracer.snapshot, table, endpoint)]
    return next(iter([*associated, *usable]), None) or endpoint_to_create(tracer, table)


def _other_route(verdict: Verdict, tracer: Tracer, endpoint: str) -> Remedy:
    """Return the remedy for a table that has a route to an endpoint, and another route that wins."""
    names = replace(names_of(verdict), endpoint=endpoint)
    destination = verdict.path[0].destination
    subnet = tracer.snapshot.subnets.get(verdict.subnet_id)
    if not destination.startswith("pl-"):
        block = ip_network(destination)
        if subnet and subnet.dns64 and block.version == _NAT64.version and block.overlaps(_NAT64):
            command = _command(verdict, "modify-subnet-attribute", "--subnet-id", verdict.subnet_id)
            return Remedy(names.fill(NAT64_WINS), f"{command} --no-enable-dns64", NAT64_PAGE)
        if block.prefixlen == 0:
            return Remedy(names.fill(DEFAULT_ROUTE_WINS), url=PRIORITY_PAGE)
    return Remedy(names.fill(ROUTE_WINS), _delete_route(verdict, destination), PRIORITY_PAGE)


def _delete_route(verdict: Verdict, destination: str) -> str:
    """Return the command that deletes a route by its destination."""
    kind = (
        "prefix-list-id" if destination.startswith("pl-") else "ipv6-cidr-block" if ":" in destination else "cidr-block"
    )
    words = ("--route-table-id", str(verdict.route_table_id), f"--destination-{kind}", destination)
    return _command(verdict, "delete-route", *words)


def _command(verdict: Verdict, operation: str, *words: str) -> str:
    return f"aws ec2 {operation} --region {shlex.quote(verdict.region)} {shlex.join(words)}"
