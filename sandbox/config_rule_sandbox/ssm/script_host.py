"""Runs one Python script of a runbook in a namespace of its own."""

import builtins
import json
import sys
import traceback
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from config_rule_sandbox.dynamic import Client

FILE = "script.py"


class ScriptFailedError(Exception):
    """The script raised an exception, or did not return JSON; the text is the traceback in the script."""


def run(script: str, handler: str, events: dict[str, Any], client: Callable[[str], Client]) -> str:
    """Run a script, call its handler with a copy of the events, and return the result as JSON text.

    Handlers take two parameters, events and context
    (https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-executeScript.html); what the
    context holds is not documented, so it is empty. `client` makes boto3's clients with the permissions of the execution.
    ScriptFailedError for any failure in the script.
    """
    boto3 = ModuleType("boto3")
    boto3.client = client  # type: ignore[attr-defined]
    importer = partial(_import, {"boto3": boto3})
    namespace: dict[str, Any] = {"__name__": "script", "__builtins__": {**vars(builtins), "__import__": importer}}
    try:
        exec(compile(script, FILE, "exec"), namespace)
        function: Callable[..., object] = namespace[handler]
        return json.dumps(function(json.loads(json.dumps(events)), {}), allow_nan=False)
    except BaseException as error:
        raise ScriptFailedError(_traceback(error)) from error


def _import(given: dict[str, ModuleType], name: str, *more: Any, **keywords: Any) -> Any:  # noqa: ANN401  # the parameters of __import__
    """Import a module of the standard library or boto3: scripts see nothing else of this process."""
    if name in given:
        return given[name]
    if name.partition(".")[0] not in sys.stdlib_module_names:
        raise ModuleNotFoundError(
            f"No module named {name!r} (the sandbox gives scripts boto3 and the standard library only)"
        )
    return __import__(name, *more, **keywords)


def _traceback(error: BaseException) -> str:
    """Return the lines of the script that an error came through, and the error itself."""
    inside = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    places = [f"  File {FILE}, line {frame.lineno}, in {frame.name}" for frame in inside]
    return "\n".join(["Traceback (most recent call last):", *places, f"{type(error).__name__} - {error}"])
