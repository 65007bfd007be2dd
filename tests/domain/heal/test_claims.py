"""Who creates the endpoint with which token, and what a run does next."""

from dataclasses import replace

import pytest

from express_path.domain.heal.claims import (
    AFTER_CLAIM,
    BEFORE_ASSOCIATION,
    BEFORE_CREATION,
    FIRST_PLAN,
    Election,
    NextStep,
    Observation,
    RepeatPolicy,
    client_token,
    elect,
    endpoint_in_use,
    is_ready,
    may_be_finished,
    may_be_unrecorded,
    next_before_claim,
    next_change,
    why_not_healed,
    why_not_ready,
)
from express_path.domain.heal.ledger_records import (
    LedgerView,
    RunKind,
    RunRecord,
    StartedBy,
    TableRecord,
    TableState,
    VpcRecord,
)
from express_path.domain.heal.preflight import Evidence
from express_path.domain.heal.records import Plan, PlanAction
from express_path.domain.network.resources import VpcEndpoint
from express_path.domain.network.snapshot import Snapshot
from tests.support.heal_situation import DUAL_STACK, EXPRESS_LIST_6, NOW, TO_NAT, network, planned
from tests.support.make import EXPRESS_LIST, endpoint, evaluator, route

ELECTED = VpcRecord("vpc-1", generation=3, token_run="run-1")
CREATED = replace(ELECTED, token_ids=frozenset({"vpce-express"}), created_ids=frozenset({"vpce-express"}))
MANAGED = {"express-path:managed": "true"}
UNCLAIMED = TableRecord("rtb-1")


def observed(found: Snapshot, vpc: VpcRecord = ELECTED, table: TableRecord = UNCLAIMED) -> Observation:
    """Return what a run observes of a network and of the records of its VPC and its table."""
    return Observation(evaluator(found), planned(found), LedgerView(table, vpc), NOW)


@pytest.mark.parametrize(
    ("record", "endpoints", "expected"),
    [
        (VpcRecord("vpc-1"), (), Election(must_elect=True, token_run="run-2", ledger_generation=0, generation=1)),
        (ELECTED, (), Election(must_elect=False, token_run="run-1", ledger_generation=3, generation=3)),
        (CREATED, (endpoint(),), Election(must_elect=False, token_run="run-1", ledger_generation=3, generation=3)),
        (
            CREATED,
            (endpoint(state="pending"),),
            Election(must_elect=False, token_run="run-1", ledger_generation=3, generation=3),
        ),
        (CREATED, (), Election(must_elect=True, token_run="run-2", ledger_generation=3, generation=4)),
        (
            CREATED,
            (endpoint(state="deleting"),),
            Election(must_elect=True, token_run="run-2", ledger_generation=3, generation=4),
        ),
        (
            replace(CREATED, deleted_ids=frozenset({"vpce-express"})),
            (endpoint(),),
            Election(must_elect=True, token_run="run-2", ledger_generation=3, generation=4),
        ),
    ],
    ids=["first", "elected", "created", "pending", "gone", "deleting", "about to be deleted"],
)
def test_token_is_used_until_its_endpoint_is_gone(
    record: VpcRecord, endpoints: tuple[VpcEndpoint, ...], expected: Election
) -> None:
    """EC2 answers a repeated token with the first endpoint, even a deleted one, so then another run is elected."""
    assert elect(observed(network(endpoints=endpoints), record), "run-2") == expected


def token(plan: Plan | None = None, vpc_id: str = "vpc-1", policy: str = "{}", **more: object) -> str:
    """The token of an election."""
    given = {"must_elect": False, "token_run": "run-1", "ledger_generation": 1, "generation": 1, **more}
    return client_token(Election(**given), vpc_id, plan or planned(network()), policy)  # type: ignore[arg-type] -- ditto


def test_runs_of_one_election_share_a_token() -> None:
    """Whichever subnet and table they are for; EC2 takes 64 ASCII characters."""
    assert token() == token(planned(network(tags={"Name": "other"})), must_elect=True, ledger_generation=0)
    assert (len(token()), token().isascii()) == (64, True)


def test_another_request_has_another_token() -> None:
    """EC2 refuses one token for two different requests."""
    dual_stack = planned(network(subnets=(DUAL_STACK,), lists=(EXPRESS_LIST, EXPRESS_LIST_6)))
    others = [
        token(vpc_id="vpc-2"),
        token(policy='{"Statement":[]}'),
        token(dual_stack),
        token(token_run="run-2"),
        token(generation=2),
    ]
    assert len({token(), *others}) == 6


@pytest.mark.parametrize(
    ("record", "tags", "expected"),
    [
        (ELECTED, MANAGED, True),
        (VpcRecord("vpc-1"), MANAGED, False),
        (ELECTED, {}, False),
        (CREATED, MANAGED, False),
        (replace(ELECTED, created_ids=frozenset({"vpce-express"})), MANAGED, False),
    ],
    ids=["creator died", "nobody was elected", "another tool's", "recorded", "recorded earlier"],
)
def test_endpoint_whose_creator_died_is_told(record: VpcRecord, tags: dict[str, str], expected: bool) -> None:
    """Only where an elected run has recorded no endpoint, and there is one that a heal may have created."""
    assert may_be_unrecorded(observed(network(endpoints=(endpoint(tags=tags),)), record)) is expected
    assert not may_be_unrecorded(observed(network(), record))


HEAL = RunRecord("run-1", RunKind.HEAL, StartedBy.PERSON, "123456789012", "subnet-1", "vpc-1", "rtb-1", "vpce-express")
CLAIMED = TableRecord("rtb-1", TableState.CLAIMED, "run-1", heal_run_id="run-1")
ROUTED = network(TO_NAT, route("pl-express", "vpce-express"), endpoints=(endpoint(),))


@pytest.mark.parametrize("state", [TableState.CLAIMED, TableState.FAILED])
def test_interrupted_heal_that_associated_the_table_is_finished(state: TableState) -> None:
    """Nothing is left to do but to record it."""
    assert may_be_finished(observed(ROUTED, table=replace(CLAIMED, state=state)), HEAL)


@pytest.mark.parametrize(
    ("table", "heal"),
    [
        (replace(CLAIMED, state=TableState.HEALED), HEAL),
        (replace(CLAIMED, state=TableState.UNDONE), HEAL),
        (replace(CLAIMED, undo_run_id="run-1"), HEAL),
        (CLAIMED, replace(HEAL, endpoint_id="vpce-other")),
        (replace(CLAIMED, route_table_id="rtb-gone"), HEAL),
    ],
    ids=["healed", "undone", "being undone", "another endpoint", "table gone"],
)
def test_other_records_are_left_as_they_are(table: TableRecord, heal: RunRecord) -> None:
    """Only a heal that made its change but stopped before recording it is finished."""
    assert not may_be_finished(observed(ROUTED, table=table), heal)
    assert not may_be_finished(observed(network(), table=table), heal)


@pytest.mark.parametrize(
    ("plan", "dry_run", "finishes", "expected"),
    [
        (planned(network()), False, False, NextStep.CLAIM),
        (planned(network(endpoints=(endpoint(),))), False, False, NextStep.CLAIM),
        (planned(network()), True, False, NextStep.DONE),
        (planned(network(), Evidence(gateway_endpoints=20)), False, False, NextStep.DONE),
        (planned(ROUTED), False, False, NextStep.DONE),
        (planned(ROUTED), False, True, NextStep.FINISH),
        (planned(network(subnets=())), False, False, NextStep.DONE),
    ],
    ids=["create", "associate", "dry run", "blocked", "nothing to do", "to be finished", "subnet gone"],
)
def test_first_plan_says_what_to_do_next(plan: Plan, dry_run: bool, finishes: bool, expected: NextStep) -> None:
    """Only a change needs a claim."""
    assert next_before_claim(plan, dry_run=dry_run, finishes=finishes) is expected


def test_run_verifies_where_nothing_is_to_be_changed() -> None:
    """Another run, or another tool, was faster."""
    plan = planned(network())
    assert next_change(plan) is NextStep.CREATE
    assert next_change(planned(network(endpoints=(endpoint(),)))) is NextStep.ASSOCIATE
    assert next_change(replace(plan, action=PlanAction.NOTHING_TO_DO)) is NextStep.VERIFY


PENDING = network(endpoints=(endpoint(state="pending"),))
AVAILABLE = network(endpoints=(endpoint(),))
DELETING = network(endpoints=(endpoint(state="deleting"),))


@pytest.mark.parametrize(
    ("policy", "observation", "expected", "temporary"),
    [
        (FIRST_PLAN, observed(network()), True, False),
        (FIRST_PLAN, observed(ROUTED), False, False),
        (FIRST_PLAN, observed(DELETING), False, True),
        (AFTER_CLAIM, observed(network()), False, False),
        (AFTER_CLAIM, observed(DELETING), False, True),
        (BEFORE_CREATION, observed(network()), True, False),
        (BEFORE_CREATION, observed(network(), CREATED), False, False),
        (BEFORE_CREATION, observed(AVAILABLE), False, False),
        (BEFORE_ASSOCIATION, observed(network()), False, True),
        (BEFORE_ASSOCIATION, observed(PENDING), False, True),
        (BEFORE_ASSOCIATION, observed(AVAILABLE), False, False),
        (BEFORE_ASSOCIATION, observed(ROUTED), False, False),
    ],
    ids=[
        *["a change", "no change", "an endpoint is being deleted", "two must agree", "not on what passes"],
        *["nothing created yet", "created, but not seen yet", "seen", "not seen yet", "pending", "available", "healed"],
    ],
)
def test_observation_is_final_or_temporary(
    policy: RepeatPolicy, observation: Observation, expected: bool, temporary: bool
) -> None:
    """An expected one is final immediately, and a temporary one never is. Of any other, two in a row must agree."""
    assert (policy.expected(observation), policy.temporary(observation)) == (expected, temporary)


def test_endpoint_is_ready_once_it_is_available() -> None:
    """The table is associated only then, because in any other state the routes of the endpoint carry no traffic."""
    assert [is_ready(observed(found)) for found in (network(), PENDING, AVAILABLE, ROUTED)] == [
        False,
        False,
        True,
        False,
    ]


def test_subnet_is_healed_unless_an_undo_is_about_to_delete_its_endpoint() -> None:
    """The remaining verdict, or the deletion, says why it is not."""
    healed = evaluator(ROUTED)
    assert endpoint_in_use(healed, "subnet-1") == "vpce-express"
    assert endpoint_in_use(evaluator(AVAILABLE), "subnet-1") == ""
    assert why_not_healed(healed, "subnet-1", {"vpce-other"}) == ""
    assert "about to delete vpce-express" in why_not_healed(healed, "subnet-1", {"vpce-express"})
    assert why_not_healed(evaluator(AVAILABLE), "subnet-1", ()).startswith("NAT_GATEWAY")


def test_what_is_there_instead_of_an_available_endpoint_is_named() -> None:
    """Its state, or that it no longer exists."""
    found = network(endpoints=(endpoint("vpce-1", state="pending"),))
    plan = replace(planned(found), endpoint_id="vpce-1")
    observation = replace(observed(found), plan=plan)
    assert why_not_ready(observation) == "vpce-1 is pending"
    assert "no longer exists" in why_not_ready(replace(observation, plan=replace(plan, endpoint_id="vpce-2")))
