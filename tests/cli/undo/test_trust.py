"""Commands with --organization act only on what the roll-out deployed, whatever a member account makes."""

import json

import pytest

from config_rule_sandbox.http.direct import acting_in
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from org.expansion import runbook
from tests.cli.org.organizations import REGIONS, ROLE, Organization
from tests.support.command import invoke
from tests.support.healing_places import HealingPlace
from tests.support.heals import TRUST, UNDO
from tests.support.ledgers import LEDGER
from tests.support.stack_sets import EMPTY, deploy

pytestmark = pytest.mark.slow

HOME, _ = REGIONS
SELECTED = ("--organization", "--role-name", ROLE, "--region", HOME)
SINCE = ("--since", "2026-11-22T12:00:00Z", "--yes")
EVIL = {
    "schemaVersion": "0.3",
    "parameters": {"RunId": {"type": "String"}, "DryRun": {"type": "String"}},
    "mainSteps": [
        {
            "name": "grant",
            "action": "aws:executeAwsApi",
            "inputs": {"Service": "iam", "Api": "CreateUser", "UserName": "stranger"},
        }
    ],
}


def decoy(place: HealingPlace, **outputs: str) -> None:
    """Create a stack in a member account that looks like ours, with a runbook and a ledger of the account."""
    ssm, cloudformation = place.client("ssm"), place.client("cloudformation")
    ssm.create_document(Name="Decoy", Content=json.dumps(EVIL), DocumentType="Automation")
    named = {
        "RuleName": "s3express-no-nat-path",
        "HealDocumentName": "Decoy",
        "ApprovalDocumentName": "Decoy",
        "UndoDocumentName": "Decoy",
        "LedgerTableName": LEDGER,
        "StopRoleArn": place.stop_role_arn,
        "AutomationRoleArn": place.given["AutomationAssumeRole"],
        "PlanFunctionArn": place.given["PlanFunctionName"],
        **outputs,
    }
    template = {
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {key: {"Value": value} for key, value in named.items()},
    }
    cloudformation.create_stack(StackName="a-decoy", TemplateBody=json.dumps(template))


def healed(place: HealingPlace) -> str:
    """Heal a route table in the ledger, and return the run."""
    vpc = place.add_vpc()
    with acting_in(place.account_id):
        return place.ledger.heal(place.builder, vpc.id, vpc.table)


def started(sandbox: Sandbox) -> list[tuple[str, str | None]]:
    """Return the runbooks that were started, with their versions."""
    calls = sandbox.calls.of("ssm", "StartAutomationExecution")
    return [(call.parameters["DocumentName"], call.parameters.get("DocumentVersion")) for call in calls]


def test_a_decoy_changes_nothing_and_is_named(organization: Organization, automation: Automation) -> None:
    """In an account without an instance of a StackSet, nothing is started or written, and the status is 2."""
    account_id = organization.accounts["data"]
    data = HealingPlace(organization.sandbox, automation, account_id, HOME, is_rolled_out=False)
    healed(data)
    decoy(data)
    before = data.routes()
    for words in (("stop",), ("start", "--yes"), ("undo", *SINCE), ("heals",)):
        result = invoke([*words, *SELECTED])
        assert result.exit_code == 2
        assert (
            "stack a-decoy has the outputs of express-path, but no StackSet of the roll-out deployed it"
            in result.stderr
        )
    assert (started(data.sandbox), data.stop_item(), data.routes()) == ([], {}, before)


def test_a_decoy_beside_the_stack_of_the_roll_out_is_not_used(data: HealingPlace) -> None:
    """The roll-out's own stack is stopped and undone. The decoy is named, so that somebody looks at it."""
    healed(data)
    decoy(data, LedgerTableName="another")
    result = invoke(["stop", *SELECTED])
    assert (result.exit_code, "a-decoy" in result.stderr, bool(data.stop_item())) == (2, True, True)
    result = invoke(["undo", *SINCE, *SELECTED])
    assert (result.exit_code, "1 heal: 1 undone\n" in result.stdout, data.endpoints()) == (2, True, {})
    assert started(data.sandbox) == [(UNDO, "1")] * 2


def test_a_runbook_that_is_not_the_release_s_is_not_started(data: HealingPlace) -> None:
    """An account may change the runbook of that name. The version that was compared is the one that is started."""
    run_id = healed(data)
    ssm = data.client("ssm")
    ssm.update_document(Name=UNDO, Content=json.dumps(EVIL), DocumentVersion="$LATEST")
    ssm.update_document_default_version(Name=UNDO, DocumentVersion="2")
    result = invoke(["undo", run_id, *SELECTED, "--yes"])
    assert (result.exit_code, f"runbook {UNDO}, version 2, is not the runbook of express-path" in result.stderr) == (
        2,
        True,
    )
    assert started(data.sandbox) == []

    ssm.update_document(Name=UNDO, Content=json.dumps(runbook(UNDO), indent=1), DocumentVersion="$LATEST")
    ssm.update_document_default_version(Name=UNDO, DocumentVersion="3")
    data.sandbox.faults.before(
        "ssm",
        "StartAutomationExecution",
        lambda: ssm.update_document_default_version(Name=UNDO, DocumentVersion="2"),
    )
    assert invoke(["undo", run_id, *SELECTED, "--dry-run"]).exit_code == 0
    assert started(data.sandbox) == [(UNDO, "3")]


def test_a_role_without_the_path_is_not_passed(data: HealingPlace) -> None:
    """An account may make another role of that name. Nothing is started, not even a dry run."""
    healed(data)
    iam, name = data.client("iam"), data.given["AutomationAssumeRole"].rpartition("/")[2]
    iam.delete_role(RoleName=name)
    iam.create_role(RoleName=name, Path="/", AssumeRolePolicyDocument=json.dumps(TRUST))
    for word in ("--dry-run", "--yes"):
        result = invoke(["undo", *SINCE[:2], word, *SELECTED])
        assert (result.exit_code, "its resource AutomationRole must be" in result.stderr) == (2, True)
    assert started(data.sandbox) == []


def test_two_stack_sets_in_one_place_are_an_error(data: HealingPlace) -> None:
    """Nothing says which of the two stacks counts, so neither does."""
    healed(data)
    deploy(data.sandbox, data.account_id, HOME, "express-path-other", EMPTY)
    result = invoke(["stop", *SELECTED])
    assert result.exit_code == 2
    assert "several StackSets deploy the rule: express-path-other, express-path-workloads" in result.stderr
    assert (started(data.sandbox), data.stop_item()) == ([], {})
