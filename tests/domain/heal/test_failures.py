"""The message of a run that failed: its failed steps, AWS's errors, and how to fix them."""

import pytest

from express_path.domain.heal.failures import FailedStep, explain_failure


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
    message = explain_failure("run-1", [FailedStep("change", api_error(code, operation))])
    assert message.startswith(
        f"step change failed: An error occurred ({code}) when calling the {operation} operation: "
    )
    assert fix in message
    assert "Troubleshooting Guide" not in message


def test_errors_of_the_plan_function_are_unwrapped_and_earlier_failures_follow() -> None:
    """The last failed step comes first; fixes are listed once."""
    denied = api_error("UnauthorizedOperation", "ModifyVpcEndpoint")
    steps = [FailedStep("one", denied), FailedStep("two", denied), FailedStep("verifyPath", RAISED)]
    message = explain_failure("run-1", steps)
    assert message.startswith(
        "step verifyPath failed: NotCured: subnet-1 is {not} healed; before that, step two failed: "
    )
    assert (message.count("step one failed"), message.count("| fix:")) == (1, 1)


def test_errors_that_the_plan_function_reports_have_a_fix_too() -> None:
    """They name the operation and AWS's code."""
    raised = framed('{"errorMessage": "ec2:DescribeVpcs failed with AccessDenied: no", "errorType": "ApiError"}')
    message = explain_failure("run-1", [FailedStep("makePlan", raised)])
    assert message.startswith(
        "step makePlan failed: ApiError: ec2:DescribeVpcs failed with AccessDenied: no | fix: allow"
    )


LOST = api_error("ConditionalCheckFailedException", "UpdateItem")


def test_expected_lost_races_are_left_out_unless_nothing_else_failed() -> None:
    """A run that no longer has a request does not release it, so that failure explains nothing."""
    lost = FailedStep("release", LOST)
    assert "release" not in explain_failure("run-1", [lost, FailedStep("verifyPath", RAISED)])
    assert explain_failure("run-1", [lost]).startswith("step release failed: An error occurred (ConditionalCheckFailed")


@pytest.mark.parametrize("step", ["recordIntent", "verify", "elect", "recordDeleted"])
@pytest.mark.parametrize("release", ["recordFailed", "markFailed"])
def test_run_that_loses_its_claim_names_the_step_that_needed_it(step: str, release: str) -> None:
    """The step that releases the claim fails too, because another run has it."""
    message = explain_failure("run-1", [FailedStep(step, LOST), FailedStep(release, LOST)])
    assert message.startswith(f"step {step} failed: An error occurred (ConditionalCheckFailed")
    assert release not in message


@pytest.mark.parametrize("text", ["something {unexpected}", "{}", '["errorMessage"]', "{", ""])
def test_other_messages_stay_as_they_are(text: str) -> None:
    """AWS does not document the wording."""
    assert explain_failure("run-1", [FailedStep("one", text)]) == f"step one failed: {text}"


def test_run_without_failed_steps() -> None:
    """The message names the run."""
    assert explain_failure("run-1", []).startswith("run run-1 failed: ")


def test_error_of_a_script_is_the_last_line_of_its_traceback() -> None:
    """Where in the script the error came from helps nobody."""
    lost = (
        "ConditionalCheckFailedException - An error occurred (ConditionalCheckFailedException) when calling UpdateItem"
    )
    text = f"Traceback (most recent call last):\n  File script.py, line 12, in record\n{lost}"
    assert explain_failure("run-1", [FailedStep("elect", framed(text))]) == f"step elect failed: {lost}"


def test_request_that_nobody_answered_is_no_rejection() -> None:
    """The message says that the next run asks again."""
    message = explain_failure("run-1", [FailedStep("approve", "Step timed out.")])
    assert message == (
        "step approve failed: Step timed out. | fix: nobody rejected the heal, and nothing was changed: the next run sends "
        "a new request"
    )
