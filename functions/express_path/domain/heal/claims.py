"""Who may change a route table, who creates a VPC's endpoint, and what a run does next."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from express_path.domain.heal.endpoints import USABLE
from express_path.domain.heal.ledger import LedgerView, RunRecord, TableRecord, TableState, VpcRecord
from express_path.domain.heal.records import MANAGED_TAG, Action, Plan
from express_path.domain.network.resources import VpcEndpoint
from express_path.domain.network.snapshot import Snapshot

CLAIM_SECONDS = 3600
"""How long a claim lasts, in seconds: longer than all steps of a heal or an undo after the claim together."""


class NextStep(StrEnum):
    """What a run does next, as the runbook's branches name it."""

    DONE = "DONE"
    """Nothing: the subnet needs no heal, or this is a dry run."""
    FINISH = "FINISH"
    """Only verify once more: an earlier run, which was interrupted, healed the table."""
    WAIT = "WAIT"
    """Look again later: another run works on the route table."""
    CLAIM = "CLAIM"
    CREATE = "CREATE"
    ASSOCIATE = "ASSOCIATE"
    VERIFY = "VERIFY"
    """Only verify: another run or a person has already made the change."""


def may_be_finished(plan: Plan, table: TableRecord, heal: RunRecord | None, snapshot: Snapshot) -> bool:
    """Return whether the last heal associated the route table, but ended before it could record that.

    heal is that run's record, None if the ledger has none.
    """
    route_table = snapshot.route_tables.get(table.route_table_id)
    return (
        plan.action is Action.NOTHING_TO_DO
        and table.state in (TableState.CLAIMED, TableState.FAILED)
        and not table.is_undone
        and heal is not None
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


def elect(record: VpcRecord, snapshot: Snapshot, run_id: str) -> Election:
    """Return the election in a VPC: the elected creator stays until an endpoint of its token is deleted.

    EC2 does nothing for a token that it knows, so a token must not be used again after its endpoint is deleted
    (https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html).
    """
    current = record.generation
    if record.token_run and not is_token_spent(record, snapshot):
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


def is_unrecorded(plan: Plan, record: VpcRecord, snapshot: Snapshot) -> bool:
    """Return whether the endpoint to associate may be one whose creator ended before it could record it.

    To find out, the run creates it again with the same token: EC2 returns the endpoint that the token created.
    """
    endpoint = snapshot.vpc_endpoints.get(plan.endpoint_id or "")
    return plan.action is Action.ASSOCIATE and endpoint is not None and may_be_token_of(record, endpoint)


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


def next_before_claim(plan: Plan, ledger: LedgerView | None, *, dry_run: bool, finishes: bool) -> NextStep:
    """Return what a run does after its first plan."""
    if dry_run or ledger is None or plan.action is Action.BLOCKED:
        return NextStep.DONE
    if plan.action is Action.NOTHING_TO_DO:
        return NextStep.FINISH if finishes else NextStep.DONE
    return NextStep.CLAIM
