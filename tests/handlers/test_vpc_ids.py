"""The parameter vpcIds: changes in other VPCs cause few calls, and their subnets are never left NON_COMPLIANT."""

import pytest

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import Hub
from config_rule_sandbox.server import Sandbox
from tests.support.network import Builder, Private
from tests.support.rule import Item, Rule


@pytest.fixture
def inside(builder: Builder) -> Private:
    """The VPC that vpcIds names."""
    return Private(builder)


@pytest.fixture
def outside(builder: Builder) -> Private:
    """Another VPC."""
    return Private(builder)


@pytest.fixture
def rule(sandbox: Sandbox, inside: Private) -> Rule:
    """The rule for only one VPC."""
    return Rule(sandbox, {"vpcIds": inside.vpc})


def operations(rule: Rule) -> list[str]:
    """Return the called operations of EC2 and of AWS Config's reports, in order."""
    return [call.operation for call in rule.sandbox.calls if call.service in ("ec2", "config")]


def changed(rule: Rule, resource_id: str) -> dict[str, str]:
    """Deliver the event of one changed resource, and keep only the function's own calls."""
    rule.only_for = f'"resourceId": "{resource_id}", "resourceName": null, "ARN"'
    rule.loop.notice()
    rule.sandbox.calls.clear()
    deliveries = rule.loop.deliver()
    assert [delivery.error for delivery in deliveries if delivery.error] == []
    return rule.answers([delivery.answer for delivery in deliveries])


def test_subnet_elsewhere_is_answered_from_its_own_item(rule: Rule, outside: Private) -> None:
    """A subnet never moves to another VPC, so its item is enough: no call to EC2, and one report."""
    assert changed(rule, outside.subnet) == {outside.subnet: "EXCLUDED"}
    assert operations(rule) == ["GetComplianceDetailsByResource", "PutEvaluations"]
    held = rule.held()[outside.subnet]
    assert held.compliance == "NOT_APPLICABLE"
    rule.sweep()
    assert rule.held()[outside.subnet] == held


def test_shared_subnet_elsewhere_is_its_owners(rule: Rule, outside: Private) -> None:
    """NOT_OWNED comes before EXCLUDED, and the item names the owner too."""
    item: Item = {
        "awsAccountId": "123456789012",
        "configurationItemCaptureTime": rule.now,
        "configurationItemStatus": "OK",
        "resourceType": "AWS::EC2::Subnet",
        "resourceId": outside.subnet,
        "configuration": {"vpcId": outside.vpc, "ownerId": "210987654321"},
    }
    rule.sandbox.calls.clear()
    assert rule.tell(item) == {outside.subnet: "NOT_OWNED"}
    assert operations(rule) == ["GetComplianceDetailsByResource", "PutEvaluations"]
    assert rule.tell({**item, "configuration": {"vpcId": outside.vpc}}) == {outside.subnet: "EXCLUDED"}
    assert "DescribeSubnets" in operations(rule)


@pytest.mark.parametrize("resource", ["table", "nat", "endpoint"])
def test_a_change_elsewhere_costs_one_read(rule: Rule, builder: Builder, outside: Private, resource: str) -> None:
    """Without a transit gateway attachment, no path of another VPC leads through this one."""
    endpoint = builder.load_balancer_endpoint(outside.vpc, outside.public_subnet)
    assert changed(rule, {"table": outside.table, "nat": outside.nat, "endpoint": endpoint}[resource]) == {}
    assert operations(rule) == ["DescribeTransitGatewayVpcAttachments"]


def test_egress_vpc_elsewhere_concerns_the_spokes_inside(sandbox: Sandbox) -> None:
    """If a transit gateway leads through another VPC, its tables, NAT gateways, and endpoints concern the evaluated subnets.

    Nothing is reported for subnets of the other VPC, which are still excluded.
    """
    account = Account(sandbox)
    hub = Hub(account)
    spoke = hub.join(account)
    rule = Rule(sandbox, {"vpcIds": spoke.vpc})
    rule.take_as_known()
    account.route(hub.egress_table, "198.18.0.0/15", NatGatewayId=hub.nat)
    assert set(changed(rule, hub.egress_table)) == {spoke.subnet}
    rule.take_as_known()
    endpoint = account.endpoint(hub.vpc, hub.public_table)
    assert set(changed(rule, endpoint)) == {spoke.subnet}
    rule.take_as_known()
    account.ec2.delete_nat_gateway(NatGatewayId=hub.nat)
    assert set(changed(rule, hub.nat)) == {spoke.subnet}


def test_egress_vpc_elsewhere_that_does_not_lead_back_concerns_the_spokes_inside(sandbox: Sandbox) -> None:
    """The spokes' traffic enters it by its attachment, whether or not its own tables lead to the transit gateway."""
    account = Account(sandbox)
    hub = Hub(account)
    spoke = hub.join(account)
    account.ec2.delete_route(RouteTableId=hub.public_table, DestinationCidrBlock="10.0.0.0/8")
    rule = Rule(sandbox, {"vpcIds": spoke.vpc})
    rule.take_as_known()
    account.ec2.delete_nat_gateway(NatGatewayId=hub.nat)
    assert set(changed(rule, hub.nat)) == {spoke.subnet}


def test_subnets_elsewhere_are_not_posted_for_a_change_inside(sandbox: Sandbox) -> None:
    """If an evaluated egress VPC changes, its spokes are affected, but they are excluded."""
    account = Account(sandbox)
    hub = Hub(account)
    hub.join(account)
    rule = Rule(sandbox, {"vpcIds": hub.vpc})
    rule.take_as_known()
    account.ec2.delete_nat_gateway(NatGatewayId=hub.nat)
    assert not set(changed(rule, hub.nat).values()) & {"EXCLUDED"}


def test_subnet_flagged_before_vpc_ids_was_changed_is_excluded_by_the_sweep(
    sandbox: Sandbox, inside: Private, outside: Private
) -> None:
    """The stored results of a VPC that is now excluded are replaced by NOT_APPLICABLE, once."""
    Rule(sandbox).sweep()
    narrowed = Rule(sandbox, {"vpcIds": inside.vpc})
    assert narrowed.held()[outside.subnet].compliance == "NON_COMPLIANT"
    assert narrowed.sweep() == {outside.subnet: "EXCLUDED", outside.public_subnet: "EXCLUDED"}
    assert narrowed.held()[outside.subnet].compliance == "NOT_APPLICABLE"
    assert narrowed.held()[inside.subnet].compliance == "NON_COMPLIANT"
    assert narrowed.sweep() == {}
