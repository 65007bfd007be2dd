"""Turn descriptions of EC2, Network Firewall, and Resource Access Manager into records of the network.

The descriptions are as boto3 and the AWS CLI return them, with the field names of the botocore models. A field that is missing,
or that has a value of a new form, counts as what has the worst result. A field of another type raises RecordError.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from express_path.domain.network.addresses import Cidr, Family, parse_cidr
from express_path.domain.network.resources import (
    AssociatedEndpoint,
    Association,
    BlockMode,
    Firewall,
    Instance,
    NatGateway,
    NetworkInterface,
    PolicyEntry,
    PrefixList,
    Rank,
    Route,
    RouteTable,
    Subnet,
    Tags,
    TargetKind,
    TransitGatewayAttachment,
    TransitGatewayPolicyTable,
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
    nested,
    number,
    optional_free_text,
    required_flag,
    required_object,
    required_rows,
    rows,
    shown,
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
_KINDS_BY_FIELD = {
    "NatGatewayId": TargetKind.NAT_GATEWAY,
    "TransitGatewayId": TargetKind.TRANSIT_GATEWAY,
    "CoreNetworkArn": TargetKind.CORE_NETWORK,
    "NetworkInterfaceId": TargetKind.NETWORK_INTERFACE,
    "InstanceId": TargetKind.INSTANCE,
}
"""The kinds of targets whose ids may have a new form: each is a NAT, or is unknown unless its id is listed."""
_DESTINATION_FIELDS = (("DestinationCidrBlock", Family.IPV4), ("DestinationIpv6CidrBlock", Family.IPV6))
_RANKS = {
    "CreateRouteTable": Rank.STATIC,
    "CreateRoute": Rank.STATIC,
    "EnableVgwRoutePropagation": Rank.PROPAGATED,
    "Advertisement": Rank.PROPAGATED,
}
"""The ranks of routes by their origin; an origin that is new here may have any rank."""


def _tags(description: Description, resource: str) -> Tags:
    return {
        tag["Key"]: optional_free_text(tag, "Value", resource)
        for tag in rows(description, "Tags", resource)
        if optional_free_text(tag, "Key", resource)
    }


_ACCOUNT = re.compile("[0-9]{12}")


def _own_id(description: Description, field: str, kind: str) -> str:
    """Return a resource's own id. One that is missing gets a name, so that the resource counts all the same."""
    return shown(description, field, kind) or f"{kind} without {field}"


def _owner(description: Description, resource: str) -> str:
    """Return the account that owns a resource; empty if it is not shown, or not as an account."""
    account_id = shown(description, "OwnerId", resource)
    return account_id if _ACCOUNT.fullmatch(account_id) else ""


def vpc(description: Description) -> Vpc:
    """Return the record of an entry of DescribeVpcs."""
    vpc_id = _own_id(description, "VpcId", "Vpcs")
    return Vpc(vpc_id, _owner(description, vpc_id), _tags(description, vpc_id), _block_mode(description, vpc_id))


def subnet(description: Description) -> Subnet:
    """Return the record of an entry of DescribeSubnets. What may give it more addresses, and is not shown, counts."""
    subnet_id = _own_id(description, "SubnetId", "Subnets")
    return Subnet(
        id=subnet_id,
        vpc_id=shown(description, "VpcId", subnet_id),
        owner_id=_owner(description, subnet_id),
        availability_zone_id=shown(description, "AvailabilityZoneId", subnet_id),
        ipv6_native=flag(description, "Ipv6Native", subnet_id),
        has_ipv6=_has_ipv6(description, subnet_id),
        dns64=description.get("EnableDns64") is None or required_flag(description, "EnableDns64", subnet_id),
        tags=_tags(description, subnet_id),
        block_mode=_block_mode(description, subnet_id),
        blocks=_subnet_blocks(description, subnet_id),
    )


def _subnet_blocks(description: Description, subnet_id: str) -> tuple[str, ...]:
    ipv4 = shown(description, "CidrBlock", subnet_id)
    if not description.get("Ipv6CidrBlockAssociationSet"):  # the usual case
        return (ipv4,) if ipv4 else ()
    associations = rows(description, "Ipv6CidrBlockAssociationSet", subnet_id)
    ipv6 = (shown(association, "Ipv6CidrBlock", subnet_id) for association in associations)
    return tuple(filter(None, (ipv4, *ipv6)))


def _has_ipv6(description: Description, subnet_id: str) -> bool:
    """Return whether one of a subnet's IPv6 CIDR blocks is associated, or may be: its state is missing, or new here.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_SubnetCidrBlockState.html
    """
    if description.get("Ipv6CidrBlockAssociationSet") is None:
        return True
    associations = rows(description, "Ipv6CidrBlockAssociationSet", subnet_id)
    if not associations:  # the usual case
        return False
    states = [nested(association, "Ipv6CidrBlockState", subnet_id) for association in associations]
    return any(shown(state, "State", subnet_id).lower() not in _WITHOUT_IPV6 for state in states)


_WITHOUT_IPV6 = ("associating", "disassociating", "disassociated", "failing", "failed")


_BLOCK_MODES = {mode.value: mode for mode in (BlockMode.OFF, BlockMode.INGRESS, BlockMode.BIDIRECTIONAL)}


def _block_mode(description: Description, resource_id: str) -> BlockMode:
    """Return the mode of VPC Block Public Access; a missing one is off.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_BlockPublicAccessStates.html
    """
    states = nested(description, "BlockPublicAccessStates", resource_id)
    mode = (shown(states, "InternetGatewayBlockMode", resource_id) or "off").lower()
    return _BLOCK_MODES.get(mode, BlockMode.NEW)


def route_table(description: Description) -> RouteTable:
    """Return the record of an entry of DescribeRouteTables.

    EC2 always returns routes and associations, so if they are missing, any may be there.
    """
    table_id = _own_id(description, "RouteTableId", "RouteTables")
    routes = [_UNKNOWN_ROUTE]
    if description.get("Routes") is not None:
        routes = [_route(route, table_id) for route in required_rows(description, "Routes", table_id)]
    associations = [_UNKNOWN_ASSOCIATION]
    if description.get("Associations") is not None:
        associations = [_association(row, table_id) for row in required_rows(description, "Associations", table_id)]
    return RouteTable(
        id=table_id,
        vpc_id=shown(description, "VpcId", table_id),
        routes=tuple(routes),
        associations=tuple(associations),
        owner_id=_owner(description, table_id),
        tags=_tags(description, table_id),
    )


_UNKNOWN_DESTINATION = "unknown"
"""The destination of a route that names none of a known kind: it may match any address, as an unlisted prefix list may."""
_UNKNOWN_ROUTE = Route(_UNKNOWN_DESTINATION, "", TargetKind.UNKNOWN)
_UNKNOWN_ASSOCIATION = Association()


def _route(description: Description, table_id: str) -> Route:
    targets = [(field, shown(description, field, table_id)) for field in _TARGET_FIELDS if description.get(field)]
    targets.sort(key=lambda named: target_kind(named[1]) is TargetKind.UNKNOWN)
    field, target = targets[0] if targets else ("", "")
    kind = target_kind(target)
    if kind is TargetKind.UNKNOWN:
        kind = _KINDS_BY_FIELD.get(field, kind)
    return Route(
        _destination(description, table_id),
        target,
        kind,
        _RANKS.get(shown(description, "Origin", table_id), Rank.SYSTEM),
        shown(description, "State", table_id).lower(),
    )


def _destination(description: Description, table_id: str) -> Cidr | str:
    for field, family in _DESTINATION_FIELDS:
        if description.get(field):
            cidr = block(description[field], field, table_id)
            if cidr.family is not family:
                raise RecordError(table_id, field, description[field], f"an {family} block")
            return cidr
    return shown(description, "DestinationPrefixListId", table_id) or _UNKNOWN_DESTINATION


def _association(description: Description, table_id: str) -> Association:
    state = nested(description, "AssociationState", table_id)
    return Association(
        main=flag(description, "Main", table_id),
        subnet_id=shown(description, "SubnetId", table_id) or None,
        gateway_id=shown(description, "GatewayId", table_id) or shown(description, "PublicIpv4Pool", table_id) or None,
        state=(shown(state, "State", table_id) or "associated").lower(),
    )


def vpc_endpoint(description: Description) -> VpcEndpoint:
    """Return the record of an entry of DescribeVpcEndpoints. States and types are in lower case, empty if not shown."""
    endpoint_id = _own_id(description, "VpcEndpointId", "VpcEndpoints")
    return VpcEndpoint(
        id=endpoint_id,
        vpc_id=shown(description, "VpcId", endpoint_id),
        endpoint_type=shown(description, "VpcEndpointType", endpoint_id).lower(),
        service_name=shown(description, "ServiceName", endpoint_id),
        state=shown(description, "State", endpoint_id).lower(),
        ip_address_type=(shown(description, "IpAddressType", endpoint_id) or "ipv4").lower(),
        subnet_ids=_shown_ids(description, "SubnetIds", endpoint_id),
        route_table_ids=_shown_ids(description, "RouteTableIds", endpoint_id),
        owner_id=_owner(description, endpoint_id),
        tags=_tags(description, endpoint_id),
    )


def _shown_ids(description: Description, field: str, resource: str) -> tuple[str, ...]:
    """Return a list of ids of any form; those that are null count as empty."""
    values = description.get(field)
    if values is None:
        return ()
    if not isinstance(values, list):
        raise RecordError(resource, field, values, "a list of ids")
    return tuple(shown({field: value}, field, resource) for value in values)


def nat_gateway(description: Description) -> NatGateway:
    """Return the record of an entry of DescribeNatGateways; a regional one has a route table instead of a subnet.

    https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateways-regional.html
    """
    gateway_id = _own_id(description, "NatGatewayId", "NatGateways")
    subnet_id = shown(description, "SubnetId", gateway_id)
    availability_mode = shown(description, "AvailabilityMode", gateway_id) or ("zonal" if subnet_id else "regional")
    return NatGateway(
        id=gateway_id,
        vpc_id=shown(description, "VpcId", gateway_id),
        subnet_id=subnet_id or None,
        connectivity=shown(description, "ConnectivityType", gateway_id),
        availability_mode=availability_mode,
        route_table_id=shown(description, "RouteTableId", gateway_id) or (None if availability_mode == "zonal" else ""),
        state=shown(description, "State", gateway_id).lower(),
        proxy_firewall_arn=next(
            (
                shown(appliance, "ApplianceArn", gateway_id)
                for appliance in rows(description, "AttachedAppliances", gateway_id)
                if shown(appliance, "Type", gateway_id) in ("", "network-firewall-proxy")
            ),
            "",
        ),
        proxy_endpoint_ids=tuple(
            shown(appliance, "VpcEndpointId", gateway_id)
            for appliance in rows(description, "AttachedAppliances", gateway_id)
            if shown(appliance, "AttachmentState", gateway_id) not in _DETACHED
        ),
    )


_DETACHED = ("detached", "attach-failed")
"""The states of an appliance that does not use a NAT gateway
(https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_NatGatewayAttachedAppliance.html)."""


def network_interface(description: Description) -> NetworkInterface:
    """Return the record of an entry of DescribeNetworkInterfaces; if its check is not shown, it may forward traffic."""
    interface_id = _own_id(description, "NetworkInterfaceId", "NetworkInterfaces")
    attachment = nested(description, "Attachment", interface_id)
    return NetworkInterface(
        id=interface_id,
        subnet_id=shown(description, "SubnetId", interface_id),
        source_dest_check=flag(description, "SourceDestCheck", interface_id),
        instance_id=shown(attachment, "InstanceId", interface_id) or None,
        device_index=number(attachment, "DeviceIndex", interface_id),
        card_index=number(attachment, "NetworkCardIndex", interface_id) or 0,
        is_managed=flag(description, "RequesterManaged", interface_id),
    )


def instance(description: Description, instance_type: Description) -> Instance:
    """Return the record of an instance, with the bandwidth of the network cards that its type has.

    instance_type is an entry of DescribeInstanceTypes, or empty
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_NetworkCardInfo.html).
    """
    instance_id = _own_id(description, "InstanceId", "Instances")
    type_name = shown(description, "InstanceType", instance_id)
    cards = rows(nested(instance_type, "NetworkInfo", type_name), "NetworkCards", type_name)

    def total(field: str) -> float | None:
        """Return the sum over all cards in Gbit/s, None if AWS documents it for none of them, or as text for one."""
        known = [card[field] for card in cards if card.get(field) is not None]
        are_numbers = all(isinstance(value, int | float) for value in known)
        return float(sum(known)) if known and are_numbers else None

    return Instance(
        instance_id,
        type_name,
        total("BaselineBandwidthInGbps"),
        total("PeakBandwidthInGbps"),
        {
            _own_id(interface, "NetworkInterfaceId", instance_id): shown(interface, "SubnetId", instance_id)
            for interface in rows(description, "NetworkInterfaces", instance_id)
        },
    )


def attachments(
    described: Iterable[Description], vpc_attachments: Iterable[Description]
) -> dict[str, TransitGatewayAttachment]:
    """Join DescribeTransitGatewayAttachments (association) with DescribeTransitGatewayVpcAttachments (subnets)."""
    of_vpcs = {
        _own_id(attachment, "TransitGatewayAttachmentId", "TransitGatewayVpcAttachments"): attachment
        for attachment in vpc_attachments
    }
    by_id = {}
    for description in described:
        attachment_id = _own_id(description, "TransitGatewayAttachmentId", "TransitGatewayAttachments")
        by_id[attachment_id] = _attachment(attachment_id, description, of_vpcs.pop(attachment_id, {}))
    for attachment_id, description in of_vpcs.items():
        by_id[attachment_id] = _attachment(attachment_id, {}, description)
    return by_id


_ENDED_ASSOCIATIONS = ("disassociating", "disassociated")
"""The states of an association of a transit gateway attachment that has no effect any more
(botocore model: ec2 TransitGatewayAssociationState)."""


def _attachment(attachment_id: str, description: Description, of_vpc: Description) -> TransitGatewayAttachment:
    """Return an attachment. What its description does not show is what that of the same VPC attachment shows."""
    if of_vpc:
        known = {name: value for name, value in description.items() if value is not None}
        description = {**of_vpc, "ResourceType": "vpc", "ResourceId": of_vpc.get("VpcId"), **known}
    association = nested(description, "Association", attachment_id)
    association_state = shown(association, "State", attachment_id).lower()
    is_ended = association_state in _ENDED_ASSOCIATIONS
    table_id = shown(association, "TransitGatewayRouteTableId", attachment_id)
    policy_table_id = shown(association, "TransitGatewayPolicyTableId", attachment_id)
    options = nested(of_vpc, "Options", attachment_id)
    return TransitGatewayAttachment(
        id=attachment_id,
        transit_gateway_id=shown(description, "TransitGatewayId", attachment_id),
        resource_type=shown(description, "ResourceType", attachment_id).lower(),
        resource_id=shown(description, "ResourceId", attachment_id),
        state=shown(description, "State", attachment_id).lower(),
        route_table_id=None if is_ended else table_id or None,
        subnet_ids=_shown_ids(of_vpc, "SubnetIds", attachment_id) or None,
        appliance_mode=bool(of_vpc) and shown(options, "ApplianceModeSupport", attachment_id) != "disable",
        policy_table_id=None if is_ended else policy_table_id or None,
        shows_association=bool(association),
        is_association_certain=not association or association_state in ("associated", *_ENDED_ASSOCIATIONS),
    )


def transit_gateway_route_table(table_id: str, response: Description) -> TransitGatewayRouteTable:
    """Return the record of a SearchTransitGatewayRoutes response; AdditionalRoutesAvailable: it left routes out."""
    found = rows(response, "Routes", table_id)
    routes = tuple(route for description in found for route in _equal_routes(description, table_id))
    shown_types = {
        shown(attachment, "TransitGatewayAttachmentId", table_id): shown(attachment, "ResourceType", table_id).lower()
        for description in found
        for attachment in rows(description, "TransitGatewayAttachments", table_id)
    }
    truncated = flag(response, "AdditionalRoutesAvailable", table_id)
    return TransitGatewayRouteTable(table_id, routes, truncated, shown_types)


def transit_gateway_policy_table(table_id: str, entries: Iterable[Description]) -> TransitGatewayPolicyTable:
    """Return the record of the entries of GetTransitGatewayPolicyTableEntries that may match HTTPS traffic."""
    found = (_policy_entry(description, table_id) for description in entries)
    return TransitGatewayPolicyTable(table_id, tuple(entry for entry in found if entry))


_ANY = "*"
_TCP, _OTHER_PROTOCOLS = "6", ("1", "17", "47")
_ALL_PORTS = (_ANY, "0-65535", "1-65535")
_MOST_ENTRIES = 50_000
"""The highest number of an entry that customers manage."""


def _policy_entry(description: Description, table_id: str) -> PolicyEntry | None:
    """Return an entry, None if it is deleted or matches no traffic of TCP to port 443.

    `*` matches everything. A field that is missing, or has a form that is not known, may match. Entries that AWS
    manages come before those that customers manage, and may match metadata
    (https://docs.aws.amazon.com/vpc/latest/tgw/tgw-policy-tables-concepts.html,
    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_TransitGatewayRequestPolicyRule.html).
    """
    rule = nested(description, "PolicyRule", table_id)
    state = shown(description, "State", table_id).lower()
    protocol = shown(rule, "Protocol", table_id)
    is_https = _has_port(shown(rule, "DestinationPortRange", table_id), 443)
    if state == "deleted" or protocol in _OTHER_PROTOCOLS or is_https is False:
        return None
    source, destination = (
        _policy_block(rule, field, table_id) for field in ("SourceCidrBlock", "DestinationCidrBlock")
    )
    number = shown(description, "PolicyRuleNumber", table_id)
    is_managed = bool(rule.get("MetaData")) or not (number.isdecimal() and 1 <= int(number) <= _MOST_ENTRIES)
    return PolicyEntry(
        number=None if is_managed else int(number),
        table_id=shown(description, "TargetRouteTableId", table_id),
        source=source.block,
        destination=destination.block,
        is_certain=(
            state == "active"
            and protocol in (_ANY, _TCP)
            and is_https is True
            and shown(rule, "SourcePortRange", table_id) in _ALL_PORTS
            and source.is_known
            and destination.is_known
        ),
    )


_PORTS = re.compile("([0-9]{1,5})(?:-([0-9]{1,5}))?")


def _has_port(ports: str, port: int) -> bool | None:
    """Return whether a port or a range of ports, such as 1024-65535, has a port; None if its form is not known."""
    if ports == _ANY:
        return True
    found = _PORTS.fullmatch(ports)
    if not found:
        return None
    first, last = int(found[1]), int(found[2] or found[1])
    return first <= port <= last


class _PolicyBlock(NamedTuple):
    """The block of a policy rule, None for any; is_known is false if it has a form that is not known."""

    block: Cidr | None
    is_known: bool = True


def _policy_block(rule: Description, field: str, table_id: str) -> _PolicyBlock:
    text = shown(rule, field, table_id)
    if text == _ANY:
        return _PolicyBlock(None)
    try:
        return _PolicyBlock(parse_cidr(text))
    except ValueError:
        return _PolicyBlock(None, is_known=False)


def _equal_routes(description: Description, table_id: str) -> list[Route]:
    """Return one route per attachment: several mean equal-cost paths, any of which may carry a flow.

    The type of the routes of a prefix list reference is `propagated`, although they win over propagated routes
    (https://docs.aws.amazon.com/vpc/latest/tgw/view-prefix-list-reference.html,
    https://docs.aws.amazon.com/vpc/latest/tgw/how-transit-gateways-work.html).
    """
    destination = description.get("DestinationCidrBlock")
    prefix_list_id = shown(description, "PrefixListId", table_id)
    state = shown(description, "State", f"a route of {table_id}").lower()
    ranks = {"static": Rank.STATIC, "propagated": Rank.PROPAGATED}
    rank = ranks.get(shown(description, "Type", table_id), Rank.SYSTEM)
    if prefix_list_id and rank is not Rank.SYSTEM:
        rank = Rank.PREFIX_LIST
    targets = [
        shown(attachment, "TransitGatewayAttachmentId", table_id)
        for attachment in rows(description, "TransitGatewayAttachments", table_id)
    ]
    return [
        Route(
            destination=block(destination, "DestinationCidrBlock", table_id)
            if destination
            else prefix_list_id or _UNKNOWN_DESTINATION,
            target_id=target,
            target_kind=TargetKind.TRANSIT_GATEWAY_ATTACHMENT,
            rank=rank,
            state=state,
            prefix_list_id=prefix_list_id,
        )
        for target in targets or [""]
        if state not in ("pending", "deleting", "deleted")
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
    found = {record.id: record for record in map(_plain, plain)}
    for description in managed:
        record = _managed(description)
        known = found.get(record.id)
        found[record.id] = _joined(known, record) if known else record
    for list_id, listed in (entries or {}).items():
        found[list_id] = _with_entries(found.get(list_id), list_id, entry_blocks(listed, list_id))
    return found


def _joined(plain: PrefixList, managed: PrefixList) -> PrefixList:
    """Return a list that both calls describe. DescribePrefixLists shows only AWS's lists, so it is one of them.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribePrefixLists.html
    """
    names = [name for name in dict.fromkeys((plain.name, managed.name)) if name]
    return replace(
        plain,
        name=names[0] if names else "",
        other_names=tuple(names[1:]),
        family=plain.family if plain.cidrs else managed.family,
        max_entries=managed.max_entries,
    )


def _with_entries(known: PrefixList | None, list_id: str, blocks: "EntryBlocks") -> PrefixList:
    """Return a list with its entries; without a name and an owner, it is not AWS-managed."""
    if known is None:
        known = PrefixList(list_id, "", Family.IPV4, None, aws_owned=False)
    cidrs: tuple[Cidr, ...] | None = blocks.cidrs
    if known.aws_owned:
        cidrs = tuple(dict.fromkeys((*(known.cidrs or ()), *blocks.cidrs))) or None
    is_partial = blocks.is_partial or known.is_partial
    family = next((cidr.family for cidr in cidrs or ()), known.family)
    return replace(known, cidrs=cidrs, is_partial=is_partial, family=family)


def shows_express_lists(managed: Iterable[Description], region: str) -> bool:
    """Return whether an answer of DescribeManagedPrefixLists contains S3 Express's lists, so that it shows all of them.

    One that is filtered, such as by its owner, does not.
    """
    return any(is_express_service(str(row.get("PrefixListName")), region) for row in managed)


def _plain(description: Description) -> PrefixList:
    """Return the record of an entry of DescribePrefixLists: an AWS-managed list with blocks but without a family.

    A list without any blocks counts as unreadable, because its addresses are unknown.
    """
    list_id = _own_id(description, "PrefixListId", "PrefixLists")
    found = description.get("Cidrs")
    if found is not None and not isinstance(found, list):
        raise RecordError(list_id, "Cidrs", found, "a list of CIDR blocks")
    blocks = _blocks(found or (), "Cidrs", list_id)
    name = optional_free_text(description, "PrefixListName", list_id)
    return PrefixList(list_id, name, _family(name, blocks.cidrs), blocks.cidrs or None, is_partial=blocks.is_partial)


class EntryBlocks(NamedTuple):
    """CIDR blocks; is_partial is true if one of them is missing, so that it may be any."""

    cidrs: tuple[Cidr, ...]
    is_partial: bool


def _blocks(values: Iterable[object], field: str, list_id: str) -> EntryBlocks:
    found = list(values)
    cidrs = tuple(block(value, field, list_id) for value in found if value is not None)
    return EntryBlocks(cidrs, is_partial=len(cidrs) < len(found))


def _family(name: str, cidrs: Iterable[Cidr]) -> Family:
    return next((cidr.family for cidr in cidrs), Family.IPV6 if "ipv6" in name else Family.IPV4)


def _managed(description: Description) -> PrefixList:
    """Return the record of an entry of DescribeManagedPrefixLists. If its owner is not shown, its name says whether it is AWS."""
    list_id = _own_id(description, "PrefixListId", "PrefixLists")
    name = optional_free_text(description, "PrefixListName", list_id)
    family = _FAMILIES.get(shown(description, "AddressFamily", list_id)) or _family(name, ())
    owner = shown(description, "OwnerId", list_id)
    aws_owned = not _ACCOUNT.fullmatch(owner) and (owner == "AWS" or "amazonaws" in name)
    return PrefixList(list_id, name, family, None, aws_owned, number(description, "MaxEntries", list_id))


_FAMILIES = {family.value: family for family in Family}


def entry_blocks(entries: Iterable[Description], list_id: str) -> EntryBlocks:
    """Return the blocks of GetManagedPrefixListEntries' Entries."""
    return _blocks([entry.get("Cidr") for entry in entries], "Cidr", list_id)


def firewalls(described: Iterable[Description], associations: Iterable[Description] = ()) -> dict[str, Firewall]:
    """Join answers of DescribeFirewall and of DescribeVpcEndpointAssociation into records by ARN.

    An association whose firewall is not described adds nothing, because it does not say whether the firewall
    translates, and neither does a firewall without an ARN. Raise RecordError.
    """
    associated: dict[str, list[AssociatedEndpoint]] = {}
    for answer in associations:
        arn = association_firewall(answer)
        if not arn:
            continue
        association = required_object(answer, "VpcEndpointAssociation", "VpcEndpointAssociation")
        owner_id = _account_of(shown(association, "VpcEndpointAssociationArn", arn))
        status = nested(answer, "VpcEndpointAssociationStatus", arn)
        endpoint_ids = _endpoint_ids(status, "AssociationSyncState", arn).values()
        associated.setdefault(arn, []).extend(AssociatedEndpoint(endpoint_id, owner_id) for endpoint_id in endpoint_ids)
    records = [record for record in map(_firewall, described) if record.arn]
    return {record.arn: replace(record, associated=tuple(associated.get(record.arn, ()))) for record in records}


def _account_of(arn: str) -> str:
    """Return the account in an ARN; empty if it does not show one."""
    account_id = arn.split(":")[4:5]
    return account_id[0] if account_id and _ACCOUNT.fullmatch(account_id[0]) else ""


def association_firewall(answer: Description) -> str:
    """Return the ARN of the firewall that an answer of DescribeVpcEndpointAssociation names, empty if it names none."""
    return shown(
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
    arn = shown(firewall, "FirewallArn", "Firewall")
    status = nested(answer, "FirewallStatus", arn)
    endpoint_ids = _endpoint_ids(status, "SyncStates", arn)
    gateways = {
        zone: [shown(row, "NatGatewayId", arn) for row in rows(state, "NatGatewayAttachments", arn)]
        for zone, state in _zones(status, "SyncStates", arn)
    }
    is_proxy = firewall.get("ProxySettings") is not None or any(gateways.values())
    scope = shown(firewall, "TransparentFilteringNatScope", arn)
    return Firewall(
        arn=arn,
        endpoint_ids=tuple(endpoint_ids.values()),
        is_proxy=is_proxy,
        forwards=scope == "NAT_NONE",
        nat_gateway_ids={
            endpoint_id: gateways[zone][0] for zone, endpoint_id in endpoint_ids.items() if any(gateways[zone])
        },
        owner_id=_account_of(arn),
    )


def _endpoint_ids(status: Description, field: str, arn: str) -> dict[str, str]:
    """Return the id of the endpoint in each zone that has one: an endpoint that is being created has none yet."""
    found = {
        zone: shown(nested(state, "Attachment", arn), "EndpointId", arn) for zone, state in _zones(status, field, arn)
    }
    return {zone: endpoint_id for zone, endpoint_id in found.items() if endpoint_id}


def _zones(status: Description, field: str, arn: str) -> Iterator[tuple[str, Description]]:
    """Yield the state of each Availability Zone."""
    states = nested(status, field, arn)
    for zone in states:
        yield zone, nested(states, zone, arn)


OWN_SUBNETS = {"resourceOwner": "SELF", "resourceType": "ec2:Subnet"}
"""The parameters of ram:ListResources: the subnets that the account itself shares with others."""


def shared_subnet_ids(resources: Iterable[Description]) -> frozenset[str] | None:
    """Return the ids of the subnets that ram:ListResources returns for resourceOwner SELF, whatever their status.

    The response is described in https://docs.aws.amazon.com/ram/latest/APIReference/API_ListResources.html; a subnet's
    ARN ends in subnet/<id>. None, which means unknown, if a resource has no ARN.
    """
    arns = [shown(resource, "arn", "resources") for resource in resources]
    return frozenset(arn.rpartition("/")[2] for arn in arns) if all(arns) else None


def transit_gateways_of_tables(described: Iterable[Description]) -> dict[str, str]:
    """Return the transit gateway of each table of DescribeTransitGatewayRouteTables. Raise RecordError.

    A table that is deleted, or is being deleted, carries no traffic. If a description does not show both as ids, it may be of
    any transit gateway. Then the list is not whole, so it is empty.
    """
    found = {}
    for description in described:
        if is_gone(description):
            continue
        table_id = shown(description, "TransitGatewayRouteTableId", "TransitGatewayRouteTables")
        gateway_id = shown(description, "TransitGatewayId", table_id or "TransitGatewayRouteTables")
        if not table_id or target_kind(gateway_id) is not TargetKind.TRANSIT_GATEWAY:
            return {}
        found[table_id] = gateway_id
    return found


def transit_gateway_connects(described: Iterable[Description]) -> dict[str, frozenset[str]]:
    """Return the transport attachment of each Connect attachment of DescribeTransitGatewayConnects; empty if it is not shown.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_TransitGatewayConnect.html
    """
    found = {}
    for description in described:
        connect_id = _own_id(description, "TransitGatewayAttachmentId", "TransitGatewayConnects")
        found[connect_id] = frozenset({shown(description, "TransportTransitGatewayAttachmentId", connect_id)})
    return found


def is_gone(description: Description) -> bool:
    """Return whether an entry of DescribeTransitGatewayRouteTables is deleted, or is being deleted."""
    return shown(description, "State", "TransitGatewayRouteTables").lower() in ("deleting", "deleted")


def core_network_attachment(response: Description) -> TransitGatewayAttachment:
    """Return the record of a response of GetVpcAttachment, with the core network's ARN as the gateway. Raise RecordError.

    https://docs.aws.amazon.com/networkmanager/latest/APIReference/API_GetVpcAttachment.html
    """
    of_vpc = nested(response, "VpcAttachment", "GetVpcAttachment")
    attachment = nested(of_vpc, "Attachment", "GetVpcAttachment")
    attachment_id = _own_id(attachment, "AttachmentId", "GetVpcAttachment")
    subnet_ids = tuple(_id_in(arn) for arn in _shown_ids(of_vpc, "SubnetArns", attachment_id))
    return TransitGatewayAttachment(
        id=attachment_id,
        transit_gateway_id=shown(attachment, "CoreNetworkArn", attachment_id),
        resource_type="vpc",
        resource_id=_id_in(shown(attachment, "ResourceArn", attachment_id)),
        state=shown(attachment, "State", attachment_id).lower(),
        subnet_ids=subnet_ids or None,
    )


def _id_in(arn: str) -> str:
    """Return the ID at the end of the ARN of a VPC or a subnet."""
    return arn.rpartition("/")[2]
