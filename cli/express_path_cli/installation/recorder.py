"""AWS Config's recorder: its settings, and whether it records and delivers the changes that the rule needs.

Service-linked recorders are left out: these calls return them only on request, and rules do not get what they record
(https://docs.aws.amazon.com/config/latest/APIReference/API_DescribeConfigurationRecorders.html).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from express_path.adapters.aws import calling
from express_path.adapters.health import error_of
from express_path.domain.verdict.fanout import ResourceType
from express_path.errors import RecordError
from express_path.fields import Description, identifier, ids, nested, rows

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient


WATCHED = tuple(sorted(str(kind) for kind in ResourceType if kind is not ResourceType.DIRECTORY_BUCKET))
"""The resource types whose changes can change paths. Directory buckets matter only with scope=DIRECTORY_BUCKETS."""


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


@dataclass(frozen=True, slots=True)
class Delivery:
    """The last delivery of one kind: history, snapshot or stream."""

    kind: str
    status: str
    error: str = ""


def records(recorder: Recorder, resource_type: str) -> bool:
    """Return whether a recorder records a resource type that AWS Config supports."""
    if recorder.strategy is Strategy.ALL:
        return True
    return (resource_type in recorder.listed) is (recorder.strategy is Strategy.INCLUSION)


def frequency_of(recorder: Recorder, resource_type: str) -> Frequency:
    """Return how often a recorder records a resource type: an override replaces the default."""
    return recorder.overrides.get(resource_type, recorder.frequency)


_KINDS = {
    "configHistoryDeliveryInfo": "history",
    "configSnapshotDeliveryInfo": "snapshot",
    "configStreamDeliveryInfo": "stream",
}
_Word = TypeVar("_Word", bound=StrEnum)


def read_recorder(config: "ConfigServiceClient") -> Recorder | None:
    """Read the settings of the account's own recorder, or return None without one. Raise ApiError, RecordError."""
    with calling("config:DescribeConfigurationRecorders"):
        found = config.describe_configuration_recorders()
    return next(map(_recorder, rows(found, "ConfigurationRecorders", "config")), None)


def read_bucket(config: "ConfigServiceClient") -> str | None:
    """Read the bucket of the delivery channel, or return None without a channel. Raise ApiError, RecordError."""
    with calling("config:DescribeDeliveryChannels"):
        found = config.describe_delivery_channels()
    return next(
        (identifier(channel, "s3BucketName", "delivery channel") for channel in found["DeliveryChannels"]), None
    )


def read_deliveries(config: "ConfigServiceClient") -> list[Delivery]:
    """Read the last deliveries of the channel, by kind. Raise ApiError."""
    with calling("config:DescribeDeliveryChannelStatus"):
        found = config.describe_delivery_channel_status()
    return [delivery for row in rows(found, "DeliveryChannelsStatus", "config") for delivery in _deliveries(row)]


def _recorder(row: Description) -> Recorder:
    name = identifier(row, "name", "recorder")
    group, mode = nested(row, "recordingGroup", name), nested(row, "recordingMode", name)
    strategy = _strategy(group, name)
    excluded = nested(group, "exclusionByResourceTypes", name)
    listed = {Strategy.INCLUSION: group, Strategy.EXCLUSION: excluded}.get(strategy, {})
    return Recorder(
        name,
        strategy,
        frozenset(ids(listed, "resourceTypes", name)),
        _word(Frequency, mode.get("recordingFrequency") or Frequency.CONTINUOUS, "recordingFrequency", name),
        {
            resource_type: _word(Frequency, override.get("recordingFrequency"), "recordingFrequency", name)
            for override in rows(mode, "recordingModeOverrides", name)
            for resource_type in ids(override, "resourceTypes", name)
        },
    )


def _strategy(group: Description, name: str) -> Strategy:
    """Return the recording strategy. Settings older than strategies are converted to the equivalent one."""
    named = nested(group, "recordingStrategy", name).get("useOnly")
    if named:
        return _word(Strategy, named, "recordingStrategy", name)
    return Strategy.INCLUSION if group and not group.get("allSupported") else Strategy.ALL


def _word(words: type[_Word], found: object, field: str, name: str) -> _Word:
    for word in words:
        if word == found:
            return word
    raise RecordError(f"recorder {name}", field, found, ", ".join(words))


def _deliveries(row: Description) -> Iterator[Delivery]:
    for name, kind in _KINDS.items():
        info = nested(row, name, "delivery channel")
        if info:
            yield Delivery(kind, str(info.get("lastStatus") or ""), error_of(info))
