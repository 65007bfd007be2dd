"""The Lambda function of a rule: it is there, and AWS Config may invoke it."""

import contextlib
from typing import Any

from moto.awslambda.utils import get_backend
from moto.config.exceptions import (
    InsufficientPermissionsException,
)
from moto.config.models import ConfigBackend
from moto.core.exceptions import JsonRESTError

from config_rule_sandbox.iam.policies import Authorization, is_allowed, names_service

SERVICE = "config.amazonaws.com"


def check_function(backend: ConfigBackend, source: dict[str, Any]) -> None:
    """Raise InsufficientPermissionsException unless the function's policy lets AWS Config invoke it for the account.

    https://docs.aws.amazon.com/config/latest/APIReference/API_PutConfigRule.html, and for the permission
    https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules_lambda-functions.html.
    A statement with a condition on anything but the source account does not count: UNVERIFIED what else AWS Config
    supplies.
    """
    if source.get("Owner") != "CUSTOM_LAMBDA":
        return
    arn = source.get("SourceIdentifier") or ""
    named = [statement for statement in _policy(backend, arn) if names_service(statement, SERVICE)]
    if not is_allowed(named, Authorization("lambda:InvokeFunction", arn, {"aws:SourceAccount": [backend.account_id]})):
        raise InsufficientPermissionsException(
            f"The AWS Lambda function {arn} cannot be invoked. "
            "Check the specified function ARN, and check the function's permissions."
        )


def _policy(backend: ConfigBackend, arn: str) -> list[dict[str, Any]]:
    """Return the statements of a function's policy, none if there is no such function."""
    with contextlib.suppress(JsonRESTError, ValueError):
        function = get_backend(backend.account_id, backend.region_name).get_function(arn)
        statements: list[dict[str, Any]] = function.policy.statements
        return statements
    return []
