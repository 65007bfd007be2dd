"""Resource types of EC2."""

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, Properties, calling, deleting
from config_rule_sandbox.cloudformation.values import Created

DESTINATIONS = ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")


def create_route(account: Account, _name: str, properties: Properties) -> Created:
    """Create a route. Its ID has its table and its destination, which AWS's schema of the type names."""
    account.call("ec2", "create_route", **properties)
    destination = next(properties[name] for name in DESTINATIONS if name in properties)
    return Created(compound(properties["RouteTableId"], destination))


def delete_route(account: Account, _physical_id: str, properties: Properties) -> None:
    """Delete a route by its table and its destination."""
    named = {name: properties[name] for name in ("RouteTableId", *DESTINATIONS) if name in properties}
    account.call("ec2", "delete_route", **named)


def create_transit_gateway(account: Account, _name: str, properties: Properties) -> Created:
    """Create a transit gateway; every property but the description and the tags is an option of the call."""
    tags = properties.pop("Tags", [])
    described = {name: properties.pop(name) for name in ("Description",) if name in properties}
    made = account.call("ec2", "create_transit_gateway", Options=properties, **described)["TransitGateway"]
    gateway_id = made["TransitGatewayId"]
    _tag(account, gateway_id, tags)
    return Created(gateway_id, {"Id": gateway_id, "TransitGatewayArn": made["TransitGatewayArn"]})


def attach_vpc(account: Account, _name: str, properties: Properties) -> Created:
    """Attach a VPC to a transit gateway, and wait while the attachment is pending.

    A resource exists for CloudFormation when it can be used:
    https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract.html
    """
    tags = properties.pop("Tags", [])
    made = account.call("ec2", "create_transit_gateway_vpc_attachment", **properties)["TransitGatewayVpcAttachment"]
    attachment_id = made["TransitGatewayAttachmentId"]
    _tag(account, attachment_id, tags)
    while made["State"] == "pending":
        answer = account.call(
            "ec2", "describe_transit_gateway_vpc_attachments", TransitGatewayAttachmentIds=[attachment_id]
        )
        [made] = answer["TransitGatewayVpcAttachments"]
    return Created(attachment_id, {"Id": attachment_id})


def relating(create: str, delete: str, *key: str) -> Kind:
    """Return a type without an ID of its own: the properties of its key are its ID, and what the call that deletes it takes."""

    def make(account: Account, _name: str, properties: Properties) -> Created:
        account.call("ec2", create, **properties)
        return Created(compound(*(properties[name] for name in key)))

    def remove(account: Account, _physical_id: str, properties: Properties) -> None:
        account.call("ec2", delete, **{name: properties[name] for name in key})

    return Kind(make, remove)


def compound(*parts: str) -> str:
    """Return the ID of a resource whose schema names several properties as its primary identifier.

    https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-identifier.html
    """
    return "|".join(parts)


def _tag(account: Account, resource_id: str, tags: list[dict[str, str]]) -> None:
    if tags:
        account.call("ec2", "create_tags", Resources=[resource_id], Tags=tags)


_ATTACHMENT = Kind(attach_vpc, deleting("ec2", "delete_transit_gateway_vpc_attachment", "TransitGatewayAttachmentId"))
KINDS = {
    "AWS::EC2::EIP": calling("ec2", "allocate_address", "AllocationId", "release_address"),
    "AWS::EC2::InternetGateway": calling(
        "ec2", "create_internet_gateway", "InternetGatewayId", "delete_internet_gateway"
    ),
    "AWS::EC2::NatGateway": calling("ec2", "create_nat_gateway", "NatGatewayId", "delete_nat_gateway"),
    "AWS::EC2::PrefixList": calling("ec2", "create_managed_prefix_list", "PrefixListId", "delete_managed_prefix_list"),
    "AWS::EC2::Route": Kind(create_route, delete_route),
    "AWS::EC2::RouteTable": calling("ec2", "create_route_table", "RouteTableId", "delete_route_table"),
    "AWS::EC2::Subnet": calling("ec2", "create_subnet", "SubnetId", "delete_subnet"),
    "AWS::EC2::SubnetRouteTableAssociation": calling(
        "ec2", "associate_route_table", "AssociationId", "disassociate_route_table"
    ),
    "AWS::EC2::TransitGateway": Kind(
        create_transit_gateway, deleting("ec2", "delete_transit_gateway", "TransitGatewayId")
    ),
    "AWS::EC2::TransitGatewayAttachment": _ATTACHMENT,
    "AWS::EC2::TransitGatewayRoute": relating(
        "create_transit_gateway_route",
        "delete_transit_gateway_route",
        "TransitGatewayRouteTableId",
        "DestinationCidrBlock",
    ),
    "AWS::EC2::TransitGatewayRouteTable": calling(
        "ec2",
        "create_transit_gateway_route_table",
        "TransitGatewayRouteTableId",
        "delete_transit_gateway_route_table",
    ),
    "AWS::EC2::TransitGatewayRouteTableAssociation": relating(
        "associate_transit_gateway_route_table",
        "disassociate_transit_gateway_route_table",
        "TransitGatewayRouteTableId",
        "TransitGatewayAttachmentId",
    ),
    "AWS::EC2::TransitGatewayRouteTablePropagation": relating(
        "enable_transit_gateway_route_table_propagation",
        "disable_transit_gateway_route_table_propagation",
        "TransitGatewayRouteTableId",
        "TransitGatewayAttachmentId",
    ),
    "AWS::EC2::TransitGatewayVpcAttachment": _ATTACHMENT,
    "AWS::EC2::VPC": calling("ec2", "create_vpc", "VpcId", "delete_vpc"),
    "AWS::EC2::VPCGatewayAttachment": calling("ec2", "attach_internet_gateway", "", "detach_internet_gateway"),
}
"""https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_EC2.html. What creates and deletes each resource,
and its ID, is in AWS's schema of its type, which cfn-lint contains."""
