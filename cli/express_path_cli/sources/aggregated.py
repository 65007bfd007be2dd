"""Reading an AWS Config aggregator: a whole organization at once, as far as configuration items tell."""

from collections.abc import Collection, Sequence

from express_path.errors import ApiError
from express_path_cli.account_access import AccountAccess
from express_path_cli.aggregator.reader import LACKING, Aggregator, BadSource
from express_path_cli.organization.clients import AccountClients
from express_path_cli.problems import OptionError, naming, without_region
from express_path_cli.progress import Watch
from express_path_cli.result import Failure
from express_path_cli.sources.live import LiveOptions, Read


def read_aggregator(name: str, options: LiveOptions, watch: Watch) -> Read:
    """Everything that the aggregator holds of the Regions asked for, of all where none is.

    Accounts that it could not copy are failures, those that it has not copied lately are notes. Raises ApiError.
    """
    watch.expect(1)
    with without_region("set AWS_REGION to the aggregator's: --region says which of its items are read"):
        aws = AccountClients.connect(None, options.profile)
    aggregator = Aggregator(aws, name)
    with naming(f"aggregator {name} in {aws.region}"):
        bad = [each for each in aggregator.bad_sources() if not options.regions or each.region in options.regions]
        snapshots = aggregator.snapshots(options.regions)
    watch.done(name)
    failures = [Failure(_place(each), _as_error(each)) for each in bad if not each.outdated]
    failures += _empty(name, options.regions, {each.region for each in snapshots})
    late = [f"{_place(each)}: its items are outdated ({each.why})" for each in bad if each.outdated]
    return Read(snapshots, failures, [*(f"aggregator {name}: {each}" for each in LACKING), *late], AccountAccess())


def _empty(name: str, regions: Sequence[str], held: Collection[str]) -> list[Failure]:
    """The Regions asked for of which nothing is held, or all of them: no subnet there, or none recorded."""
    error = OptionError(
        "it holds no subnet", "does it aggregate the Region, and do its accounts record AWS::EC2::Subnet?"
    )
    lacking = [f"aggregator {name} {each}" for each in regions if each not in held]
    return [Failure(each, error) for each in lacking or ([] if held else [f"aggregator {name}"])]


def _place(source: BadSource) -> str:
    return f"account {source.account_id} {source.region}"


def _as_error(source: BadSource) -> ApiError:
    return ApiError("the aggregator's copy", "FAILED", source.why)
