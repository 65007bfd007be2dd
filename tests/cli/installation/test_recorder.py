"""Reading AWS Config's recorder: current settings, those of earlier years, and unknown values."""

from typing import Any

import pytest

from express_path.adapters.recorder import Frequency, Recorder, Strategy, read_recorder, read_recorder_status
from express_path.errors import RecordError
from express_path_cli.installation.recorder import Delivery, read_deliveries

SUBNET, TABLE = "AWS::EC2::Subnet", "AWS::EC2::RouteTable"


class RecorderStub:
    """An AWS Config client that describes its recorder as a test sets it."""

    def __init__(self, **row: object) -> None:
        """Keep the description of the recorder."""
        self.row = {"name": "default"} | row

    def describe_configuration_recorders(self) -> dict[str, Any]:
        """Return the recorder."""
        return {"ConfigurationRecorders": [self.row]}

    def describe_configuration_recorder_status(self) -> dict[str, Any]:
        """Return its status."""
        return {"ConfigurationRecordersStatus": [self.row]}

    def describe_delivery_channel_status(self) -> dict[str, Any]:
        """Return its deliveries."""
        return {"DeliveryChannelsStatus": [self.row]}


def recorder(**row: object) -> Recorder | None:
    """Return the recorder that is read."""
    config: Any = RecorderStub(**row)
    return read_recorder(config)


@pytest.mark.parametrize(
    ("group", "strategy", "listed"),
    [
        (None, Strategy.ALL, set()),
        ({"allSupported": True, "resourceTypes": []}, Strategy.ALL, set()),
        ({"allSupported": False, "resourceTypes": [SUBNET]}, Strategy.INCLUSION, {SUBNET}),
        ({"recordingStrategy": {"useOnly": "ALL_SUPPORTED_RESOURCE_TYPES"}}, Strategy.ALL, set()),
        (
            {"resourceTypes": [SUBNET], "recordingStrategy": {"useOnly": "INCLUSION_BY_RESOURCE_TYPES"}},
            Strategy.INCLUSION,
            {SUBNET},
        ),
        (
            {
                "allSupported": False,
                "resourceTypes": [],
                "exclusionByResourceTypes": {"resourceTypes": [TABLE]},
                "recordingStrategy": {"useOnly": "EXCLUSION_BY_RESOURCE_TYPES"},
            },
            Strategy.EXCLUSION,
            {TABLE},
        ),
    ],
)
def test_which_types_are_recorded(group: dict[str, Any] | None, strategy: Strategy, listed: set[str]) -> None:
    """The strategy decides; older settings without one have the equivalent strategy."""
    found = recorder(recordingGroup=group)
    assert found
    assert (found.strategy, found.listed) == (strategy, listed)


def test_how_often_they_are_recorded() -> None:
    """The default is continuous; overrides apply to each of their types."""
    plain = recorder()
    assert plain
    assert (plain.frequency, plain.overrides) == (Frequency.CONTINUOUS, {})
    overrides = [{"resourceTypes": [SUBNET, TABLE], "recordingFrequency": "CONTINUOUS"}]
    found = recorder(recordingMode={"recordingFrequency": "DAILY", "recordingModeOverrides": overrides})
    assert found
    assert found.frequency is Frequency.DAILY
    assert found.overrides == {SUBNET: Frequency.CONTINUOUS, TABLE: Frequency.CONTINUOUS}


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"recordingGroup": {"recordingStrategy": {"useOnly": "SOME"}}}, "useOnly"),
        ({"recordingMode": {"recordingFrequency": "HOURLY"}}, "recordingFrequency"),
        ({"recordingMode": {"recordingModeOverrides": [{"resourceTypes": [SUBNET]}]}}, "recordingFrequency"),
        ({"name": ""}, "name"),
    ],
)
def test_unknown_values_are_an_error(row: dict[str, Any], field: str) -> None:
    """For a value that AWS adds later, the error names the field and the supported values."""
    with pytest.raises(RecordError) as raised:
        recorder(**row)
    assert raised.value.field == field


def test_status_and_deliveries() -> None:
    """Missing values are empty: a recorder that never recorded, or a delivery that never happened."""
    config: Any = RecorderStub(recording=True)
    status = read_recorder_status(config)
    assert status
    assert (status.recording, status.last_status, status.error, status.changed) == (True, "", "", None)
    never: Any = RecorderStub(configHistoryDeliveryInfo={}, configSnapshotDeliveryInfo={"lastStatus": "FAILURE"})
    assert read_deliveries(never) == [Delivery("snapshot", "FAILURE")]
