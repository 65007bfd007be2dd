"""Changing moto's classes for as long as a sandbox runs, and putting everything back afterwards."""

from collections.abc import Callable
from typing import Any

from config_rule_sandbox.dynamic import Moto

_ABSENT = object()


class Patches:
    """Replacements of attributes of classes or modules, undone in reverse order by `undo()`."""

    def __init__(self) -> None:
        """Begin with no replacement."""
        self._undo: list[tuple[Moto, str, Moto]] = []

    def set(self, owner: Moto, name: str, value: Moto) -> None:
        """Set one attribute of a class or module, remembering what the class itself held."""
        self._undo.append((owner, name, vars(owner).get(name, _ABSENT)))
        setattr(owner, name, value)

    def wrap(self, owner: Moto, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Replace one method by `make(original)`; `original` may come from a base class."""
        self.set(owner, name, make(getattr(owner, name)))

    def undo(self) -> None:
        """Put every attribute back as it was before."""
        while self._undo:
            owner, name, value = self._undo.pop()
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
