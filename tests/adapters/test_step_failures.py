"""What steps say that failed: the error of the plan function as data, AWS's errors, and how to fix them."""

import json

import pytest

from express_path.adapters.step_failures import RaisedError, failure_answer, failure_of
from express_path.domain.heal.failures import StepFailure
from express_path.domain.heal.records import Blocker, Concern
from express_path.errors import ApiError, BlockedError, ClaimHeldError, ExpressPathError


def explain(*steps: tuple[str, str]) -> str:
    """Return the message of a run with these failed steps, each with its name and failure message."""
    return str(failure_answer("run-1", [failure_of(*step) for step in steps])["message"])


def framed(reason: str) -> str:
    """Return a step's failure message as Automation words it."""
    return (
        f"Step fails when it is Execute/Cancelling action. {reason}. "
        "Please refer to Automation Service Troubleshooting Guide for more diagnosis details."
    )


def api_error(code: str, operation: str, message: str = "Sorry") -> str:
    """Return the failure message of a step whose call of an AWS API failed."""
    return framed(f"An error occurred ({code}) when calling the {operation} operation: {message}")


RAISED = framed(
    'Function Error: Unhandled. Payload: {"errorMessage": "subnet-1 is {not} healed", "errorType": "NotCured"}'
)


@pytest.mark.parametrize(
    ("code", "operation", "fix"),
    [
        ("VpcEndpointLimitExceeded", "CreateVpcEndpoint", "quota L-1B52E74A"),
        ("RouteLimitExceeded", "ModifyVpcEndpoint", "quota L-93826ACB"),
        ("RequestLimitExceeded", "ModifyVpcEndpoint", "start the run again later"),
        ("ThrottlingException", "UpdateItem", "start the run again later"),
        ("UnauthorizedOperation", "ModifyVpcEndpoint", "AutomationRoleArn"),
        ("RouteAlreadyExists", "ModifyVpcEndpoint", "another route"),
    ],
)
def test_message_names_the_step_the_error_and_the_fix(code: str, operation: str, fix: str) -> None:
    """Automation's own words around the error are left out."""
    message = explain(("change", api_error(code, operation)))
    assert message.startswith(
        f"step change failed: An error occurred ({code}) when calling the {operation} operation: "
    )
    assert fix in message
    assert "Troubleshooting Guide" not in message


def test_errors_of_the_plan_function_are_unwrapped_and_earlier_failures_follow() -> None:
    """The last failed step comes first; fixes are listed once."""
    denied = api_error("UnauthorizedOperation", "ModifyVpcEndpoint")
    message = explain(("one", denied), ("two", denied), ("verifyPath", RAISED))
    assert message.startswith(
        "step verifyPath failed: NotCured: subnet-1 is {not} healed; before that, step two failed: "
    )
    assert (message.count("step one failed"), message.count("| fix:")) == (1, 1)


def raised(error: ExpressPathError) -> str:
    """Return the failure message of a step whose function raised an error."""
    answer = {"errorMessage": str(RaisedError(error)), "errorType": "RaisedError", "stackTrace": ["line 1"]}
    return framed(f"Function Error: Unhandled. Payload: {json.dumps(answer)}")


def test_errors_that_the_plan_function_reports_have_a_fix_too() -> None:
    """They name the operation and AWS's code."""
    failed = "ec2:DescribeVpcs failed with AccessDenied: no"
    message = explain(("makePlan", raised(ApiError("ec2:DescribeVpcs", "AccessDenied", "no"))))
    assert message.startswith(f"step makePlan failed: {failed} | fix: allow")
    held = explain(("confirmPlan", raised(ClaimHeldError("rtb-1", "run-2"))))
    assert held.endswith("timed out: run run-2 is still changing rtb-1 | fix: start again when it has ended")


ODD = framed('a | b stays: c\n--- cli {"errorMessage": 1} run 11111111-2222-3333-4444-555555555555')
"""A text that looks like what surrounds it: Automation's words, a separator, a line, an error, and the ID of a run."""


def test_a_blocked_heal_is_one_failure_whatever_its_evidence_says() -> None:
    """The blocker, the resource, and the patch arrive as they were sent."""
    concern = Concern(Blocker.POLICY_WOULD_DENY, ODD, ODD, ODD)
    fields = {"code": "POLICY_WOULD_DENY", "resource": ODD, "evidence": ODD, "fix": ODD}
    plan = {
        "subnetId": "subnet-1",
        "verdict": {"annotation": ODD},
        "blockers": [fields],
        "warnings": [fields, fields],
        "patches": {"cli": ODD},
    }
    failure = failure_of("makePlan", raised(BlockedError(plan, ODD)))
    assert failure == StepFailure(
        "makePlan", "BLOCKED", "subnet-1", ODD, "", (concern,), (concern, concern), {"cli": ODD}
    )
    answer = failure_answer("run-1", [failure])
    assert [found["blockers"][0]["evidence"] for found in answer["failures"]] == [ODD]
    assert answer["message"].endswith(f"--- cli\n{ODD}")


@pytest.mark.parametrize(
    "message",
    ["[]", '{"code": 1}', '{"blockers": 1}', '{"blockers": [{"code": "NEW"}]}', '{"patches": {"cli": 1}}', "text"],
)
def test_an_error_of_another_form_is_the_evidence_as_it_is(message: str) -> None:
    """A function of another version may raise it, or Python."""
    text = json.dumps({"errorMessage": message, "errorType": "KeyError"})
    assert failure_of("makePlan", text) == StepFailure("makePlan", "KeyError", "", f"KeyError: {message}")
    assert failure_of("makePlan", json.dumps({"errorMessage": message})).evidence == message


LOST = api_error("ConditionalCheckFailedException", "UpdateItem")


def test_expected_lost_races_are_left_out_unless_nothing_else_failed() -> None:
    """A run that no longer has a request does not release it, so that failure explains nothing."""
    lost = ("release", LOST)
    assert "release" not in explain(lost, ("verifyPath", RAISED))
    assert explain(lost).startswith("step release failed: An error occurred (ConditionalCheckFailed")


@pytest.mark.parametrize("step", ["recordIntent", "verify", "elect", "recordDeleted"])
@pytest.mark.parametrize("release", ["recordFailed", "markFailed"])
def test_run_that_loses_its_claim_names_the_step_that_needed_it(step: str, release: str) -> None:
    """The step that releases the claim fails too, because another run has it."""
    message = explain((step, LOST), (release, LOST))
    assert message.startswith(f"step {step} failed: An error occurred (ConditionalCheckFailed")
    assert release not in message


@pytest.mark.parametrize("text", ["something {unexpected}", "{}", '["errorMessage"]', '{"errorMessage": 1}', "{", ""])
def test_other_messages_stay_as_they_are(text: str) -> None:
    """AWS does not document the wording."""
    assert explain(("one", text)) == f"step one failed: {text}"


def test_run_without_failed_steps() -> None:
    """The message names the run."""
    assert explain().startswith("run run-1 failed: ")


def test_error_of_a_script_is_the_last_line_of_its_traceback() -> None:
    """Where in the script the error came from helps nobody."""
    lost = (
        "ConditionalCheckFailedException - An error occurred (ConditionalCheckFailedException) when calling UpdateItem"
    )
    text = f"Traceback (most recent call last):\n  File script.py, line 12, in record\n{lost}"
    assert explain(("elect", framed(text))) == f"step elect failed: {lost}"


def test_request_that_nobody_answered_is_no_rejection() -> None:
    """The message says that the next run asks again."""
    message = explain(("approve", "Step timed out."))
    assert message == (
        "step approve failed: Step timed out. | fix: Systems Manager shows no rejection, and nothing was changed: the next run sends "
        "a new request"
    )
