"""Read a CloudFormation template as the plan of a new stack, and a change set as the plan of one that exists.

cfn-lint reads the template and resolves its functions (https://github.com/aws-cloudformation/cfn-lint). What it cannot
resolve, such as the ID of a resource of the stack, is a value that is known only after the deployment: what it refers to
is followed in the same way as in a plan of Terraform, so a template becomes a document of that form.
"""

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from express_path_cli.sources.plan.terraform import Plan, PlanError, objects

SUFFIXES = (".yaml", ".yml", ".template")
"""The suffixes of templates. One in JSON is recognized by its Resources."""
MAX_BYTES = 1 << 20
"""The largest template that CloudFormation accepts, in bytes
(https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html)."""
_REMEDY = "use a template of CloudFormation, with its transforms expanded"
_NOTHING = "AWS::NoValue"
_OPEN = "?"
"""A reference that leads nowhere: the value may be anything."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """The type of Terraform that is like a type of CloudFormation, and its arguments by their properties."""

    type: str
    arguments: Mapping[str, str]


_ROUTE = {
    "RouteTableId": "route_table_id",
    "DestinationCidrBlock": "destination_cidr_block",
    "DestinationIpv6CidrBlock": "destination_ipv6_cidr_block",
    "DestinationPrefixListId": "destination_prefix_list_id",
    "GatewayId": "gateway_id",
    "NatGatewayId": "nat_gateway_id",
    "EgressOnlyInternetGatewayId": "egress_only_gateway_id",
    "TransitGatewayId": "transit_gateway_id",
    "VpcEndpointId": "vpc_endpoint_id",
    "NetworkInterfaceId": "network_interface_id",
    "VpcPeeringConnectionId": "vpc_peering_connection_id",
    "CarrierGatewayId": "carrier_gateway_id",
    "LocalGatewayId": "local_gateway_id",
    "CoreNetworkArn": "core_network_arn",
}
_TRANSIT = {
    "TransitGatewayAttachmentId": "transit_gateway_attachment_id",
    "TransitGatewayRouteTableId": "transit_gateway_route_table_id",
}
_ATTACHMENT = _Kind(
    "aws_ec2_transit_gateway_vpc_attachment",
    {"TransitGatewayId": "transit_gateway_id", "VpcId": "vpc_id", "SubnetIds": "subnet_ids"},
)
_INTERFACE = {"SubnetId": "subnet_id", "SourceDestCheck": "source_dest_check"}
_KINDS: Mapping[str, _Kind] = {
    "AWS::EC2::VPC": _Kind("aws_vpc", {"CidrBlock": "cidr_block"}),
    "AWS::EC2::Subnet": _Kind(
        "aws_subnet",
        {
            "VpcId": "vpc_id",
            "CidrBlock": "cidr_block",
            "Ipv6CidrBlock": "ipv6_cidr_block",
            "Ipv6Native": "ipv6_native",
            "EnableDns64": "enable_dns64",
        },
    ),
    "AWS::EC2::RouteTable": _Kind("aws_route_table", {"VpcId": "vpc_id"}),
    "AWS::EC2::Route": _Kind("aws_route", _ROUTE),
    "AWS::EC2::SubnetRouteTableAssociation": _Kind(
        "aws_route_table_association", {"SubnetId": "subnet_id", "RouteTableId": "route_table_id"}
    ),
    "AWS::EC2::NatGateway": _Kind(
        "aws_nat_gateway",
        {"SubnetId": "subnet_id", "ConnectivityType": "connectivity_type", "AvailabilityMode": "availability_mode"},
    ),
    "AWS::EC2::InternetGateway": _Kind("aws_internet_gateway", {}),
    "AWS::EC2::VPNGateway": _Kind("aws_vpn_gateway", {}),
    "AWS::EC2::EgressOnlyInternetGateway": _Kind("aws_egress_only_internet_gateway", {"VpcId": "vpc_id"}),
    "AWS::EC2::VPCEndpoint": _Kind(
        "aws_vpc_endpoint",
        {
            "VpcId": "vpc_id",
            "ServiceName": "service_name",
            "VpcEndpointType": "vpc_endpoint_type",
            "RouteTableIds": "route_table_ids",
            "SubnetIds": "subnet_ids",
            "IpAddressType": "ip_address_type",
        },
    ),
    "AWS::EC2::NetworkInterface": _Kind("aws_network_interface", _INTERFACE),
    "AWS::EC2::TransitGateway": _Kind(
        "aws_ec2_transit_gateway",
        {
            "DefaultRouteTableAssociation": "default_route_table_association",
            "DefaultRouteTablePropagation": "default_route_table_propagation",
        },
    ),
    "AWS::EC2::TransitGatewayAttachment": _ATTACHMENT,
    "AWS::EC2::TransitGatewayVpcAttachment": _ATTACHMENT,
    "AWS::EC2::TransitGatewayRouteTable": _Kind(
        "aws_ec2_transit_gateway_route_table", {"TransitGatewayId": "transit_gateway_id"}
    ),
    "AWS::EC2::TransitGatewayRoute": _Kind(
        "aws_ec2_transit_gateway_route",
        {**_TRANSIT, "DestinationCidrBlock": "destination_cidr_block", "Blackhole": "blackhole"},
    ),
    "AWS::EC2::TransitGatewayRouteTableAssociation": _Kind("aws_ec2_transit_gateway_route_table_association", _TRANSIT),
    "AWS::EC2::TransitGatewayRouteTablePropagation": _Kind("aws_ec2_transit_gateway_route_table_propagation", _TRANSIT),
    "AWS::EC2::VPCBlockPublicAccessOptions": _Kind("aws_vpc_block_public_access_options", {}),
    "AWS::EC2::VPCBlockPublicAccessExclusion": _Kind("aws_vpc_block_public_access_exclusion", {}),
}
"""The types that decide about paths (https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_EC2.html)."""
_IDS = frozenset({"Id", "VpcId", "SubnetId", "RouteTableId", "NatGatewayId", "InternetGatewayId", "AttachmentId"})
"""The attributes of Fn::GetAtt that are the ID of the resource itself, if its type is not that of another one."""


class Template:
    """A template: the plan of a new stack, and the line of each resource."""

    def __init__(self, file: Path, region: str, parameters: Mapping[str, str]) -> None:
        """Read a template. Raise PlanError, which contains no value of the template."""
        self.file, self._path = file, str(file)
        self._template = _decoded(file)
        self._check(parameters)
        self._resolver = _resolver(str(file), self._template, region)
        self.lines = {
            f"Resources.{name}": name.start_mark.line + 1
            for name in self._template["Resources"]
            if hasattr(name, "start_mark")
        }

    def _check(self, parameters: Mapping[str, str]) -> None:
        """Give the parameters their values, and refuse what is not a template that can be judged."""
        if "Transform" in self._template:
            raise PlanError(self._path, "has a Transform, which only CloudFormation can expand", _REMEDY)
        declared = self._template.get("Parameters") or {}
        for name, parameter in declared.items():
            if not isinstance(parameter, dict):
                raise PlanError(self._path, "has a parameter that is not an object", _REMEDY)
            parameter.pop("AllowedValues", None)  # of which cfn-lint would use each
            if str(parameter.get("Type")).startswith("AWS::SSM::"):
                parameter.pop("Default", None)  # it is the name of a parameter of Systems Manager, not a value
            if name in parameters:
                parameter["Default"] = parameters[name]

    def plan(self) -> Plan:
        """Return the plan of a new stack."""
        changes, blocks, deferred = [], [], []
        for name, resource in self._template["Resources"].items():
            if not isinstance(resource, dict):
                raise PlanError(self._path, "has a resource that is not an object", _REMEDY)
            kind = _KINDS.get(str(resource.get("Type")))
            wanted = self._holds(resource.get("Condition")) if "Condition" in resource else True
            if kind is None or wanted is False:
                continue
            row = {"address": f"Resources.{name}", "mode": "managed", "type": kind.type, "name": str(name)}
            properties = resource.get("Properties") or {}
            after, unknown, expressions = self._arguments(kind, properties)
            change = {"actions": ["create"], "before": None, "after": after, "after_unknown": {**unknown, "id": True}}
            if wanted is None:
                deferred.append({"resource_change": row})
            else:
                changes.append({**row, "change": change})
                blocks.append({**row, "provider_config_key": "aws", "expressions": expressions})
        document = {
            "format_version": "1.0",
            "resource_changes": changes,
            "deferred_changes": deferred,
            "configuration": {"root_module": {"resources": blocks}},
        }
        return Plan(self._path, document)

    def _arguments(self, kind: _Kind, properties: Any) -> tuple[dict[str, Any], dict[str, bool], dict[str, Any]]:  # noqa: ANN401
        after: dict[str, Any] = {}
        unknown: dict[str, bool] = {}
        expressions: dict[str, Any] = {}
        if not isinstance(properties, dict):
            return after, dict.fromkeys(kind.arguments.values(), True), expressions
        for name, argument in kind.arguments.items():
            value = self._chosen(properties.get(name))
            if value is None:
                continue
            resolved = self._resolved(value)
            if resolved is None:
                unknown[argument] = True
                if isinstance(value, list):
                    after[argument] = [self._item(item) for item in value]
                expressions[argument] = {"references": list(dict.fromkeys(self._references(value)))}
            else:
                after[argument] = _plain(resolved)
        options = properties.get("Options")
        if kind is _ATTACHMENT:
            mode = self._resolved(options.get("ApplianceModeSupport")) if isinstance(options, dict) else "disable"
            after["appliance_mode_support"] = mode or "disable"
        tags = [row for row in properties.get("Tags") or () if isinstance(row, dict)]
        known = {str(row.get("Key")): self._resolved(row.get("Value")) for row in tags}
        after["tags_all"] = {key: value for key, value in known.items() if isinstance(value, str)}
        return after, unknown, expressions

    def references_of(self, name: str, property_name: str) -> list[str]:
        """Return what a property of a resource refers to."""
        return list(dict.fromkeys(self._references(self._property(name, property_name)))) or [_OPEN]

    def items_of(self, name: str, property_name: str) -> list[Any]:
        """Return the items of a list: text, the address of a new resource for its ID, or None if it is not known."""
        value = self._property(name, property_name)
        return [self._item(item) for item in value] if isinstance(value, list) else []

    def _property(self, name: str, property_name: str) -> Any:  # noqa: ANN401  # any value of a template
        resource = self._template["Resources"].get(name)
        properties = resource.get("Properties") if isinstance(resource, dict) else None
        return self._chosen(properties.get(property_name)) if isinstance(properties, dict) else None

    def _item(self, item: Any) -> Any:  # noqa: ANN401  # any value of a template
        if not _has_function(item):
            return _plain(item)
        names = list(self._references(item))
        return f"Resources.{names[0].split('.')[1]}" if len(names) == 1 and names[0].endswith(".id") else None

    # --- values ------------------------------------------------------------------------------------------------------

    def _chosen(self, value: Any) -> Any:  # noqa: ANN401  # any value of a template
        """Return a value with the branch of each Fn::If whose condition is decided; None for AWS::NoValue."""
        if isinstance(value, dict):
            if set(value) == {"Fn::If"} and isinstance(value["Fn::If"], list) and len(value["Fn::If"]) == 3:  # noqa: PLR2004
                condition, yes, no = value["Fn::If"]
                holds = self._holds(condition)
                if holds is not None:
                    return self._chosen(yes if holds else no)
            if value == {"Ref": _NOTHING}:
                return None
            return {key: self._chosen(inner) for key, inner in value.items()}
        if isinstance(value, list):
            found = [self._chosen(inner) for inner in value]
            return [inner for inner in found if inner is not None]
        return value

    def _resolved(self, value: Any) -> Any:  # noqa: ANN401
        """Return the only value that cfn-lint resolves a value to, None if there is not exactly one."""
        if not _has_function(value):
            return value
        if isinstance(value, list):
            items = [self._resolved(inner) for inner in value]
            return None if None in items else items
        if _mentions(value, "Fn::GetAZs"):
            return None  # cfn-lint returns an example
        try:
            found = [result for result, _, error in self._resolver.resolve_value(value) if error is None]
        except Exception:  # noqa: BLE001  # a malformed function: cfn-lint has no error of its own for it
            return None
        return found[0] if len(found) == 1 and not _has_function(found[0]) else None

    def _holds(self, condition: object, depth: int = 0) -> bool | None:
        """Return whether a condition holds, None if it cannot be decided."""
        conditions = self._template.get("Conditions") or {}
        if isinstance(condition, str):
            condition = conditions.get(condition) if isinstance(conditions, dict) else None
        if not isinstance(condition, dict) or len(condition) != 1 or depth > 50:  # noqa: PLR2004
            return None
        [(function, operands)] = condition.items()
        if function == "Condition":
            return self._holds(operands, depth + 1)
        if not isinstance(operands, list):
            return None
        if function == "Fn::Equals":
            values = [self._resolved(operand) for operand in operands]
            return None if None in values or len(values) != 2 else str(values[0]) == str(values[1])  # noqa: PLR2004
        found = [self._holds(operand, depth + 1) for operand in operands]
        if function == "Fn::Not":
            return None if found[:1] in ([None], []) else not found[0]
        if function == "Fn::And":
            return False if False in found else None if None in found else True
        if function == "Fn::Or":
            return True if True in found else None if None in found else False
        return None

    def _references(self, value: Any) -> Iterator[str]:  # noqa: ANN401
        """Yield what a value refers to: resources of the template, or a reference that may be anything."""
        if isinstance(value, list):
            for inner in value:
                yield from self._references(inner)
        elif isinstance(value, dict) and len(value) == 1:
            [(function, operand)] = value.items()
            if function == "Ref":
                yield self._named(str(operand), "id")
            elif function == "Fn::GetAtt":
                name, _, attribute = (operand if isinstance(operand, str) else ".".join(map(str, operand))).partition(
                    "."
                )
                yield self._named(name, attribute)
            else:
                yield _OPEN
                yield from self._references(operand)

    def _named(self, name: str, attribute: str) -> str:
        resource = self._template["Resources"].get(name)
        kind = _KINDS.get(str(resource.get("Type"))) if isinstance(resource, dict) else None
        if kind is None:
            return _OPEN
        is_id = attribute in ("id", "Id") or (attribute in _IDS and attribute not in kind.arguments)
        return f"{kind.type}.{name}.{'id' if is_id else kind.arguments.get(attribute, attribute)}"


_UNKNOWN = "{{"
"""The beginning of what CloudFormation writes for a value that is known after the change, and for a dynamic reference."""
_STACK = re.compile(r"arn:[\w-]+:cloudformation:([\w-]+):([0-9]{12}):stack/")
_AGAIN = "make it with: aws cloudformation describe-change-set --include-property-values"
_ACTIONS = {"Add": ["create"], "Remove": ["delete"], "Modify": ["update"]}
_UNCHANGED = ("Import", "SyncWithActual")


def is_change_set(document: Mapping[str, Any]) -> bool:
    """Return whether a document is an answer of DescribeChangeSet."""
    return "ChangeSetName" in document and "Changes" in document


def region_of_change_set(document: Mapping[str, Any]) -> str:
    """Return the Region of a change set's stack, empty if it does not say it."""
    found = _STACK.match(str(document.get("StackId")))
    return found[1] if found else ""


def parameters_of_change_set(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of the parameters of a change set."""
    return {
        str(row.get("ParameterKey")): str(row.get("ResolvedValue") or row.get("ParameterValue"))
        for row in objects(document.get("Parameters"))
    }


def read_change_set(path: str, document: Mapping[str, Any], template: Template | None) -> Plan:
    """Return the plan of a change set. Raise PlanError, which contains no value of it.

    template: of the stack after the change; it says which resource a value is that is known after the change
    (https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ResourceChange.html).
    """
    if document.get("NextToken"):
        raise PlanError(path, "is one page of a change set", "leave --max-items and --no-paginate out")
    changes, blocks, deferred = [], [], []
    for change in objects(document.get("Changes")):
        resource = change.get("ResourceChange")
        if not isinstance(resource, dict):
            continue
        name, action = str(resource.get("LogicalResourceId")), resource.get("Action")
        kind = _KINDS.get(str(resource.get("ResourceType")))
        if kind is None or action in _UNCHANGED or (action == "Remove" and resource.get("PolicyAction") == "Retain"):
            continue
        row = {"address": f"Resources.{name}", "mode": "managed", "type": kind.type, "name": name}
        if action not in _ACTIONS or resource.get("Replacement") == "Conditional":
            deferred.append({"resource_change": row})
            continue
        before = _context(path, resource, "BeforeContext") if action != "Add" else None
        after = _context(path, resource, "AfterContext") if action != "Remove" else None
        if resource.get("PolicyAction") == "ReplaceAndRetain":
            before = None  # the old resource stays
        is_new = action == "Add" or resource.get("Replacement") == "True"
        actions = ["delete", "create"] if is_new and before is not None else _ACTIONS[action]
        physical = {"id": str(resource.get("PhysicalResourceId"))}
        values, marks = _values(kind, after or {})
        names = {argument: name for name, argument in kind.arguments.items()}
        for argument, mark in marks.items():
            items = template.items_of(name, names[argument]) if template and isinstance(mark, list) else []
            if items and len(items) == len(mark):
                pairs = zip(values[argument], items, strict=True)
                values[argument] = [item if known is None else known for known, item in pairs]
        found = {
            "actions": actions,
            "before": None if before is None else {**_values(kind, before)[0], **physical},
            "after": None if after is None else {**values, **({} if is_new else physical)},
            "after_unknown": {**marks, **({"id": True} if is_new else {})},
        }
        expressions = {
            argument: {"references": template.references_of(name, names[argument]) if template else [_OPEN]}
            for argument in marks
        }
        changes.append({**row, "change": found})
        blocks.append({**row, "provider_config_key": "aws", "expressions": expressions})
    return Plan(path, _with_stack(document, changes, blocks, deferred))


def _with_stack(
    document: Mapping[str, Any], changes: list[Any], blocks: list[Any], deferred: list[Any]
) -> dict[str, Any]:
    """Return the document of a plan, with the account and the Region of the stack."""
    stack = _STACK.match(str(document.get("StackId")))
    caller = {
        "address": "data.aws_caller_identity.stack",
        "mode": "data",
        "type": "aws_caller_identity",
        "name": "stack",
    }
    region, account = (stack[1], stack[2]) if stack else ("", "")
    return {
        "format_version": "1.0",
        "resource_changes": changes,
        "deferred_changes": deferred,
        "prior_state": {"values": {"root_module": {"resources": [{**caller, "values": {"account_id": account}}]}}},
        "configuration": {
            "provider_config": {"aws": {"expressions": {"region": {"constant_value": region}}}},
            "root_module": {"resources": [*blocks, {**caller, "provider_config_key": "aws"}]},
        },
    }


def _context(path: str, resource: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the properties of a resource before or after the change. Raise PlanError."""
    try:
        found = json.loads(str(resource.get(name)))
    except ValueError:
        found = None
    properties = found.get("Properties", {}) if isinstance(found, dict) else None
    if not isinstance(properties, dict):
        raise PlanError(path, f"has a resource whose {name} has no property values", _AGAIN)
    return properties


def _values(kind: _Kind, properties: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments for properties, and which of them are known after the change."""
    values: dict[str, Any] = {}
    marks: dict[str, Any] = {}
    for name, argument in kind.arguments.items():
        value = properties.get(name)
        if isinstance(value, list):
            unknown = [_UNKNOWN in str(item) for item in value]
            values[argument] = [None if mark else _plain(item) for item, mark in zip(value, unknown, strict=True)]
            if any(unknown):
                marks[argument] = unknown
        elif value is not None and _UNKNOWN in str(value):
            marks[argument] = True
        elif value is not None:
            values[argument] = _plain(value)
    tags = objects(properties.get("Tags"))
    values["tags_all"] = {str(row.get("Key")): str(row.get("Value")) for row in tags if _UNKNOWN not in str(row)}
    return values, marks


def _decoded(file: Path) -> Any:  # noqa: ANN401  # a template
    """Return the template in a file. Raise PlanError."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise PlanError(str(file), f"is larger than the {MAX_BYTES >> 20} MiB of a template", _REMEDY)
    except OSError as error:
        raise PlanError(str(file), f"cannot be read: {error.strerror}", _REMEDY) from None
    try:
        from cfnlint.decode import decode  # noqa: PLC0415  # an extra, which takes a second to import
    except ImportError:
        fault = "needs cfn-lint, which is not installed"
        raise PlanError(str(file), fault, "run: pipx inject express-path cfn-lint") from None
    template, problems = decode(str(file))
    if problems or not isinstance(template, dict) or not isinstance(template.get("Resources"), dict):
        raise PlanError(str(file), "is not a template of CloudFormation, or is cut short", _REMEDY)
    return template


def _resolver(file: str, template: Any, region: str) -> Any:  # noqa: ANN401
    """Return cfn-lint's validator, which resolves functions in a Region."""
    from cfnlint.context import create_context_for_template  # noqa: PLC0415
    from cfnlint.jsonschema import CfnTemplateValidator  # noqa: PLC0415
    from cfnlint.template import Template as LintTemplate  # noqa: PLC0415

    lint = LintTemplate(file, copy.deepcopy(template), [region])
    return CfnTemplateValidator({}).evolve(context=create_context_for_template(lint), cfn=lint)


def _has_function(value: object) -> bool:
    if isinstance(value, dict):
        return any(key == "Ref" or str(key).startswith("Fn::") or _has_function(inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(_has_function, value))


def _mentions(value: object, function: str) -> bool:
    if isinstance(value, dict):
        return function in value or any(_mentions(inner, function) for inner in value.values())
    return isinstance(value, list) and any(_mentions(inner, function) for inner in value)


def _plain(value: Any) -> Any:  # noqa: ANN401
    """Return a value as JSON has it: cfn-lint's texts carry their line, and templates write true as a text too."""
    if isinstance(value, str):
        return {"true": True, "false": False}.get(str(value), str(value))
    if isinstance(value, Sequence):
        return [_plain(inner) for inner in value]
    return value
