"""Connect attachments of transit gateways (https://docs.aws.amazon.com/vpc/latest/tgw/tgw-connect.html)."""

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import Hub, connect_over
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox


def test_connect_attachment_names_its_transport(sandbox: Sandbox) -> None:
    """It is an attachment of its own, to which routes may lead, and runs over that of a VPC."""
    hub = Hub(Account(sandbox))
    connect_id, ec2 = connect_over(hub.account, hub.attachment), sandbox.client("ec2")
    [found] = ec2.describe_transit_gateway_connects()["TransitGatewayConnects"]
    assert (found["TransitGatewayAttachmentId"], found["TransportTransitGatewayAttachmentId"]) == (
        connect_id,
        hub.attachment,
    )
    assert (found["TransitGatewayId"], found["Options"]) == (hub.gateway, {"Protocol": "gre"})
    hub.lead("192.0.2.0/24", connect_id)
    answer = ec2.search_transit_gateway_routes(
        TransitGatewayRouteTableId=hub.spokes_table,
        Filters=[{"Name": "attachment.resource-type", "Values": ["connect"]}],
    )
    [attachment] = answer["Routes"][0]["TransitGatewayAttachments"]
    assert (attachment["TransitGatewayAttachmentId"], attachment["ResourceType"]) == (connect_id, "connect")
    over = {"TransportTransitGatewayAttachmentId": connect_id, "Options": {"Protocol": "gre"}}
    assert refused(ec2.create_transit_gateway_connect, **over) == "InvalidParameterValue"
