"""Which route table governs a subnet."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

from express_path.domain.network.resources import ASSOCIATION_STATES, RouteTable, Subnet
from express_path.domain.network.snapshot import Snapshot

_Claims = dict[str, RouteTable | None]
"""The table that governs each subnet, or the main table of each VPC, by id; None if several tables claim to be it."""


class GoverningTables:
    """Finds the route table that governs a subnet of one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Index the associations that count, of tables that may govern a subnet."""
        by_subnet: dict[str, _Claims] = {state: {} for state in ASSOCIATION_STATES}
        main_by_vpc: dict[str, _Claims] = {state: {} for state in ASSOCIATION_STATES}
        regional = {gateway.route_table_id for gateway in snapshot.nat_gateways.values()}
        for table in snapshot.route_tables.values():
            if table.id in regional:
                continue
            for association in table.associations:
                if not association.counts or association.gateway_id:
                    continue
                if association.subnet_id:
                    _claim(by_subnet[association.state], association.subnet_id, table)
                elif association.main:
                    _claim(main_by_vpc[association.state], table.vpc_id, table)
        self._by_subnet = _by_precedence(by_subnet)
        self._main_by_vpc = _by_precedence(main_by_vpc)
        self._snapshot = snapshot

    def governing_table(self, subnet: Subnet) -> RouteTable | None:
        """Return the explicitly associated table, else the main table of the subnet's own VPC.

        An association in state `associating` takes precedence over one in state `associated`. The result is None if
        neither table can be seen, or if several tables claim to be the one. An association with a gateway routes what
        enters the VPC there, never what leaves a subnet, and the table of a regional NAT gateway governs no subnet
        (https://docs.aws.amazon.com/vpc/latest/userguide/gateway-route-tables.html,
        https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateways-regional.html).
        """
        if subnet.id in self._by_subnet:
            return self._by_subnet[subnet.id]
        return self._main_by_vpc.get(subnet.vpc_id)

    def governed_subnets(self, table: RouteTable) -> Sequence[Subnet]:
        """Return the subnets that a table governs, in the order of the snapshot."""
        return self._governed.get(table.id, ())

    @cached_property
    def _governed(self) -> Mapping[str | None, Sequence[Subnet]]:
        """The subnets by the id of the table that governs them; None if it cannot be seen."""
        found: defaultdict[str | None, list[Subnet]] = defaultdict(list)
        for subnet in self._snapshot.subnets.values():
            table = self.governing_table(subnet)
            found[table.id if table else None].append(subnet)
        return dict(found)


def _by_precedence(claims_by_state: dict[str, _Claims]) -> _Claims:
    """Return the claims of all states. If several states have a claim, the first state in ASSOCIATION_STATES counts."""
    found: _Claims = {}
    for state in reversed(ASSOCIATION_STATES):
        found.update(claims_by_state[state])
    return found


def _claim(claims: _Claims, owner_id: str, table: RouteTable) -> None:
    """Record that a table governs. If a second table does, neither is certain: EC2 lists both during a change."""
    if claims.setdefault(owner_id, table) is not table:
        claims[owner_id] = None
