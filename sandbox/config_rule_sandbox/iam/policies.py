"""Identity policies as IAM evaluates them: actions, resources and conditions, an explicit deny above all.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html,
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Statement = Mapping[str, Any]
Test = Callable[[str, str], bool]


@dataclass(frozen=True, slots=True)
class Authorization:
    """What a request needs: an action on a resource's ARN (`*` where IAM has none), and the condition keys it brings.

    A key that is not there is absent from the request; one without values counts as absent too.
    """

    action: str
    resource: str = "*"
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)


class UnsupportedPolicyError(Exception):
    """A policy uses an element that is not evaluated here."""

    def __init__(self, element: str, value: object) -> None:
        super().__init__(f"the sandbox does not evaluate {element} {value!r}")
        self.element = element
        self.value = value


def is_allowed(statements: Iterable[Statement], wanted: Authorization) -> bool:
    """Return whether statements of identity policies allow a request: one allows it and none denies it."""
    effects = {statement["Effect"] for statement in statements if _concerns(statement, wanted)}
    return effects == {"Allow"}


def _concerns(statement: Statement, wanted: Authorization) -> bool:
    return (
        _names(statement, "Action", wanted.action.lower(), str.lower)
        and _names(statement, "Resource", wanted.resource, str)
        and all(
            _holds(operator, key, as_list(expected), wanted.keys)
            for operator, tests in statement.get("Condition", {}).items()
            for key, expected in tests.items()
        )
    )


def _names(statement: Statement, element: str, value: str, form: Callable[[str], str]) -> bool:
    """Return whether the element, or else its negation such as NotAction, fits a value. Only ARNs have letter case."""
    negated = element not in statement
    patterns = as_list(statement[f"Not{element}" if negated else element])
    return any(like(form(_literal(pattern)), value) for pattern in patterns) is not negated


def _literal(pattern: str) -> str:
    if "${" in pattern:
        raise UnsupportedPolicyError("the policy variable", pattern)
    return pattern


def like(pattern: str, value: str) -> bool:
    """Return whether a value fits a pattern in which * stands for any text and ? for one character."""
    expression = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(expression, value, re.DOTALL) is not None


def _equal(expected: str, value: str) -> bool:
    return expected == value


TESTS: Mapping[str, Test] = {
    "StringEquals": _equal,
    "StringLike": like,
    "ArnEquals": like,
    "ArnLike": like,
    "Bool": lambda expected, value: expected.lower() == value.lower(),
}
NEGATIONS = {
    "StringNotEquals": "StringEquals",
    "StringNotLike": "StringLike",
    "ArnNotEquals": "ArnEquals",
    "ArnNotLike": "ArnLike",
}
SETS = ("ForAllValues", "ForAnyValue")
IF_EXISTS = "IfExists"
"""How an operator ends that holds without a value.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
"""

NOT_GIVEN = (
    "dynamodb:attributes",
    "dynamodb:fulltablescan",
    "dynamodb:returnconsumedcapacity",
    "dynamodb:returnvalues",
    "dynamodb:select",
)
"""Condition keys that AWS gives with requests and the sandbox does not, so a policy with them cannot be evaluated.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html
"""


def _holds(operator: str, key: str, expected: Sequence[str], keys: Mapping[str, Sequence[str]]) -> bool:
    """Return whether one line of a Condition holds; the names of condition keys have no case."""
    if key.lower() in NOT_GIVEN:
        raise UnsupportedPolicyError("the condition key", key)
    values = next((found for name, found in keys.items() if name.lower() == key.lower()), ())
    wanted = [_literal(str(text)) for text in expected]
    if operator == "Null":
        return (not values) is (wanted[0].lower() == "true")
    if operator.endswith(IF_EXISTS):
        return not values or _holds(operator.removesuffix(IF_EXISTS), key, expected, keys)
    prefix, _, name = operator.rpartition(":")
    if prefix and prefix not in SETS:
        raise UnsupportedPolicyError("the set operator", operator)
    return _compare(name, wanted, values, prefix)


def _compare(name: str, expected: Sequence[str], values: Sequence[str], of_set: str) -> bool:
    """Compare the values of a request with those of a policy.

    Without values a plain operator fails, a negated one and ForAllValues hold, ForAnyValue fails:
    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-single-vs-multi-valued-context-keys.html
    """
    negated = name in NEGATIONS
    name = NEGATIONS.get(name, name)
    if name not in TESTS:
        raise UnsupportedPolicyError("the condition operator", name)
    if len(values) > 1 and not of_set:
        raise UnsupportedPolicyError("without a set operator, several values", values)
    fits = [any(TESTS[name](pattern, value) for pattern in expected) is not negated for value in values]
    if of_set == "ForAllValues":
        return all(fits)
    return any(fits) if values or of_set else negated


def names_service(statement: Statement, service: str) -> bool:
    """Return whether the Principal of a resource policy's statement is a service, such as ssm.amazonaws.com, or anybody."""
    principal = statement["Principal"]
    return principal in ("*", service, {"AWS": "*"}) or (
        isinstance(principal, dict) and service in as_list(principal.get("Service", []))
    )


def as_list(value: Any) -> list[Any]:  # noqa: ANN401  # policies have one or a list of several
    """Return what may be one or a list of several as a list."""
    return value if isinstance(value, list) else [value]
