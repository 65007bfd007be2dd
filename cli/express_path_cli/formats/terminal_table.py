"""Verdicts as a table for a person, and in one sentence."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from express_path.domain.reasons import Compliance
from express_path.domain.verdict import Verdict
from express_path_cli.result import Result

STYLES = {
    Compliance.NON_COMPLIANT: "bold red",
    Compliance.COMPLIANT: "green",
    Compliance.NOT_APPLICABLE: "dim",
}


FILE_WIDTH = 120
"""How wide a table is that no terminal shows, in columns."""


def as_text_table(result: Result) -> str:
    """The table without colours, for a file."""
    console = Console(width=FILE_WIDTH, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(as_table(result.verdicts))
    return captured.get()


def as_table(verdicts: Sequence[Verdict]) -> RenderableType:
    """One table for each VPC, with subnet, verdict and path, and a closing sentence."""
    by_vpc = groupby(
        sorted(verdicts, key=lambda each: (each.account_id, each.region, each.vpc_id, each.subnet_id)),
        key=lambda each: f"{each.vpc_id}  {each.region}  account {each.account_id}",
    )
    tables = (_vpc_table(title, list(rows)) for title, rows in by_vpc)
    return Group(*(Padding(each, (0, 0, 1, 0), expand=False) for each in tables), Text(summary(verdicts)))


def _vpc_table(title: str, verdicts: Sequence[Verdict]) -> Table:
    """Two lines for each subnet, so that ids and a hop of the path stay whole in 80 columns."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, show_edge=False, pad_edge=False
    )
    table.add_column("Subnet\nZone, route table", no_wrap=True)
    table.add_column("Verdict\nPath to S3 Express", overflow="fold")
    for each in verdicts:
        where = f"{each.availability_zone_id}  {each.route_table_id or 'table not seen'}"
        word = (each.compliance, STYLES[each.compliance])
        table.add_row(
            Text.assemble(each.subnet_id, "\n", (where, "dim")),
            Text.assemble(word, "  ", each.reason, "\n", "\n".join(_lines(each))),
        )
    return table


def _lines(verdict: Verdict) -> Iterator[str]:
    """A line for each hop of the path; where none was followed, the annotation without the reason before it."""
    for number, hop in enumerate(verdict.path):
        yield f"{'then ' if number else ''}{hop.destination} -> {hop.id}"
    if not verdict.path:
        yield verdict.annotation.removeprefix(f"{verdict.reason}: ")


def summary(verdicts: Sequence[Verdict]) -> str:
    """How many subnets have each compliance, in one sentence."""
    counts = Counter(each.compliance for each in verdicts)
    listed = ", ".join(f"{counts[compliance]} {compliance}" for compliance in STYLES)
    return f"{len(verdicts)} subnet{'' if len(verdicts) == 1 else 's'}: {listed}"
