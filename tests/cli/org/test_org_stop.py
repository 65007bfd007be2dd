"""express-path org stop, start, and undo: options, output, and exit status. tests/organization runs them among heals."""

import json
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from express_path import healing
from express_path_cli.automation import runs, stops
from sandbox.config_items.direct import acting_in
from sandbox.remediation import Remediation
from sandbox.server import Sandbox
from sandbox.ssm import Automation
from tests.cli.org.organizations import REGIONS, ROLE, Organization
from tests.support.command import invoke
from tests.support.healing_places import HealingPlace
from tests.support.ledgers import LEDGER

pytestmark = pytest.mark.slow

HOME, NORTH = REGIONS
SELECTED = ("--role-name", ROLE, "--region", HOME)
NOON, BEFORE = "2026-11-22T12:00:00Z", "2026-11-22T11:59:59+00:00"
"""Heals that LedgerTable.heal writes ended at NOON."""


@pytest.fixture
def organization(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Organization:
    """Return an organization with two members, one of them in a unit."""
    for module, name, value in ((runs, "START_SECONDS", 0), (runs, "POLL_SECONDS", 0.1), (stops, "POLL_SECONDS", 0.01)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(healing, "SECONDS_APART", 0)
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    monkeypatch.setenv("LEDGER_TABLE_NAME", LEDGER)
    made = Organization(sandbox)
    made.add("data", made.unit("workloads"))
    made.add("web")
    return made


@pytest.fixture
def automation(sandbox: Sandbox) -> Iterator[Automation]:
    """Yield Automation and AWS Config's remediation."""
    with Automation(sandbox) as running, Remediation(sandbox, running):
        running.knobs.time_scale = 0.001
        yield running


@pytest.fixture
def data(organization: Organization, automation: Automation) -> HealingPlace:
    """Return an account with the stack in the first Region."""
    return HealingPlace(organization.sandbox, automation, organization.accounts["data"], HOME)


@pytest.fixture
def web(organization: Organization, automation: Automation) -> HealingPlace:
    """Return another account with the stack in the first Region."""
    return HealingPlace(organization.sandbox, automation, organization.accounts["web"], HOME)


def org(*words: str) -> tuple[int, dict[str, Any], list[str]]:
    """Run a command, and return its exit status, its JSON document, and its lines on standard error."""
    result = invoke(["org", *words, *SELECTED, "--format", "json"])
    return result.exit_code, json.loads(result.stdout), result.stderr.splitlines()


def test_every_stack_is_stopped_and_started(data: HealingPlace, web: HealingPlace) -> None:
    """The role finds each stack by the rule. The management account has none here. Totals say how many there are."""
    result = invoke(["org", "stop", *SELECTED, "--reason", "INC-1234"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "stopped: 2 deployments in 2 accounts, 0 of them before; 0 runs still running, 0 may still change something",
        "failed: 0; without a stack of the rule: 1",
    ]
    assert data.stop_item()["reason"] == web.stop_item()["reason"] == "INC-1234"
    item = data.stop_item()
    status, document, _ = org("stop", "--reason", "another")
    assert (status, data.stop_item()) == (0, item)
    [shown, _] = sorted(document["places"], key=lambda row: row["accountName"])
    assert shown == {
        "accountId": data.account_id,
        "accountName": "data",
        "region": HOME,
        "stackName": f"StackSet-express-path-{HOME}",
        "state": "STOPPED",
        "stoppedAt": item["stoppedAt"],
        "by": item["by"],
        "reason": "INC-1234",
        "wasStopped": True,
        "recordedExceptions": 0,
        "running": [],
    }

    asked = invoke(["org", "start", *SELECTED])
    assert (asked.exit_code, "--yes" in asked.stderr, data.stop_item()) == (2, True, item)
    line = f"stopped since {item['stoppedAt']} by {item['by']} in 2 deployments: INC-1234"
    assert asked.stdout.splitlines() == [line]
    started = invoke(["org", "start", *SELECTED, "--yes"])
    assert started.exit_code == 0, started.stderr
    assert started.stdout.splitlines()[1:] == [
        "heals are allowed again in 2 deployments; not stopped before: 0 deployments",
        "failed: 0; without a stack of the rule: 1",
    ]
    assert data.stop_item() == web.stop_item() == {}
    assert "not stopped before: 2 deployments" in invoke(["org", "start", *SELECTED]).stdout


def test_a_stop_needs_few_calls_in_each_place(data: HealingPlace, organization: Organization) -> None:
    """These are the calls that decision 20 counts. The stop comes first, and what may be slow comes after it."""
    organization.sandbox.calls.clear()
    assert org("stop")[0] == 0
    made = [call.operation for call in organization.sandbox.calls if call.account_id == data.account_id]
    assert made == [
        *("DescribeStacks", "AssumeRole", "PutItem"),
        *("DescribeRemediationExceptions", "PutItem"),
        *("DescribeAutomationExecutions", "DescribeAutomationExecutions"),
    ]


def test_what_cannot_be_stopped_is_one_line_and_the_rest_is_stopped(
    organization: Organization, data: HealingPlace, web: HealingPlace
) -> None:
    """A stack and an account whose roles cannot be assumed are failures; the status is 2."""
    other = organization.add("other")
    for arn in (web.stop_role_arn, f"arn:aws:iam::{other}:role/{ROLE}"):
        organization.sandbox.faults.deny("sts", "AssumeRole", RoleArn=arn)
    status, document, lines = org("stop")
    assert (status, [row["accountName"] for row in document["places"]]) == (2, ["data"])
    assert sorted(line.split(": ")[1] for line in lines) == sorted(
        [f"account {web.account_id} (web) {HOME}", f"account {other} (other)"]
    )
    assert data.stop_item()
    assert not web.stop_item()
    status, document, _ = org("start", "--yes")
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
    shown = invoke(["org", "stop", *SELECTED])
    assert shown.exit_code == 2
    assert f"account {data.account_id} (data) {HOME}: run {run_id} is in step create and may still" in shown.stdout
    assert f"note: account {web.account_id} (web) {HOME}: remediation exceptions were not recorded" in shown.stderr
    status, document, _ = org("stop")
    places = {row["accountName"]: (row["state"], row["recordedExceptions"]) for row in document["places"]}
    assert (status, places) == (2, {"data": ("CHANGING", 0), "web": ("STOPPED", None)})
    done.set()
    data.automation.wait(run_id)
    assert org("stop")[0] == 0


def hold(reached: Event, done: Event) -> None:
    """Say that a call is reached, and wait until it may continue."""
    reached.set()
    assert done.wait(60)


def test_units_and_regions_are_selected(
    organization: Organization, data: HealingPlace, web: HealingPlace, automation: Automation
) -> None:
    """Only the accounts of a unit, or also other Regions. Without any stack, nothing was stopped or undone: the status is 2."""
    north = HealingPlace(organization.sandbox, automation, organization.accounts["web"], NORTH)
    unit = str(organization.client.list_parents(ChildId=data.account_id)["Parents"][0]["Id"])
    assert org("stop", "--ou", unit)[0] == 0
    assert (bool(data.stop_item()), bool(web.stop_item())) == (True, False)
    nowhere = invoke(["org", "stop", "--role-name", ROLE, "--ou", unit, "--region", NORTH])
    assert (nowhere.exit_code, "without a stack of the rule: 1" in nowhere.stdout) == (2, True)
    assert invoke(["org", "stop", "--role-name", ROLE, "--all-regions"]).exit_code == 0
    assert web.stop_item()
    assert north.stop_item()
    both = invoke(["org", "stop", *SELECTED, "--all-regions"])
    assert (both.exit_code, "cannot be used together" in both.stderr) == (2, True)


def test_undo_lists_and_undoes_the_heals_since_a_time(data: HealingPlace, web: HealingPlace) -> None:
    """A dry run changes nothing. What was undone before is skipped, what cannot be undone is named with its reason."""
    healed = {}
    for place in (data, web):
        vpc = place.add_vpc()
        with acting_in(place.account_id):
            healed[place.account_id] = place.ledger.heal(place.builder, vpc.id, vpc.table)
    for time in ("2026-11-22T12:00:01Z", "2026-11-23"):
        assert "no heals since then" in invoke(["org", "undo", "--since", time, *SELECTED, "--yes"]).stdout
    listed = invoke(["org", "undo", "--since", NOON, *SELECTED, "--dry-run"])
    assert listed.exit_code == 0, listed.stderr
    assert all(run_id in listed.stdout for run_id in healed.values())
    assert "2 heals: 2 to undo\nnothing was changed" in listed.stdout
    without_answer = invoke(["org", "undo", "--since", NOON, *SELECTED])
    assert (without_answer.exit_code, "--yes" in without_answer.stderr) == (2, True)
    assert all(place.endpoints() for place in (data, web))

    one = org("undo", "--since", BEFORE, "--yes", "--account", web.account_id)
    assert (one[0], [row["state"] for row in one[1]["heals"]]) == (0, ["UNDONE"])
    assert (bool(data.endpoints()), web.endpoints()) == (True, {})
    [endpoint] = data.endpoints()
    with acting_in(data.account_id):
        data.builder.memory.create_tags([endpoint], {"aws:cloudformation:stack-id": "theirs"})
    status, document, _ = org("undo", "--since", BEFORE, "--yes")
    states = {row["accountName"]: row["state"] for row in document["heals"]}
    assert (status, states) == (1, {"data": "NOT_UNDONE", "web": "EARLIER"})
    shown = invoke(["org", "undo", "--since", BEFORE, *SELECTED, "--yes"])
    assert shown.exit_code == 1
    assert "a tool owns it now" in shown.stdout
    assert "2 heals: 1 undone earlier, 1 not undone" in shown.stdout


def test_undo_resumes_after_a_failed_start(data: HealingPlace, web: HealingPlace) -> None:
    """What could not be started is a failure; the next call undoes it and starts no other run."""
    for place in (data, web):
        vpc = place.add_vpc()
        with acting_in(place.account_id):
            place.ledger.heal(place.builder, vpc.id, vpc.table)
    faults, sandbox = data.sandbox.faults, data.sandbox
    faults.deny("ssm", "StartAutomationExecution", account_id=data.account_id)
    result = invoke(["org", "undo", "--since", NOON, *SELECTED, "--yes"])
    assert (result.exit_code, f"account {data.account_id} (data) {HOME}" in result.stderr) == (2, True)
    assert "2 heals: 1 to undo, 1 undone\nrun the command again" in result.stdout
    faults.clear()
    sandbox.calls.clear()
    assert org("undo", "--since", NOON, "--yes")[0] == 0
    assert len(sandbox.calls.of("ssm", "StartAutomationExecution")) == 1
    assert data.endpoints() == web.endpoints() == {}
    faults.deny("dynamodb", "Scan")
    unread = org("undo", "--since", NOON, "--yes")
    assert (unread[0], len(unread[1]["failures"])) == (2, 2)


@pytest.mark.usefixtures("organization")
@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("undo", "--since", "yesterday"), "ISO 8601"),
        (("undo", "--since", "2999-01-01T00:00+14:00"), "is in the future (use a time in the past: it is 20"),
        (("undo", "--since", NOON, "--account", "999999999999"), "is not an active account"),
        (("stop", "--reason", "x" * 501), "at most 500"),
    ],
)
def test_bad_values_are_one_line(words: tuple[str, ...], hint: str) -> None:
    """The line says what to give instead."""
    result = invoke(["org", *words, *SELECTED])
    [line] = result.stderr.splitlines()
    assert (result.exit_code, hint in line) == (2, True)
