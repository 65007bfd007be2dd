"""GetResourceConfigHistory: the recorded configuration items, in the API's shape."""

import json
from datetime import datetime
from typing import Any

from moto.config.exceptions import InvalidLimitException, NoAvailableConfigurationRecorderException, ValidationException
from moto.config.models import ConfigBackend
from moto.core.exceptions import JsonRESTError

from sandbox.config_service import checks
from sandbox.config_service.results import ConfigResults

MAXIMUM_LIMIT = 100
DEFAULT_LIMIT = 10
"""Items of a page where the limit is 0 or missing (botocore model, GetResourceConfigHistory)."""

RENAMED = {
    "configurationItemVersion": "version",
    "awsAccountId": "accountId",
    "ARN": "arn",
    "configurationStateMd5Hash": "configurationItemMD5Hash",
}
"""Names in rule events and in the API.

https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules.html, "Format differences".
"""

TIMES = ("configurationItemCaptureTime", "resourceCreationTime")


class InvalidTimeRangeError(JsonRESTError):
    """The earlier time is not before the later one (botocore model)."""

    code = 400

    def __init__(self) -> None:
        super().__init__("InvalidTimeRangeException", "The earlierTime must be before the laterTime.")


def config_history(backend: ConfigBackend, results: ConfigResults, parameters: dict[str, Any]) -> dict[str, Any] | None:
    """Return a page of the items of one resource, newest first; None if the recorder has never seen it.

    laterTime and earlierTime (seconds since 1970) bound the capture time, both inclusive.
    """
    if not backend.recorders:
        raise NoAvailableConfigurationRecorderException
    items = results.history.get((parameters["resourceType"], parameters["resourceId"]))
    if items is None:
        return None
    chosen = _ordered(_between(items, parameters), parameters.get("chronologicalOrder", "Reverse"))
    rows, token = checks.page(chosen, parameters.get("nextToken"), _limit(parameters))
    answer: dict[str, Any] = {"configurationItems": [api_shape(item) for item in rows]}
    return answer | ({"nextToken": token} if token else {})


def api_shape(item: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration item of a rule event as the API gives it: `configuration` is a string there."""
    shaped = {RENAMED.get(name, name): value for name, value in item.items() if value is not None}
    shaped["configurationStateId"] = str(item["configurationStateId"])
    shaped["relationships"] = [_api_relationship(relationship) for relationship in item["relationships"]]
    shaped["supplementaryConfiguration"] = {k: json.dumps(v) for k, v in item["supplementaryConfiguration"].items()}
    if item["configuration"] is not None:
        shaped["configuration"] = json.dumps(item["configuration"])
    for name in TIMES:
        if item.get(name):
            shaped[name] = epoch(item[name])
    return shaped


def epoch(moment: str) -> float:
    """Return a time of a configuration item ("2026-02-13T05:48:51.341Z") as seconds since 1970."""
    return datetime.fromisoformat(moment).timestamp()


def _api_relationship(relationship: dict[str, Any]) -> dict[str, Any]:
    named = {("relationshipName" if key == "name" else key): value for key, value in relationship.items()}
    return {key: value for key, value in named.items() if value is not None}


def _between(items: list[dict[str, Any]], parameters: dict[str, Any]) -> list[dict[str, Any]]:
    earlier = float(parameters.get("earlierTime") or 0)
    later = float(parameters.get("laterTime") or "inf")
    if earlier > later:
        raise InvalidTimeRangeError
    return [item for item in items if earlier <= epoch(item["configurationItemCaptureTime"]) <= later]


def _ordered(items: list[dict[str, Any]], order: str) -> list[dict[str, Any]]:
    if order not in ("Reverse", "Forward"):
        raise ValidationException("Value at 'chronologicalOrder' must satisfy enum value set: [Forward, Reverse]")
    return sorted(items, key=lambda item: str(item["configurationItemCaptureTime"]), reverse=order == "Reverse")


def _limit(parameters: dict[str, Any]) -> int:
    limit = int(parameters.get("limit") or 0)
    if not 0 <= limit <= MAXIMUM_LIMIT:
        raise InvalidLimitException(limit)
    return limit or DEFAULT_LIMIT
