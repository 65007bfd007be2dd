"""Which permissions the caller of a check-up has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from botocore import xform_name

from express_path.adapters.aws import Aws, calling, pages
from express_path.adapters.roles import assuming
from express_path.domain.network.snapshot import is_express_service
from express_path.errors import ApiError, ExpressPathError
from express_path_cli.aws.sessions import offers_s3_express
from express_path_cli.doctor.check_context import CheckContext, needed
from express_path_cli.installation.checks import CheckResult, fail, ok, unknown, warn
from express_path_cli.terminal.errors import hint_for


@dataclass(frozen=True, slots=True)
class Probe:
    """A read: the IAM action that it needs, what it shows a scan, and a trial, which returns why it was not tried.

    Without a trial, it is a call of EC2 of that name, and the smallest page is read (botocore model: ec2).
    """

    action: str
    shows: str
    trial: Callable[[Aws], str] | None = None

    def try_it(self, aws: Aws) -> str:
        """Make the call, or return why it was not tried. Raise ApiError."""
        if self.trial:
            return self.trial(aws)
        with calling(self.action):
            getattr(aws.ec2, xform_name(self.action.removeprefix("ec2:")))(MaxResults=5)
        return ""


def _entries(aws: Aws) -> str:
    """Read the entries of the S3 Express prefix list, or of any other in the Region."""
    lists = pages(aws.ec2, "ec2", "describe_prefix_lists", "PrefixLists")
    prefix_lists = sorted(lists, key=lambda row: not is_express_service(row["PrefixListName"], aws.region))
    if not prefix_lists:
        return "there is no prefix list to try it with"
    with calling("ec2:GetManagedPrefixListEntries"):
        aws.ec2.get_managed_prefix_list_entries(PrefixListId=prefix_lists[0]["PrefixListId"], MaxResults=1)
    return ""


def _describe_first(kind: str, aws: Aws) -> str:
    """List the resources of one kind of Network Firewall, and describe the first one."""
    client = aws.client("network-firewall")
    name = "".join(part.capitalize() for part in kind.split("_"))
    with calling(f"network-firewall:List{name}s"):
        listed = getattr(client, f"list_{kind}s")(MaxResults=1)[f"{name}s"]
    if not listed:
        return f"there is no {kind.replace('_', ' ').replace('vpc', 'VPC')} to try it with"
    with calling(f"network-firewall:Describe{name}"):
        getattr(client, f"describe_{kind}")(**{f"{name}Arn": listed[0][f"{name}Arn"]})
    return ""


def _routes(aws: Aws) -> str:
    """Search a transit gateway's route table, if the account has one."""

    def search(table_id: str) -> None:
        aws.ec2.search_transit_gateway_routes(
            TransitGatewayRouteTableId=table_id, Filters=[{"Name": "state", "Values": ["active"]}], MaxResults=5
        )

    return _first_associated(aws, "TransitGatewayRouteTableId", "ec2:SearchTransitGatewayRoutes", search)


def _policies(aws: Aws) -> str:
    """Read the entries of a transit gateway's policy table, if the account has one."""

    def read(table_id: str) -> None:
        aws.ec2.get_transit_gateway_policy_table_entries(TransitGatewayPolicyTableId=table_id, MaxResults=5)

    action = "ec2:GetTransitGatewayPolicyTableEntries"
    return _first_associated(aws, "TransitGatewayPolicyTableId", action, read)


def _first_associated(aws: Aws, field: str, action: str, read: Callable[[str], None]) -> str:
    """Read the first table that a transit gateway attachment names in this field of its association."""
    limits = {"MaxItems": 100}
    operation, rows = "describe_transit_gateway_attachments", "TransitGatewayAttachments"
    answers = pages(aws.ec2, "ec2", operation, rows, PaginationConfig=limits)
    attachments: list[Mapping[str, Mapping[str, str]]] = list(answers)
    tables = [table_id for row in attachments if (table_id := (row.get("Association") or {}).get(field))]
    if not tables:
        kind = "policy table of a transit gateway" if field == "TransitGatewayPolicyTableId" else "transit gateway"
        return f"there is no {kind} to try it with"
    try:
        with calling(action):
            read(tables[0])
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
    Probe("ec2:DescribeSubnets", "the subnets"),
    Probe("ec2:DescribeRouteTables", "the route tables and their routes"),
    Probe("ec2:DescribeVpcs", "the VPCs and their tags"),
    Probe("ec2:DescribeVpcEndpoints", "the VPC endpoints"),
    Probe("ec2:DescribeNatGateways", "the NAT gateways"),
    Probe("ec2:DescribePrefixLists", "the addresses of S3 Express"),
)
"""Reads without which a scan may fail (adapters/network_reader.py)."""
OPTIONAL = (
    Probe("ec2:DescribeManagedPrefixLists", "the customer-managed prefix lists and the IPv6 lists, if any"),
    Probe("ec2:GetManagedPrefixListEntries", "the entries of customer-managed prefix lists and IPv6 lists", _entries),
    Probe(
        "ec2:DescribeNetworkInterfaces", "the network interfaces that forward traffic, such as those of NAT instances"
    ),
    Probe("ec2:DescribeInstances", "the instance type of a NAT instance"),
    Probe("ec2:DescribeInstanceTypes", "the bandwidth of a NAT instance"),
    Probe("ec2:DescribeTransitGatewayAttachments", "the attachments of transit gateways"),
    Probe("ec2:DescribeTransitGatewayVpcAttachments", "the subnets that transit gateways use"),
    Probe(
        "network-firewall:DescribeFirewall",
        "the endpoints of firewalls, and whether a firewall translates addresses",
        partial(_describe_first, "firewall"),
    ),
    Probe(
        "network-firewall:DescribeVpcEndpointAssociation",
        "the endpoints of firewalls in other VPCs",
        partial(_describe_first, "vpc_endpoint_association"),
    ),
    Probe("ec2:SearchTransitGatewayRoutes", "the routes of transit gateways", _routes),
    Probe("ec2:GetTransitGatewayPolicyTableEntries", "the policy tables of transit gateways", _policies),
    Probe(
        "s3express:ListAllMyDirectoryBuckets",
        "whether there are directory buckets, for scope=DIRECTORY_BUCKETS",
        _buckets,
    ),
    Probe("ram:ListResources", "the subnets that are shared with other accounts, for scope=DIRECTORY_BUCKETS", _shared),
)
"""Reads without which a scan counts what they show as unknown."""


def remedy(error: ExpressPathError) -> str:
    """Return what to do if a question cannot be answered."""
    name = error.code if isinstance(error, ApiError) else "this error"
    return hint_for(error) or f"try again; if {name} persists, contact AWS Support with this message"


def identity(context: CheckContext) -> CheckResult:
    """Return who makes the calls."""
    caller = context.caller()
    return ok(f"account {caller.account_id}, as {caller.arn}")


def service(context: CheckContext) -> CheckResult:
    """Return whether the Region offers S3 Express."""
    region = context.aws.region
    if offers_s3_express(context.aws):
        return ok(f"{region} offers S3 Express")
    return fail(f"{region} does not offer S3 Express: every subnet is NOT_APPLICABLE", "use another --region")


def permission(probe: Probe, context: CheckContext) -> CheckResult:
    """Return whether one read is allowed."""
    try:
        note = probe.try_it(context.aws)
    except ApiError as error:
        return unknown(f"{error.code}, so a scan cannot read {probe.shows}: {error.message}", remedy(error))
    return ok(f"not tried: {note}" if note else f"shows {probe.shows}")


def network_role(context: CheckContext) -> CheckResult:
    """Return whether these credentials can follow transit gateways, as the rule does."""
    arn = needed(context.parameter("NetworkRoleArn"))
    try:
        assuming(context.aws, arn, context.parameter("NetworkRoleExternalId"))
    except ApiError as error:
        if not error.is_denied:
            raise
        return warn(
            f"you cannot assume {arn}, so your scans cannot follow paths beyond transit gateways; this does not affect the rule",
            "if your scans need it, let the role trust you, and allow sts:AssumeRole",
        )
    return ok(f"you can assume {arn}")
