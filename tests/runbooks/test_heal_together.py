"""Many heals at once, interrupted heals, and heals that somebody else interferes with."""

import time

import pytest
import yaml

from express_path.domain import plan
from sandbox.server import Sandbox
from tests.handlers.network import Builder
from tests.runbooks.heals import HEAL, RUNBOOKS, Deployment, Vpc, status, step, steps


@pytest.fixture
def one_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock does not pass from one bucket of client tokens to the next one meanwhile."""
    monkeypatch.setattr(plan, "TOKEN_SECONDS", 10**9)


@pytest.mark.usefixtures("one_bucket")
def test_fifty_subnets_are_healed_by_fifty_runs_at_once(deployment: Deployment, builder: Builder) -> None:
    """Five tables, one endpoint, fifty runs that all verify, and none that fails."""
    vpc = Vpc(builder, tables=5, subnets=10)
    deployment.sandbox.ec2.knobs.pending_describes = 60
    runs = [deployment.start(each) for each in vpc.subnets]
    ended = [deployment.automation.wait(each, 120) for each in runs]
    assert [each.get("FailureMessage") for each in ended if status(each) != "Success"] == []
    assert list(deployment.associations(vpc.id).values()) == [sorted(vpc.tables)]
    healed = [step(each, "verify")["StepStatus"] == "Success" or steps(each)[-1] == "done" for each in ended]
    assert (len(healed), all(healed)) == (50, True)
    assert all(each.error is None for each in deployment.sandbox.calls.of("ec2", "CreateVpcEndpoint"))


def test_runs_with_client_tokens_of_their_own_heal_too(
    deployment: Deployment, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs on both sides of a bucket's end may make an endpoint each, and still every table has one and none fails."""
    monkeypatch.setattr(plan, "TOKEN_SECONDS", 1)
    vpc = Vpc(builder, tables=2, subnets=3)
    runs = []
    for each in vpc.subnets:
        runs.append(deployment.start(each))
        time.sleep(0.4)
    assert {status(deployment.automation.wait(each, 120)) for each in runs} == {"Success"}
    routed = [table for tables in deployment.associations(vpc.id).values() for table in tables]
    assert sorted(routed) == sorted(vpc.tables)


STEPS = [each["name"] for each in yaml.safe_load((RUNBOOKS / f"{HEAL}.yaml").read_text(encoding="utf-8"))["mainSteps"]]
KILLED_AFTER = [each for each in STEPS if each not in ("checkCalendar", "isOpen", "planWhileClosed", "done")]
WITH_CALENDAR = ["checkCalendar", "isOpen"]


def state(deployment: Deployment, vpc: Vpc) -> tuple[object, ...]:
    """What a heal leaves, without what differs from run to run."""
    tables = {table: sorted(deployment.tags(table)) for table in vpc.tables}
    tagged = [sorted(each["Key"] for each in one["Tags"]) for one in deployment.endpoints(vpc.id)]
    return list(deployment.associations(vpc.id).values()) == [vpc.tables], [*tables.values()], tagged


HEALED = (
    True,
    [["express-path:endpoint", "express-path:healed", "express-path:run"]],
    [["express-path:managed", "express-path:rule", "express-path:run"]],
)
"""The state after one heal of a VPC with one private table."""


def test_steps_at_which_a_run_is_killed_are_those_it_takes(deployment: Deployment, vpc: Vpc) -> None:
    """The parameters of the tests below leave no step of an ordinary run out."""
    assert steps(deployment.heal(vpc.subnet)) == KILLED_AFTER


@pytest.mark.parametrize("killed_after", [each for each in KILLED_AFTER if each != "associate"])
def test_killed_heal_started_again_ends_the_same(deployment: Deployment, vpc: Vpc, killed_after: str) -> None:
    """Whenever a run dies, what it made carries our tags; after a second run it is as if the first had not died."""
    deployment.automation.knobs.kill_after = killed_after
    run = deployment.heal(vpc.subnet)
    assert status(run) == ("TimedOut" if killed_after != "verify" else "Success")
    for endpoint in deployment.endpoints(vpc.id):
        assert {"Key": "express-path:managed", "Value": "true"} in endpoint["Tags"]
    associated = any(vpc.table in tables for tables in deployment.associations(vpc.id).values())
    assert not associated or deployment.tags(vpc.table)["express-path:run"] == run["AutomationExecutionId"]

    deployment.automation.knobs.kill_after = None
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run.get("FailureMessage")
    assert state(deployment, vpc) == HEALED


@pytest.mark.parametrize("killed_after", WITH_CALENDAR)
def test_heal_killed_at_the_calendar_started_again_ends_the_same(
    deployment: Deployment, vpc: Vpc, killed_after: str
) -> None:
    """The steps that only a change calendar brings change nothing."""
    deployment.automation.knobs.open_calendars.add("changes")
    deployment.automation.knobs.kill_after = killed_after
    deployment.heal(vpc.subnet, ChangeCalendarName="changes")
    deployment.automation.knobs.kill_after = None
    assert deployment.endpoints(vpc.id) == []
    assert status(deployment.heal(vpc.subnet, ChangeCalendarName="changes")) == "Success"
    assert list(deployment.associations(vpc.id).values()) == [[vpc.table]]


@pytest.mark.parametrize("killed_after", ["create", "mark", "associate", "tag"])
def test_heal_killed_and_undone_leaves_the_tables_as_they_were(
    deployment: Deployment, vpc: Vpc, killed_after: str
) -> None:
    """An interrupted run, once it touched a table, can be undone by its id."""
    before = deployment.tables(vpc.id)
    deployment.automation.knobs.kill_after = killed_after
    run = deployment.heal(vpc.subnet)
    deployment.automation.knobs.kill_after = None
    undone = deployment.undo(run["AutomationExecutionId"])
    assert status(undone) == ("Failed" if killed_after == "create" else "Success")
    assert deployment.tables(vpc.id) == before
    assert bool(deployment.endpoints(vpc.id)) is (killed_after == "create")


def take_away(deployment: Deployment, vpc: Vpc) -> None:
    """Take the association away, as somebody who does not want it."""
    [endpoint] = deployment.endpoints(vpc.id)
    deployment.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint["VpcEndpointId"], RemoveRouteTableIds=[vpc.table])


def test_adversary_wins_for_a_day(deployment: Deployment, vpc: Vpc) -> None:
    """A second heal, after somebody took the association away, is blocked and changes nothing."""
    assert status(deployment.heal(vpc.subnet)) == "Success"
    take_away(deployment, vpc)
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert "REVERTED_BY_OTHERS" in run["FailureMessage"]


def test_adversary_who_deletes_the_endpoint_wins_too(deployment: Deployment, vpc: Vpc) -> None:
    """It is the association that counts, however it went."""
    deployment.heal(vpc.subnet)
    [endpoint] = deployment.endpoints(vpc.id)
    deployment.ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint["VpcEndpointId"]])
    deployment.ec2.describe_vpc_endpoints()
    deployment.ec2.describe_vpc_endpoints()
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.endpoints(vpc.id)) == ("Failed", [])
    assert "REVERTED_BY_OTHERS" in run["FailureMessage"]


def test_adversary_may_be_overruled(deployment: Deployment, vpc: Vpc) -> None:
    """The cure that the blocker names works: without the tag, the table is healed again."""
    deployment.heal(vpc.subnet)
    take_away(deployment, vpc)
    deployment.ec2.delete_tags(Resources=[vpc.table], Tags=[{"Key": "express-path:healed"}])
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert list(deployment.associations(vpc.id).values()) == [[vpc.table]]


def test_endpoint_that_another_tool_makes_meanwhile_is_used(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """Between plan and change, another tool made an endpoint and associated the table: the run only verifies."""
    deployment.sandbox.faults.before("ec2", "CreateVpcEndpoint", lambda: builder.endpoint(vpc.id, vpc.table))
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run.get("FailureMessage")
    assert steps(run)[-3:] == ["target", "stillNeeded", "verify"]
    assert "express-path:healed" not in deployment.tags(vpc.table)


def test_route_that_already_exists_leads_to_verify(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """Between the last look and the change, another tool associated its own endpoint: RouteAlreadyExists, and cured."""
    deployment.sandbox.faults.before("ec2", "ModifyVpcEndpoint", lambda: builder.endpoint(vpc.id, vpc.table))
    run = deployment.heal(vpc.subnet)
    assert "RouteAlreadyExists" in step(run, "associate")["FailureMessage"]
    assert (status(run), steps(run)[-2:]) == ("Success", ["associate", "verify"])
    assert sorted(map(len, deployment.associations(vpc.id).values())) == [0, 1]


def test_association_that_fails_for_another_reason_fails_the_run(deployment: Deployment, vpc: Vpc) -> None:
    """A denied change is no lost race: verify says that nothing is cured, and the step why."""
    deployment.sandbox.faults.deny("ec2", "ModifyVpcEndpoint")
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Failed"
    assert "UnauthorizedOperation" in step(run, "associate")["FailureMessage"]
    assert "NotCuredError" in run["FailureMessage"]


@pytest.mark.usefixtures("one_bucket")
def test_two_vpcs_at_once_get_an_endpoint_each(deployment: Deployment, builder: Builder, sandbox: Sandbox) -> None:
    """Client tokens of two VPCs never meet."""
    both = [Vpc(builder, tables=2, subnets=2) for _ in range(2)]
    runs = [deployment.start(each) for pair in zip(*(vpc.subnets for vpc in both), strict=True) for each in pair]
    assert {status(deployment.automation.wait(each, 120)) for each in runs} == {"Success"}
    for vpc in both:
        assert list(deployment.associations(vpc.id).values()) == [sorted(vpc.tables)]
    assert all(each.error is None for each in sandbox.calls.of("ec2", "CreateVpcEndpoint"))
