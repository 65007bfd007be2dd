"""stop, start, heals, and undo with --organization: options, output, and exit status. tests/organization runs them among heals."""

import json
from threading import Event
from typing import Any

import pytest

from config_rule_sandbox.config.remediation.memory import remediations_of
from config_rule_sandbox.http.direct import acting_in
from config_rule_sandbox.iam.policies import Authorization, is_allowed
from config_rule_sandbox.ssm import Automation
from express_path_cli.automation import starts, stops
from org.expansion import runbook
from tests.cli.org.organizations import REGIONS, ROLE, Organization
from tests.cli.stop.test_stop import hold
from tests.support.command import invoke
from tests.support.healing_places import HealingPlace
from tests.support.heals import HEAL
from tests.support.iam import actions
from tests.support.ledgers import LEDGER
from tests.support.stack import listed_stack
from tests.support.template import ROOT, expanded

pytestmark = pytest.mark.slow

HOME, NORTH = REGIONS
SELECTED = ("--organization", "--role-name", ROLE, "--region", HOME)
SELECTED_AGAIN = ("--organization", "--region", HOME, "--role-name", ROLE)
NOON, BEFORE = "2026-11-22T12:00:00Z", "2026-11-22T11:59:59+00:00"
"""Heals that LedgerTable.heal writes ended at NOON."""


def run(*words: str) -> tuple[int, dict[str, Any], list[str]]:
    """Run a command, and return its exit status, its JSON document, and its lines on standard error."""
    result = invoke([*words, *SELECTED, "--format", "json"])
    return result.exit_code, json.loads(result.stdout), result.stderr.splitlines()


def test_every_stack_is_stopped_and_started(data: HealingPlace, web: HealingPlace) -> None:
    """The role finds each stack by the rule. The management account has none here. Totals say how many there are."""
    result = invoke(["stop", *SELECTED, "--reason", "INC-1234"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line.partition(",")[0] for line in result.stdout.splitlines()[:3]] == [
        *sorted(f"stopped: {place.name} {HOME}" for place in (data, web)),
        "2 of 2 stacks stopped; no stack in 1 account and Region",
    ]
    assert result.stdout.endswith(f"express-path start {' '.join(SELECTED_AGAIN)}\n")
    assert data.stop_item()["reason"] == web.stop_item()["reason"] == "INC-1234"
    item = data.stop_item()
    status, document, _ = run("stop", "--reason", "another")
    assert (status, data.stop_item()) == (0, item)
    [shown, _] = sorted(document["places"], key=lambda row: row["accountName"])
    assert shown == {
        "accountId": data.account_id,
        "accountName": "data",
        "region": HOME,
        "stackName": shown["stackName"],
        "ledger": LEDGER,
        "state": "STOPPED",
        "stoppedAt": item["stoppedAt"],
        "by": item["by"],
        "reason": "INC-1234",
        "wasStopped": True,
        "recordedExceptions": 0,
        "running": [],
    }

    started = invoke(["start", *SELECTED, "--yes"])
    assert started.exit_code == 0, started.stderr
    assert started.stdout.splitlines() == [
        f"stopped in 2 stacks since {item['stoppedAt']} by {item['by']}: INC-1234",
        "heals are allowed again in 2 stacks",
        "mode ON (2 stacks): started heals of 0 subnets still NON_COMPLIANT",
        "no stack in 1 account and Region",
    ]
    assert data.stop_item() == web.stop_item() == {}


def test_heals_are_started_with_the_operators_permissions(
    data: HealingPlace, web: HealingPlace, automation: Automation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AWS Config starts what is NON_COMPLIANT in each account. Another runbook than that of the release is never started."""
    monkeypatch.setattr(starts, "LONGEST_WAIT", 0.0)
    for place in (data, web):
        place.configure_remediation()
        place.flag(place.add_vpc().subnet)
    changed = json.dumps(runbook(HEAL) | {"description": "another"})
    ssm = web.client("ssm")
    ssm.update_document(Name=HEAL, Content=changed, DocumentVersion="$LATEST")
    ssm.update_document_default_version(Name=HEAL, DocumentVersion="2")
    data.sandbox.calls.clear()
    status, document, lines = run("start", "--dry-run")
    assert (status, [len(row["toStart"]) for row in document["places"]]) == (2, [1])
    made = {f"{call.service}:{call.operation}" for call in data.sandbox.calls if call.account_id == data.account_id}
    role = expanded(
        "org/operator-role.yaml", OperatorArn="arn:aws:iam::210987654321:role/OnCall", LedgerTableName=LEDGER
    )
    [policy] = role.properties("OperatorRole")["Policies"]
    allowed = {action for statement in policy["PolicyDocument"]["Statement"] for action in actions(statement)}
    assert made | {"config:StartRemediationExecution", "iam:PassRole"} <= allowed
    status, document, lines = run("start", "--yes")
    started = {row["accountName"]: len(row["startedHeals"]) for row in document["places"]}
    assert (status, started) == (2, {"data": 1, "web": 0})
    [line] = lines
    assert f"runbook {HEAL}, version 2, is not the runbook of express-path" in line
    [call] = data.sandbox.calls.of("config", "StartRemediationExecution")
    assert call.account_id == data.account_id
    [[remediation]] = remediations_of(data.account_id, data.region).runs.values()
    assert remediation.execution is not None
    automation.wait(remediation.execution.id)
    assert (len(data.endpoints()), web.endpoints()) == (1, {})


def test_a_stop_needs_few_calls_in_each_place(data: HealingPlace, organization: Organization) -> None:
    """These are the calls that decision 20 counts. The stop comes first, and what may be slow comes after it."""
    organization.sandbox.calls.clear()
    assert run("stop")[0] == 0
    made = [call.operation for call in organization.sandbox.calls if call.account_id == data.account_id]
    assert made == [
        *("ListStackResources", "AssumeRole", "PutItem", "DescribeStacks"),
        *("DescribeRemediationExceptions", "PutItem"),
        *("DescribeAutomationExecutions", "DescribeAutomationExecutions"),
    ]


def test_a_list_that_only_names_decoys_keeps_nobody_from_acting(
    data: HealingPlace, web: HealingPlace, organization: Organization
) -> None:
    """StackSets say which stack and ledger to use. One note says that the stacks of accounts could not be listed."""
    for account_id in (data.account_id, web.account_id):
        organization.sandbox.faults.deny("cloudformation", "DescribeStacks", account_id=account_id)
    for words in (("stop",), ("start", "--yes"), ("heals",)):
        result = invoke([*words, *SELECTED])
        [line] = [line for line in result.stderr.splitlines() if "DescribeStacks" in line]
        assert (result.exit_code, "express-path: note: stacks that only look like" in line) == (0, True)
        assert "and 1 more places: cloudformation:DescribeStacks" in line
        assert (bool(data.stop_item()), bool(web.stop_item())) == (
            (True, True) if words == ("stop",) else (False, False)
        )


def test_the_published_policy_allows_what_a_stop_calls_in_the_own_account(
    data: HealingPlace, organization: Organization
) -> None:
    """Also for an own stack with LedgerTableName."""
    page = (ROOT / "docs" / "organization.md").read_text(encoding="utf-8").split("## Permissions")[1]
    statements = json.loads(page.split("```json")[1].partition("```")[0])["Statement"]
    sandbox = organization.sandbox
    names = {"StopRole": "stop", "PlanFunction": "express-path-plan"}
    listed_stack(sandbox, "express-path", names, {"HealDocumentName": "x", "LedgerTableName": "y"}, LedgerTableName="y")
    sandbox.calls.clear()
    invoke(["stop", *SELECTED])
    made = {f"{call.service}:{call.operation}" for call in sandbox.calls if call.account_id == sandbox.account_id}
    assert "lambda:GetFunctionConfiguration" in made
    made -= {"sts:AssumeRole", "sts:GetCallerIdentity", "dynamodb:PutItem"}  # the last one as StopRole
    assert {name for name in made if not is_allowed(statements, Authorization(name, "*", {}))} == set()
    del data


def test_what_cannot_be_stopped_is_one_line_and_the_rest_is_stopped(
    organization: Organization, data: HealingPlace, web: HealingPlace
) -> None:
    """A stack and an account whose roles cannot be assumed are failures; the status is 2."""
    other = organization.add("other")
    for arn in (web.stop_role_arn, f"arn:aws:iam::{other}:role/{ROLE}"):
        organization.sandbox.faults.deny("sts", "AssumeRole", RoleArn=arn)
    status, document, lines = run("stop")
    assert (status, [row["accountName"] for row in document["places"]]) == (2, ["data"])
    assert sorted(line.split(": ")[1].partition(",")[0] for line in lines) == sorted(
        [f"account {web.account_id} (web) {HOME}", f"account {other} (other)"]
    )
    assert data.stop_item()
    assert not web.stop_item()
    status, document, _ = run("start", "--yes")
    assert (status, data.stop_item(), len(document["failures"])) == (2, {}, 2)


def test_a_place_where_a_run_may_still_change_something_is_not_done(
    data: HealingPlace, web: HealingPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped, its run is named, and the status is 2. A failed read of the exceptions is only a note."""
    monkeypatch.setattr(stops, "LONGEST_WAIT", 0.0)
    faults = data.sandbox.faults
    reached, done = Event(), Event()
    faults.before("ec2", "CreateVpcEndpoint", lambda: hold(reached, done))
    faults.deny("config", "DescribeRemediationExceptions", account_id=web.account_id)
    run_id = data.start_heal(data.add_vpc().subnet)
    assert reached.wait(60)
    shown = invoke(["stop", *SELECTED])
    assert shown.exit_code == 2
    (line,) = [line for line in shown.stdout.splitlines() if line.startswith(f"  run {run_id} of ")]
    assert line.endswith(" is in step create: it may still change something")
    assert f"note: account {web.account_id} (web) {HOME}, stack " in shown.stderr
    assert ": remediation exceptions were not recorded" in shown.stderr
    status, document, _ = run("stop")
    places = {row["accountName"]: (row["state"], row["recordedExceptions"]) for row in document["places"]}
    assert (status, places) == (2, {"data": ("CHANGING", 0), "web": ("STOPPED", None)})
    done.set()
    data.automation.wait(run_id)
    assert run("stop")[0] == 0


def test_units_and_regions_are_selected(
    organization: Organization, data: HealingPlace, web: HealingPlace, automation: Automation
) -> None:
    """Only the accounts of a unit, or also other Regions. Without any stack, nothing was stopped or undone: the status is 2."""
    north = HealingPlace(organization.sandbox, automation, organization.accounts["web"], NORTH)
    unit = str(organization.client.list_parents(ChildId=data.account_id)["Parents"][0]["Id"])
    assert run("stop", "--ou", unit)[0] == 0
    assert (bool(data.stop_item()), bool(web.stop_item())) == (True, False)
    nowhere = invoke(["stop", "--organization", "--role-name", ROLE, "--ou", unit, "--region", NORTH])
    assert (nowhere.exit_code, "nothing was stopped: no stack" in nowhere.stdout) == (2, True)
    assert invoke(["stop", "--organization", "--role-name", ROLE, "--all-regions"]).exit_code == 0
    assert web.stop_item()
    assert north.stop_item()
    both = invoke(["stop", *SELECTED, "--all-regions"])
    assert (both.exit_code, "cannot be used together" in both.stderr) == (2, True)


def test_undo_lists_and_undoes_the_heals_since_a_time(data: HealingPlace, web: HealingPlace) -> None:
    """A dry run changes nothing. What was undone before is skipped, what cannot be undone is named with its reason."""
    healed = {}
    for place in (data, web):
        vpc = place.add_vpc()
        with acting_in(place.account_id):
            healed[place.account_id] = place.ledger.heal(place.builder, vpc.id, vpc.table)
    for time in ("2026-11-22T12:00:01Z", "2026-11-23"):
        assert "no heals since then" in invoke(["undo", "--since", time, *SELECTED, "--yes"]).stdout
    every = json.loads(invoke(["heals", *SELECTED, "--format", "json"]).stdout)["heals"]
    assert {heal["accountName"]: heal["runId"] for heal in every} == {
        "data": healed[data.account_id],
        "web": healed[web.account_id],
    }
    [command] = [heal["undo"] for heal in every if heal["accountName"] == "web"]
    assert command.split()[1:] == [
        *("undo", healed[web.account_id], "--organization", "--region", HOME),
        *("--role-name", ROLE, "--account", web.account_id),
    ]
    listed = invoke(["undo", "--since", NOON, *SELECTED, "--dry-run"])
    assert listed.exit_code == 0, listed.stderr
    assert "2 heals: 2 to undo\n" in listed.stdout
    assert listed.stdout.count("will no longer use vpce-") == 2  # the runbook itself says so
    assert all(place.endpoints() for place in (data, web))

    one = run("undo", "--since", BEFORE, "--yes", "--account", web.account_id)
    assert (one[0], [row["state"] for row in one[1]["heals"]]) == (0, ["UNDONE"])
    assert (bool(data.endpoints()), web.endpoints()) == (True, {})
    [endpoint] = data.endpoints()
    with acting_in(data.account_id):
        data.builder.memory.create_tags([endpoint], {"aws:cloudformation:stack-id": "theirs"})
    status, document, _ = run("undo", "--since", BEFORE, "--yes")
    states = {row["accountName"]: row["state"] for row in document["heals"]}
    assert (status, states) == (1, {"data": "NOT_UNDONE", "web": "EARLIER"})


def test_undo_resumes_after_a_failed_start(data: HealingPlace, web: HealingPlace) -> None:
    """What could not be shown is a failure and not undone; the next call undoes it and starts no other run."""
    for place in (data, web):
        vpc = place.add_vpc()
        with acting_in(place.account_id):
            place.ledger.heal(place.builder, vpc.id, vpc.table)
    faults, sandbox = data.sandbox.faults, data.sandbox
    faults.deny("ssm", "StartAutomationExecution", account_id=data.account_id, times=1)
    result = invoke(["undo", "--since", NOON, *SELECTED, "--yes"])
    assert (result.exit_code, f"account {data.account_id} (data) {HOME}" in result.stderr) == (2, True)
    assert "2 heals: 1 to undo, 1 undone\n" in result.stdout
    sandbox.calls.clear()
    assert run("undo", "--since", NOON, "--yes")[0] == 0
    assert len(sandbox.calls.of("ssm", "StartAutomationExecution")) == 2  # a dry run, and the undo
    assert data.endpoints() == web.endpoints() == {}
    faults.deny("dynamodb", "Scan")
    unread = run("undo", "--since", NOON, "--yes")
    assert (unread[0], len(unread[1]["failures"])) == (2, 2)


def test_an_unknown_account_is_one_line(organization: Organization) -> None:
    """It is no account of the organization."""
    result = invoke(["undo", "--since", NOON, "--account", "999999999999", *SELECTED])
    [line] = result.stderr.splitlines()
    assert (result.exit_code, "is not an active account" in line) == (2, True)
    del organization
