"""Adversaries with permissions enforced: people who forge tags, and people who start runbooks with any parameters."""

import json
from typing import Any

import pytest

from sandbox.refusals import refused
from tests.iam.deployed import APPROVAL, HEAL, UNDO, Deployed, Run
from tests.support.network import Builder, Private

FORGED = "11111111-2222-3333-4444-555555555555"
MANAGED = {"Key": "express-path:managed", "Value": "true"}
ANYTHING = {"Effect": "Allow", "Action": ["ec2:CreateTags", "ec2:DeleteTags"], "Resource": "*"}
TAKEN_OVER = {"action": "DELETE_ENDPOINT", "next": "ASSOCIATE", "summary": "forged"}


class Victim:
    """A VPC that no heal has changed: a route table with an endpoint for S3 and one for S3 Express."""

    def __init__(self, builder: Builder) -> None:
        """Create the VPC, its route table, and its endpoints."""
        self.builder = builder
        self.vpc = builder.vpc()
        self.table = builder.table(self.vpc)
        self.endpoints = [builder.endpoint(self.vpc, self.table, service=name) for name in ("s3", "s3express")]

    def described(self) -> str:
        """Return the route tables and endpoints as EC2 describes them, without their tags."""
        of_vpc = [{"Name": "vpc-id", "Values": [self.vpc]}]
        tables = self.builder.ec2.describe_route_tables(Filters=of_vpc)["RouteTables"]
        endpoints = self.builder.ec2.describe_vpc_endpoints(Filters=of_vpc)["VpcEndpoints"]
        untagged = [
            {key: value for key, value in resource.items() if key != "Tags"} for resource in (*tables, *endpoints)
        ]
        return json.dumps(untagged, default=str)


@pytest.fixture
def victim(builder: Builder) -> Victim:
    """Return somebody else's VPC in the same account."""
    return Victim(builder)


def status(run: Run) -> str:
    """Return the status of a run."""
    return str(run["AutomationExecutionStatus"])


def changes(deployed: Deployed) -> list[str]:
    """Return the EC2 operations that could have changed something."""
    return [call.operation for call in deployed.stack.sandbox.calls.mutating() if call.service == "ec2"]


def express_tables(builder: Builder, vpc_id: str) -> list[list[str]]:
    """Return the route tables of each endpoint of a VPC that is not deleted."""
    found = builder.ec2.describe_vpc_endpoints(Filters=[{"Name": "vpc-id", "Values": [vpc_id]}])["VpcEndpoints"]
    return [endpoint["RouteTableIds"] for endpoint in found if endpoint["State"] not in ("deleting", "deleted")]


def test_forged_tags_do_not_mislead_an_undo(
    deployed: Deployed, builder: Builder, vpc: Private, subnet: str, victim: Victim
) -> None:
    """Undos of a forged run and of a real one change nothing in a VPC that carries the tags of a heal."""
    tagger = deployed.user("tagger", "ec2", ANYTHING)
    before = victim.described()
    with deployed.enforced():
        heal = deployed.automation.wait(deployed.start(HEAL, SubnetId=subnet))
        assert status(heal) == "Success", heal.get("FailureMessage")
        run_id = heal["AutomationExecutionId"]
        for number, claimed in enumerate((FORGED, run_id)):
            marks = {"run": claimed, "endpoint": victim.endpoints[number], "healed": "2099-01-01T00:00:00+00:00"}
            tags = [{"Key": f"express-path:{name}", "Value": value} for name, value in marks.items()]
            tagger.create_tags(Resources=[victim.table, vpc.table, *victim.endpoints], Tags=[*tags, MANAGED])
            undone = deployed.automation.wait(deployed.start(UNDO, RunId=claimed))
            assert status(undone) == ("Success" if claimed == run_id else "Failed"), undone.get("FailureMessage")
    assert victim.described() == before
    assert express_tables(builder, vpc.vpc) == []


def test_forged_tags_do_not_block_a_heal(deployed: Deployed, builder: Builder, vpc: Private, subnet: str) -> None:
    """Tags of a heal in the future, forged on the route table, do not block its heal."""
    tagger = deployed.user("tagger", "ec2", ANYTHING)
    tags = [{"Key": f"express-path:{name}", "Value": FORGED} for name in ("run", "endpoint")]
    with deployed.enforced():
        healed_at = {"Key": "express-path:healed", "Value": "2099-01-01T00:00:00+00:00"}
        tagger.create_tags(Resources=[vpc.table], Tags=[*tags, healed_at])
        heal = deployed.automation.wait(deployed.start(HEAL, SubnetId=subnet))
    assert status(heal) == "Success", heal.get("FailureMessage")
    assert express_tables(builder, vpc.vpc) == [[vpc.table]]


def test_starting_runbooks_with_any_parameters_changes_nothing_that_is_not_allowed(
    deployed: Deployed, subnet: str, victim: Victim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs with a forged run id, another plan function, or a missing approval fail without any change."""
    assert victim.described()
    evil = "arn:aws:lambda:us-east-1:123456789012:function:evil"
    forged = {
        **TAKEN_OVER,
        "routeTableId": victim.table,
        "endpointId": victim.endpoints[0],
        "vpcId": victim.vpc,
        "subnetId": subnet,
        "ledgerTable": str(deployed.stack.template.deployed("<LedgerTable>")),
    }
    asked: list[Any] = []
    deployed.automation.functions.register("evil", lambda event: asked.append(event) or forged)
    monkeypatch.setenv("REMEDIATION_MODE", "APPROVAL")
    monkeypatch.setenv("APPROVERS", "somebody")
    before = victim.described()
    deployed.stack.sandbox.calls.clear()
    with deployed.enforced():
        tried: list[tuple[str, dict[str, str], str]] = [
            (UNDO, {"RunId": FORGED}, "the ledger has no such run"),
            (UNDO, {"RunId": FORGED, "PlanFunctionName": evil}, "AccessDenied"),
            (HEAL, {"SubnetId": subnet, "PlanFunctionName": evil}, "AccessDenied"),
            (APPROVAL, {"SubnetId": subnet, "PlanFunctionName": "evil"}, "AccessDenied"),
            (HEAL, {"SubnetId": subnet}, "APPROVAL_REQUIRED"),
            (HEAL, {"SubnetId": subnet, "StartedBy": "CONFIG"}, "APPROVAL_REQUIRED"),
        ]
        for document, given, found in tried:
            run = deployed.automation.wait(deployed.start(document, **given))
            assert (status(run), found in run["FailureMessage"]) == ("Failed", True), (given, run["FailureMessage"])
    assert (changes(deployed), victim.described(), asked) == ([], before, [])


def test_settings_of_the_stack_are_not_runbook_parameters(deployed: Deployed, subnet: str) -> None:
    """A person who starts a runbook cannot set its calendar, policy, approvers, ledger, or role."""
    start = deployed.operator.start_automation_execution
    own = {
        "AutomationAssumeRole": [deployed.stack.arn("AutomationRole")],
        "PlanFunctionName": [deployed.stack.arn("PlanFunction")],
    }
    names = {
        logical_id: deployed.stack.template.properties(logical_id)["Name"] for logical_id in (HEAL, APPROVAL, UNDO)
    }
    subjects = {HEAL: {"SubnetId": [subnet]}, APPROVAL: {"SubnetId": [subnet]}, UNDO: {"RunId": [FORGED]}}
    settings = ("ChangeCalendarName", "EndpointPolicyParameter", "Approvers", "ApprovalTopicArn", "LedgerTableName")
    other_role = [deployed.stack.arn("PlanRole")]
    with deployed.enforced():
        for document, name in names.items():
            given = {**own, **subjects[document]}
            for setting in settings:
                code = refused(start, DocumentName=name, Parameters={**given, setting: ["x"]})
                assert code == "InvalidAutomationExecutionParametersException", setting
            given["AutomationAssumeRole"] = other_role
            assert refused(start, DocumentName=name, Parameters=given) == "AccessDeniedException"
        for bad in ("vpce-1", f"{FORGED}' OR '1", "TABLE#rtb-1"):
            code = refused(start, DocumentName=names[UNDO], Parameters={**own, "RunId": [bad]})
            assert code == "InvalidAutomationExecutionParametersException"
