"""Requests that need no permission of the account's policies: those that AWS's services make with connections of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from moto.core.authorization import ActionAuthenticatorMixin

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.patching.patches import Patches

_is_unchecked: ContextVar[bool] = ContextVar("is_unchecked", default=False)


@contextmanager
def unchecked() -> Iterator[None]:
    """Check no permission of the requests that this thread answers. Those of other threads are checked as before."""
    token = _is_unchecked.set(True)
    try:
        yield
    finally:
        _is_unchecked.reset(token)


def apply(patches: Patches) -> None:
    """Let moto not check what is unchecked. Its own setting is one for all threads."""
    patches.wrap(ActionAuthenticatorMixin, "_authenticate_and_authorize_action", _checking)


def _checking(original: Moto) -> Moto:
    def authorize(response: Moto, iam_request_class: Moto, resource: str = "*") -> None:
        if not _is_unchecked.get():
            original(response, iam_request_class, resource)

    return authorize
