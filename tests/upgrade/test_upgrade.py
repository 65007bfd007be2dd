"""A stack of an earlier version, whose functions and runbooks healed and wrote, is updated as docs/deploy.md says.

Its functions run in Lambda's runtime. `earlier.tar.xz` has what was deployed at commit 0864cc0: the template as plain
CloudFormation with the runbooks in it, and the functions' code. It was made in a checkout of that commit:

    .venv/bin/python -c "import json, pathlib, org.expansion as o
    print(json.dumps(o.expand(pathlib.Path('template.yaml'), 'code.zip')), end='')" > functions/template.json
    tar -C functions --sort=name --mtime=@0 --owner=0 --group=0 --exclude=__pycache__ -c express_path template.json | xz -9e > earlier.tar.xz
"""

import json
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import boto3
import pytest

from express_path_integrations.adapters.ocsf import DETAIL_TYPE, SOURCE
from integrations.tests.siem import QUEUE, create_queue, received
from org.expansion import expand
from sandbox.cloudformation.account import Account
from sandbox.cloudformation.stacks import Stack, create_stack, update_stack
from sandbox.config_items.direct import direct_client
from sandbox.config_loop import ConfigLoop
from sandbox.config_service import results_of
from sandbox.config_service.deployment import RuleDefinition, prepare
from sandbox.event_sources import poll
from sandbox.lambda_runtime import LambdaRuntime
from sandbox.remediation import configuration, remediations_of
from sandbox.security_hub import findings_of
from sandbox.server import Sandbox
from sandbox.ssm import Automation
from tests.support.command import invoke
from tests.support.heals import APPROVED, HEAL, UNDO, Vpc, run_id_of, status
from tests.support.network import Builder
from tests.support.rule import RULE
from tests.support.template import INTEGRATIONS, MAIN, ROOT

pytestmark = [pytest.mark.long, pytest.mark.runtime]

EARLIER = Path(__file__).parent / "earlier.tar.xz"
CODE = {"ArtifactBucketPrefix": "artifacts", "CodeKey": "code.zip"}
ENTRY = """
import sys
sys.path.append({site!r})  # boto3 and Powertools
from {module} import handler as function

def handler(event, context):
    context.invoked_function_arn = {arn!r}  # the emulator gives all functions the same account
    return function(event, context)
"""


def earlier_template() -> dict[str, Any]:
    """Return the template of the earlier version."""
    with tarfile.open(EARLIER) as archive:
        member = archive.extractfile("template.json")
        assert member
        parsed: dict[str, Any] = json.load(member)
    return parsed


def present_template(name: str = MAIN) -> dict[str, Any]:
    """Return a template of this version as plain CloudFormation."""
    return expand(ROOT / name, CODE["CodeKey"])


class Region:
    """An account and Region where AWS Config records, with a bucket for code, the rule, and runbooks.

    `functions` are those of the deployed stacks, by the logical ID.
    """

    def __init__(self, sandbox: Sandbox, automation: Automation, folder: Path) -> None:
        """Deploy nothing yet; `folder` is for the code of functions."""
        self.sandbox = sandbox
        self.automation = automation
        self.account = Account(sandbox, sandbox.account_id, sandbox.region)
        self.functions: dict[str, LambdaRuntime] = {}
        self._folder = folder
        prepare(sandbox)
        s3 = direct_client(sandbox, "s3")
        bucket = f"{CODE['ArtifactBucketPrefix']}-{sandbox.region}"
        s3.create_bucket(Bucket=bucket)
        s3.put_object(Bucket=bucket, Key=CODE["CodeKey"], Body=b"PK\5\6" + bytes(18))  # an empty archive

    @contextmanager
    def earlier(self, stack: Stack) -> Iterator[None]:
        """Run a stack's functions with the code of the earlier version."""
        code = self._folder / "earlier"
        with tarfile.open(EARLIER) as archive:
            archive.extractall(code, filter="data")
        with self._running(stack, code / "express_path"):
            yield

    @contextmanager
    def present(self, stack: Stack) -> Iterator[None]:
        """Run a stack's functions with the code of this version."""
        packages = (ROOT / "functions" / "express_path", ROOT / "integrations" / "express_path_integrations")
        with self._running(stack, *packages):
            yield

    @contextmanager
    def _running(self, stack: Stack, *packages: Path) -> Iterator[None]:
        with ExitStack() as running:
            for logical_id, definition in stack.template["Resources"].items():
                if definition["Type"] == "AWS::Lambda::Function" and logical_id in stack.resources:
                    name, runtime = stack.resources[logical_id].physical_id, self._runtime(stack, logical_id, *packages)
                    self.functions[logical_id] = running.enter_context(runtime)
                    self.automation.functions.register(name, runtime.invoke)
                    self.sandbox.eventbridge.register(name, runtime.invoke)
            yield

    def _runtime(self, stack: Stack, logical_id: str, *packages: Path) -> LambdaRuntime:
        properties, function = stack.properties[logical_id], stack.resources[logical_id]
        folder = self._folder / f"{function.physical_id}-{stack.updates}"
        folder.mkdir()
        for package in packages:
            (folder / package.name).symlink_to(package)
        module, site = properties["Handler"].rpartition(".")[0], str(Path(boto3.__file__).parents[1])
        (folder / "entry.py").write_text(
            ENTRY.format(site=site, module=module, arn=function.attributes["Arn"]), encoding="utf-8"
        )
        variables = self.sandbox.environment() | properties["Environment"]["Variables"]
        return LambdaRuntime(folder, "entry.handler", variables, function_name=function.physical_id)

    def rule_of(self, stack: Stack) -> ConfigLoop:
        """Return AWS Config's loop for the rule of a stack, which invokes the function that runs at the time."""
        name, function = (stack.resources[key].physical_id for key in ("ConfigRule", "EvaluateFunction"))
        definition = RuleDefinition(name, function, RULE.resource_types)

        def invoke(event: dict[str, Any]) -> Any:
            return self.functions["EvaluateFunction"].invoke(event)

        return ConfigLoop(self.sandbox, invoke, rule=definition)

    def deliver(self, stack: Stack, queue: str, function: str) -> None:
        """Invoke a function with the messages of its queue, until there are none."""
        url = stack.resources[queue].physical_id
        while (polled := poll(self.sandbox, url, self.functions[function].invoke)).deleted:
            assert polled.error is None
            assert polled.returned == ()

    def run(self, stack: Stack, document: str, **given: str) -> dict[str, Any]:
        """Run a runbook of a stack until it ends, with the stack's role and function."""
        own = {
            "AutomationAssumeRole": stack.outputs["AutomationRoleArn"],
            "PlanFunctionName": stack.outputs["PlanFunctionArn"],
        }
        return self.automation.execute(stack.resources[document].physical_id, own | given)


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
    *("stack", "rule", "last-run", "last-error", "function", "errors", "verdicts"),
    *("heal-runbook", "approval-runbook", "undo-runbook", "plan-function"),
)
"""What the check-up finds in order after the update."""


@pytest.fixture
def region(sandbox: Sandbox, tmp_path: Path) -> Iterator[Region]:
    """Yield an account and Region whose Security Hub is enabled."""
    sandbox.client("securityhub").enable_security_hub()
    direct_client(sandbox, "events").create_event_bus(Name="ours")
    create_queue(sandbox)
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
    return run_id_of(run)


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
