"""What S3 Express costs at the NAT gateways, as a table for a person."""

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from express_path_cli.cost.charges import Amount, Basis
from express_path_cli.cost.costing import NatCost
from express_path_cli.cost.report import CostReport
from express_path_cli.flagged_nats import FlaggedNat, NatKind
from express_path_cli.formats.cost_wording import BASIS, LEFT_ASIDE, UPPER_BOUND
from express_path_cli.formats.terminal_table import FILE_WIDTH

_NONE = "No flagged path crosses a NAT: there is nothing to save."


def as_cost_table(report: CostReport) -> RenderableType:
    """A row for each NAT, the dearest first, and what the numbers mean."""
    if not report.costs:
        return Text(_NONE)
    table = Table(
        title=f"S3 Express through NATs, {_days(report)} to {report.window.end:%Y-%m-%d}",
        title_justify="left",
        title_style="bold",
        show_lines=True,
    )
    table.add_column("NAT", min_width=21, overflow="fold")
    for column in ("Processed", "Upper bound", *(["Measured"] if report.log_group else [])):
        table.add_column(column, justify="right", no_wrap=True)
    for each in sorted(report.costs, key=lambda cost: -(cost.bound.usd if cost.bound else 0)):
        table.add_row(*_row(each, report))
    return Group(table, *map(Text, _explained(report)))


def as_text_table(report: CostReport) -> str:
    """The table without colours, for a file."""
    console = Console(width=FILE_WIDTH, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(as_cost_table(report))
    return captured.get()


def _row(cost: NatCost, report: CostReport) -> Iterator[Text]:
    yield _named(cost.nat)
    if cost.bound is None or cost.price is None:
        without = cost.nat.kind is NatKind.INSTANCE
        yield Text("no NAT metrics" if without else "not readable", style="yellow")
        yield Text("no GB charge" if without else "unknown", style="yellow")
    else:
        guess = " ?" if cost.price.basis is Basis.ASSUMED else ""
        yield Text.assemble(_size(cost.bound.bytes), (f"\n${cost.price.usd_per_gb:g}/GB{guess}", "dim"))
        yield _money(cost.bound)
    if report.log_group:
        yield _measured(cost, report)


def _named(nat: FlaggedNat) -> Text:
    number = len(nat.subnet_ids)
    users = f"{number} flagged subnet{'' if number == 1 else 's'}"
    owner = nat.account_id or "owner unknown"
    return Text.assemble(nat.id, (f"\n{nat.kind}\n{users}\n{nat.region} {owner}", "dim"))


def _money(amount: Amount) -> Text:
    return Text.assemble((f"${amount.usd:,.2f}", "bold"), (f"\n${amount.usd_a_month:,.2f}/month", "dim"))


def _measured(cost: NatCost, report: CostReport) -> Text:
    told = cost.measured
    if told is None:
        return Text("" if cost.nat.kind is NatKind.INSTANCE else "not measured", style="yellow")
    least = "" if told.whole else "at least "
    share = "" if told.share is None else f", {told.share:.1%}"
    since = "" if told.window == report.window else f"\nsince {told.window.start:%m-%d %H:%M}"
    return Text.assemble(
        (f"{least}${told.amount.usd:,.2f}", "bold"),
        (f"\n${told.amount.usd_a_month:,.2f}/month\n{_size(told.amount.bytes)}{share}{since}", "dim"),
    )


def _days(report: CostReport) -> str:
    days = round(report.window.days)
    return f"{days} day{'' if days == 1 else 's'}"


def _size(number: float) -> str:
    return decimal(round(number))


def _explained(report: CostReport) -> Iterator[str]:
    bounds = [each.bound for each in report.gateways if each.bound]
    if bounds:
        usd, monthly = sum(each.usd for each in bounds), sum(each.usd_a_month for each in bounds)
        missing = "" if report.all_read else ", without what could not be read"
        yield f"Upper bound of all: ${usd:,.2f} in {_days(report)}, ${monthly:,.2f}/month{missing}."
    measured = [each.measured.amount for each in report.gateways if each.measured]
    if measured:
        missing = "" if len(measured) == len(report.gateways) else ", without what is not measured"
        yield f"Measured of all: ${sum(each.usd_a_month for each in measured):,.2f}/month{missing}."
        yield f"Logs Insights scanned {_size(report.bytes_scanned)} for that, and charges by the GB scanned."
    yield UPPER_BOUND + ("" if report.log_group else " --flow-logs measures it.")
    yield LEFT_ASIDE
    prices = sorted({each.price for each in report.gateways if each.price})
    if prices:
        yield f"Prices: {'; '.join(f'${each.usd_per_gb:g} a GB ({BASIS[each.basis]})' for each in prices)}."
