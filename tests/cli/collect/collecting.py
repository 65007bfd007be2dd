"""Runs `collect` in the sandbox, and builds what it reads."""

from pathlib import Path

from typer.testing import Result

from tests.support.command import invoke
from tests.support.network import ANYWHERE_IPV6, Builder, Private

REQUIRED = {
    "vpcs.json": ("ec2", "DescribeVpcs"),
    "subnets.json": ("ec2", "DescribeSubnets"),
    "route-tables.json": ("ec2", "DescribeRouteTables"),
    "vpc-endpoints.json": ("ec2", "DescribeVpcEndpoints"),
    "nat-gateways.json": ("ec2", "DescribeNatGateways"),
    "prefix-lists.json": ("ec2", "DescribePrefixLists"),
    "identity.json": ("sts", "GetCallerIdentity"),
}
OPTIONAL = {
    "network-interfaces.json": ("ec2", "DescribeNetworkInterfaces"),
    "managed-prefix-lists.json": ("ec2", "DescribeManagedPrefixLists"),
    "managed-prefix-list-entries/": ("ec2", "GetManagedPrefixListEntries"),
    "transit-gateway-attachments.json": ("ec2", "DescribeTransitGatewayAttachments"),
    "transit-gateway-vpc-attachments.json": ("ec2", "DescribeTransitGatewayVpcAttachments"),
    "transit-gateway-route-tables.json": ("ec2", "DescribeTransitGatewayRouteTables"),
    "transit-gateway-routes/": ("ec2", "SearchTransitGatewayRoutes"),
    "firewalls/": ("network-firewall", "DescribeFirewall"),
    "firewall-endpoint-associations/": ("network-firewall", "DescribeVpcEndpointAssociation"),
    "directory-buckets.json": ("s3", "ListDirectoryBuckets"),
    "shared-subnets.json": ("ram", "ListResources"),
}


def collect(folder: Path, *options: str) -> Result:
    """Run the command in this process."""
    return invoke(["collect", str(folder), *options])


def everything(builder: Builder) -> Private:
    """Build a VPC with a subnet for every kind of egress path that the sandbox supports."""
    vpc = Private(builder)
    builder.endpoint(vpc.vpc, vpc.public)
    hijacked = builder.table(vpc.vpc, NatGatewayId=vpc.nat)
    listed = builder.table(vpc.vpc, NatGatewayId=vpc.nat)
    builder.ec2.modify_vpc_endpoint(VpcEndpointId=builder.endpoint(vpc.vpc, hijacked), AddRouteTableIds=[listed])
    builder.route(hijacked, "192.0.2.1/32", NatGatewayId=vpc.nat)
    builder.route(listed, builder.prefix_list("198.51.100.0/30"), NatGatewayId=vpc.nat)
    instance = builder.ec2.run_instances(ImageId="ami-12345678", MinCount=1, MaxCount=1, SubnetId=vpc.public_subnet)
    interface = instance["Instances"][0]["NetworkInterfaces"][0]["NetworkInterfaceId"]
    builder.ec2.modify_network_interface_attribute(NetworkInterfaceId=interface, SourceDestCheck={"Value": False})
    gateway = builder.ec2.create_transit_gateway()["TransitGateway"]["TransitGatewayId"]
    builder.ec2.create_transit_gateway_vpc_attachment(TransitGatewayId=gateway, VpcId=vpc.vpc, SubnetIds=[vpc.subnet])
    gone = builder.nat_gateway(vpc.public_subnet)
    tables = [
        hijacked,
        listed,
        builder.table(vpc.vpc, NetworkInterfaceId=interface),
        builder.table(vpc.vpc, TransitGatewayId=gateway),
        builder.table(vpc.vpc, VpcEndpointId=builder.appliance_endpoint(vpc.vpc, vpc.subnet)),
        builder.table(vpc.vpc, NatGatewayId=builder.nat_gateway(vpc.subnet, ConnectivityType="private")),
        builder.table(vpc.vpc, NatGatewayId=gone),
    ]
    for table in tables:
        builder.subnet(vpc.vpc, table)
    firewalls = builder.sandbox.client("network-firewall")
    policy = f"arn:aws:network-firewall:us-east-1:{builder.sandbox.account_id}:firewall-policy/inspect"
    firewall = firewalls.create_firewall(
        FirewallName="app", FirewallPolicyArn=policy, VpcId=vpc.vpc, SubnetMappings=[{"SubnetId": vpc.subnet}]
    )["Firewall"]["FirewallArn"]
    firewalls.create_vpc_endpoint_association(
        FirewallArn=firewall, VpcId=vpc.vpc, SubnetMapping={"SubnetId": vpc.public_subnet}
    )
    builder.ec2.delete_nat_gateway(NatGatewayId=gone)
    builder.tag(builder.subnet(vpc.vpc, vpc.table), "express-path:exclude")
    builder.dual_stack(vpc.vpc, builder.subnet(vpc.vpc, (dual := builder.table(vpc.vpc))))
    egress = builder.ec2.create_egress_only_internet_gateway(VpcId=vpc.vpc)["EgressOnlyInternetGateway"]
    builder.route(dual, ANYWHERE_IPV6, EgressOnlyInternetGatewayId=egress["EgressOnlyInternetGatewayId"])
    builder.subnet(vpc.vpc)
    return vpc
