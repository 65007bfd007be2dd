"""AssociateRouteTable and its opposite (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssociateRouteTable.html)."""

from typing import Any

import pytest

from sandbox.dynamic import Client
from sandbox.refusals import refused


@pytest.fixture
def subnet_id(ec2: Client, vpc_id: str) -> str:
    """Create a subnet in the VPC and return its id."""
    return str(ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"])


@pytest.fixture
def gateway_id(ec2: Client, vpc_id: str) -> str:
    """Attach an internet gateway to the VPC and return its id."""
    made = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=made, VpcId=vpc_id)
    return str(made)


def associations(ec2: Client, table_id: str) -> list[dict[str, Any]]:
    """Return the associations of a table."""
    (table,) = ec2.describe_route_tables(RouteTableIds=[table_id])["RouteTables"]
    found: list[dict[str, Any]] = table["Associations"]
    return found


def test_the_same_table_again_changes_nothing(ec2: Client, table_id: str, subnet_id: str) -> None:
    """Associating a subnet with its own table again returns the existing association."""
    made = {ec2.associate_route_table(RouteTableId=table_id, SubnetId=subnet_id)["AssociationId"] for _ in range(2)}
    assert [item["RouteTableAssociationId"] for item in associations(ec2, table_id)] == list(made)


def test_a_subnet_has_one_table(ec2: Client, vpc_id: str, table_id: str, subnet_id: str) -> None:
    """A subnet with an explicit association cannot get a second one: Resource.AlreadyAssociated.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
    """
    ec2.associate_route_table(RouteTableId=table_id, SubnetId=subnet_id)
    other = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    code = refused(ec2.associate_route_table, RouteTableId=other, SubnetId=subnet_id)
    assert code == "Resource.AlreadyAssociated"
    assert associations(ec2, other) == []


def test_a_subnet_of_another_vpc_is_refused(ec2: Client, table_id: str) -> None:
    """The table and the subnet must belong to the same VPC."""
    other = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    foreign = ec2.create_subnet(VpcId=other, CidrBlock="10.1.0.0/24")["Subnet"]["SubnetId"]
    code = refused(ec2.associate_route_table, RouteTableId=table_id, SubnetId=foreign)
    assert code == "InvalidParameterValue"


def test_edge_association(ec2: Client, table_id: str, gateway_id: str) -> None:
    """An edge association names the gateway and no subnet, and the filter association.gateway-id finds it.

    https://docs.aws.amazon.com/vpc/latest/userguide/gateway-route-tables.html
    """
    ec2.associate_route_table(RouteTableId=table_id, GatewayId=gateway_id)
    (association,) = associations(ec2, table_id)
    assert (association["GatewayId"], association["Main"]) == (gateway_id, False)
    assert "SubnetId" not in association
    by_gateway = [{"Name": "association.gateway-id", "Values": [gateway_id]}]
    found = ec2.describe_route_tables(Filters=by_gateway)["RouteTables"]
    assert [table["RouteTableId"] for table in found] == [table_id]
    assert (
        ec2.describe_route_tables(Filters=[{"Name": "association.subnet-id", "Values": [gateway_id]}])["RouteTables"]
        == []
    )


def test_a_gateway_that_is_not_attached_is_refused(ec2: Client, table_id: str) -> None:
    """The gateway must be attached to the table's VPC."""
    loose = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    code = refused(ec2.associate_route_table, RouteTableId=table_id, GatewayId=loose)
    assert code == "InvalidParameterValue"


def test_edge_association_with_a_virtual_private_gateway(ec2: Client, vpc_id: str, table_id: str) -> None:
    """A virtual private gateway that is attached to the VPC can also have an edge association."""
    gateway_id = ec2.create_vpn_gateway(Type="ipsec.1")["VpnGateway"]["VpnGatewayId"]
    assert refused(ec2.associate_route_table, RouteTableId=table_id, GatewayId=gateway_id) == "InvalidParameterValue"
    ec2.attach_vpn_gateway(VpnGatewayId=gateway_id, VpcId=vpc_id)
    ec2.associate_route_table(RouteTableId=table_id, GatewayId=gateway_id)
    assert associations(ec2, table_id)[0]["GatewayId"] == gateway_id


def test_something_must_be_associated(ec2: Client, table_id: str) -> None:
    """A request without a subnet or a gateway is rejected."""
    assert refused(ec2.associate_route_table, RouteTableId=table_id) == "MissingParameter"


def test_the_main_association_stays(ec2: Client, vpc_id: str) -> None:
    """The main association cannot be removed, only replaced (https://github.com/ansible/ansible/issues/25521)."""
    main = [{"Name": "vpc-id", "Values": [vpc_id]}, {"Name": "association.main", "Values": ["true"]}]
    (table,) = ec2.describe_route_tables(Filters=main)["RouteTables"]
    association_id = table["Associations"][0]["RouteTableAssociationId"]
    assert refused(ec2.disassociate_route_table, AssociationId=association_id) == "InvalidParameterValue"
    new = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    ec2.replace_route_table_association(AssociationId=association_id, RouteTableId=new)
    assert [item["RouteTableId"] for item in ec2.describe_route_tables(Filters=main)["RouteTables"]] == [new]


def test_a_subnet_returns_to_the_main_table(ec2: Client, table_id: str, subnet_id: str) -> None:
    """After a disassociation the table has no association with the subnet."""
    made = ec2.associate_route_table(RouteTableId=table_id, SubnetId=subnet_id)["AssociationId"]
    ec2.disassociate_route_table(AssociationId=made)
    assert associations(ec2, table_id) == []


def test_a_deleted_subnet_leaves_its_table(ec2: Client, table_id: str, subnet_id: str) -> None:
    """Deleting a subnet removes its association, and then the table can be deleted."""
    ec2.associate_route_table(RouteTableId=table_id, SubnetId=subnet_id)
    ec2.delete_subnet(SubnetId=subnet_id)
    assert associations(ec2, table_id) == []
    ec2.delete_route_table(RouteTableId=table_id)


def test_a_main_table_cannot_be_deleted(ec2: Client, vpc_id: str) -> None:
    """The main route table cannot be deleted: DependencyViolation.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteRouteTable.html
    """
    main = [{"Name": "vpc-id", "Values": [vpc_id]}, {"Name": "association.main", "Values": ["true"]}]
    (table,) = ec2.describe_route_tables(Filters=main)["RouteTables"]
    assert refused(ec2.delete_route_table, RouteTableId=table["RouteTableId"]) == "DependencyViolation"
    ec2.delete_vpc(VpcId=vpc_id)  # which takes it along
    assert ec2.describe_route_tables(Filters=main)["RouteTables"] == []


def test_a_subnet_in_use_cannot_be_deleted(ec2: Client, subnet_id: str) -> None:
    """A subnet cannot be deleted before its NAT gateway: DependencyViolation.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteSubnet.html
    """
    made = ec2.create_nat_gateway(SubnetId=subnet_id, ConnectivityType="private")["NatGateway"]["NatGatewayId"]
    assert refused(ec2.delete_subnet, SubnetId=subnet_id) == "DependencyViolation"
    ec2.delete_nat_gateway(NatGatewayId=made)
    ec2.delete_subnet(SubnetId=subnet_id)
