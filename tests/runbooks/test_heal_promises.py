"""What the runbooks promise besides: interrupted heals end the same, outputs say how to undo, approvals go through."""

from sandbox.server import Sandbox
from tests.handlers.network import Builder
from tests.runbooks.heals import Deployment, Vpc, status
from tests.runbooks.test_heal_approved import answer, begin, given  # noqa: F401
from tests.runbooks.test_heal_approved import state as state_of
from tests.runbooks.test_heal_together import HEALED, state, take_away


def test_heal_killed_after_the_association_ends_the_same(deployment: Deployment, vpc: Vpc) -> None:
    """The second run finds the table associated by a run of ours that never came to tag it, and does so."""
    deployment.automation.knobs.kill_after = "associate"
    deployment.heal(vpc.subnet)
    deployment.automation.knobs.kill_after = None
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert state(deployment, vpc) == HEALED


def test_adversary_wins_against_a_heal_that_was_interrupted_too(deployment: Deployment, vpc: Vpc) -> None:
    """Killed after the association, started again, taken away by somebody: no fight either."""
    deployment.automation.knobs.kill_after = "associate"
    deployment.heal(vpc.subnet)
    deployment.automation.knobs.kill_after = None
    deployment.heal(vpc.subnet)
    take_away(deployment, vpc)
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Failed"
    assert "REVERTED_BY_OTHERS" in run["FailureMessage"]


def test_dry_run_while_the_calendar_is_closed_tells_its_plan(deployment: Deployment, vpc: Vpc) -> None:
    """The plan is in the outputs, as of every dry run."""
    deployment.automation.knobs.closed_calendars.add("changes")
    run = deployment.heal(vpc.subnet, ChangeCalendarName="changes", DryRun="true")
    assert any("CHANGE_CALENDAR_CLOSED" in text for texts in run["Outputs"].values() for text in texts)


def test_outputs_say_how_to_undo(deployment: Deployment, vpc: Vpc) -> None:
    """The runbook and the run's id, as they are to be typed."""
    run = deployment.heal(vpc.subnet)
    said = " ".join(text for texts in run["Outputs"].values() for text in texts)
    assert "RemoveS3ExpressGatewayEndpoint" in said
    assert run["AutomationExecutionId"] in said


def test_approved_heal_is_done(
    deployment: Deployment,
    sandbox: Sandbox,
    vpc: Vpc,
    given: dict[str, str],  # noqa: F811
) -> None:
    """Nothing is changed before the yes; after it, the table is healed and verified by a run of its own."""
    sandbox.calls.clear()
    execution_id = begin(deployment, vpc.subnet, given, ChangeCalendarName="changes")
    assert (state_of(deployment, execution_id), deployment.changes()) == ("Waiting", [])
    deployment.automation.knobs.open_calendars.add("changes")
    sandbox.client("ssm").put_parameter(Name="/p", Value='{"Statement": []}', Type="String")
    run = answer(deployment, sandbox, execution_id, "Approve")
    assert status(run) == "Success", run["FailureMessage"]
    assert list(deployment.associations(vpc.id).values()) == [[vpc.table]]
    assert run["Outputs"]["heal.ExecutionId"] == [deployment.tags(vpc.table)["express-path:run"]]


def test_heal_that_is_blocked_since_it_was_approved_changes_nothing(
    deployment: Deployment,
    sandbox: Sandbox,
    builder: Builder,
    vpc: Vpc,
    given: dict[str, str],  # noqa: F811
) -> None:
    """A yes is to the plan that was shown: what came in the way since then still blocks."""
    execution_id = begin(deployment, vpc.subnet, given)
    builder.tag(builder.endpoint(vpc.id), "aws:cloudformation:stack-name", "network")
    sandbox.calls.clear()
    run = answer(deployment, sandbox, execution_id, "Approve")
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert "OWNED_BY_IAC" in run["FailureMessage"]
