"""A stack of an earlier version, whose functions and runbooks healed and wrote, is updated as docs/deploy.md says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from express_path_integrations.adapters.ocsf import DETAIL_TYPE, SOURCE
from integrations.tests.siem import QUEUE, received
from sandbox.cloudformation.stacks import Stack, create_stack, update_stack
from sandbox.config_items.direct import direct_client
from sandbox.config_service import results_of
from sandbox.remediation import configuration, remediations_of
from sandbox.security_hub import findings_of
from sandbox.server import Sandbox
from sandbox.ssm import Automation
from tests.support.command import invoke
from tests.support.heals import APPROVED, HEAL, UNDO, Vpc, status
from tests.support.network import Builder
from tests.support.rule import RULE
from tests.support.template import INTEGRATIONS
from tests.upgrade.deployment import CODE, Region, earlier_template, present_template

pytestmark = [pytest.mark.slow, pytest.mark.runtime]

STACK = "express-path"


class Case(NamedTuple):
    """Parameters of the earlier stack, and those of the update, as the table in docs/deploy.md replaces them."""

    earlier: dict[str, str]
    present: dict[str, str]


TOPICS = "111122223333"
CASES = {
    "defaults": Case({}, {}),
    "everything-changed": Case(
        {
            "RuleName": "our-rule",
            "EvaluationFrequency": "Six_Hours",
            "HealDocumentName": "OurHeal",
            "ApprovalDocumentName": "OurHealWithApproval",
            "UndoDocumentName": "OurUndo",
            "EventBusName": "ours",
            "MaximumAutomaticAttempts": "5",
            "RouteQuota": "100",
            "RemediationMode": "ON",
            "TopicAccountId": TOPICS,
            "AlarmTopicName": "alarms",
            "ApprovalTopicName": "AutomationApprovals",
            "ApprovalTopicKeyAlias": "alias/topics",
            "ApproverRoleName": "on-call",
            "PermissionsBoundaryName": "boundary",
        },
        {
            "RuleName": "our-rule",
            "RemediationMode": "ON",
            "AlarmTopicArn": f"arn:aws:sns:{{region}}:{TOPICS}:alarms",
            "ApprovalTopicArn": f"arn:aws:sns:{{region}}:{TOPICS}:AutomationApprovals",
            "ApprovalTopicKeyArn": f"arn:aws:kms:{{region}}:{TOPICS}:alias/topics",
            "Approvers": "arn:aws:iam::{account}:role/on-call",
            "PermissionsBoundaryArn": "arn:aws:iam::{account}:policy/boundary",
        },
    ),
}


KILLED = {"claim": "HEALED", "create": "HEALED", "associate": "UNFINISHED", "recordAssociated": "UNFINISHED"}
"""Steps of the earlier runbook after which a killed run leaves something different behind, and what becomes of the heal."""


WORKING = (
    *("stack", "rule", "last-run", "last-error", "function", "errors", "failed-events", "verdicts"),
    *("heal-runbook", "approval-runbook", "undo-runbook", "plan-function"),
)
"""What the check-up finds in order after the update."""


@pytest.fixture
def region(sandbox: Sandbox, tmp_path: Path) -> Iterator[Region]:
    """Yield an account and Region whose Security Hub is enabled."""
    sandbox.client("securityhub").enable_security_hub()
    direct_client(sandbox, "events").create_event_bus(Name="ours")
    direct_client(sandbox, "sqs").create_queue(QueueName=QUEUE)
    for bus in ("default", "ours"):
        consume_ocsf(sandbox, bus)
    with Automation(sandbox) as automation:
        automation.knobs.time_scale = 0.001
        yield Region(sandbox, automation, tmp_path)


def network(builder: Builder, vpc: Vpc) -> dict[str, Any]:
    """Return the routes of a VPC's route tables, and the endpoints that are not deleted."""
    of_vpc = [{"Name": "vpc-id", "Values": [vpc.id]}]
    endpoints = builder.ec2.describe_vpc_endpoints(Filters=of_vpc)["VpcEndpoints"]
    return {
        "tables": builder.ec2.describe_route_tables(Filters=of_vpc)["RouteTables"],
        "endpoints": [row["VpcEndpointId"] for row in endpoints if row["State"] not in ("deleting", "deleted")],
    }


def succeeded(run: dict[str, Any]) -> str:
    """Check that a run succeeded, and return its id."""
    assert status(run) == "Success", run["FailureMessage"]
    return str(run["AutomationExecutionId"])


def items(sandbox: Sandbox, table: str) -> list[dict[str, Any]]:
    """Return the items of the ledger."""
    found: list[dict[str, Any]] = direct_client(sandbox, "dynamodb").scan(TableName=table)["Items"]
    return sorted(found, key=lambda item: str(item["id"]["S"]))


def findings(sandbox: Sandbox) -> dict[str, tuple[str, str, str]]:
    """Return the subnet, the creation time, and the record state of each finding of the stack, by ID."""
    rows = findings_of(sandbox.account_id, sandbox.region).all()
    own = [row for row in rows if not row["ProductArn"].endswith("product/aws/config")]
    assert len({row["Id"] for row in own}) == len(own)
    return {
        row["Id"]: (row["Resources"][0]["Id"].rpartition("/")[2], row["CreatedAt"], row["RecordState"]) for row in own
    }


def consume_ocsf(sandbox: Sandbox, bus: str) -> None:
    """Send the OCSF findings of a bus to the queue of a consumer."""
    events = direct_client(sandbox, "events")
    pattern = json.dumps({"source": [SOURCE], "detail-type": [DETAIL_TYPE]})
    events.put_rule(Name="siem", EventBusName=bus, EventPattern=pattern)
    arn = f"arn:aws:sqs:{sandbox.region}:{sandbox.account_id}:{QUEUE}"
    events.put_targets(Rule="siem", EventBusName=bus, Targets=[{"Id": "siem", "Arn": arn}])


def uids(sandbox: Sandbox) -> dict[str, str]:
    """Return the ID of the OCSF findings that arrived since the last call, by subnet."""
    return {row["resources"][0]["name"]: row["finding_info"]["uid"] for row in received(sandbox)}


def heals() -> dict[str, tuple[str, str]]:
    """Return the state and the route table of each heal that the command lists, by run."""
    shown = invoke(["heals", "--stack", STACK, "--format", "json"])
    assert shown.exit_code == 0, shown.stderr
    return {row["runId"]: (row["state"], row["routeTableId"]) for row in json.loads(shown.stdout)["heals"]}


def check_names(sandbox: Sandbox, stack: Stack) -> None:
    """Check that runbooks and bus have the names that docs/deploy.md gives, and that the rule starts the new runbook."""
    rule = stack.outputs["RuleName"]
    suffix = "" if rule == RULE.name else f"-{rule}"
    names = {name: f"{file}{suffix}" for name, file in {"Heal": HEAL, "Approval": APPROVED, "Undo": UNDO}.items()}
    assert {name: stack.outputs[f"{name}DocumentName"] for name in names} == names
    assert stack.outputs["EventBusName"] == f"express-path-{rule}"
    own = [{"Key": "Owner", "Values": ["Self"]}]
    documents = direct_client(sandbox, "ssm").list_documents(Filters=own)["DocumentIdentifiers"]
    assert {row["Name"] for row in documents} == set(names.values())
    remediation = configuration(remediations_of(sandbox.account_id, sandbox.region), rule)
    assert remediation["TargetId"] == names["Heal"]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_heals_results_and_findings_survive_the_update(
    region: Region, sandbox: Sandbox, builder: Builder, case: Case
) -> None:
    """Ledger, rule, results, and findings stay, the command lists the earlier heals, and runbooks undo them."""
    vpc, failing, undone = Vpc(builder, tables=2), Vpc(builder), Vpc(builder)
    untouched = network(builder, vpc)
    integrated = CODE | {"SecurityHubMode": "RICH", "OcsfEvents": "ON"}
    stack = create_stack(region.account, STACK, earlier_template(), integrated | case.earlier)
    assert stack.failure is None
    with region.earlier(stack):
        rule = region.rule_of(stack)
        assert rule.scheduled().error is None
        region.deliver(stack, "SecurityHubQueue", "SecurityHubFunction")
        runs = [succeeded(region.run(stack, "HealDocument", SubnetId=subnet_id)) for subnet_id in vpc.subnets]
        undone_run = succeeded(region.run(stack, "HealDocument", SubnetId=undone.subnet))
        succeeded(region.run(stack, "UndoDocument", RunId=undone_run))
        assert rule.scheduled().error is None
        region.deliver(stack, "SecurityHubQueue", "SecurityHubFunction")
    results = results_of(sandbox.account_id, sandbox.region).of_rule(rule.rule.name)
    assert len(results) == len(vpc.subnets) + 5
    published = uids(sandbox)
    assert published.keys() == {result.resource[1] for result in results}
    ledger, found = stack.outputs["LedgerTableName"], findings(sandbox)
    written = items(sandbox, ledger)
    assert {state for _, _, state in found.values()} == {"ACTIVE", "ARCHIVED"}
    assert {subnet_id for subnet_id, _, _ in found.values()} == {*vpc.subnets, failing.subnet, undone.subnet}
    kept = (
        "ConfigRule",
        "EvaluateFunction",
        "PlanFunction",
        "AutomationRole",
        "EvaluateRole",
        "PlanRole",
        "LedgerTable",
    )
    before = {name: stack.resources[name] for name in kept}

    assert update_stack(stack, present_template(), CODE | case.present) is None
    assert {name: stack.resources[name] for name in kept} == before
    check_names(sandbox, stack)
    assert (items(sandbox, ledger), stack.outputs["LedgerTableName"]) == (written, ledger)
    assert results_of(sandbox.account_id, sandbox.region).of_rule(rule.rule.name) == results
    assert findings(sandbox) == found
    listed = {run_id: ("HEALED", table) for run_id, table in zip(runs, vpc.tables, strict=True)}
    assert heals() == listed | {undone_run: ("UNDONE", undone.table)}

    integrations = create_stack(
        region.account,
        f"{STACK}-integrations",
        present_template(INTEGRATIONS),
        integrated | {"RuleName": rule.rule.name},
    )
    assert integrations.failure is None
    consume_ocsf(sandbox, integrations.outputs["OcsfBusName"])
    with region.present(stack), region.present(integrations):
        assert rule.scheduled().error is None
        region.deliver(integrations, "SecurityHubQueue", "SecurityHubFunction")
        region.deliver(integrations, "OcsfQueue", "OcsfFunction")
        assert (findings(sandbox), uids(sandbox)) == (found, published)
        for healed in (failing, undone):
            succeeded(region.run(stack, "HealDocument", SubnetId=healed.subnet))
        for run_id in reversed(runs):
            succeeded(region.run(stack, "UndoDocument", RunId=run_id))
        assert network(builder, vpc) == untouched
        assert rule.scheduled().error is None
        region.deliver(integrations, "SecurityHubQueue", "SecurityHubFunction")
    states = dict.fromkeys(vpc.subnets, "ACTIVE") | dict.fromkeys((failing.subnet, undone.subnet), "ARCHIVED")
    assert findings(sandbox) == {
        key: (subnet_id, created, states[subnet_id]) for key, (subnet_id, created, _) in found.items()
    }
    checked = {
        row["name"]: row["state"]
        for row in json.loads(invoke(["doctor", "--stack", STACK, "--format", "json"]).stdout)["checks"]
    }
    assert {name: checked[name] for name in WORKING} == dict.fromkeys(WORKING, "OK")
    assert {run: state for run, (state, _) in heals().items() if run in listed} == dict.fromkeys(listed, "UNDONE")


def test_runs_finish_what_killed_runs_of_the_earlier_version_began(region: Region, builder: Builder) -> None:
    """After the earlier heal was killed at a change, a heal succeeds at once, and can be undone if it is confirmed."""
    vpcs = {step: Vpc(builder) for step in KILLED}
    untouched = {step: network(builder, vpc) for step, vpc in vpcs.items()}
    stack = create_stack(region.account, STACK, earlier_template(), CODE)
    with region.earlier(stack):
        for step, vpc in vpcs.items():
            with region.automation.killing(during=step):
                assert status(region.run(stack, "HealDocument", SubnetId=vpc.subnet)) == "Cancelled"
    assert update_stack(stack, present_template(), CODE) is None
    with region.present(stack):
        for vpc in vpcs.values():
            succeeded(region.run(stack, "HealDocument", SubnetId=vpc.subnet))
        runs = {(table, state): run for run, (state, table) in heals().items()}
        for step, vpc in vpcs.items():
            undo = region.run(stack, "UndoDocument", RunId=runs[vpc.table, KILLED[step]])
            if step == "associate":
                assert "the ledger does not confirm that it succeeded" in undo["FailureMessage"]
            else:
                succeeded(undo)
                assert network(builder, vpc) == untouched[step], step
