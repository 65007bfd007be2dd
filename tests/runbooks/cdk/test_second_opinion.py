"""A second opinion: another implementation of Automation runs the same runbooks, step by step as the sandbox's does.

@cdklabs/cdk-ssm-documents is AWS's own (https://github.com/cdklabs/cdk-ssm-documents); simulate.cjs says what it lacks.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.server import Sandbox
from sandbox.ssm import Automation
from tests.handlers.network import Builder
from tests.runbooks.cdk.opinion import Opinion, need_node, second_opinion
from tests.runbooks.heals import HEAL, RUNBOOKS, Deployment, Vpc, status, steps

pytestmark = pytest.mark.usefixtures("node")

VPC = {"VpcId": {"type": "String"}, "Mode": {"type": "String", "default": "look"}}


@pytest.fixture
def node() -> None:
    """Node and the packages, or no test."""
    need_node()


def api(name: str, inputs: dict[str, Any] | None = None, **properties: object) -> dict[str, Any]:
    """Return a step that looks at the VPC `VpcId`."""
    given = {"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["{{ VpcId }}"]} | (inputs or {})
    return {"name": name, "action": "aws:executeAwsApi", "inputs": given, **properties}


def wanted(name: str, action: str, value: str) -> dict[str, Any]:
    """Return a step that wants a CIDR block of the VPC."""
    inputs = {"PropertySelector": "$.Vpcs[0].CidrBlock", "DesiredValues": [value]}
    return api(name, inputs) | {"action": f"aws:{action}"}


def branch(*choices: dict[str, Any], default: str) -> dict[str, Any]:
    """Return a branch."""
    return {"name": "choose", "action": "aws:branch", "inputs": {"Choices": list(choices), "Default": default}}


CIDR = [{"Name": "Cidr", "Selector": "$.Vpcs[0].CidrBlock", "Type": "String"}]
MISSING = {"VpcIds": ["vpc-0"]}
TAG = {
    "name": "tag",
    "action": "aws:executeAwsApi",
    "inputs": {
        "Service": "ec2",
        "Api": "CreateTags",
        "Resources": ["{{ VpcId }}"],
        "Tags": [{"Key": "cidr", "Value": "of {{ look.Cidr }}"}],
    },
}
IS_TEN = {"Variable": "{{ look.Cidr }}", "StringEquals": "10.0.0.0/16"}
IS_LOOK = {"Variable": "{{ Mode }}", "StringEquals": "look"}
SMALL = {
    "calls in a row": [api("look", outputs=CIDR), TAG],
    "assertion holds": [wanted("check", "assertAwsResourceProperty", "10.0.0.0/16"), api("after")],
    "assertion fails": [wanted("check", "assertAwsResourceProperty", "10.1.0.0/16"), api("after")],
    "wait is over at once": [wanted("wait", "waitForAwsResourceProperty", "10.0.0.0/16"), api("after")],
    "failure aborts": [api("fail", inputs=MISSING), api("after")],
    "failure continues": [api("fail", inputs=MISSING, onFailure="Continue"), api("after")],
    "failure jumps": [
        api("fail", inputs=MISSING, onFailure="step:mend", isCritical=False, nextStep="after"),
        api("after", isEnd=True),
        api("mend"),
    ],
    "attempts": [api("fail", inputs=MISSING, maxAttempts=3), api("after")],
    "next step": [
        api("look", nextStep="after", onFailure="step:between"),
        api("between", isEnd=True),
        api("after"),
    ],
    "branch": [
        api("look", outputs=CIDR),
        branch({**IS_TEN, "NextStep": "ten"}, default="other"),
        api("other", isEnd=True),
        api("ten"),
    ],
    "branch by default": [
        api("look", outputs=CIDR),
        branch({**IS_TEN, "StringEquals": "x", "NextStep": "ten"}, default="other"),
        api("other", isEnd=True),
        api("ten"),
    ],
    "branch on several conditions": [
        api("look", outputs=CIDR),
        branch(
            {"Not": IS_LOOK, "NextStep": "other"},
            {"And": [IS_TEN, {"Or": [IS_LOOK]}], "NextStep": "ten"},
            default="other",
        ),
        api("other", isEnd=True),
        api("ten"),
    ],
}
"""Small runbooks by what they show."""


def compared(sandbox: Sandbox, automation: Automation, path: Path, vpcs: list[str]) -> tuple[Any, Opinion]:
    """Run one runbook by both implementations, each on a VPC of its own; return the execution and the opinion."""
    content = path.read_text(encoding="utf-8")
    sandbox.client("ssm").create_document(
        Name="Small", Content=content, DocumentFormat="YAML", DocumentType="Automation"
    )
    execution = automation.execute("Small", {"VpcId": vpcs[0]})
    return execution, second_opinion(path, {"VpcId": vpcs[1]}, sandbox)


@pytest.mark.parametrize("shows", SMALL)
def test_both_run_the_same_steps_to_the_same_end(
    sandbox: Sandbox, deployment: Deployment, tmp_path: Path, shows: str
) -> None:
    """Steps in order, the end, and the calls that reached EC2 are the same by either implementation."""
    path = tmp_path / "runbook.yaml"
    path.write_text(yaml.safe_dump({"schemaVersion": "0.3", "parameters": VPC, "mainSteps": SMALL[shows]}))
    ec2 = sandbox.client("ec2")
    vpcs = [ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"] for _ in range(2)]
    sandbox.calls.clear()
    execution, opinion = compared(sandbox, deployment.automation, path, vpcs)
    assert opinion.steps == steps(execution)
    assert opinion.succeeded is (status(execution) == "Success")
    made = sandbox.calls.operations("ec2")
    assert made[: len(made) // 2] == made[len(made) // 2 :]
    tags = [each["Value"] for each in ec2.describe_tags()["Tags"] if each["Key"] == "cidr"]
    assert tags in ([], ["of 10.0.0.0/16"] * 2)


@pytest.mark.parametrize(
    "given",
    [{}, {"DryRun": "true"}, {"ChangeCalendarName": "Work"}, {"ChangeCalendarName": "Freeze"}],
    ids=["heals", "dry run", "open calendar", "closed calendar"],
)
def test_both_heal_in_the_same_way(
    sandbox: Sandbox, deployment: Deployment, builder: Builder, given: dict[str, str]
) -> None:
    """The runbook as shipped, on two equal networks: the same steps, the same end, the same changes; and once more."""
    deployment.automation.knobs.open_calendars.add("Work")
    deployment.automation.knobs.closed_calendars.add("Freeze")
    ours, theirs = Vpc(builder), Vpc(builder)
    for _ in range(2):
        run = deployment.heal(ours.subnet, **given)
        parameters = {"SubnetId": theirs.subnet, **deployment.given, **given}
        opinion = second_opinion(RUNBOOKS / f"{HEAL}.yaml", parameters, sandbox)
        assert opinion.steps == steps(run), opinion.failure
        assert opinion.succeeded is (status(run) == "Success")
        assert len(deployment.endpoints(ours.id)) == len(deployment.endpoints(theirs.id))
        healed = [list(deployment.associations(vpc.id).values()) == [[vpc.table]] for vpc in (ours, theirs)]
        assert healed[0] is healed[1]


def test_difference_is_found(sandbox: Sandbox, deployment: Deployment, tmp_path: Path) -> None:
    """The comparison can fail: without a step that failed on the way, the two do not agree."""
    path = tmp_path / "runbook.yaml"
    path.write_text(yaml.safe_dump({"schemaVersion": "0.3", "parameters": VPC, "mainSteps": SMALL["failure aborts"]}))
    vpc = sandbox.client("ec2").create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    _, opinion = compared(sandbox, deployment.automation, path, [vpc, vpc])
    assert opinion.steps == ["fail"]
    assert "InvalidVpcID.NotFound" in opinion.failure
