"""Where the network is read from: a dump, the live API, an organization, an aggregator. One engine judges them all."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from express_path.domain.network.merging import merged
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.dump.reader import read_dump
from express_path_cli.problems import OptionError
from express_path_cli.progress import Watch
from express_path_cli.result import Seen, View
from express_path_cli.sources.aggregated import read_aggregator
from express_path_cli.sources.live import LiveOptions, read_live


@dataclass(frozen=True)
class Source:
    """Where to look, as the options say it: a dump or an aggregator where one is given, else the live API."""

    from_dump: Path | None = None
    aggregator: str | None = None
    live: LiveOptions = field(default_factory=LiveOptions)

    def look(self, parameters: RuleParameters, watch: Watch) -> Seen:
        """Read the network. Raises DumpError, OptionError, or ApiError where nothing at all can be read."""
        self.check()
        if self.from_dump:
            return _look_into_dump(self.from_dump, self.live.regions)
        if self.aggregator:
            read = read_aggregator(self.aggregator, self.live, watch)
        else:
            read = read_live(self.live, parameters, watch)
        return Seen(views_of(read.snapshots), read.failures, read.notes, read.reach)

    @property
    def elsewhere(self) -> str:
        """Where a person finds what this source lacks, as a hint that names no option that it excludes."""
        if self.from_dump or self.aggregator:
            return "a scan without --vpc lists the subnets that there are, each with its VPC"
        return "name its --profile" if self.live.all_regions else "name its --region and --profile"

    def check(self) -> None:
        """Raise OptionError where an option is given that this source would leave out of account."""
        given = self.live.given()
        if self.from_dump and (given or self.aggregator):
            other = given[0] if given else "--aggregator"
            raise OptionError(f"--from-dump and {other} cannot be used together", "leave one of them out")
        organized = [each for each in given if each != "--profile"]
        if self.aggregator and organized:
            raise OptionError(
                f"--aggregator and {organized[0]} cannot be used together", "an aggregator holds every account"
            )


def _look_into_dump(folder: Path, only: Sequence[str]) -> Seen:
    regions = read_dump(folder)
    held = [each.network.region for each in regions]
    missing = [each for each in only if each not in held]
    if missing:
        raise OptionError(f"{folder} holds nothing of {missing[0]}", f"it holds {', '.join(held)}")
    views = [
        View(dumped.account, tracer, dumped.subnet_ids)
        for region in regions
        if not only or region.network.region in only
        for tracer in [Tracer(region.network)]
        for dumped in region.accounts
    ]
    return Seen(views)


def views_of(snapshots: Sequence[Snapshot]) -> list[View]:
    """Views of what was read; the accounts of one Region are one network: what one cannot see, another may show."""
    ordered = sorted(snapshots, key=lambda each: (each.region, each.account_id))
    views = []
    for region in dict.fromkeys(each.region for each in ordered):
        here = [each for each in ordered if each.region == region]
        tracer = Tracer(merged(here))
        views += [
            View(
                Account.of(each),
                tracer,
                tuple(subnet.id for subnet in each.own_subnets),
            )
            for each in here
        ]
    return views
