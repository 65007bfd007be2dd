"""The recorder and the delivery channel as AWS Config describes them: recording frequencies, and statuses."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from moto.config.exceptions import NoSuchDeliveryChannelException
from moto.config.models import ConfigBackend, config_backends
from moto.config.responses import ConfigResponse

from config_rule_sandbox.config import checks
from config_rule_sandbox.patching.memory import memory_of
from config_rule_sandbox.patching.patches import Patches

KINDS = ("configHistoryDeliveryInfo", "configSnapshotDeliveryInfo", "configStreamDeliveryInfo")
Failure = tuple[str, str]
"""The code and message of an error."""


@dataclass
class Recording:
    """What a test may set: the failure of the latest recording event, and those of deliveries by kind; and the modes.

    `modes` are the recording modes of the recorders, which moto drops. `service_linked` are the names of recorders that
    other AWS services own: their scope is INTERNAL, and the calls that describe recorders do not return them.
    """

    failure: Failure | None = None
    deliveries: dict[str, Failure] = field(default_factory=dict)
    modes: dict[str, dict[str, Any]] = field(default_factory=dict)
    service_linked: list[str] = field(default_factory=list)


def recording_of(account_id: str, region: str) -> Recording:
    """Return the settings of one account and Region; they live and die with moto's backend, reset included."""
    return memory_of(config_backends[account_id][region], Recording)


def apply(patches: Patches) -> None:
    """Let moto keep recording modes and answer with statuses until `patches` are undone."""
    patches.wrap(ConfigResponse, "put_configuration_recorder", _keeping_mode)
    patches.wrap(ConfigResponse, "describe_configuration_recorders", _with_mode)
    patches.wrap(ConfigResponse, "describe_configuration_recorder_status", _with_status)
    patches.set(ConfigResponse, "describe_delivery_channel_status", _delivery_channel_status)
    patches.set(ConfigResponse, "list_configuration_recorders", _list_recorders)


def _keeping_mode(original: Callable[..., str]) -> Callable[..., str]:
    """Keep recordingMode; without one, changes are recorded continuously.

    https://docs.aws.amazon.com/config/latest/APIReference/API_RecordingMode.html
    """

    def answer(self: ConfigResponse) -> str:
        recorder = checks.parameters(self, "PutConfigurationRecorder")["ConfigurationRecorder"]
        mode = recorder.get("recordingMode") or {"recordingFrequency": "CONTINUOUS"}
        answered = original(self)
        memory_of(self.config_backend, Recording).modes[recorder["name"]] = mode
        return answered

    return answer


def _with_mode(original: Callable[..., str]) -> Callable[..., str]:
    def answer(self: ConfigResponse) -> str:
        described = json.loads(original(self))
        for recorder in described["ConfigurationRecorders"]:
            recorder["arn"] = _arn(self.config_backend, recorder["name"])
            recorder["recordingMode"] = memory_of(self.config_backend, Recording).modes[recorder["name"]]
        return json.dumps(described)

    return answer


def _with_status(original: Callable[..., str]) -> Callable[..., str]:
    """Add the outcome of the latest recording event, in the spelling of the AWS CLI's own example.

    https://docs.aws.amazon.com/cli/latest/reference/configservice/describe-configuration-recorder-status.html
    """

    def answer(self: ConfigResponse) -> str:
        described = json.loads(original(self))
        for recorder in described["ConfigurationRecordersStatus"]:
            recorder["arn"] = _arn(self.config_backend, recorder["name"])
            if recorder.get("lastStatus"):
                recorder.update(_outcome(memory_of(self.config_backend, Recording).failure))
        return json.dumps(described)

    return answer


def _list_recorders(self: ConfigResponse) -> str:
    """Return the account's own recorder, and those of other AWS services.

    https://docs.aws.amazon.com/config/latest/APIReference/API_ListConfigurationRecorders.html
    """
    backend = self.config_backend
    scopes = dict.fromkeys(backend.recorders, "PAID") | dict.fromkeys(
        memory_of(backend, Recording).service_linked, "INTERNAL"
    )
    rows = [{"arn": _arn(backend, name), "name": name, "recordingScope": scopes[name]} for name in scopes]
    return json.dumps({"ConfigurationRecorderSummaries": rows})


def _delivery_channel_status(self: ConfigResponse) -> str:
    """Return the last deliveries of each kind; without a topic nothing is streamed.

    https://docs.aws.amazon.com/cli/latest/reference/configservice/describe-delivery-channel-status.html
    """
    channels = self.config_backend.delivery_channels
    names = json.loads(self.body or "{}").get("DeliveryChannelNames") or list(channels)
    for name in names:
        if name not in channels:
            raise NoSuchDeliveryChannelException(name)
    failures = memory_of(self.config_backend, Recording).deliveries
    rows = []
    for name in names:
        row: dict[str, Any] = {"name": name} | {kind: _outcome(failures.get(kind)) for kind in KINDS}
        if not channels[name].sns_topic_arn:
            row[KINDS[2]] = {"lastStatus": "NOT_APPLICABLE"}
        rows.append(row)
    return json.dumps({"DeliveryChannelsStatus": rows})


def _outcome(failure: Failure | None) -> dict[str, str]:
    if failure is None:
        return {"lastStatus": "SUCCESS"}
    return {"lastStatus": "FAILURE", "lastErrorCode": failure[0], "lastErrorMessage": failure[1]}


def _arn(backend: ConfigBackend, name: str) -> str:
    return f"arn:{backend.partition}:config:{backend.region_name}:{backend.account_id}:configuration-recorder/{name}"
