"""Try each read that a scan makes, with the smallest page that AWS allows. The result is ignored."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from express_path.adapters.aws import Aws, calling, pages
from express_path.domain.network.snapshot import is_express_service
from express_path.errors import ApiError


@dataclass(frozen=True, slots=True)
class Probe:
    """A read: the IAM action that it needs, what it shows a scan, and a trial, which returns why it was not tried."""

    action: str
    shows: str
    trial: Callable[[Aws], str]


def _read_page(operation: str, aws: Aws) -> str:
    """Read the smallest page of an EC2 call (botocore model: ec2)."""
    name = "".join(part.capitalize() for part in operation.split("_"))
    with calling(f"ec2:{name}"):
        getattr(aws.ec2, operation)(MaxResults=5)
    return ""


def _entries(aws: Aws) -> str:
    """Read the entries of the S3 Express prefix list, or of any other in the Region."""
    lists = pages(aws.ec2, "ec2", "describe_prefix_lists", "PrefixLists")
    found = sorted(lists, key=lambda row: not is_express_service(row["PrefixListName"], aws.region))
    if not found:
        return "there is no prefix list to try it with"
    with calling("ec2:GetManagedPrefixListEntries"):
        aws.ec2.get_managed_prefix_list_entries(PrefixListId=found[0]["PrefixListId"], MaxResults=1)
    return ""


def _describe_first(kind: str, aws: Aws) -> str:
    """List the resources of one kind of Network Firewall, and describe the first one."""
    client = aws.client("network-firewall")
    name = "".join(part.capitalize() for part in kind.split("_"))
    with calling(f"network-firewall:List{name}s"):
        found = getattr(client, f"list_{kind}s")(MaxResults=1)[f"{name}s"]
    if not found:
        return f"there is no {kind.replace('_', ' ').replace('vpc', 'VPC')} to try it with"
    with calling(f"network-firewall:Describe{name}"):
        getattr(client, f"describe_{kind}")(**{f"{name}Arn": found[0][f"{name}Arn"]})
    return ""


def _routes(aws: Aws) -> str:
    """Search a transit gateway's route table, if the account has one."""
    limits = {"MaxItems": 100}
    operation, field = "describe_transit_gateway_attachments", "TransitGatewayAttachments"
    found = pages(aws.ec2, "ec2", operation, field, PaginationConfig=limits)
    attachments: list[Mapping[str, Mapping[str, str]]] = list(found)
    tables = [row["Association"]["TransitGatewayRouteTableId"] for row in attachments if row.get("Association")]
    if not tables:
        return "there is no transit gateway to try it with"
    try:
        with calling("ec2:SearchTransitGatewayRoutes"):
            aws.ec2.search_transit_gateway_routes(
                TransitGatewayRouteTableId=tables[0], Filters=[{"Name": "state", "Values": ["active"]}], MaxResults=5
            )
    except ApiError as error:
        if not error.code.endswith(".NotFound"):
            raise
        return "the transit gateway belongs to another account; networkRoleArn can name a role there"
    return ""


def _buckets(aws: Aws) -> str:
    with calling("s3express:ListAllMyDirectoryBuckets"):
        aws.s3.list_directory_buckets(MaxDirectoryBuckets=1)
    return ""


def _shared(aws: Aws) -> str:
    with calling("ram:ListResources"):
        aws.ram.list_resources(resourceOwner="SELF", resourceType="ec2:Subnet", maxResults=1)
    return ""


REQUIRED = (
    Probe("ec2:DescribeSubnets", "which subnets there are", partial(_read_page, "describe_subnets")),
    Probe("ec2:DescribeRouteTables", "where their routes point to", partial(_read_page, "describe_route_tables")),
    Probe("ec2:DescribeVpcs", "which VPCs there are, and their tags", partial(_read_page, "describe_vpcs")),
    Probe("ec2:DescribeVpcEndpoints", "which endpoints are there", partial(_read_page, "describe_vpc_endpoints")),
    Probe("ec2:DescribeNatGateways", "which NAT gateways are there", partial(_read_page, "describe_nat_gateways")),
    Probe("ec2:DescribePrefixLists", "which addresses S3 Express has", partial(_read_page, "describe_prefix_lists")),
)
"""Reads without which a scan may fail (adapters/ec2_snapshot.py, prefix_list_reader.py)."""
OPTIONAL = (
    Probe(
        "ec2:DescribeManagedPrefixLists",
        "which customer prefix lists and IPv6 lists there are, if any",
        partial(_read_page, "describe_managed_prefix_lists"),
    ),
    Probe("ec2:GetManagedPrefixListEntries", "what customer prefix lists and IPv6 lists contain", _entries),
    Probe(
        "ec2:DescribeNetworkInterfaces",
        "which interfaces forward: NAT instances",
        partial(_read_page, "describe_network_interfaces"),
    ),
    Probe(
        "ec2:DescribeInstances",
        "which instance a NAT instance is",
        partial(_read_page, "describe_instances"),
    ),
    Probe(
        "ec2:DescribeInstanceTypes",
        "how much a NAT instance can carry",
        partial(_read_page, "describe_instance_types"),
    ),
    Probe(
        "ec2:DescribeTransitGatewayAttachments",
        "what transit gateways are attached to",
        partial(_read_page, "describe_transit_gateway_attachments"),
    ),
    Probe(
        "ec2:DescribeTransitGatewayVpcAttachments",
        "which subnets transit gateways use",
        partial(_read_page, "describe_transit_gateway_vpc_attachments"),
    ),
    Probe(
        "network-firewall:DescribeFirewall",
        "which Gateway Load Balancer endpoints belong to a firewall, and whether it translates",
        partial(_describe_first, "firewall"),
    ),
    Probe(
        "network-firewall:DescribeVpcEndpointAssociation",
        "which endpoints a firewall has in other VPCs",
        partial(_describe_first, "vpc_endpoint_association"),
    ),
    Probe("ec2:SearchTransitGatewayRoutes", "where transit gateways route traffic to", _routes),
    Probe(
        "s3express:ListAllMyDirectoryBuckets",
        "whether there are directory buckets, for scope=DIRECTORY_BUCKETS",
        _buckets,
    ),
    Probe("ram:ListResources", "which subnets are shared with other accounts, for scope=DIRECTORY_BUCKETS", _shared),
)
"""Reads without which a scan counts what they show as unknown."""
