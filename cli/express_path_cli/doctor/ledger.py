"""Whether the ledger keeps what a heal changed, and approvers are asked."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import calling
from express_path.errors import ApiError
from express_path_cli.installation.checks import CheckResult, fail, ok, warn
from express_path_cli.terminal.texts import count_text

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sns import SNSClient


WRITES = frozenset(
    f"dynamodb:{operation}"
    for operation in (
        "AssociateTableReplica",
        "BatchWriteItem",
        "CreateGlobalTable",
        "CreateTableReplica",
        "DeleteItem",
        "ImportTable",
        "PartiQLDelete",
        "PartiQLInsert",
        "PartiQLUpdate",
        "PutItem",
        "RestoreTableFromAwsBackup",
        "RestoreTableFromBackup",
        "RestoreTableToPointInTime",
        "StartBulkPutItems",
        "UpdateGlobalTable",
        "UpdateItem",
        "UpdateTimeToLive",
        "WriteDataForReplication",
    )
)
"""The actions that the table's resource policy denies to everyone except the runbooks' role
(https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html)."""
POLICY_CHANGES = frozenset({"dynamodb:DeleteResourcePolicy", "dynamodb:PutResourcePolicy"})
"""The actions that the policy denies to everyone except the role that deploys the stack."""
RUNBOOK_ROLES = "role/express-path/automation/*"
"""The resource part of the ARNs of roles that may write."""


@dataclass(frozen=True, slots=True)
class LedgerRecord:
    """The ledger's table: its status, its protection, and its resource policy, or None."""

    status: str
    is_protected: bool
    is_restorable: bool
    policy: Mapping[str, Any] | None


def check_ledger(name: str, found: LedgerRecord | None) -> CheckResult:
    """Return whether heals and undos can rely on the ledger. `found` is None if the table does not exist."""
    if found is None:
        return fail(
            f"ledger {name} does not exist: every heal and undo fails",
            "restore the table from a backup, or deploy the stack with the LedgerTableName of an existing ledger",
        )
    if found.status != "ACTIVE":
        return fail(f"ledger {name} is {found.status}", "wait until it is ACTIVE, or check the table in DynamoDB")
    if not _only_runbooks_write(found.policy):
        return fail(
            f"principals other than the runbooks can write to ledger {name}, so undos cannot trust it",
            "deploy the stack again, or give the table the resource policy in template.yaml (OnlyRunbooksWrite)",
        )
    if not _others_keep_policy(found.policy):
        return warn(
            f"principals other than the deploying role can replace the resource policy of ledger {name}",
            "deploy the stack that created the ledger with DeployingRoleArn, or give the table the resource policy in "
            "template.yaml (OnlyDeployingRoleChangesPolicy)",
        )
    if not found.is_protected:
        return warn(
            f"ledger {name} can be deleted, and heals could no longer be undone",
            "turn on deletion protection",
            f"aws dynamodb update-table --table-name {shlex.quote(name)} --deletion-protection-enabled",
        )
    if not found.is_restorable:
        return warn(
            f"ledger {name} has no point-in-time recovery",
            "turn on point-in-time recovery",
            f"aws dynamodb update-continuous-backups --table-name {shlex.quote(name)} "
            "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true",
        )
    return ok(f"ledger {name} exists, and only the runbooks write to it")


def _only_runbooks_write(policy: Mapping[str, Any] | None) -> bool:
    """Return whether one statement denies every write to every principal except roles with the runbooks' path."""
    return any(resource == RUNBOOK_ROLES for resource in _excepted_roles(policy, WRITES))


def _others_keep_policy(policy: Mapping[str, Any] | None) -> bool:
    """Return whether one statement denies changes of the policy to every principal except a role; its ARN may be a pattern."""
    return any(re.fullmatch(r"role/(?!\*+$).+", resource) for resource in _excepted_roles(policy, POLICY_CHANGES))


def _excepted_roles(policy: Mapping[str, Any] | None, actions: frozenset[str]) -> Iterator[str]:
    """Yield the last part of the only ARN that each statement excepts which denies all of these actions to all others."""
    for statement in _listed((policy or {}).get("Statement")):
        if not isinstance(statement, Mapping):
            continue
        condition = statement.get("Condition", {})
        if statement.get("Effect") != "Deny" or "Resource" not in statement or list(condition) != ["ArnNotLike"]:
            continue
        keys = condition["ArnNotLike"]
        excepted = _listed(keys.get("aws:PrincipalArn")) if len(keys) == 1 else []
        if (
            statement.get("Principal") in ("*", {"AWS": "*"})
            and len(excepted) == 1
            and all(_is_named(action, _listed(statement.get("Action"))) for action in actions)
        ):
            yield str(excepted[0]).split(":", 5)[-1]


def _is_named(action: str, patterns: list[Any]) -> bool:
    """Return whether any of the patterns matches an action. IAM ignores the case of actions."""
    return any(fnmatchcase(action.lower(), str(pattern).lower().replace("[", "[[]")) for pattern in patterns)


def _listed(value: object) -> list[Any]:
    """Return a policy's element, which may be one value or a list, as a list."""
    return value if isinstance(value, list) else [value]


_SNS_KEY = "alias/aws/sns"


@dataclass(frozen=True, slots=True)
class Topic:
    """The topic that notifies the approvers: its confirmed subscriptions, and its KMS key or an empty text."""

    subscriptions: int
    key: str = ""


def check_approval(arn: str, topic: Topic | None, approvers: str, key: str) -> CheckResult:
    """Return whether a request reaches somebody who may approve it. `topic` is None if it does not exist.

    `approvers` and `key` are the stack's parameters Approvers and ApprovalTopicKeyArn.
    """
    names = [name for name in approvers.split(",") if name]
    if not names:
        return fail("nobody may approve a heal", "deploy the stack with Approvers")
    if topic is None:
        return fail(
            f"topic {arn or '(none)'} does not exist: nobody is notified", "deploy the stack with ApprovalTopicArn"
        )
    if topic.key and not topic.key.endswith(_SNS_KEY) and not key:
        return fail(
            f"topic {arn} is encrypted with {topic.key}, which the runbooks may not use: no request is sent",
            "deploy the stack with the ARN of that key as ApprovalTopicKeyArn",
        )
    if not topic.subscriptions:
        return warn(
            f"topic {arn} has no confirmed subscription: approvers must find requests in Systems Manager",
            "subscribe the approvers",
            f"aws sns subscribe --topic-arn {shlex.quote(arn)} --protocol email --notification-endpoint ADDRESS",
        )
    return ok(f"{count_text(len(names), 'approver')}, notified through {arn}")


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
