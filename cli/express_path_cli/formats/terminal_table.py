"""Verdicts as a table for a person, and in one sentence."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from express_path.domain.reasons import Compliance
from express_path.domain.verdict import Verdict
from express_path_cli.formats.words import path_text
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
    return Group(*(_vpc_table(title, list(rows)) for title, rows in by_vpc), Text(summary(verdicts)))


def _vpc_table(title: str, verdicts: Sequence[Verdict]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", expand=False)
    table.add_column("Subnet", no_wrap=True, min_width=24)
    table.add_column("Verdict", no_wrap=True)
    table.add_column("Path to S3 Express", overflow="fold")
    for each in verdicts:
        word = Text(each.compliance, style=STYLES[each.compliance])
        table.add_row(
            Text.assemble(each.subnet_id, "\n", (each.availability_zone_id, "dim")),
            Text.assemble(word, "\n", each.reason),
            Text.assemble(
                path_text(each) or each.annotation, "\n", (f"table {each.route_table_id or 'not seen'}", "dim")
            ),
        )
    return table


def summary(verdicts: Sequence[Verdict]) -> str:
    """How many subnets have each compliance, in one sentence."""
    counts = Counter(each.compliance for each in verdicts)
    listed = ", ".join(f"{counts[compliance]} {compliance}" for compliance in STYLES)
    return f"{len(verdicts)} subnet{'' if len(verdicts) == 1 else 's'}: {listed}"
