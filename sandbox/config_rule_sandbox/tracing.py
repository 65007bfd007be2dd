"""Which code is traced: coverage and debuggers follow the code under test, but not what AWS does for it."""

import sys
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

calls_are_traced = False
"""Whether API calls and what the sandbox does for them are traced, too. Its own tests set this."""

_paused = threading.local()


def trace_no_calls(class_attributes: dict[str, Any], **_event: object) -> None:
    """Let no method of a new class of clients be traced: following botocore and moto takes as long as the tests.

    It handles botocore's event `creating-client-class`.
    """
    for name, method in class_attributes.items():
        if isinstance(method, FunctionType):
            class_attributes[name] = untraced(method)


def untraced(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function or a method that is not traced, and neither is what it calls."""

    def call(*arguments: object, **parameters: object) -> object:
        tracer = sys.gettrace()
        if tracer is None or calls_are_traced:
            return method(*arguments, **parameters)
        _paused.tracer = tracer
        sys.settrace(None)
        try:
            return method(*arguments, **parameters)
        finally:
            sys.settrace(tracer)

    return call


def traced(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that is traced although the sandbox invokes it during a call, as it invokes Lambda functions."""

    def invoke(event: object) -> object:
        tracer = sys.gettrace()
        sys.settrace(getattr(_paused, "tracer", tracer))
        try:
            return function(event)
        finally:
            sys.settrace(tracer)

    return invoke
