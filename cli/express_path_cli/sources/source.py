"""The source that a network is read from: a dump, the sample network, live accounts, an organization, or an aggregator."""

from dataclasses import dataclass, field
from pathlib import Path

from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.aws.options import LiveOptions
from express_path_cli.sources.dump import read_dump
from express_path_cli.sources.network import NetworkViews, View
from express_path_cli.terminal.errors import Failure, OptionError
from express_path_cli.terminal.progress import Watch

EXAMPLE = Path(__file__).with_name("example")
"""The dump of the sample network. Its subnets app-private-a and app-private-b reach S3 Express through a NAT gateway."""
EXAMPLE_NOTE = "this is the sample network that is installed with express-path, not a network of yours"


@dataclass(frozen=True, slots=True)
class Source:
    """The source that the options select: a dump, the sample network, or an aggregator, otherwise live accounts."""

    from_dump: Path | None = None
    aggregator: str | None = None
    live: LiveOptions = field(default_factory=LiveOptions)
    example: bool = False

    @property
    def dump(self) -> Path | None:
        """The folder to read, or None if the source is AWS."""
        return EXAMPLE if self.example else self.from_dump

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know about this source."""
        return (EXAMPLE_NOTE,) if self.example else ()

    def read(self, parameters: RuleParameters, watch: Watch, *, for_plan: bool = False) -> NetworkViews:
        """Read the network; for a plan, also what it does not use yet. Raise DumpError, OptionError, or ApiError if nothing at all can be read."""
        self.check()
        if self.dump:
            return self._read_dump(self.dump)
        # botocore takes a third of a second to import: a dump does without, and a terminal shows progress before.
        if self.aggregator:
            from express_path_cli.sources.aggregator import read_aggregator  # noqa: PLC0415  # imports botocore

            return read_aggregator(self.aggregator, self.live, watch)
        from express_path_cli.sources.live import read_live  # noqa: PLC0415  # imports botocore

        return read_live(self.live, parameters, watch, for_plan=for_plan)

    def _read_dump(self, folder: Path) -> NetworkViews:
        """Read the Regions of a dump that are selected, or all. Folders that are bad input are failures."""
        dump, selected = read_dump(folder), self.live.regions
        names = [dumped.network.region for dumped in dump.regions]
        missing = [region for region in selected if region not in names]
        if missing and not dump.faults:
            raise OptionError(f"the dump {folder} does not contain {missing[0]}", f"it contains {', '.join(names)}")
        views = [
            View(account.account, tracer, account.subnet_ids)
            for dumped in dump.regions
            if not selected or dumped.network.region in selected
            for tracer in [Tracer(dumped.network)]
            for account in dumped.accounts
        ]
        return NetworkViews(
            views, [Failure(f"folder {path.name}", fault) for path, fault in dump.faults.items()], self.notes
        )

    @property
    def elsewhere(self) -> str:
        """A hint on where to find what this source does not contain, by options that this source allows."""
        if self.dump or self.aggregator:
            return "a scan without --vpc lists all subnets with their VPCs"
        return "check --profile" if self.live.all_regions else "check --region and --profile"

    def options(self) -> list[str]:
        """Return the options on the command line that select this source."""
        words = []
        if self.example:
            words.append("--example")
        if self.from_dump:
            words += ["--from-dump", str(self.from_dump)]
        if self.aggregator:
            words += ["--aggregator", self.aggregator]
        return [*words, *self.live.options()]

    def check(self) -> None:
        """Raise OptionError for an option that this source would ignore."""
        given = self.live.given()
        for_other_sources = [*given]
        if self.aggregator:
            for_other_sources.append("--aggregator")
        if self.example and self.from_dump:
            for_other_sources.append("--from-dump")
        if self.example and self.live.regions:
            for_other_sources.append("--region")
        if self.dump and for_other_sources:
            option = "--example" if self.example else "--from-dump"
            raise OptionError(f"{option} and {for_other_sources[0]} cannot be used together", "leave one of them out")
        ignored = [option for option in given if option != "--profile"]
        if self.aggregator and ignored:
            raise OptionError(
                f"--aggregator and {ignored[0]} cannot be used together", "an aggregator contains every account"
            )
