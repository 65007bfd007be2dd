"""Who may change a route table, who creates a VPC's endpoint, what a run observes, and what it does next."""

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from express_path.domain.heal.endpoints import USABLE, express_endpoints
from express_path.domain.heal.ledger_records import (
    LedgerView,
    RunRecord,
    TableState,
    VpcRecord,
)
from express_path.domain.heal.records import CHANGING, MANAGED_TAG, Blocker, Plan, PlanAction
from express_path.domain.network.resources import VpcEndpoint
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.evaluator import Evaluator

CLAIM_SECONDS = 3600
"""How long a claim lasts, in seconds: longer than all steps of a heal or an undo after the claim together."""


class NextStep(StrEnum):
    """What a run does next, as the runbook's branches name it."""

    DONE = "DONE"
    """Nothing: the subnet needs no heal, or this is a dry run."""
    STOPPED = "STOPPED"
    """Nothing, because somebody stopped all heals. The run succeeds: AWS Config would make an exception of a failure."""
    FINISH = "FINISH"
    """Only verify once more: an earlier run, which was interrupted, healed the table."""
    WAIT = "WAIT"
    """Look again later: another run works on the route table."""
    CLAIM = "CLAIM"
    CREATE = "CREATE"
    ASSOCIATE = "ASSOCIATE"
    VERIFY = "VERIFY"
    """Only verify: another run or a person has already made the change."""


def may_be_finished(observation: "Observation", heal: RunRecord) -> bool:
    """Return whether the last heal of the route table associated it, but ended before it could record that."""
    table = observation.ledger.table
    route_table = observation.evaluator.snapshot.route_tables.get(table.route_table_id)
    return (
        observation.plan.action is PlanAction.NOTHING_TO_DO
        and table.state in (TableState.CLAIMED, TableState.FAILED)
        and not table.is_undone
        and route_table is not None
        and any(route.target_id == heal.endpoint_id for route in route_table.routes)
    )


@dataclass(frozen=True, slots=True)
class Election:
    """Which client token creates the endpoint.

    must_elect is true if this run must become the creator first. ledger_generation is the generation of client tokens
    in the ledger, and generation the one in which the endpoint is created.
    """

    must_elect: bool
    token_run: str
    ledger_generation: int
    generation: int


def elect(observation: "Observation", run_id: str) -> Election:
    """Return the election in a VPC: the elected creator stays until an endpoint of its token is deleted.

    EC2 does nothing for a token that it knows, so a token must not be used again after its endpoint is deleted
    (https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html).
    """
    record = observation.ledger.vpc
    current = record.generation
    if record.token_run and not is_token_spent(record, observation.evaluator.snapshot):
        return Election(must_elect=False, token_run=record.token_run, ledger_generation=current, generation=current)
    return Election(must_elect=True, token_run=run_id, ledger_generation=current, generation=current + 1)


def is_token_spent(record: VpcRecord, snapshot: Snapshot) -> bool:
    """Return whether an endpoint that the elected run's token created is deleted.

    The token must then not be used again. A snapshot that was read before the endpoint was created, or a late answer,
    looks the same.
    """
    return any(
        endpoint_id in record.deleted_ids or not _is_usable(snapshot, endpoint_id) for endpoint_id in record.token_ids
    )


def _is_usable(snapshot: Snapshot, endpoint_id: str) -> bool:
    endpoint = snapshot.vpc_endpoints.get(endpoint_id)
    return endpoint is not None and endpoint.state in USABLE


def may_be_unrecorded(observation: "Observation") -> bool:
    """Return whether the endpoint to associate may be one whose creator ended before it could record it.

    To find out, the run creates it again with the same token: EC2 returns the endpoint that the token created.
    """
    endpoint, record = observation.endpoint, observation.ledger.vpc
    return (
        observation.plan.action is PlanAction.ASSOCIATE and endpoint is not None and may_be_token_of(record, endpoint)
    )


def may_be_token_of(record: VpcRecord, endpoint: VpcEndpoint) -> bool:
    """Return whether the elected run's token may have created an endpoint that the ledger does not list."""
    return (
        MANAGED_TAG in endpoint.tags
        and endpoint.id not in record.created_ids
        and record.token_run != ""
        and not record.token_ids
    )


def client_token(election: Election, vpc_id: str, plan: Plan, policy: str) -> str:
    """Return the client token of an endpoint: 64 characters, equal for all runs that would create the same endpoint.

    It depends on the parameters of the request, because EC2 rejects a known token with other parameters.
    """
    parts = (vpc_id, election.token_run, str(election.generation), plan.service_name, plan.ip_address_type, policy)
    return hashlib.sha256("|".join(parts).encode()).hexdigest()


def next_before_claim(plan: Plan, *, dry_run: bool, finishes: bool) -> NextStep:
    """Return what a run does after its first plan."""
    if dry_run or plan.action is PlanAction.BLOCKED:
        return NextStep.DONE
    if plan.action is PlanAction.NOTHING_TO_DO:
        return NextStep.FINISH if finishes else NextStep.DONE
    return NextStep.CLAIM


AVAILABLE_ATTEMPTS = 15
"""How many times one invocation checks whether the endpoint is available."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A plan and what it was made from."""

    evaluator: Evaluator
    plan: Plan
    ledger: LedgerView
    now: datetime

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
    return observation.plan.action in CHANGING


def may_create(observation: Observation) -> bool:
    """Return whether an endpoint is to be created, and the elected run's token can still create it.

    Another run may create and record the endpoint after this observation has read the network and before it reads
    the ledger. The next observation then shows the endpoint.
    """
    creates = observation.plan.action is PlanAction.CREATE_AND_ASSOCIATE
    return creates and not is_token_spent(observation.ledger.vpc, observation.evaluator.snapshot)


def is_ready(observation: Observation) -> bool:
    """Return whether the endpoint to associate is available: in any other state, its routes carry no traffic."""
    return (
        observation.plan.action is PlanAction.ASSOCIATE
        and observation.endpoint is not None
        and observation.endpoint.state == "available"
    )


def is_not_ready(observation: Observation) -> bool:
    """Return whether there is something to heal, and the endpoint is not available yet."""
    return is_change(observation) and not is_ready(observation)


def is_deleting(observation: Observation) -> bool:
    """Return whether an endpoint that is being deleted blocks the heal."""
    return any(concern.code is Blocker.ENDPOINT_DELETING for concern in observation.plan.blockers)


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
    if plan.action is PlanAction.NOTHING_TO_DO:
        return NextStep.VERIFY
    return NextStep.CREATE if plan.action is PlanAction.CREATE_AND_ASSOCIATE else NextStep.ASSOCIATE


def why_not_ready(observation: Observation) -> str:
    """Return what was found instead of an available endpoint, in words."""
    endpoint = observation.endpoint
    return (
        f"{endpoint.id} is {endpoint.state}"
        if endpoint
        else "the endpoint that existed, or was created, no longer exists"
    )


def endpoint_in_use(evaluator: Evaluator, subnet_id: str) -> str:
    """Return the endpoint that the subnet's route table leads to; empty if the snapshot does not contain one of the two."""
    verdict = evaluator.verdict(subnet_id)
    table = evaluator.table_of(verdict)
    endpoint_ids = {endpoint.id for endpoint in express_endpoints(evaluator.snapshot, verdict.vpc_id)}
    routes = table.routes if table else ()
    return next((route.target_id for route in routes if route.target_id in endpoint_ids), "")


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
