"""Decoys in the caller's own account: heal, undo, stop, start, and doctor use none of them, alone or beside the stack.

tests/cli/undo/test_trust.py has those of member accounts.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from typer.testing import Result

from config_rule_sandbox.cloudformation.described_stacks import created_stacks
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.server import Sandbox
from express_path.domain.heal.ledger_records import STOP_ID
from org.expansion import runbook
from tests.cli.heal.healing_stack import STACK, deployed, make_stack, remove_stack
from tests.support.command import invoke
from tests.support.heals import APPROVED, HEAL, RULE, UNDO, Deployment, Vpc
from tests.support.heals import FUNCTION as PLAN
from tests.support.ledgers import LEDGER, LedgerTable, heal_id
from tests.support.network import Builder
from tests.support.stack import listed_stack

pytestmark = pytest.mark.slow

HEALS = (("heal", "{subnet}", "--dry-run"), ("heal", "{subnet}", "--yes"))
UNDOS = tuple(("undo", "--since", "2026-11-22T12:00:00Z", word) for word in ("--dry-run", "--yes"))
EMPTY_ARCHIVE = b"PK\x05\x06" + bytes(18)
EVIL = {
    "schemaVersion": "0.3",
    "parameters": {"RunId": {"type": "String"}, "SubnetId": {"type": "String"}, "DryRun": {"type": "String"}},
    "mainSteps": [
        {
            "name": "grant",
            "action": "aws:executeAwsApi",
            "inputs": {"Service": "iam", "Api": "CreateUser", "UserName": "stranger"},
        }
    ],
}
"""A runbook without assumeRole, which runs as whoever starts it."""
ROLE, FUNCTION, DOCUMENT = "AWS::IAM::Role", "AWS::Lambda::Function", "AWS::SSM::Document"
TYPES = {
    "ConfigRule": "AWS::Config::ConfigRule",
    "EvaluateFunction": FUNCTION,
    "PlanFunction": FUNCTION,
    "AutomationRole": ROLE,
    "StopRole": ROLE,
    "LedgerTable": "AWS::DynamoDB::Table",
    "HealDocument": DOCUMENT,
    "ApprovalDocument": DOCUMENT,
    "UndoDocument": DOCUMENT,
}


@dataclass
class Decoy:
    """A stack of somebody who may not do everything: what CloudFormation lists of it, and its outputs.

    is_evil: whether its runbooks have another content than those of the release. path: that of its role. environment: the
    ledger that its function uses. status: that of resources that have the names of the real ones, unless CREATE_COMPLETE.
    """

    types: Mapping[str, str] = field(default_factory=lambda: TYPES)
    is_evil: bool = False
    path: str = "/express-path/automation/"
    parameters: Mapping[str, str] = field(default_factory=dict)
    environment: str = "decoy-ledger"
    status: str = "CREATE_COMPLETE"


OTHER = "-decoy"
CUSTOM = "Custom::Decoy"
DECOYS = {
    "stack": Decoy({"Topic": "AWS::SNS::Topic"}, is_evil=True),
    "documents": Decoy(is_evil=True),
    "roles": Decoy(path="/"),
    "custom roles": Decoy({**TYPES, "AutomationRole": CUSTOM, "StopRole": CUSTOM}),
    "functions": Decoy({**TYPES, "PlanFunction": CUSTOM, "EvaluateFunction": CUSTOM}),
    "tables": Decoy({**TYPES, "LedgerTable": CUSTOM}),
    "table of a parameter": Decoy(parameters={"LedgerTableName": "decoy-ledger"}, environment=LEDGER),
    **{
        status: Decoy(status=status)
        for status in ("CREATE_FAILED", "CREATE_IN_PROGRESS", "IMPORT_FAILED", "UPDATE_FAILED", "DELETE_FAILED")
    },
    "all": Decoy(
        {"Topic": "AWS::SNS::Topic"},
        is_evil=True,
        path="/",
        parameters={"LedgerTableName": "decoy-ledger"},
        environment=LEDGER,
    ),
}


def make(deployment: Deployment, decoy: Decoy, vpc: Vpc) -> None:
    """Create a decoy with a ledger that claims a heal."""
    sandbox = deployment.sandbox
    iam: Client = sandbox.client("iam")
    trust = json.dumps({"Version": "2012-10-17", "Statement": []})
    role = iam.create_role(RoleName="decoy", Path=decoy.path, AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    for document in (HEAL, APPROVED, UNDO):
        content = json.dumps(EVIL if decoy.is_evil else runbook(document))
        deployment.ssm.create_document(Name=f"{document}{OTHER}", Content=content, DocumentType="Automation")
    sandbox.client("lambda").create_function(
        FunctionName="decoy-plan",
        Role=role,
        Handler="handler",
        Runtime="python3.13",
        Code={"ZipFile": EMPTY_ARCHIVE},
        Environment={"Variables": {"LEDGER_TABLE_NAME": decoy.environment}},
    )
    ledger = LedgerTable(sandbox, "decoy-ledger")
    ledger.write_heal(heal_id(7), vpc.id, vpc.table, "vpce-0a1b2c3d4e5f60718", created=True)
    names = {
        "ConfigRule": "decoy",
        "EvaluateFunction": "decoy-plan",
        "PlanFunction": "decoy-plan",
        "AutomationRole": "decoy",
        "StopRole": "decoy",
        "LedgerTable": "decoy-ledger",
        "HealDocument": f"{HEAL}{OTHER}",
        "ApprovalDocument": f"{APPROVED}{OTHER}",
        "UndoDocument": f"{UNDO}{OTHER}",
        "Topic": "topic",
    }
    outputs = {
        "RuleName": "decoy",
        "HealDocumentName": f"{HEAL}{OTHER}",
        "ApprovalDocumentName": f"{APPROVED}{OTHER}",
        "UndoDocumentName": f"{UNDO}{OTHER}",
        "LedgerTableName": "decoy-ledger",
        "StopRoleArn": f"arn:aws:iam::{sandbox.account_id}:role/express-path/automation/decoy",
        "AutomationRoleArn": role,
        "PlanFunctionArn": f"arn:aws:lambda:{sandbox.region}:{sandbox.account_id}:function:decoy-plan",
    }
    listed = {logical_id: names[logical_id] for logical_id in decoy.types}
    statuses: dict[str, str] = {}
    if decoy.status != "CREATE_COMPLETE":  # what was not created has the names that its template gives
        listed |= {"ConfigRule": RULE, "HealDocument": HEAL, "ApprovalDocument": APPROVED, "UndoDocument": UNDO}
        listed["AutomationRole"] = deployment.given["AutomationAssumeRole"].rpartition("/")[2]
        listed["StopRole"] = "stop"
        statuses = {name: decoy.status for name, kind in TYPES.items() if kind not in (FUNCTION, TYPES["LedgerTable"])}
    listed_stack(sandbox, "a-decoy", listed, outputs, types=decoy.types, RemediationMode="ON", **decoy.parameters)
    created_stacks(sandbox.account_id, sandbox.region)[0].statuses = statuses


def started(sandbox: Sandbox) -> set[tuple[str, str | None]]:
    """Return the runbooks that were started, with their versions."""
    calls = sandbox.calls.of("ssm", "StartAutomationExecution")
    return {(call.parameters["DocumentName"], call.parameters.get("DocumentVersion")) for call in calls}


@pytest.fixture
def nothing(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """Yield the runbooks, roles, and ledger of a stack that CloudFormation does not list."""
    with deployed(sandbox, monkeypatch, name="") as made:
        yield made


def run(words: Sequence[str], vpc: Vpc) -> Result:
    """Run a command about the subnet of a VPC."""
    return invoke([word.format(subnet=vpc.subnet) for word in words])


@pytest.mark.parametrize("kind", DECOYS)
def test_nothing_is_started_in_a_decoy(nothing: Deployment, vpc: Vpc, kind: str) -> None:
    """Not even a dry run. The commands fail and name it, and nobody's network is changed."""
    make(nothing, DECOYS[kind], vpc)
    nothing.sandbox.calls.clear()
    for words in (*HEALS, *UNDOS):
        result = run(words, vpc)
        assert (result.exit_code, "decoy" in result.stderr, started(nothing.sandbox)) == (2, True, set()), words
    for words in (("stop",), ("start", "--yes")):
        run(words, vpc)
    assert started(nothing.sandbox) == set()
    assert nothing.changes() == []


@pytest.mark.parametrize("kind", DECOYS)
def test_doctor_names_a_decoy(nothing: Deployment, vpc: Vpc, kind: str) -> None:
    """The check of the stack is not OK, or that of its role or runbook. Asked about another stack, doctor warns."""
    make(nothing, DECOYS[kind], vpc)
    checks = {
        row["name"]: row["state"]
        for row in json.loads(invoke(["doctor", "--stack", "a-decoy", "--format", "json"]).stdout)["checks"]
    }
    assert {checks.get(name) for name in ("stack", "role", "heal-runbook")} & {"FAIL", "WARN"}
    if checks["stack"] == "FAIL":
        shown = json.loads(invoke(["doctor", "--format", "json"]).stdout)["checks"]
        [warning] = [row for row in shown if row["name"] == "decoys"]
        assert (warning["state"], "stack a-decoy is not a stack of express-path" in warning["finding"]) == (
            "WARN",
            True,
        )


@pytest.mark.parametrize("outputs", ["RuleName", "AutomationRoleArn", "all"])
def test_doctor_uses_nothing_of_a_decoy(nothing: Deployment, vpc: Vpc, outputs: str) -> None:
    """It assumes no role that a decoy names, reads nothing of it, and prints no command with its words."""
    given = {"NetworkRoleArn": "arn:aws:iam::210987654321:role/decoy", "CodeKey": "decoy.zip; true"}
    make(nothing, Decoy({"Topic": "AWS::SNS::Topic"}, is_evil=True, parameters=given), vpc)
    stack = created_stacks(nothing.sandbox.account_id, nothing.sandbox.region)[0]
    stack.outputs = {name: text for name, text in stack.outputs.items() if outputs in (name, "all")}
    nothing.sandbox.calls.clear()
    checks = json.loads(invoke(["doctor", "--stack", "a-decoy", "--format", "json"]).stdout)["checks"]
    named = {row["name"]: row["state"] for row in checks if "decoy" in json.dumps({**row, "name": ""})}
    assert named == {"stack": "FAIL"}
    about = [call for call in nothing.sandbox.calls if "decoy" in json.dumps(call.parameters, default=str)]
    assert {call.service for call in about} == {"cloudformation"}


@pytest.mark.parametrize("kind", DECOYS)
def test_the_stack_beside_a_decoy_is_used(deployment: Deployment, builder: Builder, vpc: Vpc, kind: str) -> None:
    """Only the release's runbooks are started, in the version that was compared, with the role and function of the stack."""
    deployment.ledger.heal(builder, vpc.id, vpc.table)
    make(deployment, DECOYS[kind], vpc)
    deployment.sandbox.calls.clear()
    for words in (HEALS[0], UNDOS[-1]):
        run((*words, "--stack", STACK), vpc)
    for words in (("stop",), ("start", "--yes")):
        run(words, vpc)
    assert started(deployment.sandbox) == {(HEAL, "1"), (UNDO, "1")}
    for call in deployment.sandbox.calls.of("ssm", "StartAutomationExecution"):
        given = call.parameters["Parameters"]
        assert {name: given[name] for name in deployment.given} == {
            name: [value] for name, value in deployment.given.items()
        }


def test_a_decoy_that_cannot_be_read_keeps_nobody_from_stopping(deployment: Deployment, vpc: Vpc) -> None:
    """Its function may be one that the person may not read. It is named, and the status is 2."""
    make(deployment, DECOYS["table of a parameter"], vpc)
    deployment.sandbox.faults.deny("lambda", "GetFunctionConfiguration")
    result = invoke(["stop"])
    assert (result.exit_code, f"stopped: account 123456789012 us-east-1, stack {STACK}, " in result.stdout) == (2, True)
    assert "stack a-decoy: lambda:GetFunctionConfiguration" in result.stderr
    assert deployment.ledger.item(STOP_ID)


def test_many_decoys_do_not_delay_a_stop(deployment: Deployment, vpc: Vpc) -> None:
    """The oldest stacks are read first, and each is stopped as soon as it is read. One line names a few of the decoys."""
    outputs = {"HealDocumentName": "x", "LedgerTableName": "y"}
    for number in range(300):
        listed_stack(deployment.sandbox, f"d{number}", {"Topic": "t"}, outputs, types={"Topic": "AWS::SNS::Topic"})
    deployment.sandbox.calls.clear()
    result = run(("stop",), vpc)
    calls = [call.operation for call in deployment.sandbox.calls]
    assert calls[: calls.index("PutItem")].count("ListStackResources") < 100
    [line] = [line for line in result.stderr.splitlines() if "d0" in line]
    assert "300 stacks (d0, d1, d10, and 297 others) are not stacks of express-path, such as d0: it has no " in line
    assert (result.exit_code, bool(deployment.ledger.item(STOP_ID))) == (2, True)
    shown = json.loads(invoke(["doctor", "--format", "json"]).stdout)["checks"]
    assert "and 297 others" in next(row["finding"] for row in shown if row["name"] == "decoys")
    healed = run(HEALS[0], vpc)
    assert (healed.exit_code, healed.stderr.count("not stacks of express-path")) == (0, 1)


def test_an_own_ledger_counts_if_the_function_uses_it(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """A stack with LedgerTableName heals as one that made its ledger."""
    remove_stack(deployment.sandbox, STACK)
    function = {"Role": deployment.given["AutomationAssumeRole"], "Handler": "handler", "Runtime": "python3.13"}
    deployment.sandbox.client("lambda").create_function(
        FunctionName=PLAN,
        Code={"ZipFile": EMPTY_ARCHIVE},
        Environment={"Variables": {"LEDGER_TABLE_NAME": LEDGER}},
        **function,
    )
    make_stack(deployment.sandbox, deployment, "own", ledger="", LedgerTableName=LEDGER)
    deployment.ledger.heal(builder, vpc.id, vpc.table)
    result = run(UNDOS[-1], vpc)
    assert (result.exit_code, "1 heal: 1 undone\n" in result.stdout) == (0, True), result.stderr
