"""What is true of every EC2 operation: dry runs, HTTP statuses of errors, one change at a time."""

from threading import RLock
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import DryRunClientError, EC2ClientError
from moto.ec2.responses import EC2Response
from werkzeug.exceptions import HTTPException

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import STATUSES
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.faults import Fault
from config_rule_sandbox.patching.patches import Patches

ONE_AT_A_TIME = RLock()
"""Held while EC2 serves a request."""


def apply(patches: Patches, knobs: Knobs) -> None:
    """Correct every operation of EC2.

    DryRun: a permitted request is answered with DryRunOperation and changes nothing
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonParameters.html).
    One at a time: moto changes its dictionaries without a lock; AWS answers concurrent requests consistently.
    """
    del knobs
    patches.wrap(EC2Response, "call_action", _call_action)
    patches.wrap(EC2Response, "_authenticate_and_authorize_normal_action", _authorizing)
    patches.wrap(EC2Response, "serialized", _serialized)


def _call_action(original: Moto) -> Moto:
    def call_action(self: Moto) -> Moto:
        with ONE_AT_A_TIME:
            return original(self)

    return call_action


def _authorizing(original: Moto) -> Moto:
    def authorize(self: Moto, resource: str = "*") -> None:
        original(self, resource)
        if self._get_param("DryRun", if_none=False):
            raise _DryRunError

    return authorize


class _DryRunError(HTTPException):
    """Ends a permitted request before anything is done; moto answers a failed authorization with its description."""

    code = 412
    description = Fault(DryRunClientError.code, 412, DryRunClientError.message).render("ec2")[1].decode()


def _serialized(original: Moto) -> Moto:
    """Serialize EC2's errors, including those that moto raises while it renders an answer, with EC2's status."""

    def serialized(self: Moto, action_result: ActionResult) -> tuple[int, dict[str, Any], Any]:
        try:
            status, headers, body = original(self, action_result)
        except EC2ClientError as refusal:
            return serialized(self, ActionResult(refusal))
        if isinstance(action_result.result, EC2ClientError):
            status = STATUSES.get(action_result.result.code, status)
        return status, headers, body

    return serialized
