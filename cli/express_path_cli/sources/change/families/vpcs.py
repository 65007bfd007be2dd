"""VPCs, their subnets, and VPC Block Public Access."""

from dataclasses import replace
from typing import Any

from express_path.domain.network.resources import BlockMode, Route, Subnet, TargetKind, Vpc
from express_path_cli.sources.change.changed_network import ChangedNetwork, ChangedTable, cidr_of, tags_of
from express_path_cli.sources.change.resource import GONE, MADE, Action, Arguments, Resource, UnknownId

SUBNETS = ("aws_subnet", "aws_default_subnet")


def _add_ipv6(network: ChangedNetwork, resource: Resource) -> None:
    for subnet_id in resource.after.named("subnet_id").among(network.records.subnets):
        network.records.subnets[subnet_id] = replace(network.records.subnets[subnet_id], has_ipv6=True)


def _change_modes(network: ChangedNetwork, resource: Resource) -> None:
    """Leave unknown what VPC Block Public Access closes, which may be the gateway of every VPC and subnet."""
    if resource.action is not Action.KEEP:
        network.new_block_mode = BlockMode.UNKNOWN
        network.records.vpcs |= {
            key: replace(one, block_mode=BlockMode.UNKNOWN) for key, one in network.records.vpcs.items()
        }
        network.records.subnets |= {
            key: replace(one, block_mode=BlockMode.UNKNOWN) for key, one in network.records.subnets.items()
        }


def _add_ipv4(network: ChangedNetwork, resource: Resource) -> None:
    """Add the local route of every route table for a further CIDR of a VPC."""
    cidr, vpc = cidr_of(resource.after.known("cidr_block")), resource.after.named("vpc_id")
    for table in network.records.tables.values():
        if cidr is None:
            table.add_unreadable(resource.after.unknown("cidr_block"))
        elif vpc.is_open or table.vpc_id in vpc.ids:
            table.routes.append(Route(cidr, "local", TargetKind.LOCAL))


def _remove_tag(network: ChangedNetwork, resource: Resource) -> None:
    if resource.action in GONE:
        _tag(network, resource, resource.before, None)


def _add_tag(network: ChangedNetwork, resource: Resource) -> None:
    _tag(network, resource, resource.after, resource.after.text("value"))


def _tag(network: ChangedNetwork, resource: Resource, arguments: Arguments, value: str | None) -> None:
    """Set a tag, which may exclude a subnet, a route table, or a VPC; without a value, remove it."""
    key, tagged = arguments.text("key"), arguments.named("resource_id").certain
    if not key or not tagged:
        network.leave_undecided(resource)
        return
    tagged = network.real(tagged)
    every: tuple[dict[str, Any], ...] = (network.records.subnets, network.records.vpcs, network.records.tables)
    for rows in every:
        if tagged in rows:
            others = {name: one for name, one in rows[tagged].tags.items() if name != key}
            rows[tagged] = replace(rows[tagged], tags=others if value is None else {**others, key: value})


def _add_vpc(network: ChangedNetwork, resource: Resource) -> None:
    """Add a VPC and its main route table. That of a VPC that exists may have routes that the change does not show."""
    is_known, table_id = resource.id in network.records.vpcs, resource.made("main_route_table_id")
    owner_id = resource.account_id or network.account
    vpc = Vpc(resource.id, owner_id, tags_of(resource), network.new_block_mode)
    network.put(network.records.vpcs, resource, vpc, tags="tags")
    if is_known or table_id in network.records.tables:
        return
    cidr = cidr_of(resource.after.known("cidr_block"))
    routes = [Route(cidr, "local", TargetKind.LOCAL)] if cidr else []
    network.records.tables[table_id] = ChangedTable(resource.id, routes, owner_id)
    network.main.setdefault(resource.id, table_id)
    if resource.action not in MADE:
        name = UnknownId(f"what routes the main route table of {resource.address} has")
        network.records.tables[table_id].add_unreadable(name)


def _add_subnet(network: ChangedNetwork, resource: Resource) -> None:
    after, vpc_id = resource.after, resource.after.one("vpc_id")
    vpc, zone = network.records.vpcs.get(vpc_id), after.text("availability_zone")
    zone_id = after.text("availability_zone_id") or network.zone_ids.get(zone)
    subnet = Subnet(
        resource.id,
        vpc_id,
        resource.account_id or network.account,
        # A name that no zone has: traffic from there may leave an attachment in every subnet.
        availability_zone_id=zone_id or zone or after.unknown("availability_zone"),
        ipv6_native=after.known("ipv6_native") is True,
        has_ipv6=after.is_unknown("ipv6_cidr_block") or bool(after.text("ipv6_cidr_block")),
        dns64=after.is_unknown("enable_dns64") or after.known("enable_dns64") is True,
        tags=tags_of(resource),
        block_mode=vpc.block_mode if vpc else network.new_block_mode,
    )
    network.put(
        network.records.subnets,
        resource,
        subnet,
        ipv6_native="ipv6_native",
        has_ipv6="ipv6_cidr_block",
        dns64="enable_dns64",
        tags="tags",
    )


_BLOCKING = ("aws_vpc_block_public_access_options", "aws_vpc_block_public_access_exclusion")
ADD = {
    **dict.fromkeys(("aws_vpc", "aws_default_vpc"), _add_vpc),
    **dict.fromkeys(SUBNETS, _add_subnet),
    "aws_vpc_subnet_ipv6_cidr": _add_ipv6,  # CloudFormation's SubnetCidrBlock
}
ADD_LAST = {
    **dict.fromkeys(_BLOCKING, _change_modes),
    "aws_ec2_tag": _add_tag,
    "aws_vpc_ipv4_cidr_block_association": _add_ipv4,
}
"""What changes VPCs, subnets, and tables that other resources add."""
REMOVE = {**dict.fromkeys(_BLOCKING, _change_modes), "aws_ec2_tag": _remove_tag}
