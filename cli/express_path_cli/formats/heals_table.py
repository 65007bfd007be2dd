"""Past heals for a person: three lines each, in 80 columns, and the command that undoes it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby

from rich.control import strip_control_codes

from express_path.domain.heal.ledger import StartedBy
from express_path_cli.runbooks.heal_history import HealState, PastHeal

_COLUMNS = (36, 22, 16)
"""As wide as the id of a run, the id of an endpoint, and a time to the minute."""
_APART = "   "
_STARTED = {StartedBy.PERSON: "a person", StartedBy.CONFIG: "AWS Config"}


def as_heals_table(heals: Sequence[PastHeal], region: str, again: str) -> Iterator[str]:
    """The lines of a table for each VPC, and how many heals have each state. again: options of the undo command."""
    for (account_id, vpc_id), group in groupby(heals, key=lambda each: (each.run.account_id, each.run.vpc_id)):
        yield strip_control_codes(f"{vpc_id}  {region}  account {account_id}")
        yield _row("Run", "Route table, endpoint", "State, time")
        yield "-" * (sum(_COLUMNS) + 2 * len(_APART))
        for each in group:
            yield from map(strip_control_codes, _lines(each, again))
        yield ""
    yield _summary(heals)


def _lines(heal: PastHeal, again: str) -> Iterator[str]:
    run = heal.run
    yield _row(run.run_id, run.route_table_id, heal.state)
    yield _row(run.subnet_id, run.endpoint_id, _minute(heal.changed_at))
    yield _row(f"started by {_STARTED[run.started_by]}", "created by this run" if run.created_endpoint else "")
    if heal.state is HealState.UNDONE:
        yield f"  undone by run {run.undo_run_id}"
    elif heal.later_run_id:
        yield f"  replaced by run {heal.later_run_id}"
    if heal.can_be_undone:
        yield f"  express-path undo {run.run_id}{again}"


def _row(*cells: str) -> str:
    return _APART.join(f"{cell:{width}}" for cell, width in zip(cells, _COLUMNS, strict=False)).rstrip()


def _minute(time: str) -> str:
    """A time of the ledger in UTC, to the minute; as it is where it is none."""
    try:
        return f"{datetime.fromisoformat(time).astimezone(UTC):%Y-%m-%d %H:%M}"
    except ValueError:
        return time


def _summary(heals: Sequence[PastHeal]) -> str:
    if not heals:
        return "no heals: the ledger has none that changed anything here"
    counts = Counter(each.state for each in heals)
    listed = ", ".join(f"{counts[state]} {state}" for state in HealState if counts[state])
    return f"{len(heals)} heal{'' if len(heals) == 1 else 's'}: {listed} (times in UTC)"
