"""Policy tables of transit gateways (https://docs.aws.amazon.com/vpc/latest/tgw/tgw-policy-tables-concepts.html)."""

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import Hub, Spoke
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox


def test_policy_table_in_place_of_a_route_table(sandbox: Sandbox) -> None:
    """Its entries are sorted, a criterion that is left out matches everything, and another account sees no such table."""
    hub = Hub(Account(sandbox))
    spoke = Spoke(hub.account, hub.gateway, ("a",))
    policy_id = hub.decide_by_policy(spoke.attachment, {"Protocol": "6"}, {})
    ec2 = sandbox.client("ec2")
    found = ec2.get_transit_gateway_policy_table_entries(TransitGatewayPolicyTableId=policy_id)
    first, second = found["TransitGatewayPolicyTableEntries"]
    assert (first["PolicyRuleNumber"], first["PolicyRule"]["Protocol"], first["State"]) == ("1", "6", "active")
    assert set(second["PolicyRule"].values()) == {"*"}
    by_id = {"TransitGatewayAttachmentIds": [spoke.attachment]}
    [attachment] = ec2.describe_transit_gateway_attachments(**by_id)["TransitGatewayAttachments"]
    assert attachment["Association"] == {"TransitGatewayPolicyTableId": policy_id, "State": "associated"}
    table = {"TransitGatewayRouteTableId": hub.spokes_table, "TransitGatewayAttachmentId": spoke.attachment}
    assert refused(ec2.associate_transit_gateway_route_table, **table) == "Resource.AlreadyAssociated"
    other = Account(sandbox, "210987654321").ec2
    wanted = {"TransitGatewayPolicyTableId": policy_id}
    code = refused(other.get_transit_gateway_policy_table_entries, **wanted)
    assert code == "InvalidTransitGatewayPolicyTableId.NotFound"
