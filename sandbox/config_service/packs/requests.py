"""What the calls about conformance packs have in common: names, limits and pages (botocore model)."""

import re
from collections.abc import Sequence
from typing import Any

from moto.config.exceptions import InvalidLimitException, InvalidParameterValueException, ValidationException

from sandbox.config_service import checks

Parameters = dict[str, Any]

NAME = re.compile("[a-zA-Z][-a-zA-Z0-9]*")
MAXIMUM_NAME = 256
PAGE = 20
"""Packs of a page, at most and by default; the default is UNVERIFIED."""


def pack_name(parameters: Parameters) -> str:
    """Return the ConformancePackName of a request, or raise ValidationException."""
    name = parameters.get("ConformancePackName") or ""
    check_name(name)
    return name


def check_name(name: str) -> None:
    """Raise ValidationException unless a name is one that a conformance pack can have."""
    checks.length(name, "conformancePackName", MAXIMUM_NAME, 1)
    if not NAME.fullmatch(name):
        raise ValidationException(f"Value '{name}' at 'conformancePackName' must satisfy pattern {NAME.pattern}")


def pack_names(parameters: Parameters, at_most: int, at_least: int = 0) -> list[str]:
    """Return the ConformancePackNames of a request, or raise ValidationException."""
    names: list[str] = parameters.get("ConformancePackNames") or []
    checks.length(names, "conformancePackNames", at_most, at_least)
    for name in names:
        check_name(name)
    return names


def page(key: str, rows: Sequence[Any], parameters: Parameters, at_most: int = PAGE) -> dict[str, Any]:
    """Return one page of an answer. InvalidLimitException for a Limit beyond `at_most`; 0 means `at_most`."""
    limit = int(parameters.get("Limit") or 0)
    if not 0 <= limit <= at_most:
        raise InvalidLimitException(limit)
    shown, token = checks.page(rows, parameters.get("NextToken"), limit or at_most)
    return {key: list(shown)} | ({"NextToken": token} if token else {})


def wanted_compliance(filters: Parameters) -> str | None:
    """Return the ComplianceType of some filters, or None. INSUFFICIENT_DATA is not supported as one."""
    wanted: str | None = filters.get("ComplianceType")
    if wanted not in (None, "COMPLIANT", "NON_COMPLIANT"):
        raise InvalidParameterValueException(f"The ComplianceType {wanted} is not supported: COMPLIANT, NON_COMPLIANT.")
    return wanted
