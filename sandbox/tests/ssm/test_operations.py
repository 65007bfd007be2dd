"""Operations of Systems Manager: executions are started, listed, and stopped; calendars; what a test can change."""

import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from botocore.client import BaseClient

from config_rule_sandbox.answers import LaterSteps
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.ssm import Automation

Make = Callable[..., Any]


def nap(name: str = "nap", duration: str = "PT1S", **properties: object) -> dict[str, Any]:
    """Return a step that waits."""
    return {"name": name, "action": "aws:sleep", "inputs": {"Duration": duration}, **properties}


def ask(name: str = "ask") -> dict[str, Any]:
    """Return a step that invokes the function `f`."""
    return {"name": name, "action": "aws:invokeLambdaFunction", "inputs": {"FunctionName": "f"}}


def start(ssm: BaseClient, **more: object) -> str:
    """Start the stored runbook and return the execution's id."""
    return str(ssm.start_automation_execution(DocumentName="Runbook", **more)["AutomationExecutionId"])


def status(ssm: BaseClient, execution_id: str) -> str:
    """Return the status of an execution from the API."""
    found = ssm.get_automation_execution(AutomationExecutionId=execution_id)["AutomationExecution"]
    return str(found["AutomationExecutionStatus"])


def eventually(truth: Callable[[], bool]) -> None:
    """Wait until a condition is true, for at most one minute."""
    deadline = time.monotonic() + 60
    while not truth():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize(
    ("document", "version", "latest"),
    [
        ("Runbook", None, False),
        ("arn:aws:ssm:us-east-1:123456789012:document/Runbook", "$DEFAULT", False),
        ("Runbook", "$LATEST", True),
        ("Runbook", "2", True),
    ],
)
def test_runs_the_document_and_version_that_are_asked_for(
    automation: Automation,
    ssm: BaseClient,
    store: Make,
    runbook: Make,
    document: str,
    version: str | None,
    latest: bool,
) -> None:
    """A name or an ARN, and $LATEST, $DEFAULT, or a number select a version; a new one is not the default.

    https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_StartAutomationExecution.html
    """
    store(runbook(nap("first")))
    content = json.dumps(runbook(nap("second")))
    ssm.update_document(Name="Runbook", Content=content, DocumentVersion="$LATEST", DocumentFormat="JSON")
    execution = automation.execute(document, **({"DocumentVersion": version} if version else {}))
    assert (execution["DocumentName"], execution["DocumentVersion"]) == ("Runbook", "2" if latest else "1")
    assert execution["StepExecutions"][0]["StepName"] == ("second" if latest else "first")


@pytest.mark.parametrize(
    ("request_members", "code"),
    [
        ({"DocumentName": "Nothing"}, "AutomationDefinitionNotFoundException"),
        (
            {"DocumentName": "arn:aws:ssm:us-east-1:210987654321:document/Runbook"},
            "AutomationDefinitionNotFoundException",
        ),
        ({"DocumentVersion": "7"}, "AutomationDefinitionVersionNotFoundException"),
        ({"Mode": "Interactive"}, "ValidationException"),
        ({"Parameters": {"Name": ["x" * 513]}}, "ValidationException"),
        ({"Parameters": {"Nam": ["x"]}}, "InvalidAutomationExecutionParametersException"),
    ],
)
def test_refuses_to_start_what_is_not_there_or_not_supported(
    ssm: BaseClient, store: Make, runbook: Make, request_members: dict[str, str], code: str
) -> None:
    """Unknown documents and versions have their own errors; unsupported features fail instead of being ignored."""
    store(runbook(nap()))
    assert refused(ssm.start_automation_execution, **{"DocumentName": "Runbook", **request_members}) == code


def test_same_client_token_is_the_same_execution(ssm: BaseClient, store: Make, runbook: Make) -> None:
    """A repeated client token starts no second execution; with other parameters, the request is rejected."""
    store(runbook(nap(), parameters={"Name": {"type": "String", "default": "a"}}))
    token = str(uuid.uuid4())
    first = start(ssm, ClientToken=token)
    assert start(ssm, ClientToken=token) == first
    assert start(ssm, ClientToken=str(uuid.uuid4())) != first
    request = {"DocumentName": "Runbook", "ClientToken": token, "Parameters": {"Name": ["b"]}}
    assert refused(ssm.start_automation_execution, **request) == "IdempotentParameterMismatch"


def test_unknown_execution_is_not_found(ssm: BaseClient) -> None:
    """For an unknown execution, each call raises AutomationExecutionNotFoundException."""
    execution = {"AutomationExecutionId": str(uuid.uuid4())}
    missing = "AutomationExecutionNotFoundException"
    assert refused(ssm.get_automation_execution, **execution) == missing
    assert refused(ssm.stop_automation_execution, **execution) == missing
    assert refused(ssm.send_automation_signal, **execution, SignalType="Approve") == missing


def test_executions_are_listed_filtered_and_paged(
    automation: Automation, ssm: BaseClient, store: Make, runbook: Make
) -> None:
    """DescribeAutomationExecutions returns the newest first, filters by status, and has pages.

    https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_DescribeAutomationExecutions.html
    """
    store(runbook(nap()), "HealOne")
    store(runbook({**ask(), "inputs": {"FunctionName": "nothing"}}), "HealTwo")
    for name in ("HealOne", "HealTwo"):
        automation.execute(name)

    def found(*statuses: str) -> list[str]:
        filters = [{"Key": "ExecutionStatus", "Values": list(statuses)}]
        answer = ssm.describe_automation_executions(Filters=filters)
        return [execution["DocumentName"] for execution in answer["AutomationExecutionMetadataList"]]

    assert found("Failed") == ["HealTwo"]
    assert found("Failed", "Success") == ["HealTwo", "HealOne"]
    assert (
        refused(ssm.describe_automation_executions, Filters=[{"Key": "OpsItemId", "Values": ["a"]}])
        == "InvalidFilterKey"
    )
    first = ssm.describe_automation_executions(MaxResults=1)
    second = ssm.describe_automation_executions(MaxResults=1, NextToken=first["NextToken"])
    assert [page["AutomationExecutionMetadataList"][0]["DocumentName"] for page in (first, second)] == [
        "HealTwo",
        "HealOne",
    ]
    assert "NextToken" not in second
    assert refused(ssm.describe_automation_executions, NextToken="x") == "InvalidNextToken"


def test_cancelled_execution_runs_no_further_step(
    automation: Automation,
    ssm: BaseClient,
    store: Make,
    runbook: Make,
    outcome: Callable[[dict[str, Any]], dict[str, str]],
) -> None:
    """StopAutomationExecution cancels the current step and the execution; later steps remain Pending, or are absent.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-statuses.html
    """
    automation.knobs.time_scale = 1
    store(runbook(nap("first", "PT1H"), nap("second")))
    execution_id = start(ssm)
    eventually(lambda: status(ssm, execution_id) == "InProgress")
    ssm.stop_automation_execution(AutomationExecutionId=execution_id)
    execution = automation.wait(execution_id)
    assert execution["AutomationExecutionStatus"] == "Cancelled"
    assert outcome(execution) == {"first": "Cancelled", "second": "Pending"}
    automation.answers.later_steps = LaterSteps.ABSENT
    shown = ssm.get_automation_execution(AutomationExecutionId=execution_id)["AutomationExecution"]
    assert outcome(shown) == {"first": "Cancelled"}
    again = {"AutomationExecutionId": execution_id}
    assert refused(ssm.stop_automation_execution, **again) == "InvalidAutomationStatusUpdateException"
    assert refused(ssm.stop_automation_execution, **again, Type="Complete") == "ValidationException"


def test_calendar_is_open_only_if_all_are(automation: Automation, ssm: BaseClient) -> None:
    """Names and ARNs are equivalent. An unknown calendar is InvalidDocument, and AtTime is not supported.

    https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetCalendarState.html
    """
    automation.knobs.open_calendars.add("Work")
    automation.knobs.closed_calendars.add("Freeze")
    arn = "arn:aws:ssm:us-east-1:123456789012:document/Freeze"
    for names, state in ((["Work"], "OPEN"), ([arn], "CLOSED"), (["Work", "Freeze"], "CLOSED")):
        assert ssm.get_calendar_state(CalendarNames=names)["State"] == state
    assert refused(ssm.get_calendar_state, CalendarNames=["Nothing"]) == "InvalidDocument"
    code = refused(ssm.get_calendar_state, CalendarNames=["Work"], AtTime="2026-01-01T00:00:00Z")
    assert code == "ValidationException"
