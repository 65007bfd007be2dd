"""Who notices when a component stops: the whole stack in a sandbox, with each component stopped in turn.

To write the table of docs/troubleshoot.md again, run python -m tests.org.silence.
"""

import io
import json
import os
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.awslambda.models import lambda_backends
from moto.config.exceptions import InsufficientPermissionsException
from moto.config.models import config_backends
from moto.events.models import events_backends
from moto.sns.models import sns_backends

from express_path import healing
from express_path.adapters.aws import Aws
from express_path_cli.installation.rule import read_sweep
from org.package import package
from sandbox.cloudwatch import Datapoint, extracted
from sandbox.config_items.direct import acting_in, direct_client
from sandbox.config_items.notifications import RuleIdentity, rule_event, scheduled_notification
from sandbox.config_service.invocation import Delivery, invoke_asynchronously
from sandbox.config_service.results import results_of
from sandbox.config_service.rules import check_function, statuses_of
from sandbox.dynamic import Client
from sandbox.event_sources import poll
from sandbox.iam import enforced
from sandbox.in_process import in_process
from sandbox.lambda_runtime import LambdaContext
from sandbox.remediation import Remediation, remediations_of
from sandbox.server import Sandbox
from sandbox.ssm import Automation
from sandbox.stacksets import deploy
from tests.support.command import invoke
from tests.support.network import Builder, Private
from tests.support.organization import Organization, Packaged
from tests.support.template import ROOT

DOCUMENT = ROOT / "docs" / "troubleshoot.md"
MARK = "<!-- silence -->\n"
RULE = "s3express-no-nat-path"
REGION = "us-east-1"
EXTERNAL_ID = "a-secret"
SWEEPS, HOURS = (0, 24), 28
"""The hours of the sweeps, and when the table ends. The component stops just after the first sweep, which is the worst case."""
QUEUES = ("SecurityHub",)


class Place:
    """The stacks of the rule and of the integrations in one account and Region, and the hours that pass there."""

    def __init__(self, sandbox: Sandbox, packaged: Packaged, automation: Automation) -> None:
        """Deploy everything, so that nothing is wrong."""
        self.sandbox = sandbox
        self.automation = automation
        self.start = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(hours=HOURS)
        self.subnet_id = ""
        self._started: dict[str, Callable[..., Any]] = {}
        self._waiting_since: dict[str, int] = {}
        self.topic = str(self.client("sns").create_topic(Name="alarms")["TopicArn"])
        topics: Any = sns_backends[sandbox.account_id][REGION].topics
        topics[self.topic].subscriptions_confimed = 1  # moto does not count them
        self.client("securityhub").enable_security_hub()
        organization = Organization(sandbox, packaged, "network")
        organization.accounts["own"] = sandbox.account_id
        organization.provide_code(REGION)
        organization.record("own", REGION)
        organization.deploy_ledger("own", REGION)
        role = {"OrganizationId": organization.id, "ExternalId": EXTERNAL_ID}
        template = (ROOT / "org" / "network-role.yaml").read_text(encoding="utf-8")
        self.network = deploy(sandbox, template, role, organization.accounts["network"], REGION)
        self.network_account = organization.accounts["network"]
        self.rule_stack = organization.deploy_rule(
            "own",
            REGION,
            "express-path",
            AlarmTopicArn=self.topic,
            NetworkRoleArn=self.network.outputs["NetworkRoleArn"],
            NetworkRoleExternalId=EXTERNAL_ID,
            RemediationMode="ON",
        )
        self.integrations = organization.deploy_integrations("own", REGION, AlarmTopicArn=self.topic)
        assert not [stack.failure for stack in (self.network, self.rule_stack, self.integrations) if stack.failure]
        name = self.named("PlanFunction")
        automation.functions.register(name, lambda event: self._invoke(name, event, io.StringIO()))
        automation.knobs.time_scale = 0.001

    def client(self, service: str) -> Client:
        """Return a client of the account's administrator."""
        client: Client = direct_client(self.sandbox, service)
        return client

    def named(self, logical_id: str) -> str:
        """Return the name or ID of a resource of either stack."""
        stack = self.rule_stack if logical_id in self.rule_stack.resources else self.integrations
        return str(stack.resources[logical_id].physical_id)

    def event_rule(self, logical_id: str, key: str) -> dict[str, str]:
        """Return the parameters that name a rule of EventBridge; `key` is that of its name."""
        stack = self.rule_stack if logical_id in self.rule_stack.resources else self.integrations
        bus = stack.properties[logical_id].get("EventBusName", "default")
        return {key: self.named(logical_id), "EventBusName": bus}

    def at(self, hour: int) -> datetime:
        """Return the time of an hour after the first sweep."""
        return self.start + timedelta(hours=hour)

    # --- what AWS does -------------------------------------------------------------------------------------------

    def pass_day(self, day: int) -> None:
        """Let AWS Config sweep, and Lambda poll the queues in the hours after it; there is a new subnet on the second day."""
        if day:
            self.subnet_id = Private(Builder(self.sandbox)).subnet
        self._sweep(SWEEPS[day])
        for hour in range(SWEEPS[day], SWEEPS[day] + HOURS - SWEEPS[-1]):
            for name in QUEUES:
                self._take_messages(name, hour)
            self._count_messages("FailedMessages", hour)

    def _sweep(self, hour: int) -> None:
        """Invoke the rule's function as AWS Config does: asynchronously, if there is a rule, and if it may."""
        for rule in self.client("config").describe_config_rules()["ConfigRules"]:
            try:
                check_function(config_backends[self.sandbox.account_id][REGION], rule["Source"])
            except InsufficientPermissionsException as error:
                now = datetime.now(UTC).timestamp()  # AWS Config's other times are those of this process too
                failed = {"LastFailedInvocationTime": now, "LastErrorMessage": error.message}
                statuses_of(self.sandbox.account_id, REGION).told[RULE] = failed
                return
            parameters = json.loads(rule["InputParameters"])
            account_id = self.sandbox.account_id
            identity = RuleIdentity(RULE, rule["ConfigRuleArn"], rule["ConfigRuleId"], account_id, "role", parameters)
            created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
            token = results_of(account_id, REGION).issue_token(RULE)
            event = rule_event(identity, scheduled_notification(account_id, created), token)
            self._deliver(rule["Source"]["SourceIdentifier"].rpartition(":")[2], event, hour)

    def _deliver(self, name: str, event: dict[str, Any], hour: int) -> None:
        """Invoke a function asynchronously: Lambda tries three times, and keeps the event of a throttled one for a while.

        https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
        """
        functions, of_function = self.client("lambda"), (("FunctionName", name),)
        sent, printed, dropped = len(self.sandbox.eventbridge.deliveries), io.StringIO(), self.at(hour)
        if self._is_throttled(name):
            kept = functions.get_function_event_invoke_config(FunctionName=name)["MaximumEventAgeInSeconds"]
            dropped += timedelta(seconds=kept)
            delivery = Delivery(event, 0, error=RuntimeError("EventAgeExceeded"))
        else:
            with enforced(self.sandbox):
                delivery = invoke_asynchronously(lambda it: self._invoke(name, it, printed), event)
            errors = delivery.attempts if delivery.error else 0
            for metric, value in (("Invocations", delivery.attempts), ("Errors", errors)):
                self.sandbox.metrics.add([Datapoint("AWS/Lambda", metric, of_function, value, self.at(hour))])
        if delivery.error:
            self.sandbox.metrics.add([Datapoint("AWS/Lambda", "AsyncEventsDropped", of_function, 1, dropped)])
        if lines := printed.getvalue().splitlines():
            self._log(name, lines, hour)
        for sending in self.sandbox.eventbridge.deliveries[sent:]:
            bus, _, rule = sending.rule_arn.partition(":rule/")[2].rpartition("/")
            of_rule = (("EventBusName", bus), ("RuleName", rule))
            self.sandbox.metrics.add([Datapoint("AWS/Events", "Invocations", of_rule, 1, self.at(hour))])

    def _invoke(self, name: str, event: dict[str, Any], printed: io.StringIO) -> Any:
        """Run a deployed function as Lambda does: its handler, with its settings and its role. New settings start it cold."""
        settings = self.client("lambda").get_function_configuration(FunctionName=name)
        session = self.client("sts").assume_role(RoleArn=settings["Role"], RoleSessionName=name)["Credentials"]
        variables = {
            **settings["Environment"]["Variables"],
            "AWS_LAMBDA_FUNCTION_NAME": name,
            "AWS_ACCESS_KEY_ID": session["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": session["SecretAccessKey"],
            "AWS_SESSION_TOKEN": session["SessionToken"],
        }
        with pytest.MonkeyPatch.context() as environment, redirect_stdout(printed):
            for variable, value in variables.items():
                environment.setenv(variable, value)
            key = json.dumps([settings["Handler"], settings["Role"], settings["Environment"]])
            if key not in self._started:
                self._started[key] = _started(settings["Handler"])
            return self._started[key](event, LambdaContext(function_name=name))

    def _log(self, name: str, lines: list[str], hour: int) -> None:
        """Write what a function printed to its log group, from which CloudWatch takes metrics; lost without the group."""
        with suppress(ClientError):
            settings = self.client("lambda").get_function_configuration(FunctionName=name)
            group, time = settings["LoggingConfig"]["LogGroup"], self.at(hour)
            self.client("logs").create_log_stream(logGroupName=group, logStreamName=str(hour))
            events = [{"timestamp": int(time.timestamp() * 1000), "message": line} for line in lines]
            self.client("logs").put_log_events(logGroupName=group, logStreamName=str(hour), logEvents=events)
            self.sandbox.metrics.add(replace(point, time=time) for point in extracted(lines))

    def _is_throttled(self, name: str) -> bool:
        found = self.client("lambda").get_function_concurrency(FunctionName=name)
        return bool(found.get("ReservedConcurrentExecutions") == 0)

    def _take_messages(self, name: str, hour: int) -> None:
        """Let an integration's function take the messages of its queue. Those that fail are visible again after 720 seconds."""
        with suppress(ClientError):
            mapping = self.client("lambda").get_event_source_mapping(UUID=self.named(f"{name}Messages"))
            function = mapping["FunctionArn"].rpartition(":")[2]
            taken = mapping["State"] == "Enabled" and not self._is_throttled(function)
            for _ in range(3600 // 720 if taken else 0):
                with enforced(self.sandbox):
                    url = self.named(f"{name}Queue")
                    poll(self.sandbox, url, lambda event: self._invoke(function, event, io.StringIO()))
        self._count_messages(name, hour)

    def _count_messages(self, name: str, hour: int) -> None:
        """Count the messages of a queue, and how long the oldest one has waited."""
        url, found = self.named(f"{name}Queue"), 0
        of_queue = (("QueueName", url.rpartition("/")[2]),)
        with suppress(ClientError):
            attributes = ["ApproximateNumberOfMessages"]
            answer = self.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=attributes)
            found = int(answer["Attributes"]["ApproximateNumberOfMessages"])
        if found:
            age = (hour - self._waiting_since.setdefault(name, hour)) * 3600
            self.sandbox.metrics.add(
                Datapoint("AWS/SQS", metric, of_queue, value, self.at(hour))
                for metric, value in (
                    ("ApproximateAgeOfOldestMessage", age),
                    ("ApproximateNumberOfMessagesVisible", found),
                )
            )

    # --- who notices ---------------------------------------------------------------------------------------------

    def alarms(self) -> dict[str, int]:
        """Return the alarms that go off and send messages to the topic, by logical ID, and the hours until then."""
        stacks = (self.rule_stack, self.integrations)
        names = {row.physical_id: logical_id for stack in stacks for logical_id, row in stack.resources.items()}
        found = {}
        for alarm in self.client("cloudwatch").describe_alarms()["MetricAlarms"]:
            first = self.sandbox.metrics.first_alarm(alarm, self.at(0) + timedelta(minutes=1), self.at(HOURS))
            if first and alarm["ActionsEnabled"] and self.topic in alarm["AlarmActions"]:
                found[names[alarm["AlarmName"]]] = (first - self.at(0)) // timedelta(hours=1)
        return found

    def reaches_somebody(self) -> bool:
        """Return whether CloudWatch can send messages to the topic, and somebody gets them."""
        topics: Any = sns_backends[self.sandbox.account_id][REGION].topics
        topic = topics.get(self.topic)
        if topic is None or not topic.subscriptions_confimed:
            return False
        principals = [row["Principal"] for row in json.loads(topic.policy)["Statement"]]
        return any(who in ({"AWS": "*"}, {"Service": "cloudwatch.amazonaws.com"}) for who in principals)

    def faults(self) -> list[str]:
        """Return the faults that `org status` shows: those of the last sweep."""
        return list(read_sweep(Aws.connect(), RULE, datetime.now(UTC)).faults)

    def heal(self) -> dict[str, Any]:
        """Let AWS Config heal a subnet once, and return the run of the runbook."""
        resource = ("AWS::EC2::Subnet", self.subnet_id)
        key = {"resourceType": resource[0], "resourceId": resource[1]}
        with enforced(self.sandbox), pytest.MonkeyPatch.context() as changed:
            changed.setattr(healing, "SECONDS_APART", 0)
            self.client("config").start_remediation_execution(ConfigRuleName=RULE, ResourceKeys=[key])
            run = remediations_of(self.sandbox.account_id, REGION).last(RULE, resource)
            assert run
            assert run.execution, run.refusal
            return self.automation.wait(run.execution.id)

    def notices(self, run: Mapping[str, Any]) -> list[str]:
        """Return the rules of EventBridge that send a notice about a run that has ended."""
        # https://docs.aws.amazon.com/systems-manager/latest/userguide/monitoring-systems-manager-event-examples.html
        event = {
            "source": "aws.ssm",
            "detail-type": "EC2 Automation Execution Status-change Notification",
            "detail": {"Definition": run["DocumentName"], "Status": run["AutomationExecutionStatus"]},
        }
        default: Any = events_backends[self.sandbox.account_id][REGION].event_buses["default"]
        stack = self.rule_stack.resources
        names = {row.physical_id: logical_id for logical_id, row in stack.items()}
        return [
            names[rule.name]
            for rule in default.rules.values()
            if rule.state == "ENABLED" and rule.event_pattern.matches_event(event)
            if any(target["Arn"] == self.topic for target in rule.targets)
        ]

    def doctor(self) -> set[str]:
        """Return the checks of doctor that are not OK."""
        result = invoke(["doctor", "--format", "json"])
        return {row["name"] for row in json.loads(result.stdout)["checks"] if row["state"] != "OK"}


def _started(path: str) -> Callable[..., Any]:
    """Import a handler as a new process would, and return it."""
    module, _, name = path.rpartition(".")
    found = find_spec(module)
    if found is None or found.loader is None:
        raise ModuleNotFoundError(f"Runtime.ImportModuleError: Unable to import module '{module}'")
    made = module_from_spec(found)
    found.loader.exec_module(made)
    handler: Callable[..., Any] = getattr(made, name)
    return handler


@dataclass(frozen=True, slots=True)
class Component:
    """A component, how it stops, and what no longer works then."""

    name: str
    effect: str
    stop: Callable[[Place], object]


def _throttle(logical_id: str) -> Callable[[Place], object]:
    def stop(place: Place) -> None:
        place.client("lambda").put_function_concurrency(
            FunctionName=place.named(logical_id), ReservedConcurrentExecutions=0
        )

    return stop


def _delete_function(logical_id: str) -> Callable[[Place], object]:
    return lambda place: place.client("lambda").delete_function(FunctionName=place.named(logical_id))


def _delete_bus(place: Place) -> None:
    """Delete the bus with its rules."""
    events_backends[place.sandbox.account_id][REGION].event_buses.pop(place.named("EventBus"))


def _delete_role(logical_id: str) -> Callable[[Place], object]:
    return lambda place: _delete_role_named(place.client("iam"), place.named(logical_id))


def _delete_role_named(iam: Client, name: str) -> None:
    for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]:
        iam.delete_role_policy(RoleName=name, PolicyName=policy)
    iam.delete_role(RoleName=name)


def _delete_network_role(place: Place) -> None:
    name = str(place.network.resources["NetworkRole"].physical_id)
    with acting_in(place.network_account):
        _delete_role_named(place.client("iam"), name)


def _delete_ledger(place: Place) -> None:
    dynamodb = place.client("dynamodb")
    dynamodb.update_table(TableName="express-path-ledger", DeletionProtectionEnabled=False)
    dynamodb.delete_table(TableName="express-path-ledger")


def _disable_rule(logical_id: str) -> Callable[[Place], object]:
    return lambda place: place.client("events").disable_rule(**place.event_rule(logical_id, "Name"))


def _remove_target(logical_id: str, target: str) -> Callable[[Place], object]:
    return lambda place: place.client("events").remove_targets(**place.event_rule(logical_id, "Rule"), Ids=[target])


def _delete_alarm(logical_id: str) -> Callable[[Place], object]:
    return lambda place: place.client("cloudwatch").delete_alarms(AlarmNames=[place.named(logical_id)])


def _edit_runbook(place: Place) -> None:
    """Make a new default version whose first step invokes a function that does not exist."""
    ssm, name = place.client("ssm"), place.named("HealDocument")
    content = json.loads(ssm.get_document(Name=name, DocumentFormat="JSON")["Content"])
    step = {"name": "lost", "action": "aws:invokeLambdaFunction", "inputs": {"FunctionName": "lost"}}
    new = {
        "Content": json.dumps({**content, "mainSteps": [step], "outputs": []}),
        "DocumentFormat": "JSON",
        "DocumentVersion": "$LATEST",
    }
    made = ssm.update_document(Name=name, **new)["DocumentDescription"]
    ssm.update_document_default_version(Name=name, DocumentVersion=made["DocumentVersion"])


def _point_remediation_elsewhere(place: Place) -> None:
    config, ssm = place.client("config"), place.client("ssm")
    content = ssm.get_document(Name=place.named("HealDocument"), DocumentFormat="JSON")["Content"]
    ssm.create_document(Name="another", Content=content, DocumentType="Automation", DocumentFormat="JSON")
    [found] = config.describe_remediation_configurations(ConfigRuleNames=[RULE])["RemediationConfigurations"]
    changed = {key: value for key, value in found.items() if key != "Arn"} | {"TargetId": "another"}
    config.put_remediation_configurations(RemediationConfigurations=[changed])


def _each(stop: Callable[[str], Callable[[Place], object]]) -> Callable[[Place], object]:
    """Stop the same part of both integrations."""
    return lambda place: [stop(name)(place) for name in QUEUES]


def _close_topic(place: Place) -> None:
    statement = {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{place.sandbox.account_id}:root"}}
    policy = {"Version": "2012-10-17", "Statement": [{**statement, "Action": "sns:*", "Resource": place.topic}]}
    place.client("sns").set_topic_attributes(
        TopicArn=place.topic, AttributeName="Policy", AttributeValue=json.dumps(policy)
    )


def _unsubscribe(place: Place) -> None:
    topics: Any = sns_backends[place.sandbox.account_id][REGION].topics
    topics[place.topic].subscriptions_confimed = 0


def _disable_mapping(name: str) -> Callable[[Place], object]:
    def stop(place: Place) -> None:
        functions: Any = lambda_backends[place.sandbox.account_id][REGION]
        functions.update_event_source_mapping(place.named(f"{name}Messages"), {"Enabled": False})

    return stop


def _crash(logical_id: str) -> Callable[[Place], object]:
    """Let Lambda import a handler that is not in the code, so that each invocation fails."""

    def stop(place: Place) -> None:
        place.client("lambda").update_function_configuration(
            FunctionName=place.named(logical_id), Handler="express_path.handlers.lost.handler"
        )

    return stop


FINDINGS = "findings in Security Hub"
DENY_WRITES = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Deny", "Action": ["securityhub:BatchImportFindings", "events:PutEvents"], "Resource": "*"}
    ],
}
COMPONENTS = (
    Component(
        "AWS Config's recorder is stopped",
        "changes are not evaluated until the next sweep",
        lambda place: place.client("config").stop_configuration_recorder(ConfigurationRecorderName="default"),
    ),
    Component(
        "AWS Config's recorder no longer records route tables",
        "changes of route tables are not evaluated until the next sweep",
        lambda place: place.client("config").put_configuration_recorder(
            ConfigurationRecorder={
                "name": "default",
                "roleARN": f"arn:aws:iam::{place.sandbox.account_id}:role/config",
                "recordingGroup": {"resourceTypes": ["AWS::EC2::Subnet"]},
            }
        ),
    ),
    Component(
        "the Config rule is deleted",
        "everything: no evaluations",
        lambda place: (
            place.client("config").delete_remediation_configuration(ConfigRuleName=RULE),
            place.client("config").delete_config_rule(ConfigRuleName=RULE),
        ),
    ),
    Component(
        "AWS Config may no longer invoke the evaluate function",
        "everything: no evaluations",
        lambda place: place.client("lambda").remove_permission(
            FunctionName=place.named("EvaluateFunction"), StatementId=place.named("ConfigPermission")
        ),
    ),
    Component("the evaluate function is deleted", "everything: no evaluations", _delete_function("EvaluateFunction")),
    Component(
        "the evaluate function is throttled (reserved concurrency 0)",
        "everything: no evaluations",
        _throttle("EvaluateFunction"),
    ),
    Component("the evaluate function crashes", "no evaluation succeeds: verdicts get old", _crash("EvaluateFunction")),
    Component(
        "the evaluate function may not read EC2",
        "no evaluation succeeds: verdicts get old",
        lambda place: place.client("iam").delete_role_policy(
            RoleName=place.named("EvaluateRole"), PolicyName="evaluate"
        ),
    ),
    Component(
        "the log group of the evaluate function is deleted",
        "metrics and logs: nobody sees what the function does",
        lambda place: place.client("logs").delete_log_group(logGroupName=place.named("EvaluateLogGroup")),
    ),
    Component("the event bus is deleted", "events and integrations", _delete_bus),
    Component("a rule of EventBridge for notices is disabled", "its notices", _disable_rule("HealFailedNotice")),
    Component(
        "a rule of EventBridge for notices is deleted",
        "its notices",
        lambda place: (
            place.client("events").remove_targets(Rule=place.named("RecorderNotice"), Ids=["topic"]),
            place.client("events").delete_rule(Name=place.named("RecorderNotice")),
        ),
    ),
    Component(
        "a rule of EventBridge for notices has no target", "its notices", _remove_target("HealFailedNotice", "topic")
    ),
    Component("the role of the notices is deleted", "every notice", _delete_role("NoticeRole")),
    Component(
        "the alarm topic is deleted",
        "every message of alarms and notices",
        lambda place: place.client("sns").delete_topic(TopicArn=place.topic),
    ),
    Component("the alarm topic's policy refuses CloudWatch", "every message of alarms", _close_topic),
    Component("the alarm topic has no subscription", "every message of alarms and notices", _unsubscribe),
    Component(
        "`HealthAlarm` is deleted",
        "messages about missing sweeps and about faults",
        _delete_alarm("HealthAlarm"),
    ),
    Component(
        "the actions of `HealthAlarm` are disabled",
        "messages about missing sweeps and about faults",
        lambda place: place.client("cloudwatch").disable_alarm_actions(AlarmNames=[place.named("HealthAlarm")]),
    ),
    Component("`ErrorsAlarm` is deleted", "messages about evaluations that failed", _delete_alarm("ErrorsAlarm")),
    Component(
        "a runbook is deleted",
        "heals, or undos",
        lambda place: place.client("ssm").delete_document(Name=place.named("HealDocument")),
    ),
    Component(
        "the rule's remediation is deleted",
        "heals that AWS Config starts",
        lambda place: place.client("config").delete_remediation_configuration(ConfigRuleName=RULE),
    ),
    Component(
        "the rule's remediation starts another runbook", "heals that AWS Config starts", _point_remediation_elsewhere
    ),
    Component("a runbook is edited, and fails since", "heals, or undos", _edit_runbook),
    Component(
        "all heals are stopped (`express-path stop`), and nobody starts them again",
        "heals",
        lambda _place: invoke(["stop", "--reason", "INC-1234"]),
    ),
    Component("the plan function is deleted", "heals and undos", _delete_function("PlanFunction")),
    Component("the plan function is throttled", "heals and undos", _throttle("PlanFunction")),
    Component("the plan function crashes", "heals and undos", _crash("PlanFunction")),
    Component(
        "the log group of the plan function is deleted",
        "logs of heals",
        lambda place: place.client("logs").delete_log_group(logGroupName=place.named("PlanLogGroup")),
    ),
    Component("the role of the plan function is deleted", "heals and undos", _delete_role("PlanRole")),
    Component(
        "the role of the runbooks has no policy",
        "heals and undos",
        lambda place: place.client("iam").delete_role_policy(RoleName=place.named("AutomationRole"), PolicyName="heal"),
    ),
    Component("the role of the runbooks is deleted", "heals and undos", _delete_role("AutomationRole")),
    Component("the role that stops heals is deleted", "`express-path stop`", _delete_role("StopRole")),
    Component("the ledger is deleted", "heals and undos", _delete_ledger),
    Component(
        "the ledger has no resource policy",
        "trust in undos: others can write to it",
        lambda place: place.client("dynamodb").delete_resource_policy(
            ResourceArn=place.client("dynamodb").describe_table(TableName="express-path-ledger")["Table"]["TableArn"]
        ),
    ),
    Component(
        "the network role is deleted",
        "paths beyond a transit gateway: verdicts that need them get old",
        _delete_network_role,
    ),
    Component("the event source mappings of the integrations are disabled", FINDINGS, _each(_disable_mapping)),
    Component(
        "the functions of the integrations are throttled", FINDINGS, _each(lambda name: _throttle(f"{name}Function"))
    ),
    Component("the functions of the integrations crash", FINDINGS, _each(lambda name: _crash(f"{name}Function"))),
    Component(
        "the functions of the integrations may not write findings",
        FINDINGS,
        _each(
            lambda name: (
                lambda place: place.client("iam").put_role_policy(
                    RoleName=place.named(f"{name}Role"), PolicyName="deny", PolicyDocument=json.dumps(DENY_WRITES)
                )
            )
        ),
    ),
    Component(
        "the rules of EventBridge of the integrations are disabled",
        FINDINGS,
        _each(lambda name: _disable_rule(f"{name}Verdicts")),
    ),
    Component(
        "the rules of EventBridge of the integrations have no target",
        FINDINGS,
        _each(lambda name: _remove_target(f"{name}Verdicts", "queue")),
    ),
    Component(
        "the queues of the integrations have no policy",
        FINDINGS,
        _each(
            lambda name: (
                lambda place: place.client("sqs").set_queue_attributes(
                    QueueUrl=place.named(f"{name}Queue"), Attributes={"Policy": ""}
                )
            )
        ),
    ),
    Component(
        "Security Hub is disabled",
        "findings in Security Hub",
        lambda place: place.client("securityhub").disable_security_hub(),
    ),
    Component(
        "the integration's rule for AWS Config's own events is disabled",
        "nothing: the rule's own events and the next sweep have the same",
        _disable_rule("SecurityHubComplianceChanges"),
    ),
    Component(
        "the queue of failed messages is deleted",
        "messages about failed messages",
        lambda place: place.client("sqs").delete_queue(QueueUrl=place.named("FailedMessagesQueue")),
    ),
    Component(
        "an alarm of the integrations is deleted",
        "its messages",
        _each(lambda name: _delete_alarm(f"{name}BacklogAlarm")),
    ),
)


def row_of(place: Place, component: Component) -> str:
    """Stop a component after the first sweep, let a day pass, and return the row of the table."""
    component.stop(place)
    place.pass_day(1)
    checks = ", ".join(f"`{name}`" for name in sorted(place.doctor())) or "-"
    return f"| {component.name} | {component.effect} | {_told(place)} | {checks} |"


def _told(place: Place) -> str:
    """Return the alarms whose message reaches somebody, with the hours after the last good sweep, or what shows it."""
    noticed = place.alarms()
    if noticed and place.reaches_somebody():
        return ", ".join(f"`{name}` ({hours} h)" for name, hours in sorted(noticed.items(), key=lambda row: row[::-1]))
    if place.faults():
        return "dashboard, `org status` (24 h)"
    run = place.heal()
    if run["AutomationExecutionStatus"] == "Success":
        return "nobody"
    return f"nobody, until a heal fails ({', '.join(f'`{name}`' for name in place.notices(run))})"


@contextmanager
def deployed(sandbox: Sandbox, packaged: Packaged) -> Iterator[Place]:
    """Yield the deployed stacks, just after the first sweep, in an empty sandbox to which the environment leads."""
    with Automation(sandbox) as automation, Remediation(sandbox, automation):
        place = Place(sandbox, packaged, automation)
        place.pass_day(0)
        assert place.faults() == []
        yield place


def in_a_copy(work: Callable[[], str]) -> str:
    """Return what a function returns in a copy of this process, whose sandbox is lost afterward.

    To deploy everything and to sweep takes longer than what the function does.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # other threads wait for requests only
        process = os.fork()
    if not process:
        try:
            result = work()
        except BaseException:  # noqa: BLE001  # nothing of this copy may go on
            result = traceback.format_exc()
        os.write(writing, result.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as answer:
        found = answer.read()
    os.waitpid(process, 0)
    return found


HEAD = (
    "| what stops working | what is lost | who tells you, hours after the last good sweep | `doctor` |",
    "|---|---|---|---|",
)


def written(text: str, new: str) -> str:
    """Return the page with this table."""
    start = text.index(MARK) + len(MARK)
    return f"{text[:start]}\n{new}\n\n{text[text.index('<!-- end -->', start) :]}"


def main() -> None:
    """Write the table of the page again."""
    with TemporaryDirectory() as folder, Sandbox() as sandbox, in_process(sandbox):
        os.environ.update(sandbox.environment())
        code = Path(folder) / "code"
        (code / "express_path").mkdir(parents=True)
        (code / "library.py").write_text("VALUE = 1\n", encoding="utf-8")
        output = Path(folder) / "org"
        packaged = Packaged(package(code, code, output), output / "upload")
        with deployed(sandbox, packaged) as place:
            rows = [in_a_copy(partial(row_of, place, component)) for component in COMPONENTS]
        DOCUMENT.write_text(written(DOCUMENT.read_text(encoding="utf-8"), "\n".join([*HEAD, *rows])), encoding="utf-8")


if __name__ == "__main__":
    main()
