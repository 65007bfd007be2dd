"""express-path cost: what S3 Express traffic costs at the NAT gateways on flagged paths."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from express_path_cli.aws import options
from express_path_cli.aws.account_options import ManyAccounts, taking
from express_path_cli.aws.options import TableFormat
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.findings.selection import Selection, evaluate_all
from express_path_cli.nat.crossed_nats import CrossedNat, NatKind, crossed_nats
from express_path_cli.nat.prices import (
    Amount,
    Basis,
    MeasuredCost,
    bytes_by_metric,
    charged_bytes_by_zone,
    total_of,
    window,
)
from express_path_cli.sources.source import Source
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import UNDETERMINED, show_failures_and_notes
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.tables import Terminal
from express_path_cli.terminal.texts import count_text
from express_path_cli.traffic.costs import CostOptions, CostReport, NatCost, report_on

_what = partial(typer.Option, rich_help_panel="What to count")
_MAX_DAYS = 454
EXAMPLES = """
express-path cost  # the most that it can cost, for the last 30 days
express-path cost --flow-logs vpc-flow-logs --days 7  # also measured from flow logs
express-path cost --organization --role-name Audit --format json  # every account
"""


Days = Annotated[
    int,
    _what(min=1, max=_MAX_DAYS, metavar="NUMBER", help="How many days to look back."),
]
PricePerGb = Annotated[
    float | None,
    _what(
        min=0,
        max=1000,
        metavar="USD",
        help="The price of a GB that a NAT gateway processes. Default: that of the AWS Price List.",
    ),
]
FlowLogs = Annotated[
    str | None,
    _what(
        metavar="LOG-GROUP",
        help="Measure the share of S3 Express in the flow logs of this CloudWatch Logs log group. CloudWatch Logs "
        "charges for each GB scanned.",
    ),
]


@taking(accounts=ManyAccounts)
def cost(
    *,
    accounts: ManyAccounts,
    parameter: options.Parameters = None,
    days: Days = 30,
    price_per_gb: PricePerGb = None,
    flow_logs: FlowLogs = None,
    form: options.TableOrJson = TableFormat.TABLE,
    quiet: options.Quiet = False,
) -> None:
    """Show an upper bound of what S3 Express costs at NAT gateways.

    Counts the NAT gateways on flagged paths. Their metrics do not record destinations, so this is an upper bound; --flow-logs measures the share
    of S3 Express. A gateway endpoint saves these costs, but not the hourly charges. Exit status: 0 done, 2 something
    could not be determined; standard error names it, and the rest is still reported.
    """
    live = accounts.live
    source, parameters = Source(live=live), options.rule_parameters(parameter)
    counted = CostOptions(window(datetime.now(UTC), days), price_per_gb, flow_logs)
    with watching(quiet=quiet) as watch, TaskPool(live.workers, watch) as task_pool:
        network = source.read(parameters, watch)
        nats = crossed_nats(network.views, evaluate_all(network.views, parameters, Selection()))
        report = report_on(nats, network, counted, task_pool)
    show_failures_and_notes(report.failures, report.notes, quiet=quiet)
    if network.views or not network.failures:
        _write(report, form)
    raise typer.Exit(UNDETERMINED if report.failures else 0)


def _write(report: CostReport, form: TableFormat) -> None:
    if form is TableFormat.JSON:
        echo(as_cost_json(report), nl=False)
    else:
        Terminal().print(as_cost_table(report))


SCHEMA_VERSION = 1
UPPER_BOUND = (
    "Upper bound: NAT gateway metrics do not record destinations, so all processed bytes are counted. "
    "S3 Express costs at most this much."
)
HOURLY_CHARGES = "Hourly charges are not included: the NAT gateways stay for other traffic."
PRICE_BASIS = {
    Basis.GIVEN: "from --price-per-gb",
    Basis.LISTED: "AWS Price List",
    Basis.ASSUMED: "assumed: the price in us-east-1",
}
"""The source of a price, in words."""


def as_cost_json(report: CostReport) -> str:
    """Return one document; a value that could not be read is null, and complete says whether a sum has all parts."""
    bounds = [cost.bound for cost in report.gateways]
    document = {
        "meaning": f"{UPPER_BOUND} {HOURLY_CHARGES}",
        "start": _time(report.window.start),
        "end": _time(report.window.end),
        "days": report.window.days,
        "upperBound": _sum(bounds, all_read=report.all_read),
        "measured": _measured_sum(report),
        "natGateways": [_gateway(cost) for cost in report.gateways],
        "natInstances": [cost.nat.fields() for cost in report.instances],
    }
    return json_document(SCHEMA_VERSION, document)


def _sum(amounts: Sequence[Amount | None], *, all_read: bool) -> dict[str, Any]:
    known = [amount for amount in amounts if amount]
    return {**_amount(total_of(known)), "complete": all_read and len(known) == len(amounts)}


def _measured_sum(report: CostReport) -> dict[str, Any] | None:
    if not report.log_group:
        return None
    amounts = [cost.measured.amount if cost.measured else None for cost in report.gateways]
    return {
        **_sum(amounts, all_read=report.all_read),
        "logGroup": report.log_group,
        "bytesScanned": round(report.bytes_scanned),
    }


def _gateway(cost: NatCost) -> dict[str, Any]:
    names = ("bytes", "bytesByZone", "usdPerGb", "priceBasis", "upperBound", "measured")
    fields = {**cost.nat.fields(), **dict.fromkeys(names)}
    if cost.series is not None:
        fields["bytes"] = _rounded(bytes_by_metric(cost.series))
        fields["bytesByZone"] = _rounded(charged_bytes_by_zone(cost.series))
    if cost.price:
        fields["usdPerGb"] = cost.price.usd_per_gb
        fields["priceBasis"] = cost.price.basis
    if cost.bound:
        fields["upperBound"] = _amount(cost.bound)
    if cost.measured:
        fields["measured"] = _measured_fields(cost.measured)
    return fields


def _rounded(values: Mapping[str, float]) -> dict[str, int]:
    return {name: round(value) for name, value in values.items()}


def _amount(amount: Amount) -> dict[str, Any]:
    return {"bytes": round(amount.bytes), "usd": round(amount.usd, 6), "usdPerMonth": round(amount.usd_per_month, 6)}


def _measured_fields(measured: MeasuredCost) -> dict[str, Any]:
    return {
        "start": _time(measured.window.start),
        "end": _time(measured.window.end),
        **_amount(measured.amount),
        "share": measured.share,
        "atLeast": not measured.complete,
    }


def _time(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")


_NONE = "No flagged path crosses a NAT, so there is nothing to save."


def as_cost_table(report: CostReport) -> RenderableType:
    """Return a table of NATs, the most expensive first, and what its numbers mean."""
    if not report.costs:
        return Text(_NONE)
    table = Table(
        title=f"S3 Express through NATs, {_days(report)} until {report.window.end:%Y-%m-%d}",
        title_justify="left",
        title_style="bold",
        box=None,
        header_style="bold",
        pad_edge=False,
        padding=(0, 2, 1, 0),
    )
    table.add_column("NAT", min_width=21, overflow="fold")
    columns = ["Processed", "Upper bound"]
    if report.log_group:
        columns.append("Measured")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for cost in sorted(report.costs, key=lambda cost: -(cost.bound.usd if cost.bound else 0)):
        table.add_row(*_cells(cost, report))
    return Group(table, *map(Text, _footnotes(report)))


def _cells(cost: NatCost, report: CostReport) -> Iterator[Text]:
    yield _nat(cost.nat)
    if cost.bound is None or cost.price is None:
        is_instance = cost.nat.kind is NatKind.INSTANCE
        yield Text("no NAT metrics" if is_instance else "not readable", style="yellow")
        yield Text("no GB charge" if is_instance else "unknown", style="yellow")
    else:
        assumed = " ?" if cost.price.basis is Basis.ASSUMED else ""
        yield Text.assemble(_size(cost.bound.bytes), (f"\n${cost.price.usd_per_gb:g}/GB{assumed}", "dim"))
        yield _money(cost.bound)
    if report.log_group:
        yield _measured_text(cost, report)


def _nat(nat: CrossedNat) -> Text:
    users = count_text(len(nat.subnet_ids), "flagged subnet")
    owner = nat.account_id or "unknown owner"
    return Text.assemble(nat.id, (f"\n{nat.kind}\n{users}\n{nat.region} {owner}", "dim"))


def _money(amount: Amount) -> Text:
    return Text.assemble((f"${amount.usd:,.2f}", "bold"), (f"\n${amount.usd_per_month:,.2f}/month", "dim"))


def _measured_text(cost: NatCost, report: CostReport) -> Text:
    measured = cost.measured
    if measured is None:
        return Text("" if cost.nat.kind is NatKind.INSTANCE else "not measured", style="yellow")
    amount = measured.amount
    at_least = "" if measured.complete else "at least "
    details = f"\n${amount.usd_per_month:,.2f}/month\n{_size(amount.bytes)}"
    if measured.share is not None:
        details += f", {measured.share:.1%}"
    if measured.window != report.window:
        details += f"\nsince {measured.window.start:%m-%d %H:%M}"
    return Text.assemble((f"{at_least}${amount.usd:,.2f}", "bold"), (details, "dim"))


def _days(report: CostReport) -> str:
    return count_text(round(report.window.days), "day")


def _size(number: float) -> str:
    return decimal(round(number))


def _footnotes(report: CostReport) -> Iterator[str]:
    bounds = [cost.bound for cost in report.gateways if cost.bound]
    if bounds:
        total = total_of(bounds)
        missing = "" if report.all_read else ", not counting what could not be read"
        yield f"Total upper bound: ${total.usd:,.2f} in {_days(report)}, ${total.usd_per_month:,.2f}/month{missing}."
    measured = [cost.measured.amount for cost in report.gateways if cost.measured]
    if measured:
        missing = "" if len(measured) == len(report.gateways) else ", not counting what was not measured"
        yield f"Total measured: ${total_of(measured).usd_per_month:,.2f}/month{missing}."
        yield f"CloudWatch Logs Insights scanned {_size(report.bytes_scanned)}, and charges per GB scanned."
    yield UPPER_BOUND + ("" if report.log_group else " Use --flow-logs to measure it.")
    yield HOURLY_CHARGES
    prices = {cost.price for cost in report.gateways if cost.price}
    if prices:
        in_order = sorted(prices, key=lambda price: (price.usd_per_gb, price.basis))
        texts = [f"${price.usd_per_gb:g} per GB ({PRICE_BASIS[price.basis]})" for price in in_order]
        yield f"Prices: {'; '.join(texts)}."
