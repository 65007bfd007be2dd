"""Policy documents as records.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements.html
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from express_path.domain.policies.patterns import FILLER
from express_path.errors import PolicyError, RecordError

Json = Mapping[str, object]
SERVICE = "Service:"
"""How a principal begins that is a service of AWS."""
MOST_VALUES = 5_000
"""AWS's own managed policies, the largest, have about 2,000."""
_ELEMENTS = (
    "Sid",
    "Effect",
    "Principal",
    "NotPrincipal",
    "Action",
    "NotAction",
    "Resource",
    "NotResource",
    "Condition",
)

_QUANTIFIERS = {"forallvalues": "ForAllValues", "foranyvalue": "ForAnyValue"}
_IF_EXISTS = "ifexists"
OPERATORS = {
    name.lower(): name
    for name in (
        *("StringEquals", "StringNotEquals", "StringEqualsIgnoreCase", "StringNotEqualsIgnoreCase"),
        *("StringLike", "StringNotLike"),
        *("NumericEquals", "NumericNotEquals", "NumericLessThan", "NumericLessThanEquals"),
        *("NumericGreaterThan", "NumericGreaterThanEquals"),
        *("DateEquals", "DateNotEquals", "DateLessThan", "DateLessThanEquals"),
        *("DateGreaterThan", "DateGreaterThanEquals"),
        *("Bool", "BinaryEquals", "IpAddress", "NotIpAddress"),
        *("ArnEquals", "ArnLike", "ArnNotEquals", "ArnNotLike", "Null"),
    )
}
"""The condition operators by their names in lower case, because IAM accepts any case
(https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html)."""


def listed(element: Any) -> list[Any]:  # noqa: ANN401  # any JSON
    """Return an element of a policy, which may be absent, one value, or a list, as a list."""
    if element is None:
        return []
    return element if isinstance(element, list) else [element]


@dataclass(frozen=True, slots=True)
class Condition:
    """One operator with one key: what the key's value must be. operator has neither the quantifier nor IfExists.

    quantifier is ForAllValues, ForAnyValue, or empty. key is as written; IAM ignores its case.
    """

    operator: str
    quantifier: str
    if_exists: bool
    key: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        """Return the condition in one line, such as NotIpAddress aws:SourceIp 203.0.113.0/24."""
        return f"{self.operator_text} {self.key} {', '.join(self.values)}"

    @property
    def positive(self) -> str:
        """The operator without Not: what a negated one negates."""
        return self.operator.replace("Not", "")

    @property
    def operator_text(self) -> str:
        """The operator as IAM spells it, such as ForAnyValue:StringLikeIfExists."""
        quantifier = f"{self.quantifier}:" if self.quantifier else ""
        return f"{quantifier}{self.operator}{'IfExists' if self.if_exists else ''}"


@dataclass(frozen=True, slots=True)
class Element:
    """Action, Resource, or Principal of a statement: the patterns, and whether it is the negated element, such as NotAction."""

    patterns: tuple[str, ...]
    is_negated: bool = False


EVERYTHING = Element(("*",))


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement. name is its Sid, or its number from 1. An element that a kind of policy does not have matches everything."""

    name: str | int
    is_deny: bool
    action: Element
    resource: Element = EVERYTHING
    principal: Element = EVERYTHING
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """A policy. source is where it is from: a file, a bucket, or an ARN. has_variables: its Version knows policy variables."""

    source: str
    statements: tuple[Statement, ...]
    has_variables: bool = False


def parse_policy(source: str, policy: object) -> PolicyDocument:
    """Read a policy document, from JSON or from its text. Raise RecordError that names the source and the field.

    Raise PolicyError if it is so large that judging it would take too long.
    """
    document: Any = _read(source, policy) if isinstance(policy, str) else policy
    if not isinstance(document, Mapping) or "Statement" not in document:
        raise RecordError(source, "", document, "a policy document: an object with Statement")
    if _size(document) > MOST_VALUES:
        raise PolicyError(source, f"it has more than {MOST_VALUES:,} values, and no policy that AWS accepts has")
    if not document["Statement"]:
        raise RecordError(source, "Statement", document["Statement"], "at least one statement")
    statements = tuple(
        _statement(f"{source}: Statement[{number}]", statement, number + 1)
        for number, statement in enumerate(listed(document["Statement"]))
    )
    return PolicyDocument(source, statements, document.get("Version") == "2012-10-17")


def _read(source: str, text: str) -> object:
    def without_repeated_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
        read: dict[str, object] = {}
        for key, value in pairs:
            if key in read:
                raise RecordError(source, key, text[:80], "there once: a key appears twice in one object")
            read[key] = value
        return read

    try:
        return json.loads(text, object_pairs_hook=without_repeated_keys)
    except (ValueError, RecursionError) as error:
        raise RecordError(source, "", text[:80], "a policy document in JSON") from error


def _size(document: object) -> int:
    """Return how many values a document has; at most one more than the limit."""
    waiting, size = [document], 0
    while waiting and size <= MOST_VALUES:
        size += 1
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return size


def _statement(place: str, statement: object, number: int) -> Statement:
    if not isinstance(statement, Mapping):
        raise RecordError(place, "", statement, "an object")
    for name in statement:
        if name not in _ELEMENTS:
            raise RecordError(
                place, str(name), statement[name], f"left out: an element is one of {', '.join(_ELEMENTS)}"
            )
    effect = statement.get("Effect")
    if effect not in ("Allow", "Deny"):
        raise RecordError(place, "Effect", effect, "Allow or Deny")
    if "Action" not in statement and "NotAction" not in statement:
        raise RecordError(place, "Action", None, "an action or a list of actions")
    sid = statement.get("Sid")
    return Statement(
        sid if isinstance(sid, str) and sid else number,
        effect == "Deny",
        _element(place, statement, "Action"),
        _element(place, statement, "Resource"),
        _element(place, statement, "Principal"),
        tuple(_conditions(place, statement.get("Condition"))),
    )


def _element(place: str, statement: Json, name: str) -> Element:
    """Return an element, or its negated form if the statement has that instead; without either, it matches everything."""
    negated = f"Not{name}"
    if negated in statement and name in statement:
        raise RecordError(place, negated, statement[negated], f"left out, because there is {name}")
    full_name = negated if negated in statement else name
    if full_name not in statement:
        return EVERYTHING
    read = _principals if name == "Principal" else _strings
    return Element(read(place, full_name, statement[full_name]), full_name == negated)


def _principals(place: str, name: str, element: object) -> tuple[str, ...]:
    """Return the principals: those of AWS as they are, others with their kind, such as Service:sns.amazonaws.com."""
    if not isinstance(element, Mapping):
        return _strings(place, name, element)
    return tuple(
        value if kind == "AWS" or (value == "*" and f"{kind}:" != SERVICE) else f"{kind}:{value}"
        for kind, values in element.items()
        for value in _strings(place, f"{name}.{kind}", values)
    )


def account_of(pattern: str) -> str:
    """Return the account that a Principal names as a whole, by its ID or the ARN of its root; empty if it does not."""
    match = re.fullmatch(r"(?:arn:[^:]*:iam::)?(\d{12})(?::root)?", pattern)
    return match[1] if match else ""


def _conditions(place: str, element: object) -> Iterator[Condition]:
    if element is None:
        return
    if not isinstance(element, Mapping):
        raise RecordError(place, "Condition", element, "an object of operators")
    for operator, keys in element.items():
        quantifier, _, name = str(operator).rpartition(":")
        lower = name.lower()
        if_exists = lower.endswith(_IF_EXISTS)
        base = OPERATORS.get(lower.removesuffix(_IF_EXISTS))
        if base is None or (base == "Null" and if_exists) or (quantifier and quantifier.lower() not in _QUANTIFIERS):
            raise RecordError(place, f"Condition.{operator}", operator, "a condition operator of IAM")
        if not isinstance(keys, Mapping):
            raise RecordError(place, f"Condition.{operator}", keys, "an object of condition keys")
        for key, values in keys.items():
            allowed = _strings(place, f"Condition.{operator}.{key}", values)
            yield Condition(base, _QUANTIFIERS.get(quantifier.lower(), ""), if_exists, str(key), allowed)


def _strings(place: str, field_name: str, element: object) -> tuple[str, ...]:
    """Return one value or a list of values as texts; JSON's true and 1 are as good as their texts."""
    values = element if isinstance(element, list) else [element]
    for value in values:
        if not isinstance(value, str | int | float) or FILLER in str(value):
            raise RecordError(
                place, field_name, element, "a text without the character U+E000, or a list of such texts"
            )
    return tuple(str(value).lower() if isinstance(value, bool) else str(value) for value in values)
