"""The plan of an undo: what is left of one heal, as the ledger records it and EC2 shows it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from express_path.domain.heal.ledger import RunKind, RunRecord, TableRecord, VpcRecord
from express_path.domain.heal.records import MANAGED_TAG
from express_path.domain.network.resources import RouteTable, VpcEndpoint
from express_path.domain.network.snapshot import is_express_service
from express_path.errors import NotDeletedError, UndoError

_LIVE = ("available", "pending")
_SEE_HEALS = "express-path heals lists the heals that can be undone"


class Change(StrEnum):
    """The next change of an undo.

    FINISH: none is left. KEEP_ENDPOINT: the endpoint is used, although the ledger says by now that it is deleted.
    """

    DISASSOCIATE = "DISASSOCIATE"
    DELETE_ENDPOINT = "DELETE_ENDPOINT"
    KEEP_ENDPOINT = "KEEP_ENDPOINT"
    FINISH = "FINISH"


@dataclass(frozen=True, slots=True)
class Records:
    """What the ledger says about a heal, its route table and its VPC.

    associated_last is the heal that was about to associate the table last, None where the ledger names none.
    """

    heal: RunRecord
    table: TableRecord
    vpc: VpcRecord
    associated_last: RunRecord | None = None


@dataclass(frozen=True, slots=True)
class Sight:
    """What EC2 shows: the route tables of a heal's VPC, and every endpoint with the id of the heal's endpoint."""

    tables: tuple[RouteTable, ...]
    endpoints: tuple[VpcEndpoint, ...]


@dataclass(frozen=True, slots=True)
class Undo:
    """What an undo would change now.

    associated: the route table still uses the heal's endpoint. is_live: the endpoint is there and is not being deleted.
    kept: why it stays, empty where it can be deleted or is gone.
    """

    heal: RunRecord
    associated: bool
    is_live: bool
    kept: str = ""

    @property
    def deletes(self) -> bool:
        """Whether the endpoint is to be deleted, once the table no longer uses it."""
        return self.is_live and not self.kept

    @property
    def change(self) -> Change:
        """What to change next."""
        if self.associated:
            return Change.DISASSOCIATE
        return Change.DELETE_ENDPOINT if self.deletes else Change.FINISH


class Refusal(NamedTuple):
    """What EC2 would not delete, and why: an item of the list Unsuccessful."""

    endpoint_id: str
    code: str
    message: str


_GONE = frozenset({"InvalidVpcEndpointId.NotFound", "InvalidVpcEndpoint.NotFound"})
"""The codes of an endpoint that is not there any more
(https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html)."""


def check_deleted(refusals: Iterable[Refusal]) -> None:
    """Raise NotDeletedError for the first refusal that left an endpoint there."""
    for each in refusals:
        if each.code not in _GONE:
            raise NotDeletedError(*each)


def check_heal(run_id: str, run: RunRecord | None, account_id: str) -> RunRecord:
    """The heal to undo, if the ledger has one of this account with that id that changed something. Raises UndoError."""
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
    """Raise UndoError where the ledger says that a heal is undone already."""
    if heal.undo_run_id:
        raise UndoError(heal.run_id, f"run {heal.undo_run_id} undid it already", "nothing is left to undo")


def make_undo(records: Records, sight: Sight, region: str) -> Undo:
    """Plan the undo of a heal that check_heal let pass.

    Raises UndoError where the ledger says that another heal took its place, and where EC2 shows something other than
    what the heal left.
    """
    heal = records.heal
    _check_records(records)
    endpoint = _endpoint(heal, sight, region)
    if endpoint is None or endpoint.state not in _LIVE:
        return Undo(heal, associated=False, is_live=False)
    users = {*endpoint.route_table_ids, *(each.id for each in sight.tables if _leads_to(each, endpoint.id))}
    associated = bool(heal.associated_at) and heal.route_table_id in users
    others = users - {heal.route_table_id} if associated else users
    return Undo(heal, associated, is_live=True, kept=_kept(records, endpoint, others))


def _check_records(records: Records) -> None:
    heal, last = records.heal, records.associated_last
    if heal.associated_at and last and last.run_id != heal.run_id:
        found = f"run {last.run_id} associated {heal.route_table_id} again at {last.associated_at}"
        raise UndoError(heal.run_id, found, "undo that run")


def _endpoint(heal: RunRecord, sight: Sight, region: str) -> VpcEndpoint | None:
    """The heal's endpoint as it is now, None where it is gone. Raises UndoError where it or its table is not ours."""
    wrong = [*_wrong_tables(heal, sight.tables), *_wrong_endpoints(heal, sight.endpoints, region)]
    if wrong:
        raise UndoError(heal.run_id, "; ".join(wrong), "find out who changed it, and remove the association by hand")
    return next(iter(sight.endpoints), None)


def _wrong_tables(heal: RunRecord, tables: Iterable[RouteTable]) -> Iterator[str]:
    for each in tables:
        if each.id == heal.route_table_id and (each.owner_id or heal.account_id) != heal.account_id:
            yield f"{each.id} belongs to account {each.owner_id}, not to {heal.account_id}"


def _wrong_endpoints(heal: RunRecord, endpoints: tuple[VpcEndpoint, ...], region: str) -> Iterator[str]:
    if len(endpoints) > 1:
        yield f"there are {len(endpoints)} endpoints {heal.endpoint_id}"
    for each in endpoints:
        if each.endpoint_type != "gateway" or not is_express_service(each.service_name, region):
            found = f"an endpoint of type {each.endpoint_type} for {each.service_name}"
            yield f"{each.id} is {found}, not a gateway endpoint for s3express"
        if each.vpc_id != heal.vpc_id:
            yield f"{each.id} is in {each.vpc_id}, not in {heal.vpc_id}"
        if (each.owner_id or heal.account_id) != heal.account_id:
            yield f"{each.id} belongs to account {each.owner_id}, not to {heal.account_id}"


def _leads_to(table: RouteTable, endpoint_id: str) -> bool:
    return any(route.target_id == endpoint_id for route in table.routes)


def _kept(records: Records, endpoint: VpcEndpoint, others: set[str]) -> str:
    """Why an endpoint must stay, empty where it may go."""
    if endpoint.id not in records.vpc.created_ids:
        return "no heal created it"
    if MANAGED_TAG not in endpoint.tags:
        return f"it no longer has the tag {MANAGED_TAG}; delete it by hand if nobody needs it"
    if others:
        return f"{', '.join(sorted(others))} {'use' if len(others) > 1 else 'uses'} it"
    return ""
