"""Changes of route tables further along a path, and items of other accounts or Regions."""

import pytest

from express_path.errors import RecordError
from tests.support.network import Builder, Private
from tests.support.rule import Rule


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """A private and a public subnet."""
    return Private(builder)


def test_appliances_route_table_concerns_the_subnets_behind_it(rule: Rule, builder: Builder, vpc: Private) -> None:
    """If a path crosses an appliance, a change of the appliance's route table re-evaluates the subnets behind it."""
    firewall = builder.appliance_endpoint(vpc.vpc, vpc.subnet)
    behind = builder.subnet(vpc.vpc, builder.table(vpc.vpc, VpcEndpointId=firewall))
    rule.sweep()
    assert rule.held()[behind].reason == "NAT_BEHIND_APPLIANCE"
    rule.take_as_known()
    builder.ec2.delete_route(RouteTableId=vpc.table, DestinationCidrBlock="0.0.0.0/0")
    assert behind in rule.changes(of=vpc.table)
    assert rule.held()[behind].reason == "UNRESOLVED_EGRESS"


def test_an_appliances_subnet_that_falls_back_to_the_main_table_concerns_those_behind_it(
    rule: Rule, builder: Builder, vpc: Private
) -> None:
    """Only the previous table has an item: the main table, which governs the subnet now, did not change."""
    firewall = builder.appliance_endpoint(vpc.vpc, vpc.subnet)
    behind = builder.subnet(vpc.vpc, builder.table(vpc.vpc, VpcEndpointId=firewall))
    rule.sweep()
    assert rule.held()[behind].reason == "NAT_BEHIND_APPLIANCE"
    rule.take_as_known()
    [table] = builder.ec2.describe_route_tables(RouteTableIds=[vpc.table])["RouteTables"]
    [association] = table["Associations"]
    builder.ec2.disassociate_route_table(AssociationId=association["RouteTableAssociationId"])
    assert behind in rule.changes(of=vpc.table)
    assert rule.held()[behind].reason == "UNRESOLVED_EGRESS"


def test_nat_instances_route_table_concerns_the_subnets_behind_it(rule: Rule, builder: Builder, vpc: Private) -> None:
    """The same applies to an instance that forwards."""
    run = builder.ec2.run_instances(ImageId="ami-12345678", MinCount=1, MaxCount=1, SubnetId=vpc.public_subnet)
    interface = run["Instances"][0]["NetworkInterfaces"][0]["NetworkInterfaceId"]
    builder.ec2.modify_network_interface_attribute(NetworkInterfaceId=interface, SourceDestCheck={"Value": False})
    behind = builder.subnet(vpc.vpc, builder.table(vpc.vpc, NetworkInterfaceId=interface))
    rule.sweep()
    assert rule.held()[behind].reason == "NAT_INSTANCE"
    rule.take_as_known()
    builder.ec2.replace_route(RouteTableId=vpc.public, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=vpc.nat)
    assert behind in rule.changes(of=vpc.public)
    assert rule.held()[behind].reason == "NAT_BEHIND_APPLIANCE"


@pytest.mark.parametrize("change", [{"awsRegion": "eu-west-1"}, {"awsAccountId": "210987654321"}])
def test_item_of_elsewhere_is_refused(rule: Rule, vpc: Private, change: dict[str, str]) -> None:
    """An item of another Region or account is not evaluated, because its subnet would look deleted here."""
    item = {
        "awsAccountId": "123456789012",
        "awsRegion": "us-east-1",
        "configurationItemCaptureTime": rule.now,
        "configurationItemStatus": "OK",
        "resourceType": "AWS::EC2::Subnet",
        "resourceId": "subnet-0",
        "configuration": {"vpcId": vpc.vpc},
    }
    with pytest.raises(RecordError):
        rule.tell(item | change)
    assert rule.held() == {}
