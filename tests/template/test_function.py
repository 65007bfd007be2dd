"""The template's functions and their alarms."""

import os
import subprocess
from pathlib import Path

import pytest

from express_path.adapters.health import NOTICES
from express_path.adapters.runbooks import runbooks_of
from express_path.events.schema import SOURCE, SWEEP_COMPLETED
from tests.support.template import ROOT, Expanded, expanded
from tests.template.models import bounds, enum

FUNCTIONS = ["EvaluateFunction", "HealthFunction", "PlanFunction"]
LOG_GROUPS = {
    "EvaluateFunction": "EvaluateLogGroup",
    "HealthFunction": "EvaluateLogGroup",
    "PlanFunction": "PlanLogGroup",
}
EXTERNAL_ID = "express-path/network"


@pytest.fixture(scope="module")
def stack() -> Expanded:
    """Return the stack with its defaults."""
    return expanded()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_build_is_for_the_runtime_that_is_deployed(name: str, stack: Expanded, tmp_path: Path) -> None:
    """functions/Makefile builds for the template's Python version and architecture, whatever the environment."""
    function = stack.properties(name)
    command = ["make", "--dry-run", "-C", str(ROOT / "functions"), f"build-{name}", f"ARTIFACTS_DIR={tmp_path}"]
    environment = {**os.environ, "PYTHON_VERSION": "3.10.1", "PLATFORM": "linux/amd64"}
    steps = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    assert f"--python-version {function['Runtime'].removeprefix('python')} " in steps
    assert function["Architectures"] == ["arm64"]
    assert "--python-platform aarch64-manylinux_2_28 " in steps


@pytest.mark.parametrize("name", FUNCTIONS)
def test_logs_go_to_a_group_with_retention_in_json(name: str, stack: Expanded) -> None:
    """Lambda writes JSON to the stack's own log group. It must keep INFO, because it treats a metric as an INFO line.

    https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html
    """
    group = LOG_GROUPS[name]
    assert stack.properties(name)["LoggingConfig"] == {
        "LogFormat": "JSON",
        "ApplicationLogLevel": "INFO",
        "LogGroup": f"<{group}>",
    }
    assert enum("lambda", "LogFormat") >= {"JSON"}
    assert stack.properties(group) == {"RetentionInDays": "30"}


@pytest.mark.parametrize("name", ["EvaluateFunction", "PlanFunction"])
def test_external_id_reaches_the_functions_if_given(name: str, stack: Expanded) -> None:
    """Both functions get the external ID that the network account's role requires."""
    variables = expanded(NetworkRoleExternalId=EXTERNAL_ID).properties(name)["Environment"]["Variables"]
    assert variables["NETWORK_ROLE_EXTERNAL_ID"] == EXTERNAL_ID
    assert "NETWORK_ROLE_EXTERNAL_ID" not in stack.properties(name)["Environment"]["Variables"]


@pytest.mark.parametrize("rule_name", ["s3express-no-nat-path", "another"])
def test_the_function_is_told_its_stack_and_knows_the_names_in_it(rule_name: str) -> None:
    """What is checked after a sweep is not in the settings: CloudFormation lists it, or it follows from the rule's name.

    Only the ledger is, because it says which NON_COMPLIANT subnets wait for a person and not for AWS Config.
    """
    stack = expanded(AlarmTopicArn="arn:aws:sns:us-east-1:210987654321:alarms", RuleName=rule_name)
    variables = stack.properties("EvaluateFunction")["Environment"]["Variables"]
    names = {"EVENT_BUS_NAME": "<EventBus>", "LEDGER_TABLE_NAME": "<LedgerTable>"}
    assert variables == {"STACK_ID": stack.values["AWS::StackId"], **names}
    checked = stack.properties("HealthFunction")["Environment"]["Variables"]
    assert checked == {"STACK_ID": stack.values["AWS::StackId"]}
    rules = {name for name, row in stack.resources.items() if row["Type"] == "AWS::Events::Rule"}
    assert rules == {*NOTICES, "HealthRule"}
    documents = [stack.properties(f"{kind}Document")["Name"] for kind in ("Heal", "Approval", "Undo")]
    assert [*runbooks_of(rule_name)] == documents


def test_config_can_invoke_before_the_rule_exists(stack: Expanded) -> None:
    """The permission exists before the rule, because Config checks it then, and covers only this account."""
    assert stack.properties("ConfigPermission") == {
        "Action": "lambda:InvokeFunction",
        "FunctionName": "<EvaluateFunction.Arn>",
        "Principal": "config.amazonaws.com",
        "SourceAccount": "123456789012",
    }
    assert stack.properties("ConfigRule")["Source"]["SourceIdentifier"] == "<EvaluateFunction.Arn>"
    assert stack.resources["ConfigRule"]["DependsOn"] == "ConfigPermission"


@pytest.mark.parametrize("name", ["EvaluateFunction", "HealthFunction"])
def test_events_are_tried_again_and_kept_nowhere(name: str, stack: Expanded) -> None:
    """Lambda retries within its limits. An event has a result token, so nothing keeps it when it finally fails."""
    properties = stack.properties(f"{name}EventInvokeConfig")
    assert properties["MaximumRetryAttempts"] in bounds("lambda", "MaximumRetryAttempts")
    assert properties["MaximumEventAgeInSeconds"] in bounds("lambda", "MaximumEventAgeInSeconds")
    assert properties["FunctionName"] == f"<{name}>"
    assert not properties.get("DestinationConfig")
    assert not {"DeadLetterConfig", "DeadLetterQueue"} & stack.properties(name).keys()
    assert not [row for row in stack.resources.values() if row["Type"] == "AWS::SQS::Queue"]


def test_only_the_end_of_a_sweep_on_the_rules_own_bus_invokes_the_health_function(stack: Expanded) -> None:
    """Nobody but the rule's function can put events on that bus, and no other rule of EventBridge may invoke it."""
    rule = stack.properties("HealthRule")
    assert rule["EventBusName"] == "<EventBus>"
    assert rule["EventPattern"] == {"source": [SOURCE], "detail-type": [SWEEP_COMPLETED]}
    assert [target["Arn"] for target in rule["Targets"]] == ["<HealthFunction.Arn>"]
    assert stack.properties("HealthPermission") == {
        "Action": "lambda:InvokeFunction",
        "FunctionName": "<HealthFunction.Arn>",
        "Principal": "events.amazonaws.com",
        "SourceArn": "<HealthRule.Arn>",
    }


def test_each_rule_has_its_own_bus() -> None:
    """The bus is named after the rule, so two stacks have two."""
    stack = expanded(RuleName="another")
    assert stack.properties("EventBus")["Name"] == "express-path-another"
    assert stack.properties("EvaluateFunction")["Environment"]["Variables"]["EVENT_BUS_NAME"] == "<EventBus>"


def test_alarm_watches_events_that_lambda_drops(stack: Expanded) -> None:
    """It goes off at the first one, whether the function raised an error, crashed, or could not run."""
    alarm = stack.properties("ErrorsAlarm")
    assert alarm["Dimensions"] == [{"Name": "FunctionName", "Value": "<EvaluateFunction>"}]
    assert (alarm["Namespace"], alarm["MetricName"]) == ("AWS/Lambda", "AsyncEventsDropped")
    assert (alarm["Statistic"], alarm["Threshold"], alarm["TreatMissingData"]) == ("Sum", 1, "notBreaching")
