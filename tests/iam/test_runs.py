"""Whole runs of the runbooks where permissions are enforced: the stack's roles are enough for every step."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from express_path import looking
from express_path.handlers import remediate
from express_path.handlers.services import services
from sandbox.dynamic import Client
from sandbox.remediation import Remediation
from sandbox.server import Sandbox
from sandbox.ssm import Automation
from tests.handlers.network import Builder, Private
from tests.handlers.rule import Context, Rule
from tests.iam.stack import CALENDAR, POLICY_PARAMETER, TOPIC, Stack
from tests.template.expand import Expanded

HEAL, APPROVAL, UNDO = "HealDocument", "ApprovalDocument", "UndoDocument"
ONLY_SESSIONS = {"Effect": "Allow", "Principal": "*", "Action": "s3express:CreateSession", "Resource": "*"}
POLICY = json.dumps({"Version": "2012-10-17", "Statement": [ONLY_SESSIONS]})
Run = dict[str, Any]


class Deployed:
    """The whole stack in a sandbox: runbooks, roles, and the plan function under its own role."""

    def __init__(self, stack: Stack, automation: Automation, environ: Callable[[str, str], None]) -> None:
        """Deploy it; environ sets an environment variable."""
        self.stack = stack
        self.automation = automation
        self._publish()
        self._create_operator()
        variables = stack.template.properties("PlanFunction")["Environment"]["Variables"]
        for name, value in {**variables, **_upper(stack.credentials("PlanRole"))}.items():
            environ(name, value)
        automation.functions.register(stack.template.deployed("<PlanFunction>"), _plan)

    def _publish(self) -> None:
        ssm: Client = self.stack.sandbox.client("ssm")
        for logical_id in (HEAL, APPROVAL, UNDO):
            document = self.stack.template.properties(logical_id)
            content = json.dumps(document["Content"])
            ssm.create_document(Name=document["Name"], Content=content, DocumentType="Automation")

    def _create_operator(self) -> None:
        """Create somebody who may start runbooks, pass their role and answer them, and nothing else."""
        actions = ["ssm:StartAutomationExecution", "ssm:SendAutomationSignal"]
        start = {"Effect": "Allow", "Action": actions, "Resource": "*"}
        hand_on = {"Effect": "Allow", "Action": "iam:PassRole", "Resource": self.stack.arn("AutomationRole")}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [start, hand_on]})
        self.stack.iam.create_user(UserName="operator")
        self.stack.iam.put_user_policy(UserName="operator", PolicyName="start", PolicyDocument=policy)
        key = self.stack.iam.create_access_key(UserName="operator")["AccessKey"]
        credentials = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
        self.operator: Client = self.stack.sandbox.client("ssm", credentials=credentials)

    def run(self, logical_id: str, **given: str) -> Run:
        """Run a runbook to its end, every request of it needing a permission."""
        with self.enforced():
            return self.automation.wait(self.start(logical_id, **given))

    def start(self, logical_id: str, **given: str) -> str:
        """Start a runbook as the operator, and return the id of the run."""
        given |= {
            "AutomationAssumeRole": self.stack.arn("AutomationRole"),
            "PlanFunctionName": self.stack.arn("PlanFunction"),
        }
        name = self.stack.template.properties(logical_id)["Name"]
        parameters = {name: [value] for name, value in given.items()}
        started = self.operator.start_automation_execution(DocumentName=name, Parameters=parameters)
        return str(started["AutomationExecutionId"])

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Require a permission for every request, and let the plan function start cold."""
        services.cache_clear()
        with self.stack.enforced():
            yield


def _upper(credentials: dict[str, str]) -> dict[str, str]:
    return {name.upper(): value for name, value in credentials.items()}


def _plan(event: dict[str, Any]) -> dict[str, Any]:
    return remediate.handler(event, Context())


@pytest.fixture
def deployed(stack: Stack, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    """The stack, deployed; the environment is that of its plan function."""
    monkeypatch.setattr(looking, "SECONDS_APART", 0)
    # A cache that ends with the test: the function reads its variables once.
    monkeypatch.setattr(remediate, "rule_parameters", cache(remediate.rule_parameters.__wrapped__))
    with Automation(sandbox) as automation:
        automation.knobs.time_scale = 0.001
        automation.knobs.open_calendars.add(CALENDAR)
        yield Deployed(stack, automation, monkeypatch.setenv)


@pytest.fixture
def subnet(builder: Builder, vpc: Private) -> str:
    """A private subnet with nothing in the way of a heal."""
    builder.ec2.modify_vpc_attribute(VpcId=vpc.vpc, EnableDnsHostnames={"Value": True})
    return vpc.subnet


def ended(run: Run) -> tuple[str, str]:
    """Return how a run ended, and why it failed if it did."""
    return run["AutomationExecutionStatus"], run.get("FailureMessage", "")


def endpoints(builder: Builder) -> list[dict[str, Any]]:
    """Return the endpoints that are not gone."""
    found = builder.ec2.describe_vpc_endpoints()["VpcEndpoints"]
    return [each for each in found if each["State"] not in {"deleting", "deleted"}]


def test_roles_are_enough_to_heal_and_to_undo(deployed: Deployed, builder: Builder, vpc: Private, subnet: str) -> None:
    """A subnet is healed with calendar and policy, and the heal undone, by no other permissions than the stack's."""
    deployed.stack.sandbox.client("ssm").put_parameter(Name=POLICY_PARAMETER, Value=POLICY, Type="String")
    before = builder.ec2.describe_route_tables(RouteTableIds=[vpc.table])["RouteTables"]
    healed = deployed.run(HEAL, SubnetId=subnet, ChangeCalendarName=CALENDAR, EndpointPolicyParameter=POLICY_PARAMETER)
    assert ended(healed) == ("Success", "")
    [endpoint] = endpoints(builder)
    assert json.loads(endpoint["PolicyDocument"]) == json.loads(POLICY)
    assert endpoint["RouteTableIds"] == [vpc.table]
    undone = deployed.run(UNDO, RunId=healed["AutomationExecutionId"])
    assert ended(undone) == ("Success", "")
    assert endpoints(builder) == []
    assert builder.ec2.describe_route_tables(RouteTableIds=[vpc.table])["RouteTables"] == before


def test_role_is_enough_to_associate_with_an_endpoint_of_a_person(
    deployed: Deployed, builder: Builder, vpc: Private, subnet: str
) -> None:
    """An endpoint without any tag gets the table, and keeps its own after the undo."""
    made = builder.endpoint(vpc.vpc)
    healed = deployed.run(HEAL, SubnetId=subnet)
    assert ended(healed) == ("Success", "")
    assert [(each["VpcEndpointId"], each["RouteTableIds"]) for each in endpoints(builder)] == [(made, [vpc.table])]
    assert ended(deployed.run(UNDO, RunId=healed["AutomationExecutionId"])) == ("Success", "")
    assert [(each["VpcEndpointId"], each["RouteTableIds"]) for each in endpoints(builder)] == [(made, [])]


def test_a_role_without_a_permission_fails_at_the_step_that_needs_it(
    deployed: Deployed, builder: Builder, subnet: str
) -> None:
    """The runs above would notice a missing permission: without the policies, the first call is refused."""
    deployed.stack.iam.delete_role_policy(RoleName=deployed.stack.role_name("AutomationRole"), PolicyName="heal")
    status, reason = ended(deployed.run(HEAL, SubnetId=subnet))
    assert status == "Failed"
    assert "lambda" in reason.lower() or "AccessDenied" in reason
    assert endpoints(builder) == []


def test_roles_are_enough_to_ask_and_then_heal(
    deployed: Deployed, sandbox: Sandbox, builder: Builder, vpc: Private, subnet: str
) -> None:
    """The runbook that asks tells the approvers, starts the one that heals after a yes, and hands it its own role."""
    sandbox.client("sns").create_topic(Name=TOPIC.rpartition(":")[2])
    given = {"ApprovalTopicArn": TOPIC, "Approvers": "operator"}
    heal = deployed.stack.template.properties(HEAL)["Name"]
    with deployed.enforced():
        run_id = deployed.start(APPROVAL, SubnetId=subnet, HealDocumentName=heal, **given)
        while not sandbox.calls.of("sns", "Publish"):
            time.sleep(0.01)
        assert endpoints(builder) == []
        deployed.operator.send_automation_signal(AutomationExecutionId=run_id, SignalType="Approve")
        run = deployed.automation.wait(run_id)
    assert ended(run) == ("Success", "")
    assert [each["RouteTableIds"] for each in endpoints(builder)] == [[vpc.table]]


@pytest.fixture
def remediation(deployed: Deployed, sandbox: Sandbox) -> Iterator[Remediation]:
    """AWS Config's remediation, with the runbooks deployed."""
    with Remediation(sandbox, deployed.automation) as running:
        yield running


def configured(stack: Stack) -> dict[str, Any]:
    """Return the stack's remediation configuration as CloudFormation hands it to AWS Config: numbers are numbers."""
    found: dict[str, Any] = stack.template.deployed(stack.template.properties("Remediation"))
    return {
        **found,
        "MaximumAutomaticAttempts": int(found["MaximumAutomaticAttempts"]),
        "RetryAttemptSeconds": int(found["RetryAttemptSeconds"]),
        "ExecutionControls": {
            "SsmControls": {name: int(value) for name, value in found["ExecutionControls"]["SsmControls"].items()}
        },
    }


@pytest.mark.parametrize("mode", ["OFF", "ON"])
def test_the_stacks_remediation_heals_what_the_rule_flags_if_it_is_on(
    mode: str, deployed: Deployed, remediation: Remediation, subnet: str
) -> None:
    """What AWS Config starts by the stack's configuration heals by the stack's roles; in mode OFF it starts none."""
    rule = Rule(deployed.stack.sandbox)
    rule.changes()
    assert rule.held()[subnet].compliance == "NON_COMPLIANT"
    deployed.stack.template = Expanded(RemediationMode=mode)
    config: Client = deployed.stack.sandbox.client("config")
    config.put_remediation_configurations(RemediationConfigurations=[configured(deployed.stack)])
    with deployed.enforced():
        states = [run.state for run in remediation.remediate(rule.loop.rule.name) if run.resource[1] == subnet]
    assert states == (["SUCCEEDED"] if mode == "ON" else [])
    services.cache_clear()
    rule.changes()
    assert rule.held()[subnet].compliance == ("COMPLIANT" if mode == "ON" else "NON_COMPLIANT")
