"""Whether the ledger of heals is there, can be restored, and can be written by the runbooks alone."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from express_path_cli.doctor.answers import Answer, fail, ok, warn

WRITES = frozenset(
    f"dynamodb:{each}"
    for each in (
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
"""The actions that the table's resource policy denies to all but the runbooks' role
(https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html)."""
RUNBOOK_ROLES = "role/express-path/automation/*"
"""What the ARNs of roles that may write end with."""


class LedgerRecord(NamedTuple):
    """The ledger's table: its status and how it is protected; policy is its resource policy, None for none."""

    status: str
    is_protected: bool
    is_restorable: bool
    policy: Mapping[str, Any] | None


def judge_ledger(name: str, found: LedgerRecord | None) -> Answer:
    """Whether heals and undos can rely on the ledger; found is None where there is no such table."""
    if found is None:
        return fail(
            f"ledger {name} does not exist: every heal and undo fails",
            "restore the table from a backup, or deploy the stack with the LedgerTableName of an existing ledger",
        )
    if found.status != "ACTIVE":
        return fail(f"ledger {name} is {found.status}", "wait until it is ACTIVE, or see the table's state in DynamoDB")
    if not _only_runbooks_write(found.policy):
        return fail(
            f"ledger {name} can be written by others than the runbooks, so undos cannot trust it",
            "deploy the stack again, or give the table the resource policy in template.yaml (OnlyRunbooksWrite)",
        )
    if not found.is_protected:
        return warn(
            f"ledger {name} can be deleted, and no heal could be undone any more",
            "turn on deletion protection",
            f"aws dynamodb update-table --table-name {name} --deletion-protection-enabled",
        )
    if not found.is_restorable:
        return warn(
            f"ledger {name} has no point-in-time recovery",
            "turn it on",
            f"aws dynamodb update-continuous-backups --table-name {name} "
            "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true",
        )
    return ok(f"ledger {name} is there, and only the runbooks write to it")


def _only_runbooks_write(policy: Mapping[str, Any] | None) -> bool:
    """Whether one statement denies every write to every principal but roles with the runbooks' path."""
    statements = _listed((policy or {}).get("Statement"))
    return any(isinstance(each, Mapping) and _denies_others(each) for each in statements)


def _denies_others(statement: Mapping[str, Any]) -> bool:
    condition = statement.get("Condition", {})
    if statement.get("Effect") != "Deny" or "Resource" not in statement or list(condition) != ["ArnNotLike"]:
        return False
    keys = condition["ArnNotLike"]
    allowed = _listed(keys.get("aws:PrincipalArn")) if len(keys) == 1 else []
    return (
        statement.get("Principal") in ("*", {"AWS": "*"})
        and len(allowed) == 1
        and str(allowed[0]).split(":", 5)[-1] == RUNBOOK_ROLES
        and all(_is_named(action, _listed(statement.get("Action"))) for action in WRITES)
    )


def _is_named(action: str, patterns: list[Any]) -> bool:
    """Whether any of the patterns stands for an action; IAM compares actions without case."""
    return any(fnmatchcase(action.lower(), str(each).lower()) for each in patterns)


def _listed(value: object) -> list[Any]:
    """A policy's element, which may be one value or a list of them."""
    return value if isinstance(value, list) else [value]
