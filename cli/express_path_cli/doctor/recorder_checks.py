"""What the settings of AWS Config's recorder mean for the changes that the rule waits for."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from express_path.domain.verdict.fanout import ResourceType
from express_path_cli.doctor.answers import Answer, fail, moment, ok, warn

WATCHED = tuple(sorted(str(each) for each in ResourceType if each is not ResourceType.DIRECTORY_BUCKET))
"""The resource types whose changes move paths. Directory buckets matter to scope=DIRECTORY_BUCKETS alone."""


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


class Recorder(NamedTuple):
    """A recorder's settings; listed are the types that its strategy includes or excludes, overrides are by type."""

    name: str
    strategy: Strategy
    listed: frozenset[str] = frozenset()
    frequency: Frequency = Frequency.CONTINUOUS
    overrides: Mapping[str, Frequency] = {}


class RecorderStatus(NamedTuple):
    """What a recorder does now; last_status is that of the latest recording event, such as Success or Failure."""

    name: str
    recording: bool
    last_status: str = ""
    error: str = ""
    changed: datetime | None = None


class Delivery(NamedTuple):
    """The last delivery of one kind: history, snapshot or stream."""

    kind: str
    status: str
    error: str = ""


def records(recorder: Recorder, resource_type: str) -> bool:
    """Whether a recorder records a resource type that AWS Config supports."""
    if recorder.strategy is Strategy.ALL:
        return True
    return (resource_type in recorder.listed) is (recorder.strategy is Strategy.INCLUSION)


def frequency_of(recorder: Recorder, resource_type: str) -> Frequency:
    """How often a recorder records a resource type, if it does: an override counts more than the default."""
    return recorder.overrides.get(resource_type, recorder.frequency)


def judge_types(recorder: Recorder) -> Answer:
    """Whether all watched types are recorded."""
    missing = [each for each in WATCHED if not records(recorder, each)]
    if not missing:
        return ok(f"recorder {recorder.name} records route tables, subnets, VPC endpoints and NAT gateways")
    how = "add them to" if recorder.strategy is Strategy.INCLUSION else "take them out of the exceptions from"
    return fail(
        f"recorder {recorder.name} does not record {', '.join(missing)}: their changes invoke nothing",
        f"AWS Config, Settings: {how} the recorded resource types",
    )


def judge_frequency(recorder: Recorder) -> Answer | None:
    """Whether watched types are recorded continuously; None where none is recorded at all."""
    recorded = [each for each in WATCHED if records(recorder, each)]
    daily = [each for each in recorded if frequency_of(recorder, each) is Frequency.DAILY]
    if not recorded:
        return None
    if not daily:
        return ok("changes are recorded continuously")
    return warn(
        f"recorded once a day: {', '.join(daily)}; their changes are evaluated up to a day late",
        "AWS Config, Settings: override the frequency of these types with continuous recording",
    )


def judge_recording(status: RecorderStatus) -> Answer:
    """Whether the recorder is on."""
    if status.recording:
        return ok(f"recorder {status.name} is recording")
    since = f" since {moment(status.changed)}" if status.changed else ""
    return fail(
        f"recorder {status.name} is stopped{since}: no change invokes the rule",
        "start it",
        f"aws configservice start-configuration-recorder --configuration-recorder-name {status.name}",
    )


def judge_last_recording(status: RecorderStatus) -> Answer:
    """Whether the latest recording event succeeded."""
    if status.last_status.lower() != "failure":
        return ok(f"the last recording event is {status.last_status or 'not told'}")
    return fail(
        f"the last recording event failed: {status.error or 'AWS Config gives no reason'}",
        f"let the recorder's role do what was refused: "
        f"aws configservice describe-configuration-recorders names the role of {status.name}",
    )


def judge_deliveries(bucket: str, deliveries: Sequence[Delivery]) -> Answer:
    """Whether what is recorded is also delivered to the bucket and the topic of the delivery channel.

    https://docs.aws.amazon.com/config/latest/APIReference/API_DeliveryChannelStatus.html
    """
    failed = [each for each in deliveries if each.status.lower() == "failure"]
    if not failed:
        return ok(f"delivers to the bucket {bucket}")
    reasons = "; ".join(f"{each.kind}: {each.error or 'no reason given'}" for each in failed)
    return warn(
        f"the last delivery to the bucket {bucket} or its topic failed: {reasons}",
        "let AWS Config write there: the policies of the bucket, its key and the topic must allow it",
    )
