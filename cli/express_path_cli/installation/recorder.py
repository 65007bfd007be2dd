"""What AWS Config's recorder delivers, and where to."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from express_path.adapters.aws import calling
from express_path.adapters.recorder import error_of
from express_path.fields import Description, identifier, nested, rows

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient


@dataclass(frozen=True, slots=True)
class Delivery:
    """The last delivery of one kind: history, snapshot or stream."""

    kind: str
    status: str
    error: str = ""


_KINDS = {
    "configHistoryDeliveryInfo": "history",
    "configSnapshotDeliveryInfo": "snapshot",
    "configStreamDeliveryInfo": "stream",
}


def read_bucket(config: "ConfigServiceClient") -> str | None:
    """Read the bucket of the delivery channel, or return None without a channel. Raise ApiError, RecordError."""
    with calling("config:DescribeDeliveryChannels"):
        answer = config.describe_delivery_channels()
    return next(
        (identifier(channel, "s3BucketName", "delivery channel") for channel in answer["DeliveryChannels"]), None
    )


def read_deliveries(config: "ConfigServiceClient") -> list[Delivery]:
    """Read the last deliveries of the channel, by kind. Raise ApiError."""
    with calling("config:DescribeDeliveryChannelStatus"):
        answer = config.describe_delivery_channel_status()
    return [delivery for row in rows(answer, "DeliveryChannelsStatus", "config") for delivery in _deliveries(row)]


def _deliveries(row: Description) -> Iterator[Delivery]:
    for name, kind in _KINDS.items():
        info = nested(row, name, "delivery channel")
        if info:
            yield Delivery(kind, str(info.get("lastStatus") or ""), error_of(info))
