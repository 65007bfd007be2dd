"""The failure message of a run names the step that failed, AWS's own error, and how to fix it."""

import pytest

from sandbox.ssm.knobs import Trouble
from tests.support.heals import HEAL, Deployment, Vpc, status, steps
from tests.support.ledgers import LedgerTable
from tests.support.network import Builder

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


@pytest.mark.parametrize(
    ("operation", "code", "step", "fix"),
    [
        ("CreateVpcEndpoint", "VpcEndpointLimitExceeded", "create", "L-1B52E74A"),
        ("CreateVpcEndpoint", "UnauthorizedOperation", "create", "AutomationRoleArn"),
        ("ModifyVpcEndpoint", "RouteLimitExceeded", "associate", "L-93826ACB"),
        ("ModifyVpcEndpoint", "RequestLimitExceeded", "associate", "start the run again later"),
        ("DescribeRouteTables", "UnauthorizedOperation", "makePlan", "PlanRoleArn"),
    ],
)
def test_error_of_aws_is_named(
    deployment: Deployment, vpc: Vpc, operation: str, code: str, step: str, fix: str
) -> None:
    """The verification fails too, but the message also has the cause."""
    deployment.sandbox.faults.fail("ec2", operation, code, 400)
    run = deployment.heal(vpc.subnet)
    assert (status(run), steps(run)[-1]) == ("Failed", "fail")
    for text in (f"step {step} failed: ", code, fix):
        assert text in run["FailureMessage"]


def test_undo_names_the_error_of_aws(deployment: Deployment, builder: Builder, vpc: Vpc, ledger: LedgerTable) -> None:
    """The undo checks that the association is gone; the message also says why it is not."""
    heal = ledger.heal(builder, vpc.id, vpc.table)
    deployment.sandbox.faults.deny("ec2", "ModifyVpcEndpoint")
    run = deployment.undo(heal)
    assert (status(run), steps(run)[-1]) == ("Failed", "fail")
    for text in ("step findRest failed: NotDisassociatedError", "step disassociate failed: ", "UnauthorizedOperation"):
        assert text in run["FailureMessage"]


def test_heal_goes_on_if_the_record_of_its_intention_is_written_twice(deployment: Deployment, vpc: Vpc) -> None:
    """Automation repeats the write if the answer is lost; the condition does not fail on the run's own item."""
    for step in ("recordCreation", "recordIntent", "recordAssociated"):
        with deployment.automation.disturbing(HEAL, step, Trouble.TWICE) as disturbance:
            run = deployment.heal(vpc.subnet)
        assert (status(run), disturbance.met) == ("Success", True), run.get("FailureMessage")
        undone = deployment.undo(run["AutomationExecutionId"])
        assert status(undone) == "Success", undone.get("FailureMessage")
