"""Verdicts as a table for a person, and in one sentence."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from express_path.domain.reasons import Compliance
from express_path.domain.verdict import Verdict

STYLES = {
    Compliance.NON_COMPLIANT: "bold red",
    Compliance.COMPLIANT: "green",
    Compliance.NOT_APPLICABLE: "dim",
}


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
            Text.assemble(_path(each), "\n", (f"table {each.route_table_id or 'not seen'}", "dim")),
        )
    return table


def _path(verdict: Verdict) -> str:
    return ", then ".join(f"{hop.destination} -> {hop.id}" for hop in verdict.path) or verdict.annotation


def summary(verdicts: Sequence[Verdict]) -> str:
    """How many subnets have each compliance, in one sentence."""
    counts = Counter(each.compliance for each in verdicts)
    listed = ", ".join(f"{counts[compliance]} {compliance}" for compliance in STYLES)
    return f"{len(verdicts)} subnets: {listed}"
