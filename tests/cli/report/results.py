"""Results for report tests: networks of the scenarios, evaluated as accounts of one organization."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from express_path.domain.network.resources import Subnet
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account
from express_path.domain.verdict.parameters import RuleParameters
from express_path.errors import ApiError
from express_path_cli.progress import Silent
from express_path_cli.report.document import as_html
from express_path_cli.result import Failure, Result, View
from express_path_cli.selection import Selection, evaluate_all
from express_path_cli.sources.source import Source
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
NOTE = "account 111122223333 us-east-1: ec2:DescribeNetworkInterfaces was denied & counts as unknown"


def views_of(scenario: str) -> list[View]:
    """Return the views of one scenario."""
    return list(Source(from_dump=dump_with_aws_ids(scenario)).read(RuleParameters(), Silent()).views)


def result_of(views: Sequence[View], parameters: RuleParameters | None = None, **more: object) -> Result:
    """Return the result of a scan of these views."""
    chosen = parameters or RuleParameters()
    verdicts = evaluate_all(views, chosen, Selection())
    return Result(verdicts, MADE_AT, views=views, parameters=chosen, **more)  # type: ignore[arg-type]


def as_account(view: View, number: int) -> View:
    """Return the same network with another account as the owner of everything the dumped account owned."""
    account_id, snapshot = f"{number:012}", view.tracer.snapshot
    subnets = {
        key: replace(subnet, owner_id=account_id) if subnet.owner_id == view.account.id else subnet
        for key, subnet in snapshot.subnets.items()
    }
    moved = replace(snapshot, account_id=account_id, subnets=subnets)
    return View(Account(account_id, view.account.has_directory_buckets), Tracer(moved), view.subnet_ids)


def organization(**more: object) -> Result:
    """Return the scenarios above as one organization in which each has its own accounts."""
    views = [view for scenario in SHOWN for view in views_of(scenario)]
    return result_of([as_account(view, 111111111111 + number) for number, view in enumerate(views)], **more)


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
        vpc_endpoints={key: replace(resource, tags=tags) for key, resource in snapshot.vpc_endpoints.items()},
    )
    return View(view.account, Tracer(changed), view.subnet_ids)


def written(result: Result, folder: Path) -> Path:
    """Write a report and return its file."""
    file = folder / "report.html"
    file.write_text(as_html(result), encoding="utf-8", newline="")
    return file
