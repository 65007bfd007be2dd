"""What the steps of the runbooks need from AWS and from the stack."""

from collections.abc import Callable
from dataclasses import dataclass

from express_path.adapters.aws import Aws
from express_path.adapters.ec2_snapshot import SnapshotReader
from express_path.adapters.ledger import Ledger
from express_path.domain.heal.records import HealSettings
from express_path.domain.verdict.parameters import RuleParameters


@dataclass(frozen=True, slots=True)
class Services:
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
