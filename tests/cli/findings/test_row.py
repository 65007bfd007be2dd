"""The row: a verdict with its remedy, and the names and tags of its resources."""

from dataclasses import fields, replace

from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import Association, PrefixList, RouteTable, Subnet, Tags, Vpc
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.findings.row import Row, rows_of
from express_path_cli.sources.network import View
from tests.cli.findings.results import NAT

ACCOUNT, REGION = "111122223333", "us-east-1"
VERDICT = Verdict(
    *(ACCOUNT, REGION, "vpc-1", "subnet-1", "use1-az4", "rtb-1"),
    *(Compliance.NON_COMPLIANT, Reason.NAT_GATEWAY, "NAT_GATEWAY: it crosses a NAT", ()),
)


def _view(subnet: Tags, route_table: Tags, vpc: Tags) -> View:
    snapshot = Snapshot(
        ACCOUNT,
        REGION,
        vpcs={"vpc-1": Vpc("vpc-1", ACCOUNT, vpc)},
        subnets={"subnet-1": Subnet("subnet-1", "vpc-1", ACCOUNT, tags=subnet)},
        route_tables={"rtb-1": RouteTable("rtb-1", "vpc-1", associations=(Association(main=True),), tags=route_table)},
        prefix_lists={"pl-1": PrefixList("pl-1", f"com.amazonaws.{REGION}.s3express", Family.IPV4, ())},
    )
    return View(Account(ACCOUNT), Tracer(snapshot), ("subnet-1",))


def _row(verdict: Verdict, view: View) -> Row:
    [row] = rows_of([verdict], [view.evaluator(RuleParameters())])
    return row


def test_a_row_is_its_verdict_with_its_remedy() -> None:
    """Each field of the verdict is unchanged, and the remedy names the route table."""
    verdict = replace(VERDICT, path=(NAT,), note="a note", lacks="ec2:DescribeVpcs")
    row = _row(verdict, _view({}, {}, {}))
    assert {name.name: getattr(row, name.name) for name in fields(Verdict)} == {
        name.name: getattr(verdict, name.name) for name in fields(Verdict)
    }
    assert row.remedy
    assert row.remedy.command.endswith("--route-table-ids rtb-1")
    assert row.key == (ACCOUNT, REGION, "subnet-1")
    assert row.baseline is None


def test_each_resource_has_the_name_in_its_tag() -> None:
    """A resource without a Name tag, or that was not read, has an empty name."""
    view = _view({"Name": "app"}, {"name": "other key"}, {"Name": "prod"})
    assert _row(VERDICT, view).names() == {"subnet": "app", "vpc": "prod"}
    assert _row(replace(VERDICT, route_table_id=None, vpc_id="vpc-2"), view).names() == {"subnet": "app"}
    assert _row(replace(VERDICT, region="us-west-2"), view).names() == {}


def test_a_tag_is_that_of_the_nearest_resource() -> None:
    """The subnet's tag comes before the table's, and the table's before the VPC's."""
    view = _view({"team": "data"}, {"team": "network", "cost": "42"}, {"cost": "7", "owner": "ops"})
    row = _row(VERDICT, view)
    assert row.tags == {"owner": "ops", "team": "data", "cost": "42"}
