"""Read a snapshot of the network in few calls, for one VPC or for a whole account and Region."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from express_path.adapters.assumed_role import assuming
from express_path.adapters.aws import Aws, OptionalReads, pages
from express_path.adapters.hop_reader import (
    met_appliance_endpoints,
    read_firewalls,
    read_instances,
    read_network_interfaces,
    read_transit_gateways,
)
from express_path.adapters.memory import gc_paused
from express_path.adapters.prefix_list_reader import PrefixListReader, families_of
from express_path.adapters.records import nat_gateway, route_table, subnet, vpc, vpc_endpoint
from express_path.adapters.sharing_records import OWN_SUBNETS, shared_subnet_ids
from express_path.domain.network.resources import BlockMode, NatGateway, RouteTable, TargetKind, target_ids
from express_path.domain.network.snapshot import Snapshot, merged
from express_path.domain.verdict.parameters import RuleParameters, Scope
from express_path.fields import Description, Record

_PAGE_SIZES = {"describe_route_tables": 100}
_PAGE_SIZE = 1000
"""The largest pages that EC2 returns (botocore model: ec2), so that calls are few."""


class SnapshotReader:
    """Reads snapshots of one account and Region; prefix lists are remembered between reads."""

    def __init__(self, aws: Aws, external_id: str = "") -> None:
        """Read nothing yet. external_id is what the network account's role requires, if anything."""
        self._aws = aws
        self._external_id = external_id
        self._prefix_lists = PrefixListReader(aws.ec2, aws.region)

    @gc_paused()
    def read(self, account_id: str, vpc_id: str | None, parameters: RuleParameters) -> Snapshot:
        """Read the network of one VPC, or of the account's whole Region if vpc_id is None.

        The account's other VPCs and the network account are read only if a route leads to a transit gateway. Raise
        ApiError if a required read fails, and RecordError if a description lacks a field. The snapshot names the
        optional reads that were denied.
        """
        optional = OptionalReads()
        snapshot = self._with_hops(self._network(account_id, vpc_id, optional), vpc_id, parameters, optional)
        if parameters.network_role_arn and _leads_to_transit_gateway(snapshot):
            snapshot = self._with_network_account(snapshot, parameters.network_role_arn, optional)
        if parameters.scope is Scope.DIRECTORY_BUCKETS and snapshot.express_prefix_lists:
            snapshot = self._with_directory_buckets(snapshot, optional)
        return replace(snapshot, denied=(*snapshot.denied, *optional.denied))

    def _network(self, account_id: str, vpc_id: str | None, optional: OptionalReads) -> Snapshot:
        of_vpc = {"Filters": [{"Name": "vpc-id", "Values": [vpc_id]}]} if vpc_id else {}
        subnets = self._read("describe_subnets", "Subnets", subnet, of_vpc)
        tables = self._read("describe_route_tables", "RouteTables", route_table, of_vpc)
        vpcs = self._read("describe_vpcs", "Vpcs", vpc, of_vpc)
        # A target that starts with nat- is enough for one VPC, unless Block Public Access may have closed the gateway.
        modes = {found.block_mode for found in vpcs.values()} | {found.block_mode for found in subnets.values()}
        gateways: dict[str, NatGateway] = {}
        if vpc_id is None:
            gateways = self._read("describe_nat_gateways", "NatGateways", nat_gateway, {})
        elif BlockMode.BIDIRECTIONAL in modes:
            gateways = self.nat_gateways(vpc_id)
        lists = self._prefix_lists.read(_named_lists(tables), families_of(subnets.values()), optional)
        return Snapshot(
            account_id=account_id,
            region=self._aws.region,
            vpcs=vpcs,
            subnets=subnets,
            route_tables=tables,
            vpc_endpoints=self._read("describe_vpc_endpoints", "VpcEndpoints", vpc_endpoint, of_vpc),
            nat_gateways=gateways,
            prefix_lists=lists.by_id,
            lists_ipv6_prefix_lists=lists.are_all_listed,
        )

    def _with_hops(
        self, snapshot: Snapshot, vpc_id: str | None, parameters: RuleParameters, optional: OptionalReads
    ) -> Snapshot:
        if _leads_to_transit_gateway(snapshot):
            gateways = read_transit_gateways(self._aws, optional)
            if vpc_id and (gateways.route_tables or parameters.network_role_arn):
                snapshot = self._network(snapshot.account_id, None, optional)
            snapshot = replace(
                snapshot,
                transit_gateway_attachments=gateways.attachments,
                transit_gateway_route_tables=gateways.route_tables,
            )
        tables = snapshot.route_tables.values()
        if target_ids(tables, TargetKind.NETWORK_INTERFACE) or target_ids(tables, TargetKind.INSTANCE):
            interfaces = optional.read(lambda: read_network_interfaces(self._aws, tables))
            instances = optional.read(lambda: read_instances(self._aws, (interfaces or {}).values()))
            snapshot = replace(snapshot, network_interfaces=interfaces, instances=instances or {})
        appliances = met_appliance_endpoints(snapshot.route_tables.values(), snapshot.vpc_endpoints)
        if appliances:
            snapshot = replace(snapshot, firewalls=read_firewalls(self._aws, appliances, optional))
        return snapshot

    def _with_network_account(self, snapshot: Snapshot, role_arn: str, optional: OptionalReads) -> Snapshot:
        """Add what the network account can read: its transit gateways' routes, and the VPCs behind them.

        Nothing is added if the role cannot be assumed, or lacks a read that is required in the rule's own account.
        """
        of_role = OptionalReads()
        role = of_role.read(lambda: assuming(self._aws, role_arn, self._external_id))
        central = of_role.read(partial(_read_central, role, role_arn.split(":")[4], of_role)) if role else None
        optional.denied += of_role.denied
        seen = merged([snapshot, central]) if central else snapshot
        return replace(seen, denied_to_role=tuple(of_role.refused))

    def _with_directory_buckets(self, snapshot: Snapshot, optional: OptionalReads) -> Snapshot:
        """Add whether there are directory buckets, and if there are none, which subnets the account shares."""
        has_buckets = optional.read(self.has_directory_buckets)
        shared = optional.read(self._read_shared_subnet_ids) if has_buckets is False else None
        return replace(snapshot, has_directory_buckets=has_buckets, shared_subnet_ids=shared)

    def _read_shared_subnet_ids(self) -> frozenset[str]:
        """Read the subnets of the Region that the account shares. Raise ApiError."""
        return shared_subnet_ids(pages(self._aws.ram, "ram", "list_resources", "resources", **OWN_SUBNETS))

    def vpc_of(self, subnet_id: str) -> str | None:
        """Return the VPC of a subnet, None if there is no such subnet."""
        by_id = {"Filters": [{"Name": "subnet-id", "Values": [subnet_id]}]}
        found = self._read("describe_subnets", "Subnets", subnet, by_id)
        return found[subnet_id].vpc_id if subnet_id in found else None

    def nat_gateways(self, vpc_id: str) -> dict[str, NatGateway]:
        """Return the NAT gateways of a VPC."""
        of_vpc = {"Filter": [{"Name": "vpc-id", "Values": [vpc_id]}]}  # this call spells its parameter differently
        return self._read("describe_nat_gateways", "NatGateways", nat_gateway, of_vpc)

    def leads_to_transit_gateway(self, vpc_id: str) -> bool:
        """Return whether a route table of a VPC has a route to a transit gateway."""
        of_vpc = {"Filters": [{"Name": "vpc-id", "Values": [vpc_id]}]}
        tables = self._read("describe_route_tables", "RouteTables", route_table, of_vpc)
        return bool(target_ids(tables.values(), TargetKind.TRANSIT_GATEWAY))

    def empty(self, account_id: str) -> Snapshot:
        """Return a snapshot without any resource, in which every subnet counts as deleted."""
        return Snapshot(account_id, self._aws.region)

    def _read(
        self, operation: str, field: str, reader: Callable[[Description], Record], parameters: Mapping[str, Any]
    ) -> dict[str, Record]:
        paging = {"PageSize": _PAGE_SIZES.get(operation, _PAGE_SIZE)}
        rows = pages(self._aws.ec2, "ec2", operation, field, PaginationConfig=paging, **parameters)
        return {record.id: record for record in map(reader, rows)}

    def has_directory_buckets(self) -> bool:
        """Return whether the account has a directory bucket in the Region. Raise ApiError.

        https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListDirectoryBuckets.html
        """
        first = {"PaginationConfig": {"MaxItems": 1}}
        return bool(pages(self._aws.s3, "s3", "list_directory_buckets", "Buckets", **first))


def _read_central(role: Aws, account_id: str, optional: OptionalReads) -> Snapshot:
    """Read the whole Region of the network account."""
    reader = SnapshotReader(role)
    return reader._with_hops(reader._network(account_id, None, optional), None, RuleParameters(), optional)  # noqa: SLF001


def _leads_to_transit_gateway(snapshot: Snapshot) -> bool:
    return bool(target_ids(snapshot.route_tables.values(), TargetKind.TRANSIT_GATEWAY))


def _named_lists(tables: Mapping[str, RouteTable]) -> set[str]:
    return {
        route.destination for table in tables.values() for route in table.routes if isinstance(route.destination, str)
    }
