"""What AWS Config checks in a request, and how it cuts an answer into pages."""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from moto.config.exceptions import (
    InvalidNextTokenException,
    NoSuchConfigRuleException,
    ValidationException,
)
from moto.config.models import ConfigBackend, ConfigRule
from moto.config.responses import ConfigResponse

from config_rule_sandbox.patching.constraints import violations

Item = TypeVar("Item")

Parameters = dict[str, Any]


def parameters(response: ConfigResponse, operation: str) -> Parameters:
    """Return what a request asks for. ValidationException if it breaks the service's model, in lengths for example."""
    found: Parameters = json.loads(response.body or "{}")
    broken = violations("config", operation, found)
    if broken:
        raise ValidationException(f"{len(broken)} validation error(s) detected: {'; '.join(broken)}")
    return found


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
