"""Results for report tests: networks of the scenarios, evaluated as accounts of one organization."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path

from express_path.domain.network.resources import Subnet
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account
from express_path.domain.verdict.parameters import RuleParameters
from express_path.errors import ApiError
from express_path_cli.findings.formats.html.page import as_html
from express_path_cli.findings.options import RenderOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import rows_of
from express_path_cli.findings.selection import Selection, evaluate_all, evaluators
from express_path_cli.sources.network import View
from express_path_cli.sources.source import Source
from express_path_cli.terminal.errors import Failure
from express_path_cli.terminal.progress import Silent
from tests.support.scenarios import dump_with_aws_ids

MADE_AT = datetime(2026, 2, 13, 5, 48, 51, tzinfo=UTC)
SHOWN = (
    "nat-gateway-zonal",
    "gateway-endpoint",
    "firewall-then-nat-instance",
    "transit-gateway-hijacks-part",
    "transit-gateway-inspection-then-egress",
    "isolated-subnet",
    "cloud-wan-core-network",
    "table-in-force-unreadable",
    "shared-subnet-beside-its-owner",
    "two-regions",
    "nat-gateway-deleted-default-route-blackhole",
)
"""Recordings that between them have every compliance, every kind of line, and paths of up to six hops."""
DENIED = Failure(
    "account 444455556666 (payments) eu-west-1",
    ApiError("ec2:DescribeSubnets", "UnauthorizedOperation", "You are not authorized <to> perform this operation."),
)
OWNERS = ("payments", '=HYPERLINK("http://x")', 'a,b\n=1"c"', "\uff0b1")
"""Owners of VPCs, of which three need care in a CSV file."""
NOTE = "account 111122223333 us-east-1: ec2:DescribeNetworkInterfaces was denied & counts as unknown"


def views_of(scenario: str) -> list[View]:
    """Return the views of one scenario."""
    return list(Source(from_dump=dump_with_aws_ids(scenario)).read(RuleParameters(), Silent()).views)


def result_of(views: Sequence[View], parameters: RuleParameters | None = None, **more: object) -> Result:
    """Return the result of a scan of these views."""
    chosen = parameters or RuleParameters()
    rows = rows_of(evaluate_all(views, chosen, Selection()), evaluators(views, chosen))
    listed = {(view.account.id, view.region): frozenset(view.subnet_ids) for view in views}
    return Result(rows, MADE_AT, parameters=chosen, listed=listed, **more)  # type: ignore[arg-type]


def as_account(view: View, number: int) -> View:
    """Return the same network with another account as the owner of everything the dumped account owned."""
    account_id, snapshot = f"{number:012}", view.tracer.snapshot
    subnets = {
        key: replace(subnet, owner_id=account_id) if subnet.owner_id == view.account.id else subnet
        for key, subnet in snapshot.subnets.items()
    }
    moved = replace(snapshot, account_id=account_id, subnets=subnets)
    return View(Account(account_id, view.account.has_directory_buckets), Tracer(moved), view.subnet_ids)


def accounts() -> list[View]:
    """Return the scenarios above as one organization in which each has its own accounts."""
    views = [view for scenario in SHOWN for view in views_of(scenario)]
    return [as_account(view, 111111111111 + number) for number, view in enumerate(views)]


def organization(**more: object) -> Result:
    """Return the result of a scan of this organization."""
    return result_of(accounts(), **more)


def named(view: View, name: str) -> View:
    """Return the same network with this name on each subnet, VPC, and route table."""
    snapshot, tags = view.tracer.snapshot, {"Name": name}

    def renamed(subnet: Subnet) -> Subnet:
        return replace(subnet, tags=tags)

    changed = replace(
        snapshot,
        subnets={key: renamed(subnet) for key, subnet in snapshot.subnets.items()},
        vpcs={key: replace(resource, tags=tags) for key, resource in snapshot.vpcs.items()},
        route_tables={key: replace(resource, tags=tags) for key, resource in snapshot.route_tables.items()},
    )
    return View(view.account, Tracer(changed), view.subnet_ids)


def owned_organization() -> Result:
    """Return the result with an owner tag on VPCs, a failure, and a note; the VPCs of every fifth view have no owner."""
    views = []
    for view, owner in zip(accounts(), cycle((*OWNERS, None)), strict=False):
        snapshot = view.tracer.snapshot
        tags = {"owner": owner} if owner else {}
        vpcs = {key: replace(vpc, tags={**vpc.tags, **tags}) for key, vpc in snapshot.vpcs.items()}
        views.append(View(view.account, Tracer(replace(snapshot, vpcs=vpcs)), view.subnet_ids))
    return result_of(views, failures=[DENIED], notes=[NOTE])


def page_of(result: Result) -> str:
    """Return a report."""
    return "".join(as_html(result, RenderOptions()))


def written(result: Result, folder: Path, additions: RenderOptions | None = None) -> Path:
    """Write a report and return its file."""
    file = folder / "report.html"
    file.write_text("".join(as_html(result, additions or RenderOptions())), encoding="utf-8", newline="")
    return file
