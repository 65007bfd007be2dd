"""Read a snapshot of the network in few calls, for one VPC or for a whole account and Region.

Route tables and endpoints are always read. What following hops needs in addition is read only if a route leads there.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import Aws, OptionalReads, calling, filtered, pages, unless_denied
from express_path.adapters.memory import gc_paused
from express_path.adapters.records import (
    OWN_SUBNETS,
    PrefixLists,
    association_firewall,
    attachments,
    firewalls,
    instance,
    nat_gateway,
    network_interface,
    prefix_lists,
    route_table,
    shared_subnet_ids,
    shows_express_lists,
    subnet,
    transit_gateway_policy_table,
    transit_gateway_route_table,
    vpc,
    vpc_endpoint,
)
from express_path.adapters.roles import assuming
from express_path.domain.network.addresses import Family
from express_path.domain.network.merging import merged
from express_path.domain.network.resources import (
    Firewall,
    Instance,
    NetworkInterface,
    PrefixList,
    RouteTable,
    Subnet,
    TargetKind,
    TransitGatewayAttachment,
    TransitGatewayPolicyTable,
    TransitGatewayRouteTable,
    VpcEndpoint,
    target_ids,
)
from express_path.domain.network.snapshot import Snapshot, express_name
from express_path.domain.verdict.parameters import RuleParameters, Scope
from express_path.errors import ApiError
from express_path.fields import Description, Record, rows, shown

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_PAGE_SIZES = {"describe_route_tables": 100}
_PAGE_SIZE = 1000
"""The largest pages that EC2 returns (botocore model: ec2), so that calls are few."""


class SnapshotReader:
    """Reads snapshots of one account and Region; prefix lists are remembered between reads."""

    def __init__(self, aws: Aws, external_id: str = "") -> None:
        """Read nothing yet. external_id is what the network account's role requires, if anything."""
        self._aws = aws
        self.external_id = external_id
        self._prefix_lists = PrefixListReader(aws.ec2, aws.region)

    @gc_paused()
    def read(
        self,
        account_id: str,
        vpc_id: str | None,
        parameters: RuleParameters,
        optional: OptionalReads | None = None,
        *,
        with_paths_into_vpc: bool = False,
    ) -> Snapshot:
        """Read the network of one VPC, or of the account's whole Region if vpc_id is None.

        The account's other VPCs and the network account are read only if a route leads to a transit gateway, or
        with_paths_into_vpc is true and the VPC has an attachment, through which paths of other VPCs may enter. Raise
        ApiError if a required read fails, and RecordError if a description lacks a field. The snapshot names the
        optional reads that were denied; `optional` collects them for the caller, too.
        """
        optional = optional or OptionalReads()
        snapshot = self._network(account_id, vpc_id, optional)
        if _leads_to_transit_gateway(snapshot) or (with_paths_into_vpc and vpc_id and self.may_be_entered(vpc_id)):
            snapshot = self._with_transit_gateways(snapshot, vpc_id, parameters, optional)
        snapshot = self._with_appliances(snapshot, optional)
        if parameters.network_role_arn and _leads_to_transit_gateway(snapshot):
            snapshot = self._with_network_account(snapshot, parameters.network_role_arn, optional)
        if parameters.scope is Scope.DIRECTORY_BUCKETS and snapshot.express_prefix_lists:
            snapshot = self._with_directory_buckets(snapshot, optional)
        return replace(snapshot, denied=(*snapshot.denied, *optional.denied))

    def _network(self, account_id: str, vpc_id: str | None, optional: OptionalReads) -> Snapshot:
        filters = [{"Name": "vpc-id", "Values": [vpc_id]}]
        of_vpc = {"Filters": filters} if vpc_id else {}
        of_vpc_for_gateways = {"Filter": filters} if vpc_id else {}  # this call spells its parameter differently
        subnets = self._read("describe_subnets", "Subnets", subnet, of_vpc)
        # Endpoints and NAT gateways before the tables: what names a table that is created in between would show a partial list.
        endpoints = self._read("describe_vpc_endpoints", "VpcEndpoints", vpc_endpoint, of_vpc)
        vpcs = self._read("describe_vpcs", "Vpcs", vpc, of_vpc)
        gateways = self._read("describe_nat_gateways", "NatGateways", nat_gateway, of_vpc_for_gateways)
        tables = self._read("describe_route_tables", "RouteTables", route_table, of_vpc)
        routes = (route for table in tables.values() for route in table.routes)
        named = {route.destination for route in routes if isinstance(route.destination, str)}
        lists = self._prefix_lists.read(named, families_of(subnets.values()), optional)
        return Snapshot(
            account_id=account_id,
            region=self._aws.region,
            vpcs=vpcs,
            subnets=subnets,
            route_tables=tables,
            vpc_endpoints=endpoints,
            nat_gateways=gateways,
            prefix_lists=lists.by_id,
            lists_ipv6_prefix_lists=lists.are_all_listed,
        )

    def _with_transit_gateways(
        self, snapshot: Snapshot, vpc_id: str | None, parameters: RuleParameters, optional: OptionalReads
    ) -> Snapshot:
        """Add the transit gateways, and if a path can be followed through one, the account's other VPCs."""
        gateways = read_transit_gateways(self._aws, optional)
        if vpc_id and (gateways.route_tables or parameters.network_role_arn):
            snapshot = self._network(snapshot.account_id, None, optional)
        snapshot = replace(
            snapshot,
            transit_gateway_attachments=gateways.attachments,
            transit_gateway_route_tables=gateways.route_tables,
            transit_gateway_policy_tables=gateways.policy_tables,
        )
        return self.with_lists_of_transit_gateways(snapshot, optional)

    def _with_appliances(self, snapshot: Snapshot, optional: OptionalReads) -> Snapshot:
        """Add the network interfaces, instances, and firewalls to which routes lead."""
        tables = snapshot.route_tables.values()
        if target_ids(tables, TargetKind.NETWORK_INTERFACE) or target_ids(tables, TargetKind.INSTANCE):
            interfaces = optional.read(lambda: read_network_interfaces(self._aws, tables))
            instances = optional.read(lambda: read_instances(self._aws, (interfaces or {}).values()))
            snapshot = replace(snapshot, network_interfaces=interfaces, instances=instances or {})
        met = [snapshot.vpc_endpoints.get(endpoint_id) for endpoint_id in target_ids(tables, TargetKind.VPC_ENDPOINT)]
        appliances = [endpoint for endpoint in met if endpoint and endpoint.endpoint_type != "gateway"]
        if appliances:
            snapshot = replace(snapshot, firewalls=read_firewalls(self._aws, appliances, optional))
        return snapshot

    def with_lists_of_transit_gateways(self, snapshot: Snapshot, optional: OptionalReads) -> Snapshot:
        """Add the prefix lists that transit gateways' routes name by their id, unless their entries are known already."""
        tables = (snapshot.transit_gateway_route_tables or {}).values()
        routes = (route for table in tables for route in table.routes)
        named = {route.destination for route in routes if isinstance(route.destination, str)}
        known = {list_id for list_id, prefix_list in snapshot.prefix_lists.items() if prefix_list.cidrs is not None}
        if named <= known:
            return snapshot
        lists = self._prefix_lists.read(named, families_of(snapshot.subnets.values()), optional)
        unread = {list_id: lists.by_id[list_id] for list_id in named - known if list_id in lists.by_id}
        return replace(snapshot, prefix_lists={**snapshot.prefix_lists, **unread})

    def _with_network_account(self, snapshot: Snapshot, role_arn: str, optional: OptionalReads) -> Snapshot:
        """Add what the network account can read: its transit gateways' routes, and the VPCs behind them.

        Nothing is added if the role cannot be assumed, or lacks a read that is required in the rule's own account.
        """
        of_role = OptionalReads()
        role = of_role.read(lambda: assuming(self._aws, role_arn, self.external_id))
        reader, account_id = SnapshotReader(role) if role else None, role_arn.split(":")[4]
        central = of_role.read(partial(reader.read, account_id, None, RuleParameters(), of_role)) if reader else None
        optional.denied += of_role.denied
        seen = merged([snapshot, central]) if central else snapshot
        return replace(seen, denied_to_role=tuple(of_role.refused))

    def _with_directory_buckets(self, snapshot: Snapshot, optional: OptionalReads) -> Snapshot:
        """Add whether there are directory buckets, and if there are none, which subnets the account shares."""
        has_buckets = optional.read(self.has_directory_buckets)
        shared = optional.read(self._read_shared_subnet_ids) if has_buckets is False else None
        return replace(snapshot, has_directory_buckets=has_buckets, shared_subnet_ids=shared)

    def _read_shared_subnet_ids(self) -> frozenset[str] | None:
        """Read the subnets of the Region that the account shares; None if that is unknown. Raise ApiError."""
        return shared_subnet_ids(pages(self._aws.ram, "ram", "list_resources", "resources", **OWN_SUBNETS))

    def vpc_of(self, subnet_id: str) -> str | None:
        """Return the VPC of a subnet, None if there is no such subnet."""
        subnets = filtered(self._aws.ec2, "describe_subnets", "Subnets", "subnet-id", [subnet_id])
        return next((subnet(row).vpc_id for row in subnets), None)

    def may_be_entered(self, vpc_id: str) -> bool:
        """Return whether paths of other VPCs may enter a VPC: it has a transit gateway attachment, or that cannot be read.

        Its own tables need not lead back. The owner of a VPC sees its attachments, whoever owns the transit gateway.
        https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeTransitGatewayVpcAttachments.html
        """
        operation, field = "describe_transit_gateway_vpc_attachments", "TransitGatewayVpcAttachments"
        return unless_denied(lambda: filtered(self._aws.ec2, operation, field, "vpc-id", [vpc_id])) != []

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


def _leads_to_transit_gateway(snapshot: Snapshot) -> bool:
    return bool(target_ids(snapshot.route_tables.values(), TargetKind.TRANSIT_GATEWAY))


@dataclass(frozen=True, slots=True)
class TransitGateways:
    """The transit gateway resources that an account can read, by id; None: could not be read."""

    attachments: Mapping[str, TransitGatewayAttachment] | None
    route_tables: Mapping[str, TransitGatewayRouteTable] | None
    policy_tables: Mapping[str, TransitGatewayPolicyTable] | None


def read_network_interfaces(aws: Aws, tables: Collection[RouteTable]) -> dict[str, NetworkInterface]:
    """Read the network interfaces that routes name by their own id or by that of their instance."""
    interface_ids = target_ids(tables, TargetKind.NETWORK_INTERFACE)
    instance_ids = target_ids(tables, TargetKind.INSTANCE)
    operation, field = "describe_network_interfaces", "NetworkInterfaces"
    rows = [
        *filtered(aws.ec2, operation, field, "network-interface-id", interface_ids),
        *filtered(aws.ec2, operation, field, "attachment.instance-id", instance_ids),
    ]
    return {record.id: record for record in map(network_interface, rows)}


def read_instances(aws: Aws, interfaces: Iterable[NetworkInterface]) -> dict[str, Instance]:
    """Read the instances of interfaces that forward traffic, with the bandwidth of their types' network cards.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_NetworkCardInfo.html
    """
    instance_ids = sorted(
        {interface.instance_id for interface in interfaces if interface.instance_id and not interface.source_dest_check}
    )
    if not instance_ids:
        return {}
    reservations = filtered(aws.ec2, "describe_instances", "Reservations", "instance-id", instance_ids)
    described = [row for reservation in reservations for row in rows(reservation, "Instances", "Reservations")]
    names = sorted({name for row in described if (name := shown(row, "InstanceType", "Instances"))})
    types = filtered(aws.ec2, "describe_instance_types", "InstanceTypes", "instance-type", names)
    by_name = {shown(row, "InstanceType", "InstanceTypes"): row for row in types}
    records = (instance(row, by_name.get(shown(row, "InstanceType", "Instances"), {})) for row in described)
    return {record.id: record for record in records}


def read_firewalls(aws: Aws, endpoints: Sequence[VpcEndpoint], optional: OptionalReads) -> dict[str, Firewall] | None:
    """Read the firewalls that name these endpoints as their own; None if nothing could be read.

    Endpoints in other VPCs than the firewall's have an association, which does not say whether the firewall translates.
    A firewall of another account that cannot be described is left out, and so is one that was just deleted.
    """
    described = describe_firewalls(aws, optional, sorted({endpoint.vpc_id for endpoint in endpoints}))
    by_arn = firewalls(described or ())
    named = {endpoint_id for firewall in by_arn.values() for endpoint_id in firewall.named_endpoint_ids}
    if all(endpoint.id in named for endpoint in endpoints):
        return by_arn
    associations = describe_endpoint_associations(aws, optional)
    if described is None and associations is None:
        return None
    more = {association_firewall(answer) for answer in associations or ()} - by_arn.keys()
    answers = (_describe(aws, optional, "describe_firewall", "FirewallArn", arn) for arn in sorted(more))
    return firewalls([*(described or ()), *filter(None, answers)], associations or ())


def describe_firewalls(aws: Aws, optional: OptionalReads, vpc_ids: Sequence[str] = ()) -> list[Description] | None:
    """Describe the firewalls of the Region, or those of some VPCs; None if they cannot be listed."""
    of_vpcs = {"VpcIds": list(vpc_ids)} if vpc_ids else {}
    client = aws.client("network-firewall")
    listed = optional.read(lambda: pages(client, "network-firewall", "list_firewalls", "Firewalls", **of_vpcs))
    if listed is None:
        return None
    arns = [arn for row in listed if (arn := shown(row, "FirewallArn", "Firewalls"))]
    answers = (_describe(aws, optional, "describe_firewall", "FirewallArn", arn) for arn in arns)
    return [answer for answer in answers if answer]


def describe_endpoint_associations(aws: Aws, optional: OptionalReads) -> list[Description] | None:
    """Describe the endpoints that firewalls have in other VPCs; None if they cannot be listed."""
    client, field = aws.client("network-firewall"), "VpcEndpointAssociationArn"
    listed = optional.read(
        lambda: pages(client, "network-firewall", "list_vpc_endpoint_associations", "VpcEndpointAssociations")
    )
    if listed is None:
        return None
    arns = [arn for row in listed if (arn := shown(row, field, "VpcEndpointAssociations"))]
    answers = (_describe(aws, optional, "describe_vpc_endpoint_association", field, arn) for arn in arns)
    return [answer for answer in answers if answer]


def _describe(aws: Aws, optional: OptionalReads, operation: str, field: str, arn: str) -> Description | None:
    """Describe one resource of Network Firewall; None if that is denied, or if it does not exist any more."""

    def read() -> Description:
        with calling("network-firewall:" + "".join(map(str.capitalize, operation.split("_")))):
            answer: Description = getattr(aws.client("network-firewall"), operation)(**{field: arn})
            return answer

    try:
        return optional.read(read)
    except ApiError as error:
        if error.code == "ResourceNotFoundException":
            return None
        raise


def read_transit_gateways(aws: Aws, optional: OptionalReads) -> TransitGateways:
    """Read attachments, and the route tables and policy tables that they are associated with, or that these lead to."""
    described = optional.read(
        lambda: pages(aws.ec2, "ec2", "describe_transit_gateway_attachments", "TransitGatewayAttachments")
    )
    of_vpcs = optional.read(
        lambda: pages(aws.ec2, "ec2", "describe_transit_gateway_vpc_attachments", "TransitGatewayVpcAttachments")
    )
    by_id = None if described is None and of_vpcs is None else attachments(described or [], of_vpcs or [])
    policy_table_ids = {attachment.policy_table_id for attachment in (by_id or {}).values()}
    policy_tables = {}
    for table_id in sorted(filter(None, policy_table_ids)):
        entries = optional.read(partial(read_policy_table_entries, aws, table_id))
        if entries is not None:
            policy_tables[table_id] = transit_gateway_policy_table(table_id, entries)
    route_table_ids = {attachment.route_table_id for attachment in (by_id or {}).values()}
    route_table_ids |= {entry.table_id for table in policy_tables.values() for entry in table.entries}
    tables = {}
    for table_id in sorted(filter(None, route_table_ids)):
        table = optional.read(partial(read_transit_gateway_routes, aws, table_id))
        if table:
            tables[table_id] = transit_gateway_route_table(table_id, table)
    return TransitGateways(by_id, tables or None, policy_tables or None)


def read_policy_table_entries(aws: Aws, table_id: str) -> list[Description]:
    """Read the entries of a transit gateway policy table. Raise ApiError."""
    operation, field = "get_transit_gateway_policy_table_entries", "TransitGatewayPolicyTableEntries"
    return pages(aws.ec2, "ec2", operation, field, TransitGatewayPolicyTableId=table_id)


def read_transit_gateway_routes(aws: Aws, table_id: str) -> dict[str, Any]:
    """Read all pages of SearchTransitGatewayRoutes as one; AdditionalRoutesAvailable is that of the last page."""
    with calling("ec2:SearchTransitGatewayRoutes"):
        paginator = aws.ec2.get_paginator("search_transit_gateway_routes")
        answers = list(
            paginator.paginate(
                TransitGatewayRouteTableId=table_id,
                Filters=[{"Name": "state", "Values": ["active", "blackhole"]}],
            )
        )
    routes = [row for page in answers for row in page.get("Routes", [])]
    more = any(page.get("AdditionalRoutesAvailable") is True for page in answers[-1:])
    return {"Routes": routes, "AdditionalRoutesAvailable": more}


REMEMBERED_SECONDS = 15 * 60
_Version = tuple[object, object, object]


class PrefixListReader:
    """Reads the prefix lists of the Region that are needed, and remembers them for 15 minutes.

    Customers may change theirs at any time, so those are described every time, and their entries are read again if
    there is a new version, which adding or removing entries creates
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ModifyManagedPrefixList.html).
    """

    def __init__(self, ec2: "EC2Client", region: str, clock: Callable[[], float] = time.time) -> None:
        """Read nothing yet. clock returns seconds, including those in which Lambda keeps the function frozen."""
        self._ec2 = ec2
        self._region = region
        self._clock = clock
        self._forget()

    def _forget(self) -> None:
        self._read_at = self._clock()
        self._plain: list[Description] | None = None
        self._managed: list[Description] | None = None
        self._entries: dict[_Version, list[Description] | None] = {}

    def read(self, wanted: Collection[str], families: Collection[Family], optional: OptionalReads) -> PrefixLists:
        """Return every AWS-managed list, and those among wanted that can be read.

        families are those of the subnets' addresses. Usually one call of DescribePrefixLists is enough. Only if it does
        not return a wanted list, or S3 Express's list of one of the families, DescribeManagedPrefixLists and
        GetManagedPrefixListEntries are called too, which may be denied.
        """
        if not 0 <= self._clock() - self._read_at <= REMEMBERED_SECONDS:
            self._forget()
        if self._plain is None:
            self._plain = pages(self._ec2, "ec2", "describe_prefix_lists", "PrefixLists")
        plain = prefix_lists(self._plain)
        if self._lacks(prefix_lists(self._plain, self._managed or ()), wanted, families):
            self._managed = optional.read(
                lambda: pages(self._ec2, "ec2", "describe_managed_prefix_lists", "PrefixLists")
            )
        managed, entries = self._managed or [], {}
        listed = prefix_lists(self._plain, managed)
        for description in managed:
            list_id, version = str(description.get("PrefixListId")), _version(description)
            known = listed.get(list_id)
            is_needed = known is not None and bool(express_name(known, self._region)) and known.family in families
            is_wanted = list_id in wanted or is_needed
            readable = list_id in plain and plain[list_id].cidrs is not None
            if is_wanted and not readable and version not in self._entries:
                self._entries[version] = optional.read(partial(self._entries_of, list_id))
            rows = self._entries.get(version)
            if rows is not None:
                entries[list_id] = rows
        are_all_listed = shows_express_lists(managed, self._region)
        return PrefixLists(prefix_lists(self._plain, managed, entries), are_all_listed)

    def _lacks(self, known: Mapping[str, PrefixList], wanted: Collection[str], families: Collection[Family]) -> bool:
        """Return whether a wanted list is a customer's or unknown, or S3 Express's list of a family is unknown."""
        express = {record.family for record in known.values() if express_name(record, self._region)}
        lacks_family = bool(express) and self._managed is None and not set(families) <= express
        return lacks_family or any(list_id not in known or not known[list_id].aws_owned for list_id in wanted)

    def _entries_of(self, list_id: str) -> list[Description]:
        return pages(self._ec2, "ec2", "get_managed_prefix_list_entries", "Entries", PrefixListId=list_id)


def _version(description: Description) -> _Version:
    """Return what identifies a version of a list; while its state shows a change, its entries may still change."""
    return description.get("PrefixListId"), description.get("Version"), description.get("State")


def families_of(subnets: Iterable[Subnet]) -> set[Family]:
    """Return the families whose lists decide the subnets' paths: IPv4 (for NAT64 too), and IPv6 if a subnet has it."""
    return {Family.IPV4, Family.IPV6} if any(subnet.has_ipv6 for subnet in subnets) else {Family.IPV4}
