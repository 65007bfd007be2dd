"""Lambda functions that the sandbox runs itself: Python callables, or artifacts in the real runtime."""

import json
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import unquote

from moto.awslambda.exceptions import UnknownFunctionException
from moto.awslambda.responses import LambdaResponse
from moto.utilities.utils import get_partition

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.patching.patches import Patches

Function = Callable[[Any], Any]
Answer = tuple[int, dict[str, str], str]

INVOKE_PERMISSION = "InvokeFunction"
"""The permission that Invoke needs; moto asks for one of the operation's name.

https://docs.aws.amazon.com/lambda/latest/dg/lambda-permissions.html
"""


class Functions:
    """The functions that Invoke finds, by their names. Each takes the event and returns the answer, or raises."""

    def __init__(self) -> None:
        """Begin with none."""
        self._functions: dict[str, Function] = {}
        self.run_others: Callable[[str, Any], Any] | None = None
        """Runs functions that are not registered: it takes the ARN and the event."""

    def register(self, name: str, function: Function) -> None:
        """Let Invoke of this name run a function: a callable of one event, such as `LambdaRuntime.invoke`."""
        self._functions[name] = function

    def clear(self) -> None:
        """Forget every function."""
        self._functions.clear()

    def _found(self, name: str, arn: str) -> Function | None:
        return self._functions.get(name) or (self.run_others and partial(self.run_others, arn))

    def apply(self, patches: Patches) -> None:
        """Let moto's Lambda invoke these functions, and no containers."""

        def invoke(response: LambdaResponse) -> Answer:
            return _invoke(response, self._found(_name(response), _resource(response)))

        patches.set(LambdaResponse, "invoke", invoke)
        patches.set(LambdaResponse, "_determine_resource", _resource)
        patches.wrap(LambdaResponse, "_authenticate_and_authorize_normal_action", _authorize)


def _invoke(response: LambdaResponse, function: Function | None) -> Answer:
    """Answer Invoke; an error of the function is HTTP 200 with a header that says so.

    https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
    """
    if function is None:
        raise UnknownFunctionException(_resource(response))
    headers = {"content-type": "application/json", "X-Amz-Executed-Version": "$LATEST"}
    try:
        payload = json.dumps(function(json.loads(response.body or "null")))
    except Exception as error:  # noqa: BLE001  # whatever a function raises is a function error to Lambda
        headers["X-Amz-Function-Error"] = "Unhandled"
        payload = json.dumps(_error(error))
    return 200, headers, payload


def _error(error: Exception) -> dict[str, Any]:
    """Return the payload of a function error: https://docs.aws.amazon.com/lambda/latest/dg/python-exceptions.html."""
    return {
        "errorMessage": getattr(error, "error_message", str(error)),
        "errorType": getattr(error, "error_type", type(error).__name__),
        "stackTrace": getattr(error, "stack_trace", traceback.format_tb(error.__traceback__)),
    }


def _name(response: LambdaResponse) -> str:
    """Return the name of the function in the path, which may be a name or an ARN, each with a qualifier."""
    identifier = unquote(response.path.rsplit("/", 2)[-2])
    return identifier.rpartition("function:")[2].partition(":")[0]


def _resource(response: LambdaResponse) -> str:
    """Return the ARN that a permission to invoke has to name; `*` for other operations."""
    if not response.path.endswith("/invocations"):
        return "*"
    region = response.region
    return f"arn:{get_partition(region)}:lambda:{region}:{response.current_account}:function:{_name(response)}"


def _authorize(original: Callable[..., None]) -> Callable[..., None]:
    """Let an Invoke be authorized by the permission that it really needs."""

    def authorize(self: Moto, resource: str = "*") -> None:
        if self._get_action() != "Invoke":
            return original(self, resource)
        self._get_action = lambda: INVOKE_PERMISSION
        try:
            return original(self, resource)
        finally:
            del self._get_action

    return authorize
