"""Read a CloudFormation template as the resources of a new stack, and a change set as changes of one that exists.

cfn-lint decodes the template (https://github.com/aws-cloudformation/cfn-lint). The functions in it are evaluated as far as
the template alone decides them; whatever depends on anything else is not known. A resource of which the effect is not
known keeps its type of CloudFormation.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from express_path.errors import RecordError
from express_path.fields import Description, free_text, identifier, nested, optional_free_text, required_object, rows
from express_path_cli.sources.change.document import (
    MAX_DEPTH,
    REMEDY,
    ChangeError,
    check_depth,
    faults_in,
    read_content,
)
from express_path_cli.sources.change.harmless import is_harmless
from express_path_cli.sources.change.resource import (
    MADE_WITH,
    OPEN,
    Action,
    Arguments,
    NewId,
    Possible,
    Resource,
    firewall_endpoints,
    made_id,
)
from express_path_cli.sources.change.source_lines import Location

SUFFIXES = (".yaml", ".yml", ".template")
"""The suffixes of templates. One in JSON is recognized by its Resources."""
MAX_BYTES = 1 << 20
"""The largest template that CloudFormation accepts, in bytes
(https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html)."""
MAX_NAMES = 500
"""The most resources of a template (the same page), and the most names in any object of it. cfn-lint compares each name
with all others."""
_MOST_STEPS, _LONGEST = 50_000, 4096
"""The bounds of evaluation: how many values are evaluated, and how long a text or list is. What is beyond is not known, and
neither is what is nested so deeply that Python stops.
"""
_REMEDY = "use a template of CloudFormation, with its transforms expanded"
_UNKNOWN = "{{"
"""The beginning of what CloudFormation writes for a value that is known after the change, and for a dynamic reference."""
_VARIABLE = re.compile(r"\$\{([^!{}][^{}]*)\}")

_PROPAGATION = "AWS::EC2::VPNGatewayRoutePropagation"
_TYPES = {
    "AWS::EC2::VPC": "aws_vpc",
    "AWS::EC2::VPCCidrBlock": "aws_vpc_ipv6_cidr_block_association",
    "AWS::EC2::Subnet": "aws_subnet",
    "AWS::EC2::SubnetCidrBlock": "aws_vpc_subnet_ipv6_cidr",
    "AWS::EC2::RouteTable": "aws_route_table",
    "AWS::EC2::Route": "aws_route",
    "AWS::EC2::SubnetRouteTableAssociation": "aws_route_table_association",
    "AWS::EC2::GatewayRouteTableAssociation": "aws_route_table_association",
    _PROPAGATION: "aws_vpn_gateway_route_propagation",
    "AWS::EC2::NatGateway": "aws_nat_gateway",
    "AWS::EC2::InternetGateway": "aws_internet_gateway",
    "AWS::EC2::VPNGateway": "aws_vpn_gateway",
    "AWS::EC2::VPCGatewayAttachment": "aws_internet_gateway_attachment",
    "AWS::EC2::EgressOnlyInternetGateway": "aws_egress_only_internet_gateway",
    "AWS::EC2::CarrierGateway": "aws_ec2_carrier_gateway",
    "AWS::EC2::VPCPeeringConnection": "aws_vpc_peering_connection",
    "AWS::EC2::VPNConnection": "aws_vpn_connection",
    "AWS::EC2::VPCEndpoint": "aws_vpc_endpoint",
    "AWS::EC2::PrefixList": "aws_ec2_managed_prefix_list",
    "AWS::EC2::NetworkInterface": "aws_network_interface",
    "AWS::EC2::NetworkInterfaceAttachment": "aws_network_interface_attachment",
    "AWS::EC2::Instance": "aws_instance",
    "AWS::NetworkFirewall::Firewall": "aws_networkfirewall_firewall",
    "AWS::EC2::TransitGateway": "aws_ec2_transit_gateway",
    "AWS::EC2::TransitGatewayAttachment": "aws_ec2_transit_gateway_vpc_attachment",
    "AWS::EC2::TransitGatewayVpcAttachment": "aws_ec2_transit_gateway_vpc_attachment",
    "AWS::EC2::TransitGatewayPeeringAttachment": "aws_ec2_transit_gateway_peering_attachment",
    "AWS::EC2::TransitGatewayConnect": "aws_ec2_transit_gateway_connect",
    "AWS::EC2::TransitGatewayRouteTable": "aws_ec2_transit_gateway_route_table",
    "AWS::EC2::TransitGatewayRoute": "aws_ec2_transit_gateway_route",
    "AWS::EC2::TransitGatewayRouteTableAssociation": "aws_ec2_transit_gateway_route_table_association",
    "AWS::EC2::TransitGatewayRouteTablePropagation": "aws_ec2_transit_gateway_route_table_propagation",
    "AWS::EC2::VPCBlockPublicAccessOptions": "aws_vpc_block_public_access_options",
    "AWS::EC2::VPCBlockPublicAccessExclusion": "aws_vpc_block_public_access_exclusion",
}
"""The types that decide about paths (https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_EC2.html),
and those of Terraform that are like them."""
_BY_PROPERTY = {
    ("aws_internet_gateway_attachment", "VpnGatewayId"): "aws_vpn_gateway_attachment",
    ("aws_vpc_ipv6_cidr_block_association", "CidrBlock"): "aws_vpc_ipv4_cidr_block_association",
    ("aws_vpc_ipv6_cidr_block_association", "Ipv4IpamPoolId"): "aws_vpc_ipv4_cidr_block_association",
}
"""The types of Terraform that are others if there is a property."""
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
    "Options": "appliance_mode_support",
    "Ipv4IpamPoolId": "cidr_block",
    "Ipv6IpamPoolId": "ipv6_cidr_block",
    "Ipv6NetmaskLength": "ipv6_cidr_block",
    "TransportTransitGatewayAttachmentId": "transit_gateway_id",
}
"""The properties because of which an argument is not known."""
_WORD = re.compile("(?<=[a-z0-9])(?=[A-Z])")
_CUSTOM = ("Custom::", "AWS::CloudFormation::CustomResource")
_AWS_ID = re.compile(r"\b(vpce?|subnet|rtb|nat|[ev]?igw|vgw|eni|tgw(-[a-z]+)?|pl|i)-[0-9a-f]+\b|\{\{|^Fn::ImportValue$")
"""An ID of what decides about paths, or what may be one."""


# --- templates -------------------------------------------------------------------------------------------------------


class Template:
    """A template: the resources of a new stack, and the line of each.

    The values in it are JSON, with a Possible in place of each value that is not known, and None for none.
    ids: what Ref returns, by the name of a resource that is understood.
    """

    def __init__(self, file: Path, region: str, parameters: Mapping[str, str]) -> None:
        """Read a template. Raise ChangeError, which contains no value of it.

        parameters: their values, instead of the defaults.
        """
        self._region = region
        self._template = _decoded(file)
        self._resources = self._template["Resources"]
        self._properties = {name: one.get("Properties") or {} for name, one in self._resources.items()}
        self.ids: dict[str, str] = {}
        self.lines = {
            f"Resources.{name}": Location(file.as_posix(), name.start_mark.line + 1)
            for name in self._resources
            if hasattr(name, "start_mark")
        }
        self._given = {"AWS::Region": region or OPEN, "AWS::NoValue": None} | self._parameters(parameters)
        self._paths = {name for name, one in self._resources.items() if not is_harmless(str(one["Type"]))}
        self._paths |= {name for name, value in self._given.items() if _AWS_ID.search(_text(value))}
        self._steps = 0

    def _parameters(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Return the values of the parameters that are known.

        Not known is one of Systems Manager, whose value in the template is a name, and one that is not shown (NoEcho).
        """
        found: dict[str, Any] = {}
        declared = _section(self._template, "Parameters")
        for name in declared:
            parameter = _section(declared, name)
            kind, value = str(parameter.get("Type")), _text(given.get(name, parameter.get("Default")))
            hides = _UNKNOWN in value or len(value) > _LONGEST or kind.startswith("AWS::SSM::") or "NoEcho" in parameter
            is_list = kind.startswith(("CommaDelimitedList", "List<"))
            found[name] = OPEN if hides else re.split(r"\s*,\s*", value.strip()) if is_list else value
        return found

    def resources(self) -> list[Resource]:
        """Return the resources of a new stack."""
        found = {}
        for name, resource in self._resources.items():
            type_, address = str(resource["Type"]), f"Resources.{name}"
            is_wanted = self._condition(str(resource["Condition"])) if "Condition" in resource else True
            if is_wanted is False or (
                type_.startswith(_CUSTOM) and not self._names_paths({**self._properties[name], "ServiceToken": None})
            ):
                continue
            none, new_id = Arguments(address, {}), NewId(address)
            if is_wanted is True and type_ in _TYPES and not _has_function(self._properties[name]):
                type_, self.ids[name] = _TYPES[type_], new_id
            found[name] = Resource(
                address=address,
                type=type_,
                block=address,
                action=Action.CREATE,
                before=none,
                after=none,
                id=new_id,
                region=self._region,
            )
        return [
            _with_arguments(one, {}, self._entries(_deciding(one.type, self._properties[name])))
            for name, one in found.items()
        ]

    def _names_paths(self, value: Any) -> bool:  # noqa: ANN401  # any JSON
        """Return whether a value in a custom resource may name what decides about paths."""
        self._steps += 1
        match value:
            case _ if self._steps > _MOST_STEPS:
                return True
            case {"Fn::GetAtt": [_, "DefaultSecurityGroup"]}:
                return False
            case dict():
                return self._names_paths([*value, *value.values()])
            case list():
                return any(map(self._names_paths, value))
            case str():
                return bool(_AWS_ID.search(value)) or not self._paths.isdisjoint(re.findall(r"\w+", value))
        return False

    def property(self, name: str, property_name: str) -> Any:  # noqa: ANN401  # any JSON
        """Return a property of a resource, None if it has no value."""
        return self._value(self._properties.get(name, {}).get(property_name))

    def _entries(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {str(name): found for name, value in values.items() if (found := self._value(value)) is not None}

    def _value(self, value: Any) -> Any:  # noqa: ANN401
        self._steps += 1
        is_long = isinstance(value, (str, list)) and len(value) > _LONGEST
        if is_long or self._steps > _MOST_STEPS:
            return OPEN
        try:
            match value:
                case str():
                    return OPEN if _UNKNOWN in value else str(value)
                case list():
                    return [found for found in map(self._value, value) if found is not None]
                case dict() if _has_function(value) or [*value] == ["Condition"]:
                    [(function, operand), *others] = value.items()
                    return OPEN if others else self._result(function, operand)
                case dict():
                    return self._entries(value)
        except RecursionError:
            return OPEN
        return value

    def _result(self, function: str, operand: Any) -> Any:  # noqa: ANN401
        """Return what a function returns (the section on intrinsic functions of the reference that _TYPES names)."""
        match function, operand:
            case "Ref", str():
                return {**self.ids, **self._given}.get(operand, OPEN)
            case "Fn::GetAtt", str():
                return self._result(function, operand.split(".", 1))
            case "Fn::GetAtt", [str() as name, str() as attribute]:
                return self._attribute(name, attribute)
            case "Fn::If", [str() as condition, yes, no]:
                holds = self._condition(condition)
                if isinstance(holds, bool):
                    return self._value(yes if holds else no)
                found = self._value(yes)
                return found if found == self._value(no) else OPEN
            case "Fn::Sub", str() if len(operand) <= _LONGEST:
                return _joined(
                    "",
                    [
                        self._result("Fn::GetAtt" if "." in part else "Ref", part) if number % 2 else part
                        for number, part in enumerate(_VARIABLE.split(operand))
                        if part
                    ],
                )
            case "Fn::Join", [str() as delimiter, items]:
                return _joined(delimiter, self._value(items))
            case "Fn::Select", [index, items]:
                found = self._value(items)
                # An item that is not known may be none, and then the others have other numbers.
                if isinstance(found, list) and OPEN not in found:
                    return {str(number): one for number, one in enumerate(found)}.get(_text(self._value(index)), OPEN)
                return found if isinstance(found, Possible) else OPEN
            case "Fn::Split", [str() as delimiter, text] if delimiter:
                found = self._value(text)
                # What a firewall says of a new endpoint is its zone, a colon, and its id.
                return found if isinstance(found, Possible) else self._value(_text(found).split(delimiter))
            case "Fn::FindInMap", [_, _, _]:
                first, second, third = (_text(self._value(key)) for key in operand)
                return self._value(
                    _section(_section(_section(self._template, "Mappings"), first), second).get(third, OPEN)
                )
            case "Condition", str():
                return self._condition(operand)
            case "Fn::Equals", [_, _]:
                texts = [_text(self._value(one)) for one in operand]
                return OPEN if _UNKNOWN in texts else texts[0] == texts[1]
            case "Fn::Not", [inner]:
                return self._result("Fn::Equals", [inner, False])
            case "Fn::And" | "Fn::Or", [*every]:
                values, decisive = list(map(self._value, every)), function == "Fn::Or"
                return decisive if decisive in values else OPEN if OPEN in values else not decisive
        return OPEN

    def _condition(self, name: str) -> Any:  # noqa: ANN401
        found = self._value(_section(self._template, "Conditions").get(name))
        return found if isinstance(found, bool) else OPEN

    def _attribute(self, name: str, attribute: str) -> Any:  # noqa: ANN401
        found, type_ = self.ids.get(name), str(self._resources.get(name, {}).get("Type"))
        if found is None or attribute.lower() in ("id", type_.rpartition("::")[2].lower() + "id"):
            return found or OPEN
        value, argument = self.property(name, attribute), _argument(attribute)
        if value is None and isinstance(found, NewId):
            if (_TYPES.get(type_), argument) in MADE_WITH:
                return made_id(found, argument)
            if attribute == "EndpointIds":
                endpoints = firewall_endpoints(found, {"subnet_mapping": self.property(name, "SubnetMappings")})
                return Possible(tuple(endpoints), is_open=not endpoints)
        return OPEN if value is None else value


def _rows(template: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = template.get(name)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _section(template: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = template.get(name)
    return found if isinstance(found, dict) else {}


def _has_function(value: object) -> bool:
    """Return whether an object is what a function returns, or no object at all."""
    return not isinstance(value, dict) or "Ref" in value or any(str(name).startswith("Fn::") for name in value)


def _text(value: object) -> str:
    """Return the text of a value as CloudFormation compares and joins it, _UNKNOWN if it is not known or has none."""
    if isinstance(value, str):
        return _UNKNOWN if isinstance(value, NewId) else value
    return json.dumps(value) if isinstance(value, (int, float)) else _UNKNOWN


def _joined(delimiter: str, values: Any) -> Any:  # noqa: ANN401
    if not isinstance(values, list):
        return OPEN
    if len(values) == 1:
        return values[0]
    texts = list(map(_text, values))
    if sum(map(len, texts)) + len(delimiter) * len(texts) > _LONGEST:
        return OPEN
    found = delimiter.join(texts)
    return OPEN if _UNKNOWN in found else found


# --- resources -------------------------------------------------------------------------------------------------------


def _deciding(type_: str, properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties that may decide: of a type that is not understood, what says near which VPC it is."""
    if type_.startswith("aws_"):
        return properties
    names: Sequence[str] = ()
    if type_ == "AWS::FSx::FileSystem":
        names = ("FileSystemType", "OntapConfiguration", "OpenZFSConfiguration")
    elif type_.startswith("AWS::EC2::") and "TransitGateway" not in type_:
        names = ("VpcId", "SubnetId", "RouteTableId")
    return {name: value for name, value in properties.items() if name in names}


def _with_arguments(resource: Resource, before: Mapping[str, Any], after: Mapping[str, Any]) -> Resource:
    """Return a resource with the arguments for its properties before and after the change."""
    type_ = resource.type
    for name in (*before, *after):
        type_ = _BY_PROPERTY.get((resource.type, name), type_)
    return replace(resource, type=type_, before=_arguments(resource, before), after=_arguments(resource, after))


def _argument(name: str) -> str:
    return _ARGUMENTS.get(name) or _WORD.sub("_", name).lower()


def _arguments(resource: Resource, properties: Mapping[str, Any]) -> Arguments:
    values = _renamed(properties) | {argument: OPEN for name, argument in _OPENED.items() if name in properties}
    match values.get("network_interface"):
        case [{"subnet_id": subnet}]:
            # It is a new one of the instance, in the same way as if the instance itself named the subnet.
            values["subnet_id"] = subnet
            del values["network_interface"]
    values["tags"] = {
        str(row.get("Key")): row["Value"] for row in _rows(properties, "Tags") if isinstance(row.get("Value"), str)
    }
    values["arn"] = resource.id_before
    return Arguments(resource.address, values, {_argument(name): name for name in properties})


def _renamed(value: Any) -> Any:  # noqa: ANN401
    """Return a value with the names of arguments in place of properties. CloudFormation takes true as a text, too."""
    if isinstance(value, dict):
        return {_argument(name): _renamed(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(inner) for inner in value]
    return {"true": True, "false": False}.get(value, value)


# --- change sets -----------------------------------------------------------------------------------------------------

_AGAIN = "make it with: aws cloudformation describe-change-set --include-property-values"


def is_change_set(document: Mapping[str, Any]) -> bool:
    """Return whether a document is an answer of DescribeChangeSet."""
    return "ChangeSetName" in document and "Changes" in document


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of a resource in a change set.

    before and after: the properties, None if the change set does not show them. later: those that are known after the change.
    """

    address: str
    type: str
    action: str
    replacement: str
    policy_action: str
    physical_id: str
    before: Description | None
    after: Description | None
    later: Sequence[str]


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """A change set.

    account_id and region: those of its stack, empty if it does not say them. parameters: their values; of one that it does
    not show, the value is not known.
    """

    path: str
    account_id: str
    region: str
    parameters: Mapping[str, str]
    changes: Sequence[_Change]

    def resources(self, template: Template | None) -> list[Resource]:
        """Return the resources. Raise ChangeError for one that decides about paths and has no property values.

        template: of the stack after the change; it says which resource a value is that is known after the change
        (https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ResourceChange.html).
        """
        changes = [(change, self._resource(change)) for change in self.changes]
        if template:
            template.ids = {
                one.address.removeprefix("Resources."): one.id for _, one in changes if one.type.startswith("aws_")
            }
        found = []
        for change, resource in changes:
            if resource.action is Action.KEEP:
                continue
            before: Mapping[str, Any] = {}
            after: Mapping[str, Any] = {}
            if resource.action is not Action.CREATE:
                shown = self._shown(resource, "BeforeContext", change.before)
                before = _planned(resource, shown, None)
            if resource.action is not Action.DELETE:
                shown = self._shown(resource, "AfterContext", change.after)
                after = _planned(resource, {**shown, **dict.fromkeys(change.later, _UNKNOWN)}, template)
            found.append(_with_arguments(resource, before, after))
        return found

    def _resource(self, change: _Change) -> Resource:
        """Return a resource that changes, without its arguments."""
        type_, address = change.type, change.address
        match change.action, change.replacement, change.policy_action:
            case ("Import" | "SyncWithActual", _, _) | ("Remove", _, "Retain"):
                action = Action.KEEP
            case ("Add", _, _) | (_, "True", "ReplaceAndRetain"):
                action = Action.CREATE
            case _, "True", _:
                action = Action.REPLACE
            case "Remove", _, _:
                action = Action.DELETE
            case _:
                action = Action.UPDATE
        # What a gateway propagated is not in the change.
        certain = ["Add"] if type_ == _PROPAGATION else ["Add", "Modify", "Remove"]
        if change.action in certain and change.replacement != "Conditional":
            type_ = _TYPES.get(type_, type_)
        physical = "" if action is Action.CREATE else change.physical_id
        none, new_id = Arguments(address, {}), NewId(address) if action is Action.REPLACE or not physical else physical
        return Resource(
            address=address,
            type=type_,
            block=address,
            action=action,
            before=none,
            after=none,
            id=new_id,
            id_before=physical,
            account_id=self.account_id,
            region=self.region,
        )

    def _shown(self, resource: Resource, context: str, properties: Description | None) -> Description:
        """Return properties that the change set must show of a resource that decides about paths."""
        if properties is None and resource.type.startswith("aws_"):
            name = resource.address.removeprefix("Resources.")
            raise ChangeError(self.path, f"has a resource, {name}, whose {context} has no property values", _AGAIN)
        return properties or {}


def read_change_set(path: str, document: Mapping[str, Any]) -> ChangeSet:
    """Return a change set. Raise ChangeError, which contains no value of it."""
    if document.get("NextToken"):
        raise ChangeError(path, "is one page of a change set", "leave --max-items and --no-paginate out")
    with faults_in(path, REMEDY):
        stack = f"{optional_free_text(document, 'StackId', '')}:::::".split(":")
        parameters = rows(document, "Parameters", "")
        found = ChangeSet(
            path=path,
            account_id=stack[4],
            region=stack[3],
            parameters=dict(_parameter(row, f"Parameters[{number}]") for number, row in enumerate(parameters)),
            changes=[
                _change(nested(row, "ResourceChange", f"Changes[{number}]"), f"Changes[{number}].ResourceChange")
                for number, row in enumerate(rows(document, "Changes", ""))
            ],
        )
    for change in found.changes:
        check_depth(path, [change.before, change.after])
    return found


def _parameter(row: Description, place: str) -> tuple[str, str]:
    values = [optional_free_text(row, name, place) for name in ("ResolvedValue", "ParameterValue")]
    unshown = "" if isinstance(row.get("ParameterValue"), str) else _UNKNOWN
    return free_text(row, "ParameterKey", place), next(filter(None, values), unshown)


def _change(row: Description, place: str) -> _Change:
    """Return the change of a resource, as the page that ChangeSet.resources names describes it. Raise RecordError."""
    name = identifier(row, "LogicalResourceId", place)
    place = f"{place} ({name})"
    return _Change(
        address=f"Resources.{name}",
        type=identifier(row, "ResourceType", place),
        action=optional_free_text(row, "Action", place),
        replacement=optional_free_text(row, "Replacement", place),
        policy_action=optional_free_text(row, "PolicyAction", place),
        physical_id=optional_free_text(row, "PhysicalResourceId", place),
        before=_properties(row, "BeforeContext", place),
        after=_properties(row, "AfterContext", place),
        later=[
            name
            for number, detail in enumerate(rows(row, "Details", place))
            if (name := _dynamic_property(detail, f"{place}.Details[{number}]"))
        ],
    )


def _dynamic_property(detail: Description, place: str) -> str:
    """Return the property whose value is known after the change, empty if a detail is about something else."""
    name = optional_free_text(nested(detail, "Target", place), "Name", f"{place}.Target")
    return name if optional_free_text(detail, "Evaluation", place) == "Dynamic" else ""


def _properties(row: Description, context: str, place: str) -> Description | None:
    """Return the properties in a field that has JSON as text, None without it."""
    text = optional_free_text(row, context, place)
    if not text:
        return None
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise RecordError(place, context, text, "an object as JSON text")
    return nested(found, "Properties", f"{place}.{context}")


def _planned(resource: Resource, properties: Description, template: Template | None) -> dict[str, Any]:
    """Return the properties that may decide, with those of the template in place of what is not known."""
    name = resource.address.removeprefix("Resources.")
    return {
        property_name: _filled(value, template.property(name, property_name) if template else OPEN)
        for property_name, value in _deciding(resource.type, properties).items()
    }


def _filled(value: Any, planned: Any) -> Any:  # noqa: ANN401
    """Return a value of a change set, or what the template says in place of what is known after the change."""
    if isinstance(value, list) and not isinstance(planned, list):
        return [_filled(one, OPEN) for one in value]
    return planned or OPEN if _UNKNOWN in json.dumps(value) else value


# --- files -----------------------------------------------------------------------------------------------------------


def _decoded(file: Path) -> Any:  # noqa: ANN401  # a template
    """Return the template in a file. Raise ChangeError."""
    return _decoded_text(str(file), read_content(file, MAX_BYTES).decode(errors="replace"))


def has_only_harmless(text: str) -> bool:
    """Return whether a template is read and contains no resource that may change a path, such as one with outputs only."""
    try:
        template = _decoded_text("template", text)
    except ChangeError:
        return False
    return all(is_harmless(str(resource["Type"])) for resource in template["Resources"].values())


def _decoded_text(path: str, text: str) -> Any:  # noqa: ANN401  # a template
    """Return a template. Raise ChangeError."""
    try:
        from cfnlint.decode import decode_str  # noqa: PLC0415  # an extra, which takes a second to import
    except ImportError:
        raise ChangeError(
            path, "needs cfn-lint, which is not installed", "run: pipx inject express-path cfn-lint"
        ) from None
    _check_size(path, text)
    template, _ = decode_str(text)
    resources = _section(template, "Resources") if isinstance(template, dict) else {}
    if not resources:
        raise ChangeError(path, "is not a template of CloudFormation, or is cut short", _REMEDY)
    refused = _transforms(template) - _EXPANDED
    if refused:
        names = ", ".join(sorted(refused))
        raise ChangeError(path, f"has the Transform {names}, which only CloudFormation can expand", _REMEDY)
    if any(map(_has_function, (template, resources, *resources.values()))):
        fault = (
            "has a resource that is not an object, or a function in place of one, which only CloudFormation can expand"
        )
        raise ChangeError(path, fault, _REMEDY)
    check_depth(path, template)
    with faults_in(path, _REMEDY):
        _check_sections(template)
    return template


_EXPANDED = frozenset({"AWS::Serverless-2016-10-31"})
"""The transforms that add nothing that decides about paths: functions, their triggers, tables, and what they need
(https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-specification-resources-and-properties.html).
An application, which may contain anything, is a resource that is not understood."""


def _transforms(template: Mapping[str, Any]) -> set[str]:
    """Return the names of the transforms of a template, and of its resources as a whole."""
    resources = _section(template, "Resources")
    declared = template.get("Transform")
    transforms = [*declared] if isinstance(declared, list) else [declared]
    transforms += [one.get("Fn::Transform") for one in (resources, *resources.values()) if isinstance(one, dict)]
    names = set()
    for transform in transforms:
        name = transform.get("Name") if isinstance(transform, dict) else transform
        if name is not None:
            names.add(str(name) if str(name).isprintable() else "of an unknown name")
    return names


def _check_sections(template: Description) -> None:
    """Raise RecordError for a part of a template that is not what the reference of CloudFormation says.

    What is no known function of CloudFormation is not known, and may have any form.
    """
    for section in ("Conditions", "Mappings"):
        nested(template, section, "")
    checked: set[int] = set()
    for name, value in nested(template, "Conditions", "").items():
        _check_functions(value, f"Conditions.{name}", checked)
    parameters = nested(template, "Parameters", "")
    for name in parameters:
        required_object(parameters, name, "Parameters")
    for name, resource in template["Resources"].items():
        place = f"Resources.{name}"
        identifier(resource, "Type", place)
        optional_free_text(resource, "Condition", place)
        _check_functions(nested(resource, "Properties", place), f"{place}.Properties", checked)


_OPERANDS = {
    "Ref": "the name of a resource or parameter",
    "Fn::GetAtt": "the name of a resource and of its attribute, such as [Subnet, VpcId]",
    "Fn::If": "a list of the name of a condition and two values",
    "Fn::Sub": "a text, or a list of a text and an object",
    "Fn::Join": "a list of a delimiter and a list of values",
    "Fn::Select": "a list of a number and a list of values",
    "Fn::Split": "a list of a delimiter and a text",
    "Fn::FindInMap": "a list of the name of a map and two keys",
    "Fn::Equals": "a list of two values",
    "Fn::Not": "a list of one condition",
    "Fn::And": "a list of 2 to 10 conditions",
    "Fn::Or": "a list of 2 to 10 conditions",
}
"""The operand of each function that is evaluated here, in words
(https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html)."""


def _check_functions(value: Any, place: str, checked: set[int]) -> None:  # noqa: ANN401  # any JSON
    """Raise RecordError for a function of CloudFormation without the operand that it must have.

    checked: the objects and lists that were checked, because aliases of YAML may name one many times.
    """
    if not isinstance(value, dict | list) or id(value) in checked:
        return
    checked.add(id(value))
    if isinstance(value, list):
        for number, member in enumerate(value):
            _check_functions(member, f"{place}[{number}]", checked)
        return
    for name, operand in value.items():
        if name in _OPERANDS and not _fits(name, operand):
            raise RecordError(place, name, operand, _OPERANDS[name])
        if name in _OPERANDS and len(value) > 1 and "Fn::Transform" not in value:
            raise RecordError(place, name, operand, "the only name in its object")
        _check_functions(operand, f"{place}.{name}", checked)


def _fits(function: str, operand: Any) -> bool:  # noqa: ANN401  # any JSON
    """Return whether a function may have an operand. The values in it may be functions, too."""
    match function, operand:
        case "Ref", str():
            return bool(operand)
        case "Fn::GetAtt", str():
            name, _, attribute = operand.partition(".")
            return bool(name and attribute)
        case "Fn::GetAtt", [str() as name, str() | dict() as attribute]:
            return bool(name and attribute)
        case "Fn::If", [str(), _, _]:
            return True
        case "Fn::Sub", str() | [str(), dict()]:
            return True
        case "Fn::Join", [str(), list() | dict()]:
            return True
        case "Fn::Select", [int() | str() | dict(), list() | dict()]:
            return True
        case "Fn::Split", [str(), str() | dict()]:
            return True
        case "Fn::FindInMap", [str() | dict(), str() | dict(), str() | dict(), *_]:
            return True
        case "Fn::Equals", [_, _]:
            return True
        case "Fn::Not", [_]:
            return True
        case "Fn::And" | "Fn::Or", [_, _, *_]:
            return True
    return False


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
