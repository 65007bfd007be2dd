"""Everything that can be told of one subnet: verdict, hops, the routes that competed, capacity, and its heal."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from express_path.adapters.ec2_snapshot import SnapshotReader
from express_path.domain.network.resources import RouteTable
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.capacity import Capacity, capacities, carrying
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.account_region import AccountRegion
from express_path_cli.dump.reader import read_dump
from express_path_cli.explanation.contest import Contest, RecordingTracer, contests
from express_path_cli.explanation.healing import Proposal, propose
from express_path_cli.organization.clients import AccountClients
from express_path_cli.problems import OptionError, naming
from express_path_cli.result import View
from express_path_cli.sources.live import LiveOptions
from express_path_cli.sources.source import Source


@dataclass(frozen=True)
class Explanation:
    """What was found out about one subnet; is_main tells that its table is the main one, not explicitly associated."""

    verdict: Verdict
    is_main: bool
    contests: list[Contest]
    capacities: list[Capacity]
    proposal: Proposal


@dataclass(frozen=True)
class Subject:
    """The subnet to explain, and where to read it."""

    subnet_id: str
    from_dump: Path | None = None
    region: str | None = None
    profile: str | None = None
    external_id: str = ""

    def explain(self, parameters: RuleParameters) -> Explanation:
        """Explain. Raises OptionError for options that cannot be combined or an unknown subnet, DumpError, ApiError."""
        if self.from_dump:
            Source(self.from_dump, live=LiveOptions(profile=self.profile, external_id=self.external_id)).check()
            return explained(self._dumped(self.from_dump).evaluator(parameters), self.subnet_id, None)
        place = AccountRegion.of_caller(AccountClients.connect(self.region, self.profile))
        with naming(place):
            snapshot = self._read(place, parameters)
        return explained(Evaluator(Tracer(snapshot), parameters), self.subnet_id, place)

    def _read(self, place: AccountRegion, parameters: RuleParameters) -> Snapshot:
        reader = SnapshotReader(place.aws, self.external_id)
        vpc_id = reader.vpc_of(self.subnet_id)
        if vpc_id is None:
            raise OptionError(
                f"account {place.account_id} has no subnet {self.subnet_id} in {place.aws.region}",
                "name its --region and --profile",
            )
        return reader.read(place.account_id, vpc_id, parameters)

    def _dumped(self, folder: Path) -> View:
        views = [
            View(each.account, Tracer(region.network), each.subnet_ids)
            for region in read_dump(folder)
            if self.region in (None, region.network.region)
            for each in region.accounts
            if self.subnet_id in each.subnet_ids
        ]
        if not views:
            scan = f"express-path scan --from-dump {shlex.quote(str(folder))}"
            raise OptionError(f"{folder} holds no subnet {self.subnet_id}", f"{scan} lists those that it holds")
        # Of a shared subnet, its owner's view tells; participants would only hear NOT_OWNED.
        owner = views[0].tracer.snapshot.subnets[self.subnet_id].owner_id
        return min(views, key=lambda view: view.account.id != owner)


def explained(evaluator: Evaluator, subnet_id: str, place: AccountRegion | None) -> Explanation:
    """Explain a subnet that the judge's snapshot holds; its place, if given, is asked for a heal's pre-flight."""
    verdict = evaluator.verdict(subnet_id)
    snapshot = evaluator.snapshot
    subnet, table = snapshot.subnets[subnet_id], snapshot.route_tables.get(verdict.route_table_id or "")
    witness = RecordingTracer(snapshot)
    if table and verdict.path:
        witness.trace_subnet(table, subnet)
    return Explanation(
        verdict,
        bool(table) and not _is_explicit(table, subnet_id),
        contests(witness),
        capacities(carrying(verdict.reason, verdict.path), snapshot),
        propose(evaluator, verdict, place),
    )


def _is_explicit(table: RouteTable | None, subnet_id: str) -> bool:
    return table is not None and any(each.subnet_id == subnet_id and each.counts for each in table.associations)
