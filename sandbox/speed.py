"""Does once what moto repeats for every request. The behavior stays the same."""

import inspect
from typing import Any

from moto import backends
from moto.core import responses

from sandbox.patches import Patches


def apply(patches: Patches) -> None:
    """Let moto list its folders once, and look for a method by its name instead of listing all methods of a class."""
    modules = tuple(backends.list_of_moto_modules())
    patches.set(backends, "list_of_moto_modules", lambda: modules)
    patches.set(responses, "method_names_from_class", _Methods)


class _Methods:
    """The names of the methods of a class, for `in` only."""

    def __init__(self, owner: Any) -> None:  # noqa: ANN401  # any class of moto
        self._owner = owner

    def __contains__(self, name: str) -> bool:
        return inspect.isfunction(getattr(self._owner, name, None))
