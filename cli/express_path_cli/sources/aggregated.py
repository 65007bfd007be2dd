"""Reading an AWS Config aggregator: a whole organization at once, as far as configuration items tell."""

from express_path.adapters.aggregator import LACKING, Aggregator, BadSource
from express_path.adapters.organization_clients import MovingAws
from express_path.errors import ApiError
from express_path_cli.progress import Watch
from express_path_cli.reach import Reach
from express_path_cli.result import Failure
from express_path_cli.sources.live import LiveOptions, Read


def read_aggregator(name: str, options: LiveOptions, watch: Watch) -> Read:
    """Everything that the aggregator holds of the Regions asked for, of all where none is.

    Accounts that it could not copy are failures, those that it has not copied lately are notes. Raises ApiError.
    """
    watch.expect(1)
    aggregator = Aggregator(MovingAws.connect(None, options.profile), name)
    bad = [each for each in aggregator.bad_sources() if not options.regions or each.region in options.regions]
    snapshots = aggregator.snapshots(options.regions)
    watch.done(name)
    failures = [Failure(_place(each), _as_error(each)) for each in bad if not each.outdated]
    late = [f"{_place(each)}: its items are outdated ({each.why})" for each in bad if each.outdated]
    return Read(snapshots, failures, [*(f"aggregator {name}: {each}" for each in LACKING), *late], Reach())


def _place(source: BadSource) -> str:
    return f"account {source.account_id} {source.region}"


def _as_error(source: BadSource) -> ApiError:
    return ApiError("the aggregator's copy", "FAILED", source.why)
