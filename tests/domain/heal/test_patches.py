"""The change of a plan for CloudFormation, Terraform and the AWS CLI, each as that tool would take it."""

import json
import re
import shlex
from typing import Any

import pytest
import yaml
from botocore import xform_name
from botocore.session import Session

from express_path.domain.healing import Action, Plan
from tests.domain.heal.situation import DUAL_STACK, EXPRESS_LIST_6, TO_NAT, network, planned
from tests.domain.make import EXPRESS, EXPRESS_LIST, REGION, endpoint, route

STACK = {"aws:cloudformation:stack-name": "network", "aws:cloudformation:logical-id": "Express"}
ASSOCIATE = planned(network(endpoints=(endpoint("vpce-1", route_table_ids=("rtb-9", "rtb-2")),)))
OWNED = planned(network(endpoints=(endpoint("vpce-1", tags=STACK),)))
CREATE = planned(network())
DUAL = planned(network(TO_NAT, route("::/0", "nat-2"), subnets=(DUAL_STACK,), lists=(EXPRESS_LIST, EXPRESS_LIST_6)))
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
    """A person may use any of the three; each ends with a line break, so that it can be appended to a file."""
    assert set(plan.patches) == {"cloudFormation", "terraform", "cli"}
    assert all(each.endswith("\n") for each in plan.patches.values())


@each_plan
def test_cli_patch_uses_options_that_exist(plan: Plan) -> None:
    """The operation and its options are the CLI's spelling of EC2's own (botocore model: ec2)."""
    operation, given = options(plan)
    model = Session().get_service_model("ec2")
    names = {xform_name(each, "-"): each for each in model.operation_names}
    shape = model.operation_model(names[operation]).input_shape
    known = {f"--{xform_name(each, '-')}" for each in shape.members}
    assert set(given) <= known
    required = {f"--{xform_name(each, '-')}" for each in shape.required_members}
    assert required <= set(given)


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
    assert resource(ASSOCIATE) == ("S3ExpressEndpoint", {"RouteTableIds": ["rtb-1", "rtb-2", "rtb-9"]})


def test_cloudformation_patch_names_the_stack_and_the_resource() -> None:
    """The endpoint's own tags say where the patch belongs; no whole resource, which would have a policy, too."""
    assert resource(OWNED) == ("Express", {"RouteTableIds": ["rtb-1"]})
    assert OWNED.patches["cloudFormation"].startswith("# stack network: change RouteTableIds, leave all else")
    assert ASSOCIATE.patches["cloudFormation"].startswith("# change RouteTableIds, leave all else")


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


@each_plan
def test_terraform_patch_is_one_block(plan: Plan) -> None:
    """One resource with a name that Terraform takes, arguments one a line, braces and quotes in pairs."""
    text = plan.patches["terraform"]
    first, *arguments, last = text.splitlines()
    assert re.fullmatch(r'resource "aws_vpc_endpoint(_route_table_association)?" "[a-z_][a-z0-9_]*" \{', first)
    assert last == "}"
    assert all(re.fullmatch(r'  [a-z_]+ += (\[?"[\w.-]+"\]?)', each) for each in arguments)
    assert (text.count("{"), text.count("["), text.count('"') % 2) == (text.count("}"), text.count("]"), 0)


def test_terraform_patch_says_the_same() -> None:
    """The same endpoint and table as in the other patches."""
    assert 'vpc_endpoint_id = "vpce-1"' in ASSOCIATE.patches["terraform"]
    assert 'route_table_id  = "rtb-1"' in ASSOCIATE.patches["terraform"]
    assert f'service_name      = "{EXPRESS}"' in CREATE.patches["terraform"]
    assert 'ip_address_type   = "dualstack"' in DUAL.patches["terraform"]
    assert 'route_table_ids   = ["rtb-1"]' in CREATE.patches["terraform"]


def test_owned_endpoint_is_the_only_reason_for_a_patch_to_be_needed() -> None:
    """OWNED is blocked and its patch is what to do about it."""
    assert OWNED.action is Action.BLOCKED


def test_patches_hold_the_configured_policy() -> None:
    """Who makes the endpoint by hand must not make one that allows everything by accident."""
    text = '{"Version":"2012-10-17","Statement":[{"Sid":"OnlyUs","Effect":"Allow","Principal":"*","Action":"*"}]}'
    plan = planned(network(), policy=text)
    assert all("OnlyUs" in each for each in plan.patches.values())


AWKWARD = """{
  "Version": "2012-10-17",
\t"Statement": [{"Sid": "It's", "Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*: # x",
    "Condition": {"StringEquals": {"aws:PrincipalTag/team": "${aws:ResourceTag/team}", "k": "%{if} \\u0007 \\"q\\""}}}]
}"""


def test_cli_patch_holds_any_policy() -> None:
    """The shell passes the policy on as it is."""
    assert json.loads(options(planned(network(), policy=AWKWARD))[1]["--policy-document"]) == json.loads(AWKWARD)


def test_cloudformation_patch_holds_any_policy() -> None:
    """Line breaks, tabs, quotes, colons and hashes of the policy do not break the YAML."""
    _, properties = resource(planned(network(), policy=AWKWARD))
    found = properties["PolicyDocument"]
    assert (json.loads(found) if isinstance(found, str) else found) == json.loads(AWKWARD)


def test_terraform_patch_holds_any_policy() -> None:
    """Terraform takes ${ and %{ in a string for its own; doubled, they are the policy's again.

    https://developer.hashicorp.com/terraform/language/expressions/strings
    """
    text = planned(network(), policy=AWKWARD).patches["terraform"]
    [policy] = re.findall(r"policy\s+= jsonencode\((.*)\)\n", text, re.DOTALL)
    assert not re.search(r"(?<!\$)\$\{|(?<!%)%\{", policy)
    assert json.loads(policy.replace("$${", "${").replace("%%{", "%{")) == json.loads(AWKWARD)
