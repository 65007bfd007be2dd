"""The states that an endpoint or a NAT gateway passes through, counted in descriptions or in seconds."""

import time

from sandbox.dynamic import Moto
from sandbox.ec2.knobs import Knobs

PENDING, AVAILABLE, DELETING, DELETED = "pending", "available", "deleting", "deleted"


def start(resource: Moto) -> None:
    """Make a new resource `pending`; the next description, or a later one, finds it `available`."""
    _enter(resource, PENDING)


def delete(resource: Moto) -> None:
    """Make a resource `deleting`; the next description, or a later one, finds it `deleted`."""
    _enter(resource, DELETING)


def describe(resource: Moto, knobs: Knobs) -> None:
    """Let a resource reach the state in which this description finds it, and count the description."""
    if resource.state == PENDING and _over(resource, knobs.pending_describes, knobs.pending_seconds):
        _enter(resource, AVAILABLE)
    elif resource.state == DELETING and _over(resource, knobs.deleting_describes, 0.0):
        _enter(resource, DELETED)
    resource.described = getattr(resource, "described", 0) + 1


def _enter(resource: Moto, state: str) -> None:
    resource.state, resource.described, resource.since = state, 0, time.monotonic()


def _over(resource: Moto, describes: int, seconds: float) -> bool:
    return bool(resource.described >= describes and time.monotonic() - resource.since >= seconds)
