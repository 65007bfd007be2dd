"""What the simulation of the whole organization prints: two sizes with the same changes, side by side."""

import sys
from collections import Counter

from rich.console import Console
from rich.table import Table

from benchmarks.organization.outcome import CHANGES, FAULTY_SWEEP, FIRST_SWEEP, LAST_SWEEP, Outcome, Phase, run
from benchmarks.organization.simulation import Size
from sandbox.server import Sandbox

REGIONS = ("us-east-1", "eu-north-1", "us-west-2")
SIZES = tuple(Size(accounts, REGIONS, changes=1000) for accounts in (10, 50))
"""200 changes a minute for five minutes, in few and in many accounts."""
SEED = 1
SHOWN = 12
"""How many operations are shown by name."""


def main() -> None:
    """Run both sizes and print what they took. Exit with status 1 if something differs at the end."""
    outcomes = []
    for size in SIZES:
        with Sandbox() as sandbox:
            outcomes.append(run(sandbox, size, SEED))
    console = Console()
    console.print(_summary(outcomes), _calls(outcomes, CHANGES), _calls(outcomes, LAST_SWEEP))
    wrong = [row for outcome in outcomes for rows in outcome.after.values() for row in rows]
    for outcome in outcomes:
        _explain(console, outcome)
    if wrong:
        console.print(*wrong, sep="\n", markup=False)
        sys.exit(1)


def _summary(outcomes: list[Outcome]) -> Table:
    table = _table("organization", outcomes)
    table.add_row("subnets", *(f"{outcome.subnets:,}" for outcome in outcomes))
    table.add_row("changes of the network", *(f"{outcome.happened['changes']:,}" for outcome in outcomes))
    for name in (FIRST_SWEEP, CHANGES, FAULTY_SWEEP, LAST_SWEEP):
        phases = [outcome.phases[name] for outcome in outcomes]
        table.add_section()
        table.add_row(f"{name}: wall time", *(f"{phase.wall:.0f} s" for phase in phases))
        table.add_row(f"{name}: processor time", *(f"{phase.processor:.0f} s" for phase in phases))
        table.add_row(f"{name}: invocations", *(f"{phase.invocations.total():,}" for phase in phases))
        table.add_row(f"{name}: API calls", *(f"{phase.calls.total():,}" for phase in phases))
    table.add_section()
    table.add_row("API calls for a change", *(f"{_per_change(outcome):.1f}" for outcome in outcomes))
    table.add_row("API calls of a sweep, for an account and Region", *(f"{_per_place(row):.1f}" for row in outcomes))
    return table


def _calls(outcomes: list[Outcome], name: str) -> Table:
    """Return the calls of a phase by service and operation; the operations with few calls are in one row."""
    table = _table(f"API calls: {name}", outcomes)
    phases: list[Phase] = [outcome.phases[name] for outcome in outcomes]
    total: Counter[tuple[str, str]] = sum((phase.calls for phase in phases), Counter())
    shown = [operation for operation, _ in total.most_common(SHOWN)]
    for operation in shown:
        table.add_row(":".join(operation), *(f"{phase.calls[operation]:,}" for phase in phases))
    others = (phase.calls.total() - sum(phase.calls[operation] for operation in shown) for phase in phases)
    table.add_row("others", *(f"{number:,}" for number in others))
    return table


def _table(title: str, outcomes: list[Outcome]) -> Table:
    table = Table(title, highlight=False)
    for outcome in outcomes:
        size = outcome.size
        table.add_column(f"{size.accounts} accounts x {len(size.regions)} Regions", justify="right")
    return table


def _explain(console: Console, outcome: Outcome) -> None:
    """Print what happened, and how many differences there were."""
    size = outcome.size
    console.print(f"\n{size.accounts} accounts x {len(size.regions)} Regions")
    for what, number in outcome.happened.most_common():
        console.print(f"  {number:6,} {what}")
    for when, differences in (("before", outcome.before), ("after", outcome.after)):
        counted = ", ".join(f"{subject}: {len(rows)}" for subject, rows in differences.items())
        console.print(f"  differences from fresh scans {when} the last sweep: {counted}")
    console.print(f"  subnets of which a function was stopped before it published: {len(outcome.unpublished)}")


def _per_change(outcome: Outcome) -> float:
    return outcome.phases[CHANGES].calls.total() / outcome.happened["changes"]


def _per_place(outcome: Outcome) -> float:
    places = outcome.size.accounts * len(outcome.size.regions)
    return outcome.phases[LAST_SWEEP].calls.total() / places
