"""Turn descriptions of EC2, Network Firewall, and Resource Access Manager into records of the network.

The descriptions are as boto3 and the AWS CLI return them, with the field names of the botocore models. A missing or
invalid field raises RecordError, because a verdict must not be based on an incomplete description.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from express_path.domain.network.addresses import Cidr, Family
from express_path.domain.network.resources import (
    Association,
    BlockMode,
    Firewall,
    Instance,
    NatGateway,
    NetworkInterface,
    PrefixList,
    Rank,
    Route,
    RouteTable,
    Subnet,
    Tags,
    TargetKind,
    TransitGatewayAttachment,
    TransitGatewayRouteTable,
    Vpc,
    VpcEndpoint,
    target_kind,
)
from express_path.domain.network.snapshot import is_express_service
from express_path.errors import RecordError
from express_path.fields import (
    Description,
    block,
    flag,
    free_text,
    identifier,
    ids,
    member,
    nested,
    number,
    optional_free_text,
    optional_identifier,
    required_flag,
    required_object,
    required_rows,
    rows,
)

_TARGET_FIELDS = (
    "GatewayId",
    "NatGatewayId",
    "TransitGatewayId",
    "VpcPeeringConnectionId",
    "NetworkInterfaceId",
    "InstanceId",
    "EgressOnlyInternetGatewayId",
    "CarrierGatewayId",
    "LocalGatewayId",
    "CoreNetworkArn",
    "OdbNetworkArn",
)
"""The fields that can name a route's target. An interface comes before its instance, because EC2 may return both."""
_DESTINATION_FIELDS = (("DestinationCidrBlock", Family.IPV4), ("DestinationIpv6CidrBlock", Family.IPV6))
_PROPAGATED = frozenset({"EnableVgwRoutePropagation", "Advertisement"})


def _tags(description: Description, resource: str) -> Tags:
    return {
        free_text(tag, "Key", resource): optional_free_text(tag, "Value", resource)
        for tag in rows(description, "Tags", resource)
    }


def vpc(description: Description) -> Vpc:
    """Return the record of an entry of DescribeVpcs."""
    vpc_id = identifier(description, "VpcId", "Vpcs")
    owner_id = optional_identifier(description, "OwnerId", vpc_id)
    return Vpc(vpc_id, owner_id, _tags(description, vpc_id), _block_mode(description, vpc_id))


def subnet(description: Description) -> Subnet:
    """Return the record of an entry of DescribeSubnets."""
    subnet_id = identifier(description, "SubnetId", "Subnets")
    return Subnet(
        id=subnet_id,
        vpc_id=identifier(description, "VpcId", subnet_id),
        owner_id=identifier(description, "OwnerId", subnet_id),
        availability_zone_id=optional_identifier(description, "AvailabilityZoneId", subnet_id),
        ipv6_native=flag(description, "Ipv6Native", subnet_id),
        has_ipv6=_has_ipv6(description, subnet_id),
        dns64=flag(description, "EnableDns64", subnet_id),
        tags=_tags(description, subnet_id),
        block_mode=_block_mode(description, subnet_id),
    )


def _has_ipv6(description: Description, subnet_id: str) -> bool:
    """Return whether one of a subnet's IPv6 CIDR blocks is associated, or may be: its state is missing, or new here.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_SubnetCidrBlockState.html
    """
    associations = rows(description, "Ipv6CidrBlockAssociationSet", subnet_id)
    if not associations:  # the usual case
        return False
    states = [nested(association, "Ipv6CidrBlockState", subnet_id) for association in associations]
    return any(optional_identifier(state, "State", subnet_id).lower() not in _WITHOUT_IPV6 for state in states)


_WITHOUT_IPV6 = ("associating", "disassociating", "disassociated", "failing", "failed")


_BLOCK_MODES = {mode.value: mode for mode in BlockMode}


def _block_mode(description: Description, resource_id: str) -> BlockMode:
    """Return the mode of VPC Block Public Access; a missing one is off, and one that is new here is unknown.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_BlockPublicAccessStates.html
    """
    states = nested(description, "BlockPublicAccessStates", resource_id)
    mode = (optional_identifier(states, "InternetGatewayBlockMode", resource_id) or "off").lower()
    return _BLOCK_MODES.get(mode, BlockMode.UNKNOWN)


def route_table(description: Description) -> RouteTable:
    """Return the record of an entry of DescribeRouteTables."""
    table_id = identifier(description, "RouteTableId", "RouteTables")
    return RouteTable(
        id=table_id,
        vpc_id=identifier(description, "VpcId", table_id),
        # EC2 always returns this list, so if it is missing, the routes are unknown.
        routes=tuple(_route(route, table_id) for route in required_rows(description, "Routes", table_id)),
        associations=tuple(
            _association(association, table_id) for association in rows(description, "Associations", table_id)
        ),
        owner_id=optional_identifier(description, "OwnerId", table_id),
        tags=_tags(description, table_id),
    )


def _route(description: Description, table_id: str) -> Route:
    target = next((identifier(description, field, table_id) for field in _TARGET_FIELDS if description.get(field)), "")
    return Route(
        _destination(description, table_id),
        target,
        target_kind(target),
        Rank.PROPAGATED if optional_identifier(description, "Origin", table_id) in _PROPAGATED else Rank.STATIC,
        (optional_identifier(description, "State", table_id) or "active").lower(),
    )


def _destination(description: Description, table_id: str) -> Cidr | str:
    for field, family in _DESTINATION_FIELDS:
        if description.get(field):
            found = block(description[field], field, table_id)
            if found.family is not family:
                raise RecordError(table_id, field, description[field], f"an {family} block")
            return found
    return identifier(description, "DestinationPrefixListId", f"a route of {table_id}")


def _association(description: Description, table_id: str) -> Association:
    state = nested(description, "AssociationState", table_id)
    return Association(
        main=flag(description, "Main", table_id),
        subnet_id=optional_identifier(description, "SubnetId", table_id) or None,
        gateway_id=optional_identifier(description, "GatewayId", table_id) or None,
        state=(optional_identifier(state, "State", table_id) or "associated").lower(),
    )


def vpc_endpoint(description: Description) -> VpcEndpoint:
    """Return the record of an entry of DescribeVpcEndpoints. States and types are in lower case."""
    endpoint_id = identifier(description, "VpcEndpointId", "VpcEndpoints")
    return VpcEndpoint(
        id=endpoint_id,
        vpc_id=identifier(description, "VpcId", endpoint_id),
        endpoint_type=identifier(description, "VpcEndpointType", endpoint_id).lower(),
        service_name=optional_identifier(description, "ServiceName", endpoint_id),
        state=identifier(description, "State", endpoint_id).lower(),
        ip_address_type=(optional_identifier(description, "IpAddressType", endpoint_id) or "ipv4").lower(),
        subnet_ids=ids(description, "SubnetIds", endpoint_id),
        route_table_ids=ids(description, "RouteTableIds", endpoint_id),
        owner_id=optional_identifier(description, "OwnerId", endpoint_id),
        tags=_tags(description, endpoint_id),
    )


def nat_gateway(description: Description) -> NatGateway:
    """Return the record of an entry of DescribeNatGateways; a regional one has a route table instead of a subnet."""
    gateway_id = identifier(description, "NatGatewayId", "NatGateways")
    return NatGateway(
        id=gateway_id,
        vpc_id=optional_identifier(description, "VpcId", gateway_id),
        subnet_id=optional_identifier(description, "SubnetId", gateway_id) or None,
        connectivity=optional_identifier(description, "ConnectivityType", gateway_id) or "public",
        availability_mode=optional_identifier(description, "AvailabilityMode", gateway_id) or "zonal",
        route_table_id=optional_identifier(description, "RouteTableId", gateway_id) or None,
        state=optional_identifier(description, "State", gateway_id).lower(),
        proxy_firewall_arn=next(
            (
                optional_identifier(appliance, "ApplianceArn", gateway_id)
                for appliance in rows(description, "AttachedAppliances", gateway_id)
                if appliance.get("Type") == "network-firewall-proxy"
            ),
            "",
        ),
    )


def network_interface(description: Description) -> NetworkInterface:
    """Return the record of an entry of DescribeNetworkInterfaces."""
    interface_id = identifier(description, "NetworkInterfaceId", "NetworkInterfaces")
    attachment = nested(description, "Attachment", interface_id)
    return NetworkInterface(
        id=interface_id,
        subnet_id=identifier(description, "SubnetId", interface_id),
        source_dest_check=required_flag(description, "SourceDestCheck", interface_id),
        instance_id=optional_identifier(attachment, "InstanceId", interface_id) or None,
        device_index=number(attachment, "DeviceIndex", interface_id),
    )


def instance(description: Description, instance_type: Description) -> Instance:
    """Return the record of an instance, with the bandwidth of the network cards that its type has.

    instance_type is an entry of DescribeInstanceTypes, or empty
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_NetworkCardInfo.html).
    """
    instance_id = identifier(description, "InstanceId", "Instances")
    type_name = identifier(description, "InstanceType", instance_id)
    cards = rows(nested(instance_type, "NetworkInfo", type_name), "NetworkCards", type_name)

    def total(field: str) -> float | None:
        """Return the sum over all cards in Gbit/s, None if AWS documents it for none of them."""
        known = [float(card[field]) for card in cards if card.get(field) is not None]
        return sum(known) if known else None

    return Instance(
        instance_id,
        type_name,
        total("BaselineBandwidthInGbps"),
        total("PeakBandwidthInGbps"),
        {
            identifier(interface, "NetworkInterfaceId", instance_id): identifier(interface, "SubnetId", instance_id)
            for interface in rows(description, "NetworkInterfaces", instance_id)
        },
    )


def attachments(
    described: Iterable[Description], vpc_attachments: Iterable[Description]
) -> dict[str, TransitGatewayAttachment]:
    """Join DescribeTransitGatewayAttachments (association) with DescribeTransitGatewayVpcAttachments (subnets)."""
    of_vpcs = {
        identifier(attachment, "TransitGatewayAttachmentId", "TransitGatewayVpcAttachments"): attachment
        for attachment in vpc_attachments
    }
    found = {}
    for description in described:
        attachment_id = identifier(description, "TransitGatewayAttachmentId", "TransitGatewayAttachments")
        found[attachment_id] = _attachment(attachment_id, description, of_vpcs.pop(attachment_id, {}))
    for attachment_id, description in of_vpcs.items():
        as_resource = {**description, "ResourceType": "vpc", "ResourceId": description.get("VpcId")}
        found[attachment_id] = _attachment(attachment_id, as_resource, description)
    return found


def _attachment(attachment_id: str, description: Description, of_vpc: Description) -> TransitGatewayAttachment:
    association = nested(description, "Association", attachment_id)
    table_id = optional_identifier(association, "TransitGatewayRouteTableId", attachment_id)
    associated = optional_identifier(association, "State", attachment_id).lower() == "associated"
    options = nested(of_vpc, "Options", attachment_id)
    return TransitGatewayAttachment(
        id=attachment_id,
        transit_gateway_id=identifier(description, "TransitGatewayId", attachment_id),
        resource_type=identifier(description, "ResourceType", attachment_id).lower(),
        resource_id=optional_identifier(description, "ResourceId", attachment_id),
        state=identifier(description, "State", attachment_id).lower(),
        route_table_id=(table_id or None) if associated else None,
        subnet_ids=ids(of_vpc, "SubnetIds", attachment_id) or None,
        appliance_mode=optional_identifier(options, "ApplianceModeSupport", attachment_id) == "enable",
    )


def transit_gateway_route_table(table_id: str, response: Description) -> TransitGatewayRouteTable:
    """Return the record of a SearchTransitGatewayRoutes response; AdditionalRoutesAvailable: it left routes out."""
    found = rows(response, "Routes", table_id)
    routes = tuple(route for description in found for route in _equal_routes(description, table_id))
    return TransitGatewayRouteTable(table_id, routes, truncated=flag(response, "AdditionalRoutesAvailable", table_id))


def _equal_routes(description: Description, table_id: str) -> list[Route]:
    """Return one route per attachment: several mean equal-cost paths, any of which may carry a flow."""
    destination = description.get("DestinationCidrBlock")
    prefix_list_id = optional_identifier(description, "PrefixListId", table_id)
    state = identifier(description, "State", f"a route of {table_id}").lower()
    ranks = {"static": Rank.PREFIX_LIST if prefix_list_id else Rank.STATIC, "propagated": Rank.PROPAGATED}
    rank = ranks.get(optional_identifier(description, "Type", table_id), Rank.SYSTEM)
    targets = [
        optional_identifier(attachment, "TransitGatewayAttachmentId", table_id)
        for attachment in rows(description, "TransitGatewayAttachments", table_id)
    ]
    return [
        Route(
            destination=block(destination, "DestinationCidrBlock", table_id) if destination else prefix_list_id,
            target_id=target,
            target_kind=TargetKind.TRANSIT_GATEWAY_ATTACHMENT,
            rank=rank,
            state=state,
            prefix_list_id=prefix_list_id,
        )
        for target in targets or [""]
        if state in ("active", "blackhole")
    ]


@dataclass(frozen=True, slots=True)
class PrefixLists:
    """The prefix lists of a Region by id; are_all_listed is true if DescribeManagedPrefixLists was read."""

    by_id: Mapping[str, PrefixList]
    are_all_listed: bool


def prefix_lists(
    plain: Iterable[Description],
    managed: Iterable[Description] = (),
    entries: Mapping[str, Sequence[Description]] | None = None,
) -> dict[str, PrefixList]:
    """Join DescribePrefixLists, DescribeManagedPrefixLists and the Entries by list id into records by id.

    Entries alone are enough to know what a route matches, even if their list may not be described. If the two calls show
    different blocks of a list that AWS owns, because one of them was made earlier, the list has all of them.
    """
    blocks = {list_id: entry_blocks(rows, list_id) for list_id, rows in (entries or {}).items()}
    found = {record.id: record for record in map(_plain, plain)}
    for description in managed:
        record = _managed(description)
        known = found.get(record.id)
        found[record.id] = replace(record, cidrs=known.cidrs) if known else record
    for list_id, cidrs in blocks.items():
        found[list_id] = _with_entries(found.get(list_id), list_id, cidrs)
    return found


def _with_entries(known: PrefixList | None, list_id: str, cidrs: tuple[Cidr, ...]) -> PrefixList:
    """Return a list with its entries; without a name and an owner, it is not AWS-managed."""
    if known is None:
        return PrefixList(list_id, "", _family("", cidrs), cidrs, aws_owned=False)
    if not known.aws_owned:
        return replace(known, cidrs=cidrs)
    return replace(known, cidrs=tuple(dict.fromkeys((*(known.cidrs or ()), *cidrs))) or None)


def shows_express_lists(managed: Iterable[Description], region: str) -> bool:
    """Return whether an answer of DescribeManagedPrefixLists contains S3 Express's lists, so that it shows all of them.

    One that is filtered, such as by its owner, does not.
    """
    return any(is_express_service(str(row.get("PrefixListName")), region) for row in managed)


def _plain(description: Description) -> PrefixList:
    """Return the record of an entry of DescribePrefixLists: an AWS-managed list with blocks but without a family.

    A list without any blocks counts as unreadable, because its addresses are unknown.
    """
    list_id = identifier(description, "PrefixListId", "PrefixLists")
    found = description.get("Cidrs")
    if not isinstance(found, list):
        raise RecordError(list_id, "Cidrs", found, "a list of CIDR blocks")
    cidrs = tuple(block(cidr, "Cidrs", list_id) for cidr in found)
    name = free_text(description, "PrefixListName", list_id)
    return PrefixList(list_id, name, _family(name, cidrs), cidrs or None)


def _family(name: str, cidrs: Iterable[Cidr]) -> Family:
    return next((cidr.family for cidr in cidrs), Family.IPV6 if "ipv6" in name else Family.IPV4)


def _managed(description: Description) -> PrefixList:
    list_id = identifier(description, "PrefixListId", "PrefixLists")
    family = member(description, "AddressFamily", list_id, Family)
    aws_owned = identifier(description, "OwnerId", list_id) == "AWS"
    name = optional_free_text(description, "PrefixListName", list_id)
    return PrefixList(list_id, name, family, None, aws_owned, number(description, "MaxEntries", list_id))


def entry_blocks(entries: Iterable[Description], list_id: str) -> tuple[Cidr, ...]:
    """Return the blocks of GetManagedPrefixListEntries' Entries."""
    return tuple(block(entry.get("Cidr"), "Cidr", list_id) for entry in entries)


def firewalls(described: Iterable[Description], associations: Iterable[Description] = ()) -> dict[str, Firewall]:
    """Join answers of DescribeFirewall and of DescribeVpcEndpointAssociation into records by ARN.

    An association whose firewall is not described adds nothing, because it does not say whether the firewall
    translates. Raise RecordError.
    """
    associated: dict[str, list[str]] = {}
    for answer in associations:
        arn = association_firewall(answer)
        status = nested(answer, "VpcEndpointAssociationStatus", arn)
        associated.setdefault(arn, []).extend(_endpoint_ids(status, "AssociationSyncState", arn).values())
    records = [_firewall(answer) for answer in described]
    return {
        record.arn: replace(record, endpoint_ids=(*record.endpoint_ids, *associated.get(record.arn, ())))
        for record in records
    }


def association_firewall(answer: Description) -> str:
    """Return the ARN of the firewall that an answer of DescribeVpcEndpointAssociation names. Raise RecordError."""
    return identifier(
        required_object(answer, "VpcEndpointAssociation", "VpcEndpointAssociation"),
        "FirewallArn",
        "VpcEndpointAssociation",
    )


def _firewall(answer: Description) -> Firewall:
    """Return the record of an answer of DescribeFirewall.

    ProxySettings, even if empty, or NatGatewayAttachments show a NAT/Proxy firewall, which translates unless its
    TransparentFilteringNatScope is NAT_NONE
    (https://docs.aws.amazon.com/network-firewall/latest/developerguide/nfw-proxy-concepts.html).
    """
    firewall = required_object(answer, "Firewall", "Firewall")
    arn = identifier(firewall, "FirewallArn", "Firewall")
    status = nested(answer, "FirewallStatus", arn)
    endpoint_ids = _endpoint_ids(status, "SyncStates", arn)
    gateways = {
        zone: [optional_identifier(row, "NatGatewayId", arn) for row in rows(state, "NatGatewayAttachments", arn)]
        for zone, state in _zones(status, "SyncStates", arn)
    }
    is_proxy = firewall.get("ProxySettings") is not None or any(gateways.values())
    scope = optional_identifier(firewall, "TransparentFilteringNatScope", arn)
    return Firewall(
        arn=arn,
        endpoint_ids=tuple(endpoint_ids.values()),
        is_proxy=is_proxy,
        translates=is_proxy and scope != "NAT_NONE",
        nat_gateway_ids={
            endpoint_id: gateways[zone][0] for zone, endpoint_id in endpoint_ids.items() if any(gateways[zone])
        },
    )


def _endpoint_ids(status: Description, field: str, arn: str) -> dict[str, str]:
    """Return the id of the endpoint in each zone that has one: an endpoint that is being created has none yet."""
    found = {
        zone: optional_identifier(nested(state, "Attachment", arn), "EndpointId", arn)
        for zone, state in _zones(status, field, arn)
    }
    return {zone: endpoint_id for zone, endpoint_id in found.items() if endpoint_id}


def _zones(status: Description, field: str, arn: str) -> Iterator[tuple[str, Description]]:
    """Yield the state of each Availability Zone."""
    states = nested(status, field, arn)
    for zone in states:
        yield zone, nested(states, zone, arn)


OWN_SUBNETS = {"resourceOwner": "SELF", "resourceType": "ec2:Subnet"}
"""The parameters of ram:ListResources: the subnets that the account itself shares with others."""


def shared_subnet_ids(resources: Iterable[Description]) -> frozenset[str]:
    """Return the ids of the subnets that ram:ListResources returns for resourceOwner SELF, whatever their status.

    The response is described in https://docs.aws.amazon.com/ram/latest/APIReference/API_ListResources.html; a subnet's
    ARN ends in subnet/<id>. Raise RecordError if a resource has no ARN.
    """
    return frozenset(identifier(resource, "arn", "resources").rpartition("/")[2] for resource in resources)
