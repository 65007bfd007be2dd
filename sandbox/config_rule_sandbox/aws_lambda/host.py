"""Runs one Python function in a process of its own: `python host.py HANDLER`.

Each line of standard input is an invocation, `{"event": ..., "context": {...}}`. The first line of standard output says
whether the handler was imported; each other line is what the function answered or raised. What the function prints goes
to standard error. It imports the standard library only.
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any


class Context:
    """The context object of an invocation: https://docs.aws.amazon.com/lambda/latest/dg/python-context.html."""

    def __init__(self, attributes: dict[str, Any], seconds: float) -> None:
        """Have these attributes, and an end in so many seconds."""
        vars(self).update(attributes)
        self._end = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds that are left until Lambda ends the invocation."""
        return max(0, int(1000 * (self._end - time.monotonic())))


def load(handler: str) -> Callable[..., Any]:
    """Import a handler by its name, `package.module.function`, or with slashes between the packages."""
    module, _, name = handler.rpartition(".")
    function: Callable[..., Any] = getattr(import_module(module.replace("/", ".")), name)
    return function


def outcome(function: Callable[[], Any]) -> dict[str, Any]:
    """Return what a function returns, or the error that it raises, as JSON."""
    try:
        return {"answer": json.loads(json.dumps(function()))}
    except Exception as error:  # noqa: BLE001  # whatever a function raises is a function error
        trace = traceback.format_tb(error.__traceback__)
        return {"errorType": type(error).__name__, "errorMessage": str(error), "stackTrace": trace}


def main() -> None:
    """Import the handler, say so, and serve invocations until standard input ends."""
    handlers: list[Callable[..., Any]] = []
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        answers.write(json.dumps(outcome(lambda: handlers.append(load(sys.argv[1])))) + "\n")
        answers.flush()
        for line in sys.stdin:
            request = json.loads(line)
            event, context = request["event"], Context(**request["context"])
            answers.write(json.dumps(outcome(partial(handlers[0], event, context))) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
