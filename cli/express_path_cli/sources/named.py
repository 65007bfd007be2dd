"""What a person names on the command line: a subnet, a route table, or a VPC, by its ID or by its Name tag."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from express_path.domain.network.resources import Tags
from express_path_cli.sources.network import View
from express_path_cli.terminal.errors import OptionError

if TYPE_CHECKING:
    from express_path.adapters.aws import Aws

_MOST_MATCHES = 10
"""The most matches that an error lists."""


class ViewedSubnet(NamedTuple):
    """A subnet, and the view that decides it: that of its owner, if there is one."""

    view: View
    subnet_id: str


def named_subnets(views: Sequence[View], named: str, elsewhere: str) -> list[ViewedSubnet]:
    """Return the subnet with this ID or name, or the subnets of the route table or VPC that has it, sorted.

    Raise OptionError if there is none, with the hint `elsewhere`, or if several resources have the name.
    """
    by_resource: dict[str, dict[str, View]] = {}
    for view in views:
        for subnet_id in view.subnet_ids:
            for resource_id, tags in _resources(view, subnet_id):
                if named in (resource_id, tags.get("Name")):
                    subnets = by_resource.setdefault(resource_id, {})
                    owner_id = view.tracer.snapshot.subnets[subnet_id].owner_id
                    if subnet_id not in subnets or view.account.id == owner_id:
                        subnets[subnet_id] = view
    if not by_resource:
        raise OptionError(f"no subnet, and no route table or VPC that has subnets, is named {named}", elsewhere)
    if named not in by_resource:
        _only_one(named, list(by_resource))
    subnets = by_resource.get(named) or next(iter(by_resource.values()))
    return [ViewedSubnet(subnets[subnet_id], subnet_id) for subnet_id in sorted(subnets)]


def _resources(view: View, subnet_id: str) -> Iterator[tuple[str, Tags]]:
    """Yield the ID and the tags of a subnet, of its route table, and of its VPC, as far as they are known."""
    snapshot = view.tracer.snapshot
    subnet = snapshot.subnets[subnet_id]
    table, vpc = view.tracer.governing_table(subnet), snapshot.vpcs.get(subnet.vpc_id)
    for resource in (subnet, table, vpc):
        if resource:
            yield resource.id, resource.tags


def vpc_of(aws: "Aws", named: str, where: str) -> str:
    """Return the VPC of the subnet, route table, or VPC of an account and Region that has this ID or name.

    Raise ApiError, and OptionError if there is none or if several resources have the name.
    """
    vpc_ids = resources_named(aws, named)
    if not vpc_ids:
        raise OptionError(
            f"{where} has no subnet, route table, or VPC that is named {named}",
            "check --region and --profile",
        )
    _only_one(named, list(vpc_ids))
    return next(iter(vpc_ids.values()))


def resources_named(aws: "Aws", named: str) -> Mapping[str, str]:
    """Return the VPC of each subnet, route table, and VPC that has this ID or name, by its ID. Raise ApiError."""
    from express_path.adapters.aws import filtered  # noqa: PLC0415  # dumps do not need boto3

    lists = (
        ("describe_subnets", "Subnets", "SubnetId", "subnet-id"),
        ("describe_route_tables", "RouteTables", "RouteTableId", "route-table-id"),
        ("describe_vpcs", "Vpcs", "VpcId", "vpc-id"),
    )
    prefixes = {"subnet": "SubnetId", "rtb": "RouteTableId", "vpc": "VpcId"}
    by_id = [row for row in lists if row[2] == prefixes.get(named.partition("-")[0])]
    vpc_ids: dict[str, str] = {}
    for operation, field, key, filter_name in by_id:
        vpc_ids |= {row[key]: row["VpcId"] for row in filtered(aws.ec2, operation, field, filter_name, [named])}
    for operation, field, key, _ in lists if not vpc_ids else ():
        for row in filtered(aws.ec2, operation, field, "tag:Name", [named]):
            # In the values of EC2's filters, * and ? match other characters, too.
            if {"Key": "Name", "Value": named} in row.get("Tags", []):
                vpc_ids[row[key]] = row["VpcId"]
    return vpc_ids


def _only_one(named: str, ids: Sequence[str]) -> None:
    if len(ids) > 1:
        more = f", and {len(ids) - _MOST_MATCHES} more" if len(ids) > _MOST_MATCHES else ""
        raise OptionError(
            f"{len(ids)} resources are named {named}", f"use an ID: {', '.join(sorted(ids)[:_MOST_MATCHES])}{more}"
        )
