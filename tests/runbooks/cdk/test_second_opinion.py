"""Another implementation of Automation runs the same runbooks and takes the same steps as the sandbox's.

@cdklabs/cdk-ssm-documents is AWS's own (https://github.com/cdklabs/cdk-ssm-documents); simulate.cjs says what it lacks.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.server import Sandbox
from sandbox.ssm import Automation
from tests.runbooks.cdk.opinion import Opinion, OtherImplementation, need_node
from tests.support.heals import HEAL, RUNBOOKS, Deployment, Vpc, status, steps
from tests.support.network import Builder

VPC = {"VpcId": {"type": "String"}, "Mode": {"type": "String", "default": "look"}}


@pytest.fixture(scope="module")
def other() -> Iterator[OtherImplementation]:
    """Yield the other implementation, or skip the test if Node or the packages are not installed."""
    need_node()
    with OtherImplementation() as running:
        yield running


class Both:
    """Both implementations, and a folder for runbooks."""

    def __init__(self, sandbox: Sandbox, automation: Automation, other: OtherImplementation, folder: Path) -> None:
        """Keep both implementations and the path of the runbook."""
        self.sandbox = sandbox
        self.automation = automation
        self.other = other
        self.path = folder / "runbook.yaml"

    def run(self, steps: list[dict[str, Any]], vpcs: list[str]) -> tuple[Any, Opinion]:
        """Run steps with both implementations, each on its own VPC; return the execution and the opinion."""
        content = yaml.safe_dump({"schemaVersion": "0.3", "parameters": VPC, "mainSteps": steps})
        self.path.write_text(content)
        self.sandbox.client("ssm").create_document(
            Name="Small", Content=content, DocumentFormat="YAML", DocumentType="Automation"
        )
        execution = self.automation.execute("Small", {"VpcId": vpcs[0]})
        return execution, self.other.run(self.path, {"VpcId": vpcs[1]}, self.sandbox)


@pytest.fixture
def both(sandbox: Sandbox, other: OtherImplementation, tmp_path: Path) -> Iterator[Both]:
    """Yield both implementations for small runbooks, which need no deployment."""
    with Automation(sandbox) as automation:
        automation.knobs.time_scale = 0.001
        yield Both(sandbox, automation, other, tmp_path)


def api(name: str, inputs: dict[str, Any] | None = None, **properties: object) -> dict[str, Any]:
    """Return a step that describes the VPC `VpcId`."""
    given = {"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["{{ VpcId }}"]} | (inputs or {})
    return {"name": name, "action": "aws:executeAwsApi", "inputs": given, **properties}


def branch(*choices: dict[str, Any], default: str) -> dict[str, Any]:
    """Return a branch step."""
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
SMALL = {
    "calls in a row": [api("look", outputs=CIDR), TAG],
    "failure aborts": [api("fail", inputs=MISSING), api("after")],
    "failure continues": [api("fail", inputs=MISSING, onFailure="Continue"), api("after")],
    "failure jumps": [
        api("fail", inputs=MISSING, onFailure="step:repair", isCritical=False, nextStep="after"),
        api("after", isEnd=True),
        api("repair"),
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
}
"""Small runbooks by what they show."""


@pytest.mark.parametrize("shows", SMALL)
def test_both_run_the_same_steps_to_the_same_end(sandbox: Sandbox, both: Both, shows: str) -> None:
    """The steps, the result, and the EC2 calls are the same in both implementations."""
    ec2 = sandbox.client("ec2")
    vpcs = [ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"] for _ in range(2)]
    sandbox.calls.clear()
    execution, opinion = both.run(SMALL[shows], vpcs)
    assert opinion.steps == steps(execution)
    assert opinion.succeeded is (status(execution) == "Success")
    made = sandbox.calls.operations("ec2")
    assert made[: len(made) // 2] == made[len(made) // 2 :]
    tags = [tag["Value"] for tag in ec2.describe_tags()["Tags"] if tag["Key"] == "cidr"]
    assert tags in ([], ["of 10.0.0.0/16"] * 2)


@pytest.mark.parametrize(
    ("given", "calendar"),
    [({}, ""), ({"DryRun": "true"}, ""), ({}, "Freeze")],
    ids=["heals", "dry run", "closed calendar"],
)
def test_both_heal_in_the_same_way(
    deployment: Deployment,
    builder: Builder,
    other: OtherImplementation,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, str],
    calendar: str,
) -> None:
    """On two equal networks, both run the same steps and make the same changes, also in a second run."""
    deployment.automation.knobs.closed_calendars.add("Freeze")
    monkeypatch.setenv("CHANGE_CALENDAR_NAME", calendar)
    ours, theirs = Vpc(builder), Vpc(builder)
    for _ in range(2):
        run = deployment.heal(ours.subnet, **given)
        parameters = {"SubnetId": theirs.subnet, **deployment.given, **given}
        opinion = other.run(RUNBOOKS / f"{HEAL}.yaml", parameters, deployment.sandbox)
        assert opinion.steps == steps(run), opinion.failure
        assert opinion.succeeded is (status(run) == "Success")
        assert len(deployment.endpoints(ours.id)) == len(deployment.endpoints(theirs.id))
        healed = [list(deployment.associations(vpc.id).values()) == [[vpc.table]] for vpc in (ours, theirs)]
        assert healed[0] is healed[1]


SCRIPT = """
import json

def handler(events, context):
    plan = json.loads(events["plan"])
    if "lost" in events["word"]:
        raise ValueError(plan["vpc"])
    return {"id": events["word"] + plan["vpc"], "count": str(plan["count"] + 1), "done": True, "more": {"list": [1]}}
"""
PUT = {
    "Service": "dynamodb",
    "Api": "PutItem",
    "TableName": "Ledger",
    "ConditionExpression": "attribute_not_exists(Id)",
    "Item": {
        "Id": {"S": "{{ work.Id }}"},
        "Count": {"N": "{{ work.Count }}"},
        "Done": {"BOOL": "{{ work.Done }}"},
        "Word": {"M": {"Of": {"L": [{"S": "{{ Mode }} at {{ VpcId }}"}]}}},
    },
}
GET = {
    "Service": "dynamodb",
    "Api": "GetItem",
    "TableName": "Ledger",
    "ConsistentRead": True,
    "Key": {"Id": {"S": "{{ work.Id }}"}},
}


def step(name: str, action: str, inputs: dict[str, Any], *outputs: tuple[str, str, str], **more: str) -> dict[str, Any]:
    """Return a step with outputs by name, selector and type."""
    defined = [dict(zip(("Name", "Selector", "Type"), output, strict=True)) for output in outputs]
    return {"name": name, "action": f"aws:{action}", "inputs": inputs, "outputs": defined, **more}


def ledger_steps(word: str) -> list[dict[str, Any]]:
    """Return steps like those of the runbooks: a function, a script that reads its payload, and conditional writes."""
    payload = {"plan": "{{ ask.Payload }}", "word": word + "-{{ Mode }}-"}
    script = {"Runtime": "python3.11", "Handler": "handler", "Script": SCRIPT, "InputPayload": payload}
    selected = [("Id", "$.Payload.id", "String"), ("Count", "$.Payload.count", "String")]
    count = ("Count", "$.Item.Count.N", "String")
    jump = {"NextStep": "end", "Variable": "{{ look.Count }}", "StringEquals": "3"}
    return [
        {
            "name": "ask",
            "action": "aws:invokeLambdaFunction",
            "inputs": {"FunctionName": "f", "InputPayload": {"vpc": "{{ VpcId }}"}},
        },
        step("work", "executeScript", script, *selected, ("Done", "$.Payload.done", "Boolean")),
        step("put", "executeAwsApi", PUT),
        step("look", "executeAwsApi", GET, count),
        branch(jump, default="again"),
        step("end", "executeAwsApi", PUT, onFailure="step:again", nextStep="again"),
        step("again", "executeAwsApi", PUT),
    ]


@pytest.mark.parametrize("word", ["found", "lost"])
def test_both_run_scripts_and_write_items(sandbox: Sandbox, both: Both, word: str) -> None:
    """A payload reaches a script, the script's outputs reach DynamoDB, and a failed script or condition ends both."""
    both.automation.functions.register("f", lambda event: {"vpc": event["vpc"], "count": 2})
    dynamodb: Any = sandbox.client("dynamodb")
    attribute = {"AttributeName": "Id", "AttributeType": "S"}
    schema = {"AttributeName": "Id", "KeyType": "HASH"}
    dynamodb.create_table(
        TableName="Ledger", AttributeDefinitions=[attribute], KeySchema=[schema], BillingMode="PAY_PER_REQUEST"
    )
    execution, opinion = both.run(ledger_steps(word), ["vpc-1", "vpc-2"])
    ran = ["ask", "work", "put", "look", "choose", "end", "again"]
    assert steps(execution) == opinion.steps == (ran if word == "found" else ["ask", "work"]), opinion.failure
    assert not opinion.succeeded
    assert status(execution) == "Failed"
    reason = "ConditionalCheckFailedException" if word == "found" else "vpc-"
    assert reason in execution["FailureMessage"]
    assert reason in opinion.failure
    items = {item["Id"]["S"]: item for item in dynamodb.scan(TableName="Ledger")["Items"]}
    of = {"M": {"Of": {"L": [{"S": "look at vpc-1"}]}}}
    ours = {"Id": {"S": "found-look-vpc-1"}, "Count": {"N": "3"}, "Done": {"BOOL": True}, "Word": of}
    theirs = json.loads(json.dumps(ours).replace("vpc-1", "vpc-2"))
    written = {"found-look-vpc-1": ours, "found-look-vpc-2": theirs}
    assert items == (written if word == "found" else {})


def test_difference_is_found(sandbox: Sandbox, both: Both) -> None:
    """The comparison can fail: the recorded steps show where a run failed."""
    vpc = sandbox.client("ec2").create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    _, opinion = both.run(SMALL["failure aborts"], [vpc, vpc])
    assert opinion.steps == ["fail"]
    assert "InvalidVpcID.NotFound" in opinion.failure
