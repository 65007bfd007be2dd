"""The worklist: which items there are, in which order, what they show, and which changes fix them together."""

from dataclasses import replace

import yaml

from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.path.tracing import Tracer
from express_path.domain.remedy.texts import BREAKS
from express_path.domain.verdict.evaluator import Account
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.findings.row import rows_of
from express_path_cli.findings.worklist import Fix, fixes_of, item_record, worklist
from express_path_cli.sources.network import View
from tests.cli.findings.results import COMPLIANT, DROPPED, FLAGGED, LABELED, NAT, UNKNOWN, compared
from tests.support.heal_situation import EXPRESS_LIST_6
from tests.support.make import ACCOUNT, EXPRESS_LIST, by_id, endpoint, route, snapshot, subnet, table


def test_subnets_of_one_table_with_one_reason_are_one_item() -> None:
    """The item names each NAT once; another account, Region, table or reason is another item."""
    same_table = replace(FLAGGED, subnet_id="subnet-2", path=(NAT._replace(id="nat-1"),))
    others = [
        replace(FLAGGED, account_id="444455556666"),
        replace(FLAGGED, region="us-west-2"),
        replace(FLAGGED, route_table_id="rtb-2"),
        replace(FLAGGED, reason=Reason.PARTLY_NAT),
    ]
    items = worklist([FLAGGED, same_table, *others]).flagged
    table_id = FLAGGED.route_table_id
    assert [
        (row.reason, row.account_id, row.region, row.route_table_id, len(item.rows))
        for item in items
        for row in [item.first]
    ] == [
        (Reason.PARTLY_NAT, "111122223333", "us-east-1", table_id, 1),
        (Reason.NAT_GATEWAY, "111122223333", "us-east-1", table_id, 2),
        (Reason.NAT_GATEWAY, "111122223333", "us-east-1", "rtb-2", 1),
        (Reason.NAT_GATEWAY, "111122223333", "us-west-2", table_id, 1),
        (Reason.NAT_GATEWAY, "444455556666", "us-east-1", table_id, 1),
    ]
    assert items[1].nat_ids == (NAT.id, "nat-1")


def test_unreadable_tables_are_grouped_by_vpc() -> None:
    """Subnets of different VPCs have no unreadable table in common."""
    items = worklist([UNKNOWN, replace(UNKNOWN, vpc_id="vpc-2")]).unresolved
    assert [(item.first.vpc_id, item.first.route_table_id) for item in items] == [
        (UNKNOWN.vpc_id, None),
        ("vpc-2", None),
    ]


def test_dropped_and_unresolved_subnets_are_listed_separately() -> None:
    """A flagged subnet is only in the list of flagged subnets; the other compliances need no work."""
    flagged_unresolved = replace(UNKNOWN, compliance=Compliance.NON_COMPLIANT)
    found = worklist([DROPPED, UNKNOWN, flagged_unresolved, COMPLIANT])
    assert [item.rows for item in found.flagged] == [(flagged_unresolved,)]
    assert [item.rows for item in found.dropped] == [(DROPPED,)]
    assert [item.rows for item in found.unresolved] == [(UNKNOWN,)]
    assert [item.rows for item in found.others] == [(COMPLIANT,)]
    assert not any(item.nat_ids for item in (*found.flagged, *found.dropped, *found.unresolved))


def test_an_item_shows_what_its_subnets_have_in_common() -> None:
    """Its cells are those of the table and its NATs; notes have what to do if no remedy is shown."""
    [item] = worklist([LABELED, replace(LABELED, subnet_id="subnet-2", tags={})]).flagged
    record = item_record(item, is_compared=False)
    assert {title: list(values) for title, values in record.cells.items()} == {
        "Subnets": ["2"],
        "Reason": ["NAT_GATEWAY"],
        "Route table": [LABELED.route_table_id],
        "Table name": [LABELED.route_table_name],
        "VPC": [LABELED.vpc_id],
        "VPC name": ["prod"],
        "Account": [LABELED.account_id],
        "Region": [LABELED.region],
        "NAT": [NAT.id],
    }
    assert record.notes == {}
    [item] = worklist([DROPPED, replace(DROPPED, subnet_id="subnet-9")]).dropped
    record = item_record(item, is_compared=False)
    assert "NAT" not in record.cells
    assert record.notes == {"Path": [f"0.0.0.0/0 -> {NAT.id}"], "To fix": [DROPPED.note]}
    [item] = worklist([UNKNOWN]).unresolved
    assert list(item_record(item, is_compared=False).notes) == ["Path", "Unknown", "To find out"]
    new = {
        item.first.reason: item_record(item, is_compared=True).cells["New"]
        for item in worklist(compared().rows).flagged
    }
    assert new == {Reason.PARTLY_NAT: ["1"], Reason.NAT_GATEWAY: ["1"]}


def changes_in(found: Snapshot, parameters: RuleParameters | None = None) -> list[Fix]:
    """Return what to do about all flagged subnets of a network."""
    view = View(Account(ACCOUNT), Tracer(found), tuple(found.subnets))
    evaluator = view.evaluator(parameters or RuleParameters())
    rows = rows_of(map(evaluator.verdict, found.subnets), [evaluator])
    return fixes_of(worklist(rows).flagged)


def many(number: int, *targets: str, **more: object) -> Snapshot:
    """Return a network of a VPC with this many subnets, each with its own table; the targets take turns."""
    subnets = [subnet(f"subnet-{place}") for place in range(number)]
    routes = [route("0.0.0.0/0", targets[place % len(targets)]) for place in range(number)]
    tables = [table(f"rtb-{place}", to, subnets=(f"subnet-{place}",)) for place, to in enumerate(routes)]
    return snapshot(**{"subnets": by_id(*subnets), "route_tables": by_id(*tables), **more})


def test_tables_of_a_vpc_share_a_new_endpoint() -> None:
    """One command creates one endpoint for all tables of the VPC, and for subnets with other reasons, too."""
    [change] = changes_in(many(3, "nat-1", "nat-2", "igw-1"), RuleParameters(public_subnets=Compliance.NON_COMPLIANT))
    assert list(change.subnets.items()) == [(Reason.NAT_GATEWAY, 2), (Reason.INTERNET_GATEWAY, 1)]
    assert change.counted(Reason.NAT_GATEWAY) == "3 subnets, 1 of them INTERNET_GATEWAY"
    assert change.route_table_ids == ["rtb-0", "rtb-1", "rtb-2"]
    assert change.remedy.command.endswith("--route-table-ids rtb-0 rtb-1 rtb-2")
    assert change.remedy.text == (
        "Associate route tables rtb-0, rtb-1 and rtb-2 with a new gateway endpoint for S3 Express in vpc-1, so that S3 "
        "Express traffic no longer crosses nat-1 or nat-2 or leaves through an internet gateway. Gateway endpoints are "
        f"free of charge. One endpoint serves all of these route tables. {BREAKS}"
    )
    assert yaml.safe_load(change.remedy.patches["cloudFormation"])["Resources"]["S3ExpressEndpoint"]["Properties"][
        "RouteTableIds"
    ] == ["rtb-0", "rtb-1", "rtb-2"]
    assert change.remedy.patches["terraform"].count('resource "aws_vpc_endpoint" ') == 1
    assert change.remedy.patches["terraform"].count('resource "aws_vpc_endpoint_route_table_association" ') == 3


def test_tables_of_a_vpc_share_its_endpoint() -> None:
    """One command adds all tables to the endpoint. A text counts many IDs, and the command names all."""
    [change] = changes_in(many(5, "nat-1", vpc_endpoints=by_id(endpoint())))
    assert change.remedy.text.startswith("Associate 5 route tables with gateway endpoint vpce-express, so that")
    assert "One endpoint" not in change.remedy.text
    assert change.remedy.command.endswith("--add-route-table-ids rtb-0 rtb-1 rtb-2 rtb-3 rtb-4")


def test_tables_that_need_different_endpoints_are_separate() -> None:
    """A dual-stack table needs a dual-stack endpoint, which EC2 does not accept for an IPv4 table."""
    both = many(2, "nat-1")
    dual = replace(both.subnets["subnet-1"], has_ipv6=True)
    lists = by_id(EXPRESS_LIST, EXPRESS_LIST_6)
    found = replace(both, subnets=both.subnets | {"subnet-1": dual}, prefix_lists=lists)
    types = [change.remedy.command.partition("--ip-address-type ")[2].split() for change in changes_in(found)]
    assert sorted(types) == [["dualstack", "--route-table-ids", "rtb-1"], ["ipv4", "--route-table-ids", "rtb-0"]]
