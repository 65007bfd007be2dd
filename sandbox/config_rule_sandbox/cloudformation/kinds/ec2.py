"""Resource types of EC2."""

from config_rule_sandbox.cloudformation.kinds.kind import calling

KINDS = {
    "AWS::EC2::EIP": calling("ec2", "allocate_address", "AllocationId", "release_address"),
    "AWS::EC2::InternetGateway": calling(
        "ec2", "create_internet_gateway", "InternetGatewayId", "delete_internet_gateway"
    ),
    "AWS::EC2::NatGateway": calling("ec2", "create_nat_gateway", "NatGatewayId", "delete_nat_gateway"),
    "AWS::EC2::PrefixList": calling("ec2", "create_managed_prefix_list", "PrefixListId", "delete_managed_prefix_list"),
    "AWS::EC2::Route": calling("ec2", "create_route", ""),
    "AWS::EC2::RouteTable": calling("ec2", "create_route_table", "RouteTableId", "delete_route_table"),
    "AWS::EC2::Subnet": calling("ec2", "create_subnet", "SubnetId", "delete_subnet"),
    "AWS::EC2::SubnetRouteTableAssociation": calling(
        "ec2", "associate_route_table", "AssociationId", "disassociate_route_table"
    ),
    "AWS::EC2::VPC": calling("ec2", "create_vpc", "VpcId", "delete_vpc"),
    "AWS::EC2::VPCGatewayAttachment": calling("ec2", "attach_internet_gateway", "", "detach_internet_gateway"),
}
