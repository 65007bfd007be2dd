"""The plan of an undo: what still exists of one heal, according to the ledger and to EC2, and where traffic goes."""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from express_path.domain.heal.endpoints import USABLE
from express_path.domain.heal.ledger_records import (
    RunKind,
    RunRecord,
    TableRecord,
    VpcRecord,
)
from express_path.domain.heal.ownership import (
    adopted,
    changed_since,
    changed_since_creation,
    has_other_policy,
    owner_tag,
    taken_over,
)
from express_path.domain.heal.records import HealSettings
from express_path.domain.network.resources import RouteTable, VpcEndpoint
from express_path.domain.network.snapshot import Snapshot, is_express_service
from express_path.domain.verdict.evaluator import Evaluator
from express_path.errors import UndoBlockedError, UndoError

_LAST = datetime.max.replace(tzinfo=UTC)
_SEE_HEALS = "express-path heals lists the heals that can be undone"


class UndoChange(StrEnum):
    """The next change of an undo.

    FINISH: nothing is left to change. KEEP_ENDPOINT: the endpoint is used, although the ledger lists it as deleted.
    """

    DISASSOCIATE = "DISASSOCIATE"
    DELETE_ENDPOINT = "DELETE_ENDPOINT"
    KEEP_ENDPOINT = "KEEP_ENDPOINT"
    FINISH = "FINISH"


UNDONE = "UNDONE"
"""The answer to a run that waited if the other run undid the same heal."""


@dataclass(frozen=True, slots=True)
class HealRecords:
    """The ledger's records of a heal, its route table, and its VPC.

    associated_last is the last heal that started to associate the table, None if the ledger has none. creators are the
    heals that created endpoints of the VPC and are over. ledger_since is when the ledger's table
    was created. is_in_history is false if Systems Manager does not confirm that the heal's run made the association.
    """

    heal: RunRecord
    table: TableRecord
    vpc: VpcRecord
    associated_last: RunRecord | None
    creators: tuple[RunRecord, ...]
    ledger_since: datetime
    is_in_history: bool


@dataclass(frozen=True, slots=True)
class LiveResources:
    """What EC2 shows: the route tables of a heal's VPC, and every endpoint with the id of the heal's endpoint.

    policy is the policy of the endpoint, empty if there is none, and created_at when EC2 created it.
    """

    tables: tuple[RouteTable, ...]
    endpoints: tuple[VpcEndpoint, ...]
    policy: str = ""
    created_at: datetime = _LAST


class UndoFactCode(StrEnum):
    """What an undo says about a resource."""

    DISASSOCIATE = "DISASSOCIATE"
    NOT_ASSOCIATED = "NOT_ASSOCIATED"
    UNCONFIRMED = "UNCONFIRMED"
    DELETE_ENDPOINT = "DELETE_ENDPOINT"
    KEEP_ENDPOINT = "KEEP_ENDPOINT"
    ENDPOINT_GONE = "ENDPOINT_GONE"
    MOVE = "MOVE"
    MORE_MOVES = "MORE_MOVES"


@dataclass(frozen=True, slots=True)
class UndoFact:
    """One fact about an undo: what happens to a resource, and the endpoint, reason, path, or number that belongs to it."""

    code: UndoFactCode
    resource: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What an undo would change now.

    associated is true if the route table still uses the heal's endpoint. is_live is true if the endpoint exists and is
    not being deleted. kept says why the endpoint stays; it is empty if it can be deleted or no longer exists.
    """

    heal: RunRecord
    associated: bool
    is_live: bool
    kept: str = ""

    @property
    def deletes(self) -> bool:
        """Return whether the undo deletes the endpoint after the table no longer uses it."""
        return self.is_live and not self.kept

    @property
    def change(self) -> UndoChange:
        """The next change."""
        if self.associated:
            return UndoChange.DISASSOCIATE
        return UndoChange.DELETE_ENDPOINT if self.deletes else UndoChange.FINISH

    def facts(self) -> list[UndoFact]:
        """Return what happens to the route table, and to the endpoint."""
        table_id, endpoint_id = self.heal.route_table_id, self.heal.endpoint_id
        association = UndoFactCode.DISASSOCIATE if self.associated else UndoFactCode.NOT_ASSOCIATED
        facts = [UndoFact(association, table_id, endpoint_id)]
        if self.heal.unconfirmed_since:
            facts.append(UndoFact(UndoFactCode.UNCONFIRMED, table_id))
        if self.deletes:
            facts.append(UndoFact(UndoFactCode.DELETE_ENDPOINT, endpoint_id))
        elif self.is_live:
            facts.append(UndoFact(UndoFactCode.KEEP_ENDPOINT, endpoint_id, self.kept))
        else:
            facts.append(UndoFact(UndoFactCode.ENDPOINT_GONE, endpoint_id))
        return facts


def check_heal(run_id: str, run: RunRecord | None, account_id: str) -> RunRecord:
    """Return the heal to undo.

    Raise UndoError unless it is a heal of this account that changed something, and UndoBlockedError if it is not
    confirmed that it changed anything.
    """
    if run is None:
        raise UndoError(run_id, "the ledger has no such run", _SEE_HEALS)
    if run.kind is not RunKind.HEAL:
        raise UndoError(run_id, f"it is not a heal, but the undo of run {run.heal_run_id}", _SEE_HEALS)
    if run.account_id != account_id:
        raise UndoError(run_id, f"it healed a subnet of account {run.account_id}", "undo it in that account")
    if not run.is_associated and not run.created_endpoint:
        if run.unconfirmed_since:
            raise _unconfirmed_association(run)
        if run.creation_intended_at:
            raise _unconfirmed_creation(run)
        raise UndoError(run_id, "it changed nothing", _SEE_HEALS)
    return run


def _unconfirmed_association(heal: RunRecord) -> UndoBlockedError:
    return UndoBlockedError(
        heal.run_id,
        f"at {heal.unconfirmed_since} it started to associate {heal.route_table_id} with {heal.endpoint_id}, and the "
        "ledger does not confirm that it succeeded, so somebody else may have made that association",
        "look in CloudTrail for ModifyVpcEndpoint (eventSource ec2.amazonaws.com) in the hour after that time, with "
        f"{heal.endpoint_id} and AddRouteTableId {heal.route_table_id} in requestParameters; if it has no errorCode "
        f"and the session name in userIdentity contains {heal.run_id}, this run made the association: remove it "
        f"yourself with aws ec2 modify-vpc-endpoint --vpc-endpoint-id {shlex.quote(heal.endpoint_id)} --remove-route-table-ids "
        f"{shlex.quote(heal.route_table_id)}",
    )


def _unconfirmed_creation(heal: RunRecord) -> UndoBlockedError:
    return UndoBlockedError(
        heal.run_id,
        f"at {heal.creation_intended_at} it started to create an endpoint in {heal.vpc_id}, and the ledger does not "
        "confirm that it succeeded; it changed no route table",
        "look in CloudTrail for CreateVpcEndpoint (eventSource ec2.amazonaws.com) in the hour after that time, with "
        f"{heal.vpc_id} in requestParameters; if it has no errorCode and the session name in userIdentity contains "
        f"{heal.run_id}, this run created the endpoint in responseElements: the next heal in the VPC uses it, or "
        "delete it yourself if no route table uses it",
    )


def check_not_undone(heal: RunRecord) -> None:
    """Raise UndoError if the ledger says that a heal is already undone."""
    if heal.undo_run_id:
        raise UndoError(heal.run_id, f"run {heal.undo_run_id} undid it already", "nothing is left to undo")


def make_undo_plan(records: HealRecords, live: LiveResources, region: str, settings: HealSettings) -> UndoPlan:
    """Plan the undo of a heal that check_heal accepted; of the settings, those about owners count.

    Raise UndoError if the ledger says that a later heal replaced this one, or if EC2 shows something other than what
    the heal left. Raise UndoBlockedError if the ledger cannot be the one of the heal, if the route table uses the
    endpoint and it is not confirmed that this heal associated it, or if the endpoint or the route table belongs to
    somebody else now.
    """
    heal = records.heal
    _check_records(records)
    endpoint = _endpoint(heal, live, region)
    if endpoint is None or endpoint.state not in USABLE:
        return UndoPlan(heal, associated=False, is_live=False)
    _check_age(records, live)
    users = {*endpoint.route_table_ids, *(table.id for table in live.tables if leads_to(table, endpoint.id))}
    associated = heal.route_table_id in users
    if associated and heal.unconfirmed_since:
        raise _unconfirmed_association(heal)
    associated = associated and heal.is_associated
    taken = _taken_over(records, endpoint, live, settings)
    if associated and taken:
        raise taken
    other_users = users - {heal.route_table_id} if associated else users
    owner = taken.found if taken else owner_tag(endpoint, settings)
    owner = owner or changed_since([heal], endpoint, live.policy, settings)
    owner = owner or changed_since_creation(records.creators, endpoint, live.policy, settings)
    return UndoPlan(heal, associated, is_live=True, kept=_kept(records, endpoint, other_users, owner))


def _check_age(records: HealRecords, live: LiveResources) -> None:
    """Raise UndoBlockedError if the endpoint is older than the ledger, unless it was there before express-path was.

    A ledger that somebody deleted and made again can contain anything. EC2 gives times in whole seconds.
    """
    heal = records.heal
    is_created = heal.created_endpoint or heal.endpoint_id in records.vpc.created_ids
    if live.created_at >= records.ledger_since.replace(microsecond=0) or (records.is_in_history and not is_created):
        return
    raise UndoBlockedError(
        heal.run_id,
        f"the ledger was created at {records.ledger_since}, after {heal.endpoint_id} at {live.created_at}, and nothing else "
        "confirms what it says about this run",
        "find out who made the ledger again (CloudTrail events DeleteTable, CreateTable, and RestoreTableToPointInTime); "
        "if the heal did make the change, undo it yourself",
    )


def _check_records(records: HealRecords) -> None:
    heal, last = records.heal, records.associated_last
    if heal.associated_at and last and last.run_id != heal.run_id:
        later = f"run {last.run_id} started to associate {heal.route_table_id} again at {last.intended_at}"
        raise UndoError(heal.run_id, later, "undo that run")


def _taken_over(
    records: HealRecords, endpoint: VpcEndpoint, live: LiveResources, settings: HealSettings
) -> UndoBlockedError | None:
    """Return what shows that somebody else owns the endpoint or the route table now, and what to do."""
    heal = records.heal
    table = next((table for table in live.tables if table.id == heal.route_table_id), None)
    takeover = taken_over(heal, endpoint, table, settings)
    remedy = (
        f"remove the association of {heal.route_table_id} with {endpoint.id} in that tool, or allow undos to "
        "change what tools own (stack parameter AdoptIacOwned)"
    )
    if not takeover and endpoint.id in records.vpc.created_ids:
        if has_other_policy(heal, live.policy):
            return UndoBlockedError(
                heal.run_id,
                f"somebody replaced the policy of {endpoint.id} since the heal",
                "find out who did (CloudTrail event ModifyVpcEndpoint); then set the earlier policy again, or remove the "
                "association yourself",
            )
        takeover = "" if settings.adopt_iac_owned else adopted(heal, endpoint, settings)
        remedy = (
            "if your organization adds these keys to everything, name them in the stack parameter AutomaticTagKeys; if a "
            f"tool adopted the endpoint, {remedy}"
        )
    return UndoBlockedError(heal.run_id, takeover, remedy) if takeover else None


def _endpoint(heal: RunRecord, live: LiveResources, region: str) -> VpcEndpoint | None:
    """Return the heal's endpoint; None if it no longer exists. Raise UndoError if EC2 shows another owner or kind."""
    wrong = [*_wrong_tables(heal, live.tables), *_wrong_endpoints(heal, live.endpoints, region)]
    if wrong:
        raise UndoError(heal.run_id, "; ".join(wrong), "find out who changed it, and remove the association yourself")
    return next(iter(live.endpoints), None)


def _wrong_tables(heal: RunRecord, tables: Iterable[RouteTable]) -> Iterator[str]:
    for table in tables:
        if table.id == heal.route_table_id and (table.owner_id or heal.account_id) != heal.account_id:
            yield f"{table.id} belongs to account {table.owner_id}, not to {heal.account_id}"


def _wrong_endpoints(heal: RunRecord, endpoints: tuple[VpcEndpoint, ...], region: str) -> Iterator[str]:
    if len(endpoints) > 1:
        yield f"EC2 lists {len(endpoints)} endpoints with the id {heal.endpoint_id}"
    for endpoint in endpoints:
        if endpoint.endpoint_type != "gateway" or not is_express_service(endpoint.service_name, region):
            kind = f"an endpoint of type {endpoint.endpoint_type} for {endpoint.service_name}"
            yield f"{endpoint.id} is {kind}, not a gateway endpoint for s3express"
        if endpoint.vpc_id != heal.vpc_id:
            yield f"{endpoint.id} is in {endpoint.vpc_id}, not in {heal.vpc_id}"
        if (endpoint.owner_id or heal.account_id) != heal.account_id:
            yield f"{endpoint.id} belongs to account {endpoint.owner_id}, not to {heal.account_id}"


def leads_to(table: RouteTable, endpoint_id: str) -> bool:
    """Return whether a route table has a route to an endpoint."""
    return any(route.target_id == endpoint_id for route in table.routes)


def _kept(records: HealRecords, endpoint: VpcEndpoint, other_users: set[str], owner: str) -> str:
    """Return why an endpoint must stay; empty if it may be deleted. owner shows that somebody else owns it."""
    if endpoint.id not in records.vpc.created_ids:
        return "no heal created it"
    if other_users:
        return f"{', '.join(sorted(other_users))} {'use' if len(other_users) > 1 else 'uses'} it"
    return f"somebody else owns it ({owner}); delete it yourself if nobody needs it" if owner else ""


MAX_NAMED_SUBNETS = 20
"""How many subnets are named; the others are counted, because the output of a step has a maximum size."""


def without_association(snapshot: Snapshot, table_id: str, endpoint_id: str) -> Snapshot:
    """Return the snapshot after an undo: the table has no routes to the endpoint."""
    table = snapshot.route_tables[table_id]
    routes = tuple(route for route in table.routes if route.target_id != endpoint_id)
    return replace(snapshot, route_tables={**snapshot.route_tables, table_id: replace(table, routes=routes)})


def moves(evaluator: Evaluator, table_id: str, endpoint_id: str) -> tuple[UndoFact, ...]:
    """Return where the traffic of each subnet of a route table goes after an undo; empty if there is no such table."""
    if table_id not in evaluator.snapshot.route_tables:
        return ()
    after = evaluator.after(without_association(evaluator.snapshot, table_id, endpoint_id))
    facts = list(_moves(after, table_id))
    more = len(facts) - MAX_NAMED_SUBNETS
    if more > 0:
        return (*facts[:MAX_NAMED_SUBNETS], UndoFact(UndoFactCode.MORE_MOVES, table_id, str(more)))
    return tuple(facts)


def _moves(after: Evaluator, table_id: str) -> Iterator[UndoFact]:
    for subnet in after.snapshot.listed_subnets:
        governing = after.tracer.governing_table(subnet)
        if governing and governing.id == table_id:
            verdict = after.verdict(subnet.id)
            path = " -> ".join(hop.id for hop in verdict.path)
            traffic = f"use {path} ({verdict.reason})" if path else f"be {verdict.reason}"
            yield UndoFact(UndoFactCode.MOVE, subnet.id, traffic)
