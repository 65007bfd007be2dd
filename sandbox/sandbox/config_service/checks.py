"""Constraints of AWS Config's service model, checked where moto does not: on the server's side."""

from collections.abc import Sequence
from typing import Any, TypeVar

from moto.config.exceptions import (
    InvalidNextTokenException,
    InvalidParameterValueException,
    NoSuchConfigRuleException,
    ValidationException,
)
from moto.config.models import ConfigBackend, ConfigRule

Item = TypeVar("Item")

COMPLIANCE_TYPES = ("COMPLIANT", "NON_COMPLIANT", "NOT_APPLICABLE", "INSUFFICIENT_DATA")
"""Values of the ComplianceType enum (botocore model)."""


def length(value: Sequence[Any], where: str, at_most: int, at_least: int = 0) -> None:
    """Raise ValidationException unless `value` has between `at_least` and `at_most` characters or members."""
    if len(value) > at_most:
        raise _constraint(where, f"Member must have length less than or equal to {at_most}")
    if len(value) < at_least:
        raise _constraint(where, f"Member must have length greater than or equal to {at_least}")


def compliance_type(value: str, where: str) -> None:
    """Raise ValidationException unless `value` is of the ComplianceType enum."""
    if value not in COMPLIANCE_TYPES:
        raise _constraint(where, f"Member must satisfy enum value set: [{', '.join(COMPLIANCE_TYPES)}]")


def compliance_filter(values: Sequence[str]) -> None:
    """Check the ComplianceTypes of GetComplianceDetailsByConfigRule: three at most, without INSUFFICIENT_DATA.

    https://docs.aws.amazon.com/config/latest/APIReference/API_GetComplianceDetailsByConfigRule.html
    """
    length(values, "complianceTypes", 3)
    for value in values:
        compliance_type(value, "complianceTypes")
        if value == "INSUFFICIENT_DATA":
            raise InvalidParameterValueException(f"The compliance type {value} is not supported by this operation.")


def rule(backend: ConfigBackend, name: str) -> ConfigRule:
    """Return a rule by its name. NoSuchConfigRuleException if there is none."""
    found = backend.config_rules.get(name)
    if found is None:
        raise NoSuchConfigRuleException(name)
    return found


def page(items: Sequence[Item], next_token: str | None, size: int) -> tuple[Sequence[Item], str | None]:
    """Return one page of `items` and the token of the next one, or None at the end. InvalidNextTokenException."""
    start = _offset(next_token)
    if start > len(items):
        raise InvalidNextTokenException
    end = start + size
    return items[start:end], f"page-{end}" if end < len(items) else None


def _offset(next_token: str | None) -> int:
    if not next_token:
        return 0
    prefix, _, number = next_token.partition("-")
    if prefix != "page" or not number.isdigit():
        raise InvalidNextTokenException
    return int(number)


def _constraint(where: str, constraint: str) -> ValidationException:
    return ValidationException(
        f"1 validation error detected: Value at '{where}' failed to satisfy constraint: {constraint}"
    )
