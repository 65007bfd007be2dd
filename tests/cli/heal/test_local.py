"""express-path heal before a deployment: the plan is made by the command, and people make the changes."""

import json
import re
from pathlib import Path

import pytest
import yaml

from config_rule_sandbox.server import Sandbox
from tests.cli.heal.healing_stack import make_stack, remove_stack
from tests.support.command import invoke
from tests.support.heals import Deployment, Vpc
from tests.support.network import Builder

pytestmark = pytest.mark.slow
POLICY = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3express:*", "Resource": "*"}]}'


def sections(shown: str) -> dict[str, str]:
    """Return what is printed for each tool."""
    found = re.split(r"\n\n(AWS CLI|CloudFormation|Terraform):\n", shown)
    return dict(zip(found[1::2], found[2::2], strict=True))


def plan_in(shown: str) -> list[str]:
    """Return the lines of the plan: the VPC, what to create, and each route table."""
    return [line for line in shown.splitlines() if line.startswith(("vpc-", "  create ", "  rtb-"))]


def test_route_tables_of_a_vpc_get_one_endpoint(sandbox: Sandbox, builder: Builder) -> None:
    """The plan is printed with one change for all of them, in each tool, and nothing is changed."""
    vpc = Vpc(builder, tables=2)
    sandbox.calls.clear()
    result = invoke(["heal", *vpc.tables, "--dry-run"])
    assert result.exit_code == 0, result.stderr
    assert sandbox.calls.mutating() == []
    assert "no stack of express-path was found in account 123456789012 us-east-1" in result.stdout
    assert "not checked: the change calendar\nopen TCP connections" in result.stdout
    assert "\n2 to heal\nnothing was changed; to make these changes:" in result.stdout
    assert "runbook" not in result.stdout.partition("plan for")[2]
    found = sections(result.stdout)
    assert found["AWS CLI"].count("aws ec2 ") == 1
    assert all(table_id in found["AWS CLI"] for table_id in vpc.tables)
    [made] = yaml.safe_load(found["CloudFormation"])["Resources"].values()
    assert sorted(made["Properties"]["RouteTableIds"]) == sorted(vpc.tables)
    assert found["Terraform"].count('resource "aws_vpc_endpoint" ') == 1
    assert found["Terraform"].count('resource "aws_vpc_endpoint_route_table_association" ') == 2


def test_the_plan_is_that_of_the_runbook(deployment: Deployment, builder: Builder, sandbox: Sandbox) -> None:
    """With and without the stack, a new endpoint, an existing one, a blocked table, and a compliant one are the same."""
    new, existing = Vpc(builder, tables=3), Vpc(builder, tables=2)
    builder.endpoint(existing.id, existing.tables[1])
    builder.route(new.tables[2], "192.0.2.1/32", NatGatewayId=new.nat)
    targets = [*new.tables, *existing.tables]
    with_stack = invoke(["heal", *targets, "--dry-run"])
    remove_stack(sandbox, "express-path")
    without = invoke(["heal", *targets, "--dry-run"])
    assert plan_in(without.stdout) == plan_in(with_stack.stdout)
    assert len(plan_in(without.stdout)) >= 8
    assert (without.exit_code, with_stack.exit_code) == (1, 1)
    assert new.tables[2] not in "".join(sections(without.stdout).values())
    del deployment


def test_an_existing_endpoint_keeps_its_policy(builder: Builder) -> None:
    """CloudFormation replaces what a template leaves out, so the policy is in it."""
    vpc = Vpc(builder)
    builder.endpoint(vpc.id, PolicyDocument=POLICY)
    result = invoke(["heal", vpc.subnet, "--dry-run"])
    [made] = yaml.safe_load(sections(result.stdout)["CloudFormation"])["Resources"].values()
    assert made["Properties"]["PolicyDocument"] == json.loads(POLICY)


def test_what_a_scan_found_is_planned(builder: Builder, tmp_path: Path) -> None:
    """The findings of a saved scan need no stack either."""
    vpc, file = Vpc(builder), str(tmp_path / "scan.json")
    invoke(["scan", "--output", file])
    result = invoke(["heal", "--from", file, "--dry-run"])
    assert result.exit_code == 0, result.stderr
    assert vpc.table in sections(result.stdout)["AWS CLI"]
    builder.endpoint(vpc.id, vpc.table)
    assert "1 with nothing to do\nnothing was changed\n" in invoke(["heal", "--from", file, "--dry-run"]).stdout


def test_a_runbook_that_is_needed_is_missed(builder: Builder) -> None:
    """Without one, nothing is healed, and the status says so. A stack that somebody names must exist."""
    vpc = Vpc(builder)
    assert invoke(["heal", vpc.subnet, "--yes"]).exit_code == 2
    result = invoke(["heal", vpc.subnet, "--stack", "network"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no stack network with runbooks in account 123456789012 us-east-1" in result.stderr


def test_a_stack_of_another_name_is_found(deployment: Deployment, vpc: Vpc, sandbox: Sandbox) -> None:
    """StackSets give generated names, and no command is printed that goes around the stack. Of several, one is selected."""
    remove_stack(sandbox, "express-path")
    make_stack(sandbox, deployment, "StackSet-express-path-1a2b", "APPROVAL")
    planned = invoke(["heal", vpc.subnet, "--dry-run"])
    assert (planned.exit_code, "AWS CLI" in planned.stdout) == (0, False), planned.stderr
    make_stack(sandbox, deployment, "another")
    result = invoke(["heal", vpc.subnet, "--dry-run"])
    assert (result.exit_code, "StackSet-express-path-1a2b, another (select one with --stack)" in result.stderr) == (
        2,
        True,
    )


def test_whoever_may_not_look_for_the_stack_gets_no_way_around_it(vpc: Vpc, sandbox: Sandbox) -> None:
    """The denied call is named, and no stack is said to be missing. A stack may require an approval."""
    sandbox.faults.deny("cloudformation", "DescribeStacks")
    result = invoke(["heal", vpc.subnet, "--dry-run"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "cloudformation:DescribeStacks failed with AccessDenied" in result.stderr
    assert "no stack" not in result.stderr


def test_whoever_may_only_read_the_network_gets_a_plan(vpc: Vpc, sandbox: Sandbox) -> None:
    """Without permission for a check of the plan, what can be read is planned."""
    sandbox.faults.deny("ec2", "DescribeNetworkAcls")
    unchecked = invoke(["heal", vpc.subnet, "--dry-run"])
    assert unchecked.exit_code == 2
    assert "ec2:DescribeNetworkAcls" in unchecked.stderr
    assert "not checked: security groups" in unchecked.stdout
    assert vpc.table in sections(unchecked.stdout)["AWS CLI"]
