"""docs/troubleshoot.md says who notices when a component stops: each is stopped in a sandbox, and then there is one sweep."""

import io
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec, module_from_spec
from typing import Any

import pytest
from botocore.exceptions import ClientError
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER
from moto.awslambda.models import lambda_backends
from moto.config.exceptions import InsufficientPermissionsException
from moto.config.models import config_backends
from moto.events.models import events_backends
from moto.sns.models import sns_backends

from config_rule_sandbox.aws_lambda.event_sources import poll
from config_rule_sandbox.aws_lambda.runtime import LambdaContext
from config_rule_sandbox.cloudformation.stack_sets import deploy
from config_rule_sandbox.cloudwatch.printed import Datapoint, extracted
from config_rule_sandbox.config.invocation import invoke_asynchronously
from config_rule_sandbox.config.notifications import RuleIdentity, rule_event, scheduled_notification
from config_rule_sandbox.config.remediation.memory import remediations_of
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.config.results import results_of
from config_rule_sandbox.config.rule_functions import check_function
from config_rule_sandbox.config.rule_statuses import statuses_of
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import acting_in, direct_client
from config_rule_sandbox.iam.requests import enforced
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path.adapters.aws import Aws
from express_path.errors import UnhealthyError
from express_path.healing import rereading
from express_path_cli.installation.rule import read_sweep
from tests.cli.doctor.test_doctor_document import actions, called, somebody
from tests.cli.doctor.whole_stack import topic_with_subscription
from tests.support.command import invoke
from tests.support.ledgers import delete_protected
from tests.support.network import Builder, Private
from tests.support.organization import Organization, Packaged, administrator
from tests.support.template import ROOT

pytestmark = pytest.mark.long

RULE, REGION, LEDGER = "s3express-no-nat-path", "us-east-1", "express-path-ledger"
PAGE = (ROOT / "docs" / "troubleshoot.md").read_text(encoding="utf-8")
ROWS, EDITED = (
    [
        row.strip("| ").split(" | ")
        for row in table.partition("<!-- end -->")[0].splitlines()
        if row.startswith("| ") and "who tells you" not in row
    ]
    for table in (PAGE.partition("<!-- silence -->")[2], PAGE.partition("<!-- edits -->")[2])
)
PROTECT = json.loads((ROOT / "org" / "protect.scp.json").read_text(encoding="utf-8"))["Statement"]
ATTEMPTS = 6
"""A message goes to the queue of failed messages after five attempts."""


class Place:
    """The stacks of the rule and of the integrations in one account and Region, in which a subnet has a NAT path."""

    def __init__(self, sandbox: Sandbox, packaged: Packaged, automation: Automation) -> None:
        """Deploy everything, so that nothing is wrong."""
        self.sandbox, self.automation = sandbox, automation
        self.administrators: dict[str, dict[str, str]] = {}
        self.control: list[dict[str, Any]] = []
        self.topic = topic_with_subscription(sandbox, "alarms")
        self.client("securityhub").enable_security_hub()
        organization = Organization(sandbox, packaged, "network")
        organization.accounts["own"] = sandbox.account_id
        organization.provide_code(REGION)
        organization.record("own", REGION)
        ledger = organization.deploy_ledger("own", REGION)
        self.network_account = organization.accounts["network"]
        role = {"OrganizationId": organization.id, "ExternalId": "a-secret"}
        template = (ROOT / "org" / "network-role.yaml").read_text(encoding="utf-8")
        network = deploy(sandbox, template, role, self.network_account, REGION)
        given = {"NetworkRoleArn": network.outputs["NetworkRoleArn"], "NetworkRoleExternalId": "a-secret"}
        alarms = {"AlarmTopicArn": self.topic}
        rule = organization.deploy_rule("own", REGION, "express-path", RemediationMode="ON", **given, **alarms)
        integrations = organization.deploy_integrations("own", REGION, **alarms)
        stacks = (network, integrations, rule)
        assert not [stack.failure for stack in stacks if stack.failure]
        self.stacks = (*stacks, ledger)
        self.names = {name: str(row.physical_id) for stack in self.stacks for name, row in stack.resources.items()}
        self.properties = {name: given for stack in self.stacks for name, given in stack.properties.items()}
        self.names["topic"] = self.topic
        self.subnet_id = Private(Builder(sandbox)).subnet
        name = self.names["PlanFunction"]
        automation.functions.register(name, lambda event: self._invoke(name, event, io.StringIO()))
        sandbox.eventbridge.holds, sandbox.eventbridge.run_others = True, self._check
        automation.knobs.time_scale = 0.001

    def client(self, service: str, account_id: str | None = None) -> Client:
        """Return a client that no policy denies anything, or of the administrator of the account if there is one."""
        if credentials := self.administrators.get(account_id or self.sandbox.account_id):
            return self.sandbox.client(service, credentials=credentials)
        client: Client = direct_client(self.sandbox, service)
        return client

    def drift(self, edited: str) -> str:
        """Return the resource if the template sets its property, and CloudFormation can read it back."""
        logical_id, _, name = edited.partition("/")
        [stack] = [stack for stack in self.stacks if logical_id in stack.resources]
        kind = stack.template["Resources"][logical_id]["Type"]
        hidden = PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, kind).schema.get("writeOnlyProperties", ())
        is_set = name.partition("/")[0] in stack.properties[logical_id]
        return f"`{logical_id}`" if is_set and f"/properties/{name}" not in hidden else "-"

    def sweep(self) -> None:
        """Let AWS Config invoke the function, if there is a rule and it may; then the integration gets the messages."""
        for rule in self.client("config").describe_config_rules()["ConfigRules"]:
            try:
                check_function(config_backends[self.sandbox.account_id][REGION], rule["Source"])
            except InsufficientPermissionsException as error:
                now = datetime.now(UTC).timestamp()
                statuses_of(self.sandbox.account_id, REGION).told[RULE] = {
                    "FirstEvaluationStarted": True,
                    "LastSuccessfulInvocationTime": now - 3600,
                    "LastFailedInvocationTime": now,
                    "LastErrorMessage": error.message,
                }
                break
            parameters, account_id = json.loads(rule["InputParameters"]), self.sandbox.account_id
            identity = RuleIdentity(RULE, rule["ConfigRuleArn"], rule["ConfigRuleId"], account_id, "role", parameters)
            created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
            token = results_of(account_id, REGION).issue_token(RULE)
            self._deliver(rule_event(identity, scheduled_notification(account_id, created), token))
        self._take_messages()

    def _check(self, function_arn: str, event: dict[str, Any]) -> None:
        """Invoke the health function, as EventBridge does, unless it is throttled; Lambda counts whether it fails."""
        name, printed, of_function = function_arn.rpartition(":")[2], io.StringIO(), self._dimension("HealthFunction")
        if self._is_throttled(name):
            raise RuntimeError("Rate Exceeded")
        try:
            with enforced(self.sandbox, self.control):
                self._invoke(name, event, printed)
        except Exception:
            self._measure("AWS/Lambda", "Errors", of_function, 1)
            raise
        else:
            self._measure("AWS/Lambda", "Errors", of_function, 0)
        finally:
            with suppress(ClientError):
                self._log(printed.getvalue().splitlines())

    def forge_end_of_sweep(self) -> None:
        """Invoke the health function as somebody who may: a sweep has just ended, and found nothing."""
        detail = {"orderingTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "faults": []}
        event = {"source": "express-path", "detail-type": "SweepCompleted", "detail": detail}
        with suppress(UnhealthyError):
            self._check(self.names["HealthFunction"], event)

    def _deliver(self, event: dict[str, Any]) -> None:
        """Invoke the function as Lambda does. It drops the event of a function that fails three times, or is throttled."""
        name, printed, of_function = self.names["EvaluateFunction"], io.StringIO(), self._dimension("EvaluateFunction")
        attempts, error = 0, True
        if not self._is_throttled(name):
            with enforced(self.sandbox, self.control):
                delivery = invoke_asynchronously(lambda given: self._invoke(name, given, printed), event)
            attempts, error = delivery.attempts, delivery.error is not None
        for metric, value in (("Invocations", attempts), ("Errors", attempts * error), ("AsyncEventsDropped", error)):
            if value:
                self._measure("AWS/Lambda", metric, of_function, value)
        with suppress(ClientError):  # without the log group, what the function printed is lost
            self._log(printed.getvalue().splitlines())
        for sent in self.sandbox.eventbridge.deliver():
            bus, _, rule = sent.rule_arn.partition(":rule/")[2].rpartition("/")
            self._measure("AWS/Events", "Invocations", (("EventBusName", bus), ("RuleName", rule)), 1)

    def _log(self, lines: list[str]) -> None:
        group, now = self.names["EvaluateLogGroup"], datetime.now(UTC)
        stream = f"stream-{time.monotonic_ns()}"
        self.client("logs").create_log_stream(logGroupName=group, logStreamName=stream)
        events = [{"timestamp": int(now.timestamp() * 1000), "message": line} for line in lines]
        if events:
            self.client("logs").put_log_events(logGroupName=group, logStreamName=stream, logEvents=events)
        self.sandbox.metrics.add(replace(point, time=now) for point in extracted(lines))

    def _invoke(self, name: str, event: dict[str, Any], printed: io.StringIO) -> Any:
        """Run a deployed function in a new environment: its handler, with its settings and its role."""
        settings = self.client("lambda").get_function_configuration(FunctionName=name)
        session = self.client("sts").assume_role(RoleArn=settings["Role"], RoleSessionName=name)["Credentials"]
        variables = {
            **settings["Environment"]["Variables"],
            "AWS_LAMBDA_FUNCTION_NAME": name,
            "AWS_ACCESS_KEY_ID": session["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": session["SecretAccessKey"],
            "AWS_SESSION_TOKEN": session["SessionToken"],
        }
        module, _, function = settings["Handler"].rpartition(".")
        with pytest.MonkeyPatch.context() as environment, redirect_stdout(printed):
            for variable, value in variables.items():
                environment.setenv(variable, value)
            found = find_spec(module)
            if found is None or found.loader is None:
                raise ModuleNotFoundError(f"Runtime.ImportModuleError: Unable to import module '{module}'")
            made = module_from_spec(found)
            found.loader.exec_module(made)
            environment.setattr(made.logger.registered_handler, "stream", printed)
            return getattr(made, function)(event, LambdaContext(function_name=name))

    def _is_throttled(self, name: str) -> bool:
        found = self.client("lambda").get_function_concurrency(FunctionName=name)
        return bool(found.get("ReservedConcurrentExecutions") == 0)

    def _take_messages(self) -> None:
        """Let Lambda poll the queue of the integration. What is still there has waited for hours when somebody looks."""
        mapping = self.client("lambda").get_event_source_mapping(UUID=self.names["SecurityHubMessages"])
        name, url = mapping["FunctionArn"].rpartition(":")[2], self.names["SecurityHubQueue"]
        if mapping["State"] == "Enabled" and not self._is_throttled(name):
            for _ in range(ATTEMPTS):
                with enforced(self.sandbox):
                    poll(self.sandbox, url, lambda event: self._invoke(name, event, io.StringIO()))
        for logical_id in ("SecurityHubQueue", "FailedMessagesQueue"):
            attributes, of_queue = ["ApproximateNumberOfMessages"], self._dimension(logical_id)
            with suppress(ClientError):
                url = self.names[logical_id]
                answer = self.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=attributes)
                if waiting := int(answer["Attributes"]["ApproximateNumberOfMessages"]):
                    self._measure("AWS/SQS", "ApproximateNumberOfMessagesVisible", of_queue, waiting)
                    self._measure("AWS/SQS", "ApproximateAgeOfOldestMessage", of_queue, 7200)

    def _dimension(self, logical_id: str) -> tuple[tuple[str, str], ...]:
        kind = "QueueName" if logical_id.endswith("Queue") else "FunctionName"
        return ((kind, self.names[logical_id].rpartition("/")[2]),)

    def _measure(self, namespace: str, metric: str, dimensions: tuple[tuple[str, str], ...], value: float) -> None:
        self.sandbox.metrics.add([Datapoint(namespace, metric, dimensions, value, datetime.now(UTC))])

    def told(self) -> str:
        """Return the alarms whose message reaches somebody, or what shows the fault, or the notice of a heal."""
        if alarms := self._alarms():
            return ", ".join(f"`{name}`" for name in sorted(alarms))
        if list(read_sweep(Aws.connect(), RULE, datetime.now(UTC)).faults):
            return "dashboard, `org status`"
        return "nobody" if self._heal() == "Success" else "nobody, until a heal fails (`HealFailedNotice`)"

    def _alarms(self) -> set[str]:
        """Return the alarms that are on after this sweep, if the one before it was a day ago, and reach somebody."""
        topics: Any = sns_backends[self.sandbox.account_id][REGION].topics
        topic = topics.get(self.topic)
        if not topic or not self._admits_cloudwatch(json.loads(topic.policy)["Statement"]):
            return set()
        logical_ids = {name: logical_id for logical_id, name in self.names.items()}
        moment = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        if not any(self._takes_alarms(row["SubscriptionArn"]) for row in self._subscriptions()):
            return set()
        return {
            logical_ids[alarm["AlarmName"]]
            for alarm in self.client("cloudwatch").describe_alarms()["MetricAlarms"]
            if self.sandbox.metrics.first_alarm(alarm, moment, moment)
            if topic.subscriptions_confimed and alarm["ActionsEnabled"] and self.topic in alarm["AlarmActions"]
        }

    def _subscriptions(self) -> list[dict[str, str]]:
        rows: list[dict[str, str]] = self.client("sns").list_subscriptions_by_topic(TopicArn=self.topic)[
            "Subscriptions"
        ]
        return rows

    def _admits_cloudwatch(self, statements: list[dict[str, Any]]) -> bool:
        """Return whether a statement without a condition allows it, and none denies anything."""
        return all(row["Effect"] == "Allow" for row in statements) and any(
            "cloudwatch.amazonaws.com" in str(row["Principal"]) and row["Resource"] in ("*", self.topic)
            for row in statements
            if "Condition" not in row
        )

    def _takes_alarms(self, subscription: str) -> bool:
        attributes = self.client("sns").get_subscription_attributes(SubscriptionArn=subscription)["Attributes"]
        return json.loads(attributes.get("FilterPolicy") or "{}") in ({}, ONLY_ALARMS)

    def _heal(self) -> str:
        """Let AWS Config heal the subnet once, and return how the run of the runbook ended."""
        resource = ("AWS::EC2::Subnet", self.subnet_id)
        key = {"resourceType": resource[0], "resourceId": resource[1]}
        with enforced(self.sandbox, self.control), pytest.MonkeyPatch.context() as changed:
            changed.setattr(rereading, "SECONDS_APART", 0)
            self.client("config").start_remediation_execution(ConfigRuleName=RULE, ResourceKeys=[key])
            run = remediations_of(self.sandbox.account_id, REGION).last(RULE, resource)
            assert run
            assert run.execution, run.refusal
            return str(self.automation.wait(run.execution.id)["AutomationExecutionStatus"])

    def doctor(self) -> str:
        """Return the checks of doctor that are not OK."""
        checks = json.loads(invoke(["doctor", "--format", "json"]).stdout)["checks"]
        return ", ".join(f"`{name}`" for name in sorted(row["name"] for row in checks if row["state"] != "OK")) or "-"


def call(service: str, operation: str, **given: object) -> Callable[[Place], object]:
    """Stop a component with one call. A value that is a logical ID stands for the name of the resource."""
    return lambda place: getattr(place.client(service), operation)(
        **{key: place.names.get(str(value), value) for key, value in given.items()}
    )


def throttle(function: str) -> Callable[[Place], object]:
    """Let no invocation of a function begin."""
    return call("lambda", "put_function_concurrency", FunctionName=function, ReservedConcurrentExecutions=0)


def crash(function: str) -> Callable[[Place], object]:
    """Let Lambda import a handler that is not in the code, so that each invocation fails."""
    return call("lambda", "update_function_configuration", FunctionName=function, Handler="express_path.lost.handler")


def delete_role(role: str) -> Callable[[Place], object]:
    """Delete a role with its policies."""

    def stop(place: Place) -> None:
        iam, name = place.client("iam"), place.names[role]
        for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]:
            iam.delete_role_policy(RoleName=name, PolicyName=policy)
        iam.delete_role(RoleName=name)

    return stop


def delete_network_role(place: Place) -> None:
    """Delete the role in the network account."""
    with acting_in(place.network_account):
        delete_role("NetworkRole")(place)


def delete_rule(place: Place) -> None:
    """Delete the Config rule with its remediation."""
    place.client("config").delete_remediation_configuration(ConfigRuleName=RULE)
    place.client("config").delete_config_rule(ConfigRuleName=RULE)


def delete_notice(place: Place) -> None:
    """Delete a rule of EventBridge."""
    call("events", "remove_targets", Rule="RecorderNotice", Ids=["topic"])(place)
    call("events", "delete_rule", Name="RecorderNotice")(place)


def delete_bus(place: Place) -> None:
    """Delete the bus with its rules."""
    events_backends[place.sandbox.account_id][REGION].event_buses.pop(place.names["EventBus"])


def delete_ledger(place: Place) -> None:
    """Delete the table, which is protected."""
    delete_protected(place.client("dynamodb"), LEDGER)


def open_ledger(place: Place) -> None:
    """Delete the table's resource policy."""
    arn = place.client("dynamodb").describe_table(TableName=LEDGER)["Table"]["TableArn"]
    place.client("dynamodb").delete_resource_policy(ResourceArn=arn)


def edit_runbook(action: str, **inputs: str) -> Callable[[Place], object]:
    """Make a new default version of the runbook that heals, with only one step."""

    def edit(place: Place) -> None:
        ssm, name = place.client("ssm"), place.names["HealDocument"]
        content = json.loads(ssm.get_document(Name=name, DocumentFormat="JSON")["Content"])
        step = {"name": "only", "action": action, "inputs": inputs}
        text = json.dumps({**content, "mainSteps": [step], "outputs": []})
        made = ssm.update_document(Name=name, Content=text, DocumentFormat="JSON", DocumentVersion="$LATEST")
        ssm.update_document_default_version(Name=name, DocumentVersion=made["DocumentDescription"]["DocumentVersion"])

    return edit


def point_remediation_elsewhere(place: Place) -> None:
    """Let AWS Config start a copy of the runbook with another name."""
    config, ssm = place.client("config"), place.client("ssm")
    content = ssm.get_document(Name=place.names["HealDocument"], DocumentFormat="JSON")["Content"]
    ssm.create_document(Name="another", Content=content, DocumentType="Automation", DocumentFormat="JSON")
    [found] = config.describe_remediation_configurations(ConfigRuleNames=[RULE])["RemediationConfigurations"]
    changed = {key: value for key, value in found.items() if key != "Arn"} | {"TargetId": "another"}
    config.put_remediation_configurations(RemediationConfigurations=[changed])


def admit(service: str, more: Mapping[str, Any] | None = None) -> Callable[[Place], object]:
    """Let only one service publish to the topic, in a statement with other elements if they are given."""
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sns:Publish", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement | (more or {})]})
    return call("sns", "set_topic_attributes", TopicArn="topic", AttributeName="Policy", AttributeValue=policy)


def deny_everyone_since_2020(place: Place) -> None:
    """Add a statement to the policy of the topic that denies from a day in the past."""
    sns = place.client("sns")
    policy = json.loads(sns.get_topic_attributes(TopicArn=place.topic)["Attributes"]["Policy"])
    since = {"DateGreaterThan": {"aws:CurrentTime": "2020-01-01T00:00:00Z"}}
    denied = {"Effect": "Deny", "Principal": "*", "Action": "sns:Publish", "Resource": place.topic, "Condition": since}
    policy["Statement"].append(denied)
    sns.set_topic_attributes(TopicArn=place.topic, AttributeName="Policy", AttributeValue=json.dumps(policy))


def unsubscribe(place: Place) -> None:
    """Leave the topic without subscriptions."""
    topics: Any = sns_backends[place.sandbox.account_id][REGION].topics
    topics[place.topic].subscriptions_confimed = 0
    sns = place.client("sns")
    for row in sns.list_subscriptions_by_topic(TopicArn=place.topic)["Subscriptions"]:
        sns.unsubscribe(SubscriptionArn=row["SubscriptionArn"])


ONLY_ALARMS = {"NewStateValue": ["ALARM"]}


def filter_messages(scope: str, policy: Mapping[str, Any]) -> Callable[[Place], object]:
    """Give the only subscription a filter policy."""

    def edit(place: Place) -> None:
        sns = place.client("sns")
        [row] = sns.list_subscriptions_by_topic(TopicArn=place.topic)["Subscriptions"]
        for name, value in (("FilterPolicyScope", scope), ("FilterPolicy", json.dumps(policy))):
            changed = {"AttributeName": name, "AttributeValue": value}
            sns.set_subscription_attributes(SubscriptionArn=row["SubscriptionArn"], **changed)

    return edit


def send_elsewhere(alarm: str) -> Callable[[Place], object]:
    """Let an alarm tell a topic of somebody else."""

    def edit(place: Place) -> None:
        elsewhere = place.client("sns").create_topic(Name="elsewhere")["TopicArn"]
        changed = {"AlarmName": place.names[alarm], "AlarmActions": [elsewhere]}
        place.client("cloudwatch").put_metric_alarm(**place.properties[alarm] | changed)

    return edit


def throttle_and_forge(place: Place) -> None:
    """Let nothing be evaluated, and invoke the health function as if a sweep had ended."""
    throttle("EvaluateFunction")(place)
    place.forge_end_of_sweep()


def delete_rule_and_forge(place: Place) -> None:
    """Delete the Config rule, and invoke the health function as if a sweep had ended."""
    delete_rule(place)
    place.forge_end_of_sweep()


def pretend_to_be_healthy(place: Place) -> None:
    """Write every metric that a person may write as if all were well, after the ledger is deleted."""
    delete_ledger(place)
    of_rule = [{"Name": "RuleName", "Value": RULE}]
    of_function = [{"Name": "FunctionName", "Value": place.names["HealthFunction"]}]
    for namespace, metric, dimensions in (("ExpressPath", "Unhealthy", of_rule), ("Custom", "Errors", of_function)):
        datum = {"MetricName": metric, "Value": 0, "Dimensions": dimensions}
        place.client("cloudwatch").put_metric_data(Namespace=namespace, MetricData=[datum])


def close_endpoints(place: Place) -> None:
    """Create an endpoint as a heal does, and deny everything in its policy."""
    ec2, subnet_id = place.client("ec2"), place.subnet_id
    [subnet] = ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"]
    closed = {"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}
    tag = {"Key": "express-path:managed", "Value": "true"}
    ec2.create_vpc_endpoint(
        VpcId=subnet["VpcId"],
        ServiceName=f"com.amazonaws.{REGION}.s3express",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [closed]}),
        TagSpecifications=[{"ResourceType": "vpc-endpoint", "Tags": [tag]}],
    )


def disable_mapping(place: Place) -> None:
    """Let Lambda take no messages."""
    functions: Any = lambda_backends[place.sandbox.account_id][REGION]
    functions.update_event_source_mapping(place.names["SecurityHubMessages"], {"Enabled": False})


def delete_alarm(alarm: str) -> Callable[[Place], object]:
    """Delete an alarm."""
    return lambda place: place.client("cloudwatch").delete_alarms(AlarmNames=[place.names[alarm]])


def stop_heals(_: Place) -> None:
    """Stop all heals."""
    assert invoke(["stop", "--reason", "INC-1234"]).exit_code == 0


def edit_rule(**changed: object) -> Callable[[Place], object]:
    """Put the Config rule with other properties."""

    def edit(place: Place) -> None:
        rule = place.properties["ConfigRule"] | changed
        rule["InputParameters"] = json.dumps(rule["InputParameters"])
        place.client("config").put_config_rule(ConfigRule=rule)

    return edit


def only_scheduled(place: Place) -> None:
    """Let changes no longer invoke the rule."""
    source = place.properties["ConfigRule"]["Source"]
    edit_rule(Source=source | {"SourceDetails": source["SourceDetails"][-1:]})(place)


def remediate_as_a_person(place: Place) -> None:
    """Let AWS Config start the runbook with the role of a person."""
    config = place.client("config")
    role = place.client("iam").create_role(RoleName="ann", AssumeRolePolicyDocument=TRUST)["Role"]["Arn"]
    [found] = config.describe_remediation_configurations(ConfigRuleNames=[RULE])["RemediationConfigurations"]
    found["Parameters"]["AutomationAssumeRole"]["StaticValue"]["Values"] = [role]
    del found["Arn"]
    config.put_remediation_configurations(RemediationConfigurations=[found])


def attach_policy(place: Place) -> None:
    """Attach a policy to the role of the runbooks."""
    iam = place.client("iam")
    arn = iam.create_policy(PolicyName="more", PolicyDocument=DENY_WRITES)["Policy"]["Arn"]
    iam.attach_role_policy(RoleName=place.names["AutomationRole"], PolicyArn=arn)


def set_variable(function: str, variable: str, value: str) -> Callable[[Place], object]:
    """Set a variable of a function's environment."""

    def edit(place: Place) -> None:
        variables = place.properties[function]["Environment"]["Variables"] | {variable: value}
        changed = {"FunctionName": place.names[function], "Environment": {"Variables": variables}}
        place.client("lambda").update_function_configuration(**changed)

    return edit


def replace_code(function: str) -> Callable[[Place], object]:
    """Upload other code of a function. The sandbox still runs that of this repository."""
    return call("lambda", "update_function_code", FunctionName=function, ZipFile=b"PK\5\6" + bytes(18))


def drop_policy(role: str, policy: str) -> Callable[[Place], object]:
    """Delete an inline policy of a role."""
    return call("iam", "delete_role_policy", RoleName=role, PolicyName=policy)


def edit_alarm(place: Place) -> None:
    """Raise the threshold of the alarm to what no sweep reaches, and let it wait for one."""
    changed = {"AlarmName": place.names["HealthAlarm"], "Threshold": 1e6, "TreatMissingData": "notBreaching"}
    place.client("cloudwatch").put_metric_alarm(**place.properties["HealthAlarm"] | changed)


def empty_network_role(place: Place) -> None:
    """Delete the policy of the role in the network account."""
    with acting_in(place.network_account):
        iam = place.client("iam", place.network_account)
        iam.delete_role_policy(RoleName=place.names["NetworkRole"], PolicyName="read-network")


RECORDS_SUBNETS = {
    "name": "default",
    "roleARN": "arn:aws:iam::123456789012:role/config",
    "recordingGroup": {"resourceTypes": ["AWS::EC2::Subnet"]},
}
VERDICTS = {"EventBusName": "EventBus"}
"""The bus of the integration's rule."""
WRITES = {"Effect": "Deny", "Action": "securityhub:BatchImportFindings", "Resource": "*"}
DENY_WRITES = json.dumps({"Version": "2012-10-17", "Statement": [WRITES]})
STOPS: Mapping[str, Callable[[Place], object]] = {
    "AWS Config's recorder is stopped": call(
        "config", "stop_configuration_recorder", ConfigurationRecorderName="default"
    ),
    "AWS Config's recorder no longer records route tables": call(
        "config", "put_configuration_recorder", ConfigurationRecorder=RECORDS_SUBNETS
    ),
    "the Config rule is deleted": delete_rule,
    "AWS Config may no longer invoke the evaluate function": call(
        "lambda", "remove_permission", FunctionName="EvaluateFunction", StatementId="ConfigPermission"
    ),
    "the evaluate function is deleted": call("lambda", "delete_function", FunctionName="EvaluateFunction"),
    "the evaluate function is throttled (reserved concurrency 0)": throttle("EvaluateFunction"),
    "the evaluate function is throttled, and somebody invokes the function that checks as if a sweep had ended": throttle_and_forge,
    "the Config rule is deleted, and somebody invokes the function that checks as if a sweep had ended": delete_rule_and_forge,
    "the evaluate function crashes": crash("EvaluateFunction"),
    "the evaluate function may not read EC2": call(
        "iam", "delete_role_policy", RoleName="EvaluateRole", PolicyName="evaluate"
    ),
    "the network role is deleted": delete_network_role,
    "the log group of the evaluate function is deleted": call(
        "logs", "delete_log_group", logGroupName="EvaluateLogGroup"
    ),
    "the event bus is deleted": delete_bus,
    "a rule of EventBridge for notices is disabled": call("events", "disable_rule", Name="HealFailedNotice"),
    "a rule of EventBridge for notices is deleted": delete_notice,
    "a rule of EventBridge for notices has no target": call(
        "events", "remove_targets", Rule="HealFailedNotice", Ids=["topic"]
    ),
    "the alarm topic is deleted": call("sns", "delete_topic", TopicArn="topic"),
    "the alarm topic's policy refuses CloudWatch": admit("events.amazonaws.com"),
    "the alarm topic's policy refuses EventBridge": admit("cloudwatch.amazonaws.com"),
    "the alarm topic's policy admits CloudWatch only for another account": admit(
        "cloudwatch.amazonaws.com", {"Condition": {"StringEquals": {"aws:SourceAccount": "999999999999"}}}
    ),
    "the alarm topic's policy admits CloudWatch only to another topic": admit(
        "cloudwatch.amazonaws.com", {"Resource": "arn:aws:sns:us-east-1:123456789012:another"}
    ),
    "the alarm topic's policy denies everyone to publish since 2020": deny_everyone_since_2020,
    "the alarm topic has no subscription": unsubscribe,
    "the filter policy of the only subscription wants an attribute, which no message has": filter_messages(
        "MessageAttributes", {"team": ["network"]}
    ),
    "the filter policy of the only subscription wants alarms of another name": filter_messages(
        "MessageBody", {"AlarmName": [{"prefix": "another-team-"}]}
    ),
    "the filter policy of the only subscription takes alarms, and drops every notice": filter_messages(
        "MessageBody", ONLY_ALARMS
    ),
    "the function that checks after each sweep is deleted": call(
        "lambda", "delete_function", FunctionName="HealthFunction"
    ),
    "the function that checks after each sweep is throttled": throttle("HealthFunction"),
    "the function that checks after each sweep crashes": crash("HealthFunction"),
    "the role of that function has no policy": call(
        "iam", "delete_role_policy", RoleName="HealthRole", PolicyName="check"
    ),
    "the rule of EventBridge that invokes that function is disabled": call(
        "events", "disable_rule", Name="HealthRule", **VERDICTS
    ),
    "`HealthAlarm` is deleted": delete_alarm("HealthAlarm"),
    "the actions of `HealthAlarm` go to another topic": send_elsewhere("HealthAlarm"),
    "the actions of `HealthAlarm` are disabled": lambda place: place.client("cloudwatch").disable_alarm_actions(
        AlarmNames=[place.names["HealthAlarm"]]
    ),
    "`ErrorsAlarm` is deleted": delete_alarm("ErrorsAlarm"),
    "the actions of `ErrorsAlarm` go to another topic": send_elsewhere("ErrorsAlarm"),
    "`UnsentNoticesAlarm` is deleted": delete_alarm("UnsentNoticesAlarm"),
    "the actions of `UnsentNoticesAlarm` go to another topic": send_elsewhere("UnsentNoticesAlarm"),
    "a runbook is deleted": call("ssm", "delete_document", Name="HealDocument"),
    "the rule's remediation is deleted": call("config", "delete_remediation_configuration", ConfigRuleName=RULE),
    "the rule's remediation starts another runbook": point_remediation_elsewhere,
    "a runbook is edited, and fails since": edit_runbook("aws:invokeLambdaFunction", FunctionName="lost"),
    "all heals are stopped (`express-path stop`), and nobody starts them again": stop_heals,
    "the plan function is deleted": call("lambda", "delete_function", FunctionName="PlanFunction"),
    "the plan function is throttled": throttle("PlanFunction"),
    "the plan function crashes": crash("PlanFunction"),
    "the log group of the plan function is deleted": call("logs", "delete_log_group", logGroupName="PlanLogGroup"),
    "the role of the plan function is deleted": delete_role("PlanRole"),
    "the role of the runbooks has no policy": call(
        "iam", "delete_role_policy", RoleName="AutomationRole", PolicyName="heal"
    ),
    "the role of the runbooks is deleted": delete_role("AutomationRole"),
    "the role that stops heals is deleted": delete_role("StopRole"),
    "the ledger is deleted": delete_ledger,
    "the ledger is deleted, and somebody writes metrics that say that all is well": pretend_to_be_healthy,
    "the ledger has no resource policy": open_ledger,
    "the policy of an endpoint that a heal created denies everything": close_endpoints,
    "the event source mappings of the integrations are disabled": disable_mapping,
    "the functions of the integrations are throttled": throttle("SecurityHubFunction"),
    "the functions of the integrations crash": crash("SecurityHubFunction"),
    "the functions of the integrations may not write findings": call(
        "iam", "put_role_policy", RoleName="SecurityHubRole", PolicyName="deny", PolicyDocument=DENY_WRITES
    ),
    "the rules of EventBridge of the integrations are disabled": call(
        "events", "disable_rule", Name="SecurityHubVerdicts", **VERDICTS
    ),
    "the rules of EventBridge of the integrations have no target": call(
        "events", "remove_targets", Rule="SecurityHubVerdicts", Ids=["queue"], **VERDICTS
    ),
    "the queues of the integrations have no policy": call(
        "sqs", "set_queue_attributes", QueueUrl="SecurityHubQueue", Attributes={"Policy": ""}
    ),
    "Security Hub is disabled": call("securityhub", "disable_security_hub"),
    "the integration's rule for AWS Config's own events is disabled": call(
        "events", "disable_rule", Name="SecurityHubComplianceChanges"
    ),
    "the queue of failed messages is deleted": call("sqs", "delete_queue", QueueUrl="FailedMessagesQueue"),
    "an alarm of the integrations is deleted": delete_alarm("SecurityHubBacklogAlarm"),
    **{
        f"the actions of `{alarm}` go to another topic": send_elsewhere(alarm)
        for alarm in ("FailedMessagesAlarm", "SecurityHubBacklogAlarm", "SecurityHubSilenceAlarm")
    },
}


ANYBODY = {"AWS": "*", "Service": "ssm.amazonaws.com"}
ASSUMES = {"Effect": "Allow", "Principal": ANYBODY, "Action": "sts:AssumeRole"}
TRUST = json.dumps({"Version": "2012-10-17", "Statement": [ASSUMES]})
EDITS: Mapping[str, tuple[Callable[[Place], object], str]] = {
    "the Config rule evaluates only one VPC (`vpcIds`)": (
        edit_rule(InputParameters={"vpcIds": "vpc-0a1b2c3d"}),
        "ConfigRule/InputParameters",
    ),
    "another parameter of the Config rule excludes subnets (`excludeTag`)": (
        edit_rule(InputParameters={"excludeTag": "Name"}),
        "ConfigRule/InputParameters",
    ),
    "changes no longer invoke the Config rule": (only_scheduled, "ConfigRule/Source"),
    "the Config rule ignores changes of route tables": (
        edit_rule(Scope={"ComplianceResourceTypes": ["AWS::EC2::Subnet"]}),
        "ConfigRule/Scope",
    ),
    "remediation runs with the role of a person": (remediate_as_a_person, "Remediation/Parameters"),
    "a runbook only succeeds": (edit_runbook("aws:sleep", Duration="PT1S"), "HealDocument/Content"),
    "the plan function ignores what blocks heals (its environment)": (
        set_variable("PlanFunction", "WARN_ONLY", "POLICY_WOULD_DENY,DNS_ATTRIBUTES"),
        "PlanFunction/Environment",
    ),
    "the function that checks after each sweep is told another stack (its environment)": (
        set_variable("HealthFunction", "STACK_ID", "arn:aws:cloudformation:us-east-1:123456789012:stack/another/1"),
        "HealthFunction/Environment",
    ),
    "the function that checks after each sweep has other code": (
        replace_code("HealthFunction"),
        "HealthFunction/Code/S3Key",
    ),
    "the evaluate function has other code": (replace_code("EvaluateFunction"), "EvaluateFunction/Code/S3Key"),
    "the plan function has other code": (replace_code("PlanFunction"), "PlanFunction/Code/S3Key"),
    "the role of the plan function has no policy": (drop_policy("PlanRole", "plan"), "PlanRole/Policies"),
    "the role that stops heals has no policy": (drop_policy("StopRole", "stop"), "StopRole/Policies"),
    "a policy is attached to the role of the runbooks": (attach_policy, "AutomationRole/ManagedPolicyArns"),
    "the role of the runbooks trusts others": (
        call("iam", "update_assume_role_policy", RoleName="AutomationRole", PolicyDocument=TRUST),
        "AutomationRole/AssumeRolePolicyDocument",
    ),
    "a notice matches no event": (
        call("events", "put_rule", Name="HealUndoneNotice", EventPattern='{"source": ["none"]}'),
        "HealUndoneNotice/EventPattern",
    ),
    "the threshold of `HealthAlarm` is never reached": (edit_alarm, "HealthAlarm/Threshold"),
    "the bus has no policy": (
        call("events", "remove_permission", EventBusName="EventBus", RemoveAllPermissions=True),
        "EventBusPolicy/Action",
    ),
    "the ledger has no deletion protection": (
        call("dynamodb", "update_table", TableName="LedgerTable", DeletionProtectionEnabled=False),
        "LedgerTable/DeletionProtectionEnabled",
    ),
    "the network role has no policy": (empty_network_role, "NetworkRole/Policies"),
}
"""What an administrator can edit: the edit, and what it edits of the template."""


@pytest.fixture
def place(sandbox: Sandbox, packaged: Packaged) -> Iterator[Place]:
    """Yield the deployed stacks, before their first sweep."""
    with Automation(sandbox) as automation, Remediation(sandbox, automation):
        yield Place(sandbox, packaged, automation)


def test_nothing_is_noticed_if_nothing_stops(place: Place) -> None:
    """With all components and org/protect.scp.json, no alarm goes off, doctor is OK, and sweeps and heals work."""
    place.control = PROTECT
    place.sweep()
    assert (place.doctor(), place.told()) == ("-", "nobody")


def test_an_administrator_can_edit_nothing_and_stop_heals(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """With org/protect.scp.json, each edit of the page is denied, and `stop` and `start` work."""
    accounts = (place.sandbox.account_id, place.network_account)
    place.administrators = {account_id: administrator(place.sandbox, account_id) for account_id in accounts}
    for name, value in place.administrators[place.sandbox.account_id].items():
        monkeypatch.setenv(name.upper(), value)
    with enforced(place.sandbox, PROTECT):
        codes = {name: refused(edit, place=place) for name, (edit, _) in EDITS.items()}
        for words in (["stop", "--reason", "INC-1234"], ["start", "--yes"]):
            assert invoke(words).exit_code == 0
    assert {name: code.removesuffix("Exception") for name, code in codes.items()} == dict.fromkeys(
        EDITS, "AccessDenied"
    )


@pytest.mark.parametrize("row", EDITED, ids=lambda row: row[0])
def test_who_notices_an_edit_is_what_the_page_says(place: Place, row: list[str]) -> None:
    """Without the policy, exactly these alarms, checks of doctor, and detection of drift see it."""
    edits, *seen = row
    edit, edited = EDITS[edits]
    edit(place)
    place.sweep()
    assert [place.told(), place.doctor(), place.drift(edited)] == seen


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_who_notices_is_what_the_page_says(place: Place, row: list[str]) -> None:
    """Without the component, exactly these alarms go off, or the dashboard shows it; doctor names it."""
    stops, told, checks = row
    STOPS[stops](place)
    place.sweep()
    assert (place.doctor(), place.told()) == (checks, told)


def test_the_page_has_a_row_for_each_component() -> None:
    """No component is missing on the page."""
    assert ([row[0] for row in ROWS], [row[0] for row in EDITED]) == (list(STOPS), list(EDITS))


def test_the_policy_of_doctor_is_enough_for_the_integrations(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the statements of the page, the checks of the integrations are OK, and use every action for them."""
    place.sweep()
    credentials = somebody(place.sandbox)
    place.sandbox.calls.clear()
    for name, value in credentials.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_SESSION_TOKEN")
    with enforced(place.sandbox):
        assert "`security-hub`" not in place.doctor()
    assert not actions("CheckIntegrations") - called(place.sandbox)
