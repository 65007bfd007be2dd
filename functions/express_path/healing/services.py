"""What the steps of heals and undos share: the services of an account, and what they say about other runs."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from express_path.adapters.aws import Aws
from express_path.adapters.heal_reader import has_ended
from express_path.adapters.ledger import Ledger
from express_path.adapters.network_reader import SnapshotReader
from express_path.domain.heal.ledger_records import RunRecord, TableRecord, VpcRecord
from express_path.domain.heal.records import HealSettings
from express_path.domain.verdict.parameters import RuleParameters


@dataclass(frozen=True, slots=True)
class HealServices:
    """The services of one account and Region. Heals evaluate subnets with the rule's parameters.

    Only heals and approvals read all settings: an undo must be possible even if one of them is invalid, for which
    read_settings raises SettingError. An undo reads the settings about owners.
    """

    account_id: str
    aws: Aws
    snapshots: SnapshotReader
    ledger: Ledger
    parameters: RuleParameters
    read_settings: Callable[[], HealSettings]
    read_owners: Callable[[], HealSettings]


def creators_of(services: HealServices, vpc: VpcRecord, run_id: str) -> tuple[RunRecord, ...]:
    """Return the heals that created, or may have created, endpoints of a VPC, and are over. Raise ApiError, RecordError.

    A heal is over once it has read its change back, or if its run has ended. run_id is the run that asks.
    """
    run_ids = sorted({vpc.token_run, *vpc.creator_runs})
    runs = [run for run in map(services.ledger.run, run_ids) if run and run.creation_intended_at]
    return tuple(
        run for run in runs if run.is_associated or (run.run_id != run_id and has_ended(services.aws.ssm, run.run_id))
    )


def is_other_run_working(aws: Aws, record: TableRecord, run_id: str, at: datetime) -> bool:
    """Return whether another run has claimed a route table and has not ended."""
    return record.is_claimed_by_other(run_id, at) and not has_ended(aws.ssm, record.run_id)


def current_time() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)
