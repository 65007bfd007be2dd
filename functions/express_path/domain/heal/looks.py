"""One look of a heal at the network and the ledger, and when looking again is of use."""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import NamedTuple

from express_path.domain.heal.claims import Next, is_token_spent
from express_path.domain.heal.endpoint_choice import express_endpoints
from express_path.domain.heal.ledger import LedgerView, TableRecord, VpcRecord
from express_path.domain.heal.records import Action, Blocker, Plan
from express_path.domain.network.resources import VpcEndpoint
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.evaluator import Evaluator

AVAILABLE_LOOKS = 15
"""How often one invocation looks whether the endpoint is available."""


class Look(NamedTuple):
    """A plan and what it was made from; ledger is None where no route table governs the subnet."""

    evaluator: Evaluator
    plan: Plan
    ledger: LedgerView | None
    now: datetime

    @property
    def records(self) -> LedgerView:
        """What the ledger says about the route table and its VPC, with its defaults where there is no route table."""
        return self.ledger or LedgerView(TableRecord(""), VpcRecord(self.plan.verdict.vpc_id))

    @property
    def endpoint(self) -> VpcEndpoint | None:
        """The endpoint to associate, None where there is none yet."""
        return self.evaluator.snapshot.vpc_endpoints.get(self.plan.endpoint_id or "")


class Until(NamedTuple):
    """How long to plan again: a plan that is as expected needs no second one, one that will pass is not the last.

    attempts is how often to look at most, 0 for as often as usual. has_preflight is False where a look a moment ago had
    one.
    """

    expected: Callable[[Look], bool]
    passing: Callable[[Look], bool]
    attempts: int = 0
    has_preflight: bool = True


def is_change(look: Look) -> bool:
    """Whether there is something to heal, and nothing in the way."""
    return look.plan.action in (Action.ASSOCIATE, Action.CREATE_AND_ASSOCIATE)


def may_create(look: Look) -> bool:
    """Whether an endpoint is to be created, and the elected run's token can still create it.

    Another run may create and record the endpoint after this look has read the network and before it reads the ledger.
    The next look then shows the endpoint.
    """
    creates = look.plan.action is Action.CREATE_AND_ASSOCIATE
    return creates and not is_token_spent(look.records.vpc, look.evaluator.snapshot)


def is_ready(look: Look) -> bool:
    """Whether the endpoint to associate is available: a route to any other one carries nothing."""
    return look.plan.action is Action.ASSOCIATE and look.endpoint is not None and look.endpoint.state == "available"


def is_deleting(look: Look) -> bool:
    """Whether an endpoint is in the way only until it is deleted."""
    return Blocker.ENDPOINT_DELETING in {each.blocker for each in look.plan.blockers}


def never(look: Look) -> bool:
    """No plan is expected: whatever it is, two looks must agree on it."""
    del look
    return False


CHANGE = Until(is_change, is_deleting)
"""For the first plan: a change is confirmed after the claim, but nothing to do, or a blocker, is final."""
AGREED = Until(never, is_deleting)
"""After the claim: two looks must agree."""
CREATION = Until(may_create, is_deleting, has_preflight=False)
"""Before the creation, which two looks have agreed on already."""
READY = Until(is_ready, is_change, AVAILABLE_LOOKS, has_preflight=False)
"""Before the association: an endpoint that was just created is not listed or not available at once."""


def next_change(plan: Plan) -> Next:
    """What a plan that is not blocked makes a run do, once it has claimed the route table."""
    if plan.action is Action.NOTHING_TO_DO:
        return Next.VERIFY
    return Next.CREATE if plan.action is Action.CREATE_AND_ASSOCIATE else Next.ASSOCIATE


def found_instead(look: Look) -> str:
    """What there is instead of an available endpoint."""
    endpoint = look.endpoint
    return f"{endpoint.id} is {endpoint.state}" if endpoint else "the one that was there, or was created, is gone"


def endpoint_in_use(evaluator: Evaluator, subnet_id: str) -> str:
    """The endpoint that the subnet's route table leads to, empty where it is not in the snapshot."""
    verdict = evaluator.verdict(subnet_id)
    table = evaluator.snapshot.route_tables[str(verdict.route_table_id)]
    endpoints = {each.id for each in express_endpoints(evaluator.snapshot, verdict.vpc_id)}
    return next((each.target_id for each in table.routes if each.target_id in endpoints), "")


def why_not_healed(evaluator: Evaluator, subnet_id: str, deleted_ids: Collection[str]) -> str:
    """Why a heal did not reach its goal, empty where it did.

    deleted_ids are the endpoints that undos delete, as the ledger names them before that: one of those may be gone in a
    moment, so a subnet that uses it is not healed yet.
    """
    verdict = evaluator.verdict(subnet_id)
    if verdict.compliance is not Compliance.COMPLIANT:
        return verdict.annotation
    endpoint_id = endpoint_in_use(evaluator, subnet_id)
    return f"an undo is about to delete {endpoint_id}; start the heal again" if endpoint_id in deleted_ids else ""
