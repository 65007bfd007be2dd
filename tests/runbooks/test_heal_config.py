"""AWS Config's remediation of what the rule finds: on demand, automatically, and where it cannot be done."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sandbox.remediation import Remediation
from sandbox.server import Sandbox
from tests.support.heals import HEAL, Deployment, Vpc
from tests.support.network import Builder
from tests.support.rule import Rule

SUBNET = "AWS::EC2::Subnet"


class Watched:
    """The rule, its remediation, and AWS Config around them."""

    def __init__(self, deployment: Deployment, remediation: Remediation, rule: Rule) -> None:
        """Let the rule judge everything once."""
        self.deployment, self.remediation, self.rule = deployment, remediation, rule
        self.config: Any = deployment.sandbox.client("config")
        self.name = rule.loop.rule.name
        rule.changes()

    def configure(self, *, automatic: bool = True, attempts: int = 3) -> None:
        """Let the runbook heal what the rule finds, as the stack does."""
        given = {**self.deployment.given, "StartedBy": "CONFIG"}
        static = {key: {"StaticValue": {"Values": [value]}} for key, value in given.items()}
        configuration = {
            "ConfigRuleName": self.name,
            "ResourceType": SUBNET,
            "TargetType": "SSM_DOCUMENT",
            "TargetId": HEAL,
            "Automatic": automatic,
            "MaximumAutomaticAttempts": attempts,
            "RetryAttemptSeconds": 600,
            "ExecutionControls": {"SsmControls": {"ConcurrentExecutionRatePercentage": 100, "ErrorPercentage": 100}},
            "Parameters": {"SubnetId": {"ResourceValue": {"Value": "RESOURCE_ID"}}, **static},
        }
        self.config.put_remediation_configurations(RemediationConfigurations=[configuration])

    def remediate(self) -> dict[str, list[str]]:
        """Let AWS Config remediate; return the states of the attempts on each subnet."""
        attempts: dict[str, list[str]] = {}
        for run in self.remediation.remediate(self.name):
            attempts.setdefault(run.resource[1], []).append(run.state)
        return attempts

    def compliance(self, subnet_id: str) -> str:
        """Let AWS Config notice what changed; return what it holds of a subnet."""
        self.rule.changes()
        return self.rule.held()[subnet_id].compliance


Watch = Callable[[], Watched]


@pytest.fixture
def remediation(sandbox: Sandbox, deployment: Deployment) -> Iterator[Remediation]:
    """AWS Config's remediation in force."""
    with Remediation(sandbox, deployment.automation) as running:
        yield running


@pytest.fixture
def watch(sandbox: Sandbox, deployment: Deployment, remediation: Remediation) -> Watch:
    """Begins to watch what was built so far."""
    return lambda: Watched(deployment, remediation, Rule(sandbox))


def test_flagged_subnets_are_healed_and_judged_again(watch: Watch, builder: Builder) -> None:
    """From NON_COMPLIANT to COMPLIANT without a person: one run for each subnet, one endpoint for all."""
    vpc = Vpc(builder, tables=2, subnets=2)
    watched = watch()
    assert {watched.compliance(subnet_id) for subnet_id in vpc.subnets} == {"NON_COMPLIANT"}
    watched.configure()
    assert watched.remediate() == {subnet_id: ["SUCCEEDED"] for subnet_id in vpc.subnets}
    assert list(watched.deployment.associations(vpc.id).values()) == [sorted(vpc.tables)]
    assert {watched.compliance(subnet_id) for subnet_id in vpc.subnets} == {"COMPLIANT"}


def test_remediation_of_stale_results_changes_nothing(watch: Watch, vpc: Vpc) -> None:
    """Config may start a run for a subnet that is compliant by now: the run looks, and leaves it alone."""
    watched = watch()
    watched.configure()
    watched.deployment.heal(vpc.subnet)
    watched.deployment.sandbox.calls.clear()
    assert watched.remediate() == {vpc.subnet: ["SUCCEEDED"]}
    assert watched.deployment.changes() == []


def test_blocked_heal_is_tried_as_often_as_allowed_and_then_left(watch: Watch, builder: Builder, vpc: Vpc) -> None:
    """Config repeats a failed run, changes nothing by it, and stops with an exception, which a person may lift."""
    builder.tag(builder.endpoint(vpc.id), "aws:cloudformation:stack-name", "network")
    watched = watch()
    watched.configure()
    watched.deployment.sandbox.calls.clear()
    assert watched.remediate() == {vpc.subnet: ["FAILED"] * 3}
    assert watched.remediate() == {}
    assert watched.deployment.changes() == []
    key = {"ResourceType": SUBNET, "ResourceId": vpc.subnet}
    [found] = watched.config.describe_remediation_exceptions(ConfigRuleName=watched.name, ResourceKeys=[key])[
        "RemediationExceptions"
    ]
    assert found["ResourceId"] == vpc.subnet


def test_status_of_a_remediation_names_the_blocker(watch: Watch, builder: Builder, vpc: Vpc) -> None:
    """Whoever looks in AWS Config sees which step failed and why."""
    builder.tag(builder.endpoint(vpc.id), "aws:cloudformation:stack-name", "network")
    watched = watch()
    watched.configure(attempts=1)
    watched.remediate()
    [found] = watched.config.describe_remediation_execution_status(ConfigRuleName=watched.name)[
        "RemediationExecutionStatuses"
    ]
    messages = {step["Name"]: step.get("ErrorMessage", "") for step in found["StepDetails"]}
    assert (found["State"], "OWNED_BY_IAC" in messages["makePlan"]) == ("FAILED", True)


def test_remediation_by_hand_heals_one_subnet(watch: Watch, builder: Builder) -> None:
    """With automatic remediation off, a person starts it for the subnet of their choice."""
    vpc = Vpc(builder, tables=2)
    watched = watch()
    watched.configure(automatic=False)
    assert watched.remediate() == {}
    key = {"resourceType": SUBNET, "resourceId": vpc.subnets[1]}
    watched.config.start_remediation_execution(ConfigRuleName=watched.name, ResourceKeys=[key])
    for run in watched.deployment.ssm.describe_automation_executions()["AutomationExecutionMetadataList"]:
        watched.deployment.automation.wait(run["AutomationExecutionId"])
    assert list(watched.deployment.associations(vpc.id).values()) == [[vpc.tables[1]]]
    assert [watched.compliance(subnet_id) for subnet_id in vpc.subnets] == ["NON_COMPLIANT", "COMPLIANT"]
