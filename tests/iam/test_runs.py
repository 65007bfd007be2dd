"""Complete runs with permissions enforced: the stack's roles are enough for every step."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path.healing import rereading
from tests.iam.deployed import APPROVAL, HEAL, UNDO, Deployed, Run
from tests.support.network import Builder, Private
from tests.support.rule import Rule
from tests.support.stack import POLICY, TOPIC, Stack
from tests.support.template import expanded

pytestmark = pytest.mark.slow


def ended(run: Run) -> tuple[str, str]:
    """Return the status of a run and its failure message."""
    return run["AutomationExecutionStatus"], run.get("FailureMessage", "")


def endpoints(builder: Builder) -> list[dict[str, Any]]:
    """Return the endpoints that are not deleted."""
    found = builder.ec2.describe_vpc_endpoints()["VpcEndpoints"]
    return [endpoint for endpoint in found if endpoint["State"] not in {"deleting", "deleted"}]


def test_roles_are_enough_to_heal_and_to_undo(deployed: Deployed, builder: Builder, vpc: Private, subnet: str) -> None:
    """With a calendar and a policy, the stack's roles are enough to heal a subnet and undo the heal."""
    before = builder.ec2.describe_route_tables(RouteTableIds=[vpc.table])["RouteTables"]
    healed = deployed.run(HEAL, SubnetId=subnet)
    assert ended(healed) == ("Success", "")
    [endpoint] = endpoints(builder)
    assert json.loads(endpoint["PolicyDocument"]) == json.loads(POLICY)
    assert endpoint["RouteTableIds"] == [vpc.table]
    undone = deployed.run(UNDO, RunId=healed["AutomationExecutionId"])
    assert ended(undone) == ("Success", "")
    assert endpoints(builder) == []
    assert builder.ec2.describe_route_tables(RouteTableIds=[vpc.table])["RouteTables"] == before


def test_a_heal_and_its_undo_stay_within_a_permissions_boundary(
    sandbox: Sandbox, builder: Builder, vpc: Private, subnet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the boundary does not allow fails, although the role allows it. Nothing is left of it, and then both work."""
    monkeypatch.setattr(rereading, "SECONDS_APART", 0)

    def policy(*denied: str) -> str:
        allowed = {"Effect": "Allow", "NotAction": ["iam:*", *denied], "Resource": "*"}
        return json.dumps({"Version": "2012-10-17", "Statement": allowed})

    iam = sandbox.client("iam")
    made = iam.create_policy(PolicyName="limits", PolicyDocument=policy("ec2:CreateVpcEndpoint"))
    boundary = made["Policy"]["Arn"]
    with Automation(sandbox) as automation:
        automation.knobs.time_scale = 0.001
        deployed = Deployed(Stack(sandbox, PermissionsBoundaryArn=boundary), automation, monkeypatch.setenv)
        status, message = ended(deployed.run(HEAL, SubnetId=subnet))
        assert (status, "UnauthorizedOperation" in message, endpoints(builder)) == ("Failed", True, [])
        iam.create_policy_version(PolicyArn=boundary, PolicyDocument=policy(), SetAsDefault=True)
        healed = deployed.run(HEAL, SubnetId=subnet)
        assert ended(healed) == ("Success", "")
        assert [endpoint["RouteTableIds"] for endpoint in endpoints(builder)] == [[vpc.table]]
        assert ended(deployed.run(UNDO, RunId=healed["AutomationExecutionId"])) == ("Success", "")
        assert endpoints(builder) == []


def test_roles_are_enough_to_ask_and_then_heal(
    deployed: Deployed,
    sandbox: Sandbox,
    builder: Builder,
    vpc: Private,
    subnet: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The approval runbook notifies the approvers, sees a rejection, and after approval starts the heal runbook."""
    sandbox.client("sns").create_topic(Name=TOPIC.rpartition(":")[2])
    monkeypatch.setenv("REMEDIATION_MODE", "APPROVAL")
    monkeypatch.setenv("APPROVERS", "operator")
    with deployed.enforced():
        for asked, (answer, end) in enumerate([("Reject", "Failed"), ("Approve", "Success")]):
            run_id = deployed.start(APPROVAL, SubnetId=subnet)
            while len(sandbox.calls.of("sns", "Publish")) == asked:
                time.sleep(0.01)
            assert endpoints(builder) == []
            deployed.operator.send_automation_signal(AutomationExecutionId=run_id, SignalType=answer)
            status, message = ended(deployed.automation.wait(run_id))
            assert (status, "APPROVAL_DENIED" in message) == (end, answer == "Reject"), message
    assert [endpoint["RouteTableIds"] for endpoint in endpoints(builder)] == [[vpc.table]]


def test_adopt_iac_owned_allows_endpoints_of_cloudformation(sandbox: Sandbox, builder: Builder, vpc: Private) -> None:
    """With AdoptIacOwned, the role can add route tables to an endpoint that CloudFormation owns."""
    stack = Stack(sandbox, AdoptIacOwned="true")
    endpoint = builder.endpoint(vpc.vpc)
    owner = "arn:aws:cloudformation:us-east-1:123456789012:stack/network/1"
    builder.memory.create_tags([endpoint], {"aws:cloudformation:stack-id": owner})
    client = stack.client("AutomationRole", "ec2")
    with stack.enforced():
        assert client.modify_vpc_endpoint(VpcEndpointId=endpoint, AddRouteTableIds=[vpc.table])["Return"]


@pytest.fixture
def remediation(deployed: Deployed, sandbox: Sandbox) -> Iterator[Remediation]:
    """Yield AWS Config's remediation with the runbooks deployed."""
    with Remediation(sandbox, deployed.automation) as running:
        yield running


def configured(stack: Stack) -> dict[str, Any]:
    """Return the stack's remediation configuration as CloudFormation passes it to AWS Config."""
    found: dict[str, Any] = stack.template.deployed(stack.template.properties("Remediation"))
    return found


def test_the_stacks_remediation_heals_what_the_rule_flags_if_it_is_on(
    deployed: Deployed, remediation: Remediation, subnet: str
) -> None:
    """AWS Config's remediation heals flagged subnets with the stack's roles; in mode OFF it starts no run."""
    rule = Rule(deployed.stack.sandbox)
    config: Client = deployed.stack.sandbox.client("config")
    rule.changes()
    for mode, states, compliance in (("OFF", [], "NON_COMPLIANT"), ("ON", ["SUCCEEDED"], "COMPLIANT")):
        assert rule.held()[subnet].compliance == "NON_COMPLIANT"
        deployed.stack.template = expanded(RemediationMode=mode)
        config.put_remediation_configurations(RemediationConfigurations=[configured(deployed.stack)])
        with deployed.enforced():
            ended_runs = remediation.remediate(rule.loop.rule.name)
        assert [run.state for run in ended_runs if run.resource[1] == subnet] == states
        rule.restart()
        rule.changes()
        assert rule.held()[subnet].compliance == compliance
