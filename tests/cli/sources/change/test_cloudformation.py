"""Templates and change sets of CloudFormation, as resources."""

import json
from pathlib import Path
from typing import Any

import pytest

from express_path_cli.sources.change import cloudformation
from express_path_cli.sources.change.cloudformation import Template, read_change_set
from express_path_cli.sources.change.document import ChangeError
from express_path_cli.sources.change.resource import OPEN, Action, NewId, Possible, Resource

HEAD = """
Parameters:
  Zone: {Type: String}
  Size: {Type: String, Default: big}
  Tables: {Type: CommaDelimitedList, Default: "rtb-1, rtb-2"}
  Stored: {Type: "AWS::SSM::Parameter::Value<String>", Default: /vpc/table}
  Secret: {Type: String, Default: rtb-1, NoEcho: true}
Mappings:
  Names: {big: {table: rtb-5}}
Conditions:
  IsBig: !Equals [!Ref Size, big]
  IsSmall: !Not [!Condition IsBig]
  InZone: !Equals [!Ref Zone, a]
  Both: !And [!Condition IsBig, !Condition InZone]
  Any: !Or [!Condition IsBig, !Condition InZone]
  Never: !And [!Condition IsSmall, !Condition InZone]
  Circle: !Not [!Condition Circle]
Resources:
  Table: {Type: AWS::EC2::RouteTable, Properties: {VpcId: vpc-1}}
  Other: {Type: AWS::EC2::RouteTable, Properties: {VpcId: !GetAtt Table.VpcId}}
  Gone: {Type: AWS::EC2::RouteTable, Condition: IsSmall}
  Secured: {Type: "Custom::Table", Properties: {VpcId: vpc-1}}
  Machine: {Type: AWS::EC2::Instance}
  Wall: {Type: AWS::NetworkFirewall::Firewall, Properties: {SubnetMappings: [{SubnetId: subnet-1}, {SubnetId: subnet-2}]}}
"""
TABLE, OTHER = NewId("Resources.Table"), NewId("Resources.Other")


def read(folder: Path, text: str) -> dict[str, Resource]:
    """Return the resources of a template by name."""
    file = folder / "template.yaml"
    file.write_text(text, encoding="utf-8")
    return {one.address.removeprefix("Resources."): one for one in Template(file, "us-east-1", {}).resources()}


def after(resource: Resource) -> dict[str, Any]:
    """Return the arguments of a resource that are not tags."""
    return {name: value for name, value in resource.after.values.items() if name not in ("tags", "arn")}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("rtb-1", "rtb-1"),
        ("!Ref Table", TABLE),
        ("!GetAtt Table.RouteTableId", TABLE),
        ("!Sub '${Table}'", TABLE),
        ("!Sub 'rtb-${Size}-${Other.VpcId}'", "rtb-big-vpc-1"),
        ("!Sub 'rtb-${Table}'", OPEN),
        ("!Join ['-', [rtb, !Ref Size, !Ref 'AWS::Region']]", "rtb-big-us-east-1"),
        ("!Select [1, [rtb-1, !Ref Table]]", TABLE),
        ("!Select [1, !Ref Tables]", "rtb-2"),
        ("!Select [2, !Ref Tables]", OPEN),
        ("!Select [1, [!If [InZone, rtb-1, !Ref 'AWS::NoValue'], rtb-2, rtb-3]]", OPEN),
        ("!Select [0, !Split ['|', 'rtb-1|rtb-2']]", "rtb-1"),
        ("!FindInMap [Names, !Ref Size, table]", "rtb-5"),
        ("!FindInMap [Names, !Ref Zone, table]", OPEN),
        ("!GetAtt Other.VpcId", "vpc-1"),
        ("!If [IsSmall, rtb-1, !Ref Table]", TABLE),
        ("!If [Any, rtb-1, rtb-2]", "rtb-1"),
        ("!If [Never, rtb-1, rtb-2]", "rtb-2"),
        ("!If [Both, rtb-1, !Ref Table]", OPEN),
        ("!If [InZone, rtb-1, rtb-1]", "rtb-1"),
        ("!If [InZone, rtb-1, !Ref 'AWS::NoValue']", OPEN),
        ("!If [Circle, rtb-1, rtb-2]", OPEN),
        ("!Select [0, !If [InZone, [rtb-1], [rtb-2]]]", OPEN),
        ("!Select [0, !Split ['|', !Ref Zone]]", OPEN),
        *((value, OPEN) for value in ("!Ref Zone", "!Ref Stored", "!Ref Secret", "!ImportValue table", "!Ref Gone")),
        *((value, OPEN) for value in ("!Ref Secured", "!GetAtt Secured.TableId", "!Ref 'AWS::StackName'")),
        *((value, OPEN) for value in ("'{{resolve:ssm:table}}'", "!Sub '{{resolve:ssm:${Size}}}'", "!Cidr [a, 1, 2]")),
        ("{'Fn::Transform': {Name: AWS::Include}}", OPEN),
        ("!GetAtt Machine.PrimaryNetworkInterfaceId", NewId("Resources.Machine.primary_network_interface_id")),
        (
            "!Select [1, !Split [':', !Select [0, !GetAtt Wall.EndpointIds]]]",
            Possible((NewId("Resources.Wall.endpoint[0]"), NewId("Resources.Wall.endpoint[1]"))),
        ),
    ],
)
def test_values(tmp_path: Path, value: str, expected: Any) -> None:
    """Only what the template alone decides is known; the ids of its own resources are certain."""
    route = f"  Route: {{Type: AWS::EC2::Route, Properties: {{RouteTableId: {value}}}}}\n"
    found = read(tmp_path, HEAD + route)["Route"]
    assert found.type == "aws_route"
    [known] = after(found).values()
    assert (known, type(known)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("resource", "kind", "arguments"),
    [
        ("Type: AWS::EC2::Subnet, Properties: {EnableDns64: 'true', Ipv6NetmaskLength: 64}", "aws_subnet", {"enable_dns64": True, "ipv6_netmask_length": 64, "ipv6_cidr_block": OPEN}),
        ("Type: AWS::EC2::VPCEndpoint, Properties: {RouteTableIds: [rtb-1, !If [InZone, rtb-2, rtb-3]]}", "aws_vpc_endpoint", {"route_table_ids": ["rtb-1", OPEN]}),
        ("Type: AWS::EC2::Route, Properties: {EgressOnlyInternetGatewayId: eigw-1}", "aws_route", {"egress_only_gateway_id": "eigw-1"}),
        ("Type: AWS::EC2::VPCGatewayAttachment, Properties: {VpnGatewayId: vgw-1}", "aws_vpn_gateway_attachment", {"vpn_gateway_id": "vgw-1"}),
        ("Type: AWS::EC2::PrefixList, Properties: {Entries: [{Cidr: 3.0.0.0/8}]}", "aws_ec2_managed_prefix_list", {"entry": [{"cidr": "3.0.0.0/8"}]}),
        ("Type: AWS::EC2::Instance, Properties: {NetworkInterfaces: [{DeviceIndex: '0', SubnetId: subnet-1}]}", "aws_instance", {"subnet_id": "subnet-1"}),
        ("Type: AWS::EC2::Instance, Properties: {NetworkInterfaces: [{DeviceIndex: '0', NetworkInterfaceId: eni-1}]}", "aws_instance", {"network_interface": [{"device_index": "0", "network_interface_id": "eni-1"}]}),
        ("Type: AWS::FSx::FileSystem, Properties: {FileSystemType: LUSTRE, SubnetIds: [subnet-1]}", "AWS::FSx::FileSystem", {"file_system_type": "LUSTRE"}),
        ("Type: AWS::EC2::TransitGatewayVpcAttachment, Properties: {SubnetIds: [a], AddSubnetIds: [b]}", "aws_ec2_transit_gateway_vpc_attachment", {"subnet_ids": OPEN, "add_subnet_ids": ["b"]}),
        ("Type: AWS::EC2::TransitGatewayAttachment, Properties: {Options: {}}", "aws_ec2_transit_gateway_vpc_attachment", {"options": {}, "appliance_mode_support": OPEN}),
        ("Type: AWS::EC2::VPCCidrBlock, Properties: {CidrBlock: 3.0.0.0/8}", "aws_vpc_ipv4_cidr_block_association", {"cidr_block": "3.0.0.0/8"}),
        ("Type: AWS::EC2::VPCCidrBlock, Properties: {VpcId: vpc-1}", "aws_vpc_ipv6_cidr_block_association", {"vpc_id": "vpc-1"}),
        ("Type: AWS::EC2::RouteTable, Properties: {Fn::Transform: {Name: AWS::Include}}", "AWS::EC2::RouteTable", {}),
        ("Type: AWS::EC2::Route, Condition: InZone, Properties: {RouteTableId: rtb-1}", "AWS::EC2::Route", {"route_table_id": "rtb-1"}),
        ("Type: AWS::EC2::RouteServer, Properties: {VpcId: vpc-1}", "AWS::EC2::RouteServer", {"vpc_id": "vpc-1"}),
        ("Type: AWS::EC2::TransitGatewayAttachment, Condition: InZone, Properties: {VpcId: vpc-1}", "AWS::EC2::TransitGatewayAttachment", {}),
        ("Type: 'Custom::Route', Properties: {VpcId: vpc-1}", "Custom::Route", {}),
        ("Type: 'A::B::C::MODULE'", "A::B::C::MODULE", {}),
    ],
)  # fmt: skip
def test_types(tmp_path: Path, resource: str, kind: str, arguments: dict[str, Any]) -> None:
    """A type that is not modelled, and a resource that may not be in the stack, keep the type of CloudFormation."""
    found = read(tmp_path, f"{HEAD}  One: {{{resource}}}\n")["One"]
    assert (found.type, found.action, found.id, found.region) == (kind, Action.CREATE, "Resources.One", "us-east-1")
    assert after(found) == arguments


def test_a_transform_that_adds_nothing_to_a_network(tmp_path: Path) -> None:
    """A template with functions and tables is read as it is."""
    function = "  Code: {Type: AWS::Serverless::Function, Properties: {Runtime: python3.13}}\n"
    found = read(tmp_path, f"Transform: AWS::Serverless-2016-10-31\n{HEAD}{function}")
    assert (found["Table"].type, found["Code"].type) == ("aws_route_table", "AWS::Serverless::Function")


def test_an_unknown_value_has_the_words_of_cloudformation(tmp_path: Path) -> None:
    """The property, not the argument of Terraform."""
    route = "  Route: {Type: AWS::EC2::Route, Properties: {NatGatewayId: !ImportValue nat}}\n"
    arguments = read(tmp_path, HEAD + route)["Route"].after
    assert arguments
    assert arguments.unknown("nat_gateway_id") == "Resources.Route.NatGatewayId"


@pytest.mark.parametrize(
    "subnets",
    [
        "".join(f"  S{n}: {{Type: AWS::EC2::Subnet, Properties: {{VpcId: !GetAtt 'S{n + 1}.VpcId'}}}}\n" for n in range(450)),
        "".join(f"  S{n}: {{Type: AWS::EC2::Subnet, Properties: {{VpcId: !Sub '${{S{n + 1}.VpcId}}${{S{n + 1}.VpcId}}'}}}}\n" for n in range(40)),
        "  S0: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Join ['%s', [a, b, c]]}}\n" % ("d" * 3000),
    ],
    ids=["deep", "branching", "large"],
)  # fmt: skip
def test_what_takes_too_much_effort_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subnets: str) -> None:
    """Depth, steps, and lengths are bounded."""
    monkeypatch.setattr(cloudformation, "_MOST_STEPS", 10_000)
    arguments = read(tmp_path, "Resources:\n" + subnets)["S0"].after
    assert arguments
    assert arguments.named("vpc_id").is_open


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Resources: " + "[" * 100_000, "nested more than"),
        ('{"Resources": {\n\t"A": ' + '{"a":' * 100_000, "nested more than"),
        ("Resources:\n" + "".join(f"  A{n}: {{Type: AWS::EC2::VPC}}\n" for n in range(501)), "more than 500 names"),
        ("Resources: &a {A: {Type: AWS::EC2::VPC, Properties: *a}}", "is not a template"),
        ("Transform: [AWS::Serverless-2016-10-31, Mine]\nResources: {A: {}}", "has the Transform Mine,"),
        ("Resources: {'Fn::Transform': {Name: AWS::Include}}", "has the Transform AWS::Include"),
        ("Resources: {A: {'Fn::Transform': {Name: AWS::Include}}}", "has the Transform"),
        ("Resources: {'Fn::ForEach::A': [B, [c], {}]}", "a resource that is not an object"),
        ("Resources: {}\n#" + "x" * (1 << 20), "1 MiB"),
    ],
    ids=["deep", "deep JSON", "many", "circle", "transform", "include", "include in a resource", "loop", "large"],
)
def test_a_hostile_template_is_an_error_of_one_line(tmp_path: Path, text: str, fault: str) -> None:
    """It neither crashes nor takes long."""
    with pytest.raises(ChangeError, match=fault) as error:
        read(tmp_path, text)
    assert "\n" not in str(error.value)


MALFORMED = [
    *("{Ref: [Table]}", "{Ref: ''}", "{Ref: Table, Other: 1}", "{Fn::GetAtt: 5}", "{Fn::GetAtt: Table}"),
    *("{Fn::GetAtt: [Table]}", "{Fn::GetAtt: [Table, 5]}", "{Fn::If: [IsBig, a]}", "{Fn::Sub: [a]}", "{Fn::Join: '-'}"),
    *("{Fn::Join: ['-', a]}", "{Fn::Select: [0]}", "{Fn::Split: ['-']}", "{Fn::FindInMap: [Names, big]}"),
    *("[a, {Fn::Join: ['-', [{Ref: 5}]]}]", "{Fn::If: [IsBig, a, {Ref: [Table]}]}"),
]


@pytest.mark.parametrize("value", MALFORMED)
def test_a_malformed_function_is_an_error_with_its_place(tmp_path: Path, value: str) -> None:
    """It is no value that is known later: CloudFormation refuses the template."""
    route = f"  Route: {{Type: AWS::EC2::Route, Properties: {{RouteTableId: {value}}}}}\n"
    with pytest.raises(ChangeError) as raised:
        read(tmp_path, HEAD + route)
    assert raised.value.fault.startswith("Resources.Route.Properties.RouteTableId")
    assert raised.value.path.endswith("template.yaml")


@pytest.mark.parametrize(
    "value", ["{Fn::Equals: [a]}", "{Fn::Not: []}", "{Fn::And: [{Condition: IsBig}]}", "{Fn::Or: x}"]
)
def test_a_malformed_condition_is_an_error_with_its_place(tmp_path: Path, value: str) -> None:
    """A condition decides whether a resource exists."""
    with pytest.raises(ChangeError, match=r"Conditions\.New\.Fn::"):
        read(tmp_path, f"Conditions: {{New: {value}}}\nResources: {{A: {{Type: AWS::EC2::VPC}}}}\n")


# --- change sets -----------------------------------------------------------------------------------------------------

LATER = "{{changeSet:KNOWN_AFTER_APPLY}}"


def changes(*rows: dict[str, Any], template: Template | None = None) -> list[Resource]:
    """Return the resources of a change set."""
    document = {
        "StackId": "arn:aws:cloudformation:us-east-1:111122223333:stack/network/1",
        "Changes": [{"ResourceChange": row} for row in rows],
    }
    return read_change_set("changes.json", document).resources(template)


def row(action: str, name: str, kind: str, new: Any = None, old: Any = None, **more: Any) -> dict[str, Any]:
    """Return the change of a resource."""
    contexts = {"AfterContext": new, "BeforeContext": old}
    texts = {field: json.dumps({"Properties": value}) for field, value in contexts.items() if value is not None}
    return {"Action": action, "LogicalResourceId": name, "ResourceType": kind, **texts, **more}


ASSOCIATION = "AWS::EC2::SubnetRouteTableAssociation"


@pytest.mark.parametrize(
    ("change", "action", "resource_id", "id_before"),
    [
        (row("Add", "A", ASSOCIATION, {}), Action.CREATE, NewId("Resources.A"), ""),
        (row("Remove", "A", ASSOCIATION, None, {}, PhysicalResourceId="a-1"), Action.DELETE, "a-1", "a-1"),
        (row("Modify", "A", ASSOCIATION, {}, {}, PhysicalResourceId="a-1"), Action.UPDATE, "a-1", "a-1"),
        (
            row("Modify", "A", ASSOCIATION, {}, {}, PhysicalResourceId="a-1", Replacement="True"),
            Action.REPLACE,
            NewId("Resources.A"),
            "a-1",
        ),
        (
            row("Modify", "A", ASSOCIATION, {}, Replacement="True", PolicyAction="ReplaceAndRetain"),
            Action.CREATE,
            NewId("Resources.A"),
            "",
        ),
    ],
)
def test_actions(change: dict[str, Any], action: Action, resource_id: str, id_before: str) -> None:
    """A resource that is replaced has a new id, and the old one goes, unless it is retained."""
    [found] = changes(change)
    assert (found.type, found.action, found.id, found.id_before) == (
        "aws_route_table_association",
        action,
        resource_id,
        id_before,
    )
    assert isinstance(found.id, NewId) is isinstance(resource_id, NewId)
    assert (found.account_id, found.region) == ("111122223333", "us-east-1")


@pytest.mark.parametrize(
    ("change", "vpc_id"),
    [
        (row("Modify", "S", "AWS::CloudFormation::Stack", ChangeSetId="arn:x"), ""),
        (row("Modify", "S", "AWS::EC2::Subnet", {"VpcId": "vpc-1"}, {"VpcId": "vpc-1"}, Replacement="Conditional"), "vpc-1"),
        (row("Dynamic", "S", "AWS::EC2::Subnet"), ""),
        (row("Remove", "S", "AWS::EC2::VPNGatewayRoutePropagation", None, {"RouteTableIds": ["rtb-1"]}), ""),
    ],
)  # fmt: skip
def test_a_change_of_which_the_effect_is_not_known_keeps_its_type(change: dict[str, Any], vpc_id: str) -> None:
    """So it is judged as a type that is not modelled, near its VPC if that is known."""
    [found] = changes(change)
    assert found.type == change["ResourceType"]
    assert (found.after.text("vpc_id") or found.before.text("vpc_id")) == vpc_id


def test_dynamic_and_later_values_are_those_of_the_template(tmp_path: Path) -> None:
    """Without a template they are open; a reference to a resource that does not change is open, too."""
    file = tmp_path / "stack.yaml"
    file.write_text(
        "Resources:\n"
        "  New: {Type: AWS::EC2::RouteTable}\n  Old: {Type: AWS::EC2::RouteTable}\n  Same: {Type: AWS::EC2::RouteTable}\n"
        "  A: {Type: AWS::EC2::VPCEndpoint, Properties: {RouteTableIds: [!Ref New, !Ref Old, !Ref Same, x]}}\n"
        "  B: {Type: AWS::EC2::Route, Properties: {RouteTableId: !Ref New}}\n",
        encoding="utf-8",
    )
    dynamic = [{"Evaluation": "Dynamic", "Target": {"Attribute": "Properties", "Name": "RouteTableId"}}]
    rows = [
        row("Add", "New", "AWS::EC2::RouteTable", {}),
        row("Modify", "Old", "AWS::EC2::RouteTable", {}, {}, PhysicalResourceId="rtb-1"),
        row("Add", "A", "AWS::EC2::VPCEndpoint", {"RouteTableIds": [LATER, LATER, LATER, "rtb-9"]}),
        row("Modify", "B", "AWS::EC2::Route", {"RouteTableId": "rtb-8"}, {"RouteTableId": "rtb-8"}, Details=dynamic),
    ]
    new = NewId("Resources.New")
    for template, lists in (
        (None, [OPEN, OPEN, OPEN, "rtb-9"]),
        (Template(file, "", {}), [new, "rtb-1", OPEN, "x"]),
    ):
        *_, endpoint, route = changes(*rows, template=template)
        assert after(endpoint) == {"route_table_ids": lists}
        assert after(route) == {"route_table_id": new if template else OPEN}
        assert route.before.text("route_table_id") == "rtb-8"


def test_a_parameter_that_a_change_set_does_not_show_is_not_known(tmp_path: Path) -> None:
    """Its default in the template may not be its value."""
    shown = [{"ParameterKey": "Size", "ParameterValue": "small"}, {"ParameterKey": "Zone", "UsePreviousValue": True}]
    file = tmp_path / "stack.yaml"
    text = HEAD.replace("Zone: {Type: String}", "Zone: {Type: String, Default: a}")
    file.write_text(
        text + "  One: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Size, AvailabilityZone: !Ref Zone}}\n"
    )
    change_set = read_change_set("changes.json", {"Parameters": shown})
    *_, one = Template(file, "", change_set.parameters).resources()
    assert after(one) == {"vpc_id": "small", "availability_zone": OPEN}
    assert (change_set.account_id, change_set.region) == ("", "")


def test_a_deep_context_is_an_error() -> None:
    """The text in a change set is bounded in the same way as the change set."""
    deep = {
        "Action": "Add",
        "LogicalResourceId": "A",
        "ResourceType": ASSOCIATION,
        "AfterContext": '{"Properties": {"a":' * 300 + "1" + "}}" * 300,
    }
    with pytest.raises(ChangeError, match="nested more than"):
        changes(deep)


@pytest.mark.parametrize(
    ("properties", "is_kept"),
    [
        (
            "{ServiceToken: !GetAtt Machine.Id, Group: !GetAtt V.DefaultSecurityGroup, Account: !Ref 'AWS::AccountId'}",
            False,
        ),
        ("{Name: !Sub 'rule-${Table}'}", True),
        ("{Tables: [!Ref Table]}", True),
        ("{Table: !GetAtt Table.RouteTableId}", True),
        ("{Table: !Ref Stored}", True),
        ("{Table: rtb-0a17f3c2d94b6e580}", True),
    ],
)
def test_a_custom_resource_counts_if_it_names_what_decides(tmp_path: Path, properties: str, *, is_kept: bool) -> None:
    """Its function may change a route then. CDK has one for each VPC that names the default security group only."""
    vpc = "  V: {Type: AWS::EC2::VPC}\n"
    found = read(tmp_path, HEAD + vpc + f"  C: {{Type: 'Custom::Any', Properties: {properties}}}\n")
    assert ("C" in found) == is_kept
