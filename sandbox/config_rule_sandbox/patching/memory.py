"""What the sandbox remembers about one account and Region of a service, beside what moto does."""

from typing import TypeVar

from config_rule_sandbox.dynamic import Moto

Memory = TypeVar("Memory")


def memory_of(backend: Moto, kind: type[Memory]) -> Memory:
    """Return the object of a class that belongs to a backend of moto, a new one at first. A reset of the backend removes it."""
    found: Memory = backend.__dict__.setdefault(f"sandbox_{kind.__name__}", kind())
    return found
