"""Observations of the network and the ledger during a heal, and when to observe again before deciding."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from express_path.domain.heal.claims import NextStep, is_token_spent
from express_path.domain.heal.endpoints import express_endpoints
from express_path.domain.heal.ledger import LedgerView, TableRecord, VpcRecord
from express_path.domain.heal.records import Action, Blocker, Plan
from express_path.domain.network.resources import VpcEndpoint
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.evaluator import Evaluator

AVAILABLE_ATTEMPTS = 15
"""How many times one invocation checks whether the endpoint is available."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A plan and what it was made from; ledger is None if no route table governs the subnet."""

    evaluator: Evaluator
    plan: Plan
    ledger: LedgerView | None
    now: datetime

    @property
    def records(self) -> LedgerView:
        """The ledger's records of the route table and its VPC; the defaults if there is no route table."""
        return self.ledger or LedgerView(TableRecord(""), VpcRecord(self.plan.verdict.vpc_id))

    @property
    def endpoint(self) -> VpcEndpoint | None:
        """The endpoint to associate; None if it does not exist yet."""
        return self.evaluator.snapshot.vpc_endpoints.get(self.plan.endpoint_id or "")


@dataclass(frozen=True, slots=True)
class RepeatPolicy:
    """When to stop observing.

    An expected observation is final immediately, and a temporary one never is. Any other is final if two in a row
    agree. attempts is the maximum number of observations, 0 for the usual one. has_preflight is False if an earlier
    observation has just included a pre-flight.
    """

    expected: Callable[[Observation], bool]
    temporary: Callable[[Observation], bool]
    attempts: int = 0
    has_preflight: bool = True


def is_change(observation: Observation) -> bool:
    """Return whether there is something to heal, and nothing blocks it."""
    return observation.plan.action in (Action.ASSOCIATE, Action.CREATE_AND_ASSOCIATE)


def may_create(observation: Observation) -> bool:
    """Return whether an endpoint is to be created, and the elected run's token can still create it.

    Another run may create and record the endpoint after this observation has read the network and before it reads
    the ledger. The next observation then shows the endpoint.
    """
    creates = observation.plan.action is Action.CREATE_AND_ASSOCIATE
    return creates and not is_token_spent(observation.records.vpc, observation.evaluator.snapshot)


def is_ready(observation: Observation) -> bool:
    """Return whether the endpoint to associate is available: in any other state, its routes carry no traffic."""
    return (
        observation.plan.action is Action.ASSOCIATE
        and observation.endpoint is not None
        and observation.endpoint.state == "available"
    )


def is_not_ready(observation: Observation) -> bool:
    """Return whether there is something to heal, and the endpoint is not available yet."""
    return is_change(observation) and not is_ready(observation)


def is_deleting(observation: Observation) -> bool:
    """Return whether an endpoint that is being deleted blocks the heal."""
    return any(finding.blocker is Blocker.ENDPOINT_DELETING for finding in observation.plan.blockers)


def never(observation: Observation) -> bool:
    """Return False for every observation, so that two must agree."""
    del observation
    return False


FIRST_PLAN = RepeatPolicy(is_change, is_deleting)
"""For the first plan: a change is confirmed after the claim, so one observation is enough for it."""
AFTER_CLAIM = RepeatPolicy(never, is_deleting)
"""After the claim: two observations must agree."""
BEFORE_CREATION = RepeatPolicy(may_create, is_deleting, has_preflight=False)
"""Before the creation, on which two observations have already agreed."""
BEFORE_ASSOCIATION = RepeatPolicy(never, is_not_ready, AVAILABLE_ATTEMPTS, has_preflight=False)
"""Before the association: a new endpoint may not be listed or available immediately.

Two observations must agree. One late answer may not show that somebody associated the table, and EC2 may accept the
same association again. The run would then record that association as its own.
"""


def next_change(plan: Plan) -> NextStep:
    """Return what a run does after it has claimed the route table, by a plan that is not blocked."""
    if plan.action is Action.NOTHING_TO_DO:
        return NextStep.VERIFY
    return NextStep.CREATE if plan.action is Action.CREATE_AND_ASSOCIATE else NextStep.ASSOCIATE


def found_instead(observation: Observation) -> str:
    """Return what was found instead of an available endpoint, in words."""
    endpoint = observation.endpoint
    return (
        f"{endpoint.id} is {endpoint.state}"
        if endpoint
        else "the endpoint that existed, or was created, no longer exists"
    )


def endpoint_in_use(evaluator: Evaluator, subnet_id: str) -> str:
    """Return the endpoint that the subnet's route table leads to; empty if the snapshot does not contain it."""
    verdict = evaluator.verdict(subnet_id)
    table = evaluator.snapshot.route_tables[str(verdict.route_table_id)]
    endpoint_ids = {endpoint.id for endpoint in express_endpoints(evaluator.snapshot, verdict.vpc_id)}
    return next((route.target_id for route in table.routes if route.target_id in endpoint_ids), "")


def why_not_healed(evaluator: Evaluator, subnet_id: str, deleted_ids: Collection[str]) -> str:
    """Return why a subnet is not healed; empty if it is.

    deleted_ids are the endpoints that undos delete; the ledger lists them before they are deleted. A subnet that uses
    one of them is not healed, because that endpoint may be deleted at any time.
    """
    verdict = evaluator.verdict(subnet_id)
    if verdict.compliance is not Compliance.COMPLIANT:
        return verdict.annotation
    endpoint_id = endpoint_in_use(evaluator, subnet_id)
    return f"an undo is about to delete {endpoint_id}; start the heal again" if endpoint_id in deleted_ids else ""
