"""The plan of an undo: what is left of one run's changes, and may be taken away."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from express_path.domain.healing import ENDPOINT_TAG, MANAGED_TAG, RUN_TAG
from express_path.domain.snapshot import Snapshot
from express_path.errors import NotDeletedError, UndoError


@dataclass(frozen=True, slots=True)
class Undo:
    """What an undo of one run would change now.

    disassociate: the table still uses the endpoint. delete_endpoint: a heal made the endpoint and no table uses it.
    """

    route_table_id: str
    endpoint_id: str
    disassociate: bool
    delete_endpoint: bool


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


def make_undo(snapshot: Snapshot, run_id: str) -> Undo:
    """Plan the undo of a run; the snapshot holds the route tables that carry its tag, and the endpoints.

    Raises UndoError where no table says that the run healed it.
    """
    table = next(iter(snapshot.route_tables.values()), None)
    if table is None:
        raise UndoError(run_id, RUN_TAG)
    endpoint_id = table.tags.get(ENDPOINT_TAG, "")
    endpoint = snapshot.vpc_endpoints.get(endpoint_id)
    associated = endpoint is not None and table.id in endpoint.route_table_ids
    routed = any(route.target_id == endpoint_id for route in table.routes)
    unused = endpoint is not None and not endpoint.route_table_ids and endpoint.state in ("available", "pending")
    return Undo(
        route_table_id=table.id,
        endpoint_id=endpoint_id,
        disassociate=endpoint is not None and (associated or routed),
        delete_endpoint=unused and endpoint is not None and MANAGED_TAG in endpoint.tags,
    )
