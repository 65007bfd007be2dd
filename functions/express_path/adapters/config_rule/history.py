"""Fetching the item that an oversized notification only sums up."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import calling
from express_path.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient


def recorded_items(config: "ConfigServiceClient", summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The item of a configurationItemSummary and the one before it, newest first; empty where none is recorded.

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
            return []
        raise
    return list(response["configurationItems"])
