"""The plan of an undo: what is left of one run's changes, and may be taken away."""

import pytest

from express_path.domain.network import Route, VpcEndpoint
from express_path.domain.undo import Refusal, Undo, check_deleted, make_undo
from express_path.errors import NotDeletedError, UndoError
from tests.domain.make import by_id, endpoint, route, snapshot, table

TAGS = {"express-path:run": "run-1", "express-path:endpoint": "vpce-express", "express-path:healed": "2026-11-21"}
MANAGED = {"express-path:managed": "true"}
ROUTED = route("pl-express", "vpce-express")


def undone(*routes: Route, of: VpcEndpoint | None) -> Undo:
    """The undo of run-1, which tagged rtb-1."""
    found = snapshot(route_tables=by_id(table("rtb-1", *routes, tags=TAGS)), vpc_endpoints=by_id(of) if of else {})
    return make_undo(found, "run-1")


@pytest.mark.parametrize("tags", [{}, MANAGED], ids=["not ours", "ours"])
@pytest.mark.parametrize(
    ("routes", "tables"),
    [((ROUTED,), ("rtb-1",)), ((), ("rtb-1",)), ((ROUTED,), ())],
    ids=["in force", "route not there yet", "list behind"],
)
def test_association_is_taken_away_first(
    routes: tuple[Route, ...], tables: tuple[str, ...], tags: dict[str, str]
) -> None:
    """While the table uses the endpoint, or either says so, the association goes before anything else."""
    undo = undone(*routes, of=endpoint(route_table_ids=tables, tags=tags))
    assert (undo.route_table_id, undo.endpoint_id, undo.disassociate) == ("rtb-1", "vpce-express", True)


def test_endpoint_of_a_heal_goes_with_its_last_table() -> None:
    """With the tag and without a table, the endpoint is deleted, pending or available."""
    for state in ("available", "pending"):
        undo = undone(of=endpoint(tags=MANAGED, state=state))
        assert (undo.disassociate, undo.delete_endpoint) == (False, True)


@pytest.mark.parametrize(
    "kept",
    [
        endpoint(),
        endpoint(tags={"express-path:rule": "x", "managed": "true"}),
        endpoint(tags=MANAGED, route_table_ids=("rtb-2",)),
        endpoint(tags=MANAGED, state="deleting"),
        endpoint(tags=MANAGED, state="deleted"),
        endpoint("vpce-other", tags=MANAGED),
        None,
    ],
    ids=["not ours", "other tags", "in use", "going", "gone", "another", "not there"],
)
def test_other_endpoints_stay(kept: VpcEndpoint | None) -> None:
    """Without the tag, in use, or on its way out already, an endpoint is not deleted."""
    undo = undone(of=kept)
    assert (undo.disassociate, undo.delete_endpoint) == (False, False)


def test_route_that_outlives_its_endpoint_is_nobodys() -> None:
    """With the endpoint gone there is nothing to be modified; EC2 takes such routes away itself."""
    assert undone(ROUTED, of=None) == Undo("rtb-1", "vpce-express", disassociate=False, delete_endpoint=False)


def test_run_that_healed_no_table_cannot_be_undone() -> None:
    """The error names the run and the tag that says which run healed a table last."""
    with pytest.raises(UndoError) as raised:
        make_undo(snapshot(), "run-2")
    assert (raised.value.run_id, raised.value.tag) == ("run-2", "express-path:run")
    assert "express-path:run=run-2" in str(raised.value)


def test_table_whose_endpoint_tag_is_gone_keeps_everything() -> None:
    """Without knowing what the run associated, nothing is taken away."""
    found = snapshot(
        route_tables=by_id(table("rtb-1", ROUTED, tags={"express-path:run": "run-1"})),
        vpc_endpoints=by_id(endpoint(tags=MANAGED)),
    )
    assert make_undo(found, "run-1") == Undo("rtb-1", "", disassociate=False, delete_endpoint=False)


@pytest.mark.parametrize("code", ["InvalidVpcEndpointId.NotFound", "InvalidVpcEndpoint.NotFound"])
def test_endpoint_that_is_gone_is_deleted(code: str) -> None:
    """EC2 refuses to delete what somebody else deleted first, which leaves nothing to do."""
    check_deleted([])
    check_deleted([Refusal("vpce-1", code, "The Vpc Endpoint Id 'vpce-1' does not exist")])


def test_refused_deletion_is_told_with_endpoint_and_error() -> None:
    """Beside one that is gone, the one that is left is named."""
    gone = Refusal("vpce-1", "InvalidVpcEndpointId.NotFound", "gone")
    with pytest.raises(NotDeletedError) as raised:
        check_deleted([gone, Refusal("vpce-2", "OperationNotPermitted", "not yours")])
    error = raised.value
    assert (error.endpoint_id, error.code, error.message) == ("vpce-2", "OperationNotPermitted", "not yours")
