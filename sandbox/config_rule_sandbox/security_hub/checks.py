"""What Security Hub refuses in a finding.

Lengths: https://docs.aws.amazon.com/securityhub/latest/userguide/asff-required-attributes.html and
https://docs.aws.amazon.com/securityhub/latest/userguide/asff-top-level-attributes.html.
"""

import json
from datetime import datetime
from typing import Any

from config_rule_sandbox.patching.constraints import violations

LONGEST = {"Id": 512, "GeneratorId": 512, "Title": 256, "Description": 1024}
MAXIMUM_BYTES = 240 * 1024
"""Of one finding (https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_BatchImportFindings.html)."""

MAXIMUM_TEXT = 512
"""Characters of a recommendation (https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_Recommendation.html)."""

MAXIMUM_FIELDS = 50
MAXIMUM_KEY = 128
MAXIMUM_VALUE = 2048


class InvalidInputError(Exception):
    """A request, or one finding in it, is not acceptable."""


def check_finding(given: dict[str, Any], account_id: str, region: str) -> None:
    """Raise InvalidInputError unless an account may import a finding for its default product."""
    if broken := violations("securityhub", "BatchImportFindings", {"Findings": [given]}):
        raise InvalidInputError("; ".join(broken))
    product = f":securityhub:{region}:{account_id}:product/{account_id}/default"
    if not given["ProductArn"].endswith(product) or given["AwsAccountId"] != account_id:
        raise InvalidInputError(f"the finding is not of account {account_id} and its default product")
    for name, longest in LONGEST.items():
        if len(given[name]) > longest:
            raise InvalidInputError(f"{name} has more than {longest} characters")
    for name in ("CreatedAt", "UpdatedAt"):
        checked_timestamp(given[name])
    check_text(
        given.get("Remediation", {}).get("Recommendation", {}).get("Text", "x"), "Remediation.Recommendation.Text"
    )
    check_fields(given)
    check_size(given)


def checked_timestamp(value: str) -> datetime:
    """Return a time. It must be ISO 8601 with a time zone."""
    try:
        time = datetime.fromisoformat(value)
    except ValueError as error:
        raise InvalidInputError(f"{value} is not a timestamp") from error
    if time.tzinfo is None:
        raise InvalidInputError(f"{value} has no time zone")
    return time


def check_text(value: object, name: str) -> None:
    """Raise InvalidInputError unless a value is a text of 1 to 512 characters that is not blank."""
    if not isinstance(value, str) or not value.strip() or len(value) > MAXIMUM_TEXT:
        raise InvalidInputError(f"{name} must have 1 to {MAXIMUM_TEXT} characters")


def check_fields(given: dict[str, Any]) -> None:
    """Raise InvalidInputError unless ProductFields has at most 50 entries, none of them blank or too long."""
    found = given.get("ProductFields") or {}
    if len(found) > MAXIMUM_FIELDS:
        raise InvalidInputError(f"ProductFields has more than {MAXIMUM_FIELDS} entries")
    for key, value in found.items():
        if not 0 < len(key) < MAXIMUM_KEY or not value.strip() or len(value) > MAXIMUM_VALUE:
            raise InvalidInputError(f"ProductFields has a bad entry {key}")


def check_size(given: dict[str, Any]) -> None:
    """Raise InvalidInputError for a finding of more than 240 KB."""
    if len(json.dumps(given).encode()) > MAXIMUM_BYTES:
        raise InvalidInputError("Finding size exceeded 240 KB")
