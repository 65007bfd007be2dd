"""The names and tags of a row."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import PrefixList, RouteTable, Subnet, Tags, Vpc
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account, Verdict
from express_path_cli.findings.row import Row, notes_on_tags, rows_of
from express_path_cli.sources.network import View
from tests.support.command import invoke
from tests.support.scenarios import dump_of

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
        route_tables={"rtb-1": RouteTable("rtb-1", "vpc-1", tags=route_table)},
        prefix_lists={"pl-1": PrefixList("pl-1", f"com.amazonaws.{REGION}.s3express", Family.IPV4, ())},
    )
    return View(Account(ACCOUNT), Tracer(snapshot), ("subnet-1",))


def _row(verdict: Verdict, view: View, tag_keys: tuple[str, ...] = ()) -> Row:
    [row] = rows_of([verdict], [view], tag_keys)
    return row


def test_each_resource_has_the_name_in_its_tag() -> None:
    """A resource without a Name tag, or that was not read, has an empty name."""
    view = _view({"Name": "app"}, {"name": "other key"}, {"Name": "prod"})
    assert _row(VERDICT, view).names() == {"subnet": "app", "vpc": "prod"}
    assert _row(replace(VERDICT, route_table_id=None, vpc_id="vpc-2"), view).names() == {"subnet": "app"}
    assert _row(replace(VERDICT, region="us-west-2"), view).names() == {}


def test_a_selected_tag_is_that_of_the_nearest_resource() -> None:
    """The subnet's tag comes before the table's, and the table's before the VPC's; missing tags are left out."""
    view = _view({"team": "data"}, {"team": "network", "cost": "42"}, {"cost": "7", "owner": "ops"})
    tags = _row(VERDICT, view, ("owner", "team", "cost", "missing")).tags
    assert tags == {"owner": "ops", "team": "data", "cost": "42"}
    assert list(tags) == ["owner", "team", "cost"]
    assert _row(VERDICT, view).tags == {}


def test_a_tag_that_no_resource_has_is_noted() -> None:
    """The key may be misspelled, and a missing owner is a result, not an error."""
    view = _view({"team": "data"}, {"cost": "42"}, {"owner": "ops"})
    assert notes_on_tags([view, view], ("team", "cost", "owner", "Owner")) == [
        "no subnet, route table or VPC that was read has the tag Owner (keys are case-sensitive)"
    ]
    assert notes_on_tags([], ("owner",)) == []


def test_explain_shows_the_names(tmp_path: Path) -> None:
    """They follow the IDs in the text, and JSON has those that exist. A name cannot control the terminal."""
    dump = dump_of("more-specific-route-to-nat")
    command = ["explain", "subnet-private-a", "--from-dump", str(dump)]
    names = json.loads(invoke([*command, "--format", "json"]).stdout)["names"]
    assert names == {"subnet": "private-a", "routeTable": "private", "vpc": "app"}
    text = invoke(command).stdout
    for id_and_name in ("subnet-private-a (private-a)", "vpc-app (app)", "route table rtb-private (private),"):
        assert id_and_name in text
    file = "vpcs.json"
    shutil.copytree(dump, tmp_path, dirs_exist_ok=True)
    described = (dump / file).read_text(encoding="utf-8").replace('"app"', '"\\u001b[2J[red]"')
    (tmp_path / file).write_text(described, encoding="utf-8")
    forged = invoke([*command[:3], str(tmp_path)]).stdout
    assert "vpc-app (\ufffd[2J[red])" in forged
    assert "\x1b" not in forged
