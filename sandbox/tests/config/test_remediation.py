"""AWS Config's remediation: configurations, executions, exceptions, and automatic remediation.

https://docs.aws.amazon.com/config/latest/developerguide/remediation.html
"""

import json
import time
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient
from botocore.config import Config

from config_rule_sandbox.answers import BusyResource, LaterSteps, RemediationOnDemand, RemediationTrigger
from config_rule_sandbox.config import operations
from config_rule_sandbox.config.deployment import RuleDefinition, deploy_rule
from config_rule_sandbox.config.remediation.memory import remediations_of
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.config.results import Result, results_of
from config_rule_sandbox.local_aws import AwsConfig
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import CREDENTIALS, Sandbox
from config_rule_sandbox.ssm import Automation

RULE = "network-rule"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "ssm.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
RUNBOOK = {
    "schemaVersion": "0.3",
    "assumeRole": "{{ AutomationAssumeRole }}",
    "parameters": {
        "AutomationAssumeRole": {"type": "String"},
        "SubnetId": {"type": "String", "allowedPattern": "^subnet-[0-9a-z]+$"},
        "Note": {"type": "String", "default": ""},
    },
    "mainSteps": [
        {
            "name": "heal",
            "action": "aws:invokeLambdaFunction",
            "inputs": {"FunctionName": "heal", "InputPayload": {"id": "{{ SubnetId }}", "note": "{{ Note }}"}},
        },
        {"name": "rest", "action": "aws:sleep", "inputs": {"Duration": "PT1S"}},
    ],
}
Put = Callable[..., dict[str, Any]]


@pytest.fixture
def automation(sandbox: Sandbox) -> Iterator[Automation]:
    """Automation, AWS Config, a rule, and a runbook in the sandbox."""
    patches = Patches()
    operations.apply(patches)
    with Automation(sandbox) as running:
        running.knobs.time_scale = 0.001
        deploy_rule(sandbox, RuleDefinition(RULE))
        store(sandbox, RUNBOOK)
        yield running
    patches.undo()


@pytest.fixture
def remediation(sandbox: Sandbox, automation: Automation) -> Iterator[Remediation]:
    """The running remediation."""
    with Remediation(sandbox, automation) as running:
        yield running


@pytest.fixture
def config(sandbox: Sandbox, remediation: Remediation) -> BaseClient:
    """An AWS Config client."""
    del remediation
    return sandbox.client("config")


@pytest.fixture
def role(sandbox: Sandbox) -> str:
    """The ARN of a role that Systems Manager may assume."""
    made = sandbox.client("iam").create_role(RoleName="automation", AssumeRolePolicyDocument=json.dumps(TRUST))
    return str(made["Role"]["Arn"])


@pytest.fixture
def configuration(role: str) -> Put:
    """Return a function that makes a remediation configuration for the rule, with changed members."""

    def make(**changed: object) -> dict[str, Any]:
        base = {
            "ConfigRuleName": RULE,
            "TargetType": "SSM_DOCUMENT",
            "TargetId": "Heal",
            "Parameters": {
                "AutomationAssumeRole": {"StaticValue": {"Values": [role]}},
                "SubnetId": {"ResourceValue": {"Value": "RESOURCE_ID"}},
            },
        }
        return base | changed

    return make


@pytest.fixture
def put(config: BaseClient, configuration: Put) -> Put:
    """Return a function that puts a remediation configuration for the rule, with changed members."""

    def configure(**changed: object) -> dict[str, Any]:
        answer: dict[str, Any] = config.put_remediation_configurations(
            RemediationConfigurations=[configuration(**changed)]
        )
        return answer

    return configure


def store(sandbox: Sandbox, document: dict[str, Any], name: str = "Heal") -> None:
    """Store a runbook."""
    sandbox.client("ssm").create_document(
        Name=name, Content=json.dumps(document), DocumentFormat="JSON", DocumentType="Automation"
    )


def verdict(sandbox: Sandbox, subnet: str, compliance: str = "NON_COMPLIANT") -> None:
    """Store an evaluation of a subnet by the rule."""
    moment = time.time()
    result = Result(RULE, ("AWS::EC2::Subnet", subnet), compliance, moment, moment, moment)
    results_of(sandbox.account_id, sandbox.region).store(result)


def key(subnet: str) -> dict[str, str]:
    """Return a resource key of remediation executions."""
    return {"resourceType": "AWS::EC2::Subnet", "resourceId": subnet}


def exception_key(subnet: str) -> dict[str, str]:
    """Return a resource key of remediation exceptions, whose members have other names."""
    return {"ResourceType": "AWS::EC2::Subnet", "ResourceId": subnet}


def states(config: BaseClient, *subnets: str) -> dict[str, str]:
    """Return the states of the last remediations by subnet."""
    wanted = {"ResourceKeys": [key(subnet) for subnet in subnets]} if subnets else {}
    answer = config.describe_remediation_execution_status(ConfigRuleName=RULE, **wanted)
    return {status["ResourceKey"]["resourceId"]: status["State"] for status in answer["RemediationExecutionStatuses"]}


def exceptions(config: BaseClient) -> dict[str, str]:
    """Return the messages of the rule's remediation exceptions by subnet."""
    found = config.describe_remediation_exceptions(ConfigRuleName=RULE)["RemediationExceptions"]
    return {exception["ResourceId"]: exception.get("Message", "") for exception in found}


def settled(config: BaseClient) -> dict[str, str]:
    """Wait until no remediation is in progress, and return the states."""
    deadline = time.monotonic() + 60
    while {"QUEUED", "IN_PROGRESS"} & set((found := states(config)).values()):
        assert time.monotonic() < deadline
        time.sleep(0.005)  # leave the processor to the runs
    return found


def test_configuration_is_stored_and_described(config: BaseClient, put: Put) -> None:
    """A rule has one configuration: a second one replaces the first."""
    assert put()["FailedBatches"] == []
    put(MaximumAutomaticAttempts=3)
    (found,) = config.describe_remediation_configurations(ConfigRuleNames=[RULE, "other"])["RemediationConfigurations"]
    assert (found["TargetId"], found["MaximumAutomaticAttempts"]) == ("Heal", 3)
    assert found["Parameters"]["SubnetId"] == {"ResourceValue": {"Value": "RESOURCE_ID"}}
    assert found["Arn"].startswith(f"arn:aws:config:us-east-1:123456789012:remediation-configuration/{RULE}/")


NOTE = {"StaticValue": {"Values": ["a"]}}


@pytest.mark.parametrize(
    ("changed", "parameters", "code"),
    [
        ({"ConfigRuleName": "other"}, {}, "NoSuchConfigRuleException"),
        ({"TargetId": "Nothing"}, {}, "InvalidParameterValueException"),
        ({"Parameters": {"AutomationAssumeRole": NOTE}}, {}, "InvalidParameterValueException"),
        ({"Automatic": True, "TargetId": "Roleless", "Parameters": {}}, {}, "InvalidParameterValueException"),
        ({"TargetId": "Roleless", "Parameters": {}}, {}, "InvalidParameterValueException"),
        ({}, {"Wrong": NOTE}, "InvalidParameterValueException"),
        ({}, {"Note": {**NOTE, "ResourceValue": {"Value": "RESOURCE_ID"}}}, "InvalidParameterValueException"),
    ],
)
def test_configuration_that_cannot_work_is_refused(
    config: BaseClient,
    sandbox: Sandbox,
    configuration: Put,
    changed: dict[str, Any],
    parameters: dict[str, Any],
    code: str,
) -> None:
    """The rule and the document must exist, which gets its parameters, each with a static value or the resource's.

    https://docs.aws.amazon.com/config/latest/APIReference/API_PutRemediationConfigurations.html: automatic remediation
    needs AutomationAssumeRole.
    """
    store(sandbox, {"schemaVersion": "0.3", "mainSteps": RUNBOOK["mainSteps"][1:]}, "Roleless")  # type: ignore[index]
    request = configuration(**changed)
    request["Parameters"] = request["Parameters"] | parameters
    assert refused(config.put_remediation_configurations, RemediationConfigurations=[request]) == code


@pytest.mark.parametrize(
    "changed",
    [
        {"MaximumAutomaticAttempts": 26},
        {"Parameters": {"Note": {"StaticValue": {"Values": ["x" * 257]}}}},
        {"Parameters": {f"Note{number}": {"StaticValue": {"Values": ["x"]}} for number in range(26)}},
    ],
)
@pytest.mark.usefixtures("remediation")
def test_limits_of_the_model_hold(sandbox: Sandbox, configuration: Put, changed: dict[str, Any]) -> None:
    """Values have at most 256 characters, which is too short for a policy; attempts are 1 to 25 (botocore model)."""
    unchecked = Config(parameter_validation=False, retries={"total_max_attempts": 1})
    config = boto3.client(
        "config", region_name=sandbox.region, endpoint_url=sandbox.endpoint_url, config=unchecked, **CREDENTIALS
    )
    request = [configuration(**changed)]
    code = refused(config.put_remediation_configurations, RemediationConfigurations=request)
    assert code == "ValidationException"


def test_remediation_of_a_resource_runs_its_runbook(config: BaseClient, automation: Automation, put: Put) -> None:
    """The document gets the resource's id and static values; the status shows steps and errors, in pages.

    https://docs.aws.amazon.com/config/latest/APIReference/API_StartRemediationExecution.html
    """
    events: list[dict[str, str]] = []

    def heal(event: dict[str, str]) -> None:
        events.append(event)
        if event["id"] == "subnet-bad":
            raise LookupError("BLOCKED")

    automation.functions.register("heal", heal)
    put()
    keys = [key("subnet-bad"), key("subnet-good"), key("nonsense")]
    answer = config.start_remediation_execution(ConfigRuleName=RULE, ResourceKeys=keys)
    assert answer["FailedItems"] == [key("nonsense")]
    assert "does not match" in answer["FailureMessage"]
    assert settled(config) == {"subnet-bad": "FAILED", "subnet-good": "SUCCEEDED", "nonsense": "FAILED"}
    assert sorted(event["id"] + event["note"] for event in events) == ["subnet-bad", "subnet-good"]
    assert states(config, "subnet-good") == {"subnet-good": "SUCCEEDED"}
    asked = {"ConfigRuleName": RULE, "ResourceKeys": keys[:2], "Limit": 1}
    first = config.describe_remediation_execution_status(**asked)
    second = config.describe_remediation_execution_status(**asked, NextToken=first["NextToken"])
    [[bad], [good]] = [page["RemediationExecutionStatuses"] for page in (first, second)]
    assert [(step["Name"], step["State"]) for step in bad["StepDetails"]] == [("heal", "FAILED"), ("rest", "PENDING")]
    assert "BLOCKED" in bad["StepDetails"][0]["ErrorMessage"]
    assert good["InvocationTime"] <= good["StepDetails"][0]["StartTime"] <= good["LastUpdatedTime"]


def test_compliant_and_busy_resources_are_not_remediated(
    remediation: Remediation, config: BaseClient, sandbox: Sandbox, automation: Automation, put: Put
) -> None:
    """Compliant resources, and those in progress, are not started. A configuration in use cannot be deleted."""
    entered, leave = Event(), Event()

    def stay(_event: object) -> None:
        entered.set()
        leave.wait(60)

    automation.functions.register("heal", stay)
    put()
    verdict(sandbox, "subnet-1", "COMPLIANT")
    config.start_remediation_execution(ConfigRuleName=RULE, ResourceKeys=[key("subnet-2")])
    assert entered.wait(60)
    answer = config.start_remediation_execution(ConfigRuleName=RULE, ResourceKeys=[key("subnet-1"), key("subnet-2")])
    assert answer["FailedItems"] == [key("subnet-1"), key("subnet-2")]
    assert "already compliant" in answer["FailureMessage"]
    assert "in progress" in answer["FailureMessage"]
    put(Automatic=True)
    verdict(sandbox, "subnet-2")
    assert remediation.remediate(RULE) == []
    delete = {"ConfigRuleName": RULE}
    assert refused(config.delete_remediation_configuration, **delete) == "RemediationInProgressException"
    leave.set()
    assert settled(config) == {"subnet-2": "SUCCEEDED"}
    config.delete_remediation_configuration(**delete)
    assert refused(config.delete_remediation_configuration, **delete) == "NoSuchRemediationConfigurationException"


def test_rule_with_a_configuration_cannot_be_deleted(config: BaseClient, put: Put) -> None:
    """A rule with a remediation action is in use (botocore model, ResourceInUseException)."""
    put()
    assert refused(config.delete_config_rule, ConfigRuleName=RULE) == "ResourceInUseException"
    config.delete_remediation_configuration(ConfigRuleName=RULE)
    config.delete_config_rule(ConfigRuleName=RULE)


def test_automatic_remediation_heals_what_is_not_compliant(
    remediation: Remediation, sandbox: Sandbox, automation: Automation, put: Put, config: BaseClient
) -> None:
    """If it is automatic, remediation runs for every noncompliant resource of the rule, and for no other.

    https://docs.aws.amazon.com/config/latest/developerguide/setup-autoremediation.html
    """
    healed: list[str] = []
    automation.functions.register("heal", lambda event: healed.append(event["id"]))
    for subnet, compliance in (("subnet-1", "NON_COMPLIANT"), ("subnet-2", "COMPLIANT"), ("subnet-3", "NON_COMPLIANT")):
        verdict(sandbox, subnet, compliance)
    put()
    assert remediation.remediate(RULE) == []
    put(Automatic=True, TargetVersion="1")
    runs = remediation.remediate(RULE)
    assert sorted(healed) == ["subnet-1", "subnet-3"]
    assert [run.state for run in runs] == ["SUCCEEDED", "SUCCEEDED"]
    assert states(config) == {"subnet-1": "SUCCEEDED", "subnet-3": "SUCCEEDED"}


def test_failed_remediation_is_tried_again_then_excepted(
    remediation: Remediation, sandbox: Sandbox, automation: Automation, put: Put, config: BaseClient
) -> None:
    """After MaximumAutomaticAttempts failures within RetryAttemptSeconds, the resource gets an exception."""
    seen: list[str] = []

    def heal(event: dict[str, str]) -> None:
        seen.append(event["id"])
        if event["id"] == "subnet-1" or len(seen) < 3:
            raise LookupError("BLOCKED")

    automation.functions.register("heal", heal)
    controls = {"SsmControls": {"ConcurrentExecutionRatePercentage": 1, "ErrorPercentage": 100}}
    put(Automatic=True, MaximumAutomaticAttempts=3, RetryAttemptSeconds=600, ExecutionControls=controls)
    verdict(sandbox, "subnet-1")
    verdict(sandbox, "subnet-2")
    assert [run.state for run in remediation.remediate(RULE)] == ["FAILED", "FAILED", "FAILED", "SUCCEEDED", "FAILED"]
    assert seen == ["subnet-1", "subnet-2", "subnet-1", "subnet-2", "subnet-1"]
    assert exceptions(config) == {"subnet-1": "3 remediation attempts have failed within 600 seconds."}
    assert remediation.remediate(RULE) == []


def test_remediation_that_succeeded_is_not_repeated_without_a_new_result(
    remediation: Remediation, sandbox: Sandbox, automation: Automation, put: Put
) -> None:
    """A runbook that changes nothing runs once for each result, and again after the configuration is put again."""
    automation.functions.register("heal", lambda _: None)
    put(Automatic=True)
    verdict(sandbox, "subnet-1")
    assert [len(remediation.remediate(RULE)) for _ in range(2)] == [1, 0]
    verdict(sandbox, "subnet-1")
    assert [len(remediation.remediate(RULE)) for _ in range(2)] == [1, 0]
    put(Automatic=True)
    assert [len(remediation.remediate(RULE)) for _ in range(2)] == [1, 0]


def refuse(_event: object) -> None:
    """Fail as a runbook that may not heal."""
    raise LookupError("BLOCKED")


def test_no_attempt_begins_after_it_is_no_longer_automatic(
    remediation: Remediation, sandbox: Sandbox, automation: Automation, put: Put
) -> None:
    """If the configuration changes during an attempt, it is the last, also if other resources have had none yet."""

    def heal(event: object) -> None:
        put(Automatic=False)
        refuse(event)

    automation.functions.register("heal", heal)
    put(Automatic=True, MaximumAutomaticAttempts=3, RetryAttemptSeconds=600)
    verdict(sandbox, "subnet-1")
    verdict(sandbox, "subnet-2")
    assert [run.state for run in remediation.remediate(RULE)] == ["FAILED"]


def test_failures_long_ago_do_not_count(
    remediation: Remediation, sandbox: Sandbox, automation: Automation, put: Put, config: BaseClient
) -> None:
    """Only failures within RetryAttemptSeconds count, so with slower failures the attempts never end."""
    clock = iter(range(0, 10_000, 100))
    remediation.clock = lambda: float(next(clock))
    automation.functions.register("heal", refuse)
    put(Automatic=True, MaximumAutomaticAttempts=2, RetryAttemptSeconds=60)
    verdict(sandbox, "subnet-1")
    assert [len(remediation.remediate(RULE)) for _ in range(2)] == [2, 2]
    assert exceptions(config) == {}


def test_too_many_errors_stop_the_rest(
    remediation: Remediation, sandbox: Sandbox, automation: Automation, put: Put
) -> None:
    """With an ErrorPercentage of 40 for ten resources, no run is started after the fifth error."""
    automation.functions.register("heal", refuse)
    controls = {"SsmControls": {"ConcurrentExecutionRatePercentage": 10, "ErrorPercentage": 40}}
    put(Automatic=True, MaximumAutomaticAttempts=1, ExecutionControls=controls)
    for number in range(10):
        verdict(sandbox, f"subnet-{number}")
    assert len(remediation.remediate(RULE)) == 5


def test_exceptions_are_put_described_and_deleted(
    remediation: Remediation, sandbox: Sandbox, automation: Automation, put: Put, config: BaseClient
) -> None:
    """Only a NON_COMPLIANT resource can have an exception, which ends when it expires or is deleted.

    https://docs.aws.amazon.com/config/latest/APIReference/API_PutRemediationExceptions.html
    """
    automation.functions.register("heal", lambda _: None)
    put(Automatic=True)
    for subnet, compliance in (("subnet-1", "NON_COMPLIANT"), ("subnet-2", "COMPLIANT"), ("subnet-3", "NON_COMPLIANT")):
        verdict(sandbox, subnet, compliance)
    keys = [exception_key("subnet-1"), exception_key("subnet-2")]
    answer = config.put_remediation_exceptions(ConfigRuleName=RULE, ResourceKeys=keys, Message="planned")
    assert [item["ResourceId"] for item in answer["FailedBatches"][0]["FailedItems"]] == ["subnet-2"]
    expired = {"ConfigRuleName": RULE, "ResourceKeys": [exception_key("subnet-3")], "ExpirationTime": time.time() - 1}
    assert config.put_remediation_exceptions(**expired)["FailedBatches"] == []
    assert exceptions(config) == {"subnet-1": "planned"}
    one = {"ConfigRuleName": RULE, "ResourceKeys": keys[:1]}
    assert len(config.describe_remediation_exceptions(**one)["RemediationExceptions"]) == 1
    assert [run.resource[1] for run in remediation.remediate(RULE)] == ["subnet-3"]
    config.delete_remediation_exceptions(**one)
    assert refused(config.delete_remediation_exceptions, **one) == "NoSuchRemediationExceptionException"
    assert "subnet-1" in {run.resource[1] for run in remediation.remediate(RULE)}


@pytest.mark.parametrize("trigger", RemediationTrigger)
def test_new_configuration_and_new_finding(
    remediation: Remediation, sandbox: Sandbox, automation: Automation, put: Put, trigger: RemediationTrigger
) -> None:
    """A new configuration starts what is noncompliant under every answer. A later finding needs its result to start one.

    https://docs.aws.amazon.com/config/latest/APIReference/API_PutRemediationConfigurations.html
    """
    sandbox.answers.remediation_trigger = trigger
    automation.functions.register("heal", lambda _: None)
    verdict(sandbox, "subnet-1")
    put(Automatic=True)
    assert [run.resource[1] for run in remediation.remediate(RULE)] == ["subnet-1"]
    verdict(sandbox, "subnet-2")
    started = {run.resource[1] for run in remediation.remediate(RULE)}
    assert ("subnet-2" in started) is (trigger is not RemediationTrigger.CONFIGURATION_ONLY)
    put(Automatic=True)
    assert [run.resource[1] for run in remediation.remediate(RULE)] == ["subnet-1", "subnet-2"]


@pytest.mark.parametrize(
    ("trigger", "captured", "reported"),
    [
        (RemediationTrigger.REPORTED_RESULT, 0, 1),
        (RemediationTrigger.STORED_RESULT, 1, 1),
        (RemediationTrigger.CHANGED_RESULT, 0, 0),
        (RemediationTrigger.CONFIGURATION_ONLY, 0, 0),
    ],
)
def test_what_starts_a_remediation_again(
    remediation: Remediation,
    sandbox: Sandbox,
    automation: Automation,
    put: Put,
    trigger: RemediationTrigger,
    captured: int,
    reported: int,
) -> None:
    """After a run that succeeded and changed nothing: results that are captured again, and the same result again."""
    sandbox.answers.remediation_trigger = trigger
    automation.functions.register("heal", lambda _: None)
    verdict(sandbox, "subnet-1")
    put(Automatic=True)
    assert len(remediation.remediate(RULE)) == 1
    assert remediation.remediate(RULE, capture=False) == []
    assert len(remediation.remediate(RULE)) == captured
    verdict(sandbox, "subnet-1")
    assert len(remediation.remediate(RULE)) == reported
    verdict(sandbox, "subnet-1", "COMPLIANT")
    verdict(sandbox, "subnet-1")
    assert len(remediation.remediate(RULE)) == (trigger is not RemediationTrigger.CONFIGURATION_ONLY)


@pytest.mark.parametrize(
    ("answer", "failed", "runs"),
    [
        (RemediationOnDemand.STARTED, False, 1),
        (RemediationOnDemand.FAILED_ITEM, True, 0),
        (RemediationOnDemand.IGNORED, False, 0),
        (RemediationOnDemand.STARTED_TWICE, False, 2),
    ],
)
def test_on_demand_remediation_has_other_answers(
    config: BaseClient,
    sandbox: Sandbox,
    automation: Automation,
    put: Put,
    answer: RemediationOnDemand,
    failed: bool,
    runs: int,
) -> None:
    """It starts a resource once, twice, or not at all, with or without saying so."""
    sandbox.answers.set("remediation_on_demand", answer)
    healed: list[str] = []
    automation.functions.register("heal", lambda event: healed.append(event["id"]))
    put()
    verdict(sandbox, "subnet-1")
    request: dict[str, Any] = {"ConfigRuleName": RULE, "ResourceKeys": [key("subnet-1")]}
    assert config.start_remediation_execution(**request).get("FailedItems", []) == ([key("subnet-1")] if failed else [])
    memory = remediations_of(sandbox.account_id, sandbox.region)
    for run in memory.runs.get((RULE, ("AWS::EC2::Subnet", "subnet-1")), []):
        assert run.execution is not None
        automation.wait(run.execution.id)
    assert healed == ["subnet-1"] * runs


def test_on_demand_remediation_is_refused(
    config: BaseClient, sandbox: Sandbox, automation: Automation, put: Put
) -> None:
    """Without a configuration, for more than a hundred resources, and by the answers that refuse.

    https://docs.aws.amazon.com/config/latest/APIReference/API_StartRemediationExecution.html
    """
    unchecked = Config(parameter_validation=False, retries={"total_max_attempts": 1})
    raw = boto3.client(
        "config", region_name=sandbox.region, endpoint_url=sandbox.endpoint_url, config=unchecked, **CREDENTIALS
    )
    request: dict[str, Any] = {"ConfigRuleName": RULE, "ResourceKeys": [key("subnet-1")]}
    assert refused(raw.start_remediation_execution, **request) == "NoSuchRemediationConfigurationException"
    entered, leave = Event(), Event()

    def stay(_event: object) -> None:
        entered.set()
        leave.wait(60)

    automation.functions.register("heal", stay)
    put()
    many = {**request, "ResourceKeys": [key(f"subnet-{number}") for number in range(101)]}
    assert refused(raw.start_remediation_execution, **many) == "ValidationException"
    sandbox.answers.remediation_on_demand = RemediationOnDemand.REFUSED
    assert refused(raw.start_remediation_execution, **request) == "InvalidParameterValueException"
    sandbox.answers.reset()
    config.start_remediation_execution(**request)
    assert entered.wait(60)
    sandbox.answers.busy_resource = BusyResource.REFUSED
    both = {**request, "ResourceKeys": [key("subnet-2"), key("subnet-1")]}
    assert refused(raw.start_remediation_execution, **both) == "InvalidParameterValueException"
    assert list(states(config)) == ["subnet-1"]
    leave.set()
    settled(config)


def test_steps_that_have_not_begun_may_be_absent(
    config: BaseClient, sandbox: Sandbox, automation: Automation, put: Put
) -> None:
    """By default, they are PENDING."""
    automation.functions.register("heal", refuse)
    put()
    config.start_remediation_execution(ConfigRuleName=RULE, ResourceKeys=[key("subnet-1")])
    settled(config)
    names = []
    for answer in LaterSteps:
        sandbox.answers.later_steps = answer
        [run] = config.describe_remediation_execution_status(ConfigRuleName=RULE)["RemediationExecutionStatuses"]
        names.append([step["Name"] for step in run["StepDetails"]])
    assert names == [["heal", "rest"], ["heal"]]


@pytest.mark.parametrize("trigger", RemediationTrigger)
def test_aws_config_settles_whatever_starts_a_remediation(
    remediation: Remediation,
    sandbox: Sandbox,
    automation: Automation,
    put: Put,
    config: BaseClient,
    trigger: RemediationTrigger,
) -> None:
    """A runbook that changes nothing runs once, and again each time that stored results are captured."""
    sandbox.answers.remediation_trigger = trigger
    healed: list[str] = []
    automation.functions.register("heal", lambda event: healed.append(event["id"]))
    ec2 = sandbox.client("ec2")
    vpc_id = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet_id = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]

    def report(_function: str, event: dict[str, Any]) -> None:
        item = json.loads(event["invokingEvent"]).get("configurationItem", {})
        if item.get("resourceId") == subnet_id:
            evaluation = {
                "ComplianceResourceType": "AWS::EC2::Subnet",
                "ComplianceResourceId": subnet_id,
                "ComplianceType": "NON_COMPLIANT",
                "OrderingTimestamp": time.time(),
            }
            config.put_evaluations(Evaluations=[evaluation], ResultToken=event["resultToken"])

    aws_config = AwsConfig(sandbox, report, remediation)
    aws_config.settle(60)
    put(Automatic=True)
    numbers = []
    for _ in range(2):
        aws_config.settle(60)
        numbers.append(healed.count(subnet_id))
    assert numbers == ([1, 2] if trigger is RemediationTrigger.STORED_RESULT else [1, 1])
