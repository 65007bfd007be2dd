"""aws:executeAutomation: a runbook that runs another one.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-executeAutomation.html
"""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.client import BaseClient

from sandbox.refusals import refused
from sandbox.server import Sandbox

Make = Callable[..., Any]
Run = Callable[..., dict[str, Any]]

TAG = {
    "name": "tag",
    "action": "aws:executeAwsApi",
    "inputs": {
        "Service": "ec2",
        "Api": "CreateTags",
        "Resources": ["{{ Id }}"],
        "Tags": [{"Key": "by", "Value": "{{ By }}"}],
    },
}
LOOK = {
    "name": "look",
    "action": "aws:executeAwsApi",
    "inputs": {"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["{{ Id }}"]},
    "outputs": [{"Name": "State", "Selector": "$.Vpcs[0].State", "Type": "String"}],
}


@pytest.fixture
def vpc(sandbox: Sandbox) -> str:
    """The id of a VPC to tag."""
    return str(sandbox.client("ec2").create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"])


@pytest.fixture
def secondary(store: Make, runbook: Make) -> str:
    """The runbook that the others start: it tags a VPC and returns its state."""
    parameters = {"Id": {"type": "String"}, "By": {"type": "String", "default": "default"}}
    return str(store(runbook(TAG, LOOK, parameters=parameters, outputs=["look.State"]), "Secondary"))


def primary(document: str = "Secondary", **given: object) -> dict[str, Any]:
    """Return a step that starts the other runbook."""
    inputs = {"DocumentName": document} | ({"RuntimeParameters": given} if given else {})
    return {"name": "run", "action": "aws:executeAutomation", "inputs": inputs}


def tags(sandbox: Sandbox, vpc_id: str) -> list[dict[str, str]]:
    """Return the tags of a VPC."""
    found: list[dict[str, str]] = sandbox.client("ec2").describe_vpcs(VpcIds=[vpc_id])["Vpcs"][0].get("Tags", [])
    return found


@pytest.mark.usefixtures("secondary")
@pytest.mark.parametrize("listed", [True, False])
def test_secondary_runbook_gets_its_parameters(run: Run, sandbox: Sandbox, vpc: str, listed: bool) -> None:
    """Values are lists, or strings that mean lists of one item; references are resolved first."""
    given = {"Id": "{{ Vpc }}", "By": "{{ automation:EXECUTION_ID }}"}
    step = primary(**({key: [value] for key, value in given.items()} if listed else given))
    ended = run(step, parameters={"Vpc": {"type": "String"}}, given={"Vpc": vpc})
    assert ended["AutomationExecutionStatus"] == "Success", ended["FailureMessage"]
    assert tags(sandbox, vpc) == [{"Key": "by", "Value": ended["AutomationExecutionId"]}]


@pytest.mark.usefixtures("secondary")
def test_primary_runbook_gets_the_outputs(run: Run, ssm: BaseClient, vpc: str) -> None:
    """The id, status, and outputs of the other execution are outputs of the step."""
    ended = run(primary(Id=[vpc]), outputs=["run.ExecutionId", "run.Status", "run.Output"])
    [execution_id] = ended["Outputs"]["run.ExecutionId"]
    found = ssm.get_automation_execution(AutomationExecutionId=execution_id)["AutomationExecution"]
    assert (found["DocumentName"], found["AutomationExecutionStatus"]) == ("Secondary", "Success")
    assert (ended["Outputs"]["run.Status"], ended["Outputs"]["run.Output"]) == (["Success"], ["available"])


@pytest.mark.usefixtures("secondary")
def test_failure_of_the_secondary_runbook_is_one_of_the_step(run: Run) -> None:
    """The step fails, and its message has the cause of the other execution's failure."""
    ended = run(primary(Id=["vpc-00000000"]))
    assert ended["AutomationExecutionStatus"] == "Failed"
    assert "InvalidVpcID.NotFound" in ended["FailureMessage"] or "InvalidID" in ended["FailureMessage"]


@pytest.mark.usefixtures("secondary")
@pytest.mark.parametrize(
    ("step", "code"),
    [
        (primary("Absent"), "AutomationDefinitionNotFoundException"),
        (primary(), "InvalidAutomationExecutionParametersException"),
        (primary(Id=["vpc-1"], Other=["x"]), "InvalidAutomationExecutionParametersException"),
        (primary(Id=["vpc-1"], By=[""]), "valid min length: 1"),
    ],
    ids=["no such runbook", "parameter missing", "unknown parameter", "empty value"],
)
def test_refusal_of_the_secondary_runbook_fails_the_step(run: Run, step: dict[str, Any], code: str) -> None:
    """If StartAutomationExecution rejects the request, the error appears when the step runs."""
    ended = run(step)
    assert ended["AutomationExecutionStatus"] == "Failed"
    assert code in ended["FailureMessage"]


@pytest.mark.parametrize(
    "inputs",
    [
        {},
        {"DocumentName": ["Secondary"]},
        {"DocumentName": "{{ Names }}"},
        {"DocumentName": "Secondary", "RuntimeParameters": ["Id"]},
        {"DocumentName": "Secondary", "RuntimeParameters": {"Id": {"a": "b"}}},
        {"DocumentName": "Secondary", "RuntimeParameters": {"Id": [1]}},
        {"DocumentName": "Secondary", "RuntimeParameters": {"Id": "{{ Number }}"}},
        {"DocumentName": "Secondary", "RuntimeParameters": {"Id": "{{ Unknown }}"}},
        {"DocumentName": "Secondary", "Parameters": {"Id": ["x"]}},
    ],
)
def test_faulty_inputs_are_refused_when_the_runbook_is_made(store: Make, runbook: Make, inputs: dict[str, Any]) -> None:
    """A runbook with an unknown, missing, or mistyped input does not start."""
    step = {"name": "run", "action": "aws:executeAutomation", "inputs": inputs}
    parameters = {"Names": {"type": "StringList", "default": []}, "Number": {"type": "Integer", "default": 1}}
    assert refused(store, document=runbook(step, parameters=parameters)) == "InvalidDocumentContent"
