"""Read a CloudFormation template as the resources of a new stack, and a change set as changes of one that exists.

cfn-lint decodes the template (https://github.com/aws-cloudformation/cfn-lint). The functions in it are evaluated as far as
the template alone decides them; whatever depends on anything else is not known.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from express_path_cli.sources.proposal.document import MAX_DEPTH, ChangeError, check_depth, read_content
from express_path_cli.sources.proposal.resource import (
    MADE,
    OPEN,
    Action,
    Arguments,
    NewId,
    Possible,
    Resource,
    firewall_endpoints,
    made_id,
    union,
)

SUFFIXES = (".yaml", ".yml", ".template")
"""The suffixes of templates. One in JSON is recognized by its Resources."""
MAX_BYTES = 1 << 20
"""The largest template that CloudFormation accepts, in bytes
(https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html)."""
MAX_NAMES = 500
"""The most resources of a template (the same page), and the most names in any object of it. cfn-lint compares each name
with all others."""
_DEEPEST, _MOST_STEPS, _LONGEST = 60, 100_000, 4096
"""The bounds of evaluation: how deep functions, conditions, and the properties that Fn::GetAtt names lead, how many values
are evaluated, and how long a text or list is. What is beyond is not known."""
_REMEDY = "use a template of CloudFormation, with its transforms expanded"
_UNKNOWN = "{{"
"""The beginning of what CloudFormation writes for a value that is known after the change, and for a dynamic reference."""
_VARIABLE = re.compile(r"\$\{([^!{}][^{}]*)\}")


@dataclass(frozen=True, slots=True)
class _Kind:
    """The type of Terraform that is like a type of CloudFormation, and the properties that decide about paths.

    id: the attribute that is the same as Ref.
    """

    type: str
    properties: str
    id: str = "Id"


_TRANSIT_GATEWAY = "aws_ec2_transit_gateway"
_TRANSIT = "TransitGatewayAttachmentId TransitGatewayRouteTableId"
_PLACE = "VpcId SubnetId RouteTableId"
_ATTACHMENT = _Kind(
    f"{_TRANSIT_GATEWAY}_vpc_attachment", "TransitGatewayId VpcId SubnetIds AddSubnetIds RemoveSubnetIds Options"
)
_GATEWAY_ATTACHMENT = "AWS::EC2::VPCGatewayAttachment"
_PROPAGATION = "AWS::EC2::VPNGatewayRoutePropagation"
_KINDS: Mapping[str, _Kind] = {
    "AWS::EC2::VPC": _Kind("aws_vpc", "CidrBlock", "VpcId"),
    "AWS::EC2::Subnet": _Kind(
        "aws_subnet",
        "VpcId AvailabilityZone AvailabilityZoneId Ipv6CidrBlock Ipv6IpamPoolId Ipv6NetmaskLength Ipv6Native EnableDns64",
        "SubnetId",
    ),
    "AWS::EC2::SubnetCidrBlock": _Kind("aws_vpc_subnet_ipv6_cidr", "SubnetId"),
    "AWS::EC2::RouteTable": _Kind("aws_route_table", "VpcId", "RouteTableId"),
    "AWS::EC2::Route": _Kind(
        "aws_route",
        """
        RouteTableId DestinationCidrBlock DestinationIpv6CidrBlock DestinationPrefixListId GatewayId NatGatewayId
        EgressOnlyInternetGatewayId TransitGatewayId VpcEndpointId NetworkInterfaceId InstanceId VpcPeeringConnectionId
        CarrierGatewayId LocalGatewayId CoreNetworkArn OdbNetworkArn
        """,
    ),
    "AWS::EC2::SubnetRouteTableAssociation": _Kind("aws_route_table_association", _PLACE),
    "AWS::EC2::GatewayRouteTableAssociation": _Kind("aws_route_table_association", "GatewayId RouteTableId"),
    _PROPAGATION: _Kind("aws_vpn_gateway_route_propagation", "RouteTableIds VpnGatewayId"),
    "AWS::EC2::NatGateway": _Kind(
        "aws_nat_gateway", "SubnetId VpcId ConnectivityType AvailabilityMode", "NatGatewayId"
    ),
    "AWS::EC2::InternetGateway": _Kind("aws_internet_gateway", "", "InternetGatewayId"),
    "AWS::EC2::VPNGateway": _Kind("aws_vpn_gateway", "", "VPNGatewayId"),
    _GATEWAY_ATTACHMENT: _Kind("aws_internet_gateway_attachment", "VpcId InternetGatewayId VpnGatewayId"),
    "AWS::EC2::EgressOnlyInternetGateway": _Kind("aws_egress_only_internet_gateway", "VpcId"),
    "AWS::EC2::CarrierGateway": _Kind("aws_ec2_carrier_gateway", "VpcId", "CarrierGatewayId"),
    "AWS::EC2::VPCPeeringConnection": _Kind("aws_vpc_peering_connection", "VpcId"),
    "AWS::EC2::VPNConnection": _Kind("aws_vpn_connection", "TransitGatewayId VpnGatewayId", "VpnConnectionId"),
    "AWS::EC2::VPCEndpoint": _Kind(
        "aws_vpc_endpoint", "VpcId ServiceName VpcEndpointType RouteTableIds SubnetIds IpAddressType"
    ),
    "AWS::EC2::PrefixList": _Kind(
        "aws_ec2_managed_prefix_list", "PrefixListName AddressFamily Entries", "PrefixListId"
    ),
    "AWS::EC2::NetworkInterface": _Kind("aws_network_interface", "SubnetId SourceDestCheck"),
    "AWS::EC2::Instance": _Kind("aws_instance", "SubnetId SourceDestCheck NetworkInterfaces", "InstanceId"),
    "AWS::NetworkFirewall::Firewall": _Kind("aws_networkfirewall_firewall", "VpcId SubnetMappings", "FirewallArn"),
    "AWS::EC2::TransitGateway": _Kind(
        _TRANSIT_GATEWAY,
        """
        DefaultRouteTableAssociation DefaultRouteTablePropagation AssociationDefaultRouteTableId
        PropagationDefaultRouteTableId
        """,
    ),
    "AWS::EC2::TransitGatewayAttachment": _ATTACHMENT,
    "AWS::EC2::TransitGatewayVpcAttachment": _ATTACHMENT,
    "AWS::EC2::TransitGatewayPeeringAttachment": _Kind(
        f"{_TRANSIT_GATEWAY}_peering_attachment", "TransitGatewayId", "TransitGatewayAttachmentId"
    ),
    "AWS::EC2::TransitGatewayConnect": _Kind(
        f"{_TRANSIT_GATEWAY}_connect", "TransportTransitGatewayAttachmentId", "TransitGatewayAttachmentId"
    ),
    "AWS::EC2::TransitGatewayRouteTable": _Kind(
        f"{_TRANSIT_GATEWAY}_route_table", "TransitGatewayId", "TransitGatewayRouteTableId"
    ),
    "AWS::EC2::TransitGatewayRoute": _Kind(f"{_TRANSIT_GATEWAY}_route", f"{_TRANSIT} DestinationCidrBlock Blackhole"),
    "AWS::EC2::TransitGatewayRouteTableAssociation": _Kind(f"{_TRANSIT_GATEWAY}_route_table_association", _TRANSIT),
    "AWS::EC2::TransitGatewayRouteTablePropagation": _Kind(f"{_TRANSIT_GATEWAY}_route_table_propagation", _TRANSIT),
    "AWS::EC2::VPCBlockPublicAccessOptions": _Kind("aws_vpc_block_public_access_options", ""),
    "AWS::EC2::VPCBlockPublicAccessExclusion": _Kind("aws_vpc_block_public_access_exclusion", ""),
}
"""The types that decide about paths (https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_EC2.html)."""
_ARGUMENTS = {
    "EgressOnlyInternetGatewayId": "egress_only_gateway_id",
    "Entries": "entry",
    "NetworkInterfaces": "network_interface",
    "PrefixListName": "name",
    "SubnetMappings": "subnet_mapping",
}
"""The arguments of Terraform whose names are not those of the properties in other letters."""
_OPENED = {
    "AddSubnetIds": "subnet_ids",
    "RemoveSubnetIds": "subnet_ids",
    "Ipv6IpamPoolId": "ipv6_cidr_block",
    "Ipv6NetmaskLength": "ipv6_cidr_block",
    "TransportTransitGatewayAttachmentId": "transit_gateway_id",
}
"""The properties because of which an argument is not known."""
_WORD = re.compile("(?<=[a-z0-9])(?=[A-Z])")
_MADE = ("PrimaryNetworkInterfaceId", "AssociationDefaultRouteTableId", "PropagationDefaultRouteTableId")
"""The attributes of Fn::GetAtt that name what AWS makes together with a resource."""


# --- templates -------------------------------------------------------------------------------------------------------


_CUSTOM = ("Custom::", "AWS::CloudFormation::CustomResource")
_AWS_ID = re.compile(r"\b(vpce?|subnet|rtb|nat|[ev]?igw|vgw|eni|tgw(-[a-z]+)?|pl|i)-[0-9a-f]+\b")
"""An ID of what decides about paths."""


class Template:
    """A template: the resources of a new stack, and the line of each."""

    def __init__(self, file: Path, region: str, parameters: Mapping[str, str]) -> None:
        """Read a template. Raise ChangeError, which contains no value of it.

        parameters: their values, instead of the defaults.
        """
        self.file, self._region = file, region
        self._template = _decoded(file)
        self._given = {"AWS::Region": region or OPEN, "AWS::NoValue": None} | self._parameters(parameters)
        self.lines = {
            f"Resources.{name}": name.start_mark.line + 1
            for name in self._template["Resources"]
            if hasattr(name, "start_mark")
        }

    def _parameters(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Return the values of the parameters that are known.

        Not known is one of Systems Manager, whose value in the template is a name, and one that is not shown (NoEcho).
        """
        found: dict[str, Any] = {}
        declared = _section(self._template, "Parameters")
        for name in declared:
            parameter = _section(declared, name)
            kind, value = str(parameter.get("Type")), _text(given.get(name, parameter.get("Default")))
            if value is None or _UNKNOWN in value or kind.startswith("AWS::SSM::") or "NoEcho" in parameter:
                found[name] = OPEN
            elif kind.startswith(("CommaDelimitedList", "List<")):
                found[name] = [item.strip() for item in value.split(",")]
            else:
                found[name] = value
        return found

    def values(self, ids: Mapping[str, str] | None = None) -> "_Values":
        """Return the values of the properties for the ids of resources, by name; None if all of them are new."""
        return _Values(self._template, self._given, ids)

    def resources(self) -> list[Resource]:
        """Return the resources of a new stack. Raise ChangeError, which contains no value of the template."""
        values, found = self.values(), list[Resource]()
        for name, resource in self._template["Resources"].items():
            is_wanted = values.is_wanted(name)
            if is_wanted is False:
                continue
            type_ = str(resource.get("Type"))
            if type_.startswith(_CUSTOM) and not values.names_paths(name):
                continue
            kind = _KINDS.get(type_) if is_wanted is True else None
            address = f"Resources.{name}"
            after = _arguments(address, values.properties(name, kind or _place(type_)))
            type_ = _type_of(type_, kind, after)
            found.append(
                Resource(
                    address,
                    type_,
                    address,
                    Action.CREATE,
                    Arguments(address, {}),
                    after,
                    NewId(address),
                    region=self._region,
                )
            )
        return found


class _Values:
    """The values in a template: JSON, with a Possible in place of each value that is not known, and None for none."""

    def __init__(self, template: Mapping[str, Any], given: Mapping[str, Any], ids: Mapping[str, str] | None) -> None:
        """Keep the template, the values of Ref, and the ids of resources, None for new ones."""
        self._template, self._resources = template, template["Resources"]
        self._given, self._ids = given, ids
        self._depth = self._steps = 0

    def is_wanted(self, name: str) -> Any:  # noqa: ANN401
        """Return whether a resource is in the stack, OPEN if that is not known."""
        resource = self._resources[name]
        return self._condition(str(resource["Condition"])) if "Condition" in resource else True

    def properties(self, name: str, kind: _Kind) -> dict[str, Any]:
        """Return the properties of a resource that its arguments are made of."""
        names = [*kind.properties.split(), "Tags"]
        return {one: value for one in names if (value := self.property(name, one)) is not None}

    def names_paths(self, name: str) -> bool:
        """Return whether the properties of a custom resource may name what decides about paths, besides its own function."""
        properties = self._resources[name].get("Properties")
        given = {**properties, "ServiceToken": None} if isinstance(properties, dict) else OPEN
        return self._names_path(given)

    def _names_path(self, value: Any) -> bool:  # noqa: ANN401
        match value:
            case {"Ref": str() as name}:
                found = self._given.get(name)
                return (name in self._resources and self._is_mapped(name)) or (
                    found is not None and self._names_path(found)
                )
            case {"Fn::GetAtt": str() as text}:
                return self._is_mapped(text.partition(".")[0]) and not text.endswith(".DefaultSecurityGroup")
            case {"Fn::GetAtt": [str() as name, attribute]}:
                return self._is_mapped(name) and attribute != "DefaultSecurityGroup"
            case dict():
                return any(map(self._names_path, value.values()))
            case list():
                return any(map(self._names_path, value))
            case str():
                return "${" in value or _UNKNOWN in value or _AWS_ID.search(value) is not None
        return isinstance(value, Possible)

    def _is_mapped(self, name: str) -> bool:
        return str(self._resources.get(name, {}).get("Type")) in _KINDS

    def property(self, name: str, property_name: str) -> Any:  # noqa: ANN401  # any JSON
        """Return a property of a resource, None if it has no value."""
        properties = self._resources.get(name, {}).get("Properties", {})
        if isinstance(properties, dict) and not _has_function(properties):
            return self._value(properties.get(property_name))
        return OPEN

    def _value(self, value: Any) -> Any:  # noqa: ANN401
        self._steps += 1
        is_long = isinstance(value, (str, list)) and len(value) > _LONGEST
        if is_long or self._depth >= _DEEPEST or self._steps > _MOST_STEPS:
            return OPEN
        self._depth += 1
        try:
            return self._evaluated(value)
        finally:
            self._depth -= 1

    def _evaluated(self, value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, str):
            return OPEN if _UNKNOWN in value else str(value)
        if isinstance(value, list):
            return [found for found in map(self._value, value) if found is not None]
        if not isinstance(value, dict):
            return value
        if not _has_function(value) and [*value] != ["Condition"]:
            every = {str(name): self._value(inner) for name, inner in value.items()}
            return {name: found for name, found in every.items() if found is not None}
        [*functions] = value.items()
        return self._result(*functions[0]) if len(functions) == 1 else OPEN

    def _result(self, function: str, operand: Any) -> Any:  # noqa: ANN401
        """Return what a function returns (the section on intrinsic functions of the reference that _KINDS names)."""
        match function, operand:
            case "Ref", str():
                return self._given[operand] if operand in self._given else self._id(operand) or OPEN
            case "Fn::GetAtt", str():
                return self._attribute(*operand.partition(".")[::2])
            case "Fn::GetAtt", [str() as name, str() as attribute]:
                return self._attribute(name, attribute)
            case "Fn::If", [str() as condition, yes, no]:
                holds = self._condition(condition)
                if isinstance(holds, bool):
                    return self._value(yes if holds else no)
                either = [self._value(yes), self._value(no)]
                return either[0] if either[0] == either[1] else _possible(either)
            case "Fn::Sub", str():
                return self._substituted(operand, {})
            case "Fn::Sub", [str() as text, dict() as names]:
                return self._substituted(text, {name: self._value(value) for name, value in names.items()})
            case "Fn::Join", [str() as delimiter, items]:
                return _joined(delimiter, self._value(items))
            case "Fn::Select", [index, items]:
                return _selected(_text(self._value(index)), self._value(items))
            case "Fn::Split", [str() as delimiter, text]:
                return _split(delimiter, self._value(text))
            case "Fn::FindInMap", [_, _, _]:
                found: Any = _section(self._template, "Mappings")
                for key in operand:
                    found = found.get(_text(self._value(key))) if isinstance(found, dict) else None
                return OPEN if found is None else self._value(found)
            case "Condition", str():
                return self._condition(operand)
            case "Fn::Equals", [first, second]:
                texts = [_text(self._value(one)) for one in (first, second)]
                return OPEN if None in texts else texts[0] == texts[1]
            case "Fn::Not", [inner]:
                found = self._value(inner)
                return not found if isinstance(found, bool) else OPEN
            case "Fn::And", [*every]:
                return _unless(False, map(self._value, every))
            case "Fn::Or", [*every]:
                return _unless(True, map(self._value, every))
        return OPEN

    def _id(self, name: str) -> str | None:
        """Return the id of a resource, None if it is not known or is none."""
        if self._ids is not None:
            return self._ids.get(name)
        if self._kind(name) is None or self.is_wanted(name) is False:
            return None
        return NewId(f"Resources.{name}")

    def _kind(self, name: str) -> _Kind | None:
        return _KINDS.get(str(self._resources.get(name, {}).get("Type")))

    def _attribute(self, name: str, attribute: str) -> Any:  # noqa: ANN401
        kind, found = self._kind(name), self._id(name)
        if kind is None or found is None or attribute == kind.id:
            return found or OPEN
        value = self.property(name, attribute) if attribute in kind.properties.split() else None
        if value is None and isinstance(found, NewId):
            if attribute in _MADE:
                return made_id(found, _argument(attribute))
            if attribute == "EndpointIds":
                ids = firewall_endpoints(found, {"subnet_mapping": self.property(name, "SubnetMappings")})
                return [_ZoneAndId(ids)] * len(ids) or OPEN  # in an order that is not documented
        return OPEN if value is None else value

    def _substituted(self, text: str, names: Mapping[str, Any]) -> Any:  # noqa: ANN401
        if len(text) > _LONGEST:
            return OPEN
        parts: list[Any] = []
        for number, part in enumerate(_VARIABLE.split(text)):
            if number % 2:
                function = "Fn::GetAtt" if "." in part else "Ref"
                parts.append(names[part] if part in names else self._result(function, part))
            elif part:
                parts.append(part)
        return _joined("", parts)

    def _condition(self, name: str) -> Any:  # noqa: ANN401
        found = self._value(_section(self._template, "Conditions").get(name))
        return found if isinstance(found, bool) else OPEN


class _ZoneAndId(Possible):
    """What a firewall says of an endpoint: its Availability Zone, a colon, and its id, which is one of these."""


def _rows(value: object) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _section(template: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = template.get(name)
    return found if isinstance(found, dict) else {}


def _has_function(value: Mapping[str, Any]) -> bool:
    return any(name == "Ref" or str(name).startswith("Fn::") for name in value)


def _text(value: object) -> str | None:
    """Return the text of a value as CloudFormation compares and joins it, None if it is not known or is none."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, NewId) else None


def _unless(decisive: bool, values: Iterable[Any]) -> Any:  # noqa: ANN401
    """Return the decisive one of true and false if any value is that, the other one if all values are."""
    found = list(values)
    return decisive if decisive in found else OPEN if OPEN in found else not decisive


def _joined(delimiter: str, values: Any) -> Any:  # noqa: ANN401
    if not isinstance(values, list):
        return OPEN
    if len(values) == 1 and isinstance(values[0], (NewId, Possible)):
        return values[0]
    texts = [text for text in map(_text, values) if text is not None]
    if len(texts) < len(values) or sum(map(len, texts)) + len(delimiter) * len(texts) > _LONGEST:
        return OPEN
    found = delimiter.join(texts)
    return OPEN if _UNKNOWN in found else found


def _selected(index: str | None, values: Any) -> Any:  # noqa: ANN401
    if isinstance(values, Possible):
        return values
    # An item that is not known may be none, and then the others have other numbers.
    is_known = isinstance(values, list) and not any(isinstance(one, Possible) and one.is_open for one in values)
    return {str(number): value for number, value in enumerate(values)}.get(index or "", OPEN) if is_known else OPEN


def _split(delimiter: str, value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, _ZoneAndId):
        return [Possible(), Possible(value.ids)]
    text = _text(value)
    return text.split(delimiter) if text and delimiter else OPEN


def _possible(value: Any) -> Possible:  # noqa: ANN401
    """Return the ids that a value may be, or that are in a list."""
    if isinstance(value, list):
        every = [_possible(one) for one in value]
        return Possible(union(every), is_open=any(one.is_open for one in every))
    if isinstance(value, Possible):
        return value
    return Possible((value,)) if isinstance(value, str) else OPEN


# --- arguments -------------------------------------------------------------------------------------------------------


def _place(type_: str) -> _Kind:
    """Return what says near which VPC a resource is whose effect is not known: nothing for what may be in several VPCs."""
    is_in_one = type_.startswith("AWS::EC2::") and "TransitGateway" not in type_
    return _Kind("", _PLACE if is_in_one else "")


def _argument(name: str) -> str:
    return _ARGUMENTS.get(name) or _WORD.sub("_", name).lower()


def _arguments(where: str, properties: Mapping[str, Any]) -> Arguments:
    """Return the arguments for the properties of a resource."""
    values = {_argument(name): _renamed(value) for name, value in properties.items() if name != "Tags"}
    values |= {argument: OPEN for name, argument in _OPENED.items() if name in properties}
    options = values.pop("options", {})
    values |= options if isinstance(options, dict) else {"appliance_mode_support": OPEN}
    interfaces = _rows(values.get("network_interface"))
    if interfaces and not any("network_interface_id" in row for row in interfaces):
        # They are new ones of the instance, in the same way as if the instance itself named the subnet.
        values["subnet_id"] = _possible([row.get("subnet_id", OPEN) for row in interfaces])
        del values["network_interface"]
    tags = _rows(properties.get("Tags"))
    values["tags_all"] = {str(row.get("Key")): row["Value"] for row in tags if isinstance(row.get("Value"), str)}
    return Arguments(where, values, {_argument(name): name for name in properties})


def _renamed(value: Any) -> Any:  # noqa: ANN401
    """Return a value with the names of arguments in place of properties. CloudFormation takes true as a text, too."""
    if isinstance(value, dict):
        return {_argument(name): _renamed(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(inner) for inner in value]
    return {"true": True, "false": False}.get(value, value)


def _type_of(type_: str, kind: _Kind | None, shown: Arguments | None) -> str:
    """Return the type of Terraform, which has two for what attaches a gateway to a VPC; without a kind, the type itself."""
    if kind and shown and type_ == _GATEWAY_ATTACHMENT and "vpn_gateway_id" in shown.values:
        return "aws_vpn_gateway_attachment"
    return kind.type if kind else type_


# --- change sets -----------------------------------------------------------------------------------------------------

_STACK = re.compile(r"arn:[\w-]+:cloudformation:([\w-]+):([0-9]{12}):stack/")
_AGAIN = "make it with: aws cloudformation describe-change-set --include-property-values"
_ACTIONS = {"Add": Action.CREATE, "Remove": Action.DELETE, "Modify": Action.UPDATE}


def is_change_set(document: Mapping[str, Any]) -> bool:
    """Return whether a document is an answer of DescribeChangeSet."""
    return "ChangeSetName" in document and "Changes" in document


def stack_of(document: Mapping[str, Any]) -> tuple[str, str]:
    """Return the account and the Region of a change set's stack, empty if it does not say them."""
    found = _STACK.match(str(document.get("StackId")))
    return (found[2], found[1]) if found else ("", "")


def parameters_of_change_set(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of the parameters of a change set. One that it does not show is not known."""
    return {
        str(row.get("ParameterKey")): str(row.get("ResolvedValue") or row.get("ParameterValue", _UNKNOWN))
        for row in _rows(document.get("Parameters"))
    }


def read_change_set(path: str, document: Mapping[str, Any], template: Template | None) -> list[Resource]:
    """Return the resources of a change set. Raise ChangeError, which contains no value of it.

    template: of the stack after the change; it says which resource a value is that is known after the change
    (https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ResourceChange.html).
    """
    if document.get("NextToken"):
        raise ChangeError(path, "is one page of a change set", "leave --max-items and --no-paginate out")
    account_id, region = stack_of(document)
    rows = [_section(row, "ResourceChange") for row in _rows(document.get("Changes"))]
    changes = [_Change(path, row) for row in rows if not _is_kept(row)]
    ids = {change.name: change.id for change in changes if change.kind}
    values = template.values(ids) if template else None
    return [replace(change.resource(values), account_id=account_id, region=region) for change in changes]


def _is_kept(row: Mapping[str, Any]) -> bool:
    """Return whether a resource stays as it is, in the stack or without it."""
    action = row.get("Action")
    return action in ("Import", "SyncWithActual") or (action == "Remove" and row.get("PolicyAction") == "Retain")


class _Change:
    """The change of a resource. kind: None if it is not known what the change does."""

    def __init__(self, path: str, row: Mapping[str, Any]) -> None:
        """Read what changes."""
        self._path, self._row = path, row
        self.name, self.type = str(row.get("LogicalResourceId")), str(row.get("ResourceType"))
        self._address = f"Resources.{self.name}"
        action, replacement = row.get("Action"), row.get("Replacement")
        self.action = _ACTIONS.get(str(action), Action.UPDATE)
        if replacement == "True":
            # Of ReplaceAndRetain, the old resource stays.
            self.action = Action.CREATE if row.get("PolicyAction") == "ReplaceAndRetain" else Action.REPLACE
        # What a gateway propagated is not in the change.
        is_certain = action == "Add" or (action in _ACTIONS and self.type != _PROPAGATION)
        self.kind = _KINDS.get(self.type) if is_certain and replacement != "Conditional" else None
        self._physical = "" if self.action is Action.CREATE else str(row.get("PhysicalResourceId") or "")
        self.id = NewId(self._address) if self.action in MADE or not self._physical else self._physical

    def resource(self, values: _Values | None) -> Resource:
        """Return the resource. values: of the template. Raise ChangeError."""
        before = after = Arguments(self._address, {})
        if self.action is not Action.CREATE:
            before = self._arguments("BeforeContext", None)
        if self.action is not Action.DELETE:
            after = self._arguments("AfterContext", values)
        type_ = _type_of(self.type, self.kind, before if self.action is Action.DELETE else after)
        return Resource(self._address, type_, self._address, self.action, before, after, self.id, self._physical)

    def _arguments(self, context: str, values: _Values | None) -> Arguments:
        """Return the arguments before or after the change. values: of the template, in place of what is not known."""
        kind = self.kind or _place(self.type)
        try:
            found = json.loads(str(self._row.get(context)))
        except (ValueError, RecursionError):
            found = None
        check_depth(self._path, found)
        if self.kind is not None and not isinstance(found, dict):
            raise ChangeError(self._path, f"has a resource whose {context} has no property values", _AGAIN)
        properties = _section(found, "Properties") if isinstance(found, dict) else {}
        planned = values.properties(self.name, kind) if values else {}
        if context == "AfterContext":
            dynamic = [row for row in _rows(self._row.get("Details")) if row.get("Evaluation") == "Dynamic"]
            properties |= {str(_section(row, "Target").get("Name")): _UNKNOWN for row in dynamic}
        wanted = [name for name in [*kind.properties.split(), "Tags"] if name in properties]
        filled = {name: _filled(properties[name], planned.get(name, OPEN)) for name in wanted}
        return _arguments(self._address, {**filled, "Arn": self._physical})


def _filled(value: Any, planned: Any) -> Any:  # noqa: ANN401
    """Return a value of a change set, with what the template says in place of what is known after the change."""
    if isinstance(value, str):
        return planned if _UNKNOWN in value else value
    if isinstance(value, list):
        others = planned if isinstance(planned, list) and len(planned) == len(value) else [OPEN] * len(value)
        return list(map(_filled, value, others))
    if isinstance(value, dict):
        return {name: _filled(one, OPEN) for name, one in value.items()}
    return value


# --- files -----------------------------------------------------------------------------------------------------------


def _decoded(file: Path) -> Any:  # noqa: ANN401  # a template
    """Return the template in a file. Raise ChangeError."""
    path, text = str(file), read_content(file, MAX_BYTES).decode(errors="replace")
    try:
        from cfnlint.decode import decode_str  # noqa: PLC0415  # an extra, which takes a second to import
    except ImportError:
        fault = "needs cfn-lint, which is not installed"
        raise ChangeError(path, fault, "run: pipx inject express-path cfn-lint") from None
    _check_size(path, text)
    template, _ = decode_str(text)
    if not isinstance(template, dict) or not isinstance(template.get("Resources"), dict):
        raise ChangeError(path, "is not a template of CloudFormation, or is cut short", _REMEDY)
    resources = template["Resources"].values()
    if not all(isinstance(one, dict) for one in resources):
        raise ChangeError(path, "has a resource that is not an object", _REMEDY)
    if "Transform" in template or any(map(_has_function, (template, template["Resources"], *resources))):
        raise ChangeError(path, "has a Transform, which only CloudFormation can expand", _REMEDY)
    return template


def _check_size(path: str, text: str) -> None:
    """Raise ChangeError for what cfn-lint cannot decode in a short time, or without a crash."""
    import yaml  # noqa: PLC0415  # cfn-lint brings it

    sizes = [0]
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            sizes[-1] += 1
            if isinstance(event, yaml.CollectionStartEvent):
                sizes.append(0 if isinstance(event, yaml.MappingStartEvent) else -len(text))  # lists may be long
            elif isinstance(event, yaml.CollectionEndEvent):
                sizes.pop()
            if len(sizes) > MAX_DEPTH or sizes[-1] > 2 * MAX_NAMES:
                fault = f"has objects nested more than {MAX_DEPTH} deep, or with more than {MAX_NAMES} names"
                raise ChangeError(path, fault, _REMEDY)
    except yaml.YAMLError:
        return  # cfn-lint says so, or reads it as JSON
