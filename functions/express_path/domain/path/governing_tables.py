"""Which route table governs a subnet."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

from express_path.domain.network.resources import ASSOCIATION_STATES, RouteTable, Subnet
from express_path.domain.network.snapshot import Snapshot

_Claims = dict[str, tuple[RouteTable, ...]]
"""The tables that claim each subnet, or to be the main table of each VPC, by id; several contradict each other."""


class GoverningTables:
    """Finds the route table that governs a subnet of one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Index the associations that count."""
        by_subnet: dict[str, _Claims] = {state: {} for state in ASSOCIATION_STATES}
        main_by_vpc: dict[str, _Claims] = {state: {} for state in ASSOCIATION_STATES}
        for table in snapshot.route_tables.values():
            for association in table.associations:
                if not association.counts:
                    continue
                if association.subnet_id:
                    _claim(by_subnet[association.state], association.subnet_id, table)
                elif association.main:
                    _claim(main_by_vpc[association.state], table.vpc_id, table)
        self._by_subnet = _by_precedence(by_subnet)
        self._main_by_vpc = _by_precedence(main_by_vpc)
        self._snapshot = snapshot

    def claiming_tables(self, subnet: Subnet) -> tuple[RouteTable, ...]:
        """Return the route tables that claim a subnet with the same right: one, unless none can be seen or EC2 errs.

        An association with the subnet takes precedence over the main table of its VPC, and one in state `associating`
        over one in state `associated`. What else is associated with a table, such as a gateway, does not matter: the
        table of a regional NAT gateway governs the subnets that are associated with it
        (https://docs.aws.amazon.com/vpc/latest/userguide/subnet-route-tables.html,
        https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateways-regional.html).
        """
        if subnet.id in self._by_subnet:
            return self._by_subnet[subnet.id]
        return self._main_by_vpc.get(subnet.vpc_id, ())

    def governing_table(self, subnet: Subnet) -> RouteTable | None:
        """Return the route table that governs a subnet; None if none can be seen, or if several claim it."""
        claiming = self.claiming_tables(subnet)
        return claiming[0] if len(claiming) == 1 else None

    def governed_subnets(self, table: RouteTable) -> Sequence[Subnet]:
        """Return the subnets that a table governs, in the order of the snapshot."""
        return self._governed.get(table.id, ())

    @cached_property
    def _governed(self) -> Mapping[str, Sequence[Subnet]]:
        """The subnets by the id of each table that claims them: a change of either table may settle which one it is."""
        found: defaultdict[str, list[Subnet]] = defaultdict(list)
        for subnet in self._snapshot.subnets.values():
            for table in self.claiming_tables(subnet):
                found[table.id].append(subnet)
        return dict(found)


def _by_precedence(claims_by_state: dict[str, _Claims]) -> _Claims:
    """Return the claims of all states. If several states have a claim, the first state in ASSOCIATION_STATES counts."""
    found: _Claims = {}
    for state in reversed(ASSOCIATION_STATES):
        found.update(claims_by_state[state])
    return found


def _claim(claims: _Claims, owner_id: str, table: RouteTable) -> None:
    """Record that a table claims a subnet or a VPC."""
    known = claims.get(owner_id, ())
    if all(other.id != table.id for other in known):
        claims[owner_id] = (*known, table)
