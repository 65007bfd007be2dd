"""The statuses of AWS Config's recorder and delivery channel where moto differs from AWS."""

from typing import Any

import pytest

from sandbox.config_service.recorder import recording_of
from sandbox.refusals import refused
from sandbox.server import Sandbox

ROLE = "arn:aws:iam::123456789012:role/recorder"
DAILY = {
    "recordingFrequency": "DAILY",
    "recordingModeOverrides": [{"resourceTypes": ["AWS::EC2::Subnet"], "recordingFrequency": "CONTINUOUS"}],
}


@pytest.fixture
def config(sandbox: Sandbox) -> Any:
    """A client of AWS Config, in an account whose recorder has started."""
    client = sandbox.client("config")
    client.put_configuration_recorder(ConfigurationRecorder={"name": "default", "roleARN": ROLE})
    client.put_delivery_channel(DeliveryChannel={"name": "default", "s3BucketName": "history"})
    client.start_configuration_recorder(ConfigurationRecorderName="default")
    return client


def test_recording_is_continuous_unless_said_otherwise(config: Any) -> None:
    """By default, a recorder records continuously. A recording mode is stored with its overrides.

    https://docs.aws.amazon.com/config/latest/APIReference/API_RecordingMode.html
    """
    [recorder] = config.describe_configuration_recorders()["ConfigurationRecorders"]
    assert recorder["recordingMode"] == {"recordingFrequency": "CONTINUOUS"}
    assert recorder["arn"].startswith("arn:aws:config:us-east-1:123456789012:configuration-recorder/")
    config.put_configuration_recorder(
        ConfigurationRecorder={"name": "default", "roleARN": ROLE, "recordingMode": DAILY}
    )
    [recorder] = config.describe_configuration_recorders()["ConfigurationRecorders"]
    assert recorder["recordingMode"] == DAILY


def test_an_unknown_frequency_is_refused(config: Any) -> None:
    """The frequency of a recorder or an override must be one of the model's two values."""
    for mode in ({"recordingFrequency": "HOURLY"}, DAILY | {"recordingFrequency": "daily"}):
        recorder = {"name": "default", "roleARN": ROLE, "recordingMode": mode}
        assert refused(config.put_configuration_recorder, ConfigurationRecorder=recorder) == "ValidationException"


def test_the_recorder_tells_of_its_last_event(sandbox: Sandbox, config: Any) -> None:
    """The last recording succeeded, or failed with a code and a message.

    https://docs.aws.amazon.com/cli/latest/reference/configservice/describe-configuration-recorder-status.html
    """
    [status] = config.describe_configuration_recorder_status()["ConfigurationRecordersStatus"]
    assert (status["recording"], status["lastStatus"]) == (True, "SUCCESS")
    recording_of(sandbox.account_id, sandbox.region).failure = ("AccessDenied", "the role may not")
    [status] = config.describe_configuration_recorder_status()["ConfigurationRecordersStatus"]
    assert (status["lastStatus"], status["lastErrorCode"]) == ("FAILURE", "AccessDenied")
    sandbox.reset()
    assert recording_of(sandbox.account_id, sandbox.region).failure is None


def test_the_delivery_channel_tells_of_each_kind(sandbox: Sandbox, config: Any) -> None:
    """History, snapshot, and stream each have a status. Without a topic, nothing is streamed.

    https://docs.aws.amazon.com/cli/latest/reference/configservice/describe-delivery-channel-status.html
    """
    recording_of(sandbox.account_id, sandbox.region).deliveries["configHistoryDeliveryInfo"] = ("NoSuchBucket", "gone")
    [status] = config.describe_delivery_channel_status()["DeliveryChannelsStatus"]
    assert status["configHistoryDeliveryInfo"]["lastErrorCode"] == "NoSuchBucket"
    assert status["configSnapshotDeliveryInfo"]["lastStatus"] == "SUCCESS"
    assert status["configStreamDeliveryInfo"]["lastStatus"] == "NOT_APPLICABLE"
    unknown = refused(config.describe_delivery_channel_status, DeliveryChannelNames=["other"])
    assert unknown == "NoSuchDeliveryChannelException"
