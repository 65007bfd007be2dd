"""Which runbooks CreateDocument accepts, and which it rejects.

https://docs.aws.amazon.com/systems-manager/latest/userguide/documents-syntax-data-elements-parameters.html has the
elements of a runbook, https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html the
properties and inputs of steps.
"""

import json
from typing import Any

import pytest
from botocore.client import BaseClient

from config_rule_sandbox.refusals import refused
from config_rule_sandbox.ssm import FaultyDocumentError, read
from config_rule_sandbox.ssm.text import MAXIMUM_BYTES

Step = dict[str, Any]

LOOK = {
    "name": "look",
    "action": "aws:executeAwsApi",
    "inputs": {"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["{{ VpcId }}"]},
    "outputs": [{"Name": "Token", "Selector": "$.NextToken", "Type": "String"}],
}
NAP = {"name": "nap", "action": "aws:sleep", "inputs": {"Duration": "PT1S"}}
PARAMETERS = {
    "VpcId": {"type": "String", "description": "The VPC."},
    "Many": {"type": "StringList", "default": []},
}


def document(*steps: Step, **elements: object) -> str:
    """Return a runbook as JSON."""
    return json.dumps({"schemaVersion": "0.3", "parameters": PARAMETERS, "mainSteps": list(steps), **elements})


def fault(content: str, document_format: str = "JSON") -> str:
    """Return the error for a runbook."""
    with pytest.raises(FaultyDocumentError) as raised:
        read(content, document_format)
    return str(raised.value)


def step(action: str, **inputs: object) -> Step:
    """Return a step with an action and its inputs."""
    return {"name": "one", "action": action, "inputs": inputs}


def test_reads_a_runbook_in_json_and_yaml() -> None:
    """Both formats give the same runbook. Steps keep their order, and defaults are added."""
    found = read(document(LOOK, NAP, outputs=["look.Token"]), "JSON")
    assert read(document(LOOK, NAP, outputs=["look.Token"]), "YAML") == found
    assert list(found.steps) == ["look", "nap"]
    nap = found.steps["nap"]
    assert (nap.max_attempts, nap.on_failure, nap.is_critical) == (1, "Abort", True)


@pytest.mark.parametrize(
    ("content", "document_format", "where"),
    [
        ('{"schemaVersion": "0.3", "schemaVersion": "0.3"}', "JSON", "twice"),
        ('{"a": 1.5}', "JSON", "1.5"),
        ("x" * (MAXIMUM_BYTES + 1), "JSON", "longer"),
        ("a: 1\na: 2\n", "YAML", "twice"),
        ("a: 2026-02-13\n", "YAML", "datetime.date"),
    ],
)
def test_refuses_text_that_would_lose_something(content: str, document_format: str, where: str) -> None:
    """Duplicate keys, what JSON has not, and texts above 64 KB are errors.

    https://docs.aws.amazon.com/general/latest/gr/ssm.html
    """
    assert where in fault(content, document_format)


@pytest.mark.parametrize(
    ("elements", "where"),
    [
        ({"schemaVersion": "2.2"}, "schemaVersion"),
        ({"files": {}}, "files"),
        ({"outputs": ["look.Nothing"]}, "no output Nothing"),
        ({"assumeRole": "{{ Role }}"}, "{{ Role }}"),
        ({"mainSteps": []}, "no step"),
    ],
)
def test_refuses_elements_that_are_unknown_or_wrong(elements: dict[str, Any], where: str) -> None:
    """A runbook has only the elements of AWS's syntax, each with a valid type."""
    assert where in fault(document(LOOK, **elements))


def loop(*steps: Step, most: object = 5, state: str = "BUSY") -> Step:
    """Return a loop that repeats steps while a function answers with a state."""
    condition = {"Variable": "{{ ask.State }}", "StringEquals": state} if state else {"Variable": "{{ ask.State }}"}
    inner = list(steps or (ASK, REST))
    inputs = {"MaxIterations": most, "LoopCondition": condition, "Steps": inner}
    return {"name": "loop", "action": "aws:loop", "inputs": inputs}


ASK = {
    "name": "ask",
    "action": "aws:invokeLambdaFunction",
    "inputs": {"FunctionName": "f"},
    "outputs": [{"Name": "State", "Selector": "$.Payload.state", "Type": "String"}],
}
REST = {**NAP, "name": "rest"}
BRANCH = {"Choices": [{"Variable": "{{ VpcId }}", "StringEquals": "a", "NextStep": "nap"}]}
FLOWS: dict[str, tuple[list[Step], str]] = {
    "a circle": ([{**REST, "onFailure": "step:look"}, LOOK | {"nextStep": "rest"}], "rest -> look -> rest"),
    "a step that nothing leads to": ([{**REST, "isEnd": True}, LOOK], "no step leads to ['look', 'nap']"),
    "an output of a step on another way": (
        [
            step("aws:branch", **BRANCH, Default="look"),
            {**LOOK, "isEnd": True},
            {**NAP, "inputs": {"Duration": "{{ look.Token }}"}},
        ],
        "the step look does not come before",
    ),
    "an output of a later step": ([{**LOOK, "inputs": {**LOOK["inputs"], "VpcIds": ["{{ nap.Output }}"]}}], "before"),
    "an output of a loop after it": (
        [loop(), {**REST, "name": "x", "inputs": {"Duration": "{{ ask.State }}"}}],
        "neither a parameter",
    ),
    "an output of a later step in a loop": (
        [loop({**REST, "inputs": {"Duration": "{{ ask.State }}"}}, ASK)],
        "mainSteps.rest.inputs",
    ),
    "another onFailure in a loop": ([loop({**ASK, "onFailure": "Continue"}, REST)], "loop.inputs.Steps.ask"),
    "a branch in a loop": ([loop(ASK, step("aws:branch", **BRANCH))], "loop.inputs.Steps.one"),
    "an end in a loop": ([loop(ASK, {**REST, "isEnd": True})], "loop.inputs.Steps.rest"),
    "more than 100 iterations": ([loop(most=101)], "loop.inputs.MaxIterations"),
    "no condition": ([loop(state="")], "loop.inputs.LoopCondition"),
    "a step in a loop of the same name": ([loop(ASK, {**REST, "name": "nap"})], "mainSteps[1]"),
}


@pytest.mark.parametrize(("steps", "where"), FLOWS.values(), ids=FLOWS)
def test_refuses_an_order_that_does_not_work(steps: list[Step], where: str) -> None:
    """Steps follow each other without a circle, each is reached, and it uses only what came before it.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-branch-condition.html; what is not
    documented of loops is refused: https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-loop.html.
    """
    assert where in fault(document(*steps, *([] if steps[-1]["name"] == "nap" else [NAP])))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"timeout": 5}, "timeout"),
        ({"name": "a-b"}, "a-b"),
        ({"action": "aws:runCommand"}, "aws:runCommand"),
        ({"maxAttempts": 0}, "maxAttempts"),
        ({"isEnd": "true"}, "isEnd"),
        ({"onFailure": "step:nowhere"}, "no step nowhere"),
        ({"isCritical": False}, "critical"),
        ({"isEnd": True, "onFailure": "step:nap"}, "leads nowhere"),
        ({"outputs": [{"Name": "a", "Selector": "$.Vpcs", "Type": "List"}]}, "'List'"),
        ({"outputs": [{"Name": "a", "Selector": "Vpcs", "Type": "String"}]}, "JSONPath"),
        ({"outputs": [{"Name": "a", "Selector": "$.Vpc"}]}, "has nothing at"),
        ({"outputs": [{"Name": "a", "Selector": "$.NextToken", "Type": "Integer"}]}, "not a Integer"),
    ],
)
def test_refuses_properties_of_a_step_that_are_unknown_or_wrong(change: dict[str, Any], where: str) -> None:
    """A step has only the properties that all actions share, and the steps and values that it names must exist."""
    assert where in fault(document({**LOOK, **change}, NAP))


def test_refuses_a_step_that_lacks_a_required_property() -> None:
    """name, action and inputs are required."""
    for missing in ("name", "action", "inputs"):
        left = {key: value for key, value in NAP.items() if key != missing}
        assert f"the property {missing} is missing" in fault(document(left))


@pytest.mark.parametrize(
    ("inputs", "where"),
    [
        ({"Service": "ec3"}, "ec3"),
        ({"Api": "describe_vpcs"}, "describe_vpcs"),
        ({"VpcId": "vpc-1"}, "unknown input VpcId"),
        ({"VpcIds": "vpc-1"}, "is not a list"),
        ({"VpcIds": [7]}, "7 is not a string"),
        ({"VpcIds": "{{ VpcId }}"}, "is a String"),
        ({"DryRun": "{{ VpcId }}"}, "a boolean is expected"),
        ({"Api": "CreateVpcEndpoint", "ServiceName": "a"}, "['VpcId'] are missing"),
        ({"VpcIds": ["{{ {{ VpcId }} }}"]}, "braces"),
    ],
)
def test_refuses_api_inputs_that_the_api_does_not_have(inputs: dict[str, Any], where: str) -> None:
    """Service, operation, and inputs of aws:executeAwsApi must match the API's own model, including references.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-executeAwsApi.html
    """
    assert where in fault(
        document(step("aws:executeAwsApi", **{"Service": "ec2", "Api": "DescribeVpcs", **inputs}), NAP)
    )


def test_selectors_are_held_against_the_response() -> None:
    """What the model of the response has can be selected, with the type that it has."""
    for selector, kind in (("$.NextToken", "String"), ("$.Vpcs", "MapList")):
        look = {**LOOK, "outputs": [{"Name": "a", "Selector": selector, "Type": kind}]}
        assert read(document(look), "JSON").steps["look"].outputs[0].type == kind


def script(text: str, **more: object) -> Step:
    """Return a step that runs a script with the handler `handler`."""
    return step("aws:executeScript", Runtime="python3.11", Handler="handler", Script=text) | more


HANDLER = "def handler(events, context):\n    return {}\n"


@pytest.mark.parametrize(
    ("faulty", "where"),
    [
        (step("aws:sleep"), "Duration is missing"),
        (step("aws:sleep", Duration="1S"), "ISO 8601"),
        (step("aws:sleep", Duration="P8D"), "more than 604800"),
        (step("aws:invokeLambdaFunction", FunctionName="f", InputPayload="{}"), "InputPayload"),
        (step("aws:invokeLambdaFunction", FunctionName="f") | {"timeoutSeconds": 301}, "at most 300"),
        ({**ASK, "outputs": [{"Name": "a", "Selector": "$.decision"}]}, "begin with"),
        (step("aws:approve", Approvers=["a"] * 11), "Approvers"),
        (step("aws:approve", Approvers=["a"], MinRequiredApprovals=2), "MinRequiredApprovals"),
        (step("aws:approve", Approvers=["a"], NotificationArn="arn:aws:sns:r:1:Topic"), "Automation"),
        (step("aws:approve", Approvers=["a"], Message="x" * 4097), "4096"),
        (step("aws:branch", Choices=[]), "list of choices"),
        (step("aws:branch", Choices=[{**BRANCH["Choices"][0], "StringEquals": 5}]), "not a String"),
        (step("aws:branch", Choices=[{**BRANCH["Choices"][0], "Contains": "b"}]), "only StringEquals is supported"),
        (step("aws:executeAutomation", DocumentName="a", Parameters={}), "unknown input Parameters"),
        (step("aws:executeAutomation", DocumentName="a", RuntimeParameters={"Id": [1]}), "RuntimeParameters"),
        (script(HANDLER) | {"timeoutSeconds": 601}, "at most 600"),
        (step("aws:executeScript", Runtime="python3.7", Handler="handler", Script=HANDLER), "python3.7"),
        (script(HANDLER.replace("handler", "main")), "no function 'handler'"),
        (script("def handler(events):\n    return {}\n"), "does not take events and context"),
        (script(HANDLER) | {"outputs": [{"Name": "a", "Selector": "$.a", "Type": "String"}]}, "$.Payload"),
    ],
)
def test_refuses_inputs_that_an_action_does_not_take(faulty: Step, where: str) -> None:
    """Each action has its own inputs, as described in the actions reference."""
    assert where in fault(document(faulty, NAP))


def test_api_refuses_a_faulty_runbook_and_says_where(ssm: BaseClient) -> None:
    """CreateDocument raises InvalidDocumentContent; documents of other types are not runbooks."""
    good = {"Name": "Heal", "DocumentFormat": "JSON"}
    bad = document({**LOOK, "timeout": 5})
    assert refused(ssm.create_document, **good, Content=bad, DocumentType="Automation") == "InvalidDocumentContent"
    ssm.create_document(**good, Content=document(LOOK), DocumentType="Automation")
    ssm.update_document(**good, Content=document(LOOK, NAP), DocumentVersion="$LATEST")
    other = json.dumps({"schemaVersion": "2.2", "mainSteps": []})
    ssm.create_document(Name="Other", Content=other, DocumentFormat="JSON", DocumentType="Command")
    described = ssm.describe_document(Name="Heal", DocumentVersion="2")["Document"]
    wanted = ("Automation", "0.3", "2")
    assert (described["DocumentType"], described["SchemaVersion"], described["LatestVersion"]) == wanted


@pytest.mark.parametrize("name", ["AWS-Heal", "amazonHeal", "AWSConfigRemediation-Heal"])
def test_name_must_not_look_like_one_of_amazon(ssm: BaseClient, name: str) -> None:
    """Names of documents must not begin with Amazon's prefixes (botocore model, CreateDocument)."""
    create = {"Content": document(LOOK), "DocumentFormat": "JSON", "DocumentType": "Automation"}
    assert refused(ssm.create_document, Name=name, **create) == "ValidationException"
