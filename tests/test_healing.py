"""The answers to the steps of the runbooks: what is read again, which claim counts, and which errors fail a step.

The sandbox's EC2 answers, and nothing is changed. tests/runbooks has whole runs.
"""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path.adapters.heal_requests import CONTRACT
from express_path.errors import (
    ApiError,
    BlockedError,
    ClaimLostError,
    ElectionError,
    EndpointNotReadyError,
    NotCuredError,
    SettingError,
    TableChangedError,
)
from express_path.handlers import plan_heal
from express_path.healing import rereading, services
from express_path.healing.steps import answer_step
from tests.support.ledgers import LEDGER, SEEN, TIME, LedgerTable, heal_id
from tests.support.network import Builder, Private

pytestmark = pytest.mark.slow

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    """Yield a function that clears the recorded calls and answers a step with the settings of the environment."""
    monkeypatch.setattr(rereading, "SECONDS_APART", 0)
    monkeypatch.setenv("LEDGER_TABLE_NAME", LEDGER)

    def question(action: str, subnet_id: str = "", **more: object) -> dict[str, Any]:
        sandbox.calls.clear()
        event = {"contract": CONTRACT, "action": action, "subnetId": subnet_id, "runId": "run-2", **more}
        request = plan_heal.parse_request({key: value for key, value in event.items() if value})
        return answer_step(plan_heal.compose_services(os.environ, sandbox.account_id), request)

    yield question
    assert sandbox.calls.mutating() == []


@pytest.fixture(autouse=True)
def ledger(sandbox: Sandbox) -> LedgerTable:
    """Return an empty ledger."""
    return LedgerTable(sandbox)


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """Return a private subnet to plan heals for, in a VPC without other findings."""
    private = Private(builder)
    builder.ec2.modify_vpc_attribute(VpcId=private.vpc, EnableDnsHostnames={"Value": True})
    return private


@pytest.fixture
def elected(ledger: LedgerTable, vpc: Private) -> dict[str, str]:
    """Return the fields of requests by a run that has the claim and was elected to create the endpoint."""
    ledger.write(f"TABLE#{vpc.table}", state="CLAIMED", runId="run-2", expiresAt=int(time.time()) + 600)
    ledger.write(f"VPC#{vpc.vpc}", tokenRun="run-2", generation=1)
    return {"routeTableId": vpc.table}


# --- the plan and its settings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["CLOSED", "missing"])
def test_change_calendar_is_read_for_what_needs_a_heal(
    ask: Ask, sandbox: Sandbox, builder: Builder, vpc: Private, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """A closed calendar blocks. One that does not exist is an error, and never means open."""
    monkeypatch.setenv("CHANGE_CALENDAR_NAME", "changes")
    with Automation(sandbox) as automation:
        if state == "CLOSED":
            automation.knobs.closed_calendars.add("changes")
            answer = ask("plan", vpc.subnet, dryRun="true")
            assert [blocker["code"] for blocker in answer["details"]["blockers"]] == ["CHANGE_CALENDAR_CLOSED"]
        else:
            with pytest.raises(ApiError, match="ssm:GetCalendarState"):
                ask("plan", vpc.subnet, dryRun="true")
        builder.endpoint(vpc.vpc, vpc.table)
        assert ask("plan", vpc.subnet)["action"] == "NOTHING_TO_DO"


def test_healthy_subnet_needs_no_reads_of_a_pre_flight(
    ask: Ask, sandbox: Sandbox, builder: Builder, vpc: Private
) -> None:
    """For a compliant subnet, the plan does nothing and does not read what only a heal needs."""
    builder.endpoint(vpc.vpc, vpc.table)
    answer = ask("plan", vpc.subnet)
    assert (answer["action"], answer["details"]["blockers"]) == ("NOTHING_TO_DO", [])
    read = {call.operation for call in sandbox.calls}
    assert not read & {"DescribeSecurityGroups", "DescribeNetworkAcls", "ListDirectoryBuckets", "DescribeVpcAttribute"}


def test_subnet_that_is_gone_needs_no_heal_and_is_not_cured(ask: Ask, builder: Builder, vpc: Private) -> None:
    """AWS Config can start a heal for a deleted subnet: the run succeeds. One that is deleted during a heal fails it."""
    builder.ec2.delete_subnet(SubnetId=vpc.subnet)
    answer = ask("plan", vpc.subnet)
    reason = answer["details"]["verdict"]["reason"]
    assert (answer["action"], reason, answer["routeTableId"]) == ("NOTHING_TO_DO", "DELETED", "")
    with pytest.raises(NotCuredError, match=f"{vpc.subnet} is not healed: .* no longer exists"):
        ask("verify", vpc.subnet)


def test_rule_s_parameters_and_the_stack_s_settings_decide(
    ask: Ask, builder: Builder, vpc: Private, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both come from the environment. A blocked plan fails its step, except in a dry run."""
    monkeypatch.setenv("OWNER_TAGS", "team=db")
    builder.tag(builder.endpoint(vpc.vpc), "team", "db")
    with pytest.raises(BlockedError, match="OWNED_BY_IAC"):
        ask("plan", vpc.subnet)
    assert ask("plan", vpc.subnet, dryRun="true")["action"] == "BLOCKED"
    monkeypatch.setenv("RULE_PARAMETERS", '{"excludeTag": "team=db"}')
    builder.tag(vpc.table, "team", "db")
    with pytest.raises(BlockedError, match="EXCLUDED"):
        ask("plan", vpc.subnet)
    monkeypatch.setenv("WARN_ONLY", "ROUTE_QUOTA")
    with pytest.raises(SettingError, match="WARN_ONLY"):
        ask("plan", vpc.subnet, dryRun="true")


@pytest.mark.parametrize("kind", ["String", "SecureString"])
def test_policy_comes_from_a_parameter(
    ask: Ask, sandbox: Sandbox, vpc: Private, elected: dict[str, str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The endpoint's policy is exactly the parameter's text, decrypted. A missing one is an error, not full access."""
    text = '{"Version": "2012-10-17",\n "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3express:*"}]}'
    full_access = ask("elected", vpc.subnet, **elected)
    monkeypatch.setenv("ENDPOINT_POLICY_PARAMETER", "/express/policy")
    with pytest.raises(ApiError, match="ParameterNotFound"):
        ask("elected", vpc.subnet, **elected)
    sandbox.client("ssm").put_parameter(Name="/express/policy", Value=text, Type=kind)
    sandbox.calls.clear()
    answer = ask("elected", vpc.subnet, **elected)
    assert (answer["next"], answer["policy"]) == ("CREATE", text)
    assert answer["clientToken"] != full_access["clientToken"]


# --- claims and the election -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["confirm", "elected", "target"])
@pytest.mark.parametrize(
    "claim",
    [
        {},
        {"state": "CLAIMED", "runId": "run-1", "expiresAt": 10**10},
        {"state": "CLAIMED", "runId": "run-2", "expiresAt": 10},
        {"state": "HEALED", "runId": "run-2", "expiresAt": 10**10},
    ],
    ids=["none", "another run's", "expired", "given up"],
)
def test_no_change_is_planned_without_a_current_claim(
    ask: Ask,
    ledger: LedgerTable,
    vpc: Private,
    monkeypatch: pytest.MonkeyPatch,
    action: str,
    claim: dict[str, object],
) -> None:
    """The function checks the claim before each change; the error names the table and the run."""
    monkeypatch.setattr(services, "has_ended", lambda _ssm, _run_id: True)
    ledger.write(f"TABLE#{vpc.table}", **claim)
    with pytest.raises(ClaimLostError, match=f"^run run-2 no longer has the claim on {vpc.table}, which run "):
        ask(action, vpc.subnet, routeTableId=vpc.table)


@pytest.mark.parametrize("action", ["turn", "confirm", "elected", "target"])
def test_table_that_no_longer_governs_the_subnet_is_not_changed(
    ask: Ask, builder: Builder, ledger: LedgerTable, vpc: Private, action: str
) -> None:
    """A run does not claim such a table, and a claim is invalid once its table no longer governs the subnet."""
    other = builder.table(vpc.vpc, NatGatewayId=vpc.nat)
    seen = {"vpcId": vpc.vpc, "seenRun": "run-1", "seenState": "CLAIMED"} if action == "turn" else {}
    if action != "turn":
        ledger.write(f"TABLE#{other}", state="CLAIMED", runId="run-2", expiresAt=10**10)
    with pytest.raises(TableChangedError, match=f"changed from {other} to {vpc.table}; start the heal again"):
        ask(action, vpc.subnet, routeTableId=other, **seen)


def test_waiting_is_not_done_in_the_function(
    ask: Ask, sandbox: Sandbox, ledger: LedgerTable, vpc: Private, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another run works on the table, the function reads only the ledger and that run, and answers at once."""

    def sleep(seconds: float) -> None:
        raise AssertionError(f"the function sleeps for {seconds} seconds")

    monkeypatch.setattr(services, "has_ended", lambda _ssm, _run_id: False)
    monkeypatch.setattr("time.sleep", sleep)
    ledger.write(f"TABLE#{vpc.table}", state="CLAIMED", runId=heal_id(7), expiresAt=10**10)
    answer = ask("turn", vpc.subnet, routeTableId=vpc.table, vpcId=vpc.vpc, seenRun="NONE", seenState="NONE")
    assert answer["next"] == "WAIT"
    assert [(call.service, call.operation) for call in sandbox.calls] == [("dynamodb", "GetItem")] * 2


def test_endpoint_is_not_created_before_somebody_is_elected(
    ask: Ask, ledger: LedgerTable, vpc: Private, elected: dict[str, str]
) -> None:
    """The step elect can fail for another reason than a lost election."""
    ledger.write(f"VPC#{vpc.vpc}", tokenRun=None)
    with pytest.raises(ElectionError, match=vpc.vpc):
        ask("elected", vpc.subnet, **elected)


def test_endpoint_that_another_tool_created_meanwhile_is_used(
    ask: Ask, builder: Builder, vpc: Private, elected: dict[str, str]
) -> None:
    """If another tool created an endpoint after the election, no second one is created."""
    builder.endpoint(vpc.vpc)
    assert ask("elected", vpc.subnet, **elected)["next"] == "ASSOCIATE"


def test_endpoint_that_the_ledger_shows_before_ec2_does_is_used(
    ask: Ask, sandbox: Sandbox, ledger: LedgerTable, vpc: Private, elected: dict[str, str]
) -> None:
    """Another run created and recorded the endpoint between this run's reads of EC2 and of the ledger."""
    with sandbox.stale_reads("ec2:DescribeVpcEndpoints") as observation:
        service = f"com.amazonaws.{sandbox.region}.s3express"
        created = sandbox.client("ec2").create_vpc_endpoint(VpcId=vpc.vpc, ServiceName=service)
        endpoint = created["VpcEndpoint"]["VpcEndpointId"]
        ledger.write(f"VPC#{vpc.vpc}", tokenRun="run-1", generation=1, tokenIds={endpoint}, createdIds={endpoint})
        assert ask("elected", vpc.subnet, **elected)["next"] == "ASSOCIATE"
    assert len(observation.given) == 1


@pytest.mark.parametrize(("makes", "found"), [(False, "no longer exists"), (True, "is pending")])
def test_table_is_not_associated_before_the_endpoint_is_available(
    ask: Ask, builder: Builder, sandbox: Sandbox, vpc: Private, elected: dict[str, str], *, makes: bool, found: str
) -> None:
    """A route to a pending endpoint carries no traffic. The step fails with the endpoint's state after several reads."""
    sandbox.ec2.knobs.pending_describes = 100
    if makes:
        builder.endpoint(vpc.vpc)
    with pytest.raises(EndpointNotReadyError, match=found):
        ask("target", vpc.subnet, **elected)


# --- approvals -------------------------------------------------------------------------------------------------------


def test_heal_in_mode_approval_needs_an_approval(ask: Ask, vpc: Private, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that a person starts need an approval too. A dry run needs none."""
    monkeypatch.setenv("REMEDIATION_MODE", "APPROVAL")
    with pytest.raises(BlockedError, match="APPROVAL_REQUIRED"):
        ask("plan", vpc.subnet)
    assert ask("plan", vpc.subnet, dryRun="true")["action"] == "CREATE_AND_ASSOCIATE"


def test_request_for_approval_needs_somebody_to_ask(
    ask: Ask, builder: Builder, vpc: Private, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the setting that is missing. Nobody is asked about a blocked heal."""
    settings = {"APPROVERS": "ann", "APPROVAL_TOPIC_ARN": "arn:topic", "HEAL_DOCUMENT_NAME": "Heal"}
    for name, value in settings.items():
        with pytest.raises(SettingError) as raised:
            ask("planApproval", vpc.subnet)
        assert raised.value.name == name
        monkeypatch.setenv(name, value)
    answer = ask("planApproval", vpc.subnet)
    assert (answer["next"], answer["approvers"], answer["topicArn"]) == ("ASK", ["ann"], "arn:topic")
    builder.tag(builder.endpoint(vpc.vpc), "aws:cloudformation:stack-name", "network")
    with pytest.raises(BlockedError, match="OWNED_BY_IAC"):
        ask("planApproval", vpc.subnet)


# --- the verification ------------------------------------------------------------------------------------------------


def test_subnet_that_is_not_cured_is_an_error(ask: Ask, sandbox: Sandbox, vpc: Private) -> None:
    """After several reads, the run fails with the remaining verdict."""
    with pytest.raises(NotCuredError, match=f"{vpc.subnet} is not healed: NAT_GATEWAY"):
        ask("verify", vpc.subnet)
    assert len(sandbox.calls.of("ec2", "DescribeRouteTables")) == rereading.ATTEMPTS


def test_routes_may_take_a_moment(ask: Ask, sandbox: Sandbox, builder: Builder, vpc: Private) -> None:
    """If the endpoint becomes available during the verification, it is read again."""
    builder.endpoint(vpc.vpc, vpc.table)
    sandbox.ec2.knobs.pending_describes = 3
    answer = ask("verify", vpc.subnet)
    assert (answer["compliance"], answer["reason"]) == ("COMPLIANT", "ENDPOINT")
    assert 1 < len(sandbox.calls.of("ec2", "DescribeRouteTables")) < rereading.ATTEMPTS


def test_verified_heal_says_how_to_undo_it(ask: Ask, vpc: Private, builder: Builder, ledger: LedgerTable) -> None:
    """The answer has the undo for the command and the runbook, with the id of the run that made the association.

    If the ledger does not confirm that this run made it, the answer says so.
    """
    builder.endpoint(vpc.vpc, vpc.table)
    assert "nothing to undo" in ask("verify", vpc.subnet)["undo"]
    ledger.write(f"TABLE#{vpc.table}", healRunId="run-1")
    ledger.write("RUN#run-1", kind="HEAL", startedBy="PERSON", endpointId="vpce-1", intendedAt=TIME, **SEEN)
    assert ask("verify", vpc.subnet)["undo"].startswith("unconfirmed: run run-1 started to associate")
    ledger.write("RUN#run-1", associatedAt=TIME)
    answer = ask("verify", vpc.subnet)
    assert "express-path undo run-1" in answer["undo"]
    assert "RemoveS3ExpressGatewayEndpoint with RunId=run-1" in answer["undo"]
    [write] = answer["ledger"]
    assert write["request"]["Key"] == {"id": {"S": f"TABLE#{vpc.table}"}}


@pytest.mark.parametrize(
    ("answers", "decided", "reads"),
    [("aaab", "a", 3), ("abbb", "b", 4), ("abaaab", "a", 5), ("abababababab", "a", 11)],
)
def test_decision_that_a_late_answer_could_spoil_needs_three_equal_answers(
    monkeypatch: pytest.MonkeyPatch, answers: str, decided: str, reads: int
) -> None:
    """Reading ends with the third equal answer in a row, or with the eleventh."""
    monkeypatch.setattr(rereading, "SECONDS_APART", 0)
    left = list(answers)
    assert rereading.read_settled(lambda: left.pop(0)) == decided
    assert len(answers) - len(left) == reads
