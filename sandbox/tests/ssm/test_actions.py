"""The behavior of each action but aws:approve.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html
"""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from botocore.client import BaseClient

from config_rule_sandbox.answers import RaisedError
from config_rule_sandbox.aws_lambda.runtime import FunctionError
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from config_rule_sandbox.ssm.selectors import NO_OUTPUT

Make = Callable[..., Any]
Run = Callable[..., dict[str, Any]]
Statuses = Callable[[dict[str, Any]], dict[str, str]]
Step = dict[str, Any]


def nap(name: str, **properties: object) -> Step:
    """Return a step that does nothing."""
    return {"name": name, "action": "aws:sleep", "inputs": {"Duration": "PT1S"}, **properties}


def invoke(**inputs: object) -> Step:
    """Return a step that invokes the function `f`."""
    return {"name": "ask", "action": "aws:invokeLambdaFunction", "inputs": {"FunctionName": "f", **inputs}}


def api(name: str, *outputs: tuple[str, str, str], **inputs: object) -> Step:
    """Return a step that calls an API, with outputs as name, selector, and type."""
    defined = [{"Name": name, "Selector": selector, "Type": kind} for name, selector, kind in outputs]
    return {"name": name, "action": "aws:executeAwsApi", "inputs": inputs, "outputs": defined}


# --- aws:executeAwsApi -----------------------------------------------------------------------------------------------


def test_throttled_call_fails_the_step(run: Run, sandbox: Sandbox) -> None:
    """The account's setting decides how long throttled calls are retried. It is not set here, so they fail at once.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-throttling-retry.html
    """
    sandbox.faults.throttle("ec2", "DescribeVpcs", times=3)
    assert "RequestLimitExceeded" in run(api("look", Service="ec2", Api="DescribeVpcs"))["FailureMessage"]


# --- aws:invokeLambdaFunction ----------------------------------------------------------------------------------------


def test_function_gets_its_event_and_gives_its_answer(run: Run, automation: Automation) -> None:
    """InputPayload is the event, with typed values. The response is Payload, and outputs can select from it.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-lamb.html
    """
    automation.functions.register("f", lambda event: {"ids": event["ids"], "count": len(event["ids"]), "deep": event})
    outputs = [
        {"Name": "Ids", "Selector": "$.Payload.ids", "Type": "StringList"},
        {"Name": "Count", "Selector": "$.Payload.count", "Type": "Integer"},
        {"Name": "Deep", "Selector": "$.Payload.deep", "Type": "StringMap"},
        {"Name": "Missing", "Selector": "$.Payload.missing", "Type": "String"},
    ]
    step = {**invoke(InputPayload={"ids": "{{ Ids }}", "n": 5, "on": True}), "outputs": outputs}
    execution = run(step, parameters={"Ids": {"type": "StringList"}}, given={"Ids": ["a", "b"]})
    found = execution["StepExecutions"][0]["Outputs"]
    assert (found["Ids"], found["Count"], found["StatusCode"]) == (["a", "b"], ["2"], ["200"])
    assert json.loads(found["Deep"][0]) == {"ids": ["a", "b"], "n": 5, "on": True}
    assert json.loads(found["Payload"][0])["count"] == 2
    assert found["Missing"] == [NO_OUTPUT]
    assert "FunctionError" not in found


@pytest.mark.parametrize(
    "name",
    [
        "f",
        "arn:aws:lambda:us-east-1:123456789012:function:f:live",
    ],
)
def test_function_is_found_by_name_and_by_arn(run: Run, automation: Automation, name: str) -> None:
    """A name and an ARN, also with a qualifier, refer to the same function, whose event is empty without a payload.

    https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
    """
    automation.functions.register("f", lambda event: event)
    execution = run(invoke(FunctionName=name))
    assert execution["StepExecutions"][0]["Outputs"]["Payload"] == ["{}"]


def test_functions_that_are_not_registered_may_be_run_by_arn(run: Run, automation: Automation) -> None:
    """With `run_others`, Invoke passes on the ARN of the function, in the account of the caller."""
    automation.functions.run_others = lambda arn, event: {"arn": arn, "event": event}
    execution = run(invoke(FunctionName="other"))
    answer = json.loads(execution["StepExecutions"][0]["Outputs"]["Payload"][0])
    assert answer == {"arn": "arn:aws:lambda:us-east-1:123456789012:function:other", "event": {}}


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (
            FunctionError("BlockedError", "nothing may be changed", ["line 1"]),
            ("BlockedError", "nothing may be changed"),
        ),
    ],
)
def test_failed_function_fails_the_step_and_says_why(
    run: Run, automation: Automation, error: Exception, named: tuple[str, str]
) -> None:
    """The failure message has the error's type and message, also as the Lambda runtime reported them."""

    def refuse(_event: object) -> None:
        raise error

    automation.functions.register("f", refuse)
    message = run(invoke())["FailureMessage"]
    assert "Function Error: Unhandled" in message
    assert f'"errorType": "{named[0]}"' in message
    assert f'"errorMessage": "{named[1]}"' in message


def test_what_a_function_raises_may_be_an_output(run: Run, automation: Automation, sandbox: Sandbox) -> None:
    """By the answer `is output`, the step succeeds, and only its outputs show the error."""
    sandbox.answers.raised_error = RaisedError.IS_OUTPUT

    def refuse(_event: object) -> None:
        raise FunctionError("BlockedError", "nothing may be changed", ["line 1"])

    automation.functions.register("f", refuse)
    execution = run(invoke())
    assert execution["AutomationExecutionStatus"] == "Success"
    outputs = execution["StepExecutions"][0]["Outputs"]
    assert outputs["FunctionError"] == ["Unhandled"]
    assert json.loads(outputs["Payload"][0])["errorMessage"] == "nothing may be changed"


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ({"FunctionName": "g"}, "ResourceNotFoundException"),
        ({"InputPayload": {"size": "big"}}, "longer than 204800 bytes"),
    ],
)
def test_invocation_that_is_not_possible_fails_the_step(
    run: Run, automation: Automation, inputs: dict[str, Any], reason: str
) -> None:
    """The function must exist, and its response has at most 200 KB.

    https://docs.aws.amazon.com/general/latest/gr/ssm.html
    """
    automation.functions.register("f", lambda event: "x" * 300_000 if event.get("size") else None)
    assert reason in run(invoke(**inputs))["FailureMessage"]


# --- aws:executeScript -----------------------------------------------------------------------------------------------

COUNT = """
import json

seen = []

def handler(events, context):
    seen.append(1)
    plan = json.loads(events["plan"])
    return {"count": len(plan["ids"]), "first": plan["ids"][0], "calls": len(seen), "deep": {"ids": plan["ids"]}}
"""
CALL = """
import boto3

def handler(events, context):
    iam = boto3.client("iam")
    try:
        iam.get_role(RoleName="other")
    except iam.exceptions.NoSuchEntityException as error:
        return {"code": error.response["Error"]["Code"]}
"""


def script(text: str, name: str = "work", payload: object = None, **more: object) -> Step:
    """Return a step that runs a script with the handler `handler`."""
    inputs = {"Runtime": "python3.11", "Handler": "handler", "Script": text}
    inputs |= {"InputPayload": payload} if payload else {}  # type: ignore[dict-item]
    return {"name": name, "action": "aws:executeScript", "inputs": inputs, **more}


def output(name: str, kind: str = "String") -> dict[str, str]:
    """Return an output of the same name in the payload."""
    return {"Name": name, "Selector": f"$.Payload.{name}", "Type": kind}


def returning(expression: str) -> str:
    """Return a script whose handler returns the value of an expression."""
    return f"def handler(events, context):\n    return {expression}\n"


def test_script_reads_the_output_of_a_function(run: Run, automation: Automation) -> None:
    """The documented output Payload is text here. A script's outputs are fields of its return value.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-executeScript.html
    """
    automation.knobs.lambda_selectors = False
    automation.functions.register("f", lambda _: {"ids": ["a", "b"]})
    wanted = [output("count", "Integer"), output("first"), output("calls", "Integer"), output("deep", "StringMap")]
    steps = [script(COUNT, name, {"plan": "{{ ask.Payload }}"}, outputs=wanted) for name in ("work", "again")]
    found = run(invoke(), *steps)
    assert found["AutomationExecutionStatus"] == "Success", found["FailureMessage"]
    for step in found["StepExecutions"][1:]:
        assert step["Outputs"] == {"count": ["2"], "first": ["a"], "calls": ["1"], "deep": ['{"ids":["a","b"]}']}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (returning("events['plan']"), "line 2, in handler\nKeyError - 'plan'"),
        (returning("{1, 2}"), "TypeError - Object of type set is not JSON serializable"),
        (returning("'x' * 102400"), "longer than 102400 bytes or 100 items"),
        (returning("__import__('time').sleep(1)"), "timed out after 1 seconds"),
    ],
)
def test_script_that_fails_fails_its_step(run: Run, automation: Automation, text: str, reason: str) -> None:
    """The message has a script's exception. A return value that is not JSON or is too long, and a time-out, fail too."""
    seconds, automation.knobs.limit_scale = (1, 0.2) if "timed out" in reason else (60, 1)
    assert reason in run(script(text, timeoutSeconds=seconds))["FailureMessage"]


def test_script_calls_aws(run: Run) -> None:
    """A script has boto3, whose clients have the permissions of the runbook's role."""
    found = run(script(CALL, outputs=[output("code")]))
    assert found["StepExecutions"][0]["Outputs"]["code"] == ["NoSuchEntity"]


# --- aws:sleep -------------------------------------------------------------------------------------------------------


def test_sleep_takes_its_time(run: Run, automation: Automation) -> None:
    """aws:sleep waits for a duration in the sandbox's time; one from a parameter is checked when the step runs.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-sleep.html
    """
    automation.knobs.time_scale = 0.005
    execution = run(nap("nap", inputs={"Duration": "PT1M"}))
    assert execution["ExecutionEndTime"] - execution["ExecutionStartTime"] >= timedelta(seconds=0.3)
    by_parameter = nap("nap", inputs={"Duration": "{{ Time }}"})
    execution = run(by_parameter, parameters={"Time": {"type": "String"}}, given={"Time": "P8D"}, name="Long")
    assert "more than 604800 seconds" in execution["FailureMessage"]


# --- aws:branch ------------------------------------------------------------------------------------------------------


def choose(*choices: tuple[str, str], default: str | None = None, **properties: object) -> Step:
    """Return a branch on the parameter Text, with choices as value and next step."""
    listed = [{"Variable": "{{ Text }}", "StringEquals": value, "NextStep": name} for value, name in choices]
    inputs = {"Choices": listed} | ({"Default": default} if default else {})
    return {"name": "choose", "action": "aws:branch", "inputs": inputs, **properties}


@pytest.mark.parametrize(
    ("branch", "chosen"),
    [
        (choose(("Linux", "a"), ("Windows", "b"), ("Windows", "c")), "b"),
        (choose(("windows", "b"), default="c"), "c"),
        (choose(("{{ Other }}", "b"), default="c"), "c"),
        (choose(("Linux", "b")), "a"),
        (choose(("Linux", "b"), isEnd=True), ""),
    ],
)
def test_branch_goes_to_the_first_choice_that_is_true(run: Run, outcome: Statuses, branch: Step, chosen: str) -> None:
    """StringEquals is case-sensitive. Without a true choice, Default or the next step runs, or isEnd ends the run.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-branch-condition.html
    """
    parameters = {
        "Text": {"type": "String", "default": "Windows"},
        "Other": {"type": "String", "default": "windows"},
    }
    reaches_all = choose(("-", "a"), ("--", "b"), ("---", "c"), default="choose") | {"name": "first"}
    ends = (nap(name, isEnd=True) for name in "abc")
    execution = run(reaches_all, branch, *ends, parameters=parameters)
    statuses = outcome(execution)
    assert "".join(name for name in "abc" if statuses[name] == "Success") == chosen
    assert execution["AutomationExecutionStatus"] == "Success"


def test_output_that_was_not_found_equals_nothing(run: Run, outcome: Statuses) -> None:
    """If a property does not exist, as in AWS's own examples, the comparison is false.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-branch-condition.html (Platform of an
    instance), https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html (noSnapshotFound)
    """
    look = api("look", ("Token", "$.NextToken", "String"), Service="ec2", Api="DescribeVpcs")
    condition = {"Variable": "{{ look.Token }}", "StringEquals": "", "NextStep": "chosen"}
    branch = {"name": "choose", "action": "aws:branch", "inputs": {"Choices": [condition]}, "isEnd": True}
    execution = run(look, branch, nap("chosen"))
    assert outcome(execution)["chosen"] == "Pending"


# --- aws:loop --------------------------------------------------------------------------------------------------------

LOOK = {**invoke(), "name": "look", "outputs": [output("state")]}


def loop(*steps: Step, **properties: object) -> Step:
    """Return a loop that repeats steps up to five times while the function f answers BUSY."""
    again = {"Variable": "{{ look.state }}", "StringEquals": "BUSY"}
    inputs = {"MaxIterations": 5, "LoopCondition": again, "Steps": list(steps)}
    return {"name": "loop", "action": "aws:loop", "inputs": inputs, **properties}


@pytest.mark.parametrize(("busy", "looks"), [(0, 1), (4, 5), (99, 5)])
def test_repeats_while_the_condition_holds(
    run: Run, outcome: Statuses, automation: Automation, busy: int, looks: int
) -> None:
    """The condition counts after the steps. The loop succeeds also if it holds after the last iteration.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-loop.html
    """
    answers = iter([{"state": "BUSY"}] * busy + [{"state": "FREE"}])
    automation.functions.register("f", lambda _: next(answers))
    found = run(loop(LOOK, nap("rest")), nap("after"))
    assert set(outcome(found).values()) == {"Success"}
    parents = {step["StepName"]: step.get("ParentStepDetails") for step in found["StepExecutions"]}
    assert (parents["loop"], parents["rest"]["StepName"], parents["rest"]["Iteration"]) == (None, "loop", looks)


def test_failure_of_a_step_fails_the_loop(run: Run, outcome: Statuses, automation: Automation) -> None:
    """The run goes on where the loop's onFailure says."""
    automation.functions.register("f", lambda _: 1 / 0)
    failing = {"onFailure": "step:end", "isCritical": False}
    inner = loop({**LOOK, **failing}, nap("rest", **failing), **failing)
    statuses = outcome(run(inner, nap("after", isEnd=True), nap("end")))
    assert (statuses["look"], statuses["loop"], statuses["after"]) == ("Failed", "Failed", "Pending")
    assert statuses["end"] == "Success"


# --- aws:executeAutomation -------------------------------------------------------------------------------------------


ATTRIBUTE = {"Service": "ec2", "Api": "DescribeVpcAttribute", "Attribute": "enableDnsSupport"}


@pytest.fixture
def secondary(store: Make, runbook: Make) -> str:
    """The runbook that the others start: it tags a VPC and returns the id that AWS has for it."""
    tag = [{"Key": "by", "Value": "{{ By }}"}]
    steps = (
        api("tag", Service="ec2", Api="CreateTags", Resources=["{{ Id }}"], Tags=tag),
        api("look", ("Id", "$.VpcId", "String"), **ATTRIBUTE, VpcId="{{ Id }}"),
    )
    parameters = {"Id": {"type": "String"}, "By": {"type": "String", "default": "default"}}
    return str(store(runbook(*steps, parameters=parameters, outputs=["look.Id"]), "Secondary"))


def primary(document: str = "Secondary", **given: object) -> Step:
    """Return a step that starts the other runbook."""
    inputs = {"DocumentName": document} | ({"RuntimeParameters": given} if given else {})
    return {"name": "run", "action": "aws:executeAutomation", "inputs": inputs}


@pytest.mark.usefixtures("secondary")
@pytest.mark.parametrize("listed", [True, False])
def test_secondary_runbook_gets_its_parameters_and_gives_its_outputs(
    run: Run, sandbox: Sandbox, ssm: BaseClient, listed: bool
) -> None:
    """Values are lists, or strings that mean lists of one; id, status, and outputs of the run are the step's outputs.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-executeAutomation.html
    """
    vpc = str(sandbox.client("ec2").create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"])
    given = {"Id": "{{ Vpc }}", "By": "{{ automation:EXECUTION_ID }}"}
    step = primary(**({key: [value] for key, value in given.items()} if listed else given))
    outputs = ["run.ExecutionId", "run.Status", "run.Output"]
    ended = run(step, parameters={"Vpc": {"type": "String"}}, given={"Vpc": vpc}, outputs=outputs)
    [described] = sandbox.client("ec2").describe_vpcs(VpcIds=[vpc])["Vpcs"]
    assert described["Tags"] == [{"Key": "by", "Value": ended["AutomationExecutionId"]}]
    [execution_id] = ended["Outputs"]["run.ExecutionId"]
    found = ssm.get_automation_execution(AutomationExecutionId=execution_id)["AutomationExecution"]
    assert (found["DocumentName"], found["AutomationExecutionStatus"]) == ("Secondary", "Success")
    assert (ended["Outputs"]["run.Status"], ended["Outputs"]["run.Output"]) == (["Success"], [vpc])


@pytest.mark.usefixtures("secondary")
@pytest.mark.parametrize(
    ("step", "code"),
    [
        (primary("Absent"), "AutomationDefinitionNotFoundException"),
        (primary(), "InvalidAutomationExecutionParametersException"),
        (primary(Id=["vpc-1"], By=[""]), "valid min length: 1"),
        (primary(Id=["vpc-00000000"]), "NotFound"),
    ],
    ids=["no such runbook", "parameter missing", "empty value", "failed step"],
)
def test_failure_of_the_secondary_runbook_is_one_of_the_step(run: Run, step: Step, code: str) -> None:
    """If the other runbook cannot be started, or fails, the message of the step has the cause."""
    ended = run(step)
    assert ended["AutomationExecutionStatus"] == "Failed"
    assert code in ended["FailureMessage"]
