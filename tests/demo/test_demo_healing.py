"""The demonstration's runbooks: their steps as lines, and that it fails when a plan or a run is not as expected."""

import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from demo.function import PLAN_FUNCTION, Functions, in_this_process
from demo.healing import BLOCKER, FLAGGED, HEALED, PATCHES, PLANNED, Healing
from demo.output import Narrator
from demo.runbooks import HEAL, Runbooks
from demo.situations import owned_by_a_stack, remove_default_vpc, without_endpoint
from demo.stage import Stage
from demo.steps import StepLine, refusal, step_lines, step_outputs
from express_path.domain.heal.patches import associate_patches
from express_path.domain.heal.records import Action, Blocker
from express_path.domain.path.reasons import Compliance, Reason
from express_path.errors import BlockedError
from sandbox.server import Sandbox
from sandbox.ssm import Automation
from tests.support.make import endpoint

pytestmark = pytest.mark.slow

START = datetime(2026, 1, 1, tzinfo=UTC)
Event = dict[str, Any]
Plan = Callable[[Event], Any]


@pytest.fixture
def functions(sandbox: Sandbox) -> Iterator[Functions]:
    """Both functions in this process."""
    with in_this_process(sandbox) as found:
        yield found


@pytest.fixture
def heal(sandbox: Sandbox, functions: Functions) -> Callable[[Plan | None], tuple[bool, str]]:
    """Runs the second half with a plan function, by default the real one; gives whether it was fine, and its output."""

    def run(plan: Plan | None = None) -> tuple[bool, str]:
        remove_default_vpc(sandbox)
        file = io.StringIO()
        with Automation(sandbox) as automation:
            automation.knobs.time_scale = 0.001
            stage = Stage(Narrator(Console(file=file, width=80)), sandbox, functions.evaluate)
            runbooks = Runbooks(sandbox, automation, plan or functions.plan)
            Healing(stage, runbooks, without_endpoint(sandbox), owned_by_a_stack(sandbox)).run()
        return stage.fine, file.getvalue()

    return run


def step(name: str, action: str, second: int, **more: object) -> dict[str, Any]:
    """Return a StepExecution that succeeded, unless `more` says otherwise."""
    started = START + timedelta(seconds=second)
    common = {"StepName": name, "Action": action, "ExecutionStartTime": started, "StepStatus": "Success"}
    return {**common, "Inputs": {}, "Outputs": {}, **more}


def call(api: str, **inputs: str) -> dict[str, Any]:
    """Return the inputs of a step that calls EC2, as the service shows them."""
    return {"Inputs": {"Service": '"ec2"', "Api": f'"{api}"', **inputs}}


def written(name: str) -> dict[str, str]:
    """Return the inputs of a step that writes a record of the ledger, with its id in the member of that name."""
    return {"Service": '"dynamodb"', "Api": '"UpdateItem"', name: '{"id":{"S":"TABLE#rtb-1"}}'}


def test_plan_that_is_wrong_fails(heal: Callable[..., tuple[bool, str]], functions: Functions) -> None:
    """If a plan function never finds anything to do, the plan, the verdict and the blocked heal are wrong."""

    def idle(event: Event) -> Any:
        return {**functions.plan({**event, "dryRun": "true"}), "action": "NOTHING_TO_DO"} if "subnetId" in event else {}

    fine, output = heal(idle)
    assert not fine
    assert "the plan must be CREATE_AND_ASSOCIATE" in output
    assert "data-private must be COMPLIANT ENDPOINT" in output
    assert "AddS3ExpressGatewayEndpoint must end with Failed, not Success" in output
    assert "there must be a patch for Terraform" in output


def test_function_that_fails_fails(heal: Callable[..., tuple[bool, str]]) -> None:
    """If the plan function fails, its error is shown once for each run, without its stack trace."""

    def fail(_event: Event) -> None:
        raise ValueError("out of order")

    fine, output = heal(fail)
    assert not fine
    assert "must end with Success, not Failed ValueError out of order" in " ".join(output.split())
    assert "stackTrace" not in output


def test_function_that_changes_something_fails(
    heal: Callable[..., tuple[bool, str]], sandbox: Sandbox, functions: Functions
) -> None:
    """If a plan function writes, the demonstration fails: neither a dry run nor a blocked heal may change anything."""

    def meddle(event: Event) -> Any:
        sandbox.client("ec2").create_tags(Resources=[event.get("subnetId", "vpc-1")], Tags=[{"Key": "a", "Value": "b"}])
        return functions.plan(event)

    fine, output = heal(meddle)
    assert not fine
    assert "a dry run must not change anything" in output
    assert "a blocked heal must not change anything" in output


def test_expects_real_words() -> None:
    """Verdicts, plan, blocker and patches are spelled like the function's."""
    for compliance, reason in [*FLAGGED.values(), *HEALED.values()]:
        assert Compliance(compliance)
        assert Reason(reason)
    assert Action(PLANNED)
    assert Blocker(BLOCKER)
    assert set(associate_patches(endpoint(), "rtb-1")) >= PATCHES.keys()


def test_lines_say_what_is_called_and_what_comes_of_it() -> None:
    """Each action has its own words, and a call that changes something is marked."""
    steps = [
        step("decide", "aws:branch", 1),
        step("create", "aws:executeAwsApi", 2, **call("CreateVpcEndpoint"), Outputs={"VpcEndpointId": ["vpce-1"]}),
        step("add", "aws:executeAwsApi", 4, **call("ModifyVpcEndpoint", AddRouteTableIds='["rtb-1"]')),
        step(
            "tag",
            "aws:executeAwsApi",
            5,
            **call("CreateTags", Tags='[{"Key":"a","Value":"1"},{"Key":"b","Value":"2"}]'),
        ),
        step("look", "aws:executeAwsApi", 6, **call("DescribeVpcs")),
        step("record", "aws:executeAwsApi", 7, Inputs=written("Key")),
        step("intend", "aws:executeAwsApi", 8, Inputs=written("Item")),
        step("read", "aws:executeScript", 9),
        step("rest", "aws:sleep", 10),
    ]
    assert step_lines(steps, is_over=True) == [
        StepLine("decide", "-> create", changes=False),
        StepLine("create", "ec2 CreateVpcEndpoint -> vpce-1", changes=True),
        StepLine("add", "ec2 ModifyVpcEndpoint, adds rtb-1", changes=True),
        StepLine("tag", "ec2 CreateTags a, b", changes=True),
        StepLine("look", "ec2 DescribeVpcs", changes=False),
        StepLine("record", "ledger: TABLE#rtb-1", changes=False),
        StepLine("intend", "ledger: TABLE#rtb-1", changes=False),
        StepLine("rest", "aws:sleep", changes=False),
    ]


def test_line_of_the_function_has_its_answer() -> None:
    """A plan's action, or a verdict, stands beside the function's name."""
    answers = ({"action": "ASSOCIATE", "subnetId": "subnet-1"}, {"compliance": "COMPLIANT", "reason": "ENDPOINT"})
    inputs = {"FunctionName": f'"{PLAN_FUNCTION}"'}
    steps = [
        step("ask", "aws:invokeLambdaFunction", number, Inputs=inputs, Outputs={"Payload": [json.dumps(answer)]})
        for number, answer in enumerate(answers)
    ]
    texts = [line.text for line in step_lines(steps, is_over=True)]
    assert texts == ["lambda express-path-plan -> ASSOCIATE", "lambda express-path-plan -> COMPLIANT, ENDPOINT"]


def test_lines_come_in_the_order_of_the_run() -> None:
    """Steps that began earlier come first, whatever their place in the document; pending ones have no line."""
    pending = {"StepName": "never", "Action": "aws:sleep", "StepStatus": "Pending"}
    steps = [pending, step("later", "aws:sleep", 2), step("earlier", "aws:sleep", 1)]
    assert [line.name for line in step_lines(steps, is_over=True)] == ["earlier", "later"]


def test_lines_wait_for_the_next_step() -> None:
    """During a run, the last step and a running step have no line yet: the target of a branch is not known."""
    branch, running = step("decide", "aws:branch", 1), step("rest", "aws:sleep", 2, StepStatus="InProgress")
    assert step_lines([branch], is_over=False) == []
    assert step_lines([branch, running], is_over=False) == [StepLine("decide", "-> rest", changes=False)]


def test_failed_step_says_so() -> None:
    """A step that failed has its status for a line, even if it failed before its inputs were known."""
    failed = [step("plan", "aws:invokeLambdaFunction", 1), step("tag", "aws:executeAwsApi", 2)]
    lines = step_lines([{**line, "StepStatus": "Failed"} for line in failed], is_over=True)
    assert lines == [StepLine("plan", "Failed", changes=False), StepLine("tag", "Failed", changes=False)]


def test_outputs_of_a_step() -> None:
    """Outputs are found by the step's name; a missing or failed step has none."""
    steps = [step("plan", "aws:sleep", 1, Outputs={"Action": ["ASSOCIATE"]}), step("bare", "aws:sleep", 2, Outputs={})]
    assert step_outputs(steps, "plan") == {"Action": "ASSOCIATE"}
    assert step_outputs(steps, "bare") == step_outputs(steps, "none") == {}


def test_refusal_is_read_out_of_the_failure_message() -> None:
    """The parts of a blocked plan's error are found in what Automation makes of it."""
    error = BlockedError(
        "BLOCKED for subnet-1: why | A: one; cure | B: two; cure", {"terraform": "a {\n}\n", "cli": "b\n"}
    )
    payload = json.dumps({"errorMessage": str(error), "errorType": "BlockedError", "stackTrace": ["x"]})
    found = refusal(f"Step fails. Function Error: Unhandled. Payload: {payload}. Please refer to the guide.")
    assert (found.error_type, found.plan) == ("BlockedError", "BLOCKED for subnet-1: why")
    assert found.blockers == ["A: one; cure", "B: two; cure"]
    assert {tool: patch.strip() for tool, patch in found.patches.items()} == {"terraform": "a {\n}", "cli": "b"}


def test_failure_without_an_error_of_the_function() -> None:
    """A message that quotes no error is shown as it is."""
    found = refusal("Step timed out.")
    assert (found.plan, found.blockers, found.patches) == ("Step timed out.", (), {})


def test_run_that_takes_too_long(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, functions: Functions) -> None:
    """A runbook that does not end is given up, by its name."""
    monkeypatch.setattr("demo.runbooks.LONGEST_SECONDS", 0.0)
    with Automation(sandbox) as automation, pytest.raises(TimeoutError, match=HEAL):
        Runbooks(sandbox, automation, functions.plan).follow(HEAL, print, SubnetId="subnet-00000000")
