"""Gathering a snapshot from the EC2 API in few calls, for one VPC or for a whole account and Region."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from express_path.adapters.aws import Aws, pages, unless_denied
from express_path.adapters.ec2_records import Description, nat_gateway, route_table, subnet, vpc, vpc_endpoint
from express_path.adapters.prefix_list_reader import PrefixListReader
from express_path.domain.addresses import Family
from express_path.domain.network import RouteTable, Subnet
from express_path.domain.snapshot import Snapshot

_PAGE_SIZES = {"describe_route_tables": 100}
_PAGE_SIZE = 1000
"""The largest pages that EC2 gives (botocore model: ec2), so that calls are few."""


class _Identified(Protocol):
    @property
    def id(self) -> str: ...


_Record = TypeVar("_Record", bound=_Identified)


class SnapshotReader:
    """Reads snapshots of one account and Region; prefix lists are remembered between reads."""

    def __init__(self, aws: Aws) -> None:
        """Read nothing yet."""
        self._aws = aws
        self._prefix_lists = PrefixListReader(aws.ec2, aws.region)

    def read(self, account_id: str, vpc_id: str | None = None, *, directory_buckets: bool = False) -> Snapshot:
        """The network of one VPC, or of the account's whole Region where vpc_id is None.

        directory_buckets asks whether the account has any. Raises ApiError where a needed read fails, RecordError where
        a description lacks a field.
        """
        of_vpc = {"Filters": [{"Name": "vpc-id", "Values": [vpc_id]}]} if vpc_id else {}
        subnets = self._read("describe_subnets", "Subnets", subnet, of_vpc)
        tables = self._read("describe_route_tables", "RouteTables", route_table, of_vpc)
        lists = self._prefix_lists.read(_named_lists(tables), _families(subnets))
        snapshot = Snapshot(
            account_id=account_id,
            region=self._aws.region,
            vpcs=self._read("describe_vpcs", "Vpcs", vpc, of_vpc),
            subnets=subnets,
            route_tables=tables,
            vpc_endpoints=self._read("describe_vpc_endpoints", "VpcEndpoints", vpc_endpoint, of_vpc),
            nat_gateways={} if vpc_id else self._read("describe_nat_gateways", "NatGateways", nat_gateway, {}),
            prefix_lists=lists,
        )
        if directory_buckets and snapshot.express_prefix_lists:
            return replace(snapshot, has_directory_buckets=self._has_directory_buckets())
        return snapshot

    def vpc_of(self, subnet_id: str) -> str | None:
        """The VPC that a subnet is in, None where there is no such subnet."""
        by_id = {"Filters": [{"Name": "subnet-id", "Values": [subnet_id]}]}
        found = self._read("describe_subnets", "Subnets", subnet, by_id)
        return found[subnet_id].vpc_id if subnet_id in found else None

    def read_tagged(self, account_id: str, key: str, value: str) -> Snapshot:
        """The route tables with that tag, and all gateway endpoints of the Region."""
        tagged = {"Filters": [{"Name": f"tag:{key}", "Values": [value]}]}
        gateways = {"Filters": [{"Name": "vpc-endpoint-type", "Values": ["Gateway"]}]}
        return replace(
            self.empty(account_id),
            route_tables=self._read("describe_route_tables", "RouteTables", route_table, tagged),
            vpc_endpoints=self._read("describe_vpc_endpoints", "VpcEndpoints", vpc_endpoint, gateways),
        )

    def empty(self, account_id: str) -> Snapshot:
        """A snapshot without any resource, in which every subnet is gone."""
        return Snapshot(account_id, self._aws.region)

    def _read(
        self, operation: str, field: str, reader: Callable[[Description], _Record], parameters: Mapping[str, Any]
    ) -> dict[str, _Record]:
        paging = {"PageSize": _PAGE_SIZES.get(operation, _PAGE_SIZE)}
        rows = pages(self._aws.ec2, "ec2", operation, field, PaginationConfig=paging, **parameters)
        return {record.id: record for record in map(reader, rows)}

    def _has_directory_buckets(self) -> bool | None:
        """None where it may not be read.

        https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListDirectoryBuckets.html
        """
        first = {"PaginationConfig": {"MaxItems": 1}}
        buckets = unless_denied(lambda: pages(self._aws.s3, "s3", "list_directory_buckets", "Buckets", **first))
        return None if buckets is None else bool(buckets)


def _named_lists(tables: Mapping[str, RouteTable]) -> set[str]:
    return {
        route.destination for table in tables.values() for route in table.routes if isinstance(route.destination, str)
    }


def _families(subnets: Mapping[str, Subnet]) -> set[Family]:
    has_ipv6 = any(each.has_ipv6 for each in subnets.values())
    return {Family.IPV4, Family.IPV6} if has_ipv6 else {Family.IPV4}
