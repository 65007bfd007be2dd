"""Expand a network file to a dump: the folder of JSON files that `express-path collect` and the AWS CLI write.

A row is a description in the format of the AWS CLI. A function's keyword parameters are the options that a network file
can give; any other option raises TypeError. A route is written `<destination> -> <target>`, and one of a transit gateway
`<CIDR> -> <attachment>` or `<CIDR> -> blackhole`. The reader of network files is strict: it rejects repeated keys.
"""

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from yaml import CSafeLoader, MappingNode, load

from express_path_cli.sources import dump
from express_path_cli.sources.dump import ENTRIES_FOLDER, ROUTES_FOLDER

# --- VPCs, subnets, and NAT gateways ----------------------------------------------------------------------------------


Row = dict[str, Any]
Tags = Mapping[str, str]

ZONES = {"us-east-1": ("use1", 4), "eu-south-1": ("eus1", 1), "eu-west-1": ("euw1", 1)}
"""The prefix of a Region's zone ids, and the number of the zone that the account calls a."""
VPC_IPV6, SUBNET_IPV6 = "2600:1f18:7c4a:b000::/56", "2600:1f18:7c4a:b0{}0::/64"


class AccountRegion(NamedTuple):
    """The account and Region of a dump."""

    account: str
    region: str

    def arn(self, service: str, resource: str, owner: str = "") -> str:
        """Return the ARN of a resource in this Region."""
        return f"arn:aws:{service}:{self.region}:{owner or self.account}:{resource}"


class Vpc(NamedTuple):
    """The values of a VPC that the rows of its resources repeat."""

    id: str
    owner: str
    cidrs: tuple[str, ...]
    ipv6: bool
    place: AccountRegion


def name_of(resource_id: str) -> str:
    """Return the name in a readable id: private-a for subnet-private-a, spokes for tgw-rtb-spokes."""
    kind = next((kind for kind in ("tgw-attach-", "tgw-rtb-") if resource_id.startswith(kind)), "")
    return resource_id.removeprefix(kind) if kind else resource_id.partition("-")[2]


def tag_list(resource_id: str, tags: Tags | None) -> list[Row]:
    """Return the Name tag, with the name from the id, and the given tags."""
    given = {"Name": name_of(resource_id)} | dict(tags or {})
    return [{"Key": key, "Value": value} for key, value in given.items()]


def with_fields(row: Row, fields: Mapping[str, Any] | None) -> Row:
    """Return the row with these fields, spelled as in the AWS CLI, set; a field that is null is removed."""
    return {key: value for key, value in (row | dict(fields or {})).items() if value is not None}


def vpc_row(vpc: Vpc, *, tags: Tags | None = None, fields: Row | None = None) -> Row:
    """Return a row of DescribeVpcs."""
    row = {
        "OwnerId": vpc.owner,
        "Tags": tag_list(vpc.id, tags) if tags or vpc.owner == vpc.place.account else [],
        "BlockPublicAccessStates": {"InternetGatewayBlockMode": "off"},
        "VpcId": vpc.id,
    }
    return with_fields(row, fields)


def zone_fields(region: str, letter: str) -> Row:
    """Return the name and the id of an Availability Zone for its letter."""
    prefix, first = ZONES[region]
    zone_id = f"{prefix}-az{first + ord(letter) - ord('a')}"
    return {"AvailabilityZone": region + letter, "AvailabilityZoneId": zone_id}


def subnet_row(  # one parameter for each option of a network file
    vpc: Vpc,
    subnet_id: str,
    *,
    cidr: str | None = None,
    zone: str = "a",
    map_public_ip: bool = False,
    ipv6: Iterable[str] = (),
    dns64: bool = False,
    block_public_access: str = "off",
    owner: str = "",
    tags: Tags | None = None,
    fields: Row | None = None,
) -> Row:
    """Return a row of DescribeSubnets; ipv6 lists the states of its IPv6 blocks; without cidr, it is IPv6-native."""
    owner = owner or vpc.owner
    row = {
        **zone_fields(vpc.place.region, zone),
        "OwnerId": owner,
        "Ipv6CidrBlockAssociationSet": [
            {
                "Ipv6CidrBlock": SUBNET_IPV6.format(number),
                "Ipv6CidrBlockState": {"State": state},
            }
            for number, state in enumerate(ipv6, start=1)
        ],
        "Tags": tag_list(subnet_id, tags) if tags or owner == vpc.place.account else None,
        "EnableDns64": dns64,
        "Ipv6Native": cidr is None,
        "BlockPublicAccessStates": {"InternetGatewayBlockMode": block_public_access},
        "SubnetId": subnet_id,
        "VpcId": vpc.id,
        "CidrBlock": cidr,
        "MapPublicIpOnLaunch": map_public_ip,
    }
    return with_fields(row, fields)


def nat_gateway_row(  # one parameter for each option of a network file
    vpc: Vpc,
    nat_id: str,
    *,
    subnet: str | None = None,
    route_table: str | None = None,
    state: str = "available",
    connectivity: str = "public",
    fields: Row | None = None,
) -> Row:
    """Return a row of DescribeNatGateways; without a subnet, it is regional and can have a route table."""
    row = {
        "NatGatewayAddresses": [{"NetworkInterfaceId": f"eni-of-{nat_id}", "PrivateIp": "10.0.0.73"}] if subnet else [],
        "NatGatewayId": nat_id,
        "State": state,
        "SubnetId": subnet,
        "VpcId": vpc.id,
        "Tags": tag_list(nat_id, None),
        "ConnectivityType": connectivity,
        "AvailabilityMode": "zonal" if subnet else "regional",
        "RouteTableId": route_table,
    }
    return with_fields(row, fields)


# --- route tables -----------------------------------------------------------------------------------------------------


ROUTE = re.compile(
    r"(?P<destination>\S+) -> (?P<target>\S+)(?: of (?P<instance>i-\S+))?"
    r"(?: (?P<note>blackhole|propagated|advertised))?"
)
TARGET_FIELDS = {
    "arn:aws:networkmanager": "CoreNetworkArn",
    "arn:aws:odb": "OdbNetworkArn",
    "cagw-": "CarrierGatewayId",
    "eigw-": "EgressOnlyInternetGatewayId",
    "eni-": "NetworkInterfaceId",
    "i-": "InstanceId",
    "lgw-": "LocalGatewayId",
    "nat-": "NatGatewayId",
    "pcx-": "VpcPeeringConnectionId",
    "tgw-": "TransitGatewayId",
}
"""The field of a route that names its target, by how the target's id begins; GatewayId for all others."""
ORIGINS = {"propagated": "EnableVgwRoutePropagation", "advertised": "Advertisement"}


def route_table_row(  # one parameter for each option of a network file
    vpc: Vpc,
    table_id: str,
    *,
    main: bool = False,
    subnets: Sequence[str] | Mapping[str, str] = (),
    gateways: Iterable[str] = (),
    routes: Iterable[str | Row] = (),
    tags: Tags | None = None,
    fields: Row | None = None,
) -> Row:
    """Return a row of DescribeRouteTables. Every table begins with the local routes of its VPC.

    subnets lists those that are associated; a mapping says the state of each association.
    """
    states = subnets if isinstance(subnets, Mapping) else dict.fromkeys(subnets, "associated")
    row = {
        "Associations": [
            *([_association(main=True)] if main else []),
            *(_association(state, SubnetId=subnet) for subnet, state in states.items()),
            *(_association(GatewayId=gateway) for gateway in gateways),
        ],
        "RouteTableId": table_id,
        "Routes": [*_local_routes(vpc), *(_route(route, vpc.place.account) for route in routes)],
        "Tags": tag_list(table_id, tags) if tags or vpc.owner == vpc.place.account else [],
        "VpcId": vpc.id,
        "OwnerId": vpc.owner,
    }
    return with_fields(row, fields)


def _association(state: str = "associated", *, main: bool = False, **other_end: str) -> Row:
    return {"Main": main, **other_end, "AssociationState": {"State": state}}


def _local_routes(vpc: Vpc) -> Iterator[Row]:
    for cidr in (*vpc.cidrs, *([VPC_IPV6] if vpc.ipv6 else [])):
        destination = destination_field(cidr)
        yield {destination: cidr, "GatewayId": "local", "Origin": "CreateRouteTable", "State": "active"}


def destination_field(destination: str) -> str:
    """Return the name of the field for a route's destination."""
    if destination.startswith("pl-"):
        return "DestinationPrefixListId"
    return "DestinationIpv6CidrBlock" if ":" in destination else "DestinationCidrBlock"


def _route(route: str | Row, account: str) -> Row:
    """Return a route; a mapping is returned unchanged. Raises ValueError if the text is not a route."""
    if not isinstance(route, str):
        return route
    found = ROUTE.fullmatch(route)
    if not found:
        raise ValueError(f"{route!r} is no route such as '0.0.0.0/0 -> nat-a', '... -> eni-a of i-a blackhole'")
    destination, target, instance, note = found.groups()
    instance = target if target.startswith("i-") else instance
    return {
        destination_field(destination): destination,
        **({"InstanceId": instance, "InstanceOwnerId": account} if instance else {}),
        _target_field(target): target,
        "Origin": ORIGINS.get(note, "CreateRoute"),
        "State": "blackhole" if note == "blackhole" else "active",
    }


def _target_field(target: str) -> str:
    return next((field for prefix, field in TARGET_FIELDS.items() if target.startswith(prefix)), "GatewayId")


# --- endpoints, firewalls, and interfaces -----------------------------------------------------------------------------


FULL_ACCESS = {
    "Version": "2008-10-17",
    "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}],
}


def gateway_endpoint_row(  # one parameter for each option of a network file
    vpc: Vpc,
    endpoint_id: str,
    *,
    service: str = "s3express",
    route_tables: Sequence[str] = (),
    ip_address_type: str = "ipv4",
    state: str = "available",
    policy: Row = FULL_ACCESS,
    fields: Row | None = None,
) -> Row:
    """Return a gateway endpoint's row of DescribeVpcEndpoints; route_tables are the tables that it lists."""
    row = {
        "VpcEndpointId": endpoint_id,
        "VpcEndpointType": "Gateway",
        "VpcId": vpc.id,
        "ServiceName": f"com.amazonaws.{vpc.place.region}.{service}",
        "State": state,
        "PolicyDocument": json.dumps(policy, separators=(",", ":")),
        "RouteTableIds": list(route_tables),
        "SubnetIds": [],
        "IpAddressType": ip_address_type,
        "Tags": tag_list(endpoint_id, None),
        "OwnerId": vpc.owner,
    }
    return with_fields(row, fields)


def load_balancer_endpoint_row(
    vpc: Vpc, endpoint_id: str, *, subnet: str, network_firewall_tag: bool = False, fields: Row | None = None
) -> Row:
    """Return a Gateway Load Balancer endpoint's row of DescribeVpcEndpoints; firewalls use these endpoints too."""
    firewall = {"Firewall": firewall_arn(vpc.place, "firewall"), "AWSNetworkFirewallManaged": "true"}
    row = {
        "VpcEndpointId": endpoint_id,
        "VpcEndpointType": "GatewayLoadBalancer",
        "VpcId": vpc.id,
        "ServiceName": f"com.amazonaws.vpce.{vpc.place.region}.vpce-svc-0d6a3f81c95be7240",
        "State": "available",
        "RouteTableIds": [],
        "SubnetIds": [subnet],
        "IpAddressType": "ipv4",
        "NetworkInterfaceIds": [f"eni-of-{endpoint_id}"],
        "Tags": [{"Key": key, "Value": value} for key, value in firewall.items()]
        if network_firewall_tag
        else tag_list(endpoint_id, None),
        "OwnerId": vpc.owner,
    }
    return with_fields(row, fields)


def firewall_arn(place: AccountRegion, name: str, owner: str = "") -> str:
    """Return the ARN of a firewall of AWS Network Firewall."""
    return place.arn("network-firewall", f"firewall/{name}", owner)


def firewall_response(
    place: AccountRegion,
    name: str,
    *,
    endpoints: Sequence[str] = (),
    proxy: bool = False,
    nat_scope: str | None = None,
    nat_gateway: str | None = None,
    owner: str = "",
) -> Row:
    """Return the answer of DescribeFirewall: endpoints are in zones a, b, ...; nat_gateway is attached in each."""
    attached = [{"NatGatewayId": nat_gateway, "Status": "READY"}] if nat_gateway else []
    zones = {
        f"{place.region}{letter}": {
            "Attachment": {"SubnetId": "subnet-of-the-firewall", "EndpointId": endpoint_id, "Status": "READY"},
            **({"NatGatewayAttachments": attached} if attached else {}),
        }
        for letter, endpoint_id in zip("abcdef", endpoints, strict=False)
    }
    firewall = {
        "FirewallName": name,
        "FirewallArn": firewall_arn(place, name, owner),
        "ProxySettings": {"ListenerProperties": [{"Port": 3128, "Type": "HTTP"}]} if proxy else None,
        "TransparentFilteringNatScope": nat_scope,
    }
    status = {"Status": "READY", "SyncStates": zones}
    return {"Firewall": with_fields(firewall, None), "FirewallStatus": status}


def association_response(place: AccountRegion, name: str, *, firewall: str, endpoint: str, owner: str = "") -> Row:
    """Return the answer of DescribeVpcEndpointAssociation: a firewall's endpoint in another VPC."""
    association = {
        "VpcEndpointAssociationId": name,
        "VpcEndpointAssociationArn": firewall_arn(place, name, "").replace(":firewall/", ":vpc-endpoint-association/"),
        "FirewallArn": firewall_arn(place, firewall, owner),
    }
    attachment = {"SubnetId": "subnet-of-the-endpoint", "EndpointId": endpoint, "Status": "READY"}
    status = {"Status": "READY", "AssociationSyncState": {f"{place.region}a": {"Attachment": attachment}}}
    return {"VpcEndpointAssociation": association, "VpcEndpointAssociationStatus": status}


def network_interface_row(  # one parameter for each option of a network file
    place: AccountRegion,
    interface_id: str,
    *,
    vpc: str,
    subnet: str,
    source_dest_check: bool,
    instance: str | None = None,
    device_index: int = 0,
    address: str = "10.0.0.20",
    fields: Row | None = None,
) -> Row:
    """Return a row of DescribeNetworkInterfaces; without an instance, the interface is not attached."""
    attachment = {"DeviceIndex": device_index, "InstanceId": instance, "Status": "attached"}
    row = {
        "Attachment": attachment if instance else None,
        **zone_fields(place.region, "a"),
        "NetworkInterfaceId": interface_id,
        "OwnerId": place.account,
        "PrivateIpAddress": address,
        "SourceDestCheck": source_dest_check,
        "Status": "in-use" if instance else "available",
        "SubnetId": subnet,
        "TagSet": tag_list(interface_id, None),
        "VpcId": vpc,
    }
    return with_fields(row, fields)


# --- the account ------------------------------------------------------------------------------------------------------


def identity(place: AccountRegion) -> Row:
    """Return the response of GetCallerIdentity, with the Region that a dump adds to it."""
    return {
        "UserId": "AROA4X7Q2M9LD5K3B6T1Z:auditor",
        "Account": place.account,
        "Arn": f"arn:aws:sts::{place.account}:assumed-role/NetworkAuditor/auditor",
        "Region": place.region,
    }


def directory_bucket_row(place: AccountRegion, name: str) -> Row:
    """Return a row of S3's ListDirectoryBuckets."""
    return {
        "Name": name,
        "BucketArn": place.arn("s3express", f"bucket/{name}"),
    }


def shared_subnet_row(place: AccountRegion, subnet_id: str) -> Row:
    """Return a row of RAM's ListResources for a subnet that the account shares with others."""
    return {
        "arn": place.arn("ec2", f"subnet/{subnet_id}"),
        "type": "ec2:Subnet",
    }


# --- prefix lists -----------------------------------------------------------------------------------------------------


S3_CIDRS = ("54.231.0.0/16", "52.216.0.0/15", "3.5.0.0/19", "16.182.0.0/16", "18.34.0.0/19")
DYNAMODB_CIDRS = ("52.94.0.0/22", "3.218.180.0/22", "35.71.68.0/22")
S3EXPRESS_CIDRS = (
    "3.4.112.0/22",
    "16.15.64.0/18",
    "18.97.32.0/20",
    "44.220.0.0/16",
    "52.219.224.0/23",
    "54.226.96.0/24",
)
S3EXPRESS_IPV6_CIDRS = ("2600:1fa0:8100::/40", "2600:1fb8:4000::/36")


class PrefixListOfAws(NamedTuple):
    """A prefix list that AWS owns."""

    id: str
    name: str
    cidrs: Sequence[str]


def lists_of_aws(place: AccountRegion, s3express: Sequence[str], *, s3express_ipv6: bool) -> list[PrefixListOfAws]:
    """Return the lists of a Region; s3express is empty if the Region does not have S3 Express."""
    service = f"com.amazonaws.{place.region}"
    lists = [
        PrefixListOfAws("pl-s3", f"{service}.s3", S3_CIDRS),
        PrefixListOfAws("pl-dynamodb", f"{service}.dynamodb", DYNAMODB_CIDRS),
        PrefixListOfAws("pl-s3express", f"{service}.s3express", s3express),
        PrefixListOfAws(
            "pl-s3express-ipv6", f"{service}.ipv6.s3express", S3EXPRESS_IPV6_CIDRS if s3express_ipv6 else ()
        ),
    ]
    return [row for row in lists if row.cidrs]


def prefix_list_row(listed: PrefixListOfAws) -> Row:
    """Return a row of DescribePrefixLists."""
    return {"Cidrs": list(listed.cidrs), "PrefixListId": listed.id, "PrefixListName": listed.name}


def managed_row(listed: PrefixListOfAws) -> Row:
    """Return an AWS-managed list's row of DescribeManagedPrefixLists."""
    return {
        "PrefixListId": listed.id,
        "AddressFamily": "IPv6" if ":" in listed.cidrs[0] else "IPv4",
        "PrefixListName": listed.name,
        "OwnerId": "AWS",
    }


def customer_row(  # one parameter for each option of a network file
    place: AccountRegion,
    list_id: str,
    *,
    name: str = "",
    owner: str = "",
    family: str = "IPv4",
    entries: object = None,  # noqa: ARG001  # in a file of their own
    fields: Row | None = None,
) -> Row:
    """Return a customer-managed list's row of DescribeManagedPrefixLists."""
    row = {
        "PrefixListId": list_id,
        "AddressFamily": family,
        "PrefixListName": name or name_of(list_id),
        "MaxEntries": 20,
        "Tags": tag_list(list_id, None),
        "OwnerId": owner or place.account,
    }
    return with_fields(row, fields)


def entries_response(list_id: str, entries: Sequence[str]) -> Mapping[str, Any]:
    """Return the response of GetManagedPrefixListEntries."""
    return {"Entries": [{"Cidr": cidr, "Description": name_of(list_id)} for cidr in entries]}


# --- transit gateways -------------------------------------------------------------------------------------------------


TRANSIT_GATEWAY_ROUTE = re.compile(
    r"(?P<cidr>\S+) -> (?P<targets>\S+(?: and \S+)?)(?: (?P<propagated>propagated))?(?: by (?P<prefix_list>pl-\S+))?"
)
Attachments = Mapping[str, Mapping[str, Any]]


def attachment_row(  # one parameter for each option of a network file
    gateway_id: str,
    attachment_id: str,
    *,
    owner: str,
    vpc: str = "",
    type: str = "vpc",  # noqa: A002  # as the option is called
    resource: str = "",
    table: str | None = None,
    vpc_owner: str = "",
    subnets: object = None,  # noqa: ARG001  # in the row of DescribeTransitGatewayVpcAttachments
    transport: object = None,  # noqa: ARG001  # in the row of DescribeTransitGatewayConnects
    appliance_mode: bool = False,  # noqa: ARG001  # likewise
    fields: Row | None = None,
) -> Row:
    """Return a row of DescribeTransitGatewayAttachments; table is the route table associated with it."""
    row = {
        "TransitGatewayAttachmentId": attachment_id,
        "TransitGatewayId": gateway_id,
        "TransitGatewayOwnerId": owner,
        "ResourceOwnerId": vpc_owner or owner,
        "ResourceType": type,
        "ResourceId": vpc or resource,
        "State": "available",
        "Association": {"TransitGatewayRouteTableId": table, "State": "associated"} if table else None,
        "Tags": tag_list(attachment_id, None),
    }
    return with_fields(row, fields)


def vpc_attachment_row(gateway_id: str, attachment_id: str, owner: str, options: Mapping[str, Any]) -> Row:
    """Return a row of DescribeTransitGatewayVpcAttachments."""
    return {
        "TransitGatewayAttachmentId": attachment_id,
        "TransitGatewayId": gateway_id,
        "VpcId": options["vpc"],
        "VpcOwnerId": options.get("vpc_owner", owner),
        "State": "available",
        "SubnetIds": options["subnets"],
        "Options": {
            "ApplianceModeSupport": "enable" if options.get("appliance_mode") else "disable",
        },
        "Tags": tag_list(attachment_id, None),
    }


def connect_row(gateway_id: str, attachment_id: str, transport: str) -> Row:
    """Return a row of DescribeTransitGatewayConnects."""
    return {
        "TransitGatewayAttachmentId": attachment_id,
        "TransportTransitGatewayAttachmentId": transport,
        "TransitGatewayId": gateway_id,
        "State": "available",
        "Options": {"Protocol": "gre"},
        "Tags": tag_list(attachment_id, None),
    }


def transit_gateway_table_row(gateway_id: str, table_id: str) -> Row:
    """Return a row of DescribeTransitGatewayRouteTables."""
    return {
        "TransitGatewayRouteTableId": table_id,
        "TransitGatewayId": gateway_id,
        "State": "available",
        "Tags": tag_list(table_id, None),
    }


def policy_entry_row(
    *, number: int, table: str, source: str = "*", destination: str = "*", protocol: str = "*", port: str = "*"
) -> Row:
    """Return an entry of GetTransitGatewayPolicyTableEntries. port is that of the destination."""
    return {
        "PolicyRuleNumber": str(number),
        "PolicyRule": {
            "SourceCidrBlock": source,
            "SourcePortRange": "*",
            "DestinationCidrBlock": destination,
            "DestinationPortRange": port,
            "Protocol": protocol,
        },
        "TargetRouteTableId": table,
        "State": "active",
    }


def routes_response(routes: Sequence[str], attachments: Attachments) -> Row:
    """Return the response of SearchTransitGatewayRoutes; a last route `...` means that there are more routes."""
    shown = [route for route in routes if route != "..."]
    return {
        "Routes": [_transit_gateway_route(route, attachments) for route in shown],
        "AdditionalRoutesAvailable": len(shown) < len(routes),
    }


def _transit_gateway_route(route: str, attachments: Attachments) -> Row:
    """Return a route. Raises ValueError if the text is not a route."""
    found = TRANSIT_GATEWAY_ROUTE.fullmatch(route)
    if not found:
        raise ValueError(f"{route!r} is no route such as '0.0.0.0/0 -> tgw-attach-egress', '... -> blackhole'")
    cidr, targets, propagated, prefix_list = found.groups()
    is_blackhole = targets == "blackhole"
    row = {
        "DestinationCidrBlock": cidr,
        "PrefixListId": prefix_list,
        "TransitGatewayAttachments": None
        if is_blackhole
        else [_target(target, attachments[target]) for target in targets.split(" and ")],
        "Type": "propagated" if propagated else "static",
        "State": "blackhole" if is_blackhole else "active",
    }
    return with_fields(row, None)


def _target(attachment_id: str, options: Mapping[str, Any]) -> Row:
    return {
        "ResourceId": options.get("vpc") or options["resource"],
        "TransitGatewayAttachmentId": attachment_id,
        "ResourceType": options.get("type", "vpc"),
    }


# --- the folder -------------------------------------------------------------------------------------------------------


Options = Mapping[str, Any]
Resources = Mapping[str, Options | None]
"""Resources by id, each with its options; null for one that has none."""
Responses = dict[str, Mapping[str, Any]]
"""What each file of a dump holds, by the file's path below the dump's folder."""


def write_dump(folder: Path, network: Options) -> None:
    """Write the dump of one account and Region.

    Raises KeyError for a section, and TypeError for an option, that network files do not have.
    """
    place = AccountRegion(network.get("account", "123456789012"), network.get("region", "us-east-1"))
    sections = {"prefix_lists": {}} | {key: value for key, value in network.items() if key not in place._fields}
    responses: Responses = {dump.IDENTITY: identity(place)}
    for section, value in sections.items():
        responses |= SECTIONS[section](place, value)
    for path, response in responses.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(response) if response else "", encoding="utf-8")


def _listed(file: dump.DumpFile, rows: Sequence[Row]) -> Responses:
    return {file.name: {file.field: rows}}


def _options(resources: Resources | None) -> Iterator[tuple[str, Options]]:
    for resource_id, options in (resources or {}).items():
        yield resource_id, options or {}


def _vpc_files(place: AccountRegion, vpcs: Resources) -> Responses:
    rows: dict[dump.DumpFile, list[Row]] = {file: [] for file in dump.REQUIRED if file is not dump.PREFIX_LISTS}
    for vpc_id, options in _options(vpcs):
        _add_vpc(rows, place, vpc_id, **options)
    return {path: response for file, listed in rows.items() for path, response in _listed(file, listed).items()}


def _add_vpc(  # one parameter for each option of a network file
    rows: dict[dump.DumpFile, list[Row]],
    place: AccountRegion,
    vpc_id: str,
    *,
    cidr: str = "10.0.0.0/16",
    secondary_cidrs: Sequence[str] = (),
    ipv6: bool = False,
    owner: str = "",
    subnets: Resources | None = None,
    route_tables: Resources | None = None,
    nat_gateways: Resources | None = None,
    gateway_endpoints: Resources | None = None,
    gateway_load_balancer_endpoints: Resources | None = None,
    **options: Any,
) -> None:
    """Add the rows of a VPC and of its resources."""
    vpc = Vpc(vpc_id, owner or place.account, (cidr, *secondary_cidrs), ipv6, place)
    rows[dump.VPCS] += [vpc_row(vpc, **options)]
    rows[dump.SUBNETS] += [subnet_row(vpc, key, **value) for key, value in _options(subnets)]
    rows[dump.ROUTE_TABLES] += [route_table_row(vpc, key, **value) for key, value in _options(route_tables)]
    rows[dump.NAT_GATEWAYS] += [nat_gateway_row(vpc, key, **value) for key, value in _options(nat_gateways)]
    rows[dump.VPC_ENDPOINTS] += [
        *(gateway_endpoint_row(vpc, key, **value) for key, value in _options(gateway_endpoints)),
        *(load_balancer_endpoint_row(vpc, key, **value) for key, value in _options(gateway_load_balancer_endpoints)),
    ]


def _prefix_list_files(place: AccountRegion, section: Options) -> Responses:
    return _prefix_lists(place, **section)


def _prefix_lists(
    place: AccountRegion,
    *,
    s3express: Sequence[str] = S3EXPRESS_CIDRS,
    s3express_ipv6: bool = False,
    s3express_entries: Sequence[str] = (),
    customers: Resources | None = None,
) -> Responses:
    """Return the files of prefix lists; a customer-managed list without entries is one that could not be read.

    s3express_entries are what GetManagedPrefixListEntries returns of pl-s3express, if it was called.
    """
    lists = lists_of_aws(place, s3express, s3express_ipv6=s3express_ipv6)
    responses = _listed(dump.PREFIX_LISTS, [prefix_list_row(row) for row in lists])
    if s3express_entries:
        responses[f"{dump.ENTRIES_FOLDER}/pl-s3express.json"] = entries_response("pl-s3express", s3express_entries)
    if customers is None:
        return responses
    managed = [
        *(managed_row(row) for row in lists),
        *(customer_row(place, key, **value) for key, value in _options(customers)),
    ]
    responses |= _listed(dump.MANAGED_PREFIX_LISTS, managed)
    for list_id, options in _options(customers):
        if "entries" in options:
            path = f"{dump.ENTRIES_FOLDER}/{list_id}.json"
            responses[path] = entries_response(list_id, options["entries"])
    return responses


def _firewall_files(place: AccountRegion, firewalls: Resources) -> Responses:
    """Return the files of firewalls; null stands for a folder without dump, as without permission."""
    return {
        f"{dump.FIREWALLS_FOLDER}/{name}.json": firewall_response(place, name, **options)
        for name, options in _options(firewalls)
    }


def _association_files(place: AccountRegion, associations: Mapping[str, Options]) -> Responses:
    return {
        f"{dump.ASSOCIATIONS_FOLDER}/{name}.json": association_response(place, name, **options)
        for name, options in associations.items()
    }


def _interface_files(place: AccountRegion, interfaces: Resources) -> Responses:
    rows = [network_interface_row(place, key, **options) for key, options in _options(interfaces)]
    return _listed(dump.NETWORK_INTERFACES, rows)


def _transit_gateway_files(place: AccountRegion, section: Options) -> Responses:
    return _transit_gateway(**({"owner": place.account} | dict(section)))


def _transit_gateway(
    *,
    id: str,  # noqa: A002  # as the option is called
    owner: str,
    attachments: Mapping[str, Options],
    route_tables: Mapping[str, Sequence[str] | None] | None = None,
    policy_tables: Mapping[str, Sequence[Options]] | None = None,
) -> Responses:
    """Return the files of a transit gateway; if a table is null, its routes could not be read."""
    every = [attachment_row(id, key, owner=owner, **options) for key, options in attachments.items()]
    of_vpcs = [vpc_attachment_row(id, key, owner, options) for key, options in attachments.items() if "vpc" in options]
    responses = _listed(dump.ATTACHMENTS, every) | _listed(dump.VPC_ATTACHMENTS, of_vpcs)
    connects = [
        connect_row(id, key, options["transport"]) for key, options in attachments.items() if "transport" in options
    ]
    if connects:
        responses |= _listed(dump.TRANSIT_GATEWAY_CONNECTS, connects)
    for table_id, entries in (policy_tables or {}).items():
        rows = [policy_entry_row(**options) for options in entries]
        responses[f"{dump.POLICIES_FOLDER}/{table_id}.json"] = {"TransitGatewayPolicyTableEntries": rows}
    if route_tables is None:
        return responses
    rows = [transit_gateway_table_row(id, table_id) for table_id in route_tables]
    responses |= _listed(dump.TRANSIT_GATEWAY_ROUTE_TABLES, rows)
    for table_id, routes in route_tables.items():
        if routes is not None:
            responses[f"{dump.ROUTES_FOLDER}/{table_id}.json"] = routes_response(routes, attachments)
    return responses


def _bucket_files(place: AccountRegion, names: Sequence[str]) -> Responses:
    return _listed(dump.DIRECTORY_BUCKETS, [directory_bucket_row(place, name) for name in names])


def _shared_subnet_files(place: AccountRegion, subnet_ids: Sequence[str]) -> Responses:
    return _listed(dump.SHARED_SUBNETS, [shared_subnet_row(place, subnet_id) for subnet_id in subnet_ids])


def _empty_files(_: AccountRegion, paths: Sequence[str]) -> Responses:
    return {path: {} for path in paths}


SECTIONS: dict[str, Callable[[AccountRegion, Any], Responses]] = {
    "vpcs": _vpc_files,
    "prefix_lists": _prefix_list_files,
    "network_interfaces": _interface_files,
    "firewalls": _firewall_files,
    "firewall_endpoint_associations": _association_files,
    "transit_gateway": _transit_gateway_files,
    "directory_buckets": _bucket_files,
    "shared_subnets": _shared_subnet_files,
    "empty_files": _empty_files,
}
"""What each section of a network file adds; an optional file is there only if its section is."""


# --- the file ---------------------------------------------------------------------------------------------------------


_RANGE = re.compile(r"\{(\d+)\.\.(\d+)(?:\.\.(\d+))?\}")
"""As a shell writes a range: {001..249}, or {1..249..3} for every third number."""


def read(path: Path) -> dict[str, Any]:
    """Read a network file. Raises ValueError if a key is repeated or the ranges of an entry differ in length."""
    document: dict[str, Any] = _expanded(load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader))
    return document


class _UniqueKeyLoader(CSafeLoader):
    """YAML's safe loader, except that repeated keys are an error instead of being dropped silently."""

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # as inherited
        keys = [key.value for key, _ in node.value]
        if len(set(keys)) < len(keys):
            raise ValueError(f"{node.start_mark}: a key is repeated among {', '.join(map(str, keys))}")
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return mapping


def _expanded(value: Any) -> Any:
    if isinstance(value, dict):
        pairs = [pair for key, member in value.items() for pair in _entries(key, member)]
        if len(dict(pairs)) < len(pairs):
            raise ValueError(f"a range repeats a key of {', '.join(map(str, value))}")
        return dict(pairs)
    if isinstance(value, list):
        return [member for item in value for member in _items(item)]
    return value


def _entries(key: Any, value: Any) -> list[tuple[Any, Any]]:
    """Return one entry, or one for each number of a range in the key; ranges in the value advance with the key."""
    if not isinstance(key, str) or not _RANGE.search(key):
        return [(key, _expanded(value))]
    keys = spread(key)
    return [(name, _expanded(_nth(value, index, len(keys)))) for index, name in enumerate(keys)]


def _items(item: Any) -> list[Any]:
    return list(spread(item)) if isinstance(item, str) else [_expanded(item)]


def _nth(value: Any, index: int, count: int) -> Any:
    if isinstance(value, dict):
        return {key: _nth(member, index, count) for key, member in value.items()}
    if not isinstance(value, str) or not _RANGE.search(value):
        return value
    texts = spread(value)
    if len(texts) != count:
        raise ValueError(f"{value} has {len(texts)} numbers, and its key {count}")
    return texts[index]


def spread(text: str) -> list[str]:
    """Return the texts that a text with ranges expands to; the first range changes slowest."""
    found = _RANGE.search(text)
    if not found:
        return [text]
    first, last, step = found.groups()
    numbers = range(int(first), int(last) + 1, int(step or 1))
    before, after = text[: found.start()], spread(text[found.end() :])
    return [f"{before}{number:0{len(first)}}{rest}" for number in numbers for rest in after]


# --- ids of AWS's length ----------------------------------------------------------------------------------------------


_READABLE_ID = re.compile(
    r"\b(?P<kind>eigw|eni|i|igw|nat|pcx|pl|rtb|subnet|tgw-attach|tgw-rtb|tgw|vgw|vpce|vpc)-(?!cidr-assoc)[a-z0-9-]+"
)


def copy_with_aws_ids(dump: Path, folder: Path) -> None:
    """Copy a dump; its ids become as long as AWS's own, and differ from those of every other dump's folder name."""
    for file in dump.rglob("*.json"):
        copy = folder / file.relative_to(dump)
        if copy.parent.name in {ENTRIES_FOLDER, ROUTES_FOLDER}:
            copy = copy.with_stem(_with_aws_ids(copy.stem, dump.name))
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(_with_aws_ids(file.read_text(encoding="utf-8"), dump.name), encoding="utf-8")


def _with_aws_ids(text: str, scenario: str) -> str:
    def aws_id(found: re.Match[str]) -> str:
        return f"{found['kind']}-0{sha256(f'{scenario} {found[0]}'.encode()).hexdigest()[:16]}"

    return _READABLE_ID.sub(aws_id, text)
