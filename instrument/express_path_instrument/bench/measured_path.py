"""The path of the client's subnet, which is reported before a measurement."""

from express_path.adapters.aws import Aws
from express_path.adapters.network_reader import SnapshotReader
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator
from express_path.domain.verdict.parameters import RuleParameters
from express_path.errors import ApiError
from express_path_cli.aws.sessions import AccountRegion
from express_path_instrument.bench.results import MeasuredPath


def read_path(aws: Aws, subnet_id: str) -> MeasuredPath | None:
    """Return the verdict on a subnet, or None if it cannot be read: a measurement does not need it."""
    parameters = RuleParameters()
    try:
        account_region = AccountRegion.of_caller(aws)
        reader = SnapshotReader(aws)
        vpc_id = reader.vpc_of(subnet_id)
        if vpc_id is None:
            return None
        snapshot = reader.read(account_region.account_id, vpc_id, parameters)
    except ApiError:
        return None
    verdict = Evaluator(Tracer(snapshot), parameters).verdict(subnet_id)
    hops = tuple(f"{hop.kind} {hop.id}" for hop in verdict.path)
    return MeasuredPath(verdict.compliance, verdict.reason, hops)
