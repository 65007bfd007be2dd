"""What Security Hub refuses in a finding, and in an update of one.

Lengths: https://docs.aws.amazon.com/securityhub/latest/userguide/asff-required-attributes.html and
https://docs.aws.amazon.com/securityhub/latest/userguide/asff-top-level-attributes.html.
"""

import json
from datetime import datetime
from typing import Any

REQUIRED = (
    "SchemaVersion",
    "Id",
    "ProductArn",
    "GeneratorId",
    "AwsAccountId",
    "CreatedAt",
    "UpdatedAt",
    "Title",
    "Description",
    "Resources",
)
"""Attributes that every finding has (botocore model, AwsSecurityFinding)."""

LONGEST = {"Id": 512, "GeneratorId": 512, "Title": 256, "Description": 1024}
MAXIMUM_BYTES = 240 * 1024
"""Of one finding (https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_BatchImportFindings.html)."""

MAXIMUM_TEXT = 512
"""Characters of a note and of a recommendation.

https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_Note.html,
https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_Recommendation.html
"""

MAXIMUM_FIELDS = 50
MAXIMUM_KEY = 128
MAXIMUM_VALUE = {"ProductFields": 2048, "UserDefinedFields": 1024}
WORKFLOW = ("NEW", "NOTIFIED", "RESOLVED", "SUPPRESSED")
COMPLIANCE = ("PASSED", "WARNING", "FAILED", "NOT_AVAILABLE")
RECORD_STATES = ("ACTIVE", "ARCHIVED")
SEVERITIES = ("INFORMATIONAL", "LOW", "MEDIUM", "HIGH", "CRITICAL")
"""Enums of the botocore model."""


class InvalidInputError(Exception):
    """A request, or one finding in it, is not acceptable."""


def finding(given: dict[str, Any], account_id: str, region: str) -> None:
    """Raise InvalidInputError unless an account may import a finding for its default product."""
    for name in REQUIRED:
        if not given.get(name):
            raise InvalidInputError(f"the finding has no {name}")
    product = f":securityhub:{region}:{account_id}:product/{account_id}/default"
    if not given["ProductArn"].endswith(product) or given["AwsAccountId"] != account_id:
        raise InvalidInputError(f"the finding is not of account {account_id} and its default product")
    for name, longest in LONGEST.items():
        if len(given[name]) > longest:
            raise InvalidInputError(f"{name} has more than {longest} characters")
    for name in ("CreatedAt", "UpdatedAt"):
        timestamp(given[name])
    _one_of(given.get("RecordState", "ACTIVE"), RECORD_STATES)
    _one_of(given.get("Compliance", {}).get("Status", "PASSED"), COMPLIANCE)
    _one_of(given.get("Severity", {}).get("Label", "LOW"), SEVERITIES)
    text(given.get("Remediation", {}).get("Recommendation", {}).get("Text", "x"), "Remediation.Recommendation.Text")
    fields(given, "ProductFields")
    size(given)


def update(given: dict[str, Any]) -> None:
    """Raise InvalidInputError for a malformed BatchUpdateFindings request."""
    note = given.get("Note")
    if note is not None:
        text(note.get("Text"), "Note.Text")
        text(note.get("UpdatedBy"), "Note.UpdatedBy")
    if "Workflow" in given:
        _one_of(given["Workflow"].get("Status"), WORKFLOW)
    if "Severity" in given:
        _one_of(given["Severity"].get("Label"), SEVERITIES)
    fields(given, "UserDefinedFields")


def timestamp(value: str) -> datetime:
    """Return a time. It must be ISO 8601 with a time zone."""
    try:
        time = datetime.fromisoformat(value)
    except ValueError as error:
        raise InvalidInputError(f"{value} is not a timestamp") from error
    if time.tzinfo is None:
        raise InvalidInputError(f"{value} has no time zone")
    return time


def text(value: object, name: str) -> None:
    """Raise InvalidInputError unless a value is a text of 1 to 512 characters that is not blank."""
    if not isinstance(value, str) or not value.strip() or len(value) > MAXIMUM_TEXT:
        raise InvalidInputError(f"{name} must have 1 to {MAXIMUM_TEXT} characters")


def fields(given: dict[str, Any], name: str) -> None:
    """Raise InvalidInputError unless a map has at most 50 entries, none of them blank or too long."""
    found = given.get(name) or {}
    if len(found) > MAXIMUM_FIELDS:
        raise InvalidInputError(f"{name} has more than {MAXIMUM_FIELDS} entries")
    for key, value in found.items():
        if not 0 < len(key) < MAXIMUM_KEY or not value.strip() or len(value) > MAXIMUM_VALUE[name]:
            raise InvalidInputError(f"{name} has a bad entry {key}")


def size(given: dict[str, Any]) -> None:
    """Raise InvalidInputError for a finding of more than 240 KB."""
    if len(json.dumps(given).encode()) > MAXIMUM_BYTES:
        raise InvalidInputError("Finding size exceeded 240 KB")


def _one_of(value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InvalidInputError(f"{value} is not one of {', '.join(allowed)}")
