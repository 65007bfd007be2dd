"""GetResourceConfigHistory: the recorded configuration items, in the API's shape."""

import json
from datetime import datetime
from typing import Any

from moto.config.exceptions import (
    NoAvailableConfigurationRecorderException,
)
from moto.config.models import ConfigBackend

from config_rule_sandbox.config import checks
from config_rule_sandbox.config.results import ConfigResults

DEFAULT_LIMIT = 10
"""Items or results of a page where the limit is 0 or missing (botocore model)."""

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


def config_history(backend: ConfigBackend, results: ConfigResults, parameters: dict[str, Any]) -> dict[str, Any] | None:
    """Return a page of the items of one resource, newest first; None if the recorder has never seen it.

    laterTime (seconds since 1970) is the latest capture time.
    """
    if not backend.recorders:
        raise NoAvailableConfigurationRecorderException
    items = results.history.get((parameters["resourceType"], parameters["resourceId"]))
    if items is None:
        return None
    later = float(parameters.get("laterTime", "inf"))
    captured = [item for item in items if epoch(item["configurationItemCaptureTime"]) <= later]
    chosen = sorted(captured, key=lambda item: str(item["configurationItemCaptureTime"]), reverse=True)
    rows, token = checks.page(chosen, parameters.get("nextToken"), parameters.get("limit") or DEFAULT_LIMIT)
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
