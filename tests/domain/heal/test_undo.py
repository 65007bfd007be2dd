"""The plan of an undo, from the ledger's record of the heal and the current state in EC2."""

from dataclasses import replace

import pytest

from express_path.domain.heal.ledger import RunKind, RunRecord, StartedBy, TableRecord, VpcRecord
from express_path.domain.heal.records import MANAGED_TAG
from express_path.domain.heal.undo import (
    Change,
    FailedDeletion,
    LiveResources,
    Records,
    Undo,
    check_deleted,
    check_heal,
    check_not_undone,
    make_undo,
)
from express_path.domain.heal.undo_effects import MAX_NAMED_SUBNETS, moves
from express_path.domain.network.resources import RouteTable, VpcEndpoint
from express_path.errors import NotDeletedError, UndoError
from tests.support.make import ACCOUNT, NEIGHBOUR, REGION, by_id, endpoint, evaluator, route, snapshot, subnet, table

HEAL = RunRecord(
    "run-1",
    RunKind.HEAL,
    StartedBy.PERSON,
    ACCOUNT,
    "subnet-1",
    "vpc-1",
    "rtb-1",
    "vpce-express",
    created_endpoint=True,
    associated_at="2026-11-22T12:00:00+00:00",
)
OURS = endpoint(tags={MANAGED_TAG: "true"})
ROUTED = table("rtb-1", route("pl-express", "vpce-express"))
PLAIN = table("rtb-1", route("0.0.0.0/0", "nat-1"))
CREATED = VpcRecord("vpc-1", created_ids=frozenset({"vpce-express"}))


def records(heal: RunRecord = HEAL, *, vpc: VpcRecord = CREATED, last: RunRecord | None = HEAL) -> Records:
    """Return the ledger's record of a heal that associated rtb-1."""
    return Records(heal, TableRecord("rtb-1"), vpc, last)


def seen(*endpoints: VpcEndpoint, tables: tuple[RouteTable, ...] = (PLAIN,)) -> LiveResources:
    """What EC2 shows."""
    return LiveResources(tables, endpoints)


@pytest.mark.parametrize(
    ("shown", "tables"),
    [
        (replace(OURS, route_table_ids=("rtb-1",)), (ROUTED,)),
        (replace(OURS, route_table_ids=("rtb-1",)), (PLAIN,)),
        (OURS, (ROUTED,)),
        (replace(OURS, route_table_ids=("rtb-1",)), ()),
    ],
    ids=["both", "the endpoint's list", "routes", "table not listed"],
)
def test_association_goes_first(shown: VpcEndpoint, tables: tuple[RouteTable, ...]) -> None:
    """Routes or the endpoint's list say that the table uses it; the plan says that the deletion follows."""
    undo = make_undo(records(), seen(shown, tables=tables), REGION)
    assert (undo.change, undo.associated, undo.deletes, undo.kept) == (Change.DISASSOCIATE, True, True, "")


@pytest.mark.parametrize("state", ["available", "pending"])
def test_unused_endpoint_of_a_heal_is_deleted(state: str) -> None:
    """Without a table, the endpoint that a heal created goes, whichever heal that was."""
    heal = replace(HEAL, created_endpoint=False)
    assert make_undo(records(heal), seen(replace(OURS, state=state)), REGION).change is Change.DELETE_ENDPOINT


@pytest.mark.parametrize(
    ("undo", "why"),
    [
        (make_undo(records(vpc=VpcRecord("vpc-1")), seen(OURS), REGION), "no heal created it"),
        (make_undo(records(), seen(endpoint()), REGION), "it no longer has the tag express-path:managed"),
        (make_undo(records(), seen(replace(OURS, route_table_ids=("rtb-2",))), REGION), "rtb-2 uses it"),
        (
            make_undo(
                records(),
                seen(
                    replace(OURS, route_table_ids=("rtb-1", "rtb-2")),
                    tables=(ROUTED, replace(ROUTED, id="rtb-3")),
                ),
                REGION,
            ),
            "rtb-2, rtb-3 use it",
        ),
    ],
    ids=["not created by a heal", "not managed", "used by one", "used by others too"],
)
def test_other_endpoints_stay(undo: Undo, why: str) -> None:
    """The reason is named; only the association goes."""
    assert undo.is_live
    assert not undo.deletes
    assert undo.kept.startswith(why)
    assert undo.change is (Change.DISASSOCIATE if undo.associated else Change.FINISH)


@pytest.mark.parametrize("shown", [(), (replace(OURS, state="deleting"),), (replace(OURS, state="deleted"),)])
def test_nothing_is_left_where_the_endpoint_is_gone(shown: tuple[VpcEndpoint, ...]) -> None:
    """EC2 removes the routes with the endpoint."""
    undo = make_undo(records(), seen(*shown, tables=(ROUTED,)), REGION)
    assert (undo.change, undo.is_live, undo.deletes) == (Change.FINISH, False, False)


def test_table_that_the_heal_was_not_about_to_change_stays() -> None:
    """A heal that was killed after it created the endpoint associated nothing: others made the associations."""
    undo = make_undo(records(replace(HEAL, associated_at="")), seen(OURS, tables=(ROUTED,)), REGION)
    assert (undo.associated, undo.kept, undo.change) == (False, "rtb-1 uses it", Change.FINISH)


def test_heal_that_can_be_undone() -> None:
    """A heal of this account that changed something passes; so does one that only created an endpoint."""
    assert check_heal("run-1", HEAL, ACCOUNT) is HEAL
    created = replace(HEAL, associated_at="")
    assert check_heal("run-1", created, ACCOUNT) is created
    check_not_undone(HEAL)


@pytest.mark.parametrize(
    ("run", "account_id", "found"),
    [
        (None, ACCOUNT, "the ledger has no such run"),
        (replace(HEAL, kind=RunKind.UNDO, heal_run_id="run-0"), ACCOUNT, "it is not a heal, but the undo of run run-0"),
        (HEAL, NEIGHBOUR, f"it healed a subnet of account {ACCOUNT}"),
        (replace(HEAL, associated_at="", created_endpoint=False), ACCOUNT, "it changed nothing"),
    ],
)
def test_other_runs_are_refused(run: RunRecord | None, account_id: str, found: str) -> None:
    """The error names the run and its state in the ledger."""
    with pytest.raises(UndoError, match=f"run run-1 cannot be undone: {found}") as raised:
        check_heal("run-1", run, account_id)
    assert (raised.value.run_id, raised.value.found) == ("run-1", found)


def test_undone_heal_is_refused() -> None:
    """The run that undid it is named."""
    with pytest.raises(UndoError, match="run run-5 undid it already"):
        check_not_undone(replace(HEAL, undo_run_id="run-5"))


def test_heal_that_another_one_replaced_is_refused() -> None:
    """What the table has now is the later heal's."""
    later = replace(HEAL, run_id="run-2")
    with pytest.raises(UndoError, match=r"run run-2 associated rtb-1 again at 2026-.* \(undo that run\)"):
        make_undo(records(last=later), seen(OURS), REGION)
    only_created = replace(HEAL, associated_at="")
    assert make_undo(records(only_created, last=later), seen(OURS), REGION).change is Change.DELETE_ENDPOINT
    assert make_undo(records(last=None), seen(OURS), REGION).change is Change.DELETE_ENDPOINT


@pytest.mark.parametrize(
    ("sight", "found"),
    [
        (seen(OURS, OURS), "EC2 lists 2 endpoints with the id vpce-express"),
        (seen(replace(OURS, service_name=f"com.amazonaws.{REGION}.s3")), "of type gateway for com.amazonaws"),
        (seen(replace(OURS, endpoint_type="interface")), "an endpoint of type interface"),
        (seen(replace(OURS, vpc_id="vpc-2")), "vpce-express is in vpc-2, not in vpc-1"),
        (seen(replace(OURS, owner_id=NEIGHBOUR)), f"vpce-express belongs to account {NEIGHBOUR}"),
        (seen(OURS, tables=(replace(ROUTED, owner_id=NEIGHBOUR),)), f"rtb-1 belongs to account {NEIGHBOUR}"),
    ],
    ids=["two", "other service", "other type", "other VPC", "other owner", "other owner of the table"],
)
def test_what_the_heal_did_not_leave_is_refused(sight: LiveResources, found: str) -> None:
    """Nothing is removed if EC2's state differs from the record; the error describes the difference."""
    with pytest.raises(UndoError, match=found.replace(".", r"\.")):
        make_undo(records(), sight, REGION)


@pytest.mark.parametrize("code", ["InvalidVpcEndpointId.NotFound", "InvalidVpcEndpoint.NotFound"])
def test_endpoint_that_is_gone_is_deleted(code: str) -> None:
    """EC2 refuses to delete what somebody else deleted first, which leaves nothing to do."""
    check_deleted([])
    check_deleted([FailedDeletion("vpce-1", code, "The Vpc Endpoint Id 'vpce-1' does not exist")])


def test_refused_deletion_is_named_with_endpoint_and_error() -> None:
    """If one endpoint no longer exists, the error names the one that still does."""
    gone = FailedDeletion("vpce-1", "InvalidVpcEndpointId.NotFound", "gone")
    with pytest.raises(NotDeletedError) as raised:
        check_deleted([gone, FailedDeletion("vpce-2", "OperationNotPermitted", "not yours")])
    error = raised.value
    assert (error.endpoint_id, error.code, error.message) == ("vpce-2", "OperationNotPermitted", "not yours")


def test_moves_name_where_the_traffic_goes() -> None:
    """Each subnet of the table by the way that it then takes; other tables' subnets are left out."""
    routed = table("rtb-1", route("0.0.0.0/0", "nat-1"), route("pl-express", "vpce-express"), subnets=("subnet-1",))
    other = table("rtb-2", subnets=("subnet-2",))
    network = snapshot(
        subnets=by_id(subnet(), subnet("subnet-2"), subnet("subnet-3")),
        route_tables=by_id(routed, other),
        vpc_endpoints=by_id(OURS),
    )
    assert moves(evaluator(network), "rtb-1", "vpce-express") == ("subnet-1 will use nat-1 (NAT_GATEWAY)",)
    assert moves(evaluator(network), "rtb-9", "vpce-express") == ()


def test_moves_of_many_subnets_are_counted() -> None:
    """A step's output is limited, so further subnets are counted. One without another way has no path."""
    names = [f"subnet-{number:03}" for number in range(MAX_NAMED_SUBNETS + 2)]
    routed = table("rtb-1", route("pl-express", "vpce-express"), subnets=tuple(names))
    network = snapshot(subnets=by_id(*map(subnet, names)), route_tables=by_id(routed), vpc_endpoints=by_id(OURS))
    found = moves(evaluator(network), "rtb-1", "vpce-express")
    assert found[0] == "subnet-000 will be NO_ROUTE"
    assert (len(found), found[-1]) == (MAX_NAMED_SUBNETS + 1, "and 2 more subnets of rtb-1")
