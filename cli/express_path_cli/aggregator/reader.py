"""Reading an organization's network from an AWS Config aggregator: advanced queries, no role in any account.

https://docs.aws.amazon.com/config/latest/developerguide/querying-AWS-resources.html
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from express_path.adapters.aws import calling, pages
from express_path.adapters.ec2_records import nat_gateway, network_interface, route_table, subnet, vpc, vpc_endpoint
from express_path.adapters.fields import Description, Record
from express_path.adapters.hop_reader import targets
from express_path.adapters.prefix_list_reader import PrefixListReader, families_of
from express_path.adapters.prefix_list_records import prefix_lists
from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import PrefixList, RouteTable, Subnet
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.network.targets import TargetKind
from express_path.errors import ApiError
from express_path_cli.aggregator.items import description
from express_path_cli.organization.clients import AccountClients

LACKING = (
    "routes to Cloud WAN and database networks lack their targets, transit gateways their routes: UNRESOLVED_EGRESS",
    "without an item of AWS::EC2::VPCBlockPublicAccessOptions, a path to an internet gateway is UNRESOLVED_EGRESS",
    "items are as late as AWS Config's recorders, and what an account does not record looks as if it could not be read",
)
"""What a reader of the verdicts must know of this source, in sentences."""

_PAGE = 100
"""The most items that a query returns at once (botocore model: config SelectAggregateResourceConfig)."""

AccountRegion = tuple[str, str]
"""Account id and Region."""


class BadSource(NamedTuple):
    """An account and Region that the aggregator could not copy, or not lately, and AWS Config's words for why."""

    account_id: str
    region: str
    outdated: bool
    why: str


class Aggregator:
    """The items of one aggregator of the caller's account and Region."""

    def __init__(self, aws: AccountClients, name: str) -> None:
        """Read nothing yet."""
        self._aws = aws
        self._name = name

    def bad_sources(self) -> list[BadSource]:
        """The sources whose items are missing or old. Raises ApiError, also where there is no such aggregator."""
        rows = pages(
            self._aws.config,
            "config",
            "describe_configuration_aggregator_sources_status",
            "AggregatedSourceStatusList",
            ConfigurationAggregatorName=self._name,
            UpdateStatus=["FAILED", "OUTDATED"],
        )
        return sorted(
            BadSource(
                str(row.get("SourceId")),
                str(row.get("AwsRegion")),
                row.get("LastUpdateStatus") == "OUTDATED",
                str(row.get("LastErrorMessage") or row.get("LastErrorCode") or "no reason was given"),
            )
            for row in rows
        )

    def snapshots(self, regions: Sequence[str]) -> list[Snapshot]:
        """One snapshot for each account and Region with a subnet, of all Regions where none is named.

        Prefix lists are read from EC2 in each Region by the caller: AWS's own are the same for every account, and are
        no configuration items. Raises ApiError, and RecordError for an item that cannot be read.
        """
        subnets = self._subnets(regions)
        tables = self._records("AWS::EC2::RouteTable", route_table, regions)
        vpcs = self._records("AWS::EC2::VPC", vpc, regions)
        endpoints = self._records("AWS::EC2::VPCEndpoint", vpc_endpoint, regions)
        gateways = self._records("AWS::EC2::NatGateway", nat_gateway, regions)
        lists = self._prefix_lists(subnets, regions)
        interfaces = self._interfaces([table for each in tables.values() for table in each.values()], regions)
        buckets = self._descriptions("AWS::S3Express::DirectoryBucket", regions)
        return [
            Snapshot(
                account_id=place[0],
                region=place[1],
                vpcs=vpcs.get(place, {}),
                subnets=subnets[place],
                route_tables=tables.get(place, {}),
                vpc_endpoints=endpoints.get(place, {}),
                nat_gateways=gateways.get(place, {}),
                prefix_lists=lists[place],
                network_interfaces=interfaces.get(place, {}),
                # Buckets that are not recorded are not there to be seen, so none is never certain.
                has_directory_buckets=True if place in buckets else None,
            )
            for place in sorted(subnets)
        ]

    def _subnets(self, regions: Sequence[str]) -> dict[AccountRegion, dict[str, Subnet]]:
        """Subnets; internet gateways are open to them where an account's Block Public Access lets traffic out.

        If it blocks both directions, exclusions may open them, which only EC2 tells.
        """
        found = self._records("AWS::EC2::Subnet", _subnet, regions)
        for place, options in self._descriptions("AWS::EC2::VPCBlockPublicAccessOptions", regions).items():
            if all(each.get("InternetGatewayBlockMode") in ("off", "block-ingress") for each in options):
                for key, each in found.get(place, {}).items():
                    found[place][key] = replace(each, internet_closed=each.internet_closed or False)
        return found

    def _records(
        self, resource_type: str, reader: Callable[[Description], Record], regions: Sequence[str]
    ) -> dict[AccountRegion, dict[str, Record]]:
        described = self._descriptions(resource_type, regions)
        return {place: {each.id: each for each in map(reader, found)} for place, found in described.items()}

    def _interfaces(self, tables: Iterable[RouteTable], regions: Sequence[str]) -> dict[AccountRegion, dict[str, Any]]:
        """The network interfaces that routes lead to: an organization has too many to read them all."""
        wanted = targets(tables, TargetKind.NETWORK_INTERFACE)
        found: dict[AccountRegion, dict[str, Any]] = defaultdict(dict)
        for start in range(0, len(wanted), _PAGE):
            ids = ", ".join(f"'{each}'" for each in wanted[start : start + _PAGE])
            described = self._descriptions("AWS::EC2::NetworkInterface", regions, f" AND resourceId IN ({ids})")
            for place, rows in described.items():
                found[place].update({record.id: record for record in map(network_interface, rows)})
        return found

    def _descriptions(
        self, resource_type: str, regions: Sequence[str], further: str = ""
    ) -> dict[AccountRegion, list[Description]]:
        found: dict[AccountRegion, list[Description]] = defaultdict(list)
        for item in self._items(resource_type, regions, further):
            found[str(item["accountId"]), str(item["awsRegion"])].append(description(item))
        return found

    def _items(self, resource_type: str, regions: Sequence[str], further: str) -> Iterator[Mapping[str, Any]]:
        condition = f"resourceType = '{resource_type}'"
        if regions:
            condition += " AND awsRegion IN ({})".format(", ".join(f"'{each}'" for each in regions))
        with calling("config:SelectAggregateResourceConfig"):
            found = self._aws.config.get_paginator("select_aggregate_resource_config").paginate(
                Expression=f"SELECT resourceId, accountId, awsRegion, configuration, tags WHERE {condition}{further}",
                ConfigurationAggregatorName=self._name,
                PaginationConfig={"PageSize": _PAGE},
            )
            for page in found:
                yield from map(json.loads, page["Results"])

    def _prefix_lists(
        self, subnets: Mapping[AccountRegion, Mapping[str, Subnet]], regions: Sequence[str]
    ) -> dict[AccountRegion, Mapping[str, PrefixList]]:
        customers = self._descriptions("AWS::EC2::PrefixList", regions)
        by_region: dict[str, set[Family]] = defaultdict(set)
        for (_, region), found in subnets.items():
            by_region[region] |= families_of(found.values())
        own = {region: self._own_lists(region, families) for region, families in sorted(by_region.items())}
        return {
            place: {**prefix_lists([], *_with_entries(customers.get(place, []))), **own[place[1]]} for place in subnets
        }

    def _own_lists(self, region: str, families: set[Family]) -> Mapping[str, PrefixList]:
        try:
            found = PrefixListReader(self._aws.in_region(region).ec2, region).read((), families)
        except ApiError as error:
            raise ApiError(f"{error.operation} in {region}", error.code, error.message) from error
        return {list_id: each for list_id, each in found.items() if each.aws_owned}


def _subnet(described: Description) -> Subnet:
    """A subnet's item; if it lacks the state of VPC Block Public Access, that state is unknown."""
    known = described.get("BlockPublicAccessStates") is not None
    return subnet(described) if known else replace(subnet(described), internet_closed=None)


def _with_entries(lists: Sequence[Description]) -> tuple[Sequence[Description], dict[str, list[Description]]]:
    """Managed prefix lists, and the entries of those whose item has them."""
    entries = {str(each["PrefixListId"]): each["Entries"] for each in lists if each.get("Entries") is not None}
    return lists, entries
