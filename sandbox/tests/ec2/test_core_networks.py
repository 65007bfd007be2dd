"""VPC attachments of core networks (https://docs.aws.amazon.com/network-manager/latest/cloudwan/cloudwan-vpc-attachment.html)."""

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import attach_to_core_network
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox


def test_attachment_is_listed_and_described(sandbox: Sandbox, vpc_id: str, subnet_id: str) -> None:
    """A list can be limited to a core network and a Region; only GetVpcAttachment shows the subnets."""
    manager = sandbox.client("networkmanager")
    network_arn, attachment_id = attach_to_core_network(Account(sandbox), vpc_id, subnet_id)
    found = manager.get_vpc_attachment(AttachmentId=attachment_id)["VpcAttachment"]
    assert [arn.rpartition("/")[2] for arn in found["SubnetArns"]] == [subnet_id]
    assert (found["Attachment"]["CoreNetworkArn"], found["Attachment"]["State"]) == (network_arn, "AVAILABLE")
    network_id = network_arn.rpartition("/")[2]
    assert manager.list_attachments(CoreNetworkId=network_id)["Attachments"] == [found["Attachment"]]
    assert manager.list_attachments(CoreNetworkId=network_id, EdgeLocation="eu-west-1")["Attachments"] == []
    assert refused(manager.get_vpc_attachment, AttachmentId="attachment-0") == "ResourceNotFoundException"
