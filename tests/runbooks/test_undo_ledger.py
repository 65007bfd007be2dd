"""Undos of heals that the ledger records: the undo removes what the heal added and nothing else."""

import json

import pytest

from express_path import healing
from sandbox.stale_reads import Observation
from tests.support.heals import UNDO, Deployment, Vpc, status, step, steps
from tests.support.ledgers import LedgerTable, heal_id
from tests.support.network import Builder

pytestmark = pytest.mark.slow


def described(deployment: Deployment, vpc: Vpc) -> str:
    """Return everything that EC2 describes of a VPC's route tables."""
    return json.dumps(deployment.tables(vpc.id), default=str)


def test_undo_restores_the_tables_and_records_it(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc
) -> None:
    """The tables are as before, the created endpoint is deleted, and the ledger records the undo."""
    before = described(deployment, vpc)
    heal = ledger.heal(builder, vpc.id, vpc.table)
    [endpoint] = deployment.endpoints(vpc.id)
    undone = deployment.undo(heal)
    run_id = undone["AutomationExecutionId"]
    assert status(undone) == "Success", undone.get("FailureMessage")
    assert (described(deployment, vpc), deployment.endpoints(vpc.id)) == (before, [])
    table = ledger.item(f"TABLE#{vpc.table}")
    assert (table["state"], table["runId"]) == ("UNDONE", run_id)
    assert ledger.item(f"VPC#{vpc.id}")["deletedIds"] == [endpoint["VpcEndpointId"]]
    run = ledger.item(f"RUN#{run_id}")
    assert (run["kind"], run["healRunId"], run["endpointId"]) == ("UNDO", heal, endpoint["VpcEndpointId"])
    assert {"startedAt", "intendedAt", "deletionIntendedAt", "deletedAt", "finishedAt"} <= run.keys()
    assert ledger.item(f"RUN#{heal}")["undoRunId"] == run_id


def test_dry_run_shows_the_changes_and_makes_none(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc
) -> None:
    """The plan names the table, the endpoint, and each subnet's path after the undo; nothing changes."""
    heal = ledger.heal(builder, vpc.id, vpc.table)
    [endpoint] = [endpoint["VpcEndpointId"] for endpoint in deployment.endpoints(vpc.id)]
    before = described(deployment, vpc), ledger.items("")
    planned = deployment.automation.execute(UNDO, {"RunId": heal, **deployment.given, "DryRun": "true"})
    assert status(planned) == "Success", planned.get("FailureMessage")
    assert planned["Outputs"]["plan.Summary"][0].split(" | ") == [
        f"{vpc.table} will no longer use {endpoint}",
        f"{endpoint} will be deleted: a heal created it, and no other route table uses it",
        f"{vpc.subnet} will use {vpc.nat} (NAT_GATEWAY)",
    ]
    assert (described(deployment, vpc), ledger.items("")) == before


def test_payload_can_be_an_object(deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc) -> None:
    """No step selects a member of a Lambda step's Payload, because AWS documents only the whole output.

    The Payload is text in other tests.
    """
    assert (deployment.automation.knobs.payload_as_object, deployment.automation.knobs.lambda_selectors) == (
        False,
        False,
    )
    deployment.automation.knobs.payload_as_object = True
    undone = deployment.undo(ledger.heal(builder, vpc.id, vpc.table))
    assert (status(undone), deployment.endpoints(vpc.id)) == ("Success", [])


def test_undo_for_the_last_table_deletes_the_endpoint(
    deployment: Deployment, builder: Builder, ledger: LedgerTable
) -> None:
    """Each heal is undone separately; the last undo deletes the endpoint, whichever run created it."""
    vpc = Vpc(builder, tables=2)
    first = ledger.heal(builder, vpc.id, vpc.tables[0])
    [endpoint] = [endpoint["VpcEndpointId"] for endpoint in deployment.endpoints(vpc.id)]
    second = ledger.heal(builder, vpc.id, vpc.tables[1], 2, endpoint)
    undone = deployment.undo(first)
    assert f"{endpoint} stays: {vpc.tables[1]} uses it" in undone["Outputs"]["plan.Summary"][0]
    assert deployment.associations(vpc.id) == {endpoint: [vpc.tables[1]]}
    assert status(deployment.undo(second)) == "Success"
    assert deployment.endpoints(vpc.id) == []


def test_endpoint_that_no_heal_created_stays(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc
) -> None:
    """The ledger decides which endpoint a heal created, even if another one has the managed tag."""
    theirs = builder.endpoint(vpc.id)
    builder.tag(theirs, "express-path:managed", "true")
    undone = deployment.undo(ledger.heal(builder, vpc.id, vpc.table, endpoint_id=theirs))
    assert f"{theirs} stays: no heal created it" in undone["Outputs"]["rest.Summary"][0]
    assert (status(undone), deployment.associations(vpc.id)) == ("Success", {theirs: []})


def test_endpoint_without_the_managed_tag_stays(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc
) -> None:
    """An endpoint whose tag was removed is not deleted, because somebody else may use it; the run names it."""
    heal = ledger.heal(builder, vpc.id, vpc.table)
    [endpoint] = [endpoint["VpcEndpointId"] for endpoint in deployment.endpoints(vpc.id)]
    builder.ec2.delete_tags(Resources=[endpoint], Tags=[{"Key": "express-path:managed"}])
    undone = deployment.undo(heal)
    assert f"{endpoint} stays: it no longer has the tag" in undone["Outputs"]["rest.Summary"][0]
    assert (status(undone), deployment.associations(vpc.id)) == ("Success", {endpoint: []})


@pytest.mark.parametrize("gone", ["association", "endpoint"])
def test_what_somebody_removed_is_only_recorded(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc, gone: str
) -> None:
    """If the association or endpoint is already gone, the undo does the rest and records the heal as undone."""
    before = described(deployment, vpc)
    heal = ledger.heal(builder, vpc.id, vpc.table)
    [endpoint] = [endpoint["VpcEndpointId"] for endpoint in deployment.endpoints(vpc.id)]
    if gone == "association":
        deployment.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, RemoveRouteTableIds=[vpc.table])
    else:
        deployment.ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint])
    undone = deployment.undo(heal)
    assert (status(undone), "disassociate" in steps(undone)) == ("Success", False)
    assert (described(deployment, vpc), deployment.endpoints(vpc.id)) == (before, [])
    assert ledger.item(f"RUN#{heal}")["undoRunId"] == undone["AutomationExecutionId"]


def test_refusals_change_nothing(deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc) -> None:
    """Unknown runs, undo runs, undone heals, and replaced heals are refused with a message that says why."""
    heal = ledger.heal(builder, vpc.id, vpc.table)
    undo = str(deployment.undo(heal)["AutomationExecutionId"])
    older, newer = heal_id(2), heal_id(3)
    endpoint = builder.endpoint(vpc.id)
    ledger.heal(builder, vpc.id, vpc.table, 2, endpoint)
    ledger.heal(builder, vpc.id, vpc.table, 3, endpoint)
    refused = {
        heal_id(9): "the ledger has no such run",
        undo: f"it is not a heal, but the undo of run {heal}",
        heal: f"run {undo} undid it already",
        older: f"run {newer} started to associate {vpc.table} again",
    }
    before = described(deployment, vpc), ledger.items("")
    deployment.sandbox.calls.clear()
    for run_id, found in refused.items():
        run = deployment.undo(run_id)
        assert status(run) == "Failed"
        assert f"run {run_id} cannot be undone: {found}" in run["FailureMessage"]
    assert ((described(deployment, vpc), ledger.items("")), deployment.changes()) == (before, [])


def test_two_undos_of_one_heal_both_succeed(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One undo waits for the other and then has nothing left to do."""
    monkeypatch.setattr(healing, "SECONDS_APART", 0.02)
    heal = ledger.heal(builder, vpc.id, vpc.table)
    given = {"RunId": [heal], **{name: [value] for name, value in deployment.given.items()}}
    started = [deployment.ssm.start_automation_execution(DocumentName=UNDO, Parameters=given) for _ in range(2)]
    runs = [deployment.automation.wait(execution["AutomationExecutionId"]) for execution in started]
    assert [status(run) for run in runs] == ["Success", "Success"]
    assert deployment.endpoints(vpc.id) == []
    assert len(deployment.sandbox.calls.of("ec2", "DeleteVpcEndpoints")) == 1


def test_claim_of_a_running_run_is_respected(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An undo waits for the run that claimed the table, then fails with that run's id and changes nothing."""
    monkeypatch.setattr(healing, "has_ended", lambda _ssm, run_id: run_id != heal_id(7))
    heal = ledger.heal(builder, vpc.id, vpc.table)
    ledger.write(f"TABLE#{vpc.table}", state="CLAIMED", runId=heal_id(7))
    deployment.sandbox.calls.clear()
    run = deployment.undo(heal)
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert f"run {heal_id(7)} is changing {vpc.table}" in run["FailureMessage"]


def test_claim_of_a_run_that_ended_or_expired_is_void(
    deployment: Deployment, builder: Builder, ledger: LedgerTable
) -> None:
    """If the owner does not exist or the claim has expired, the undo continues at once."""
    vpc = Vpc(builder, tables=2)
    first = ledger.heal(builder, vpc.id, vpc.tables[0])
    second = ledger.heal(builder, vpc.id, vpc.tables[1], 2)
    ledger.write(f"TABLE#{vpc.tables[0]}", state="CLAIMED", runId=heal_id(7))
    ledger.write(f"TABLE#{vpc.tables[1]}", state="CLAIMED", runId=heal_id(8), expiresAt=1)
    for heal_run_id in (first, second):
        undone = deployment.undo(heal_run_id)
        assert status(undone) == "Success", undone.get("FailureMessage")
        assert step(undone, "seeTurn")["ParentStepDetails"]["Iteration"] == 1
    assert deployment.endpoints(vpc.id) == []


def test_lost_claim_stops_the_run(deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc) -> None:
    """If another run claims the table meanwhile, the undo makes no more changes and leaves that claim alone."""
    heal = ledger.heal(builder, vpc.id, vpc.table)

    def take_over() -> None:
        ledger.write(f"TABLE#{vpc.table}", state="CLAIMED", runId=heal_id(7))

    deployment.sandbox.faults.before("ec2", "ModifyVpcEndpoint", take_over)
    run = deployment.undo(heal)
    assert status(run) == "Failed"
    assert f"no longer has the claim on {vpc.table}" in run["FailureMessage"]
    assert len(deployment.endpoints(vpc.id)) == 1
    assert (ledger.item(f"TABLE#{vpc.table}")["state"], ledger.item(f"TABLE#{vpc.table}")["runId"]) == (
        "CLAIMED",
        heal_id(7),
    )


def test_heal_that_uses_the_endpoint_just_before_its_deletion_keeps_it(
    deployment: Deployment, builder: Builder, ledger: LedgerTable
) -> None:
    """An endpoint that is used again after it was marked as deleted stays, and the mark is removed."""
    vpc = Vpc(builder, tables=2)
    heal = ledger.heal(builder, vpc.id, vpc.tables[0])
    [endpoint] = [endpoint["VpcEndpointId"] for endpoint in deployment.endpoints(vpc.id)]
    updates = iter(range(100))

    def use_it() -> None:
        if next(updates) == 3:  # claim, record, recordDisassociation, markDeleted
            builder.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, AddRouteTableIds=[vpc.tables[1]])

    deployment.sandbox.faults.before("dynamodb", "UpdateItem", use_it, times=4)
    undone = deployment.undo(heal)
    assert (status(undone), "deleteEndpoint" in steps(undone)) == ("Success", False)
    assert deployment.associations(vpc.id) == {endpoint: [vpc.tables[1]]}
    assert "deletedIds" not in ledger.item(f"VPC#{vpc.id}")


def test_refused_deletion_fails_and_can_be_started_again(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc
) -> None:
    """EC2 returns 200 and names what it did not delete: the run fails, and the ledger records the attempt."""
    heal = ledger.heal(builder, vpc.id, vpc.table)
    [endpoint] = deployment.endpoints(vpc.id)
    deployment.sandbox.ec2.knobs.undeletable_endpoints = True
    run = deployment.undo(heal)
    assert status(run) == "Failed"
    assert endpoint["VpcEndpointId"] in run["FailureMessage"]
    assert "OperationNotPermitted" in run["FailureMessage"]
    table = ledger.item(f"TABLE#{vpc.table}")
    assert (table["state"], table["runId"]) == ("FAILED", table["undoRunId"])
    deployment.sandbox.ec2.knobs.undeletable_endpoints = False
    assert status(deployment.undo(heal)) == "Success"
    assert deployment.endpoints(vpc.id) == []


def test_killed_undo_is_finished_by_the_next(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc
) -> None:
    """A run is killed at each step that writes; the next one continues at once, and the last one finishes."""
    before = described(deployment, vpc)
    heal = ledger.heal(builder, vpc.id, vpc.table)
    writes = ["plan", "claim", "check", "disassociate", "rest", "confirm"]
    for killed in [*writes, "deleteEndpoint"]:
        with deployment.automation.killing(during=killed):
            run = deployment.undo(heal)
        assert (status(run), steps(run)[-1]) == ("Cancelled", killed), run.get("FailureMessage")
    ended = deployment.undo(heal)
    assert status(ended) == "Success", ended.get("FailureMessage")
    assert {"disassociate", "deleteEndpoint"}.isdisjoint(steps(ended))
    assert (described(deployment, vpc), deployment.endpoints(vpc.id)) == (before, [])
    assert ledger.item(f"TABLE#{vpc.table}")["state"] == "UNDONE"


@pytest.mark.parametrize("made", [0, 1, 2, 3])
def test_undo_interrupted_at_its_end_is_finished_by_the_next(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc, made: int
) -> None:
    """The heal counts as undone only after the last of the last step's four writes, so no write is skipped."""
    heal = ledger.heal(builder, vpc.id, vpc.table)
    writes = iter(range(made))

    def stop() -> None:
        if deployment.automation.current_step(UNDO) == "recordDeleted" and next(writes, None) is None:
            raise InterruptedError

    deployment.sandbox.faults.before("dynamodb", "UpdateItem", stop, times=20)
    assert status(deployment.undo(heal)) == "Failed"
    deployment.sandbox.faults.clear()
    assert "undoRunId" not in ledger.item(f"RUN#{heal}")
    ended = deployment.undo(heal)
    assert status(ended) == "Success", ended.get("FailureMessage")
    assert ledger.item(f"RUN#{heal}")["undoRunId"] == ended["AutomationExecutionId"]
    assert ledger.item(f"TABLE#{vpc.table}")["state"] == "UNDONE"


def test_one_stale_response_changes_nothing(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc
) -> None:
    """Each read of an undo is stale once, one at a time, and every run ends with the same result."""
    before = described(deployment, vpc)

    def undone(number: int, operation: str | None = None, nth: int | None = None) -> tuple[Observation, list[str]]:
        with (
            deployment.sandbox.stale_reads(operation, nth) if operation else deployment.sandbox.observed_reads() as seen
        ):
            run = deployment.undo(ledger.heal(builder, vpc.id, vpc.table, number))
        assert status(run) == "Success", (operation, nth, run.get("FailureMessage"))
        assert (described(deployment, vpc), deployment.endpoints(vpc.id)) == (before, []), (operation, nth)
        assert ledger.item(f"TABLE#{vpc.table}")["state"] == "UNDONE"
        return seen, steps(run)

    seen, taken = undone(1)
    assert len(seen.differing) > 3
    for number, (operation, nth) in enumerate(seen.differing, 2):
        again, same = undone(number, operation, nth)
        assert len(again.given) == 1
        assert same == taken, (operation, nth)
