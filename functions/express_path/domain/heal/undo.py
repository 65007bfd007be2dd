"""The plan of an undo: what still exists of one heal, according to the ledger and to EC2."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from express_path.domain.heal.ledger import RunKind, RunRecord, TableRecord, VpcRecord
from express_path.domain.heal.records import MANAGED_TAG
from express_path.domain.network.resources import RouteTable, VpcEndpoint
from express_path.domain.network.snapshot import is_express_service
from express_path.errors import NotDeletedError, UndoError

_LIVE = ("available", "pending")
_SEE_HEALS = "express-path heals lists the heals that can be undone"


class Change(StrEnum):
    """The next change of an undo.

    FINISH: nothing is left to change. KEEP_ENDPOINT: the endpoint is used, although the ledger lists it as deleted.
    """

    DISASSOCIATE = "DISASSOCIATE"
    DELETE_ENDPOINT = "DELETE_ENDPOINT"
    KEEP_ENDPOINT = "KEEP_ENDPOINT"
    FINISH = "FINISH"


@dataclass(frozen=True, slots=True)
class Records:
    """The ledger's records of a heal, its route table, and its VPC.

    associated_last is the last heal that started to associate the table, None if the ledger has none.
    """

    heal: RunRecord
    table: TableRecord
    vpc: VpcRecord
    associated_last: RunRecord | None = None


@dataclass(frozen=True, slots=True)
class LiveResources:
    """What EC2 shows: the route tables of a heal's VPC, and every endpoint with the id of the heal's endpoint."""

    tables: tuple[RouteTable, ...]
    endpoints: tuple[VpcEndpoint, ...]


@dataclass(frozen=True, slots=True)
class Undo:
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
    def change(self) -> Change:
        """The next change."""
        if self.associated:
            return Change.DISASSOCIATE
        return Change.DELETE_ENDPOINT if self.deletes else Change.FINISH


@dataclass(frozen=True, slots=True)
class FailedDeletion:
    """An endpoint that EC2 did not delete, and why: an item of the list Unsuccessful."""

    endpoint_id: str
    code: str
    message: str


_NOT_FOUND = frozenset({"InvalidVpcEndpointId.NotFound", "InvalidVpcEndpoint.NotFound"})
"""The error codes for an endpoint that no longer exists
(https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html)."""


def check_deleted(failed_deletions: Iterable[FailedDeletion]) -> None:
    """Raise NotDeletedError for the first endpoint that still exists."""
    for failed in failed_deletions:
        if failed.code not in _NOT_FOUND:
            raise NotDeletedError(failed.endpoint_id, failed.code, failed.message)


def check_heal(run_id: str, run: RunRecord | None, account_id: str) -> RunRecord:
    """Return the heal to undo. Raise UndoError unless it is a heal of this account that changed something."""
    if run is None:
        raise UndoError(run_id, "the ledger has no such run", _SEE_HEALS)
    if run.kind is not RunKind.HEAL:
        raise UndoError(run_id, f"it is not a heal, but the undo of run {run.heal_run_id}", _SEE_HEALS)
    if run.account_id != account_id:
        raise UndoError(run_id, f"it healed a subnet of account {run.account_id}", "undo it in that account")
    if not run.associated_at and not run.created_endpoint:
        raise UndoError(run_id, "it changed nothing", _SEE_HEALS)
    return run


def check_not_undone(heal: RunRecord) -> None:
    """Raise UndoError if the ledger says that a heal is already undone."""
    if heal.undo_run_id:
        raise UndoError(heal.run_id, f"run {heal.undo_run_id} undid it already", "nothing is left to undo")


def make_undo(records: Records, live: LiveResources, region: str) -> Undo:
    """Plan the undo of a heal that check_heal accepted.

    Raise UndoError if the ledger says that a later heal replaced this one, or if EC2 shows something other than what
    the heal left.
    """
    heal = records.heal
    _check_records(records)
    endpoint = _endpoint(heal, live, region)
    if endpoint is None or endpoint.state not in _LIVE:
        return Undo(heal, associated=False, is_live=False)
    users = {*endpoint.route_table_ids, *(table.id for table in live.tables if _leads_to(table, endpoint.id))}
    associated = bool(heal.associated_at) and heal.route_table_id in users
    others = users - {heal.route_table_id} if associated else users
    return Undo(heal, associated, is_live=True, kept=_kept(records, endpoint, others))


def _check_records(records: Records) -> None:
    heal, last = records.heal, records.associated_last
    if heal.associated_at and last and last.run_id != heal.run_id:
        found = f"run {last.run_id} associated {heal.route_table_id} again at {last.associated_at}"
        raise UndoError(heal.run_id, found, "undo that run")


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
            found = f"an endpoint of type {endpoint.endpoint_type} for {endpoint.service_name}"
            yield f"{endpoint.id} is {found}, not a gateway endpoint for s3express"
        if endpoint.vpc_id != heal.vpc_id:
            yield f"{endpoint.id} is in {endpoint.vpc_id}, not in {heal.vpc_id}"
        if (endpoint.owner_id or heal.account_id) != heal.account_id:
            yield f"{endpoint.id} belongs to account {endpoint.owner_id}, not to {heal.account_id}"


def _leads_to(table: RouteTable, endpoint_id: str) -> bool:
    return any(route.target_id == endpoint_id for route in table.routes)


def _kept(records: Records, endpoint: VpcEndpoint, others: set[str]) -> str:
    """Return why an endpoint must stay; empty if it may be deleted."""
    if endpoint.id not in records.vpc.created_ids:
        return "no heal created it"
    if MANAGED_TAG not in endpoint.tags:
        return f"it no longer has the tag {MANAGED_TAG}; delete it yourself if nobody needs it"
    if others:
        return f"{', '.join(sorted(others))} {'use' if len(others) > 1 else 'uses'} it"
    return ""
