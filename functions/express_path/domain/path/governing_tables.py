"""Which route table governs a subnet."""

from express_path.domain.network.resources import ASSOCIATION_STATES, RouteTable, Subnet
from express_path.domain.network.snapshot import Snapshot

_Claims = dict[str, RouteTable | None]
"""The table that governs each subnet, or the main table of each VPC, by id; None if several tables claim to be it."""


class GoverningTables:
    """Finds the route table that governs a subnet of one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Index the associations that count, of tables that may govern a subnet."""
        self._by_subnet: dict[str, _Claims] = {state: {} for state in ASSOCIATION_STATES}
        self._main_by_vpc: dict[str, _Claims] = {state: {} for state in ASSOCIATION_STATES}
        regional = {gateway.route_table_id for gateway in snapshot.nat_gateways.values()}
        for table in snapshot.route_tables.values():
            if table.id not in regional:
                self._index(table)

    def _index(self, table: RouteTable) -> None:
        for association in table.associations:
            if not association.counts or association.gateway_id:
                continue
            if association.subnet_id:
                _claim(self._by_subnet[association.state], association.subnet_id, table)
            elif association.main:
                _claim(self._main_by_vpc[association.state], table.vpc_id, table)

    def governing_table(self, subnet: Subnet) -> RouteTable | None:
        """Return the explicitly associated table, else the main table of the subnet's own VPC.

        An association in state `associating` takes precedence over one in state `associated`. The result is None if
        neither table can be seen, or if several tables claim to be the one. An association with a gateway routes what
        enters the VPC there, never what leaves a subnet, and the table of a regional NAT gateway governs no subnet
        (https://docs.aws.amazon.com/vpc/latest/userguide/gateway-route-tables.html,
        https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateways-regional.html).
        """
        for claims, owner_id in ((self._by_subnet, subnet.id), (self._main_by_vpc, subnet.vpc_id)):
            for state in ASSOCIATION_STATES:
                if owner_id in claims[state]:
                    return claims[state][owner_id]
        return None


def _claim(claims: _Claims, owner_id: str, table: RouteTable) -> None:
    """Record that a table governs. If a second table does, neither is certain: EC2 lists both during a change."""
    if claims.setdefault(owner_id, table) is not table:
        claims[owner_id] = None
