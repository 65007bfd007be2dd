"""VPC attachments of Cloud WAN core networks, which moto lacks."""

from collections.abc import Callable
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models import ec2_backends
from moto.moto_api._internal import mock_random
from moto.networkmanager import urls
from moto.networkmanager.responses import NetworkManagerResponse

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.patching.patches import Patches


def apply(patches: Patches) -> None:
    """Let moto answer CreateVpcAttachment, ListAttachments, and GetVpcAttachment until `patches` are undone.

    https://docs.aws.amazon.com/networkmanager/latest/APIReference/API_CreateVpcAttachment.html
    """
    dispatch = NetworkManagerResponse.dispatch
    paths = {"{0}/attachments$": dispatch, "{0}/vpc-attachments$": dispatch}
    paths["{0}/vpc-attachments/(?P<attachmentid>[^/.]+)$"] = dispatch
    patches.set(urls, "url_paths", {**urls.url_paths, **paths})
    for name, operation in OPERATIONS.items():
        patches.set(NetworkManagerResponse, name, operation)


def _create(self: Moto) -> ActionResult:
    """Attach a VPC of the caller's account by some of its subnets. The attachment is available at once."""
    network = self.networkmanager_backend.get_core_network(self._get_param("CoreNetworkId"))
    vpc_arn = self._get_param("VpcArn")
    attachment = {
        "CoreNetworkId": network.core_network_id,
        "CoreNetworkArn": network.core_network_arn,
        "AttachmentId": f"attachment-{mock_random.get_random_hex(17)}",
        "OwnerAccountId": self.current_account,
        "AttachmentType": "VPC",
        "State": "AVAILABLE",
        "EdgeLocation": vpc_arn.split(":")[3],
        "ResourceArn": vpc_arn,
    }
    ec2_backends[self.current_account][attachment["EdgeLocation"]].get_vpc(vpc_arn.rpartition("/")[2])
    answer = {"Attachment": attachment, "SubnetArns": self._get_param("SubnetArns")}
    _attachments(self)[attachment["AttachmentId"]] = answer
    return ActionResult({"VpcAttachment": answer})


def _list(self: Moto) -> ActionResult:
    """List the attachments that match every parameter which is given."""
    names = ("CoreNetworkId", "AttachmentType", "EdgeLocation", "State")
    wanted = {name: self._get_param(name) for name in names if self._get_param(name)}
    found = [answer["Attachment"] for answer in _attachments(self).values()]
    return ActionResult({"Attachments": [row for row in found if wanted.items() <= row.items()]})


def _get(self: Moto) -> ActionResult:
    """Describe one attachment."""
    attachment_id = self.path.rpartition("/")[2]
    if attachment_id not in _attachments(self):
        raise ApiError("ResourceNotFoundException", f"there is no attachment {attachment_id}")
    return ActionResult({"VpcAttachment": _attachments(self)[attachment_id]})


def _attachments(self: Moto) -> dict[str, Any]:
    """Return the attachments by their ids, each with its subnets."""
    found: dict[str, Any] = self.networkmanager_backend.__dict__.setdefault("vpc_attachments", {})
    return found


OPERATIONS: dict[str, Callable[[Moto], ActionResult]] = {
    "create_vpc_attachment": _create,
    "list_attachments": _list,
    "get_vpc_attachment": _get,
}
"""The operations, by the names of their methods."""
