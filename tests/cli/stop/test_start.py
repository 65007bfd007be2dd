"""express-path start: starts the heals for which AWS Config has no run, whatever else would start them."""

import json
import time
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest

from config_rule_sandbox.answers import BusyResource, RemediationOnDemand, RemediationTrigger
from config_rule_sandbox.config.remediation.memory import Remediations, remediations_of
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.config.results import Result, results_of
from config_rule_sandbox.server import Sandbox
from express_path_cli.automation import starts, stops
from org.expansion import runbook
from tests.cli.heal.healing_stack import deployed, invoke_at_terminal, make_stack, remove_stack
from tests.support.command import invoke
from tests.support.heals import APPROVED, HEAL, RULE, Approval, Deployment, Vpc, configure_remediation, run_id_of
from tests.support.network import Builder

pytestmark = pytest.mark.slow

Flag = Callable[..., None]


@pytest.fixture
def deployment(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """Yield a stack in mode ON, its runbooks, and the rule's remediation."""
    monkeypatch.setattr(stops, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(starts, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(starts, "LONGEST_WAIT", 0.2)
    with deployed(sandbox, monkeypatch) as made, Remediation(sandbox, made.automation):
        remove_stack(sandbox, "express-path")
        make_stack(sandbox, made, mode="ON")
        configure_remediation(sandbox.client("config"), made.given)
        yield made


@pytest.fixture
def memory(sandbox: Sandbox) -> Remediations:
    """Return what AWS Config stores about remediation."""
    return remediations_of(sandbox.account_id, sandbox.region)


@pytest.fixture
def flag(sandbox: Sandbox) -> Flag:
    """Return a function that stores results of the rule about subnets."""

    def store(*subnet_ids: str, compliance: str = "NON_COMPLIANT") -> None:
        now = time.time()
        for subnet_id in subnet_ids:
            result = Result(RULE, ("AWS::EC2::Subnet", subnet_id), compliance, now, now, now, "-")
            results_of(sandbox.account_id, sandbox.region).store(result)

    return store


def runs(made: Deployment, memory: Remediations) -> dict[str, list[str]]:
    """Wait for the remediations, and return the states of all of each subnet."""
    for run in (run for of_subnet in memory.runs.values() for run in of_subnet):
        if run.execution:
            made.automation.wait(run.execution.id)
    return {resource[1]: [run.state for run in of_subnet] for (_, resource), of_subnet in memory.runs.items()}


@pytest.mark.parametrize("trigger", RemediationTrigger)
def test_heals_go_on_after_a_stop_whatever_starts_a_remediation(
    deployment: Deployment, vpc: Vpc, memory: Remediations, flag: Flag, trigger: RemediationTrigger
) -> None:
    """AWS Config had a run during the stop, which succeeded and changed nothing, and it starts no other by itself."""
    sandbox = deployment.sandbox
    sandbox.answers.remediation_trigger = trigger
    flag(vpc.subnet)
    configure_remediation(sandbox.client("config"), deployment.given)
    invoke(["stop", "--reason", "INC-1"])
    Remediation(sandbox, deployment.automation).remediate(RULE)
    assert (runs(deployment, memory), deployment.endpoints(vpc.id)) == ({vpc.subnet: ["SUCCEEDED"]}, [])
    shown = invoke(["start", "--dry-run"])
    assert (shown.exit_code, "would start the heals of 1 subnet\n" in shown.stdout) == (0, True)
    assert len(runs(deployment, memory)[vpc.subnet]) == 1
    started = invoke_at_terminal(["start"], "y\n")
    assert started.returncode == 0, started.stderr
    assert "Allow heals again in 1 stack, and start heals of 1 subnet? [y/N]" in started.stdout
    assert "mode ON (1 stack): started heals of 1 subnet still NON_COMPLIANT\n" in (started.stdout)
    assert runs(deployment, memory) == {vpc.subnet: ["SUCCEEDED", "SUCCEEDED"]}
    assert list(deployment.associations(vpc.id).values()) == [[vpc.table]]


def test_heals_go_on_after_an_exception_was_cleared(
    deployment: Deployment, vpc: Vpc, memory: Remediations, flag: Flag
) -> None:
    """While a subnet has an exception, it is left alone; after that, `start` starts its heal, although nothing is stopped."""
    sandbox = deployment.sandbox
    sandbox.answers.remediation_trigger = RemediationTrigger.CONFIGURATION_ONLY
    flag(vpc.subnet)
    configure_remediation(sandbox.client("config"), deployment.given)
    sandbox.faults.deny("ec2", "DescribeNetworkAcls")
    remediation = Remediation(sandbox, deployment.automation)
    remediation.remediate(RULE)
    sandbox.faults.clear()
    assert f"shows how to clear them) of {vpc.subnet}\n" in invoke(["start"]).stdout
    keys = [{"ResourceType": "AWS::EC2::Subnet", "ResourceId": vpc.subnet}]
    sandbox.client("config").delete_remediation_exceptions(ConfigRuleName=RULE, ResourceKeys=keys)
    assert remediation.remediate(RULE) == []
    declined = invoke_at_terminal(["start"], "n\n")
    assert (declined.returncode, "Start heals of 1 subnet? [y/N]" in declined.stdout) == (1, True)
    assert invoke(["start", "--yes"]).exit_code == 0
    assert runs(deployment, memory) == {vpc.subnet: ["FAILED", "SUCCEEDED"]}


def test_another_version_of_the_runbook_is_not_started(deployment: Deployment, vpc: Vpc, flag: Flag) -> None:
    """Neither a default version that is not the release's, nor one that only the remediation names. Heals are allowed."""
    ssm, config = deployment.ssm, deployment.sandbox.client("config")
    flag(vpc.subnet)
    changed = json.dumps(runbook(HEAL) | {"description": "another"})
    ssm.update_document(Name=HEAL, Content=changed, DocumentVersion="$LATEST")
    [remediation] = config.describe_remediation_configurations(ConfigRuleNames=[RULE])["RemediationConfigurations"]
    named = {
        name: remediation[name] for name in ("ConfigRuleName", "TargetType", "TargetId", "Parameters", "Automatic")
    }
    named |= {"TargetVersion": "2", "MaximumAutomaticAttempts": 1}
    config.put_remediation_configurations(RemediationConfigurations=[named])
    result = invoke(["start", "--yes"])
    assert (result.exit_code, "has TargetVersion 2, not (none)" in result.stderr) == (2, True)
    configure_remediation(config, deployment.given)
    ssm.update_document_default_version(Name=HEAL, DocumentVersion="2")
    result = invoke(["start", "--yes"])
    assert (result.exit_code, f"runbook {HEAL}, version 2, is not the runbook" in result.stderr) == (2, True)
    assert deployment.sandbox.calls.of("config", "StartRemediationExecution") == []


def test_what_runs_or_was_undone_is_left_alone(
    deployment: Deployment, builder: Builder, memory: Remediations, flag: Flag
) -> None:
    """So are subnets that are COMPLIANT. The document names them all."""
    undone = Vpc(builder, subnets=2)
    deployment.undo(run_id_of(deployment.heal(undone.subnets[0])))
    busy, due, compliant = Vpc(builder), Vpc(builder), Vpc(builder)
    reached, done = Event(), Event()

    def hold() -> None:
        reached.set()
        assert done.wait(60)

    deployment.sandbox.faults.before("ec2", "CreateVpcEndpoint", hold)
    config = deployment.sandbox.client("config")
    keys = [{"resourceType": "AWS::EC2::Subnet", "resourceId": busy.subnet}]
    config.start_remediation_execution(ConfigRuleName=RULE, ResourceKeys=keys)
    assert reached.wait(60)
    flag(*undone.subnets, busy.subnet, due.subnet)
    flag(compliant.subnet, compliance="COMPLIANT")
    result = invoke(["start", "--yes", "--format", "json"])
    done.set()
    assert result.exit_code == 0, result.stderr
    [place] = json.loads(result.stdout)["places"]
    names = ("startedHeals", "runningHeals", "undoneOrRejected", "withoutRun", "refusedHeals")
    assert [sorted(place[name]) for name in names] == [[due.subnet], [busy.subnet], sorted(undone.subnets), [], []]
    assert runs(deployment, memory) == {busy.subnet: ["SUCCEEDED"], due.subnet: ["SUCCEEDED"]}


def test_nothing_is_started_in_mode_off_or_without_a_remediation(
    deployment: Deployment, vpc: Vpc, sandbox: Sandbox, flag: Flag
) -> None:
    """Heals are allowed, and the status is 0."""
    flag(vpc.subnet)
    sandbox.client("config").delete_remediation_configuration(ConfigRuleName=RULE)
    invoke(["stop"])
    assert invoke(["start", "--yes"]).exit_code == 0
    configure_remediation(sandbox.client("config"), deployment.given)
    remove_stack(sandbox, "express-path")
    make_stack(sandbox, deployment, mode="OFF")
    invoke(["stop"])
    result = invoke(["start", "--yes"])
    assert (result.exit_code, "mode OFF (1 stack): AWS Config starts no heals there\n" in result.stdout) == (0, True)
    assert sandbox.calls.of("config", "StartRemediationExecution") == []
    assert sandbox.calls.of("config", "GetComplianceDetailsByConfigRule") == []


def test_in_mode_approval_the_approvers_are_asked(
    deployment: Deployment,
    vpc: Vpc,
    sandbox: Sandbox,
    flag: Flag,
    memory: Remediations,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """AWS Config's remediation is the runbook that asks, so no heal starts without an answer."""
    approval = Approval(deployment, monkeypatch.setenv)
    remove_stack(sandbox, "express-path")
    make_stack(sandbox, deployment, mode="APPROVAL")
    configure_remediation(sandbox.client("config"), deployment.given, APPROVED)
    flag(vpc.subnet)
    result = invoke(["start", "--yes"])
    assert result.exit_code == 0, result.stderr
    assert "mode APPROVAL (1 stack): asked the approvers for 1 subnet" in result.stdout
    [[run]] = memory.runs.values()
    assert run.execution is not None
    assert approval.settled(run.execution.id) == "Waiting"
    approval.answer(run.execution.id)
    assert list(deployment.associations(vpc.id).values()) == [[vpc.table]]


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (RemediationOnDemand.FAILED_ITEM, 2, "AWS Config did not start the heals of subnet-"),
        (RemediationOnDemand.REFUSED, 2, "config:StartRemediationExecution failed with InvalidParameterValueException"),
        (RemediationOnDemand.IGNORED, 0, "AWS Config accepted the heals of subnet-"),
        (RemediationOnDemand.STARTED_TWICE, 0, ""),
    ],
)
def test_what_aws_config_does_not_start_is_said(
    deployment: Deployment,
    vpc: Vpc,
    flag: Flag,
    memory: Remediations,
    answer: RemediationOnDemand,
    status: int,
    said: str,
) -> None:
    """Heals are allowed all the same. A subnet that is started twice is healed once."""
    deployment.sandbox.answers.remediation_on_demand = answer
    invoke(["stop"])
    flag(vpc.subnet)
    result = invoke(["start", "--yes"])
    assert (result.exit_code, said in result.stderr, bool(result.stderr)) == (status, True, bool(said))
    assert "heals are allowed again in 1 stack" in result.stdout
    assert ("started heals of 1 subnet" in result.stdout) is (status == 0)
    assert deployment.ledger.item("STOP") == {}
    twice = answer is RemediationOnDemand.STARTED_TWICE
    assert runs(deployment, memory) == ({vpc.subnet: ["SUCCEEDED", "SUCCEEDED"]} if twice else {})
    assert len(deployment.endpoints(vpc.id)) == twice


@pytest.mark.parametrize("answer", BusyResource)
def test_a_heal_that_aws_config_starts_first_is_no_failure(
    deployment: Deployment, builder: Builder, flag: Flag, memory: Remediations, answer: BusyResource
) -> None:
    """It starts one between the read and the request. The others of the request are started."""
    sandbox = deployment.sandbox
    sandbox.answers.busy_resource = answer
    first, second = Vpc(builder), Vpc(builder)
    flag(first.subnet, second.subnet)
    reached, done = Event(), Event()

    def hold() -> None:
        reached.set()
        assert done.wait(60)

    def start_first() -> None:
        sandbox.faults.before("ec2", "CreateVpcEndpoint", hold)
        keys = [{"resourceType": "AWS::EC2::Subnet", "resourceId": first.subnet}]
        sandbox.client("config").start_remediation_execution(ConfigRuleName=RULE, ResourceKeys=keys)
        assert reached.wait(60)

    sandbox.faults.before("config", "StartRemediationExecution", start_first, times=1)
    result = invoke(["start", "--yes"])
    done.set()
    assert (result.exit_code, result.stderr) == (0, "")
    assert runs(deployment, memory) == {first.subnet: ["SUCCEEDED"], second.subnet: ["SUCCEEDED"]}


def test_a_request_names_at_most_a_hundred_subnets(
    deployment: Deployment, builder: Builder, flag: Flag, sandbox: Sandbox
) -> None:
    """More are started with several requests."""
    sandbox.answers.remediation_on_demand = RemediationOnDemand.IGNORED
    flag(*(f"subnet-{number:08x}" for number in range(250)))
    result = invoke(["start", "--yes"])
    assert "started heals of 250 subnets" in result.stdout
    requests = sandbox.calls.of("config", "StartRemediationExecution")
    assert [len(call.parameters["ResourceKeys"]) for call in requests] == [100, 100, 50]
    del deployment, builder


@pytest.mark.parametrize(("name", "value"), [("PlanFunctionName", "mine"), ("TargetId", "Mine")])
def test_another_remediation_is_never_started(
    deployment: Deployment, vpc: Vpc, sandbox: Sandbox, flag: Flag, memory: Remediations, name: str, value: str
) -> None:
    """Whoever may change it could use the operator's permissions to pass the stack's role. Heals are allowed."""
    found = memory.configurations[RULE]
    values: dict[str, Any] = {**found["Parameters"], name: {"StaticValue": {"Values": [value]}}}
    memory.configurations[RULE] = (
        {**found, "TargetId": value} if name == "TargetId" else {**found, "Parameters": values}
    )
    flag(vpc.subnet)
    result = invoke(["start", "--yes"])
    assert result.exit_code == 2
    assert f"the remediation of rule {RULE} has {name} {value}, not " in result.stderr
    assert sandbox.calls.of("config", "StartRemediationExecution") == []
    del deployment


def test_who_may_only_allow_heals_starts_none(
    deployment: Deployment, vpc: Vpc, sandbox: Sandbox, flag: Flag, memory: Remediations
) -> None:
    """Heals are allowed, with the role of the stack. That none was started is a failure."""
    invoke(["stop"])
    flag(vpc.subnet)
    sandbox.faults.deny("config", "StartRemediationExecution")
    result = invoke(["start", "--yes"])
    assert (result.exit_code, "allow config:StartRemediationExecution" in result.stderr) == (2, True)
    assert "heals are allowed again in 1 stack" in result.stdout
    assert (deployment.ledger.item("STOP"), memory.runs) == ({}, {})
