"""The table of how-it-decides.md about how soon a change is found: python -m tests.docs.how_soon writes it again.

Its first rows are made from the types that the rule follows, with the functions that find the subnets of each. The others
are what no event announces. READS says which rows are about what each call reads, so that a new read needs a row.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path

from benchmarks.pages import with_table
from express_path.domain.verdict.fanout import FAN_OUT, ResourceType

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "how-it-decides.md"
NAME = "how-soon"


class Unannounced(Enum):
    """What can change a verdict and is found by the sweep, and why no event tells of it in time."""

    TRANSIT_GATEWAYS = (
        "transit gateways: routes, associations, propagations, policy tables, and the subnets and modes of attachments",
        "the items of AWS Config do not have them",
    )
    OTHER_ACCOUNTS = (
        "what another account owns: tables, NAT gateways, endpoints, and firewalls of the network account, or of a shared VPC",
        "AWS Config records it in that account",
    )
    SHARED_LISTS = (
        "a customer-managed prefix list that another account shares",
        "AWS Config records it in that account",
    )
    VPC_TAGS = (
        "a tag of a VPC (`excludeTag`) that is added or removed",
        "AWS Config records a VPC again for each network interface, so the rule does not follow VPCs",
    )
    BLOCK_STATES = (
        "the Block Public Access states of subnets, if EC2 changes them later than the options or the exclusion",
        "the event can come before EC2 shows the new states",
    )
    EMPTIED_LISTS = (
        "a prefix list that only a transit gateway's route table names, if its last entry is removed or its routes follow later",
        "the route table does not name the list then, or does not show its new entries yet",
    )
    INTERFACES = (
        "network interfaces (their source/destination check), and instances that start or stop",
        "they change often, so the rule does not follow them",
    )
    INTERNET_GATEWAYS = (
        "internet gateways that are attached or detached",
        "only routes to them matter, and AWS Config records those",
    )
    ASSOCIATIONS = ("a firewall's endpoint associations in other VPCs", "AWS Config does not record them")
    SHARES = ("shares in Resource Access Manager", "AWS Config does not record them")
    AWS_LISTS = ("the prefix lists of AWS", "AWS owns them")
    PERMISSIONS = ("what the rule and the role in `networkRoleArn` may read", "a policy is not a part of the network")


READS: Mapping[str, frozenset[ResourceType | Unannounced]] = {
    "ec2:DescribeSubnets": frozenset(
        {
            ResourceType.SUBNET,
            ResourceType.BLOCK_PUBLIC_ACCESS_OPTIONS,
            ResourceType.BLOCK_PUBLIC_ACCESS_EXCLUSION,
            Unannounced.BLOCK_STATES,
            Unannounced.OTHER_ACCOUNTS,
        }
    ),
    "ec2:DescribeRouteTables": frozenset(
        {ResourceType.ROUTE_TABLE, Unannounced.OTHER_ACCOUNTS, Unannounced.INTERNET_GATEWAYS}
    ),
    "ec2:DescribeVpcEndpoints": frozenset({ResourceType.VPC_ENDPOINT, Unannounced.OTHER_ACCOUNTS}),
    "ec2:DescribeNatGateways": frozenset({ResourceType.NAT_GATEWAY, Unannounced.OTHER_ACCOUNTS}),
    "ec2:DescribeVpcs": frozenset({ResourceType.BLOCK_PUBLIC_ACCESS_OPTIONS, Unannounced.VPC_TAGS}),
    "ec2:DescribePrefixLists": frozenset({Unannounced.AWS_LISTS}),
    "ec2:DescribeManagedPrefixLists": frozenset({ResourceType.PREFIX_LIST, Unannounced.SHARED_LISTS}),
    "ec2:GetManagedPrefixListEntries": frozenset({ResourceType.PREFIX_LIST, Unannounced.SHARED_LISTS}),
    "ec2:DescribeNetworkInterfaces": frozenset({Unannounced.INTERFACES}),
    "ec2:DescribeInstances": frozenset({Unannounced.INTERFACES}),
    "ec2:DescribeInstanceTypes": frozenset({Unannounced.INTERFACES}),
    "ec2:DescribeTransitGatewayAttachments": frozenset({Unannounced.TRANSIT_GATEWAYS}),
    "ec2:DescribeTransitGatewayVpcAttachments": frozenset({Unannounced.TRANSIT_GATEWAYS}),
    "ec2:GetTransitGatewayPolicyTableEntries": frozenset({Unannounced.TRANSIT_GATEWAYS}),
    "ec2:SearchTransitGatewayRoutes": frozenset({Unannounced.TRANSIT_GATEWAYS, Unannounced.EMPTIED_LISTS}),
    "network-firewall:ListFirewalls": frozenset({ResourceType.FIREWALL, Unannounced.OTHER_ACCOUNTS}),
    "network-firewall:DescribeFirewall": frozenset({ResourceType.FIREWALL, Unannounced.OTHER_ACCOUNTS}),
    "network-firewall:ListVpcEndpointAssociations": frozenset({Unannounced.ASSOCIATIONS}),
    "network-firewall:DescribeVpcEndpointAssociation": frozenset({Unannounced.ASSOCIATIONS}),
    "ram:ListResources": frozenset({Unannounced.SHARES}),
    "s3:ListDirectoryBuckets": frozenset({ResourceType.DIRECTORY_BUCKET}),
    "sts:AssumeRole": frozenset({Unannounced.PERMISSIONS}),
}
"""The rows about what each call of the rule reads of the network."""


def table() -> str:
    """Return the table."""
    return "\n".join(_rows())


def _rows() -> Iterator[str]:
    yield from ("| what changes | found | which subnets are evaluated, or why not earlier |", "|---|---|---|")
    for resource_type, concerned in FAN_OUT.items():
        docstring = " ".join((concerned.__doc__ or "").split()).removesuffix(".")
        yield f"| `{resource_type}` | after minutes | {docstring[0].lower()}{docstring[1:]} |"
    for cause in Unannounced:
        what, why = cause.value
        yield f"| {what} | by the next sweep | {why} |"


if __name__ == "__main__":
    DOCUMENT.write_text(with_table(DOCUMENT.read_text(encoding="utf-8"), NAME, table()), encoding="utf-8")
