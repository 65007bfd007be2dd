"""What is true of every EC2 operation: dry runs, HTTP statuses of errors, one change at a time."""

from threading import RLock
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import DryRunClientError, EC2ClientError
from moto.ec2.responses import EC2Response

from sandbox.dynamic import Moto
from sandbox.ec2.errors import STATUSES
from sandbox.ec2.knobs import Knobs
from sandbox.patches import Patches

_one_at_a_time = RLock()


def apply(patches: Patches, knobs: Knobs) -> None:
    """Correct every operation of EC2.

    DryRun: a permitted request is answered with DryRunOperation and changes nothing
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonParameters.html).
    One at a time: moto changes its dictionaries without a lock; AWS answers concurrent requests consistently.
    """
    del knobs
    patches.wrap(EC2Response, "call_action", _call_action)
    patches.wrap(EC2Response, "serialized", _serialized)


def _call_action(original: Moto) -> Moto:
    def call_action(self: Moto) -> Moto:
        with _one_at_a_time:
            if not self._get_param("DryRun", if_none=False):
                return original(self)
            self._authenticate_and_authorize_normal_action()
            return self.serialized(ActionResult(DryRunClientError()))

    return call_action


def _serialized(original: Moto) -> Moto:
    def serialized(self: Moto, action_result: ActionResult) -> tuple[int, dict[str, Any], Any]:
        try:
            status, headers, body = original(self, action_result)
        except EC2ClientError as refusal:
            return serialized(self, ActionResult(refusal))
        if isinstance(action_result.result, EC2ClientError):
            status = STATUSES.get(action_result.result.code, status)
        return status, headers, body

    return serialized
