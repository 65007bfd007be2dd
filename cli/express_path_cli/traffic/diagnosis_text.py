"""Diagnoses as text for the terminal: for each NAT a headline, the commands that heal, the findings, and a chart."""

from collections.abc import Sequence
from datetime import timedelta

from rich.console import Console
from rich.table import Table
from rich.text import Text

from express_path_cli.nat.crossed_nats import CrossedNat
from express_path_cli.terminal.charts import duration, span
from express_path_cli.traffic.chart_svg import Panel
from express_path_cli.traffic.chart_text import as_text_chart
from express_path_cli.traffic.diagnosing import NatDiagnosis
from express_path_cli.traffic.diagnosis_wording import (
    SHARE_UNKNOWN,
    finding_numbers,
    headline,
    heal_commands,
    meter_name,
    undiagnosed,
)
from express_path_cli.traffic.symptoms import Diagnosis, State
from express_path_cli.traffic.symptoms_findings import Finding, Severity
from express_path_cli.traffic.symptoms_load import highest
from express_path_cli.traffic.timing import Timing

_SEVERITY_STYLES = {Severity.HIGH: "bold red", Severity.MEDIUM: "yellow", Severity.LOW: "dim"}
_STATE_STYLES = {State.SYMPTOMS: "bold red", State.NO_SIGN: "green", State.IDLE: "dim", State.NO_DATA: "dim"}
_MAX_LINES = 8
_MAX_CHART_WIDTH = 140


def print_diagnoses(console: Console, nats: Sequence[NatDiagnosis], during: Timing) -> None:
    """Print all diagnoses. Commands are not wrapped, so that they can be copied.

    A meter without findings gets a chart only if it is the only meter.
    """
    meters = sum(len(diagnosed.diagnoses or ()) for diagnosed in nats)
    for diagnosed in nats:
        for diagnosis in diagnosed.diagnoses or ():
            _print_meter(console, diagnosed, diagnosis, with_chart=bool(diagnosis.findings) or meters == 1)
        if not diagnosed.diagnoses:
            _print_undiagnosed(console, diagnosed)
    if nats:
        window = f"{span(during.start, during.end)}, in periods of {duration(timedelta(seconds=during.period))}."
        console.print(Text(f"{window} {SHARE_UNKNOWN}", "dim"))
    else:
        console.print("No selected path to S3 Express crosses a NAT, so there is nothing to diagnose.")


def panels(nats: Sequence[NatDiagnosis]) -> list[Panel]:
    """Return the charts for a file: one for every meter with datapoints."""
    return [
        _panel(diagnosed, diagnosis)
        for diagnosed in nats
        for diagnosis in diagnosed.diagnoses or ()
        if diagnosis.load.carried
    ]


def _panel(diagnosed: NatDiagnosis, diagnosis: Diagnosis) -> Panel:
    return Panel(
        title=f"{meter_name(diagnosis.meter)}: {_state(diagnosis).lower()}",
        sentences=(
            _nat_title(diagnosed.nat, diagnosis),
            f"{headline(diagnosed, diagnosis)}:",
            *heal_commands(diagnosed)[:_MAX_LINES],
            *(f"{finding.severity} {_finding_text(finding)}" for finding in diagnosis.findings[:_MAX_LINES]),
        ),
        diagnosis=diagnosis,
    )


def _state(diagnosis: Diagnosis) -> str:
    return diagnosis.state.replace("_", " ")


def _nat_title(nat: CrossedNat, diagnosis: Diagnosis | None = None) -> str:
    zone = diagnosis.meter.availability_zone if diagnosis else None
    kind = f"{nat.kind} in {zone}" if zone else str(nat.kind)
    parts = (nat.id, kind, nat.vpc_id or "", nat.region, f"account {nat.account_id or 'unknown'}")
    return "  ".join(filter(None, parts))


def _print_meter(console: Console, diagnosed: NatDiagnosis, diagnosis: Diagnosis, *, with_chart: bool) -> None:
    console.print(Text(_nat_title(diagnosed.nat, diagnosis), "bold"))
    style = _STATE_STYLES[diagnosis.state]
    console.print(Text.assemble((_state(diagnosis), style), ": ", headline(diagnosed, diagnosis), ":"))
    _print_commands(console, diagnosed)
    if diagnosis.findings:
        console.print(_findings(diagnosis.findings))
    if with_chart and highest(diagnosis.load.carried):
        width = min(console.width, _MAX_CHART_WIDTH)
        console.print(as_text_chart(diagnosis, width, ascii_only=console.options.ascii_only), no_wrap=True)
    console.print()


def _print_undiagnosed(console: Console, diagnosed: NatDiagnosis) -> None:
    console.print(Text(_nat_title(diagnosed.nat), "bold"))
    console.print(Text(f"{undiagnosed(diagnosed)}:"))
    _print_commands(console, diagnosed)
    console.print()


def _print_commands(console: Console, diagnosed: NatDiagnosis) -> None:
    commands = heal_commands(diagnosed)
    for command in commands[:_MAX_LINES]:
        console.print(Text(f"  {command}", "cyan"), soft_wrap=True)
    if len(commands) > _MAX_LINES:
        more = len(commands) - _MAX_LINES
        console.print(Text(f"  and {more} more, one for each route table; --format json lists all"))


def _findings(findings: Sequence[Finding]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column()
    for finding in findings[:_MAX_LINES]:
        table.add_row(Text(finding.severity, _SEVERITY_STYLES[finding.severity]), Text(_finding_text(finding)))
    if len(findings) > _MAX_LINES:
        table.add_row("", f"and {len(findings) - _MAX_LINES} more; --format json lists all")
    return table


def _finding_text(finding: Finding) -> str:
    symptom = finding.symptom.replace("_", " ").lower()
    return f"{symptom}, {span(finding.start, finding.end)}: {finding_numbers(finding)}"
