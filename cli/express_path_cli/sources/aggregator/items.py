"""Convert configuration items from AWS Config's advanced queries to the shapes of EC2's own answers.

Items of classic EC2 types are EC2's descriptions in camel case, with fewer keys
(https://github.com/awslabs/aws-config-resource-schema); those of newer types are CloudFormation's, in Pascal case.
"""

import json
from collections.abc import Mapping
from typing import Any

from express_path.adapters.fields import Description
from express_path.errors import RecordError


def description(item: Mapping[str, Any]) -> Description:
    """Return the configuration of an item as EC2 describes the resource, with the item's tags.

    Raise RecordError if the item has no configuration.
    """
    found = item.get("configuration")
    configuration = json.loads(found) if isinstance(found, str) else found
    if not isinstance(configuration, Mapping):
        raise RecordError(str(item.get("resourceId")), "configuration", found, "an object")
    return {**_pascal(configuration), "Tags": _tags(item.get("tags"))}


def _pascal(value: Any) -> Any:  # noqa: ANN401  # any JSON
    """Capitalize keys; a state is a string in EC2, and {"value": ...} in the schema of the queries."""
    if isinstance(value, Mapping):
        if set(value) == {"value"}:
            return value["value"]
        return {key[:1].upper() + key[1:]: _pascal(below) for key, below in value.items()}
    return [_pascal(element) for element in value] if isinstance(value, list) else value


def _tags(found: Any) -> list[Description]:  # noqa: ANN401  # any JSON
    """Return tags as EC2 has them: queries return a list of {"key", "value", "tag"}, rule events a mapping."""
    if isinstance(found, Mapping):
        return [{"Key": key, "Value": value} for key, value in found.items()]
    return [{"Key": tag["key"], "Value": tag.get("value") or ""} for tag in found or ()]
