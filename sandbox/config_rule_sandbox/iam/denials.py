"""Denials of enforced permissions, answered as each service of AWS answers them."""

from moto.core.exceptions import AccessDeniedError
from moto.core.request import determine_request_protocol
from moto.core.responses import BaseResponse
from moto.core.utils import get_service_model

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.faults import denial
from config_rule_sandbox.patching.patches import Patches


def apply(patches: Patches) -> None:
    """Give denials the error code and the protocol of their service.

    moto answers all of them as AccessDenied in XML, also those of EC2 (UnauthorizedOperation) and of services that
    speak JSON (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html,
    https://docs.aws.amazon.com/config/latest/APIReference/CommonErrors.html).
    """
    patches.wrap(BaseResponse, "_authenticate_and_authorize_normal_action", _authorizing)


def _authorizing(original: Moto) -> Moto:
    """Give the error of a denied request the code, status, and protocol of its service."""

    def authorize(self: Moto, resource: str = "*") -> None:
        try:
            original(self, resource)
        except AccessDeniedError as refusal:
            service = self.boto3_service_name
            protocol = determine_request_protocol(get_service_model(service), self.headers.get("Content-Type"))
            fault = denial(service, refusal.message)
            refusal.code, refusal.description = fault.status, fault.render(protocol)[1].decode()
            raise

    return authorize
