"""The worklist: which rows there are, in which order, and which NATs they name."""

from dataclasses import replace

from express_path.domain.network.resources import TargetKind
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Compliance, Reason
from express_path_cli.findings.row import Row
from express_path_cli.findings.worklist import worklist


def _path(nat_id: str) -> tuple[Hop, ...]:
    return (Hop(TargetKind.NAT_GATEWAY, nat_id, "0.0.0.0/0"),)


FLAGGED = Row(
    *("111122223333", "us-east-1", "vpc-1", "subnet-1", "use1-az4", "rtb-1"),
    *(Compliance.NON_COMPLIANT, Reason.NAT_GATEWAY, "NAT_GATEWAY: it crosses a NAT", _path("nat-2")),
)
DROPPED = replace(FLAGGED, compliance=Compliance.NOT_APPLICABLE, reason=Reason.DROPPED)
UNRESOLVED = replace(DROPPED, reason=Reason.UNRESOLVED_EGRESS)


def test_subnets_of_one_table_with_one_reason_are_one_row() -> None:
    """The row names each NAT once; another account, Region, table or reason is another row."""
    same_table = replace(FLAGGED, subnet_id="subnet-2", path=_path("nat-1"))
    others = [
        replace(FLAGGED, account_id="444455556666"),
        replace(FLAGGED, region="us-west-2"),
        replace(FLAGGED, route_table_id="rtb-2"),
        replace(FLAGGED, reason=Reason.PARTLY_NAT),
    ]
    items = worklist([FLAGGED, same_table, *others]).flagged
    assert [
        (row.reason, row.account_id, row.region, row.route_table_id, len(item.rows))
        for item in items
        for row in [item.first]
    ] == [
        (Reason.PARTLY_NAT, "111122223333", "us-east-1", "rtb-1", 1),
        (Reason.NAT_GATEWAY, "111122223333", "us-east-1", "rtb-1", 2),
        (Reason.NAT_GATEWAY, "111122223333", "us-east-1", "rtb-2", 1),
        (Reason.NAT_GATEWAY, "111122223333", "us-west-2", "rtb-1", 1),
        (Reason.NAT_GATEWAY, "444455556666", "us-east-1", "rtb-1", 1),
    ]
    assert items[1].nat_ids == ("nat-1", "nat-2")


def test_unreadable_tables_are_grouped_by_vpc() -> None:
    """Subnets of different VPCs have no unreadable table in common."""
    unknown = replace(UNRESOLVED, route_table_id=None)
    items = worklist([unknown, replace(unknown, vpc_id="vpc-2")]).unresolved
    assert [(item.first.vpc_id, item.first.route_table_id) for item in items] == [("vpc-1", None), ("vpc-2", None)]


def test_dropped_and_unresolved_subnets_are_listed_separately() -> None:
    """A flagged subnet is only in the list of flagged subnets; the other compliances are in none."""
    flagged_unresolved = replace(UNRESOLVED, compliance=Compliance.NON_COMPLIANT)
    compliant = replace(FLAGGED, compliance=Compliance.COMPLIANT, reason=Reason.ENDPOINT)
    found = worklist([DROPPED, UNRESOLVED, flagged_unresolved, compliant])
    assert [item.rows for item in found.flagged] == [(flagged_unresolved,)]
    assert [item.rows for item in found.dropped] == [(DROPPED,)]
    assert [item.rows for item in found.unresolved] == [(UNRESOLVED,)]
    assert not any(item.nat_ids for item in (*found.flagged, *found.dropped, *found.unresolved))
