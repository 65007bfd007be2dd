"""What IAM policies say: whether a trust policy lets a role assume another one.

Only what trust policies of a central role use is evaluated. With anything else, the answer is unknown, never a guess
(https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from express_path.domain.policies.documents import listed
from express_path.domain.policies.patterns import is_like, is_like_arn

Document = Mapping[str, Any]
"""A policy, a statement, or a part of one, as JSON."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A role that assumes another one: its account (12 digits), organization, ARN, and the external ID it passes."""

    account_id: str
    organization_id: str
    arn: str
    external_id: str = ""


def trusts(policy: Document, principal: Principal) -> bool | None:
    """Return whether a trust policy lets a principal assume the role, or None if that could not be determined."""
    statements = listed(policy.get("Statement"))
    denied = _any(_applies(row, principal) for row in statements if row.get("Effect") == "Deny")
    allowed = _any(_applies(row, principal) for row in statements if row.get("Effect") == "Allow")
    return _all([allowed, None if denied is None else not denied])


def _applies(statement: Document, principal: Principal) -> bool | None:
    if "NotPrincipal" in statement or "NotAction" in statement:
        return None
    actions = listed(statement.get("Action"))
    is_assumed = any(is_like("sts:assumerole", str(action).lower()) for action in actions)
    conditions = [
        _meets(operator, key, listed(values), principal)
        for operator, keys in (statement.get("Condition") or {}).items()
        for key, values in keys.items()
    ]
    return _all([is_assumed, _names(statement.get("Principal"), principal), *conditions])


def _names(found: Any, principal: Principal) -> bool:  # noqa: ANN401  # any JSON
    """Return whether the Principal of a statement contains the principal: everybody, its account, or itself."""
    named = found.get("AWS") if isinstance(found, Mapping) else found
    root = f":iam::{principal.account_id}:root"
    return any(name in ("*", principal.account_id, principal.arn) or str(name).endswith(root) for name in listed(named))


def _meets(operator: str, key: str, values: Sequence[Any], principal: Principal) -> bool | None:
    """Return whether a condition holds, or None if it is not one of those that are evaluated."""
    keys = {
        "aws:principalorgid": principal.organization_id,
        "aws:principalarn": principal.arn,
        "aws:principalaccount": principal.account_id,
        "sts:externalid": principal.external_id,
    }
    compare = _OPERATORS.get(operator.removesuffix("IfExists"))
    value = keys.get(key.lower())
    if compare is None or value is None:
        return None
    return any(compare(value, str(pattern)) for pattern in values)


_OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    "StringEquals": lambda value, wanted: value == wanted,
    "StringEqualsIgnoreCase": lambda value, wanted: value.lower() == wanted.lower(),
    "StringLike": is_like,
    "ArnEquals": is_like_arn,
    "ArnLike": is_like_arn,
}


def _any(answers: Iterable[bool | None]) -> bool | None:
    known = list(answers)
    return True if True in known else None if None in known else False


def _all(answers: Iterable[bool | None]) -> bool | None:
    known = list(answers)
    return False if False in known else None if None in known else True
