"""express-path scan --plan with a CloudFormation template: the paths of a new stack, before it is deployed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import invoke

pytestmark = pytest.mark.usefixtures("no_credentials")

TEMPLATE = """
Parameters:
  Cidr: {Type: String, Default: 10.0.0.0/16}
  Nat: {Type: String, Default: "yes", AllowedValues: ["yes", "no"]}
  Peer: {Type: String, Default: ""}
Conditions:
  HasNat: !Equals [!Ref Nat, "yes"]
  HasPeer: !Not [!Equals [!Ref Peer, ""]]
Resources:
  Vpc:
    Type: AWS::EC2::VPC
    Properties: {CidrBlock: !Ref Cidr}
  Gateway:
    Type: AWS::EC2::InternetGateway
  Attachment:
    Type: AWS::EC2::VPCGatewayAttachment
    Properties: {VpcId: !Ref Vpc, InternetGatewayId: !Ref Gateway}
  Public:
    Type: AWS::EC2::Subnet
    Properties: {VpcId: !Ref Vpc, CidrBlock: 10.0.0.0/24}
  PublicTable:
    Type: AWS::EC2::RouteTable
    Properties: {VpcId: !Ref Vpc}
  PublicRoute:
    Type: AWS::EC2::Route
    DependsOn: Attachment
    Properties: {RouteTableId: !Ref PublicTable, DestinationCidrBlock: 0.0.0.0/0, GatewayId: !Ref Gateway}
  PublicAssociation:
    Type: AWS::EC2::SubnetRouteTableAssociation
    Properties: {SubnetId: !Ref Public, RouteTableId: !Ref PublicTable}
  Address:
    Type: AWS::EC2::EIP
    Condition: HasNat
    Properties: {Domain: vpc}
  NatGateway:
    Type: AWS::EC2::NatGateway
    Condition: HasNat
    Properties: {SubnetId: !Ref Public, AllocationId: !GetAtt Address.AllocationId}
  App:
    Type: AWS::EC2::Subnet
    Properties: {VpcId: !Ref Vpc, CidrBlock: 10.0.1.0/24}
  AppTable:
    Type: AWS::EC2::RouteTable
    Properties: {VpcId: !Ref Vpc}
  AppRoute:
    Type: AWS::EC2::Route
    Condition: HasNat
    Properties: {RouteTableId: !Ref AppTable, DestinationCidrBlock: 0.0.0.0/0, NatGatewayId: !Ref NatGateway}
  AppAssociation:
    Type: AWS::EC2::SubnetRouteTableAssociation
    Properties: {SubnetId: !Ref App, RouteTableId: !Ref AppTable}
  Data:
    Type: AWS::EC2::Subnet
    Properties: {VpcId: !Ref Vpc, CidrBlock: 10.0.2.0/24}
  DataTable:
    Type: AWS::EC2::RouteTable
    Properties: {VpcId: !Ref Vpc}
  DataRoute:
    Type: AWS::EC2::Route
    Condition: HasNat
    Properties: {RouteTableId: !Ref DataTable, DestinationCidrBlock: 0.0.0.0/0, NatGatewayId: !Ref NatGateway}
  DataAssociation:
    Type: AWS::EC2::SubnetRouteTableAssociation
    Properties: {SubnetId: !Ref Data, RouteTableId: !Ref DataTable}
  Endpoint:
    Type: AWS::EC2::VPCEndpoint
    Properties:
      VpcId: !Ref Vpc
      ServiceName: !Sub com.amazonaws.${AWS::Region}.s3express
      RouteTableIds:
        - !Ref DataTable
        - !If [HasPeer, !Ref AppTable, !Ref "AWS::NoValue"]
  Idle:
    Type: AWS::EC2::Subnet
    Properties: {VpcId: !Ref Vpc, CidrBlock: 10.0.3.0/24}
"""


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """Return the file with the template."""
    file = tmp_path / "template.yaml"
    file.write_text(TEMPLATE, encoding="utf-8")
    return file


def rows(file: Path, *options: str) -> dict[str, dict[str, Any]]:
    """Return the subnets of a plan by the name of the resource."""
    result = invoke(["scan", "--plan", str(file), "--format", "json", *options])
    assert result.exit_code in (0, 1), result.output
    found = json.loads(result.stdout)["subnets"]
    return {row["address"].removeprefix("Resources."): row for row in found if row["address"]}


def reasons(file: Path, *options: str) -> dict[str, str]:
    """Return the reason of each subnet of a template that is judged alone."""
    alone = rows(file, "--region", "us-east-1", *options)
    return {name: row["reason"] for name, row in alone.items()}


@pytest.mark.parametrize(
    ("defaults", "app"),
    [({}, "NAT_GATEWAY"), ({'"yes", Allowed': '"no", Allowed'}, "NO_ROUTE"), ({'""}\n': '"pcx-1"}\n'}, "ENDPOINT")],
)
def test_parameters_and_conditions_decide(template: Path, defaults: dict[str, str], app: str) -> None:
    """The reasons are those of the stack with the default values of the parameters, alone and over a network."""
    for value, other in defaults.items():
        template.write_text(TEMPLATE.replace(value, other, 1), encoding="utf-8")
    expected = {"Public": "INTERNET_GATEWAY", "App": app, "Data": "ENDPOINT", "Idle": "NO_ROUTE"}
    assert reasons(template) == expected
    over_sample = rows(template, "--example")
    assert {name: row["reason"] for name, row in over_sample.items()} == expected


def test_a_finding_has_the_line_of_the_route(template: Path) -> None:
    """The file is the template."""
    row = rows(template, "--region", "us-east-1")["App"]
    assert row["changedBy"] == ["Resources.AppRoute", "Resources.AppAssociation"]
    assert TEMPLATE.splitlines()[row["line"] - 1] == "  AppRoute:"
    assert row["file"] == template.as_posix()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Resources: [", "is not a template"),
        ("", "is empty"),
        ("Resources: {A: secret}", "a resource that is not an object"),
    ],
)
def test_what_is_no_template_is_an_error(template: Path, text: str, fault: str) -> None:
    """The error names the file, and no value."""
    template.write_text(text, encoding="utf-8")
    result = invoke(["scan", "--plan", str(template), "--region", "us-east-1"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert fault in result.stderr
    assert "secret" not in result.stderr


def test_a_template_has_no_other_source(template: Path, tmp_path: Path) -> None:
    """The option would do nothing."""
    result = invoke(["scan", "--plan", str(template), "--example", "--source", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--source does nothing" in result.stderr


# --- change sets -----------------------------------------------------------------------------------------------------

PRIVATE, ANALYTICS, ANALYTICS_SUBNET = "rtb-07c93e5d1fa84b602", "rtb-0482dfa6b9e13c750", "subnet-0f5b92c8e1d7a3640"
VPC, NAT = "vpc-0a17f3c2d94b6e580", "nat-0e92b5c7d1a3f6048"
"""Resources of the sample network."""
LATER = "{{changeSet:KNOWN_AFTER_APPLY}}"
STACK = """
Parameters:
  Block: {Type: String}
Resources:
  Specific:
    Type: AWS::EC2::Route
    Properties: {RouteTableId: rtb-1, DestinationCidrBlock: !Ref Block, NatGatewayId: nat-1}
  Table:
    Type: AWS::EC2::RouteTable
    Properties: {VpcId: vpc-1}
  Default:
    Type: AWS::EC2::Route
    Properties: {RouteTableId: !Ref Table, DestinationCidrBlock: 0.0.0.0/0, NatGatewayId: nat-1}
  Association:
    Type: AWS::EC2::SubnetRouteTableAssociation
    Properties: {SubnetId: subnet-1, RouteTableId: !Ref Table}
  Idle:
    Type: AWS::EC2::RouteTable
    Properties: {VpcId: vpc-1}
  Endpoint:
    Type: AWS::EC2::VPCEndpoint
    Properties:
      VpcId: vpc-1
      ServiceName: com.amazonaws.us-east-1.s3express
      RouteTableIds: [!Ref Idle, !Ref Table]
"""


def change(action: str, name: str, kind: str, after: Any = None, before: Any = None, **more: Any) -> dict[str, Any]:
    """Return a change of a resource."""
    resource = {"Action": action, "LogicalResourceId": name, "ResourceType": f"AWS::EC2::{kind}", **more}
    for field, properties in (("AfterContext", after), ("BeforeContext", before)):
        if properties is not None:
            resource[field] = json.dumps({"Properties": properties})
    return {"Type": "Resource", "ResourceChange": resource}


def change_set(folder: Path, *changes: dict[str, Any], account: str = "111122223333", **more: Any) -> Path:
    """Return the file with a change set of a stack in the sample network."""
    file = folder / "changes.json"
    stack = f"arn:aws:cloudformation:us-east-1:{account}:stack/network/1"
    parameters = [{"ParameterKey": "Block", "ParameterValue": "3.4.112.0/24"}]
    answer = {"ChangeSetName": "next", "StackId": stack, "Parameters": parameters, "Changes": list(changes), **more}
    file.write_text(json.dumps(answer), encoding="utf-8")
    return file


def analytics(file: Path, *options: str) -> dict[str, Any]:
    """Return the analytics subnet of the sample network after a change set."""
    result = invoke(["scan", "--plan", str(file), "--example", "--format", "json", *options])
    assert result.exit_code in (0, 1), result.output
    [row] = [row for row in json.loads(result.stdout)["subnets"] if row["subnetId"] == ANALYTICS_SUBNET]
    found: dict[str, Any] = row
    return found


SPECIFIC = {"RouteTableId": ANALYTICS, "DestinationCidrBlock": "3.4.112.0/24", "NatGatewayId": NAT}
NEW_TABLE = [
    change("Add", "Table", "RouteTable", {"VpcId": VPC}),
    change(
        "Add", "Default", "Route", {"RouteTableId": LATER, "DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": NAT}
    ),
    change(
        "Modify",
        "Association",
        "SubnetRouteTableAssociation",
        {"SubnetId": ANALYTICS_SUBNET, "RouteTableId": LATER},
        {"SubnetId": ANALYTICS_SUBNET, "RouteTableId": ANALYTICS},
        PhysicalResourceId="rtbassoc-1",
        Replacement="True",
    ),
]


def test_a_change_set_is_laid_over_the_network(tmp_path: Path) -> None:
    """A route that it adds is found, with its line in the template; one that it removes leaves the endpoint's."""
    (tmp_path / "stack.yaml").write_text(STACK, encoding="utf-8")
    file = change_set(tmp_path, change("Add", "Specific", "Route", SPECIFIC))
    row = analytics(file, "--source", str(tmp_path / "stack.yaml"))
    assert (row["reason"], row["baseline"], row["changedBy"]) == ("PARTLY_NAT", "new", ["Resources.Specific"])
    assert STACK.splitlines()[row["line"] - 1] == "  Specific:"
    assert analytics(file)["reason"] == "PARTLY_NAT"
    gone = change(
        "Remove", "Specific", "Route", None, {**SPECIFIC, "DestinationCidrBlock": "0.0.0.0/0"}, PhysicalResourceId="r-1"
    )
    assert analytics(change_set(tmp_path, gone))["reason"] == "ENDPOINT"


ENDPOINT = {"VpcId": VPC, "ServiceName": "com.amazonaws.us-east-1.s3express", "RouteTableIds": [LATER, LATER]}


def test_the_template_says_what_is_known_after_the_change(tmp_path: Path) -> None:
    """Without it, the table of the association may be any, and so may be those of the route and the endpoint."""
    (tmp_path / "stack.yaml").write_text(STACK, encoding="utf-8")
    file = change_set(tmp_path, *NEW_TABLE)
    row = analytics(file, "--source", str(tmp_path / "stack.yaml"))
    assert (row["reason"], row["routeTableId"], row["routeTableAddress"]) == ("NAT_GATEWAY", None, "Resources.Table")
    assert analytics(file)["reason"] == "UNRESOLVED_EGRESS"
    more = [change("Add", "Idle", "RouteTable", {"VpcId": VPC}), change("Add", "Endpoint", "VPCEndpoint", ENDPOINT)]
    file = change_set(tmp_path, *NEW_TABLE, *more)
    assert analytics(file, "--source", str(tmp_path / "stack.yaml"))["reason"] == "ENDPOINT"
    assert analytics(file)["reason"] == "UNRESOLVED_EGRESS"


def test_what_stays_is_not_removed(tmp_path: Path) -> None:
    """Resources that CloudFormation retains or imports are in the network."""
    kept = change(
        "Remove", "Subnet", "Subnet", None, {"VpcId": VPC}, PhysicalResourceId=ANALYTICS_SUBNET, PolicyAction="Retain"
    )
    imported = change("Import", "Subnet", "Subnet", {"VpcId": VPC}, PhysicalResourceId=ANALYTICS_SUBNET)
    other = change("Add", "Group", "SecurityGroup", {"GroupName": "x"})
    assert analytics(change_set(tmp_path, kept, imported, other))["reason"] == "ENDPOINT"


@pytest.mark.parametrize(
    ("file", "fault"),
    [
        (lambda folder: change_set(folder, change("Add", "A", "Route")), "has no property values"),
        (lambda folder: change_set(folder, NextToken="more"), "is one page of a change set"),
        (lambda folder: change_set(folder, *NEW_TABLE, account="444455556666"), "is for account 444455556666"),
    ],
)
def test_what_is_no_complete_change_set_is_an_error(tmp_path: Path, file: Any, fault: str) -> None:
    """The error says how to make one."""
    result = invoke(["scan", "--plan", str(file(tmp_path)), "--example"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert fault in result.stderr
