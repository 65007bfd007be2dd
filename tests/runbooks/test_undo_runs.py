"""Undos from start to end: an undo removes what the heal added and nothing else."""

import json
from datetime import timedelta

import pytest
from moto.dynamodb.models import dynamodb_backends

from express_path.healing import rereading, services
from tests.support.heals import UNDO, Deployment, Vpc, status, steps
from tests.support.ledgers import LEDGER, LedgerTable, heal_id
from tests.support.network import Builder

pytestmark = pytest.mark.slow


def endpoint_of(deployment: Deployment, vpc: Vpc) -> str:
    """Return the only S3 Express endpoint of a VPC."""
    [endpoint] = deployment.endpoints(vpc.id)
    return str(endpoint["VpcEndpointId"])


# --- what an undo does -----------------------------------------------------------------------------------------------


def test_undo_restores_the_network_byte_by_byte_and_records_it(
    deployment: Deployment, builder: Builder, vpc: Vpc, ledger: LedgerTable
) -> None:
    """After a heal and its undo, the tables are described as before, and the created endpoint is deleted.

    The same holds for a second heal and its undo without a pause. It creates a new endpoint, because a client token is
    not reused after its endpoint is deleted.
    """
    builder.tag(vpc.table, "express-path:note", "ours to keep")
    before, created = deployment.described(vpc.id), list[str]()
    for _ in range(2):
        run = deployment.heal(vpc.subnet)
        assert status(run) == "Success", run.get("FailureMessage")
        created.append(endpoint_of(deployment, vpc))
        undone = deployment.undo(run["AutomationExecutionId"])
        assert status(undone) == "Success", undone.get("FailureMessage")
        assert deployment.described(vpc.id) == before
    assert len(set(created)) == 2
    in_vpc, table = ledger.item(f"VPC#{vpc.id}"), ledger.item(f"TABLE#{vpc.table}")
    assert sorted(in_vpc["createdIds"]) == sorted(in_vpc["deletedIds"]) == sorted(created)
    assert (table["state"], table["runId"]) == ("UNDONE", undone["AutomationExecutionId"])
    heal, undo = (ledger.item(f"RUN#{ended['AutomationExecutionId']}") for ended in (run, undone))
    assert (heal["undoRunId"], undo["healRunId"]) == (table["runId"], run["AutomationExecutionId"])
    assert (undo["kind"], undo["endpointId"]) == ("UNDO", created[-1])
    assert {"startedAt", "intendedAt", "deletionIntendedAt", "deletedAt", "finishedAt"} <= undo.keys()


def test_dry_run_changes_nothing(deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc) -> None:
    """The network and the ledger stay as they are."""
    heal = ledger.heal(builder, vpc.id, vpc.table)
    before = deployment.described(vpc.id), ledger.items("")
    planned = deployment.automation.execute(UNDO, {"RunId": heal, **deployment.given, "DryRun": "true"})
    assert status(planned) == "Success", planned.get("FailureMessage")
    assert (deployment.described(vpc.id), ledger.items("")) == before


def test_undo_for_the_last_table_deletes_the_endpoint(
    deployment: Deployment, builder: Builder, ledger: LedgerTable
) -> None:
    """Each heal is undone separately; the last undo deletes the endpoint, whichever run created it."""
    vpc = Vpc(builder, tables=2)
    first = ledger.heal(builder, vpc.id, vpc.tables[0])
    endpoint = endpoint_of(deployment, vpc)
    second = ledger.heal(builder, vpc.id, vpc.tables[1], 2, endpoint)
    undone = deployment.undo(first)
    assert f"{endpoint} stays: {vpc.tables[1]} uses it" in undone["Outputs"]["plan.Summary"][0]
    assert deployment.associations(vpc.id) == {endpoint: [vpc.tables[1]]}
    assert status(deployment.undo(second)) == "Success"
    assert deployment.endpoints(vpc.id) == []


@pytest.mark.parametrize("gone", ["association", "endpoint"])
def test_what_somebody_removed_is_only_recorded(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc, gone: str
) -> None:
    """If the association or endpoint is already gone, the undo does the rest and records the heal as undone."""
    before = deployment.described(vpc.id)
    heal = ledger.heal(builder, vpc.id, vpc.table)
    endpoint = endpoint_of(deployment, vpc)
    if gone == "association":
        deployment.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, RemoveRouteTableIds=[vpc.table])
    else:
        deployment.ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint])
    undone = deployment.undo(heal)
    assert (status(undone), "disassociate" in steps(undone)) == ("Success", False)
    assert deployment.described(vpc.id) == before
    assert ledger.item(f"RUN#{heal}")["undoRunId"] == undone["AutomationExecutionId"]


def test_refusals_change_nothing(deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc) -> None:
    """Unknown runs, undone heals, and replaced heals are refused with a message that says why."""
    heal = ledger.heal(builder, vpc.id, vpc.table)
    undo = str(deployment.undo(heal)["AutomationExecutionId"])
    endpoint = builder.endpoint(vpc.id)
    older, newer = (ledger.heal(builder, vpc.id, vpc.table, number, endpoint) for number in (2, 3))
    refused = {
        heal_id(9): "the ledger has no such run",
        heal: f"run {undo} undid it already",
        older: f"run {newer} started to associate {vpc.table} again",
    }
    before = deployment.described(vpc.id), ledger.items("")
    for run_id, found in refused.items():
        run = deployment.undo(run_id)
        assert status(run) == "Failed"
        assert f"run {run_id} cannot be undone: {found}" in run["FailureMessage"]
    assert (deployment.described(vpc.id), ledger.items("")) == before


# --- claims ----------------------------------------------------------------------------------------------------------


def test_two_undos_of_one_heal_both_succeed(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One undo waits for the other and then has nothing left to do."""
    monkeypatch.setattr(rereading, "SECONDS_APART", 0.02)
    heal = ledger.heal(builder, vpc.id, vpc.table)
    given = {"RunId": [heal], **{name: [value] for name, value in deployment.given.items()}}
    started = [deployment.ssm.start_automation_execution(DocumentName=UNDO, Parameters=given) for _ in range(2)]
    runs = [deployment.automation.wait(execution["AutomationExecutionId"]) for execution in started]
    assert [status(run) for run in runs] == ["Success", "Success"]
    assert deployment.endpoints(vpc.id) == []
    assert len(deployment.sandbox.calls.of("ec2", "DeleteVpcEndpoints")) == 1


@pytest.mark.long
def test_claim_of_a_running_run_is_respected(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An undo waits for the run that claimed the table, then fails with that run's id and changes nothing."""
    monkeypatch.setattr(services, "has_ended", lambda _ssm, run_id: run_id != heal_id(7))
    heal = ledger.heal(builder, vpc.id, vpc.table)
    ledger.write(f"TABLE#{vpc.table}", state="CLAIMED", runId=heal_id(7))
    deployment.sandbox.calls.clear()
    run = deployment.undo(heal)
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert f"run {heal_id(7)} is still changing {vpc.table}" in run["FailureMessage"]


def test_lost_claim_stops_the_run(deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc) -> None:
    """If another run claims the table meanwhile, the undo makes no more changes and leaves that claim alone."""
    heal = ledger.heal(builder, vpc.id, vpc.table)
    claim = {"state": "CLAIMED", "runId": heal_id(7)}
    deployment.sandbox.faults.before("ec2", "ModifyVpcEndpoint", lambda: ledger.write(f"TABLE#{vpc.table}", **claim))
    run = deployment.undo(heal)
    assert status(run) == "Failed"
    assert f"no longer has the claim on {vpc.table}" in run["FailureMessage"]
    assert len(deployment.endpoints(vpc.id)) == 1
    assert claim.items() <= ledger.item(f"TABLE#{vpc.table}").items()


# --- what somebody else does meanwhile -------------------------------------------------------------------------------


@pytest.fixture
def healed(deployment: Deployment, vpc: Vpc, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the id of the run of a heal that created its endpoint. OwnerTags is by=terraform."""
    monkeypatch.setenv("OWNER_TAGS", "by=terraform")
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run.get("FailureMessage")
    return str(run["AutomationExecutionId"])


@pytest.mark.parametrize("what", ["tag", "policy"])
def test_undo_of_what_somebody_took_over_is_blocked(
    deployment: Deployment, builder: Builder, vpc: Vpc, healed: str, what: str
) -> None:
    """The run names what was found and changes nothing, even if somebody takes over right after its plan."""
    endpoint = endpoint_of(deployment, vpc)
    policy = json.dumps({"Statement": [{"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}]})
    if what == "tag":
        found = f"{vpc.table} has the tag by=terraform"
        deployment.after("planUndo", lambda: builder.tag(vpc.table, "by", "terraform"))
    else:
        found = f"somebody replaced the policy of {endpoint}"
        deployment.after(
            "planUndo", lambda: builder.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, PolicyDocument=policy)
        )
    for failed in ("checkClaim", "makePlan"):
        undone = deployment.undo(healed)
        assert (status(undone), "disassociate" in steps(undone)) == ("Failed", False)
        blocked = f"step {failed} failed: BLOCKED: run {healed} cannot be undone: {found}"
        assert blocked in undone["FailureMessage"]
    assert deployment.associations(vpc.id) == {endpoint: [vpc.table]}


@pytest.mark.parametrize("change", ["use", "tag"])
def test_endpoint_that_somebody_takes_before_its_deletion_stays(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, change: str
) -> None:
    """An endpoint that is used or adopted after it was marked as deleted stays, and the mark is removed."""
    vpc = Vpc(builder, tables=2)
    heal = ledger.heal(builder, vpc.id, vpc.tables[0])
    endpoint = endpoint_of(deployment, vpc)
    updates = iter(range(4))

    def take_it() -> None:
        if next(updates) == 3:  # claim, record, recordDisassociation, markDeleted
            if change == "tag":
                builder.tag(endpoint, "Name", "ours")
            else:
                builder.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, AddRouteTableIds=[vpc.tables[1]])

    deployment.sandbox.faults.before("dynamodb", "UpdateItem", take_it, times=4)
    undone = deployment.undo(heal)
    assert (status(undone), "deleteEndpoint" in steps(undone)) == ("Success", False), undone.get("FailureMessage")
    assert deployment.associations(vpc.id) == {endpoint: [vpc.tables[1]] if change == "use" else []}
    assert "deletedIds" not in ledger.item(f"VPC#{vpc.id}")


def test_endpoint_whose_policy_changed_between_two_heals_stays(
    deployment: Deployment, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later heal saw the new policy, so its undo removes its association. The endpoint is no longer the heals' own."""
    monkeypatch.setenv("ADOPT_IAC_OWNED", "true")
    vpc = Vpc(builder, tables=2)
    assert status(deployment.heal(vpc.subnets[0])) == "Success"
    endpoint = endpoint_of(deployment, vpc)
    statement = {"Sid": "Ours", "Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}
    builder.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, PolicyDocument=json.dumps({"Statement": [statement]}))
    builder.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, RemoveRouteTableIds=[vpc.tables[0]])
    later = deployment.heal(vpc.subnets[1])
    assert status(later) == "Success", later.get("FailureMessage")
    undone = deployment.undo(later["AutomationExecutionId"])
    assert (status(undone), "deleteEndpoint" in steps(undone)) == ("Success", False), undone.get("FailureMessage")
    assert deployment.associations(vpc.id) == {endpoint: []}


def test_endpoint_that_is_older_than_the_ledger_can_be_one_of_others(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc
) -> None:
    """Systems Manager confirms a heal that used it, for as long as it lists runs: 30 days. An old ledger needs no proof."""
    endpoint = builder.endpoint(vpc.id)
    builder.memory.vpc_end_points[endpoint].creation_timestamp -= timedelta(days=50)
    healed = deployment.heal(vpc.subnet)
    assert status(deployment.undo(healed["AutomationExecutionId"])) == "Success"
    unlisted = ledger.heal(builder, vpc.id, vpc.table, 2, endpoint)
    table = dynamodb_backends[deployment.sandbox.account_id][deployment.sandbox.region].tables[LEDGER]
    for days, ended in ((29, "Failed"), (2, "Success")):
        table.created_at -= timedelta(days=days)
        undone = deployment.undo(unlisted)
        assert status(undone) == ended, undone.get("FailureMessage")
    assert deployment.associations(vpc.id) == {endpoint: []}


def test_undo_needs_only_the_settings_about_owners(
    deployment: Deployment, builder: Builder, vpc: Vpc, healed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another setting may be invalid. With AdoptIacOwned, owners do not block, and an owned endpoint is not deleted."""
    endpoint = endpoint_of(deployment, vpc)
    builder.tag(endpoint, "by", "terraform")
    monkeypatch.setenv("WARN_ONLY", "nonsense")
    monkeypatch.setenv("ADOPT_IAC_OWNED", "true")
    undone = deployment.undo(healed)
    assert status(undone) == "Success", undone.get("FailureMessage")
    assert deployment.associations(vpc.id) == {endpoint: []}


# --- failures; the fault matrix has more ------------------------------------------------------------------------------


def test_failed_undo_names_the_error_of_aws(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc
) -> None:
    """The undo checks that the association is gone; the message also says why it is not."""
    heal = ledger.heal(builder, vpc.id, vpc.table)
    deployment.sandbox.faults.deny("ec2", "ModifyVpcEndpoint")
    run = deployment.undo(heal)
    assert (status(run), steps(run)[-1]) == ("Failed", "fail")
    for text in (
        f"step findRest failed: {vpc.table} still uses ",
        "step disassociate failed: ",
        "UnauthorizedOperation",
    ):
        assert text in run["FailureMessage"]


def test_refused_deletion_fails_and_can_be_started_again(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc
) -> None:
    """EC2 returns 200 and names what it did not delete: the run fails, and the ledger records the attempt."""
    heal = ledger.heal(builder, vpc.id, vpc.table)
    deployment.sandbox.ec2.knobs.undeletable_endpoints = True
    run = deployment.undo(heal)
    assert status(run) == "Failed"
    for text in (endpoint_of(deployment, vpc), "OperationNotPermitted"):
        assert text in run["FailureMessage"]
    table = ledger.item(f"TABLE#{vpc.table}")
    assert (table["state"], table["runId"]) == ("FAILED", table["undoRunId"])
    deployment.sandbox.ec2.knobs.undeletable_endpoints = False
    assert status(deployment.undo(heal)) == "Success"
    assert deployment.endpoints(vpc.id) == []


def test_undo_whose_change_is_not_seen_can_be_started_again(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc
) -> None:
    """An undo waits for a stale description; if it stays stale, the run fails and the next one succeeds."""
    before = deployment.described(vpc.id)
    heal = ledger.heal(builder, vpc.id, vpc.table)
    deployment.sandbox.ec2.knobs.stale_describes = 1000
    undone = deployment.undo(heal)
    assert status(undone) == "Failed"
    assert f"{vpc.table} still uses " in undone["FailureMessage"]
    deployment.sandbox.ec2.knobs.stale_describes = rereading.ATTEMPTS - 1
    assert status(deployment.undo(heal)) == "Success"
    assert deployment.described(vpc.id) == before


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
