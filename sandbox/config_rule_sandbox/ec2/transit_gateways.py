"""Transit gateways over several accounts: attachments, route tables, routes, and their search."""

import ipaddress
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.models.route_tables import Route
from moto.ec2.models.transit_gateway import TransitGatewayBackend
from moto.ec2.models.transit_gateway_attachments import TransitGatewayAttachment, TransitGatewayVpcAttachment
from moto.ec2.responses import EC2Response
from moto.ec2.utils import add_tag_specification
from moto.ram.models import ram_backends

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2 import lifecycle
from config_rule_sandbox.ec2.errors import ApiError, not_found
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.patches import Patches

# --- filters -------------------------------------------------------------------------------------------------------
#
# Filters of the operations that describe transit gateways, their attachments and their route tables.


Row = Mapping[str, Any]


def matching(self: Moto, rows: Sequence[Row]) -> list[Row]:
    """Return the rows that fit every filter of a request; one of a filter's values is enough, and may have wildcards.

    Which filters an operation has is checked where they are read (`filters`).
    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Filter.html
    """
    found = list(rows)
    for name, patterns in self._filters_from_querystring().items():
        found = [row for row in found if _fits(row, name, patterns)]
    return found


def _fits(row: Row, name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(value, pattern) for value in _values(row, name) for pattern in patterns)


def _values(row: Row, name: str) -> list[str]:
    """Return what a filter compares: the keys or values of tags, or the field that the filter is named after."""
    if name == "tag-key":
        return [tag["Key"] for tag in row["Tags"]]
    if name == "tag-value":
        return [tag["Value"] for tag in row["Tags"]]
    if name.startswith("tag:"):
        return [tag["Value"] for tag in row["Tags"] if tag["Key"] == name.removeprefix("tag:")]
    return [_field(row, name)]


def _field(row: Row, name: str) -> str:
    """Return a field as text: options.dns-support is DnsSupport in Options. A missing one is an empty text."""
    value: Any = row
    for part in name.split("."):
        value = (value or {}).get("".join(word.capitalize() for word in part.split("-")), "")
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- what an account sees ------------------------------------------------------------------------------------------
#
# What an account sees of attachments to transit gateways: of its own VPCs, and to its own transit gateways.


def find(backend: Moto, attachment_id: str) -> Moto:
    """Return an attachment that an account sees: of its VPCs and to its transit gateways."""
    attachment = backend.transit_gateway_attachments.get(attachment_id)
    if attachment is None or attachment.state == lifecycle.DELETED:
        message = f"Transit Gateway Attachment {attachment_id} was deleted or does not exist."
        raise ApiError("InvalidTransitGatewayAttachmentID.NotFound", message)
    return attachment


def asked_for(self: Moto, knobs: Knobs) -> list[Moto]:
    """Return the attachments that a request names, else all that its caller sees, after counting one description."""
    known = self.ec2_backend.transit_gateway_attachments
    for attachment in known.values():
        lifecycle.describe(attachment, knobs)
    wanted = self._get_param("TransitGatewayAttachmentIds", [])
    return [find(self.ec2_backend, one) for one in wanted] if wanted else list(known.values())


def described(backend: Moto, attachment: Moto) -> dict[str, Any]:
    """Return what an account sees of an attachment; its association only if it owns the transit gateway.

    Route tables, and with them associations, are for the owner of a transit gateway alone
    (https://docs.aws.amazon.com/vpc/latest/tgw/working-with-transit-gateways.html). Tags are each account's own.
    """
    owner_id = attachment.gateway_owner_id or attachment.owner_id
    seen = {
        "TransitGatewayAttachmentId": attachment.id,
        "TransitGatewayId": attachment.transit_gateway_id,
        "TransitGatewayOwnerId": owner_id,
        "ResourceOwnerId": attachment.resource_owner_id,
        "ResourceType": attachment.resource_type,
        "ResourceId": attachment.resource_id,
        "State": attachment.state,
        "CreationTime": attachment.creation_time,
        "Tags": [{"Key": key, "Value": value} for key, value in backend.tags.get(attachment.id, {}).items()],
    }
    if attachment.associated_with and attachment.state == lifecycle.AVAILABLE and owner_id == backend.account_id:
        seen["Association"] = {"TransitGatewayRouteTableId": attachment.associated_with, "State": "associated"}
    return seen


def described_vpc(backend: Moto, attachment: Moto) -> dict[str, Any]:
    """Return what an account sees of a VPC attachment: its subnets and options, too."""
    seen = described(backend, attachment)
    common = ("TransitGatewayAttachmentId", "TransitGatewayId", "State", "CreationTime", "Tags")
    return {
        **{name: seen[name] for name in common},
        "VpcId": attachment.vpc_id,
        "VpcOwnerId": attachment.resource_owner_id,
        "SubnetIds": attachment.subnet_ids,
        "Options": attachment.options,
    }


# --- sharing -------------------------------------------------------------------------------------------------------
#
# Transit gateways of other accounts, shared through AWS Resource Access Manager.


class TransitGateways(dict[str, Moto]):
    """The transit gateways of one account and Region by id; looking one up finds those shared with the account, too."""

    def __init__(self, backend: Moto) -> None:
        """Begin without any."""
        super().__init__()
        self._backend = backend

    def __missing__(self, gateway_id: str) -> Moto:
        """Return a shared transit gateway. KeyError if there is none."""
        for gateway in shared_with(self._backend):
            if gateway.id == gateway_id:
                return gateway
        raise KeyError(gateway_id)

    def get(self, gateway_id: str, default: Moto = None) -> Moto:
        """Return a transit gateway of the account or shared with it, or the default."""
        try:
            return self[gateway_id]
        except KeyError:
            return default

    def __contains__(self, gateway_id: object) -> bool:
        """Return whether the account has a transit gateway or has it shared."""
        return self.get(str(gateway_id)) is not None


def shared_with(backend: Moto) -> list[Moto]:
    """Return the transit gateways that other accounts share with the account of a backend, in its Region.

    A resource share names accounts as principals and takes effect at once, as it does within an organization
    (https://docs.aws.amazon.com/ram/latest/userguide/getting-started-sharing.html). Shares with organizations or
    organizational units are not known here.
    """
    account_id, region = backend.account_id, backend.region_name
    arns = {
        arn
        for owner in list(ram_backends)
        for share in ram_backends[owner][region].resource_shares
        if owner != account_id and share.status == "ACTIVE" and account_id in share.principals
        for arn in share.resource_arns
    }
    return [
        gateway
        for owner in (list(ec2_backends) if arns else [])
        if owner != account_id
        for gateway in ec2_backends[owner][region].transit_gateways.values()
        if gateway.arn in arns
    ]


# --- routes --------------------------------------------------------------------------------------------------------
#
# The routes of transit gateway route tables: static ones and propagated ones.


Network = ipaddress.IPv4Network | ipaddress.IPv6Network
LIVE = ("pending", "available", "modifying")
"""States in which an attachment carries traffic or soon will (botocore model, TransitGatewayAttachmentState)."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a static route: an attachment, or a deliberate blackhole."""

    attachment_id: str | None
    blackhole: bool


@dataclass(frozen=True, slots=True)
class TransitGatewayRoute:
    """One route as a search shows it; `type` is static or propagated, `state` active or blackhole."""

    network: Network
    type: str
    state: str
    attachment: Moto

    def described(self) -> dict[str, Any]:
        """Return the route as the botocore model's TransitGatewayRoute."""
        row: dict[str, Any] = {"DestinationCidrBlock": str(self.network), "Type": self.type, "State": self.state}
        if self.attachment is not None:
            row["TransitGatewayAttachments"] = [attached(self.attachment)]
        return row


def attached(attachment: Moto) -> dict[str, str]:
    """Return an attachment as routes, associations and propagations name it."""
    return {
        "TransitGatewayAttachmentId": attachment.id,
        "ResourceId": attachment.resource_id,
        "ResourceType": attachment.resource_type,
    }


def is_live(attachment: Moto) -> bool:
    """Return whether an attachment is neither waiting for its acceptance nor on its way out."""
    return bool(attachment.state in LIVE)


def table_of(backend: Moto, table_id: str) -> Moto:
    """Return a route table of the caller's own transit gateways; only their owner can use it.

    The error that others get: https://github.com/hashicorp/terraform-provider-aws/issues/11029.
    """
    table = backend.transit_gateways_route_tables.get(table_id)
    if table is None or table.state != "available":
        message = f"Transit Gateway Route Table {table_id} was deleted or does not exist."
        raise ApiError("InvalidRouteTableID.NotFound", message)
    return table


def static_routes(table: Moto) -> dict[Network, Target]:
    """Return the static routes of a table, which may be changed."""
    found: dict[Network, Target] = table.__dict__.setdefault("static_routes", {})
    return found


def routes_of(backend: Moto, table: Moto) -> list[TransitGatewayRoute]:
    """Return the preferred route for each destination, sorted by it.

    Among equal destinations static routes come first, then propagated ones; a table shows the preferred one alone
    (https://docs.aws.amazon.com/vpc/latest/tgw/how-transit-gateways-work.html, "Route
    evaluation order").
    """
    found: dict[Network, TransitGatewayRoute] = {}
    for route in (*_static(backend, table), *_propagated(backend, table)):
        found.setdefault(route.network, route)
    return [found[key] for key in sorted(found, key=lambda network: (network.version, network))]


def _static(backend: Moto, table: Moto) -> Iterator[TransitGatewayRoute]:
    for network, target in static_routes(table).items():
        yield _route(backend, network, target)


def _route(backend: Moto, network: Network, target: Target) -> TransitGatewayRoute:
    """Return a static route; it is also a blackhole once its attachment is gone."""
    attachment = backend.transit_gateway_attachments.get(target.attachment_id)
    dark = target.blackhole or attachment is None or not is_live(attachment)
    return TransitGatewayRoute(network, "static", "blackhole" if dark else "active", attachment)


def _propagated(backend: Moto, table: Moto) -> Iterator[TransitGatewayRoute]:
    """Yield the blocks of the VPCs that propagate to a table: IPv6 ones where the attachment supports IPv6."""
    for attachment_id in table.__dict__.get("propagating", []):
        attachment = backend.transit_gateway_attachments[attachment_id]
        if attachment.resource_type != "vpc" or not is_live(attachment):
            continue
        vpc = ec2_backends[attachment.resource_owner_id][backend.region_name].get_vpc(attachment.resource_id)
        blocks = vpc.get_cidr_block_association_set(ipv6=False)
        if attachment.options["Ipv6Support"] == "enable":
            blocks = [*blocks, *vpc.get_cidr_block_association_set(ipv6=True)]
        for block in blocks:
            yield TransitGatewayRoute(ipaddress.ip_network(block["cidr_block"]), "propagated", "active", attachment)


def target_of(self: Moto, table: Moto) -> Target:
    """Return the target of a request, which names an attachment to the table's transit gateway, or Blackhole."""
    attachment_id, blackhole = self._get_param("TransitGatewayAttachmentId"), bool(self._get_param("Blackhole"))
    if bool(attachment_id) == blackhole:
        message = "The request must contain either TransitGatewayAttachmentId or Blackhole"
        raise ApiError("InvalidParameterCombination" if blackhole else "MissingParameter", message)
    attachment = self.ec2_backend.transit_gateway_attachments.get(attachment_id)
    if attachment_id and (attachment is None or attachment.transit_gateway_id != table.transit_gateway_id):
        message = f"Transit Gateway Attachment {attachment_id} was deleted or does not exist."
        raise ApiError("InvalidTransitGatewayAttachmentID.NotFound", message)
    return Target(attachment_id, blackhole)


def _create_route(self: Moto) -> ActionResult:
    table, network = table_of(self.ec2_backend, self._get_param("TransitGatewayRouteTableId")), _destination(self)
    target = target_of(self, table)
    if network in static_routes(table):
        raise ApiError("RouteAlreadyExists", f"The route identified by {network} already exists.")
    static_routes(table)[network] = target
    return ActionResult({"Route": _route(self.ec2_backend, network, target).described()})


def _destination(self: Moto) -> Network:
    block = self._get_param("DestinationCidrBlock")
    try:
        return ipaddress.ip_network(block)
    except ValueError:
        message = f"Value ({block}) for parameter destinationCidrBlock is invalid. This is not a valid CIDR block."
        raise ApiError("InvalidParameterValue", message) from None


# --- search --------------------------------------------------------------------------------------------------------
#
# SearchTransitGatewayRoutes: its filters, and its pages.


MOST = 1000
"""The most routes of one answer, and how many there are without MaxResults (botocore model)."""

_Routes = list[TransitGatewayRoute]


def _search_routes(self: Moto) -> ActionResult:
    """Search a table of the caller's own transit gateways. MissingParameter without a filter: one is required."""
    table = table_of(self.ec2_backend, self._get_param("TransitGatewayRouteTableId"))
    conditions = self._filters_from_querystring()
    if not conditions:
        raise ApiError("MissingParameter", "The request must contain the parameter Filters")
    found = routes_of(self.ec2_backend, table)
    for name, values in conditions.items():
        found = _fitting(found, name, values)
    self.params.setdefault("MaxResults", MOST)
    return ActionResult({"Routes": [route.described() for route in found]})


def with_more_available(original: Moto) -> Moto:
    """Wrap the end of every operation: the answer to a search says whether there are more routes than it contains.

    The botocore model has AdditionalRoutesAvailable beside NextToken; older ones have no token, and more than 1,000
    routes can only be searched for by narrower filters. A table whose `gives_tokens` a test sets to False is like that.
    """

    def serialized(self: Moto, answer: ActionResult) -> Moto:
        result = answer.result
        if self._get_action() == "SearchTransitGatewayRoutes" and isinstance(result, dict):
            token = result.pop("NextToken", None)
            table = table_of(self.ec2_backend, self._get_param("TransitGatewayRouteTableId"))
            more = {"NextToken": token} if token and getattr(table, "gives_tokens", True) else {}
            answer = ActionResult({**result, "AdditionalRoutesAvailable": token is not None, **more})
        return original(self, answer)

    return serialized


def _fitting(routes: _Routes, name: str, values: Sequence[str]) -> _Routes:
    """Return the routes that one filter fits; any of its values is enough (botocore model, Filters)."""
    if name not in _COMPARED:
        raise NotImplementedError(f"the sandbox does not search transit gateway routes by {name}")
    return [route for route in routes if _COMPARED[name](route) in values]


_COMPARED: dict[str, Callable[[TransitGatewayRoute], str | None]] = {
    "route-search.exact-match": lambda route: str(route.network),
    "state": lambda route: route.state,
    "type": lambda route: route.type,
    "attachment.resource-id": lambda route: getattr(route.attachment, "resource_id", None),
    "attachment.resource-type": lambda route: getattr(route.attachment, "resource_type", None),
    "attachment.transit-gateway-attachment-id": lambda route: getattr(route.attachment, "id", None),
}


# --- attachments ---------------------------------------------------------------------------------------------------
#
# Attachments of VPCs to transit gateways, over one account or two.


PENDING_ACCEPTANCE = "pendingAcceptance"
_Attachment: Moto = TransitGatewayVpcAttachment


def attachment_operations(knobs: Knobs) -> dict[str, Callable[[Moto], ActionResult]]:
    """Return the operations by the names of their methods; the knobs say how long an attachment stays pending."""

    def describe_transit_gateway_attachments(self: Moto) -> ActionResult:
        rows = [described(self.ec2_backend, attachment) for attachment in asked_for(self, knobs)]
        return ActionResult({"TransitGatewayAttachments": matching(self, rows)})

    def describe_transit_gateway_vpc_attachments(self: Moto) -> ActionResult:
        of_vpcs = [attachment for attachment in asked_for(self, knobs) if attachment.resource_type == "vpc"]
        rows = [described_vpc(self.ec2_backend, attachment) for attachment in of_vpcs]
        found = matching(self, rows)
        return ActionResult({"TransitGatewayVpcAttachments": found})

    return {
        "create_transit_gateway_vpc_attachment": _create_attachment,
        "accept_transit_gateway_vpc_attachment": _accept_attachment,
        "delete_transit_gateway_vpc_attachment": _delete_attachment,
        "describe_transit_gateway_attachments": describe_transit_gateway_attachments,
        "describe_transit_gateway_vpc_attachments": describe_transit_gateway_vpc_attachments,
    }


def _create_attachment(self: Moto) -> ActionResult:
    """Attach a VPC of the caller to a transit gateway of its own or a shared one.

    Where its owner does not accept attachments by itself, the attachment waits as pendingAcceptance
    (https://docs.aws.amazon.com/vpc/latest/tgw/acceptance-tgw-attach.html).
    """
    backend, parameters = self.ec2_backend, self.params
    gateway = backend.transit_gateways.get(parameters["TransitGatewayId"])
    if gateway is None:
        message = f"Transit Gateway {parameters['TransitGatewayId']} was deleted or does not exist."
        raise ApiError("InvalidTransitGatewayID.NotFound", message)
    vpc = backend.get_vpc(parameters["VpcId"])
    _refuse_second(backend, gateway, vpc.id)
    _check_subnets(backend, vpc.id, parameters.get("SubnetIds", []))
    specifications = parameters.get("TagSpecifications", [])
    tags = {tag["Key"]: tag["Value"] for specification in specifications for tag in specification.get("Tags", [])}
    options = parameters.get("Options", {})
    attachment = _Attachment(backend, gateway, vpc.id, [*parameters["SubnetIds"]], tags, options)
    attachment.gateway_owner_id = gateway.owner_id
    backend.transit_gateway_attachments[attachment.id] = attachment
    _of_owner(attachment).transit_gateway_attachments[attachment.id] = attachment
    if gateway.owner_id != backend.account_id and gateway.options["AutoAcceptSharedAttachments"] != "enable":
        attachment.state = PENDING_ACCEPTANCE
    else:
        _begin(attachment, gateway)
    return ActionResult({"TransitGatewayVpcAttachment": described_vpc(backend, attachment)})


def _begin(attachment: Moto, gateway: Moto) -> None:
    """Let an attachment become available, associated and propagating as the transit gateway's defaults say."""
    lifecycle.start(attachment)
    tables = _of_owner(attachment).transit_gateways_route_tables
    if gateway.options["DefaultRouteTableAssociation"] == "enable":
        attachment.associated_with = gateway.options["AssociationDefaultRouteTableId"]
    if gateway.options["DefaultRouteTablePropagation"] == "enable":
        table = tables[gateway.options["PropagationDefaultRouteTableId"]]
        table.__dict__.setdefault("propagating", []).append(attachment.id)


def _of_owner(attachment: Moto) -> Moto:
    return ec2_backends[attachment.gateway_owner_id][attachment.ec2_backend.region_name]


def _refuse_second(backend: Moto, gateway: Moto, vpc_id: str) -> None:
    for other in backend.transit_gateway_attachments.values():
        if (other.transit_gateway_id, other.resource_id) == (gateway.id, vpc_id) and is_live(other):
            message = f"{gateway.id} has non-deleted Transit Gateway Attachments with same VPC ID."
            raise ApiError("DuplicateTransitGatewayAttachment", message)


def _check_subnets(backend: Moto, vpc_id: str, subnet_ids: list[str]) -> None:
    """Refuse subnets of other VPCs, and more than one in a zone.

    https://docs.aws.amazon.com/vpc/latest/tgw/how-transit-gateways-work.html, "Availability Zones".
    """
    subnets = [backend.get_subnet(subnet_id) for subnet_id in subnet_ids]
    if not subnets:
        raise ApiError("MissingParameter", "The request must contain the parameter SubnetIds")
    for subnet in subnets:
        if subnet.vpc_id != vpc_id:
            raise ApiError("InvalidParameterValue", f"{subnet.id} is not in {vpc_id}")
    zones = [subnet.availability_zone for subnet in subnets]
    if len(set(zones)) < len(zones):
        raise ApiError("DuplicateSubnetsInSameZone", "Subnets specified in the request are in the same zone")


def _accept_attachment(self: Moto) -> ActionResult:
    """Accept an attachment that waits for it. IncorrectState otherwise; only the transit gateway's owner may."""
    backend = self.ec2_backend
    attachment = find(backend, self._get_param("TransitGatewayAttachmentId"))
    if attachment.state != PENDING_ACCEPTANCE or attachment.gateway_owner_id != backend.account_id:
        raise ApiError("IncorrectState", f"{attachment.id} is in invalid state")
    _begin(attachment, backend.transit_gateways[attachment.transit_gateway_id])
    return ActionResult({"TransitGatewayVpcAttachment": described_vpc(backend, attachment)})


def _delete_attachment(self: Moto) -> ActionResult:
    """Delete an attachment; its association and propagations go with it, its description stays a while."""
    backend = self.ec2_backend
    attachment = find(backend, self._get_param("TransitGatewayAttachmentId"))
    lifecycle.delete(attachment)
    attachment.associated_with = None
    for table in _of_owner(attachment).transit_gateways_route_tables.values():
        kept = [
            attachment_id for attachment_id in table.__dict__.get("propagating", []) if attachment_id != attachment.id
        ]
        table.propagating = kept
    return ActionResult({"TransitGatewayVpcAttachment": described_vpc(backend, attachment)})


# --- route tables --------------------------------------------------------------------------------------------------
#
# Transit gateway route tables, and which attachments are associated with them or propagate to them.


def _create_table(self: Moto) -> ActionResult:
    backend, gateway_id = self.ec2_backend, self._get_param("TransitGatewayId")
    if gateway_id not in list(backend.transit_gateways):
        raise not_found("InvalidTransitGatewayID.NotFound", "transitGateway", gateway_id)
    tags = add_tag_specification(self._get_param("TagSpecifications", []))
    made = backend.create_transit_gateway_route_table(gateway_id, tags)
    return ActionResult({"TransitGatewayRouteTable": _described_table(backend, made)})


def _describe_tables(self: Moto) -> ActionResult:
    """Describe the tables of the caller's own transit gateways; those of a shared one are its owner's alone.

    https://docs.aws.amazon.com/vpc/latest/tgw/working-with-transit-gateways.html.
    """
    backend = self.ec2_backend
    wanted = self._get_param("TransitGatewayRouteTableIds", [])
    tables = [table_of(backend, one) for one in wanted] or list(backend.transit_gateways_route_tables.values())
    rows = [_described_table(backend, table) for table in tables]
    return ActionResult({"TransitGatewayRouteTables": matching(self, rows)})


def _described_table(backend: Moto, table: Moto) -> dict[str, Any]:
    return {
        "TransitGatewayRouteTableId": table.id,
        "TransitGatewayId": table.transit_gateway_id,
        "State": table.state,
        "DefaultAssociationRouteTable": table.default_association_route_table,
        "DefaultPropagationRouteTable": table.default_propagation_route_table,
        "CreationTime": table.creation_time,
        "Tags": [{"Key": key, "Value": value} for key, value in backend.tags.get(table.id, {}).items()],
    }


def _named(self: Moto) -> tuple[Moto, Moto]:
    """Return the table and the attachment of a request, which have to be of one transit gateway."""
    table = table_of(self.ec2_backend, self._get_param("TransitGatewayRouteTableId"))
    attachment = find(self.ec2_backend, self._get_param("TransitGatewayAttachmentId"))
    if attachment.transit_gateway_id != table.transit_gateway_id:
        raise ApiError("InvalidParameterValue", f"{attachment.id} and {table.id} belong to different transit gateways")
    return table, attachment


def _associate(self: Moto) -> ActionResult:
    """Associate an attachment with a table. An attachment can be associated with one table only.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssociateTransitGatewayRouteTable.html.
    """
    table, attachment = _named(self)
    if attachment.associated_with:
        message = f"Transit Gateway Attachment {attachment.id} is already associated to a route table."
        raise ApiError("Resource.AlreadyAssociated", message)
    if not is_live(attachment):
        raise ApiError("IncorrectState", f"{attachment.id} is in invalid state")
    attachment.associated_with = table.id
    return ActionResult({"Association": _relation(table, attachment, "associating")})


def _enable(self: Moto) -> ActionResult:
    table, attachment = _named(self)
    propagating = table.__dict__.setdefault("propagating", [])
    if attachment.id in propagating:
        message = f"Propagation of {attachment.id} to {table.id} is already enabled."
        raise ApiError("TransitGatewayRouteTablePropagation.Duplicate", message)
    propagating.append(attachment.id)
    return ActionResult({"Propagation": _relation(table, attachment, "enabled")})


def _get_associations(self: Moto) -> ActionResult:
    """List the attachments that are associated with a table.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetTransitGatewayRouteTableAssociations.html.
    """
    table = table_of(self.ec2_backend, self._get_param("TransitGatewayRouteTableId"))
    known = self.ec2_backend.transit_gateway_attachments.values()
    rows = [{**attached(one), "State": "associated"} for one in known if one.associated_with == table.id]
    return ActionResult({"Associations": matching(self, rows)})


def _get_propagations(self: Moto) -> ActionResult:
    """List the attachments that propagate routes to a table.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetTransitGatewayRouteTablePropagations.html.
    """
    table = table_of(self.ec2_backend, self._get_param("TransitGatewayRouteTableId"))
    ids = table.__dict__.get("propagating", [])
    rows = [{**attached(find(self.ec2_backend, one)), "State": "enabled"} for one in ids]
    return ActionResult({"TransitGatewayRouteTablePropagations": matching(self, rows)})


def _relation(table: Moto, attachment: Moto, state: str) -> dict[str, str]:
    return {**attached(attachment), "TransitGatewayRouteTableId": table.id, "State": state}


OPERATIONS: dict[str, Callable[[Moto], ActionResult]] = {
    "create_transit_gateway_route": _create_route,
    "search_transit_gateway_routes": _search_routes,
    "create_transit_gateway_route_table": _create_table,
    "describe_transit_gateway_route_tables": _describe_tables,
    "associate_transit_gateway_route_table": _associate,
    "enable_transit_gateway_route_table_propagation": _enable,
    "get_transit_gateway_route_table_associations": _get_associations,
    "get_transit_gateway_route_table_propagations": _get_propagations,
}
"""The operations that read no knob, by the names of their methods."""


# --- transit gateways ----------------------------------------------------------------------------------------------
#
# Transit gateways: which of them an account sees, and what becomes of routes to them.


def apply(patches: Patches, knobs: Knobs) -> None:
    """Correct everything about transit gateways.

    moto's are of one account, its attachments are available at once, its route tables show neither attachments nor
    propagated routes, and a search among them is by exact match only
    (https://docs.aws.amazon.com/vpc/latest/tgw/how-transit-gateways-work.html).
    """
    patches.set(TransitGatewayAttachment, "associated_with", None)
    patches.set(TransitGatewayAttachment, "gateway_owner_id", None)
    patches.wrap(TransitGatewayBackend, "__init__", _beginning)
    patches.wrap(EC2Backend, "create_transit_gateway", _creating)
    patches.wrap(EC2Response, "create_route", _routing)
    patches.wrap(EC2Response, "replace_route", _routing)
    state = vars(Route)["state"]
    patches.set(Route, "state", property(lambda route: _state(route, state.__get__(route))))
    patches.set(EC2Response, "describe_transit_gateways", _describe_transit_gateways)
    operations = OPERATIONS | attachment_operations(knobs)
    for name, operation in operations.items():
        patches.set(EC2Response, name, operation)
    patches.wrap(EC2Response, "serialized", with_more_available)


def _beginning(original: Moto) -> Moto:
    def initialize(self: Moto) -> None:
        original(self)
        self.transit_gateways = TransitGateways(self)

    return initialize


def _creating(original: Moto) -> Moto:
    def create_transit_gateway(self: Moto, *arguments: Moto, **named: Moto) -> Moto:
        """Make a transit gateway; without default association and propagation it has no table to begin with.

        https://docs.aws.amazon.com/vpc/latest/tgw/create-tgw.html.
        """
        gateway = original(self, *arguments, **named)
        defaults = {
            "DefaultRouteTableAssociation": ("AssociationDefaultRouteTableId", "default_association_route_table"),
            "DefaultRouteTablePropagation": ("PropagationDefaultRouteTableId", "default_propagation_route_table"),
        }
        for option, (named_id, flag) in defaults.items():
            if gateway.options[option] == "disable":
                del gateway.options[named_id]
                setattr(gateway.default_route_table, flag, False)
        if all(gateway.options[option] == "disable" for option in defaults):
            del self.transit_gateways_route_tables[gateway.default_route_table.id]
        return gateway

    return create_transit_gateway


def _routing(original: Moto) -> Moto:
    def change_route(self: Moto) -> ActionResult:
        """Refuse a route to a transit gateway that the table's VPC is not attached to.

        The error is that of a transit gateway which does not exist, as in
        https://github.com/hashicorp/terraform-provider-aws/issues/10025.
        """
        gateway_id = self._get_param("TransitGatewayId")
        table = self.ec2_backend.route_tables.get(self._get_param("RouteTableId"))
        if gateway_id and table and not _is_attached(self.ec2_backend, table.vpc_id, gateway_id):
            raise not_found("InvalidTransitGatewayID.NotFound", "transitGateway", gateway_id)
        answer: ActionResult = original(self)
        return answer

    return change_route


def _state(route: Moto, otherwise: str) -> str:
    """Return the state of a route: a blackhole, too, where its VPC is no longer attached to its transit gateway."""
    backend, gateway = route.route_table.ec2_backend, route.transit_gateway
    if gateway and not _is_attached(backend, route.route_table.vpc_id, gateway.id):
        return "blackhole"
    return otherwise


def _is_attached(backend: Moto, vpc_id: str, gateway_id: str) -> bool:
    return any(
        attachment.transit_gateway_id == gateway_id and attachment.resource_id == vpc_id and is_live(attachment)
        for attachment in backend.transit_gateway_attachments.values()
    )


def _describe_transit_gateways(self: Moto) -> ActionResult:
    """Describe the caller's own and those shared with it.

    Apart from those on VPC attachments, this is the only operation that a recipient of a share may call
    (https://docs.aws.amazon.com/vpc/latest/tgw/working-with-transit-gateways.html).
    """
    backend = self.ec2_backend
    known = {gateway.id: gateway for gateway in (*backend.transit_gateways.values(), *shared_with(backend))}
    wanted = self._get_param("TransitGatewayIds", [])
    for gateway_id in wanted:
        if gateway_id not in known:
            raise not_found("InvalidTransitGatewayID.NotFound", "transitGateway", gateway_id)
    rows = [_described(backend, gateway) for gateway in known.values() if not wanted or gateway.id in wanted]
    return ActionResult({"TransitGateways": matching(self, rows)})


def _described(backend: Moto, gateway: Moto) -> dict[str, Any]:
    return {
        "TransitGatewayId": gateway.id,
        "TransitGatewayArn": gateway.arn,
        "State": gateway.state,
        "OwnerId": gateway.owner_id,
        "Description": gateway.description,
        "CreationTime": gateway.creation_time,
        "Options": gateway.options,
        "Tags": [{"Key": key, "Value": value} for key, value in backend.tags.get(gateway.id, {}).items()],
    }
