"""Fetch the configuration item that an oversized notification only summarizes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import calling
from express_path.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient


@dataclass(frozen=True, slots=True)
class RecordedItem:
    """A whole configuration item, and the one recorded before it, None if there is none."""

    item: Mapping[str, Any]
    previous: Mapping[str, Any] | None = None


def whole_item(config: "ConfigServiceClient", summary: Mapping[str, Any]) -> RecordedItem:
    """Fetch the item of a configurationItemSummary; only the summary if AWS Config never recorded the resource.

    Raise ApiError. A later item is not returned, so a delayed notification is evaluated by its own item.
    https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules_lambda-functions.html
    """
    try:
        with calling("config:GetResourceConfigHistory"):
            response = config.get_resource_config_history(
                resourceType=summary["resourceType"],
                resourceId=summary["resourceId"],
                laterTime=datetime.fromisoformat(summary["configurationItemCaptureTime"]),
                limit=2,
            )
    except ApiError as error:
        if error.code == "ResourceNotDiscoveredException":
            return RecordedItem(summary)
        raise
    newest_first = response["configurationItems"]
    if not newest_first:
        return RecordedItem(summary)
    return RecordedItem({**newest_first[0], **summary}, newest_first[1] if len(newest_first) > 1 else None)
