"""Who may write to the ledger, as the resource policy of its table says."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import Expecting, calling
from express_path.domain.policies.documents import listed
from express_path.domain.policies.patterns import is_like

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

WRITES = frozenset(
    f"dynamodb:{operation}"
    for operation in (
        "BatchWriteItem",
        "DeleteItem",
        "PartiQLDelete",
        "PartiQLInsert",
        "PartiQLUpdate",
        "PutItem",
        "UpdateItem",
        "UpdateTimeToLive",
    )
)
"""The actions that the table's resource policy denies to everyone except the runbooks' role: those that write or expire items,
of the actions that such a policy may name (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/rbac-iam-actions.html)."""
TABLE_CHANGES = frozenset(
    f"dynamodb:{operation}" for operation in ("DeleteResourcePolicy", "DeleteTable", "PutResourcePolicy", "UpdateTable")
)
"""The actions that the policy denies to everyone except the role that deploys the stack."""
RUNBOOK_ROLES = "role/express-path/automation/*"
"""The resource part of the ARNs of roles that may write."""


def read_policy(dynamodb: "DynamoDBClient", arn: str) -> Mapping[str, Any] | None:
    """Read the resource policy of a table, or return None if it has none. Raise ApiError."""
    with Expecting("PolicyNotFoundException"), calling("dynamodb:GetResourcePolicy"):
        policy = json.loads(dynamodb.get_resource_policy(ResourceArn=arn)["Policy"])
        return policy if isinstance(policy, dict) else None
    return None


def policy_problem(name: str, policy: Mapping[str, Any] | None) -> str:
    """Return why the contents of a ledger cannot be trusted.

    One statement must deny every write to every principal except roles with the runbooks' path.
    """
    if any(resource == RUNBOOK_ROLES for resource in _excepted_roles(policy, WRITES)):
        return ""
    return f"principals other than the runbooks can write to ledger {name}, so undos cannot trust it"


def others_keep_table(policy: Mapping[str, Any] | None) -> bool:
    """Return whether one statement denies TABLE_CHANGES to every principal except a role; its ARN may be a pattern."""
    return any(re.fullmatch(r"role/(?!\*+$).+", resource) for resource in _excepted_roles(policy, TABLE_CHANGES))


def _excepted_roles(policy: Mapping[str, Any] | None, actions: frozenset[str]) -> Iterator[str]:
    """Yield the last part of the only ARN that each statement excepts which denies all of these actions to all others."""
    for statement in listed((policy or {}).get("Statement")):
        if not isinstance(statement, Mapping):
            continue
        condition = statement.get("Condition", {})
        if statement.get("Effect") != "Deny" or "Resource" not in statement or list(condition) != ["ArnNotLike"]:
            continue
        keys = condition["ArnNotLike"]
        excepted = listed(keys.get("aws:PrincipalArn")) if len(keys) == 1 else []
        if (
            statement.get("Principal") in ("*", {"AWS": "*"})
            and len(excepted) == 1
            and all(_is_named(action, listed(statement.get("Action"))) for action in actions)
        ):
            yield str(excepted[0]).split(":", 5)[-1]


def _is_named(action: str, patterns: list[Any]) -> bool:
    """Return whether any of the patterns matches an action. IAM ignores the case of actions."""
    return any(is_like(action.lower(), str(pattern).lower()) for pattern in patterns)
