"""AWS Config remediates noncompliant subnets: on demand, automatically, and when the heal is blocked."""

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
    """A deployed rule with its remediation."""

    def __init__(self, deployment: Deployment, remediation: Remediation, rule: Rule) -> None:
        """Evaluate all subnets once."""
        self.deployment, self.remediation, self.rule = deployment, remediation, rule
        self.config: Any = deployment.sandbox.client("config")
        self.name = rule.loop.rule.name
        rule.changes()

    def configure(self, *, automatic: bool = True, attempts: int = 3) -> None:
        """Set the heal runbook as the rule's remediation, as the stack does."""
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
        """Run AWS Config's remediation and return the states of all attempts, by subnet."""
        attempts: dict[str, list[str]] = {}
        for run in self.remediation.remediate(self.name):
            attempts.setdefault(run.resource[1], []).append(run.state)
        return attempts

    def compliance(self, subnet_id: str) -> str:
        """Deliver pending changes and return the compliance that AWS Config has stored for a subnet."""
        self.rule.changes()
        return self.rule.held()[subnet_id].compliance


Watch = Callable[[], Watched]


@pytest.fixture
def remediation(sandbox: Sandbox, deployment: Deployment) -> Iterator[Remediation]:
    """Yield AWS Config's remediation while it is active."""
    with Remediation(sandbox, deployment.automation) as running:
        yield running


@pytest.fixture
def watch(sandbox: Sandbox, deployment: Deployment, remediation: Remediation) -> Watch:
    """Return a function that deploys the rule on the network as it is then."""
    return lambda: Watched(deployment, remediation, Rule(sandbox))


def test_flagged_subnets_are_healed_and_evaluated_again(watch: Watch, builder: Builder) -> None:
    """Every flagged subnet becomes COMPLIANT without a person: one run for each subnet, one endpoint for all."""
    vpc = Vpc(builder, tables=2, subnets=2)
    watched = watch()
    assert {watched.compliance(subnet_id) for subnet_id in vpc.subnets} == {"NON_COMPLIANT"}
    watched.configure()
    assert watched.remediate() == {subnet_id: ["SUCCEEDED"] for subnet_id in vpc.subnets}
    assert list(watched.deployment.associations(vpc.id).values()) == [sorted(vpc.tables)]
    assert {watched.compliance(subnet_id) for subnet_id in vpc.subnets} == {"COMPLIANT"}


def test_remediation_of_stale_results_changes_nothing(watch: Watch, vpc: Vpc) -> None:
    """A run that AWS Config starts for a subnet that is compliant by now makes no change."""
    watched = watch()
    watched.configure()
    watched.deployment.heal(vpc.subnet)
    watched.deployment.sandbox.calls.clear()
    assert watched.remediate() == {vpc.subnet: ["SUCCEEDED"]}
    assert watched.deployment.changes() == []


def test_blocked_heal_is_retried_up_to_the_limit(watch: Watch, builder: Builder, vpc: Vpc) -> None:
    """AWS Config retries a failed run up to the limit, then adds an exception that a person can delete.

    The remediation status shows which step failed and why.
    """
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
    [shown] = watched.config.describe_remediation_execution_status(ConfigRuleName=watched.name)[
        "RemediationExecutionStatuses"
    ]
    messages = {step["Name"]: step.get("ErrorMessage", "") for step in shown["StepDetails"]}
    assert (shown["State"], "OWNED_BY_IAC" in messages["makePlan"]) == ("FAILED", True)


def test_manual_remediation_heals_one_subnet(watch: Watch, builder: Builder) -> None:
    """If automatic remediation is off, a person can start it for a single subnet."""
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
