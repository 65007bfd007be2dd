"""The whole stack in a sandbox, deployed from the template: recorder, rule, functions, runbooks, remediation."""

import io
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.config.models import config_backends
from moto.sns.models import sns_backends

from config_rule_sandbox.cloudformation.described_stacks import created_stacks
from config_rule_sandbox.cloudwatch.printed import Datapoint
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.pytest_plugin import emptied
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path.handlers.check_health import CHECKED
from express_path.handlers.evaluate import FAILED
from tests.support.rule import Rule
from tests.support.stack import Stack, listed_stack
from tests.support.template import ROOT

STACK = "express-path"
RULE = "s3express-no-nat-path"
FUNCTIONS = ("EvaluateFunction", "HealthFunction", "PlanFunction")
EMPTY_ARCHIVE = b"PK\x05\x06" + bytes(18)
DOCUMENTS = ("HealDocument", "ApprovalDocument", "UndoDocument")


def topic_with_subscription(
    sandbox: Sandbox, name: str, client: Client | None = None, account_id: str | None = None
) -> str:
    """Create an SNS topic with the documented policy, and one confirmed subscription, which moto does not count by itself.

    It is in the sandbox's own account, unless a client of another one is given.
    """
    text = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8").partition("## Alarm topic")[2]
    policy, sns = text.partition("```json\n")[2].partition("```")[0], client or direct_client(sandbox, "sns")
    arn = str(sns.create_topic(Name=name)["TopicArn"])
    policy = policy.replace("arn:aws:sns:eu-west-1:111122223333:alarms", arn)
    sns.set_topic_attributes(TopicArn=arn, AttributeName="Policy", AttributeValue=policy)
    queue = f"arn:aws:sqs:{sandbox.region}:{sandbox.account_id}:{name}"
    sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue)
    backend: Any = sns_backends[account_id or sandbox.account_id][sandbox.region]
    backend.topics[arn].subscriptions_confimed = 1
    return arn


class WholeStack(Stack):
    """A healthy deployment; its methods break and change it as AWS or a person would."""

    def __init__(self, sandbox: Sandbox, **parameters: str) -> None:
        """Deploy every resource of the template and run the rule's sweep once."""
        parameters.setdefault("DeployingRoleArn", f"arn:aws:iam::{sandbox.account_id}:role/deploy")
        parameters.setdefault("AlarmTopicArn", f"arn:aws:sns:{sandbox.region}:{sandbox.account_id}:alarms")
        if parameters["AlarmTopicArn"]:
            topic_with_subscription(sandbox, "alarms")
        super().__init__(sandbox, **parameters)
        self.config: Any = direct_client(sandbox, "config")
        self.ssm: Any = direct_client(sandbox, "ssm")
        self.functions: Any = direct_client(sandbox, "lambda")
        self.events: Any = direct_client(sandbox, "events")
        self.cloudwatch: Any = direct_client(sandbox, "cloudwatch")
        self.dynamodb: Any = direct_client(sandbox, "dynamodb")
        self.rule = Rule(sandbox)
        self._record()
        for name in FUNCTIONS:
            self._deploy_function(name)
        for name in DOCUMENTS:
            self._publish(name)
        self._deploy_notices_and_alarms()
        permission = self.template.deployed(self.template.properties("ConfigPermission"))
        self.functions.add_permission(StatementId="config", **permission)
        self.config.put_config_rule(ConfigRule=self._rule())
        self.remediate()
        self.describe(parameters)
        with redirect_stdout(io.StringIO()) as printed, pytest.MonkeyPatch.context() as settings:
            settings.setenv("STACK_ID", str(self.template.values["AWS::StackId"]))
            self.rule.sweep()
        self.log([*printed.getvalue().splitlines(), json.dumps({"message": CHECKED, "faults": []})])
        self.count("EvaluateFunction", "Invocations", timedelta(hours=1), 1)
        sandbox.calls.clear()

    def named(self, logical_id: str) -> str:
        """Return the name of a resource."""
        return str(self.template.deployed(f"<{logical_id}>"))

    def _record(self) -> None:
        self.config.put_delivery_channel(DeliveryChannel={"name": "default", "s3BucketName": "config-history"})
        self.config.start_configuration_recorder(ConfigurationRecorderName="default")

    def set_recorder(self, group: dict[str, Any], mode: dict[str, Any] | None = None) -> None:
        """Change the recorder's resource types and frequency."""
        recorder = {"name": "default", "roleARN": self.arn("EvaluateRole"), "recordingGroup": group}
        self.config.put_configuration_recorder(
            ConfigurationRecorder=recorder | ({"recordingMode": mode} if mode else {})
        )

    def _deploy_function(self, logical_id: str) -> None:
        properties = self.template.properties(logical_id)
        self.functions.create_function(
            FunctionName=self.named(logical_id),
            Runtime=properties["Runtime"],
            Role=self.template.deployed(properties["Role"]),
            Handler=properties["Handler"],
            Code={"ZipFile": EMPTY_ARCHIVE},
            Environment=self.template.deployed(properties["Environment"]),
        )

    def _deploy_notices_and_alarms(self) -> None:
        for logical_id, resource in self.template.resources.items():
            name = self.named(logical_id)
            if resource["Type"] == "AWS::Events::Rule":
                bus = self.template.deployed(resource["Properties"].get("EventBusName", "default"))
                pattern = json.dumps(resource["Properties"]["EventPattern"])
                self.events.put_rule(Name=name, EventBusName=bus, EventPattern=pattern)
                targets = [
                    {"Id": target["Id"], "Arn": self.template.deployed(target["Arn"])}
                    for target in resource["Properties"]["Targets"]
                ]
                self.events.put_targets(Rule=name, EventBusName=bus, Targets=targets)
            elif resource["Type"] == "AWS::CloudWatch::Alarm":
                self.cloudwatch.put_metric_alarm(AlarmName=name, **self.template.deployed(resource["Properties"]))

    def delete_role(self, logical_id: str) -> None:
        """Delete a role with its policies."""
        role = self.named(logical_id)
        for policy in self.iam.list_role_policies(RoleName=role)["PolicyNames"]:
            self.iam.delete_role_policy(RoleName=role, PolicyName=policy)
        self.iam.delete_role(RoleName=role)

    def _rule(self) -> dict[str, Any]:
        described = self.template.properties("ConfigRule")
        properties = self.template.deployed({name: value for name, value in described.items() if name != "Description"})
        return properties | {"InputParameters": json.dumps(properties["InputParameters"])}

    def _publish(self, logical_id: str) -> None:
        properties = self.template.properties(logical_id)
        self.ssm.create_document(
            Name=properties["Name"], Content=json.dumps(properties["Content"]), DocumentType="Automation"
        )

    def remediate(self, **more: object) -> None:
        """Configure the rule's remediation as the template does; `more` replaces some of its members."""
        found = self.template.deployed(self.template.properties("Remediation"))
        self.config.put_remediation_configurations(RemediationConfigurations=[found | more])

    def describe(self, parameters: dict[str, str], name: str = STACK) -> None:
        """Create the CloudFormation stack with the template's resources, outputs, and parameters."""
        values = {name: value for name, value in self.template.values.items() if "::" not in name}
        outputs = self.template.deployed({name: output["Value"] for name, output in self.template.outputs.items()})
        names = self.template.deployed({name: f"<{name}>" for name in self.template.resources})
        listed_stack(self.sandbox, name, names, outputs, **(values | parameters))

    def set_stack(self, status: str) -> None:
        """Set the status that CloudFormation reports for the stack."""
        self._described[0].status = status

    def delete_stack(self) -> None:
        """Delete the stack but keep everything that it deployed."""
        del self._described[0]

    @property
    def _described(self) -> list[Any]:
        return created_stacks(self.sandbox.account_id, self.sandbox.region)

    def delete_rule(self) -> None:
        """Delete the rule as a person would."""
        del self._known_rules[RULE]

    def copy_rule(self, name: str) -> None:
        """Deploy the rule again with another name."""
        self.config.put_config_rule(ConfigRule=self._rule() | {"ConfigRuleName": name})

    def move_function(self, account_id: str) -> None:
        """Move the rule's function to another account, as for an organization's rule."""
        source = self._known_rules[RULE].source
        source.source_identifier = source.source_identifier.replace(self.sandbox.account_id, account_id)

    @property
    def _known_rules(self) -> dict[str, Any]:
        rules: dict[str, Any] = config_backends[self.sandbox.account_id][self.sandbox.region].config_rules
        return rules

    def count(self, logical_id: str, metric: str, ago: timedelta, number: int) -> None:
        """Add a past datapoint of a function's metric to CloudWatch."""
        dimensions = (("FunctionName", self.named(logical_id)),)
        self.sandbox.metrics.add([Datapoint("AWS/Lambda", metric, dimensions, number, datetime.now(UTC) - ago)])

    def fail_evaluations(self, errors: Mapping[str, str]) -> None:
        """Let evaluations of resources fail with an error, as the function logs it."""
        records = [
            {"level": "CRITICAL", "message": FAILED, "resourceId": resource, "error": error}
            for resource, error in errors.items()
        ]
        self.log([json.dumps(record) for record in records])
        self.count("EvaluateFunction", "Errors", timedelta(hours=1), len(errors))

    def log(self, lines: Sequence[str]) -> None:
        """Write lines to a new stream of the log group of the evaluate function."""
        logs, group = direct_client(self.sandbox, "logs"), f"/aws/lambda/{self.named('EvaluateFunction')}"
        with suppress(ClientError):  # it exists
            logs.create_log_group(logGroupName=group)
        stream, now = str(time.time()), int(datetime.now(UTC).timestamp() * 1000)
        logs.create_log_stream(logGroupName=group, logStreamName=stream)
        events = [{"timestamp": now - len(lines) + number, "message": line} for number, line in enumerate(lines)]
        logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=events)


@contextmanager
def healthy_stack(sandbox: Sandbox) -> Iterator[WholeStack]:
    """Empty the sandbox, point the environment to it, and yield a deployment with healing off."""
    with (
        pytest.MonkeyPatch.context() as changed,
        emptied(sandbox, changed),
        Automation(sandbox) as automation,
        Remediation(sandbox, automation),
    ):
        yield WholeStack(sandbox)
