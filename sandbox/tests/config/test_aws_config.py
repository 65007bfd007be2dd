"""AWS Config on a local AWS: which messages its rules get, and when it has nothing more to do."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from config_rule_sandbox.config.deployment import CHANGE, PERIODIC, RuleDefinition, deploy_rule
from config_rule_sandbox.config.items.kinds import VPC
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.local_aws import AwsConfig
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation

NAME = "vpc-is-tagged"
RUNBOOK = {
    "schemaVersion": "0.3",
    "assumeRole": "{{ AutomationAssumeRole }}",
    "parameters": {"AutomationAssumeRole": {"type": "String"}, "VpcId": {"type": "String"}},
    "mainSteps": [
        {"name": "wait", "action": "aws:sleep", "inputs": {"Duration": "PT30S"}},
        {
            "name": "tag",
            "action": "aws:executeAwsApi",
            "inputs": {
                "Service": "ec2",
                "Api": "CreateTags",
                "Resources": ["{{ VpcId }}"],
                "Tags": [{"Key": "owner", "Value": "nobody"}],
            },
        },
    ],
}
TRUST = {"Statement": [{"Effect": "Allow", "Principal": {"Service": "ssm.amazonaws.com"}, "Action": "sts:AssumeRole"}]}


class TaggedRule:
    """A rule for VPCs with the tag owner. It is invoked by one type of messages, of which `messages` are those so far."""

    def __init__(self, sandbox: Sandbox, remediation: Remediation) -> None:
        """Deploy the rule; AWS Config has not looked yet."""
        self.aws_config = AwsConfig(sandbox, self._invoke, remediation)
        self.config: Client = sandbox.client("config")
        self.messages: list[str] = []
        self._ec2: Client = sandbox.client("ec2")
        self._ssm: Client = sandbox.client("ssm")
        self._iam: Client = sandbox.client("iam")
        deploy_rule(sandbox, RuleDefinition(NAME, resource_types=(VPC,)))

    def invoked_by(self, message_type: str) -> None:
        """Let only messages of this type invoke the rule."""
        [rule] = self.config.describe_config_rules()["ConfigRules"]
        source = {**rule["Source"], "SourceDetails": [{"EventSource": "aws.config", "MessageType": message_type}]}
        self.config.put_config_rule(ConfigRule={"ConfigRuleName": NAME, "Scope": rule["Scope"], "Source": source})

    def remediated(self) -> None:
        """Let a runbook tag automatically what the rule finds."""
        role = self._iam.create_role(RoleName="automation", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
        content = json.dumps(RUNBOOK)
        self._ssm.create_document(Name="Tag", Content=content, DocumentFormat="JSON", DocumentType="Automation")
        parameters = {
            "AutomationAssumeRole": {"StaticValue": {"Values": [role]}},
            "VpcId": {"ResourceValue": {"Value": "RESOURCE_ID"}},
        }
        configuration = {"ConfigRuleName": NAME, "TargetType": "SSM_DOCUMENT", "TargetId": "Tag", "Automatic": True}
        self.config.put_remediation_configurations(
            RemediationConfigurations=[{**configuration, "Parameters": parameters}]
        )

    def results(self) -> list[str]:
        """Return the results of the rule."""
        details = self.config.get_compliance_details_by_config_rule(ConfigRuleName=NAME)["EvaluationResults"]
        return [result["ComplianceType"] for result in details]

    def remediations(self) -> list[str]:
        """Return the states of the last remediations."""
        statuses = self.config.describe_remediation_execution_status(ConfigRuleName=NAME)
        return [status["State"] for status in statuses["RemediationExecutionStatuses"]]

    def _invoke(self, _function: str, event: dict[str, Any]) -> None:
        self.messages.append(json.loads(event["invokingEvent"])["messageType"])
        evaluations = [
            {
                "ComplianceResourceType": VPC,
                "ComplianceResourceId": vpc["VpcId"],
                "ComplianceType": "COMPLIANT" if vpc.get("Tags") else "NON_COMPLIANT",
                "OrderingTimestamp": time.time(),
            }
            for vpc in self._ec2.describe_vpcs()["Vpcs"]
        ]
        self.config.put_evaluations(Evaluations=evaluations, ResultToken=event["resultToken"])


@pytest.fixture
def rule(sandbox: Sandbox) -> Iterator[TaggedRule]:
    """A rule about the default VPC, which has no tag, in an AWS with remediation."""
    with Automation(sandbox) as automation, Remediation(sandbox, automation) as remediation:
        yield TaggedRule(sandbox, remediation)


def test_remediation_is_followed_by_the_next_evaluation_of_a_periodic_rule(rule: TaggedRule) -> None:
    """A periodic rule is not told of what its remediation changed, which runs once, until its evaluation is started."""
    rule.invoked_by(PERIODIC)
    rule.remediated()
    rule.aws_config.settle(30)
    assert (rule.results(), rule.remediations()) == (["NON_COMPLIANT"], ["SUCCEEDED"])
    rule.config.start_config_rules_evaluation(ConfigRuleNames=[NAME])
    rule.aws_config.settle(30)
    assert rule.results() == ["COMPLIANT"]
    assert rule.messages == [PERIODIC, PERIODIC]


def test_started_evaluation_sends_all_resources_to_a_rule_that_changes_invoke(rule: TaggedRule) -> None:
    """The last item of each resource is sent once more. The next evaluation can be started when this one has ended."""
    rule.invoked_by(CHANGE)
    for count in (1, 2, 3):
        rule.aws_config.settle(30)
        assert rule.messages == [CHANGE] * count
        rule.config.start_config_rules_evaluation(ConfigRuleNames=[NAME])


def test_settling_ends_after_the_remediation(rule: TaggedRule) -> None:
    """If nothing changes but the configuration of the remediation, this is carried out, and so is what follows from it."""
    rule.invoked_by(CHANGE)
    rule.aws_config.settle(30)
    rule.remediated()
    rule.aws_config.settle(30)
    assert (rule.results(), rule.remediations()) == (["COMPLIANT"], ["SUCCEEDED"])
