"""Past heals as a table for the terminal: three lines each, in 80 columns, and the command that undoes it."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby

from express_path.domain.heal.ledger import StartedBy
from express_path_cli.automation.ledger import HealState, PastHeal

_COLUMNS = (36, 22, 16)
"""The widths of a run id, an endpoint id, and a time to the minute."""
_GAP = "   "
_STARTED = {StartedBy.PERSON: "a person", StartedBy.CONFIG: "AWS Config"}


def as_heals_table(heals: Sequence[PastHeal], region: str, undo_options: str) -> Iterator[str]:
    """Yield a table for each VPC, and the number of heals in each state. undo_options: those of the undo command."""
    for (account_id, vpc_id), group in groupby(heals, key=lambda heal: (heal.run.account_id, heal.run.vpc_id)):
        yield f"{vpc_id}  {region}  account {account_id}"
        yield _row("Run", "Route table, endpoint", "State, time")
        yield "-" * (sum(_COLUMNS) + 2 * len(_GAP))
        for heal in group:
            yield from _lines(heal, undo_options)
        yield ""
    yield _summary(heals)


def _lines(heal: PastHeal, undo_options: str) -> Iterator[str]:
    run = heal.run
    yield _row(run.run_id, run.route_table_id, heal.state)
    yield _row(run.subnet_id, run.endpoint_id, _minute(heal.changed_at))
    yield _row(f"started by {_STARTED[run.started_by]}", "created by this run" if run.created_endpoint else "")
    if heal.state is HealState.UNDONE:
        yield f"  undone by run {run.undo_run_id}"
    elif heal.later_run_id:
        yield f"  replaced by run {heal.later_run_id}"
    if heal.can_be_undone:
        yield f"  express-path undo {shlex.quote(run.run_id)}{undo_options}"
    if heal.state is HealState.UNCONFIRMED:
        yield "  not confirmed; what to look for in CloudTrail:"
        yield f"  express-path undo {shlex.quote(run.run_id)}{undo_options}"


def _row(*cells: str) -> str:
    return _GAP.join(f"{cell:{width}}" for cell, width in zip(cells, _COLUMNS, strict=False)).rstrip()


def _minute(time: str) -> str:
    """Return a time of the ledger in UTC, to the minute; anything else unchanged."""
    try:
        return f"{datetime.fromisoformat(time).astimezone(UTC):%Y-%m-%d %H:%M}"
    except ValueError:
        return time


def _summary(heals: Sequence[PastHeal]) -> str:
    if not heals:
        return "no heals: no run in the ledger changed anything here"
    counts = Counter(heal.state for heal in heals)
    listed = ", ".join(f"{counts[state]} {state}" for state in HealState if counts[state])
    return f"{len(heals)} heal{'' if len(heals) == 1 else 's'}: {listed} (UTC)"
