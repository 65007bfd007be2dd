"""Read the protection of the ledger's table, and the topic that notifies approvers."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import calling
from express_path.errors import ApiError
from express_path_cli.doctor.approval_checks import Topic
from express_path_cli.doctor.ledger_checks import LedgerRecord

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sns import SNSClient


def read_ledger(dynamodb: "DynamoDBClient", name: str) -> LedgerRecord | None:
    """Read the ledger's table, or return None if it does not exist. Raise ApiError."""
    try:
        with calling("dynamodb:DescribeTable"):
            table = dynamodb.describe_table(TableName=name)["Table"]
    except ApiError as error:
        if error.code != "ResourceNotFoundException":
            raise
        return None
    with calling("dynamodb:DescribeContinuousBackups"):
        backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    recovery = backups.get("PointInTimeRecoveryDescription", {})
    return LedgerRecord(
        table.get("TableStatus", ""),
        is_protected=table.get("DeletionProtectionEnabled", False),
        is_restorable=recovery.get("PointInTimeRecoveryStatus") == "ENABLED",
        policy=_policy(dynamodb, table["TableArn"]),
    )


def _policy(dynamodb: "DynamoDBClient", arn: str) -> Mapping[str, Any] | None:
    try:
        with calling("dynamodb:GetResourcePolicy"):
            found = json.loads(dynamodb.get_resource_policy(ResourceArn=arn)["Policy"])
    except ApiError as error:
        if error.code != "PolicyNotFoundException":
            raise
        return None
    return found if isinstance(found, dict) else None


def read_topic(sns: "SNSClient", arn: str) -> Topic | None:
    """Read an SNS topic, or return None if it does not exist. Raise ApiError."""
    try:
        with calling("sns:GetTopicAttributes"):
            found = sns.get_topic_attributes(TopicArn=arn)["Attributes"]
    except ApiError as error:
        if error.code not in ("NotFound", "NotFoundException"):
            raise
        return None
    return Topic(int(found.get("SubscriptionsConfirmed", "0")), found.get("KmsMasterKeyId", ""))
