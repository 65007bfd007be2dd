"""The states that an endpoint or a NAT gateway passes through, counted in descriptions."""

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.knobs import Knobs

PENDING, AVAILABLE, DELETING, DELETED = "pending", "available", "deleting", "deleted"


def start(resource: Moto) -> None:
    """Make a new resource `pending`; the next description, or a later one, finds it `available`."""
    _enter(resource, PENDING)


def delete(resource: Moto) -> None:
    """Make a resource `deleting`; the next description finds it `deleted`."""
    _enter(resource, DELETING)


def describe(resource: Moto, knobs: Knobs) -> None:
    """Let a resource reach the state in which this description finds it, and count the description."""
    if resource.state == PENDING and resource.described >= knobs.pending_describes:
        _enter(resource, AVAILABLE)
    elif resource.state == DELETING:
        _enter(resource, DELETED)
    resource.described = getattr(resource, "described", 0) + 1


def _enter(resource: Moto, state: str) -> None:
    resource.state, resource.described = state, 0
