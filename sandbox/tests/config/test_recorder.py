"""The recorder: the changes it detects, and its statuses where moto differs from AWS."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from config_rule_sandbox.config.items.items import ItemStyle, Recorded
from config_rule_sandbox.config.recorder import Change, Recorder
from config_rule_sandbox.config.recorder_settings import recording_of
from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox


def recorder_of(sandbox: Sandbox, style: ItemStyle | None = None) -> Recorder:
    """Return a recorder that has recorded once."""
    recorder = Recorder(
        partial(direct_client, sandbox),
        Recorded(sandbox.account_id, sandbox.region, style or ItemStyle()),
    )
    recorder.look()
    return recorder


def summary(changes: list[Change]) -> list[tuple[str, str, set[str]]]:
    """Return the type, id, and changed properties of each change."""
    return [
        (
            change.item["resourceType"].rpartition(":")[2],
            change.item["resourceId"],
            set(change.diff["changedProperties"]),
        )
        for change in changes
    ]


def test_route_change_reaches_the_subnets_and_the_vpc(sandbox: Sandbox, network: Mapping[str, str]) -> None:
    """A new route leads to items of the table and, with an empty diff, of its subnets and its VPC.

    https://docs.aws.amazon.com/config/latest/developerguide/faq.html, indirect relationships.
    """
    recorder = recorder_of(sandbox)
    sandbox.client("ec2").create_route(
        RouteTableId=network["rtb-public"], DestinationCidrBlock="10.9.0.0/16", GatewayId=network["igw"]
    )
    assert summary(recorder.look()) == [
        ("RouteTable", network["rtb-public"], {"Configuration.Routes.0"}),
        ("Subnet", network["public"], set()),
        ("VPC", network["vpc"], set()),
    ]


def test_interface_touches_its_subnet(sandbox: Sandbox, network: Mapping[str, str]) -> None:
    """A new interface records an item of its subnet and its VPC.

    https://docs.aws.amazon.com/config/latest/developerguide/faq.html, indirect relationships.
    """
    recorder = recorder_of(sandbox)
    sandbox.client("ec2").create_network_interface(SubnetId=network["private"])
    assert summary(recorder.look()) == [
        ("Subnet", network["private"], {"Relationships.0"}),
        ("VPC", network["vpc"], {"Relationships.0"}),
    ]


def test_deleted_subnet(sandbox: Sandbox, network: Mapping[str, str]) -> None:
    """A deleted subnet gets one item without a configuration, and its table no longer has a relationship to it."""
    recorder = recorder_of(sandbox)
    sandbox.client("ec2").delete_subnet(SubnetId=network["isolated"])
    (table, subnet, _vpc) = recorder.look()
    assert set(table.diff["changedProperties"]) == {"Configuration.Associations.0", "Relationships.0"}
    item = subnet.item
    assert (item["resourceId"], item["configurationItemStatus"]) == (network["isolated"], "ResourceDeleted")
    assert (item["configuration"], item["availabilityZone"], item["relationships"]) == (None, None, [])
    assert subnet.diff["changeType"] == "DELETE"
    assert recorder.look() == []


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
    unknown = {"name": "default", "roleARN": ROLE, "recordingMode": DAILY | {"recordingFrequency": "daily"}}
    assert refused(config.put_configuration_recorder, ConfigurationRecorder=unknown) == "ValidationException"


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
