"""express-path heal: starts and follows the real runbooks on the sandbox's Systems Manager."""

import re
import time
from itertools import count

import pytest

from config_rule_sandbox.answers import LaterSteps
from config_rule_sandbox.server import Sandbox
from express_path.domain.heal.ledger_records import STOP_ID
from express_path_cli.automation import runs
from tests.cli.heal.healing_stack import LOOK, invoke_at_terminal, verdict
from tests.support.command import invoke
from tests.support.heals import Deployment, Vpc, status
from tests.support.network import Builder

pytestmark = pytest.mark.slow


def run_id_of(shown: str) -> str:
    """Return the run id in the printed undo command."""
    [line] = [line for line in shown.splitlines() if line.strip().startswith("to undo: ")]
    return line.split()[4]


def reported_run_id(shown: str) -> str:
    """Return the id of the started run; the output must say how to follow it."""
    [(table, run_id)] = re.findall(r"^heal of (rtb-\w+): run (\S+)$", shown, re.MULTILINE)
    command = f"aws ssm get-automation-execution --automation-execution-id {run_id} --region us-east-1"
    assert f"heal of {table} continues: {command}\n" in shown
    return str(run_id)


def test_heal_and_undo_at_a_terminal(deployment: Deployment, vpc: Vpc) -> None:
    """After a yes, the subnet becomes COMPLIANT and is left alone; the printed undo restores the original state."""
    healed = invoke_at_terminal(["heal", vpc.subnet], "y\n")
    assert healed.returncode == 0, healed.stderr
    question = f"Heal 1 subnet of {vpc.id} in account 123456789012 us-east-1? [y/N]"
    assert f"1 to heal\n{question}" in healed.stdout
    assert "open TCP connections to S3 Express from 1 subnet will drop for a moment" in healed.stdout
    for done in ("created the endpoint", "associated the route table", "verified that"):
        assert f"  {vpc.table}: {done}" in healed.stdout
    assert verdict(vpc.subnet) == "COMPLIANT"
    run_id = run_id_of(healed.stdout)
    assert deployment.ledger.item(f"TABLE#{vpc.table}")["runId"] == run_id
    again = invoke(["heal", vpc.subnet])
    assert (again.exit_code, "1 with nothing to do\n" in again.stdout) == (0, True), again.stderr
    undone = invoke_at_terminal(["undo", run_id], "y\n")
    assert undone.returncode == 0, undone.stderr
    assert f"Undo 1 heal of {vpc.table} in account 123456789012 us-east-1?" in undone.stdout
    assert vpc.table in undone.stdout
    assert "deleted: vpce-" in undone.stdout
    assert verdict(vpc.subnet) == "NON_COMPLIANT"
    assert deployment.endpoints(vpc.id) == []


@pytest.mark.parametrize("later_steps", LaterSteps)
@pytest.mark.parametrize("more", [[], ["--verbose"]])
def test_progress_names_only_steps_that_have_begun(
    deployment: Deployment, vpc: Vpc, later_steps: LaterSteps, more: list[str]
) -> None:
    """A step that runs says so. The heal is stopped while it creates the endpoint, so that no later change begins."""
    sandbox = deployment.sandbox
    sandbox.answers.later_steps = later_steps

    def stop_when_shown() -> None:
        deployment.ledger.write(STOP_ID, stoppedAt="now", by="ann")
        before, until = len(sandbox.calls.of(*LOOK)), time.monotonic() + 60
        while len(sandbox.calls.of(*LOOK)) < before + 2:
            assert time.monotonic() < until
            time.sleep(0.01)

    sandbox.faults.before("ec2", "CreateVpcEndpoint", stop_when_shown)
    result = invoke(["heal", vpc.subnet, "--yes", *more])
    assert "because somebody stopped all heals" in result.stderr
    begun = ["InProgress: create", "Success: create"] if more else ["creating the endpoint", "created the endpoint"]
    prefix = f"  {vpc.table}: "
    shown = [line.removeprefix(prefix) for line in result.stdout.splitlines() if line.startswith(prefix)]
    assert [line for line in shown if line in begun] == begun
    assert [line for line in shown if re.search(": associate|: verify|associating|verif|Pending", line)] == []


def test_what_another_healed_meanwhile_is_not_undone_by_this_run(
    deployment: Deployment, builder: Builder, vpc: Vpc
) -> None:
    """If somebody else heals the subnet after the dry run, this run has nothing that could be undone."""
    starts = count(1)

    def cure_before_the_second() -> None:
        if next(starts) == 2:
            builder.endpoint(vpc.id, vpc.table)

    deployment.sandbox.faults.before("ssm", "StartAutomationExecution", cure_before_the_second, times=2)
    result = invoke(["heal", vpc.subnet, "--yes", "--verbose"])
    assert result.exit_code == 0, result.stderr
    assert f"  {vpc.table}: Success: plan\n" in result.stdout
    assert "NOTHING_TO_DO" in result.stdout
    assert "to undo" not in result.stdout


def test_without_a_yes_nothing_changes(deployment: Deployment, vpc: Vpc) -> None:
    """At a terminal, every answer but yes changes nothing, and the status is 1."""
    result = invoke_at_terminal(["heal", vpc.subnet], "\n")
    assert result.returncode == 1, result.stderr
    assert "Heal 1 subnet of " in result.stdout
    assert deployment.changes() == []


def test_a_failed_function_is_reported_without_its_trace(deployment: Deployment, vpc: Vpc) -> None:
    """Only the message of Lambda's error is printed; a dry run has nothing to undo."""
    deployment.sandbox.faults.deny("ec2", "DescribeNetworkAcls")
    result = invoke(["heal", vpc.subnet, "--yes"])
    assert result.exit_code == 2
    [line] = result.stderr.splitlines()
    assert "You are not authorized to perform: ec2:DescribeNetworkAcls | fix: allow the call in the role" in line
    assert "Failed: step makePlan failed: ec2:DescribeNetworkAcls failed with UnauthorizedOperation" in line
    assert "to undo" not in result.stdout


@pytest.mark.usefixtures("deployment")
def test_a_missing_subnet_is_not_compliant() -> None:
    """The subnet may be in another Region, so the error is one line and the status is 2."""
    result = invoke(["heal", "subnet-00000000000000000", "--dry-run"])
    assert result.exit_code == 2
    [line] = result.stderr.splitlines()
    assert "subnet-00000000000000000 does not exist (check --region" in line


def test_ctrl_c_does_not_stop_the_run(deployment: Deployment, vpc: Vpc, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C, the output says that the run continues and how to follow it; the status is 130."""

    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    deployment.automation.knobs.time_scale = 1
    monkeypatch.setattr(runs.time, "sleep", interrupt)
    result = invoke(["heal", vpc.subnet, "--dry-run"])
    assert result.exit_code == 130
    assert " continues: aws ssm get-automation-execution" in result.stdout


def test_a_heal_that_cannot_be_followed_can_be_undone(sandbox: Sandbox, deployment: Deployment, vpc: Vpc) -> None:
    """If a heal can no longer be read, the output has its id and how to follow and undo it."""
    starts = iter(range(2))
    sandbox.faults.before(
        "ssm", "StartAutomationExecution", lambda: sandbox.faults.deny(*LOOK) if next(starts) else None, times=2
    )
    lost = invoke(["heal", vpc.subnet, "--yes"])
    run_id = reported_run_id(lost.stdout)
    assert f"to undo its changes after it has ended: express-path undo {run_id} --region us-east-1\n" in lost.stdout
    assert (lost.exit_code, len(lost.stderr.splitlines())) == (2, 1)
    sandbox.faults.clear()
    assert status(deployment.automation.wait(run_id)) == "Success"
    assert verdict(vpc.subnet) == "COMPLIANT"
    assert run_id in invoke(["heals"]).stdout


def test_a_run_that_may_not_be_started_is_one_line(sandbox: Sandbox, deployment: Deployment, vpc: Vpc) -> None:
    """If the start is denied, one line names the permission, and there is no run to follow."""
    sandbox.faults.deny("ssm", "StartAutomationExecution")
    refused = invoke(["heal", vpc.subnet, "--yes"])
    [line] = refused.stderr.splitlines()
    assert (refused.exit_code, refused.stdout) == (2, f"dry run was not started for {vpc.table}\n")
    assert "allow ssm:StartAutomationExecution" in line
    assert deployment.changes() == []


@pytest.mark.parametrize(("step", "is_changed"), [("takeTurn", False), ("create", True)])
def test_a_heal_that_somebody_cancels_is_not_a_failure(
    deployment: Deployment, vpc: Vpc, step: str, *, is_changed: bool
) -> None:
    """Only if a change may have begun, the command that undoes it follows."""
    with deployment.automation.killing(during=step, status="Cancelled"):
        result = invoke(["heal", vpc.subnet, "--yes"])
    assert (result.exit_code, bool(deployment.changes())) == (2, is_changed)
    assert ("to undo its changes, if any" in result.stdout) is is_changed
    assert ("nothing was changed, because somebody cancelled the run" in result.stderr) is not is_changed
    assert ("which may have changed something" in result.stderr) is is_changed
    assert "0 healed, 1 stopped" in result.stdout.splitlines()
    assert "FAILED" not in result.stdout
