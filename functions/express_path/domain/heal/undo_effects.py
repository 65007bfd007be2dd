"""What an undo does to traffic: the path of each subnet of the route table after the undo."""

from collections.abc import Iterator
from dataclasses import replace

from express_path.domain.network.snapshot import Snapshot
from express_path.domain.verdict.evaluator import Evaluator

MAX_NAMED_SUBNETS = 20
"""How many subnets are named; the others are counted, because the output of a step has a maximum size."""


def without_association(snapshot: Snapshot, table_id: str, endpoint_id: str) -> Snapshot:
    """Return the snapshot after an undo: the table has no routes to the endpoint."""
    table = snapshot.route_tables[table_id]
    routes = tuple(route for route in table.routes if route.target_id != endpoint_id)
    return replace(snapshot, route_tables={**snapshot.route_tables, table_id: replace(table, routes=routes)})


def moves(evaluator: Evaluator, table_id: str, endpoint_id: str) -> tuple[str, ...]:
    """Return where the traffic of each subnet of a route table goes after an undo; empty if there is no such table."""
    if table_id not in evaluator.snapshot.route_tables:
        return ()
    after = evaluator.for_snapshot(without_association(evaluator.snapshot, table_id, endpoint_id))
    sentences = list(_moves(after, table_id))
    more = len(sentences) - MAX_NAMED_SUBNETS
    return (*sentences[:MAX_NAMED_SUBNETS], f"and {more} more subnets of {table_id}") if more > 0 else tuple(sentences)


def _moves(after: Evaluator, table_id: str) -> Iterator[str]:
    for subnet in after.snapshot.own_subnets:
        governing = after.tracer.governing_table(subnet)
        if governing and governing.id == table_id:
            verdict = after.verdict(subnet.id)
            path = " -> ".join(hop.id for hop in verdict.path)
            traffic = f"use {path} ({verdict.reason})" if path else f"be {verdict.reason}"
            yield f"{subnet.id} will {traffic}"
