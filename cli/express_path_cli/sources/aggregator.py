"""Read the network of every account from an AWS Config aggregator.

Advanced queries (https://docs.aws.amazon.com/config/latest/developerguide/querying-AWS-resources.html) need no role in any
account. Items of classic EC2 types are EC2's descriptions in camel case, with fewer keys
(https://github.com/awslabs/aws-config-resource-schema); those of newer types are CloudFormation's, in Pascal case.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from express_path.adapters.aws import Aws, OptionalReads, calling, pages
from express_path.adapters.network_reader import PrefixListReader, families_of
from express_path.adapters.records import (
    PrefixLists,
    nat_gateway,
    network_interface,
    prefix_lists,
    route_table,
    subnet,
    vpc,
    vpc_endpoint,
)
from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import BlockMode, RouteTable, Subnet, TargetKind, target_ids
from express_path.domain.network.snapshot import Snapshot
from express_path.errors import ApiError, ExpressPathError, RecordError
from express_path.fields import Description, Record, identifier, ids, json_text, required_rows
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.sessions import connect
from express_path_cli.sources.network import NetworkViews, views_of
from express_path_cli.terminal.errors import Failure, OptionError, locating_errors, without_region
from express_path_cli.terminal.progress import Watch


def read_item(result: str) -> Mapping[str, Any]:
    """Return the item that a result of a query is. Raise RecordError if it is none."""
    return json_text({"Results": result}, "Results", "config:SelectAggregateResourceConfig")


def description(item: Mapping[str, Any], id_field: str = "") -> Description:
    """Return the configuration of an item as EC2 describes the resource, with the item's tags and related route tables.

    id_field is the name that EC2 has for the resource's id: the item itself has it, too. A subnet is related to the route
    table that it is associated with. Names of relationships differ, such as "Is contained in RouteTable" and "Is contained
    in ", so they do not count (https://docs.aws.amazon.com/config/latest/developerguide/resource-config-reference.html).
    """
    fields = _pascal(_configuration(item)) or {}
    if id_field and not fields.get(id_field):
        fields[id_field] = item.get("resourceId")
    return {**fields, "Tags": _tags(item.get("tags")), "RelatedTableIds": _related_tables(item.get("relationships"))}


def _configuration(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the configuration of an item; empty if it has none, or one of a form that is not known here."""
    configuration = item.get("configuration")
    if isinstance(configuration, str):
        try:
            configuration = json.loads(configuration)
        except ValueError:
            return {}
    return configuration if isinstance(configuration, Mapping) else {}


def _related_tables(relationships: object) -> list[str]:
    """Return the route tables among the related resources; one without an id gets a name, since it is some table."""
    rows = relationships if isinstance(relationships, list) else []
    related = [row for row in rows if isinstance(row, Mapping)]
    named = [(row.get("resourceType"), row.get("resourceId")) for row in related]
    return [
        str(resource_id or _UNNAMED_TABLE)
        for resource_type, resource_id in named
        if resource_type == _ROUTE_TABLE or str(resource_id).startswith("rtb-")
    ]


def _pascal(value: Any) -> Any:  # noqa: ANN401  # any JSON
    """Capitalize keys; a state is a string in EC2, and {"value": ...} in the schema of the queries."""
    if isinstance(value, Mapping):
        if set(value) <= {"value"}:
            return value.get("value")
        return {key[:1].upper() + key[1:]: _pascal(below) for key, below in value.items()}
    return [_pascal(element) for element in value] if isinstance(value, list) else value


def _tags(found: object) -> list[Description]:
    """Return tags as EC2 has them: queries return a list of {"key", "value", "tag"}, rule events a mapping.

    A tag of another form counts as none, because a tag can only exclude a subnet.
    """
    if isinstance(found, Mapping):
        named = list(found.items())
    else:
        rows = found if isinstance(found, list) else []
        named = [(row.get("key"), row.get("value")) for row in rows if isinstance(row, Mapping)]
    return [
        {"Key": key, "Value": value or ""}
        for key, value in named
        if isinstance(key, str) and (value is None or isinstance(value, str))
    ]


LIMITS = (
    "AWS Config does not record the routes of transit gateways, or where routes to Cloud WAN and database networks lead: UNRESOLVED_EGRESS",
    "AWS Config does not record whether a firewall translates addresses: a path through one without a NAT is UNRESOLVED_EGRESS",
    "without an item of AWS::EC2::VPCBlockPublicAccessOptions, a path to an internet gateway is UNRESOLVED_EGRESS",
    "the result is as old as what AWS Config recorded last, and what an account does not record counts as unreadable",
)
"""The limits of this source that affect verdicts, shown as notes."""

_ROUTE_TABLE, _SUBNET = "AWS::EC2::RouteTable", "AWS::EC2::Subnet"
_INTERFACE, _PREFIX_LIST = "AWS::EC2::NetworkInterface", "AWS::EC2::PrefixList"
_ID_FIELDS = {
    _ROUTE_TABLE: "RouteTableId",
    _SUBNET: "SubnetId",
    _INTERFACE: "NetworkInterfaceId",
    _PREFIX_LIST: "PrefixListId",
    "AWS::EC2::VPCEndpoint": "VpcEndpointId",
    "AWS::EC2::NatGateway": "NatGatewayId",
    "AWS::EC2::VPC": "VpcId",
}
"""What EC2 calls the id of a resource of each type."""
_UNNAMED_TABLE = "a-route-table-without-an-id"
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
    """The items of one aggregator in the caller's account and Region.

    unreadable: why an account and Region, or all accounts of a Region, cannot be judged; both are empty for items that do not
    name theirs.
    """

    def __init__(self, aws: Aws, name: str) -> None:
        """Take the clients; nothing is read yet."""
        self._aws = aws
        self._name = name
        self.unreadable: dict[AccountKey, ExpressPathError] = {}

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
        EC2 in the caller's account. An account with an item that cannot be read is left out, and is in `unreadable`. Raise
        ApiError.
        """
        subnets = self._subnets(regions)
        endpoints = self._records("AWS::EC2::VPCEndpoint", vpc_endpoint, regions)
        gateways = self._records("AWS::EC2::NatGateway", nat_gateway, regions)
        tables = self._records(_ROUTE_TABLE, route_table, regions)
        vpcs = self._records("AWS::EC2::VPC", vpc, regions)
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
            for account_id, region in sorted(lists)
            if (account_id, region) not in self.unreadable
        ]

    def vpc_ids(self, subnet_ids: Sequence[str]) -> dict[str, str]:
        """Read the VPC of each of these subnets that is recorded, in all Regions. Raise ApiError."""
        described = self._by_id(_SUBNET, subnet_ids, ())
        return {
            str(row["SubnetId"]): str(row["VpcId"]) for rows in described.values() for row in rows if row.get("VpcId")
        }

    def _subnets(self, regions: Sequence[str]) -> dict[AccountKey, dict[str, Subnet]]:
        """Read the subnets, and open internet gateways to them if the account's Block Public Access lets traffic out.

        If it blocks both directions, exclusions may open a subnet, but no configuration item contains them.
        """
        by_account = self._records(_SUBNET, _subnet, regions)
        for account, options in self._descriptions("AWS::EC2::VPCBlockPublicAccessOptions", regions).items():
            modes = [option.get("InternetGatewayBlockMode") for option in options]
            if all(mode in (BlockMode.OFF, BlockMode.INGRESS) for mode in modes):
                account_mode = BlockMode.INGRESS if BlockMode.INGRESS in modes else BlockMode.OFF
                for subnet_id, known in by_account.get(account, {}).items():
                    by_account[account][subnet_id] = replace(known, block_mode=account_mode)
        return by_account

    def _records(
        self, resource_type: str, reader: Callable[[Description], Record], regions: Sequence[str]
    ) -> dict[AccountKey, dict[str, Record]]:
        return self._read(self._descriptions(resource_type, regions), reader)

    def _read(
        self, described: Mapping[AccountKey, Sequence[Description]], reader: Callable[[Description], Record]
    ) -> dict[AccountKey, dict[str, Record]]:
        """Return the records of each account by their ids; of an account with one that cannot be read, none."""
        by_account = {}
        for account, descriptions in described.items():
            try:
                by_account[account] = {record.id: record for record in map(reader, descriptions)}
            except RecordError as error:
                self.unreadable.setdefault(account, error)
        return by_account

    def _interfaces(self, tables: Iterable[RouteTable], regions: Sequence[str]) -> dict[AccountKey, dict[str, Any]]:
        """Read the network interfaces that routes point to: an organization has too many to read them all."""
        wanted = target_ids(tables, TargetKind.NETWORK_INTERFACE)
        return self._read(self._by_id(_INTERFACE, wanted, regions), network_interface)

    def _by_id(
        self, resource_type: str, wanted: Sequence[str], regions: Sequence[str]
    ) -> dict[AccountKey, list[Description]]:
        """Read the descriptions of these resources, as many in each query as an expression can name."""
        by_account: dict[AccountKey, list[Description]] = defaultdict(list)
        for start in range(0, len(wanted), _PAGE):
            ids = ", ".join(f"'{resource_id}'" for resource_id in wanted[start : start + _PAGE])
            for account, rows in self._descriptions(resource_type, regions, f" AND resourceId IN ({ids})").items():
                by_account[account] += rows
        return by_account

    def _descriptions(
        self, resource_type: str, regions: Sequence[str], condition: str = ""
    ) -> dict[AccountKey, list[Description]]:
        """Return the recorded resources of one type, as EC2 describes them.

        A resource without a configuration counts as not recorded, so that what leads to it is unknown. So does a route
        table that does not show its associations. A subnet always counts, because the tables name it.
        """
        by_account: dict[AccountKey, list[Description]] = defaultdict(list)
        for result in self._results(resource_type, regions, condition):
            try:
                item = read_item(result)
                resource = str(item.get("resourceId"))
                account = identifier(item, "accountId", resource), identifier(item, "awsRegion", resource)
            except RecordError as error:
                self.unreadable.setdefault(("", ""), error)
                continue
            described = description(item, _ID_FIELDS.get(resource_type, ""))
            if resource_type == _ROUTE_TABLE:
                is_recorded = described.get("Associations") is not None
            else:
                is_recorded = resource_type == _SUBNET or bool(_configuration(item))
            if is_recorded:
                by_account[account].append(described)
        return by_account

    def _results(self, resource_type: str, regions: Sequence[str], condition: str) -> Iterator[str]:
        columns = "resourceId, accountId, awsRegion, configuration, tags"
        if resource_type == _SUBNET:  # those of a VPC name each of its network interfaces
            columns += ", relationships"
        where = f"resourceType = '{resource_type}'"
        if regions:
            where += " AND awsRegion IN ({})".format(", ".join(f"'{region}'" for region in regions))
        with calling("config:SelectAggregateResourceConfig"):
            pages_of_results = self._aws.config.get_paginator("select_aggregate_resource_config").paginate(
                Expression=f"SELECT {columns} WHERE {where}{condition}",
                ConfigurationAggregatorName=self._name,
                PaginationConfig={"PageSize": _PAGE},
            )
            for page in pages_of_results:
                yield from page["Results"]

    def _prefix_lists(
        self, subnets: Mapping[AccountKey, Mapping[str, Subnet]], regions: Sequence[str]
    ) -> dict[AccountKey, PrefixLists]:
        customers = self._descriptions(_PREFIX_LIST, regions)
        by_region: dict[str, set[Family]] = defaultdict(set)
        for (_, region), of_account in subnets.items():
            by_region[region] |= families_of(of_account.values())
        by_region_lists: dict[str, PrefixLists] = {}
        for region, families in sorted(by_region.items()):
            try:
                by_region_lists[region] = self._own_lists(region, families)
            except ApiError as error:
                self.unreadable["", region] = ApiError(f"{error.operation} in {region}", error.code, error.message)
        if by_region and not by_region_lists:
            raise self.unreadable["", min(by_region)]
        lists: dict[AccountKey, PrefixLists] = {}
        for account in subnets:
            of_aws = by_region_lists.get(account[1])
            try:
                of_customers = prefix_lists([], *_with_entries(customers.get(account, [])))
            except RecordError as error:
                self.unreadable.setdefault(account, error)
                continue
            if of_aws:
                lists[account] = replace(of_aws, by_id={**of_customers, **of_aws.by_id})
        return lists

    def _own_lists(self, region: str, families: set[Family]) -> PrefixLists:
        reader = PrefixListReader(replace(self._aws, region=region).ec2, region)
        lists = reader.read((), families, OptionalReads())
        of_aws = {list_id: prefix_list for list_id, prefix_list in lists.by_id.items() if prefix_list.aws_owned}
        return replace(lists, by_id=of_aws)


def _subnet(described: Description) -> Subnet:
    """Return a subnet; if its item has no state of VPC Block Public Access, that state is unknown."""
    record = replace(subnet(described), table_ids=ids(described, "RelatedTableIds", str(described.get("SubnetId"))))
    known = described.get("BlockPublicAccessStates") is not None
    return record if known else replace(record, block_mode=BlockMode.UNKNOWN)


def _with_entries(lists: Sequence[Description]) -> tuple[Sequence[Description], dict[str, list[Description]]]:
    """Return managed prefix lists, and the entries of those whose items have them."""
    named = [(str(row.get("PrefixListId")), row) for row in lists if row.get("Entries") is not None]
    return lists, {list_id: required_rows(row, "Entries", list_id) for list_id, row in named}


def read_aggregator(name: str, options: LiveOptions, watch: Watch) -> NetworkViews:
    """Read the aggregator's items of the selected Regions, or of all Regions if none is selected.

    Accounts that it could not copy are failures; those whose copy is outdated are notes. Raise ApiError.
    """
    watch.expect(1)
    with without_region("set AWS_REGION to the aggregator's Region; --region selects which of its items are read"):
        aws = connect(None, options.profile)
    aggregator = Aggregator(aws, name)
    with locating_errors(f"aggregator {name} in {aws.region}"):
        sources = aggregator.bad_sources()
        snapshots = aggregator.snapshots(options.regions)
    watch.done(name)
    bad = [source for source in sources if not options.regions or source.region in options.regions]
    unreadable = sorted(aggregator.unreadable.items(), key=itemgetter(0))
    seen = {snapshot.region for snapshot in snapshots} | {region for (_, region), _ in unreadable}
    failures = [
        *failed_sources(bad),
        *(Failure(_place(name, account_id, region), error) for (account_id, region), error in unreadable),
        *_empty(name, options.regions, seen),
    ]
    limits = [f"aggregator {name}: {limit}" for limit in LIMITS]
    return NetworkViews(views_of(snapshots), failures, [*limits, *outdated_sources(bad)])


def failed_sources(sources: Iterable[BadSource]) -> list[Failure]:
    """Return the accounts and Regions that an aggregator could not copy, as failures."""
    return [
        Failure(
            _account_region(source.account_id, source.region), ApiError("the aggregator's copy", "FAILED", source.why)
        )
        for source in sources
        if not source.outdated
    ]


def outdated_sources(sources: Iterable[BadSource]) -> list[str]:
    """Return a note on each account and Region whose copy in an aggregator is outdated."""
    return [
        f"{_account_region(source.account_id, source.region)}: its items are outdated ({source.why})"
        for source in sources
        if source.outdated
    ]


def _empty(name: str, selected: Sequence[str], found: Collection[str]) -> list[Failure]:
    """Return a failure for each selected Region without a recorded subnet, or one if no Region has any."""
    error = OptionError(
        "it contains no subnet", "check that it aggregates the Region and that its accounts record AWS::EC2::Subnet"
    )
    empty = [f"aggregator {name} {region}" for region in selected if region not in found]
    return [Failure(where, error) for where in empty or ([] if found else [f"aggregator {name}"])]


def _account_region(account_id: str, region: str) -> str:
    return f"account {account_id} {region}"


def _place(name: str, account_id: str, region: str) -> str:
    """Return what cannot be judged: an account, all accounts of a Region, or items that name none."""
    return _account_region(account_id, region) if account_id else f"aggregator {name} {region}".strip()
