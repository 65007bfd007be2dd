"""Remediation exceptions: the subnets that AWS Config no longer heals, and why their heals failed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import calling, pages
from express_path.adapters.remediation import list_exceptions
from express_path.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient

MAX_CLEARED = 100
"""The most exceptions that one call deletes (botocore model: config RemediationExceptionResourceKeys)."""
_SUBNET = "AWS::EC2::Subnet"


DENIED_BY_POLICY = "explicit deny in a service control policy"
"""What AWS's message of a denied call says if a service control policy denied it
(https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html)."""


def denied_by_policy(config: "ConfigServiceClient", name: str, subnet_ids: Sequence[str]) -> set[str]:
    """Read for which of these subnets a service control policy denied a step of the last remediation. Raise ApiError."""
    found = set()
    for keys in _batches(subnet_ids):
        wanted = [{"resourceType": _SUBNET, "resourceId": subnet_id} for subnet_id in keys]
        operation, field = "describe_remediation_execution_status", "RemediationExecutionStatuses"
        for status in pages(config, "config", operation, field, ConfigRuleName=name, ResourceKeys=wanted):
            if any(DENIED_BY_POLICY in message for message in _failures(status)):
                found.add(str(status["ResourceKey"]["resourceId"]))
    return found


def _failures(status: Mapping[str, Any]) -> list[str]:
    return [str(step.get("ErrorMessage") or "") for step in status.get("StepDetails", ())]


def clear_exceptions(config: "ConfigServiceClient", name: str, subnet_ids: Sequence[str]) -> list[str]:
    """Delete the exceptions of these subnets, and return those whose exception AWS Config kept. Raise ApiError."""
    kept: list[str] = []
    for keys in _batches(subnet_ids):
        wanted: list[Any] = [{"ResourceType": _SUBNET, "ResourceId": subnet_id} for subnet_id in keys]
        try:
            with calling("config:DeleteRemediationExceptions"):
                answer = config.delete_remediation_exceptions(ConfigRuleName=name, ResourceKeys=wanted)
        except ApiError as error:
            # Somebody else deleted one of them, so AWS Config deleted none.
            existing = set(list_exceptions(config, name))
            rest = [subnet_id for subnet_id in keys if subnet_id in existing]
            if error.code != "NoSuchRemediationExceptionException" or len(rest) == len(keys):
                raise
            kept += clear_exceptions(config, name, rest)
            continue
        batches: Sequence[Any] = answer.get("FailedBatches", [])
        kept += [str(item["ResourceId"]) for batch in batches for item in batch.get("FailedItems", [])]
    return kept


def _batches(subnet_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(subnet_ids), MAX_CLEARED):
        yield subnet_ids[start : start + MAX_CLEARED]
