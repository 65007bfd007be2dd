"""AWS Config's recorder: its settings, its status, and what is wrong with either.

Service-linked recorders are left out: these calls return them only on request, and rules do not get what they record
(https://docs.aws.amazon.com/config/latest/APIReference/API_DescribeConfigurationRecorders.html).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from express_path.adapters.aws import calling
from express_path.domain.verdict.fanout import ResourceType
from express_path.fields import Description, identifier, ids, member, nested, rows

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient

TRIGGERS = tuple(sorted(str(kind) for kind in ResourceType if kind is not ResourceType.DIRECTORY_BUCKET))
"""The resource types whose changes can change paths. Directory buckets matter only with scope=DIRECTORY_BUCKETS."""
WATCHED = tuple(kind for kind in TRIGGERS if kind.endswith((":NatGateway", ":RouteTable", ":Subnet", ":VPCEndpoint")))
"""The types that every network has. A recorder without one of them is a fault; the others may wait for the next sweep."""


class Strategy(StrEnum):
    """Which resource types a recorder records.

    https://docs.aws.amazon.com/config/latest/APIReference/API_RecordingStrategy.html
    """

    ALL = "ALL_SUPPORTED_RESOURCE_TYPES"
    INCLUSION = "INCLUSION_BY_RESOURCE_TYPES"
    EXCLUSION = "EXCLUSION_BY_RESOURCE_TYPES"


class Frequency(StrEnum):
    """How often changes are recorded.

    https://docs.aws.amazon.com/config/latest/APIReference/API_RecordingMode.html
    """

    CONTINUOUS = "CONTINUOUS"
    DAILY = "DAILY"


@dataclass(frozen=True, slots=True)
class Recorder:
    """A recorder's settings: the types that its strategy includes or excludes, and frequencies that differ by type."""

    name: str
    strategy: Strategy
    listed: frozenset[str] = frozenset()
    frequency: Frequency = Frequency.CONTINUOUS
    overrides: Mapping[str, Frequency] = field(default_factory=dict)


def records(recorder: Recorder, resource_type: str) -> bool:
    """Return whether a recorder records a resource type that AWS Config supports."""
    if recorder.strategy is Strategy.ALL:
        return True
    return (resource_type in recorder.listed) is (recorder.strategy is Strategy.INCLUSION)


def frequency_of(recorder: Recorder, resource_type: str) -> Frequency:
    """Return how often a recorder records a resource type: an override replaces the default."""
    return recorder.overrides.get(resource_type, recorder.frequency)


def types_problem(recorder: Recorder | None) -> str:
    """Return which watched types a recorder does not record; nothing without a recorder, which is another problem."""
    missing = [kind for kind in WATCHED if recorder and not records(recorder, kind)]
    if recorder is None or not missing:
        return ""
    return f"recorder {recorder.name} does not record {', '.join(missing)}: their changes do not invoke the rule"


def read_recorder(config: "ConfigServiceClient") -> Recorder | None:
    """Read the settings of the account's own recorder, or return None without one. Raise ApiError, RecordError."""
    with calling("config:DescribeConfigurationRecorders"):
        answer = config.describe_configuration_recorders()
    return next(map(_recorder, rows(answer, "ConfigurationRecorders", "config")), None)


def _recorder(row: Description) -> Recorder:
    name = identifier(row, "name", "recorder")
    place = f"recorder {name}"
    group, mode = nested(row, "recordingGroup", name), nested(row, "recordingMode", name)
    strategy = _strategy(group, place)
    excluded = nested(group, "exclusionByResourceTypes", name)
    listed = {Strategy.INCLUSION: group, Strategy.EXCLUSION: excluded}.get(strategy, {})
    return Recorder(
        name,
        strategy,
        frozenset(ids(listed, "resourceTypes", name)),
        member({"recordingFrequency": Frequency.CONTINUOUS, **mode}, "recordingFrequency", place, Frequency),
        {
            resource_type: member(override, "recordingFrequency", place, Frequency)
            for override in rows(mode, "recordingModeOverrides", name)
            for resource_type in ids(override, "resourceTypes", name)
        },
    )


def _strategy(group: Description, place: str) -> Strategy:
    """Return the recording strategy. Settings older than strategies are converted to the equivalent one."""
    named = nested(group, "recordingStrategy", place)
    if named.get("useOnly"):
        return member(named, "useOnly", place, Strategy)
    return Strategy.INCLUSION if group and not group.get("allSupported") else Strategy.ALL


@dataclass(frozen=True, slots=True)
class RecorderStatus:
    """The status of a recorder. `last_status` is that of the latest recording event, such as Success or Failure."""

    name: str
    recording: bool
    last_status: str = ""
    error: str = ""
    changed: datetime | None = None

    @property
    def fails(self) -> bool:
        """Whether the latest recording event failed."""
        return self.last_status.lower() == "failure"


def read_recorder_status(config: "ConfigServiceClient") -> RecorderStatus | None:
    """Read the status of the account's own recorder, or return None without one. Raise ApiError, RecordError."""
    with calling("config:DescribeConfigurationRecorderStatus"):
        answer = config.describe_configuration_recorder_status()
    return next(map(_status, rows(answer, "ConfigurationRecordersStatus", "config")), None)


def _status(row: Description) -> RecorderStatus:
    return RecorderStatus(
        identifier(row, "name", "recorder"),
        row.get("recording") is True,
        str(row.get("lastStatus") or ""),
        error_of(row),
        row.get("lastStopTime"),
    )


def error_of(row: Description) -> str:
    """Return the last error code and message of a status of AWS Config."""
    return ": ".join(str(row[field]) for field in ("lastErrorCode", "lastErrorMessage") if row.get(field))


def recorder_problem(status: RecorderStatus | None) -> str:
    """Return what is wrong with the recorder, None if there is none."""
    if status is None:
        return "AWS Config has no recorder in this Region: rules cannot be deployed or invoked"
    if not status.recording:
        return f"recorder {status.name} is stopped: changes do not invoke the rule"
    if status.fails:
        return f"the last recording event failed: {status.error or 'AWS Config gives no reason'}"
    return ""
