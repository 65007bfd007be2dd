"""Explain one subnet: its verdict, the hops, the routes that compete at each, capacity, and the heal."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from express_path.adapters.ec2_snapshot import SnapshotReader
from express_path.domain.network.resources import RouteTable
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.domain.remedy.remedies import remedy
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.capacity import Capacity, capacities, carrying_hops
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.sessions import AccountRegion, connect
from express_path_cli.explain.healing import Proposal, propose
from express_path_cli.explain.route_selection import RecordingTracer, RouteSelection, route_selections
from express_path_cli.findings.resource_labels import Names, names_in
from express_path_cli.sources.dump import read_dump
from express_path_cli.sources.network import View
from express_path_cli.sources.source import Source
from express_path_cli.terminal.errors import OptionError, locating_errors


@dataclass(frozen=True, slots=True)
class Explanation:
    """One subnet, explained; is_main: its route table is the VPC's main one, without an explicit association.

    notes are what else a reader should know: about proxies, and about what the source leaves out.
    """

    verdict: Verdict
    names: Names
    is_main: bool
    route_selections: list[RouteSelection]
    capacities: list[Capacity]
    proposal: Proposal
    remedy: Remedy | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """The subnet to explain, and where to read its network."""

    subnet_id: str
    from_dump: Path | None = None
    region: str | None = None
    profile: str | None = None
    external_id: str = ""

    def explain(self, parameters: RuleParameters) -> Explanation:
        """Explain the subnet.

        Raise OptionError for an unknown subnet or options that cannot be used together, DumpError and ApiError.
        """
        if self.from_dump:
            Source(self.from_dump, live=LiveOptions(profile=self.profile, external_id=self.external_id)).check()
            return explained(self._dumped(self.from_dump).evaluator(parameters), self.subnet_id, None)
        account_region = AccountRegion.of_caller(connect(self.region, self.profile))
        with locating_errors(account_region):
            snapshot = self._read(account_region, parameters)
        return explained(Evaluator(Tracer(snapshot), parameters), self.subnet_id, account_region)

    def _read(self, account_region: AccountRegion, parameters: RuleParameters) -> Snapshot:
        reader = SnapshotReader(account_region.aws, self.external_id)
        vpc_id = reader.vpc_of(self.subnet_id)
        if vpc_id is None:
            raise OptionError(
                f"account {account_region.account_id} has no subnet {self.subnet_id} in {account_region.aws.region}",
                "set --region and --profile to where the subnet is",
            )
        snapshot = reader.read(account_region.account_id, vpc_id, parameters)
        return replace(snapshot, nat_gateways={**snapshot.nat_gateways, **reader.nat_gateways(vpc_id)})

    def _dumped(self, folder: Path) -> View:
        views = [
            View(account.account, Tracer(region.network), account.subnet_ids)
            for region in read_dump(folder)
            if self.region in (None, region.network.region)
            for account in region.accounts
            if self.subnet_id in account.subnet_ids
        ]
        if not views:
            scan = f"express-path scan --from-dump {shlex.quote(str(folder))}"
            raise OptionError(f"the dump {folder} has no subnet {self.subnet_id}", f"{scan} lists its subnets")
        # A shared subnet is explained from its owner's view; for participants it is only NOT_OWNED.
        owner = views[0].tracer.snapshot.subnets[self.subnet_id].owner_id
        return min(views, key=lambda view: view.account.id != owner)


def explained(evaluator: Evaluator, subnet_id: str, account_region: AccountRegion | None) -> Explanation:
    """Explain a subnet of the evaluator's snapshot; account_region is where the heal's pre-flight checks read."""
    verdict = evaluator.verdict(subnet_id)
    snapshot = evaluator.snapshot
    subnet, table = snapshot.subnets[subnet_id], snapshot.route_tables.get(verdict.route_table_id or "")
    tracer = RecordingTracer(snapshot)
    if table and verdict.path:
        tracer.trace_subnet(table, subnet)
    return Explanation(
        verdict=verdict,
        names=names_in(snapshot, verdict),
        is_main=table is not None and not _is_explicit(table, subnet_id),
        route_selections=route_selections(tracer),
        capacities=capacities(carrying_hops(verdict.reason, verdict.path), snapshot),
        proposal=propose(evaluator, verdict, account_region),
        remedy=remedy(verdict, evaluator.tracer),
        notes=(*_proxies(snapshot, verdict.vpc_id), *_unlisted_tables(snapshot, verdict.vpc_id)),
    )


def _proxies(snapshot: Snapshot, vpc_id: str) -> Iterator[str]:
    """Yield a note on each NAT/Proxy firewall with an endpoint or a NAT gateway in the VPC."""
    endpoints = [endpoint.id for endpoint in snapshot.vpc_endpoints.values() if endpoint.vpc_id == vpc_id]
    found = {snapshot.firewall_of_endpoint[key].arn for key in endpoints if key in snapshot.firewall_of_endpoint}
    arns = {arn for arn in found if (snapshot.firewalls or {})[arn].is_proxy}
    arns |= {gateway.proxy_firewall_arn for gateway in snapshot.nat_gateways.values() if gateway.vpc_id == vpc_id} - {
        ""
    }
    for arn in sorted(arns):
        yield (
            f"{arn.rpartition('/')[2]} is a NAT/Proxy firewall. Routes do not show which clients use it as an explicit "
            "proxy. Their traffic crosses its NAT gateway even with the endpoint, unless their NO_PROXY has the host "
            "names of S3 Express"
        )


def _unlisted_tables(snapshot: Snapshot, vpc_id: str) -> Iterator[str]:
    """Yield a note on each endpoint of the VPC that names a route table which the source does not list."""
    for endpoint in snapshot.vpc_endpoints.values():
        missing = [table_id for table_id in endpoint.route_table_ids if table_id not in snapshot.route_tables]
        if endpoint.vpc_id == vpc_id and missing:
            yield f"{endpoint.id} names {', '.join(missing)}, which is not listed: the route tables read are incomplete"


def _is_explicit(table: RouteTable, subnet_id: str) -> bool:
    return any(association.subnet_id == subnet_id and association.counts for association in table.associations)
