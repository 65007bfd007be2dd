"""Stop, start, and undo in an organization where many heals run at the same time."""

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from typer.testing import Result

from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path.healing import rereading
from express_path_cli.automation import runs, stops
from express_path_cli.automation.exceptions import DENIED_BY_POLICY
from tests.cli.org.organizations import REGIONS, ROLE, Organization
from tests.support.command import invoke
from tests.support.healing_places import HealingPlace
from tests.support.heals import status, steps
from tests.support.ledgers import LEDGER

pytestmark = pytest.mark.long

HEALS = int(os.environ.get("STOPPED_HEALS", "16"))
"""How many heals run when they are stopped. A run with 200 takes some minutes."""
EVERYWHERE = ("--organization", "--role-name", ROLE, *(word for region in REGIONS for word in ("--region", region)))
POLICY = f"You are not authorized to perform this operation with an {DENIED_BY_POLICY}"


@pytest.fixture
def places(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[HealingPlace]]:
    """Yield two accounts with healing in two Regions."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    monkeypatch.setattr(rereading, "SECONDS_APART", 0)
    monkeypatch.setattr(runs, "START_SECONDS", 0)
    monkeypatch.setattr(runs, "POLL_SECONDS", 0.2)
    monkeypatch.setattr(stops, "POLL_SECONDS", 0.2)
    monkeypatch.setenv("LEDGER_TABLE_NAME", LEDGER)
    organization = Organization(sandbox)
    with Automation(sandbox) as automation, Remediation(sandbox, automation):
        automation.knobs.time_scale = 0.001
        accounts = [organization.add(name) for name in ("data", "web")]
        yield [HealingPlace(sandbox, automation, account, region) for account in accounts for region in REGIONS]


def run(*words: str) -> tuple[Result, dict[str, Any]]:
    """Run a command for the organization, and return its result and its JSON document."""
    result = invoke([*words, *EVERYWHERE, "--format", "json"])
    document: dict[str, Any] = json.loads(result.stdout)
    return result, document


def changes(sandbox: Sandbox) -> list[str]:
    """Return the calls that created or changed an endpoint."""
    return [call.operation for call in sandbox.calls if call.operation in ("CreateVpcEndpoint", "ModifyVpcEndpoint")]


def add_exceptions(place: HealingPlace, message: str, *subnet_ids: str) -> None:
    """Let AWS Config start heals that fail with a message, so that it adds exceptions."""
    sandbox = place.sandbox
    for subnet_id in subnet_ids:
        sandbox.faults.deny("dynamodb", "GetItem", message=message)
        place.remediate(subnet_id)
        sandbox.faults.clear()


def test_everything_stops_is_undone_and_starts(sandbox: Sandbox, places: list[HealingPlace]) -> None:
    """Heals that run are stopped before their next change, changes are undone, and exceptions of a policy are cleared.

    In each place, exceptions from before the stop, and those with another cause, stay. Then heals go on.
    """
    exceptions = [[place.add_vpc().subnet for _ in range(3)] for place in places]
    for place, (earlier, _, _) in zip(places, exceptions, strict=True):
        place.vpcs.clear()
        place.configure_remediation()
        add_exceptions(place, POLICY, earlier)
    tables = max(2, HEALS // 40)  # a Region has at most 20 gateway endpoints
    for number in range(HEALS // tables):
        places[number % len(places)].add_vpc(tables)
    before = [place.routes() for place in places]
    since = datetime.now(UTC)
    [late, *vpcs] = places[0].vpcs
    places[0].vpcs[:] = vpcs
    started = [(place, run_id) for place in places for run_id in place.start_heals()]
    deadline = time.monotonic() + 600
    while not changes(sandbox):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    result, stopped = run("stop", "--reason", "INC-1234")
    sandbox.calls.clear()
    assert (result.exit_code, [row["state"] for row in stopped["places"]]) == (0, ["STOPPED"] * 4), result.stderr
    assert [row["recordedExceptions"] for row in stopped["places"]] == [1] * 4
    started += [(places[0], places[0].start_heal(subnet_id)) for subnet_id in late.subnets]
    ended = [place.automation.wait(run_id, 600) for place, run_id in started]
    for place, (_, policy, other) in zip(places, exceptions, strict=True):
        add_exceptions(place, POLICY, policy)
        add_exceptions(place, "not allowed", other)
    assert changes(sandbox) == []
    assert {status(run) for run in ended} == {"Success"}
    stopped_runs = sum(steps(run)[-1] == "stopped" for run in ended)
    healed = sum(len(associated) for place in places for associated in place.endpoints().values())
    assert stopped_runs >= tables
    assert healed == HEALS - stopped_runs

    result, undone = run("undo", "--since", since.isoformat(), "--yes")
    assert result.exit_code == 0, (result.stdout, result.stderr)
    states = Counter(row["state"] for row in undone["heals"])
    assert (states["UNDONE"], states.keys() <= {"UNDONE", "UNCHANGED"}) == (healed, True)
    assert [place.routes() for place in places] == before
    runs_before = len(sandbox.calls.of("ssm", "StartAutomationExecution"))
    again, repeated = run("undo", "--since", since.isoformat(), "--yes")
    assert (again.exit_code, Counter(row["state"] for row in repeated["heals"])["EARLIER"]) == (0, healed)
    assert len(sandbox.calls.of("ssm", "StartAutomationExecution")) == runs_before

    result, allowed = run("start", "--yes")
    assert result.exit_code == 0, result.stderr
    cleared = {(row["accountId"], row["region"]): row["clearedExceptions"] for row in allowed["places"]}
    assert cleared == {
        (place.account_id, place.region): [policy] for place, (_, policy, _) in zip(places, exceptions, strict=True)
    }
    assert [place.exceptions() for place in places] == [{earlier, other} for earlier, _, other in exceptions]
    for place in places:
        vpc = place.add_vpc()
        assert status(place.automation.wait(place.start_heal(vpc.subnet))) == "Success"
        assert [vpc.table] in place.endpoints().values()
