"""The change of a plan for CloudFormation, Terraform and the AWS CLI, each as that tool would take it."""

import json
import re
import shlex
from dataclasses import replace
from typing import Any

import pytest
import yaml
from botocore import xform_name
from botocore.session import Session
from hypothesis import given
from hypothesis import strategies as st

from express_path.domain.heal.patches import associate_patches, create_patches, fitting, join_patches
from express_path.domain.heal.preflight import Evidence, Policy
from express_path.domain.heal.records import FULL_ACCESS, Plan
from tests.support.heal_situation import AWKWARD, DUAL_STACK, EXPRESS_LIST_6, TO_NAT, network, planned
from tests.support.make import EXPRESS, EXPRESS_LIST, REGION, endpoint, route, table

STACK = {"aws:cloudformation:stack-name": "network", "aws:cloudformation:logical-id": "Express"}
OTHER_TABLES = (table("rtb-9"), table("rtb-2"))
ASSOCIATE = planned(network(endpoints=(endpoint("vpce-1", route_table_ids=("rtb-9", "rtb-2")),), tables=OTHER_TABLES))
OWNED = planned(network(endpoints=(endpoint("vpce-1", tags=STACK),)))
CREATE = planned(network())
DUAL = planned(network(TO_NAT, route("::/0", "nat-2"), subnets=(DUAL_STACK,), lists=(EXPRESS_LIST, EXPRESS_LIST_6)))
SAME = {"VpcId": "vpc-1", "VpcEndpointType": "Gateway", "ServiceName": EXPRESS}
"""What CloudFormation requires, and what the patch of an existing endpoint repeats."""
PLANS = {"associate": ASSOCIATE, "owned": OWNED, "create": CREATE, "dual stack": DUAL}
each_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)


def resource(plan: Plan) -> tuple[str, dict[str, Any]]:
    """The only resource of the CloudFormation patch: its logical id and its properties."""
    [(logical_id, found)] = yaml.safe_load(plan.patches["cloudFormation"])["Resources"].items()
    assert found["Type"] == "AWS::EC2::VPCEndpoint"
    return logical_id, found["Properties"]


def options(plan: Plan) -> tuple[str, dict[str, str]]:
    """The CLI's operation and its options, past that of the Region."""
    aws, service, operation, option, region, *words = shlex.split(plan.patches["cli"])
    assert (aws, service, option, region) == ("aws", "ec2", "--region", REGION)
    return operation, dict(zip(words[::2], words[1::2], strict=True))


@each_plan
def test_every_plan_has_a_patch_for_each_tool(plan: Plan) -> None:
    """A person may use any of the three, or the one of the tool that owns the endpoint; each ends with a line break."""
    assert set(plan.patches) == ({"cloudFormation"} if plan is OWNED else {"cloudFormation", "terraform", "cli"})
    assert all(patch.endswith("\n") for patch in plan.patches.values())


@pytest.mark.parametrize("plan", [ASSOCIATE, CREATE, DUAL])
def test_cli_patch_uses_options_that_exist(plan: Plan) -> None:
    """The operation and its options are the CLI's spelling of EC2's own (botocore model: ec2)."""
    operation, given = options(plan)
    model = Session().get_service_model("ec2")
    names = {xform_name(operation, "-"): operation for operation in model.operation_names}
    shape = model.operation_model(names[operation]).input_shape
    known = {f"--{xform_name(member, '-')}" for member in shape.members}
    assert set(given) <= known
    required = {f"--{xform_name(member, '-')}" for member in shape.required_members}
    assert required <= set(given)


@pytest.mark.parametrize(
    ("tag", "tools"),
    [
        ("managed-by=Terraform", ["terraform"]),
        ("tool=opentofu", ["terraform"]),
        ("aws:cloudformation:stack-name=net", ["cloudFormation"]),
        ("owner=network-team", ["cloudFormation", "terraform"]),
        ("", ["cloudFormation", "terraform", "cli"]),
    ],
)
def test_patches_are_for_the_tool_that_owns_a_resource(tag: str, tools: list[str]) -> None:
    """A tag that names no tool still says that a command would be reverted."""
    assert [*fitting({"cloudFormation": "", "terraform": "", "cli": ""}, tag)] == tools


def test_cli_patch_associates() -> None:
    """The table is added to the endpoint."""
    assert options(ASSOCIATE) == (
        "modify-vpc-endpoint",
        {"--vpc-endpoint-id": "vpce-1", "--add-route-table-ids": "rtb-1"},
    )


@pytest.mark.parametrize(("plan", "address_type"), [(CREATE, "ipv4"), (DUAL, "dualstack")])
def test_cli_patch_creates(plan: Plan, address_type: str) -> None:
    """The endpoint is made of the right type, for the VPC, the service and the table."""
    assert options(plan) == (
        "create-vpc-endpoint",
        {
            "--vpc-endpoint-type": "Gateway",
            "--vpc-id": "vpc-1",
            "--service-name": EXPRESS,
            "--ip-address-type": address_type,
            "--route-table-ids": "rtb-1",
        },
    )


def test_cloudformation_patch_keeps_the_other_tables() -> None:
    """A stack's list of tables is complete, so the patch repeats those that the endpoint has."""
    assert resource(ASSOCIATE) == ("S3ExpressEndpoint", {**SAME, "RouteTableIds": ["rtb-1", "rtb-2", "rtb-9"]})


def test_cloudformation_patch_names_the_stack_and_the_resource() -> None:
    """The tags of the endpoint show which stack the patch belongs to."""
    assert resource(OWNED) == ("Express", {**SAME, "RouteTableIds": ["rtb-1"]})
    keep = "\n# RouteTableIds as below. Keep all other properties.\n"
    assert OWNED.patches["cloudFormation"].startswith(f"# Stack network: change{keep}")
    assert ASSOCIATE.patches["cloudFormation"].startswith(f"# If a stack owns vpce-1, change{keep}")


def test_cloudformation_patch_keeps_the_policy() -> None:
    """The policy of the endpoint, not that of a new one, is in the resource; EC2's default policy is left out."""
    owned = network(endpoints=(endpoint("vpce-1", tags=STACK),))
    other = Policy("vpce-2", FULL_ACCESS)
    kept = planned(owned, Evidence(policies=(other, Policy("vpce-1", AWKWARD))), policy=FULL_ACCESS)
    default = planned(owned, Evidence(policies=(other, Policy("vpce-1", FULL_ACCESS.replace(",", ", ")))))
    assert resource(kept)[1]["PolicyDocument"] == json.loads(AWKWARD)
    assert "PolicyDocument" not in resource(default)[1]
    assert resource(default) == resource(OWNED)


LONG = "0123456789abcdef0"
REAL = endpoint(f"vpce-{LONG}", vpc_id=f"vpc-{LONG}", route_table_ids=(f"rtb-{LONG[::-1]}",))
ONLY_US = (
    '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3express:*","Resource":"*",'
    '"Condition":{"StringEquals":{"aws:PrincipalAccount":"${aws:ResourceAccount}"}}}]}'
)


@pytest.mark.parametrize(
    "patches",
    [
        create_patches(replace(REAL, ip_address_type="dualstack"), [f"rtb-{LONG}", f"rtb-{LONG[1:]}a"], ONLY_US),
        associate_patches(replace(REAL, tags=STACK), [f"rtb-{LONG}", f"rtb-{LONG[1:]}a"], [Policy(REAL.id, ONLY_US)]),
    ],
    ids=["create", "associate"],
)
def test_cloudformation_patch_passes_cfn_lint(patches: dict[str, str]) -> None:
    """The patch is a whole template in which cfn-lint finds no error, no warning, and nothing to inform about."""
    from cfnlint.api import lint  # noqa: PLC0415  # takes a second to import
    from cfnlint.config import ManualArgs  # noqa: PLC0415  # as above

    assert lint(patches["cloudFormation"], config=ManualArgs(regions=[REGION], include_checks=["I"])) == []


@pytest.mark.parametrize(("plan", "address_type"), [(CREATE, "ipv4"), (DUAL, "dualstack")])
def test_cloudformation_patch_creates(plan: Plan, address_type: str) -> None:
    """The resource has what CreateVpcEndpoint would be given."""
    assert resource(plan)[1] == {
        "VpcId": "vpc-1",
        "VpcEndpointType": "Gateway",
        "ServiceName": EXPRESS,
        "IpAddressType": address_type,
        "RouteTableIds": ["rtb-1"],
    }


def test_terraform_patch_associates() -> None:
    """One resource, and the warning for a configuration in which the endpoint lists its route tables."""
    assert ASSOCIATE.patches["terraform"] == (
        "# If the aws_vpc_endpoint of vpce-1 sets\n"
        '# route_table_ids, add "rtb-1" to it\n# and leave this resource out.\n'
        'resource "aws_vpc_endpoint_route_table_association" "s3express_rtb_1" {\n'
        '  vpc_endpoint_id = "vpce-1"\n'
        '  route_table_id  = "rtb-1"\n'
        "}\n"
    )


def test_patches_associate_several_tables() -> None:
    """One command and one template have all tables, Terraform has a resource for each, with a name of its own."""
    made, added = create_patches(REAL, ["rtb-1", "rtb-2"], FULL_ACCESS), associate_patches(REAL, ["rtb-1", "rtb-2"])
    assert made["cli"].endswith("--route-table-ids rtb-1 rtb-2\n")
    assert added["cli"].endswith("--add-route-table-ids rtb-1 rtb-2\n")
    for patches, endpoint_id in ((made, f"aws_vpc_endpoint.s3express_vpc_{LONG}.id"), (added, f'"{REAL.id}"')):
        assert re.findall(r'_association" "(\w+)" {\n  vpc_endpoint_id = (\S+)\n', patches["terraform"]) == [
            ("s3express_rtb_1", endpoint_id),
            ("s3express_rtb_2", endpoint_id),
        ]
    assert 'add "rtb-1", "rtb-2" to it\n# and leave these resources out.\n' in added["terraform"]


def test_patches_join_an_endpoint_that_somebody_else_creates() -> None:
    """Terraform and the CLI look the endpoint up; CloudFormation cannot."""
    patches = join_patches(endpoint("vpce-1"), ["rtb-1", "rtb-2"])
    assert patches.keys() == {"terraform", "cli"}
    assert 'data "aws_vpc_endpoint" "s3express_vpc_1" {\n  vpc_id       = "vpc-1"\n' in patches["terraform"]
    assert "vpc_endpoint_id = data.aws_vpc_endpoint.s3express_vpc_1.id\n" in patches["terraform"]
    assert "Name=vpc-id,Values=vpc-1" in patches["cli"]
    assert patches["cli"].endswith(" --add-route-table-ids rtb-1 rtb-2\n")


@pytest.mark.parametrize(
    ("plan", "address_type", "name"),
    [(CREATE, "ipv4", "s3express_vpc_1"), (DUAL, "dualstack", "s3express_vpc_1_dualstack")],
)
def test_terraform_patch_creates(plan: Plan, address_type: str, name: str) -> None:
    """The endpoint does not list its route tables, so that associations that heals add later are no drift.

    A VPC may need endpoints of both types, so their resources have different names.
    """
    assert plan.patches["terraform"] == (
        f'resource "aws_vpc_endpoint" "{name}" {{\n'
        '  vpc_id            = "vpc-1"\n'
        '  vpc_endpoint_type = "Gateway"\n'
        f'  service_name      = "{EXPRESS}"\n'
        f'  ip_address_type   = "{address_type}"\n'
        "}\n\n"
        'resource "aws_vpc_endpoint_route_table_association" "s3express_rtb_1" {\n'
        f"  vpc_endpoint_id = aws_vpc_endpoint.{name}.id\n"
        '  route_table_id  = "rtb-1"\n'
        "}\n"
    )


def test_patches_hold_any_policy() -> None:
    """Who makes the endpoint by hand must not make one that allows everything by accident.

    Line breaks, tabs, quotes, colons and hashes break neither the shell's word nor the YAML. Terraform takes ${ and %{ in a
    string for its own; doubled, they are the policy's again (https://developer.hashicorp.com/terraform/language/expressions/strings).
    """
    plan = planned(network(), policy=AWKWARD)
    assert json.loads(options(plan)[1]["--policy-document"]) == json.loads(AWKWARD)
    found = resource(plan)[1]["PolicyDocument"]
    assert (json.loads(found) if isinstance(found, str) else found) == json.loads(AWKWARD)
    [policy] = re.findall(r"policy\s+= jsonencode\((.*)\)\n", plan.patches["terraform"], re.DOTALL)
    assert not re.search(r"(?<!\$)\$\{|(?<!%)%\{", policy)
    assert json.loads(policy.replace("$${", "${").replace("%%{", "%{")) == json.loads(AWKWARD)


@given(
    st.lists(
        st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), min_size=1), min_size=4, max_size=4
    )
)
def test_no_value_breaks_out_of_its_quotes(values: list[str]) -> None:
    """Ids are checked when they are read. Even if one were not, pasting a patch would run nothing of it."""
    endpoint_id, vpc_id, table_id, name = values
    tags = {"aws:cloudformation:stack-name": name, "aws:cloudformation:logical-id": name}
    existing = endpoint(endpoint_id, vpc_id=vpc_id, tags=tags)
    associated = associate_patches(existing, [table_id])
    words = ["aws", "ec2", "modify-vpc-endpoint", "--region", REGION, "--vpc-endpoint-id", endpoint_id]
    assert shlex.split(associated["cli"]) == [*words, "--add-route-table-ids", table_id]
    for patches in (associated, create_patches(existing, [table_id], FULL_ACCESS)):
        [properties] = [
            found["Properties"] for found in yaml.safe_load(patches["cloudFormation"])["Resources"].values()
        ]
        assert (properties["VpcId"], properties["RouteTableIds"]) == (vpc_id, [table_id])
        assert all(line.startswith("#") or _HCL.fullmatch(line) for line in patches["terraform"].split("\n"))


_HCL = re.compile(r'( *\w+ +(= |"\w+" )("[^"\\]*(\\.[^"\\]*)*"|[\w.]+)( \{)?|resource "\w+" "\w+" \{|\}|)')
