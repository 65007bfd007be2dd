"""Reading much at once."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the garbage collector, also as a decorator.

    A whole account or a dump makes many records and drops few, so that collecting meanwhile costs a fifth of the time
    (`python -m benchmarks sweep`) and finds next to nothing.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
