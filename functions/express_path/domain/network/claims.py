"""What the associations of route tables say: which table claims a subnet, and which one is the main table of a VPC."""

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

from express_path.domain.network.ids import wrong_form
from express_path.domain.network.resources import (
    ASSOCIATION_STATES,
    Association,
    NatGateway,
    RouteTable,
    Subnet,
    VpcEndpoint,
)

_TableIds = dict[str, tuple[str, ...]]


UNKNOWN_TABLE = ""
"""In place of a table's id in a claim: another table may govern, because the state of an association is not known here."""


class Claim(NamedTuple):
    """The tables that claim a subnet with the same right, by id; by_main: as the main table of its VPC."""

    table_ids: tuple[str, ...]
    by_main: bool = False


class UnknownAssociation(NamedTuple):
    """An association of a route table that may be with any subnet; subnet_id has a form that is not known, or is empty."""

    table_id: str
    subnet_id: str = ""


class Claims(NamedTuple):
    """The tables that claim each subnet, or to be the main table of each VPC, all by id; several contradict each other.

    unknown has an association of a table of each VPC that may be with any subnet for which no other association is known.
    """

    by_subnet: _TableIds
    main_by_vpc: _TableIds
    unknown: Mapping[str, UnknownAssociation]

    def claim_on(self, subnet: Subnet) -> Claim:
        """Return the claim on a subnet: an association with it takes precedence over the main table of its VPC."""
        table_ids = self.by_subnet.get(subnet.id)
        if table_ids:
            return Claim(tuple(sorted(table_ids)))
        return Claim(tuple(sorted(self.main_by_vpc.get(subnet.vpc_id, ()))), by_main=True)


def claims_of(tables: Iterable[RouteTable], listed_subnets: Container[str]) -> Claims:
    """Return what the associations of these tables claim, as far as they count."""
    by_subnet: dict[str, _TableIds] = {state: {} for state in ASSOCIATION_STATES}
    main_by_vpc: dict[str, _TableIds] = {state: {} for state in ASSOCIATION_STATES}
    unknown: dict[str, UnknownAssociation] = {}
    for table in tables:
        for association in table.associations:
            if not association.may_count:
                continue
            if _is_with_unknown_subnet(association, listed_subnets):
                unknown_here = UnknownAssociation(table.id, association.subnet_id or "")
                unknown[table.vpc_id] = min(unknown_here, unknown.get(table.vpc_id, unknown_here))
            state = association.state if association.counts else ASSOCIATION_STATES[0]
            claiming = [table.id] if association.counts else [table.id, UNKNOWN_TABLE]
            for table_id in claiming:
                if association.subnet_id:
                    _claim(by_subnet[state], association.subnet_id, table_id)
                elif association.main:
                    _claim(main_by_vpc[state], table.vpc_id, table_id)
    main = _by_precedence(main_by_vpc)
    for vpc_id in unknown:
        _claim(main, vpc_id, UNKNOWN_TABLE)
    return Claims(_by_precedence(by_subnet), main, unknown)


def _is_with_unknown_subnet(association: Association, listed_subnets: Container[str]) -> bool:
    """Return whether an association does not show with what it is, or names a subnet in a form that is not known."""
    if association.subnet_id:
        return association.subnet_id not in listed_subnets and bool(wrong_form(association.subnet_id, "subnetId"))
    return not (association.main or association.gateway_id)


def _by_precedence(claims_by_state: dict[str, _TableIds]) -> _TableIds:
    """Return the claims of all states. If several states have a claim, the first state in ASSOCIATION_STATES counts."""
    claims: _TableIds = {}
    for state in reversed(ASSOCIATION_STATES):
        claims.update(claims_by_state[state])
    return claims


def _claim(claims: _TableIds, owner_id: str, table_id: str) -> None:
    """Record that a table claims a subnet or a VPC."""
    known = claims.get(owner_id, ())
    if table_id not in known:
        claims[owner_id] = (*known, table_id)


_GONE_ENDPOINTS = ("deleting", "deleted", "rejected", "failed", "expired")
"""The states of an endpoint that is associated with no route table, although it may still name deleted ones."""
_GONE = ("failed", "deleting", "deleted")
"""The states of a NAT gateway without a route table of its own: EC2 lists those that are deleted for an hour
(https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-working-with.html)."""


def unlisted_tables(
    endpoints: Iterable[VpcEndpoint], gateways: Iterable[NatGateway], listed: Mapping[str, RouteTable]
) -> dict[str, str]:
    """Return what shows that the list of a VPC's route tables is partial, by the VPC: it has a table that is not listed."""
    named = [
        (endpoint.vpc_id, f"{endpoint.id} names {table_id}", table_id)
        for endpoint in endpoints
        if endpoint.state not in _GONE_ENDPOINTS
        for table_id in endpoint.route_table_ids
    ]
    named += [
        (gateway.vpc_id, f"{gateway.id} names {gateway.route_table_id or 'no route table'}", gateway.route_table_id)
        for gateway in gateways
        if gateway.route_table_id is not None and gateway.state not in _GONE
    ]
    unlisted = {(vpc_id, naming) for vpc_id, naming, table_id in named if table_id not in listed}
    return dict(sorted(unlisted, reverse=True))
