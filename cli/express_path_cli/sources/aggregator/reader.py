"""Read an organization's network from an AWS Config aggregator by advanced queries, without a role in any account.

https://docs.aws.amazon.com/config/latest/developerguide/querying-AWS-resources.html
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from express_path.adapters.aws import Aws, OptionalReads, calling, pages
from express_path.adapters.ec2_records import nat_gateway, network_interface, route_table, subnet, vpc, vpc_endpoint
from express_path.adapters.fields import Description, Record
from express_path.adapters.prefix_list_reader import PrefixListReader, families_of
from express_path.adapters.prefix_list_records import PrefixLists, prefix_lists
from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import BlockMode, RouteTable, Subnet, target_ids
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.network.targets import TargetKind
from express_path.errors import ApiError
from express_path_cli.sources.aggregator.items import description

LIMITS = (
    "routes to Cloud WAN and to database networks have no target, and transit gateways no routes: UNRESOLVED_EGRESS",
    "items of firewalls do not show whether they translate: a path through one without a NAT is UNRESOLVED_EGRESS",
    "without an item of AWS::EC2::VPCBlockPublicAccessOptions, a path to an internet gateway is UNRESOLVED_EGRESS",
    "items are as late as AWS Config's recorders, and what an account does not record counts as unreadable",
)
"""The limits of this source that affect verdicts, shown as notes."""

_PAGE = 100
"""The most items on a page of a query (botocore model: config SelectAggregateResourceConfig)."""

AccountKey = tuple[str, str]
"""An account id (12 digits) and a Region."""


@dataclass(frozen=True, slots=True)
class BadSource:
    """An account and Region that the aggregator could not copy, or whose copy is outdated, and AWS Config's reason."""

    account_id: str
    region: str
    outdated: bool
    why: str


class Aggregator:
    """The items of one aggregator in the caller's account and Region."""

    def __init__(self, aws: Aws, name: str) -> None:
        """Take the clients; nothing is read yet."""
        self._aws = aws
        self._name = name

    def bad_sources(self) -> list[BadSource]:
        """Read the sources whose items are missing or outdated. Raise ApiError, also if there is no such aggregator."""
        rows = pages(
            self._aws.config,
            "config",
            "describe_configuration_aggregator_sources_status",
            "AggregatedSourceStatusList",
            ConfigurationAggregatorName=self._name,
            UpdateStatus=["FAILED", "OUTDATED"],
        )
        sources = [
            BadSource(
                str(row.get("SourceId")),
                str(row.get("AwsRegion")),
                row.get("LastUpdateStatus") == "OUTDATED",
                str(row.get("LastErrorMessage") or row.get("LastErrorCode") or "no reason was given"),
            )
            for row in rows
        ]
        return sorted(sources, key=lambda source: (source.account_id, source.region))

    def snapshots(self, regions: Sequence[str]) -> list[Snapshot]:
        """Read a snapshot of each account and Region with a subnet, in all Regions if none is named.

        AWS-managed prefix lists are not configuration items, and are the same for every account, so they are read from
        EC2 in the caller's account. Raise ApiError, and RecordError for an item that cannot be read.
        """
        subnets = self._subnets(regions)
        tables = self._records("AWS::EC2::RouteTable", route_table, regions)
        vpcs = self._records("AWS::EC2::VPC", vpc, regions)
        endpoints = self._records("AWS::EC2::VPCEndpoint", vpc_endpoint, regions)
        gateways = self._records("AWS::EC2::NatGateway", nat_gateway, regions)
        lists = self._prefix_lists(subnets, regions)
        interfaces = self._interfaces([table for by_id in tables.values() for table in by_id.values()], regions)
        buckets = self._descriptions("AWS::S3Express::DirectoryBucket", regions)
        return [
            Snapshot(
                account_id=account_id,
                region=region,
                vpcs=vpcs.get((account_id, region), {}),
                subnets=subnets[account_id, region],
                route_tables=tables.get((account_id, region), {}),
                vpc_endpoints=endpoints.get((account_id, region), {}),
                nat_gateways=gateways.get((account_id, region), {}),
                prefix_lists=lists[account_id, region].by_id,
                lists_ipv6_prefix_lists=lists[account_id, region].are_all_listed,
                network_interfaces=interfaces.get((account_id, region), {}),
                # A bucket may exist without being recorded, so its absence is unknown.
                has_directory_buckets=True if (account_id, region) in buckets else None,
            )
            for account_id, region in sorted(subnets)
        ]

    def vpc_ids(self, subnet_ids: Sequence[str]) -> dict[str, str]:
        """Read the VPC of each of these subnets that is recorded, in all Regions. Raise ApiError, RecordError."""
        described = self._by_id("AWS::EC2::Subnet", subnet_ids, ())
        return {str(row["SubnetId"]): str(row["VpcId"]) for rows in described.values() for row in rows}

    def _subnets(self, regions: Sequence[str]) -> dict[AccountKey, dict[str, Subnet]]:
        """Read the subnets, and open internet gateways to them if the account's Block Public Access lets traffic out.

        If it blocks both directions, exclusions may open a subnet, but no configuration item contains them.
        """
        found = self._records("AWS::EC2::Subnet", _subnet, regions)
        for account, options in self._descriptions("AWS::EC2::VPCBlockPublicAccessOptions", regions).items():
            modes = {option.get("InternetGatewayBlockMode") for option in options}
            if modes <= {BlockMode.OFF, BlockMode.INGRESS}:
                account_mode = BlockMode.INGRESS if BlockMode.INGRESS in modes else BlockMode.OFF
                for subnet_id, known in found.get(account, {}).items():
                    found[account][subnet_id] = replace(known, block_mode=account_mode)
        return found

    def _records(
        self, resource_type: str, reader: Callable[[Description], Record], regions: Sequence[str]
    ) -> dict[AccountKey, dict[str, Record]]:
        described = self._descriptions(resource_type, regions)
        return {
            account: {record.id: record for record in map(reader, descriptions)}
            for account, descriptions in described.items()
        }

    def _interfaces(self, tables: Iterable[RouteTable], regions: Sequence[str]) -> dict[AccountKey, dict[str, Any]]:
        """Read the network interfaces that routes point to: an organization has too many to read them all."""
        wanted = target_ids(tables, TargetKind.NETWORK_INTERFACE)
        described = self._by_id("AWS::EC2::NetworkInterface", wanted, regions)
        return {
            account: {record.id: record for record in map(network_interface, rows)}
            for account, rows in described.items()
        }

    def _by_id(
        self, resource_type: str, wanted: Sequence[str], regions: Sequence[str]
    ) -> dict[AccountKey, list[Description]]:
        """Read the descriptions of these resources, as many in each query as an expression can name."""
        found: dict[AccountKey, list[Description]] = defaultdict(list)
        for start in range(0, len(wanted), _PAGE):
            ids = ", ".join(f"'{resource_id}'" for resource_id in wanted[start : start + _PAGE])
            for account, rows in self._descriptions(resource_type, regions, f" AND resourceId IN ({ids})").items():
                found[account] += rows
        return found

    def _descriptions(
        self, resource_type: str, regions: Sequence[str], condition: str = ""
    ) -> dict[AccountKey, list[Description]]:
        found: dict[AccountKey, list[Description]] = defaultdict(list)
        for item in self._items(resource_type, regions, condition):
            found[str(item["accountId"]), str(item["awsRegion"])].append(description(item))
        return found

    def _items(self, resource_type: str, regions: Sequence[str], condition: str) -> Iterator[Mapping[str, Any]]:
        where = f"resourceType = '{resource_type}'"
        if regions:
            where += " AND awsRegion IN ({})".format(", ".join(f"'{region}'" for region in regions))
        with calling("config:SelectAggregateResourceConfig"):
            found = self._aws.config.get_paginator("select_aggregate_resource_config").paginate(
                Expression=f"SELECT resourceId, accountId, awsRegion, configuration, tags WHERE {where}{condition}",
                ConfigurationAggregatorName=self._name,
                PaginationConfig={"PageSize": _PAGE},
            )
            for page in found:
                yield from map(json.loads, page["Results"])

    def _prefix_lists(
        self, subnets: Mapping[AccountKey, Mapping[str, Subnet]], regions: Sequence[str]
    ) -> dict[AccountKey, PrefixLists]:
        customers = self._descriptions("AWS::EC2::PrefixList", regions)
        by_region: dict[str, set[Family]] = defaultdict(set)
        for (_, region), found in subnets.items():
            by_region[region] |= families_of(found.values())
        own = {region: self._own_lists(region, families) for region, families in sorted(by_region.items())}
        return {
            (account_id, region): replace(
                own[region],
                by_id={
                    **prefix_lists([], *_with_entries(customers.get((account_id, region), []))),
                    **own[region].by_id,
                },
            )
            for account_id, region in subnets
        }

    def _own_lists(self, region: str, families: set[Family]) -> PrefixLists:
        try:
            reader = PrefixListReader(replace(self._aws, region=region).ec2, region)
            found = reader.read((), families, OptionalReads())
        except ApiError as error:
            raise ApiError(f"{error.operation} in {region}", error.code, error.message) from error
        own = {list_id: prefix_list for list_id, prefix_list in found.by_id.items() if prefix_list.aws_owned}
        return replace(found, by_id=own)


def _subnet(described: Description) -> Subnet:
    """Return a subnet; if its item has no state of VPC Block Public Access, that state is unknown."""
    known = described.get("BlockPublicAccessStates") is not None
    return subnet(described) if known else replace(subnet(described), block_mode=BlockMode.UNKNOWN)


def _with_entries(lists: Sequence[Description]) -> tuple[Sequence[Description], dict[str, list[Description]]]:
    """Return managed prefix lists, and the entries of those whose items have them."""
    return lists, {str(row["PrefixListId"]): row["Entries"] for row in lists if row.get("Entries") is not None}
