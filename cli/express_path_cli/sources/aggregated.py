"""Read an AWS Config aggregator: a whole organization, limited to what configuration items contain."""

from collections.abc import Collection, Iterable, Sequence

from express_path.errors import ApiError
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.sessions import connect
from express_path_cli.sources.aggregator.reader import LIMITS, Aggregator, BadSource
from express_path_cli.sources.live import ReadResult
from express_path_cli.sources.network import AccountAccess
from express_path_cli.terminal.errors import Failure, OptionError, locating_errors, without_region
from express_path_cli.terminal.progress import Watch


def read_aggregator(name: str, options: LiveOptions, watch: Watch) -> ReadResult:
    """Read the aggregator's items of the selected Regions, or of all Regions if none is selected.

    Accounts that it could not copy are failures; those whose copy is outdated are notes. Raise ApiError.
    """
    watch.expect(1)
    with without_region("set AWS_REGION to the aggregator's Region; --region selects which of its items are read"):
        aws = connect(None, options.profile)
    aggregator = Aggregator(aws, name)
    with locating_errors(f"aggregator {name} in {aws.region}"):
        sources = aggregator.bad_sources()
        snapshots = aggregator.snapshots(options.regions)
    watch.done(name)
    bad = [source for source in sources if not options.regions or source.region in options.regions]
    failures = [*failed_sources(bad), *_empty(name, options.regions, {snapshot.region for snapshot in snapshots})]
    limits = [f"aggregator {name}: {limit}" for limit in LIMITS]
    return ReadResult(snapshots, failures, [*limits, *outdated_sources(bad)], AccountAccess())


def failed_sources(sources: Iterable[BadSource]) -> list[Failure]:
    """Return the accounts and Regions that an aggregator could not copy, as failures."""
    return [
        Failure(_account_region(source), ApiError("the aggregator's copy", "FAILED", source.why))
        for source in sources
        if not source.outdated
    ]


def outdated_sources(sources: Iterable[BadSource]) -> list[str]:
    """Return a note on each account and Region whose copy in an aggregator is outdated."""
    return [
        f"{_account_region(source)}: its items are outdated ({source.why})" for source in sources if source.outdated
    ]


def _empty(name: str, selected: Sequence[str], found: Collection[str]) -> list[Failure]:
    """Return a failure for each selected Region without a recorded subnet, or one if no Region has any."""
    error = OptionError(
        "it contains no subnet", "check that it aggregates the Region and that its accounts record AWS::EC2::Subnet"
    )
    empty = [f"aggregator {name} {region}" for region in selected if region not in found]
    return [Failure(where, error) for where in empty or ([] if found else [f"aggregator {name}"])]


def _account_region(source: BadSource) -> str:
    return f"account {source.account_id} {source.region}"
