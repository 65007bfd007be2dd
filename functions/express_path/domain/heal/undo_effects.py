"""What an undo does to traffic: the subnets of the route table, and the way that each of them takes afterward."""

from collections.abc import Iterator
from dataclasses import replace

from express_path.domain.network.snapshot import Snapshot
from express_path.domain.verdict.evaluator import Evaluator

MOST = 20
"""How many subnets are named; further ones are counted, as a step's output is limited."""


def without_association(snapshot: Snapshot, table_id: str, endpoint_id: str) -> Snapshot:
    """The snapshot after an undo: the table without its routes to the endpoint."""
    table = snapshot.route_tables[table_id]
    routes = tuple(each for each in table.routes if each.target_id != endpoint_id)
    return replace(snapshot, route_tables={**snapshot.route_tables, table_id: replace(table, routes=routes)})


def moves(evaluator: Evaluator, table_id: str, endpoint_id: str) -> tuple[str, ...]:
    """Where the traffic of each subnet of a route table goes after an undo; empty where there is no such table."""
    if table_id not in evaluator.snapshot.route_tables:
        return ()
    after = evaluator.for_snapshot(without_association(evaluator.snapshot, table_id, endpoint_id))
    told = list(_moves(after, table_id))
    more = len(told) - MOST
    return (*told[:MOST], f"and {more} more subnets of {table_id}") if more > 0 else tuple(told)


def _moves(after: Evaluator, table_id: str) -> Iterator[str]:
    for subnet in after.snapshot.own_subnets:
        governing = after.tracer.governing_table(subnet)
        if governing and governing.id == table_id:
            verdict = after.verdict(subnet.id)
            way = " -> ".join(hop.id for hop in verdict.path)
            told = f"take {way} ({verdict.reason})" if way else f"have {verdict.reason}"
            yield f"{subnet.id} will then {told}"
