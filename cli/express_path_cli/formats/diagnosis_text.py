"""Diagnoses for a person: for each NAT the sentence that counts, what heals it, the findings, and the chart."""

from collections.abc import Sequence
from datetime import timedelta

from rich.console import Console
from rich.table import Table
from rich.text import Text

from express_path_cli.diagnosis.diagnosing import NatDiagnosis
from express_path_cli.diagnosis.symptoms import Diagnosis, State
from express_path_cli.diagnosis.symptoms_findings import Finding, Severity
from express_path_cli.diagnosis.symptoms_load import highest
from express_path_cli.diagnosis.timing import Timing
from express_path_cli.flagged_nats import FlaggedNat
from express_path_cli.formats.chart_scale import duration, span
from express_path_cli.formats.chart_svg import Panel
from express_path_cli.formats.chart_text import as_text_chart
from express_path_cli.formats.diagnosis_wording import (
    SHARE_UNKNOWN,
    headline,
    heal_commands,
    measured,
    name,
    undiagnosed,
)

_STYLES = {Severity.HIGH: "bold red", Severity.MEDIUM: "yellow", Severity.LOW: "dim"}
_STATES = {State.SYMPTOMS: "bold red", State.NO_SIGN: "green", State.IDLE: "dim", State.NO_DATA: "dim"}
_SHOWN, _WIDEST = 8, 140


def print_diagnoses(console: Console, told: Sequence[NatDiagnosis], during: Timing) -> None:
    """Print everything; commands are not wrapped, so that they can be copied.

    A meter without a finding gets a chart only where it is the only one.
    """
    meters = sum(len(each.diagnoses or ()) for each in told)
    for each in told:
        for diagnosis in each.diagnoses or ():
            _print_meter(console, each, diagnosis, with_chart=bool(diagnosis.findings) or meters == 1)
        if not each.diagnoses:
            _print_undiagnosed(console, each)
    if told:
        window = f"{span(during.start, during.end)}, in periods of {duration(timedelta(seconds=during.period))}."
        console.print(Text(f"{window} {SHARE_UNKNOWN}", "dim"))
    else:
        console.print("No path asked for crosses a NAT on its way to S3 Express: nothing to diagnose.")


def panels(told: Sequence[NatDiagnosis]) -> list[Panel]:
    """The charts for a file, of every meter that has datapoints."""
    return [_panel(each, diagnosis) for each in told for diagnosis in each.diagnoses or () if diagnosis.load.carried]


def _panel(told: NatDiagnosis, diagnosis: Diagnosis) -> Panel:
    findings = (f"{each.severity} {_line(each)}" for each in diagnosis.findings[:_SHOWN])
    words = (_title(told.nat, diagnosis), f"{headline(told, diagnosis)}:", *heal_commands(told)[:_SHOWN], *findings)
    return Panel(f"{name(diagnosis)}: {_state(diagnosis).lower()}", words, diagnosis)


def _state(diagnosis: Diagnosis) -> str:
    return diagnosis.state.replace("_", " ")


def _title(nat: FlaggedNat, diagnosis: Diagnosis | None = None) -> str:
    zone = diagnosis.meter.availability_zone if diagnosis else None
    where = [f"{nat.kind} in {zone}" if zone else str(nat.kind), nat.vpc_id or "", nat.region]
    return "  ".join(each for each in (nat.id, *where, f"account {nat.account_id or 'unknown'}") if each)


def _print_meter(console: Console, told: NatDiagnosis, diagnosis: Diagnosis, *, with_chart: bool) -> None:
    console.print(Text(_title(told.nat, diagnosis), "bold"))
    state = _STATES[diagnosis.state]
    console.print(Text.assemble((_state(diagnosis), state), ": ", headline(told, diagnosis), ":"))
    _print_commands(console, told)
    if diagnosis.findings:
        console.print(_findings(diagnosis.findings))
    if with_chart and highest(diagnosis.load.carried):
        width = min(console.width, _WIDEST)
        console.print(as_text_chart(diagnosis, width, ascii_only=console.options.ascii_only), no_wrap=True)
    console.print()


def _print_undiagnosed(console: Console, told: NatDiagnosis) -> None:
    console.print(Text(_title(told.nat), "bold"))
    console.print(Text(f"{undiagnosed(told)}:"))
    _print_commands(console, told)
    console.print()


def _print_commands(console: Console, told: NatDiagnosis) -> None:
    commands = heal_commands(told)
    for each in commands[:_SHOWN]:
        console.print(Text(f"  {each}", "cyan"), soft_wrap=True)
    if len(commands) > _SHOWN:
        console.print(Text(f"  and one for each of {len(commands) - _SHOWN} more route tables: --format json has all"))


def _findings(findings: Sequence[Finding]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column()
    for each in findings[:_SHOWN]:
        table.add_row(Text(each.severity, _STYLES[each.severity]), Text(_line(each)))
    if len(findings) > _SHOWN:
        table.add_row("", f"and {len(findings) - _SHOWN} more: --format json has all")
    return table


def _line(finding: Finding) -> str:
    symptom = finding.symptom.replace("_", " ").lower()
    return f"{symptom}, {span(finding.start, finding.end)}: {measured(finding)}"
