"""Who notices when a component stops: the whole stack in a sandbox, with each component stopped in turn.

To write the table of docs/troubleshoot.md again, run python -m tests.org.silence.
"""

import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.awslambda.models import lambda_backends
from moto.cloudwatch.models import MetricDatum, cloudwatch_backends
from moto.events.models import events_backends
from moto.sns.models import sns_backends

from express_path.handlers import evaluate
from org.package import package
from sandbox.cloudwatch import Datapoint, extracted
from sandbox.config_items.direct import direct_client
from sandbox.config_items.notifications import RuleIdentity, rule_event, scheduled_notification
from sandbox.config_service.invocation import Delivery, invoke_asynchronously
from sandbox.config_service.results import results_of
from sandbox.dynamic import Client
from sandbox.event_sources import poll
from sandbox.iam import enforced
from sandbox.remediation import Remediation
from sandbox.server import Sandbox
from sandbox.ssm import Automation
from tests.support.alarms import alarm_state
from tests.support.command import invoke
from tests.support.organization import Organization, Packaged
from tests.support.rule import Context
from tests.support.template import ROOT

DOCUMENT = ROOT / "docs" / "troubleshoot.md"
MARK = "<!-- silence -->\n"
RULE = "s3express-no-nat-path"
REGION = "us-east-1"
NETWORK_ROLE = "arn:aws:iam::210987654321:role/network-reader"
STOPPED, HOURS = 1, 28
"""The component stops an hour after the first sweep, the worst case, and is watched until some hours after the next one."""
QUEUES = ("SecurityHub", "Ocsf")


class Place:
    """The stacks of the rule and of the integrations in one account and Region, and the hours that pass there."""

    def __init__(self, sandbox: Sandbox, packaged: Packaged, automation: Automation) -> None:
        """Deploy everything, so that nothing is wrong."""
        self.sandbox = sandbox
        self.automation = automation
        self._create_network_role()
        self.topic = str(self.client("sns").create_topic(Name="alarms")["TopicArn"])
        topics: Any = sns_backends[sandbox.account_id][REGION].topics
        topics[self.topic].subscriptions_confimed = 1  # moto does not count them
        organization = Organization(sandbox, packaged)
        organization.accounts["own"] = sandbox.account_id
        organization.provide_code(REGION)
        organization.record("own", REGION)
        organization.deploy_ledger("own", REGION)
        self.rule_stack = organization.deploy_rule(
            "own",
            REGION,
            "express-path",
            AlarmTopicArn=self.topic,
            NetworkRoleArn=NETWORK_ROLE,
            RemediationMode="ON",
        )
        assert not self.rule_stack.failure
        self.integrations = organization.deploy_integrations(
            "own", REGION, AlarmTopicArn=self.topic, SecurityHubMode="RICH", OcsfEvents="ON"
        )
        assert not self.integrations.failure
        self.crashes = False
        self._points: dict[tuple[str, str, frozenset[tuple[str, str]]], dict[int, float]] = {}
        self._sent: dict[str, int] = {}
        self._waiting_since: dict[str, int] = {}

    def client(self, service: str) -> Client:
        """Return a client of the account's administrator."""
        client: Client = direct_client(self.sandbox, service)
        return client

    def named(self, logical_id: str) -> str:
        """Return the name or ID of a resource of either stack."""
        stack = self.rule_stack if logical_id in self.rule_stack.resources else self.integrations
        return str(stack.resources[logical_id].physical_id)

    def _create_network_role(self) -> None:
        iam = self.sandbox.client("iam", credentials=self.sandbox.credentials(NETWORK_ROLE.split(":")[4]))
        trust = {"Effect": "Allow", "Principal": {"AWS": self.sandbox.account_id}, "Action": "sts:AssumeRole"}
        iam.create_role(RoleName="network-reader", AssumeRolePolicyDocument=json.dumps({"Statement": [trust]}))

    # --- what AWS does each hour ---------------------------------------------------------------------------------

    def hour(self, number: int) -> None:
        """Let an hour pass: AWS Config sweeps once a day, and Lambda polls the queues."""
        if number % 24 == 0 and self._rule_exists():
            self._sweep(number)
        for name in QUEUES:
            self._poll(name, number)

    def _rule_exists(self) -> bool:
        return bool(self.client("config").describe_config_rules()["ConfigRules"])

    def _sweep(self, number: int) -> None:
        """Invoke the evaluate function as AWS Config does: asynchronously, if Lambda can run it at all."""
        name = self.named("EvaluateFunction")
        functions = self.client("lambda")
        try:
            settings = functions.get_function_configuration(FunctionName=name)
        except ClientError:
            return  # AWS Config's invocation fails; nothing is queued
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        account_id = self.sandbox.account_id
        token = results_of(account_id, REGION).issue_token(RULE)
        identity = RuleIdentity(RULE, "arn", "id", account_id, "role", {"networkRoleArn": NETWORK_ROLE})
        event = rule_event(identity, scheduled_notification(account_id, now), token)
        if functions.get_function_concurrency(FunctionName=name).get("ReservedConcurrentExecutions") == 0:
            delivery = Delivery(event, 0, error=RuntimeError("EventAgeExceeded"))
        else:
            printed = io.StringIO()
            delivery = invoke_asynchronously(lambda it: self._run(it, settings, printed), event)
            self._count(number, "AWS/Lambda", "Errors", delivery.attempts if delivery.error else 0, FunctionName=name)
            if self._log_group_exists():
                for point in extracted(printed.getvalue().splitlines()):
                    self._keep(number, point)
        self._count(number, "AWS/Lambda", "AsyncEventsDropped", int(bool(delivery.error)), FunctionName=name)

    def _run(self, event: dict[str, Any], settings: Mapping[str, Any], printed: io.StringIO) -> Any:
        """Run the deployed function with its settings and its role, and with every permission enforced."""
        if self.crashes:
            raise RuntimeError("Runtime.ExitError")
        before = {name: self._messages(self.named(f"{name}Queue")) for name in QUEUES}
        role = {name.upper(): value for name, value in self.sandbox.assume(settings["Role"]).items()}
        with pytest.MonkeyPatch.context() as environment:
            for name, value in {**settings["Environment"]["Variables"], **role}.items():
                environment.setenv(name, value)
            with enforced(self.sandbox), redirect_stdout(printed):
                answer = evaluate.handler(event, Context(), evaluate.compose_services(os.environ))
        for name, messages in before.items():
            self._sent[name] = self._messages(self.named(f"{name}Queue")) - messages
        return answer

    def _log_group_exists(self) -> bool:
        groups = self.client("logs").describe_log_groups(logGroupNamePrefix=self.named("EvaluateLogGroup"))
        return bool(groups["logGroups"])

    def _messages(self, url: str) -> int:
        attributes = ["ApproximateNumberOfMessages"]
        found = self.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=attributes)
        return int(found["Attributes"]["ApproximateNumberOfMessages"])

    def _poll(self, name: str, number: int) -> None:
        """Count what the rule of EventBridge sent, and let the function take it, if its mapping and Lambda can."""
        url = self.named(f"{name}Queue")
        sent = self._sent.pop(name, 0)
        if sent:
            properties = self.integrations.properties[f"{name}Verdicts"]
            where = {"EventBusName": properties["EventBusName"], "RuleName": properties["Name"]}
            self._count(number, "AWS/Events", "Invocations", sent, **where)
        if not self._messages(url):
            self._waiting_since.pop(name, None)
            return
        since = self._waiting_since.setdefault(name, number)
        if self._takes_messages(name):
            while poll(self.sandbox, url, lambda _event: None).deleted:
                pass
            self._waiting_since.pop(name)
        age, queue = (number - since) * 3600, url.rpartition("/")[2]
        self._count(number, "AWS/SQS", "ApproximateAgeOfOldestMessage", age, QueueName=queue)

    def _takes_messages(self, name: str) -> bool:
        functions = self.client("lambda")
        with suppress(ClientError):
            mapping = functions.get_event_source_mapping(UUID=self.named(f"{name}Messages"))
            reserved = functions.get_function_concurrency(FunctionName=self.named(f"{name}Function"))
            return mapping["State"] == "Enabled" and reserved.get("ReservedConcurrentExecutions") != 0
        return False

    def _count(self, number: int, namespace: str, metric: str, value: float, **dimensions: str) -> None:
        self._points.setdefault((namespace, metric, frozenset(dimensions.items())), {})[number] = value

    def _keep(self, number: int, point: Datapoint) -> None:
        self._count(number, point.namespace, point.name, point.value, **dict(point.dimensions))

    # --- who notices ---------------------------------------------------------------------------------------------

    def alarms(self) -> dict[str, dict[str, Any]]:
        """Return the alarms that exist, by their logical ID."""
        found = {row["AlarmName"]: row for row in self.client("cloudwatch").describe_alarms()["MetricAlarms"]}
        stacks = (self.rule_stack, self.integrations)
        names = {row.physical_id: logical_id for stack in stacks for logical_id, row in stack.resources.items()}
        return {names[name]: row for name, row in found.items() if name in names}

    def state(self, alarm: Mapping[str, Any], number: int) -> str:
        """Return the state of an alarm at the end of an hour."""
        dimensions = frozenset((row["Name"], row["Value"]) for row in alarm["Dimensions"])
        values = self._points.get((alarm["Namespace"], alarm["MetricName"], dimensions), {})
        hours = range(number - max(1, alarm["EvaluationPeriods"] * alarm["Period"] // 3600) + 1, number + 1)
        periods = [values.get(hour) for hour in hours]
        return alarm_state({**alarm, "EvaluationPeriods": len(periods), "DatapointsToAlarm": len(periods)}, periods)

    def reaches_somebody(self) -> bool:
        """Return whether CloudWatch can send messages to the topic, and somebody gets them."""
        topics: Any = sns_backends[self.sandbox.account_id][REGION].topics
        topic = topics.get(self.topic)
        if topic is None or not topic.subscriptions_confimed:
            return False
        principals = [row["Principal"] for row in json.loads(topic.policy)["Statement"]]
        return any(who in ({"AWS": "*"}, {"Service": "cloudwatch.amazonaws.com"}) for who in principals)

    def faults(self, number: int) -> bool:
        """Return whether the last sweep counted a fault, which the dashboard and `org status` show."""
        values = self._points.get(("ExpressPath", "Unhealthy", frozenset({("RuleName", RULE)})), {})
        return any(value for hour, value in values.items() if hour <= number)

    def doctor(self) -> set[str]:
        """Return the checks of doctor that are not OK. CloudWatch has the errors of the function."""
        of_function = {"Name": "FunctionName", "Value": self.named("EvaluateFunction")}
        data: Any = cloudwatch_backends[self.sandbox.account_id][REGION].metric_data
        ago = datetime.now(UTC) - timedelta(hours=1)
        for metric in ("Errors", "AsyncEventsDropped"):
            points = self._points.get(("AWS/Lambda", metric, frozenset({("FunctionName", of_function["Value"])})), {})
            names = ("Invocations", metric) if metric == "Errors" else (metric,)
            data += [
                MetricDatum("AWS/Lambda", name, value, [of_function], ago)
                for value in list(points.values())[-1:]
                for name in names
            ]
        result = invoke(["doctor", "--format", "json"])
        return {row["name"] for row in json.loads(result.stdout)["checks"] if row["state"] != "OK"}


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
    def stop(place: Place) -> None:
        iam, name = place.client("iam"), place.named(logical_id)
        for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]:
            iam.delete_role_policy(RoleName=name, PolicyName=policy)
        iam.delete_role(RoleName=name)

    return stop


def _lose_network_role(place: Place) -> None:
    """Refuse the role, as STS does if it was deleted or no longer trusts the account."""
    place.sandbox.faults.deny("sts", "AssumeRole", RoleArn=NETWORK_ROLE)


def _delete_ledger(place: Place) -> None:
    dynamodb = place.client("dynamodb")
    dynamodb.update_table(TableName="express-path-ledger", DeletionProtectionEnabled=False)
    dynamodb.delete_table(TableName="express-path-ledger")


def _disable_rule(logical_id: str) -> Callable[[Place], object]:
    def stop(place: Place) -> None:
        stack = place.rule_stack if logical_id in place.rule_stack.resources else place.integrations
        bus = stack.properties[logical_id].get("EventBusName", "default")
        place.client("events").disable_rule(Name=place.named(logical_id).rpartition("|")[2], EventBusName=bus)

    return stop


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


def _crash(place: Place) -> None:
    place.crashes = True


COMPONENTS = (
    Component(
        "AWS Config's recorder is stopped",
        "changes are not evaluated until the next sweep",
        lambda place: place.client("config").stop_configuration_recorder(ConfigurationRecorderName="default"),
    ),
    Component(
        "the Config rule is deleted",
        "everything: no evaluations",
        lambda place: (
            place.client("config").delete_remediation_configuration(ConfigRuleName=RULE),
            place.client("config").delete_config_rule(ConfigRuleName=RULE),
        ),
    ),
    Component("the evaluate function is deleted", "everything: no evaluations", _delete_function("EvaluateFunction")),
    Component(
        "the evaluate function is throttled (reserved concurrency 0)",
        "everything: no evaluations",
        _throttle("EvaluateFunction"),
    ),
    Component("the evaluate function crashes", "no evaluation succeeds: verdicts get old", _crash),
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
        "the alarm topic is deleted",
        "every message of alarms and notices",
        lambda place: place.client("sns").delete_topic(TopicArn=place.topic),
    ),
    Component("the alarm topic's policy refuses CloudWatch", "every message of alarms", _close_topic),
    Component("the alarm topic has no subscription", "every message of alarms and notices", _unsubscribe),
    Component(
        "`HealthAlarm` is deleted",
        "messages about missing sweeps and about faults",
        lambda place: place.client("cloudwatch").delete_alarms(AlarmNames=[place.named("HealthAlarm")]),
    ),
    Component(
        "the actions of `HealthAlarm` are disabled",
        "messages about missing sweeps and about faults",
        lambda place: place.client("cloudwatch").disable_alarm_actions(AlarmNames=[place.named("HealthAlarm")]),
    ),
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
    Component("the plan function is deleted", "heals and undos", _delete_function("PlanFunction")),
    Component("the plan function is throttled", "heals and undos", _throttle("PlanFunction")),
    Component("the role of the runbooks is deleted", "heals and undos", _delete_role("AutomationRole")),
    Component("the role that stops heals is deleted", "`express-path stop`", _delete_role("StopRole")),
    Component("the ledger is deleted", "heals and undos", _delete_ledger),
    Component(
        "the network role is lost",
        "paths beyond a transit gateway: verdicts that need them get old",
        _lose_network_role,
    ),
    Component(
        "the Security Hub function's event source mapping is disabled",
        "findings in Security Hub",
        _disable_mapping("SecurityHub"),
    ),
    Component("the Security Hub function is throttled", "findings in Security Hub", _throttle("SecurityHubFunction")),
    Component(
        "the rule of EventBridge for Security Hub is disabled",
        "findings in Security Hub",
        _disable_rule("SecurityHubVerdicts"),
    ),
    Component("the OCSF function's event source mapping is disabled", "OCSF findings", _disable_mapping("Ocsf")),
    Component("the OCSF function is throttled", "OCSF findings", _throttle("OcsfFunction")),
    Component("the rule of EventBridge for OCSF is disabled", "OCSF findings", _disable_rule("OcsfVerdicts")),
)


def row_of(place: Place, component: Component) -> str:
    """Stop a component, let a day pass, and return the row of the table."""
    place.hour(0)
    assert not place.faults(0)
    assert not [name for name, alarm in place.alarms().items() if place.state(alarm, 0) == "ALARM"]
    component.stop(place)
    noticed: dict[str, int] = {}
    for number in range(STOPPED, HOURS):
        place.hour(number)
        for name, alarm in place.alarms().items():
            if alarm["ActionsEnabled"] and place.state(alarm, number) == "ALARM":
                noticed.setdefault(name, number)
    checks = ", ".join(f"`{name}`" for name in sorted(place.doctor())) or "-"
    return f"| {component.name} | {component.effect} | {_told(place, noticed)} | {checks} |"


def _told(place: Place, noticed: Mapping[str, int]) -> str:
    """Return the alarms whose message reaches somebody, with the hours after the last good sweep, or what shows it."""
    if noticed and place.reaches_somebody():
        return ", ".join(f"`{name}` ({hours} h)" for name, hours in sorted(noticed.items(), key=lambda row: row[::-1]))
    assert place.faults(HOURS), "nobody notices"
    return "dashboard, `org status` (24 h)"


@contextmanager
def deployed(sandbox: Sandbox, packaged: Packaged) -> Iterator[Place]:
    """Yield the deployed stacks in an empty sandbox, to which the environment leads."""
    with Automation(sandbox) as automation, Remediation(sandbox, automation):
        yield Place(sandbox, packaged, automation)


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
    with TemporaryDirectory() as folder, Sandbox() as sandbox:
        os.environ.update(sandbox.environment())
        code = Path(folder) / "code"
        (code / "express_path").mkdir(parents=True)
        (code / "library.py").write_text("VALUE = 1\n", encoding="utf-8")
        output = Path(folder) / "org"
        packaged = Packaged(package(code, code, output), output / "upload")
        rows = []
        for component in COMPONENTS:
            sandbox.reset()
            with deployed(sandbox, packaged) as place:
                rows.append(row_of(place, component))
        DOCUMENT.write_text(written(DOCUMENT.read_text(encoding="utf-8"), "\n".join([*HEAD, *rows])), encoding="utf-8")


if __name__ == "__main__":
    main()
