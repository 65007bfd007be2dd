"""Writes one at a time, numbers, and the policies that can be attached."""

import json
import re
import time
from collections.abc import Callable
from threading import RLock
from typing import Any

from moto.dynamodb.exceptions import MockValidationException, ResourceInUseException
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoHandler

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.iam.policies import as_list
from config_rule_sandbox.patching.patches import Patches

MAX_POLICY_BYTES = 20_480
"""https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/rbac-considerations.html."""

POLICY_ACTIONS = frozenset(
    f"dynamodb:{name}"
    for name in (
        "*",
        "BatchGetItem",
        "BatchWriteItem",
        "CreateBackup",
        "DeleteItem",
        "DeleteResourcePolicy",
        "DeleteTable",
        "DescribeContinuousBackups",
        "DescribeContributorInsights",
        "DescribeKinesisStreamingDestination",
        "DescribeTable",
        "DescribeTableReplicaAutoScaling",
        "DescribeTimeToLive",
        "DisableKinesisStreamingDestination",
        "EnableKinesisStreamingDestination",
        "ExportTableToPointInTime",
        "GetItem",
        "GetResourcePolicy",
        "ListTagsOfResource",
        "PartiQLDelete",
        "PartiQLInsert",
        "PartiQLSelect",
        "PartiQLUpdate",
        "PutItem",
        "PutResourcePolicy",
        "Query",
        "RestoreTableToPointInTime",
        "Scan",
        "TagResource",
        "TransactGetItems",
        "TransactWriteItems",
        "UntagResource",
        "UpdateContinuousBackups",
        "UpdateContributorInsights",
        "UpdateItem",
        "UpdateKinesisStreamingDestination",
        "UpdateTable",
        "UpdateTableReplicaAutoScaling",
        "UpdateTimeToLive",
    )
)
"""The only actions that the policy of a table may name.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/rbac-iam-actions.html,
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-iam.html; `dynamodb:*` is in
https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/dynamodb/testdata/tmpl/resource_policy_basic.gtpl.
Whether other wildcards and NotAction are accepted is not documented: they are refused here.
"""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
"""https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html."""

WITH_VALUES = ("put_item", "update_item", "delete_item", "query", "scan", "batch_write_item", "transact_write_items")
"""Operations that take attribute values, by moto's names."""

UPDATE_SECONDS = 0.3
"""How long a table is UPDATING."""
UNCHANGEABLE = ("update_table", "delete_table")
"""Operations that are refused while a table is UPDATING, by moto's names.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html,
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteTable.html
"""

ONE_AT_A_TIME = RLock()
"""Held while DynamoDB serves a request."""


def apply(patches: Patches) -> None:
    """Correct every operation of DynamoDB.

    One at a time: moto checks a condition and then writes without a lock between them. In DynamoDB, a conditional write
    is atomic (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithItems.html#WorkingWithItems.ConditionalUpdate).
    Numbers: moto takes any text for one.
    Policies: moto ignores the ResourcePolicy of CreateTable, accepts any text and any action, and keeps the policy of a
    deleted table (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/rbac-considerations.html).
    Updates: moto ends them at once.
    """
    patches.wrap(DynamoHandler, "call_action", _call_action)
    for operation in WITH_VALUES:
        patches.wrap(DynamoHandler, operation, _with_numbers)
    patches.wrap(DynamoHandler, "create_table", _creating)
    patches.wrap(DynamoHandler, "delete_table", _deleting)
    patches.wrap(DynamoHandler, "put_resource_policy", _putting_policy)
    patches.wrap(DynamoHandler, "update_table", _updating)
    for operation in UNCHANGEABLE:
        patches.wrap(DynamoHandler, operation, _refusing_while_updating)
    patches.wrap(Table, "describe", _with_status)


def _call_action(original: Moto) -> Moto:
    def call_action(self: Moto) -> Moto:
        with ONE_AT_A_TIME:
            return original(self)

    return call_action


def _with_numbers(original: Moto) -> Callable[[Moto], Any]:
    def serve(self: Moto) -> Any:  # noqa: ANN401  # what moto answers
        _check_numbers(self.body)
        return original(self)

    return serve


def _check_numbers(value: object) -> None:
    """Refuse with ValidationException an attribute value {"N": text} whose text is not a number; moto takes any."""
    match value:
        case {"N": str(text), **more} if not more and not NUMBER.fullmatch(text):
            raise MockValidationException(f"The parameter cannot be converted to a numeric value: {text}")
        case dict():
            for member in value.values():
                _check_numbers(member)
        case list():
            for member in value:
                _check_numbers(member)


def _creating(original: Moto) -> Moto:
    """Create a table with its resource policy."""

    def create_table(self: Moto) -> Moto:
        policy = self.body.get("ResourcePolicy")
        _check_policy(policy)
        answer = original(self)
        if policy:
            backend = self.dynamodb_backend
            backend.put_resource_policy(backend.get_table(self.body["TableName"]).table_arn, policy, None)
        return answer

    return create_table


def _deleting(original: Moto) -> Moto:
    """Delete a table and its resource policy."""

    def delete_table(self: Moto) -> Moto:
        backend = self.dynamodb_backend
        table = backend.tables.get(_table_name(self))
        answer = original(self)
        if table is not None:
            backend.resource_policies.pop(table.table_arn, None)
        return answer

    return delete_table


def _updating(original: Moto) -> Moto:
    def update_table(self: Moto) -> Moto:
        self.dynamodb_backend.get_table(_table_name(self)).updating_until = time.monotonic() + UPDATE_SECONDS
        return original(self)

    return update_table


def _refusing_while_updating(original: Moto) -> Moto:
    def serve(self: Moto) -> Moto:
        name = _table_name(self)
        table = self.dynamodb_backend.tables.get(name)
        if table is not None and _is_updating(table):
            raise ResourceInUseException(
                f"Attempt to change a resource which is still in use: Table is being updated: {name}"
            )
        return original(self)

    return serve


def _with_status(original: Moto) -> Moto:
    def describe(self: Moto, base_key: str = "TableDescription") -> Moto:
        found = original(self, base_key)
        if _is_updating(self):
            found[base_key]["TableStatus"] = "UPDATING"
        return found

    return describe


def _is_updating(table: Moto) -> bool:
    return bool(time.monotonic() < vars(table).get("updating_until", 0.0))


def _table_name(request: Moto) -> str:
    return str(request.body["TableName"].rpartition("/")[2])


def _putting_policy(original: Moto) -> Callable[[Moto], Any]:
    def put_resource_policy(self: Moto) -> Any:  # noqa: ANN401  # what moto answers
        _check_policy(self.body["Policy"])
        return original(self)

    return put_resource_policy


def _check_policy(policy: str | None) -> None:
    """Refuse with ValidationException a policy that DynamoDB does not attach to a table.

    How it names invalid actions: https://github.com/aws/aws-cdk/pull/36194.
    """
    if policy is None:
        return
    try:
        statements = as_list(json.loads(policy)["Statement"])
    except (ValueError, KeyError, TypeError) as error:
        raise _InvalidPolicyError(repr(error)) from error
    if any({"Effect", "Principal", "Action", "Resource"} - set(statement) for statement in statements):
        raise _InvalidPolicyError("each statement needs Effect, Principal, Action, and Resource")
    if len(policy.encode()) > MAX_POLICY_BYTES:
        raise _InvalidPolicyError(f"it has more than {MAX_POLICY_BYTES} bytes")
    named = [action for statement in statements for action in as_list(statement["Action"])]
    if unknown := [action for action in named if action not in POLICY_ACTIONS]:
        listed = ", ".join(f'"{action}"' for action in unknown)
        raise _InvalidPolicyError(f"The following action names are invalid: {listed}")


class _InvalidPolicyError(MockValidationException):
    """The answer to a policy that cannot be attached."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"One or more parameter values were invalid: Invalid policy document: {reason}")
