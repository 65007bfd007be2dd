"""express-path diagnose: whether a NAT gateway on a flagged path is at its limit."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from express_path_cli.aws import options
from express_path_cli.aws.account_options import ManyAccounts, taking
from express_path_cli.aws.options import TextFormat
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.findings.row import rows_of
from express_path_cli.findings.selection import Selection, evaluate_all, evaluators
from express_path_cli.nat.crossed_nats import CrossedNat, NatKind
from express_path_cli.nat.metrics import Meter
from express_path_cli.sources.source import Source
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import UNDETERMINED, show_failures_and_notes
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.tables import Terminal
from express_path_cli.terminal.texts import count_text, duration_text, rate_text, share_text, span_text
from express_path_cli.traffic.charts import as_text_chart
from express_path_cli.traffic.diagnosing import HOURS, NatDiagnosis, Timing, diagnose_all, nats_to_diagnose, timing
from express_path_cli.traffic.symptoms import (
    BAND,
    MANY_DROPS,
    Diagnosis,
    MeterState,
    Severity,
    Symptom,
    SymptomFinding,
    highest,
    shortest_plateau,
)

_when = partial(typer.Option, rich_help_panel="When to look at")
EXAMPLES = """
express-path diagnose  # every NAT on a flagged path, the last 24 hours
express-path diagnose subnet-0a1b2c3d4e5f60718 --hours 3  # the NATs that this subnet crosses
express-path diagnose --from 2026-03-01 --to 2026-03-03 --format json  # an incident, in UTC
"""


Named = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME",
        help="Only the NATs that the subnets of this subnet, route table, or VPC cross, by its ID or Name tag. Default: "
        "those on all flagged paths.",
    ),
]
Hours = Annotated[
    int | None,
    _when(
        min=1,
        max=455 * 24,
        metavar="NUMBER",
        help=f"How many hours to look back, from --to or from now. Default: {HOURS}.",
    ),
]
Since = Annotated[
    str | None,
    _when("--from", metavar="TIME", help="The start, in ISO 8601. Without a time zone, it is UTC."),
]
Until = Annotated[str | None, _when("--to", metavar="TIME", help="The end. Default: now.")]


@taking(accounts=ManyAccounts)
def diagnose(
    *,
    named: Named = None,
    accounts: ManyAccounts,
    parameter: options.Parameters = None,
    hours: Hours = None,
    since: Since = None,
    until: Until = None,
    form: options.TextOrJson = TextFormat.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Show whether a NAT gateway on a flagged path is at its limit.

    Shows a chart of each. Its metrics do not tell how much of the traffic is that of S3 Express. Symptoms are flat throughput, port allocation errors, dropped packets, and peaks near a NAT gateway's maximum. Exit
    status: 0 none, 1 some, 2 something could not be determined; standard error names it, and the rest is reported.
    """
    live = accounts.live
    source, parameters = Source(live=live), options.rule_parameters(parameter)
    during = timing(datetime.now(UTC), hours, since, until)
    with watching(quiet=quiet) as watch:
        network = source.read(parameters, watch)
    show_failures_and_notes(network.failures, network.notes, quiet=quiet)
    verdicts = evaluate_all(network.views, parameters, Selection())
    nats = nats_to_diagnose(network, verdicts, named, source.elsewhere)
    all_rows = rows_of(verdicts, evaluators(network.views, parameters))
    rows = {row.subnet_id: row for row in all_rows if row.is_flagged}
    with watching(quiet=quiet) as watch, TaskPool(live.workers, watch) as task_pool:
        diagnoses = diagnose_all(nats, rows, network, during, task_pool)
    show_failures_and_notes(task_pool.failures, quiet=quiet)
    if network.views or not network.failures:
        _write(diagnoses, during, form)
    if network.failures or task_pool.failures:
        raise typer.Exit(UNDETERMINED)
    raise typer.Exit(any(diagnosis.has_symptoms for diagnosis in diagnoses))


def _write(diagnoses: list[NatDiagnosis], during: Timing, form: TextFormat) -> None:
    if form is TextFormat.JSON:
        echo(as_diagnosis_json(diagnoses, during), nl=False)
    else:
        print_diagnoses(Terminal(), diagnoses, during)


_MAX_SUBNETS = 3
SHARE_UNKNOWN = (
    "NAT metrics do not record destinations. Use express-path cost --flow-logs to measure the S3 Express share."
)


def meter_name(meter: Meter) -> str:
    """Return the NAT gateway's id, with the zone if it is regional."""
    zone = meter.availability_zone
    return f"{meter.nat_gateway_id} in {zone}" if zone else meter.nat_gateway_id


def headline(diagnosed: NatDiagnosis, diagnosis: Diagnosis) -> str:
    """Return the most important sentence; a colon and the commands follow it."""
    if diagnosis.state is MeterState.SYMPTOMS:
        return (
            f"{meter_name(diagnosis.meter)} {_symptom_text(diagnosis.findings[0])}: {_users_text(diagnosed)}; "
            "to move traffic to the free gateway endpoint"
        )
    return f"{_no_symptoms_text(diagnosis)}; {_users_text(diagnosed, 'still ')}, and AWS charges for it by the GB"


def undiagnosed(diagnosed: NatDiagnosis) -> str:
    """Return the most important sentence about a NAT without metrics."""
    why = "its metrics could not be read"
    if diagnosed.nat.kind is NatKind.INSTANCE:
        why = "CloudWatch has no NAT metrics for instances (on it, ethtool -S shows bw_out_allowance_exceeded)"
    elif diagnosed.diagnoses is not None:
        why = "CloudWatch has no metrics for any of its zones"
    return f"{diagnosed.nat.id} was not diagnosed: {why}; {_users_text(diagnosed)}"


def commands(diagnosed: NatDiagnosis) -> list[str]:
    """Return the commands that move S3 Express traffic off the NAT: heals where a runbook exists, else the AWS CLI."""
    return [*heal_commands(diagnosed), *(change.command for change in diagnosed.changes if change.command)]


def heal_commands(diagnosed: NatDiagnosis) -> list[str]:
    """Return the commands that move S3 Express traffic off the NAT with a runbook."""
    region = diagnosed.nat.region
    return [
        f"express-path heal {shlex.quote(subnet_id)} --region {shlex.quote(region)}"
        for subnet_id in diagnosed.subnets_to_heal
    ]


def _symptom_text(finding: SymptomFinding) -> str:
    """Return what the NAT did, to follow its name."""
    if finding.symptom is Symptom.PLATEAU:
        length = duration_text(finding.end - finding.start)
        return f"ran flat at {rate_text(finding.value, finding.unit)} for {length}{_plateau_evidence(finding)}"
    if finding.symptom is Symptom.PEAKS_FLAT:
        length, peak = duration_text(finding.end - finding.start), rate_text(finding.value, finding.unit)
        return f"had 10-second peaks that stayed flat at {peak} for {length}{_plateau_evidence(finding)}"
    if finding.symptom is Symptom.PORT_ALLOCATION_ERRORS:
        return f"had no source port left for {count_text(finding.value, 'connection')}"
    if finding.symptom is Symptom.PACKETS_DROPPED:
        return f"dropped {_dropped_text(finding, 'packet')}"
    return f"peaked at {rate_text(finding.value, finding.unit)}, near the maximum of a NAT gateway"


def _plateau_evidence(finding: SymptomFinding) -> str:
    """Return what shows that the NAT caused a plateau, or that its clients may have."""
    losses = []
    if finding.evidence.get("droppedPackets"):
        losses.append(_dropped_text(finding, "dropped packet"))
    if port_errors := finding.evidence.get("portAllocationErrors"):
        losses.append(count_text(port_errors, "port allocation error"))
    with_losses = f" with {' and '.join(losses)}" if losses else ""
    if finding.severity is Severity.HIGH:
        return with_losses or ", near the maximum of a NAT gateway"
    if with_losses:
        return f"{with_losses}, so few that the clients may be the limit"
    if "droppedPackets" not in finding.evidence:
        return ", and CloudWatch has no data on dropped packets, so the clients may be the limit"
    return " and dropped nothing, so the clients may be the limit"


def _dropped_text(finding: SymptomFinding, noun: str) -> str:
    dropped, part = count_text(finding.evidence["droppedPackets"], noun), finding.evidence.get("droppedShare")
    return dropped if part is None else f"{dropped} ({share_text(part)})"


def _no_symptoms_text(diagnosis: Diagnosis) -> str:
    """Return what a window without symptoms shows, and how much of it has datapoints."""
    name, part = meter_name(diagnosis.meter), share_text(1 - diagnosis.missing)
    window = "in this window" if part == "100 %" else f"in the {part} of this window with datapoints"
    if diagnosis.state is MeterState.NO_DATA:
        return f"CloudWatch has no datapoints for {name} in this window"
    if diagnosis.state is MeterState.IDLE:
        return f"{name} carried nothing {window}"
    top = rate_text(highest(diagnosis.load.carried), "bit/s")
    return f"{name} shows no sign of saturation {window}: at most {top}"


def _users_text(diagnosed: NatDiagnosis, still: str = "") -> str:
    """Return the subnets whose traffic crosses the NAT, at most three by id."""
    subnets = diagnosed.nat.subnet_ids
    more = f" and {len(subnets) - _MAX_SUBNETS} more" if len(subnets) > _MAX_SUBNETS else ""
    verb = "uses" if len(subnets) == 1 else "use"
    noun = "NAT instance" if diagnosed.nat.kind is NatKind.INSTANCE else "NAT gateway"
    return f"{', '.join(subnets[:_MAX_SUBNETS])}{more} {still}{verb} this {noun}"


def finding_numbers(finding: SymptomFinding) -> str:
    """Return a finding's numbers in one line."""
    return ", ".join(_numbers(finding))


def _numbers(finding: SymptomFinding) -> Iterator[str]:
    evidence, symptom = finding.evidence, finding.symptom
    if symptom in (Symptom.PLATEAU, Symptom.PEAKS_FLAT, Symptom.PEAK_NEAR_LIMIT):
        yield rate_text(finding.value, finding.unit)
    if symptom in (Symptom.PLATEAU, Symptom.PEAKS_FLAT):
        usual = evidence.get("usualJitter")
        compared = f"usually {share_text(usual)}" if usual else "no other traffic to compare with"
        yield f"jitter {share_text(evidence['jitter'])} ({compared})"
    if evidence.get("droppedPackets") and symptom is not Symptom.PORT_ALLOCATION_ERRORS:
        yield _dropped_text(finding, "dropped packet") + _threshold_text(evidence.get("droppedShare"))
    if (port_errors := evidence.get("portAllocationErrors")) and symptom is not Symptom.PACKETS_DROPPED:
        yield count_text(port_errors, "port allocation error")
    if (peak := evidence.get("peakBitsPerSecond")) and symptom in (Symptom.PLATEAU, Symptom.PACKETS_DROPPED):
        yield f"10-second peak {rate_text(peak, 'bit/s')}"
    if (most := evidence.get("activeConnections")) and symptom is Symptom.PORT_ALLOCATION_ERRORS:
        yield f"up to {count_text(most, 'active connection')} (an address supports 55,000 to one destination)"


def _threshold_text(dropped_share: float | None) -> str:
    """Return whether the share of dropped packets is one at which AWS suspects a problem."""
    if dropped_share is None:
        return ""
    relation = "above" if dropped_share > MANY_DROPS else "not above"
    return f", {relation} the {100 * MANY_DROPS:g} % at which AWS suspects a problem"


SCHEMA_VERSION = 1


def as_diagnosis_json(nats: Sequence[NatDiagnosis], during: Timing) -> str:
    """Return one document; meters is null if metrics could not be read, and for a NAT instance, which has none."""
    document = {
        "meaning": SHARE_UNKNOWN,
        "start": during.start.isoformat(),
        "end": during.end.isoformat(),
        "period": during.period,
        "shortestPlateau": shortest_plateau(timedelta(seconds=during.period)).total_seconds(),
        "nats": [_nat(nat) for nat in nats],
    }
    return json_document(SCHEMA_VERSION, document)


def _nat(diagnosed: NatDiagnosis) -> dict[str, Any]:
    diagnoses = diagnosed.diagnoses
    return {
        **diagnosed.nat.fields(),
        "healCommands": heal_commands(diagnosed),
        "changes": [
            {"text": change.advice, "command": change.command, "patches": dict(change.patches)}
            for change in diagnosed.changes
        ],
        "sentence": None if diagnoses else undiagnosed(diagnosed),
        "meters": None if diagnoses is None else [_meter(diagnosed, diagnosis) for diagnosis in diagnoses],
    }


def _meter(diagnosed: NatDiagnosis, diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "availabilityZone": diagnosis.meter.availability_zone,
        "state": diagnosis.state,
        "missing": diagnosis.missing,
        "sentence": headline(diagnosed, diagnosis),
        "findings": [_finding(finding) for finding in diagnosis.findings],
    }


def _finding(finding: SymptomFinding) -> dict[str, Any]:
    return {
        "symptom": finding.symptom,
        "severity": finding.severity,
        "start": finding.start.isoformat(),
        "end": finding.end.isoformat(),
        "value": finding.value,
        "unit": finding.unit,
        "evidence": dict(finding.evidence),
    }


_SEVERITY_STYLES = {Severity.HIGH: "bold red", Severity.MEDIUM: "yellow", Severity.LOW: "dim"}
_STATE_STYLES = {
    MeterState.SYMPTOMS: "bold red",
    MeterState.NO_SIGN: "green",
    MeterState.IDLE: "dim",
    MeterState.NO_DATA: "dim",
}
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
        window = (
            f"{span_text(during.start, during.end)}, in periods of {duration_text(timedelta(seconds=during.period))}."
        )
        console.print(Text(f"{window} {_unseen(during)} {SHARE_UNKNOWN}", "dim"))
    else:
        console.print("No selected path to S3 Express crosses a NAT, so there is nothing to diagnose.")


def _unseen(during: Timing) -> str:
    """Return which limits the window's resolution hides."""
    shortest = duration_text(shortest_plateau(timedelta(seconds=during.period)))
    return f"A limit of less than {shortest}, or with variations of more than {BAND:.0%}, cannot be seen at this resolution."


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
    all_commands = commands(diagnosed)
    for command in all_commands[:_MAX_LINES]:
        console.print(Text(f"  {command}", "cyan"), soft_wrap=True)
    if len(all_commands) > _MAX_LINES:
        console.print(Text(f"  and {len(all_commands) - _MAX_LINES} more commands; --format json lists all"))
    if any(change.patches for change in diagnosed.changes):
        console.print(Text("  --format json also has patches for CloudFormation and Terraform", "dim"))


def _findings(findings: Sequence[SymptomFinding]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column()
    for finding in findings[:_MAX_LINES]:
        table.add_row(Text(finding.severity, _SEVERITY_STYLES[finding.severity]), Text(_finding_text(finding)))
    if len(findings) > _MAX_LINES:
        table.add_row("", f"and {len(findings) - _MAX_LINES} more; --format json lists all")
    return table


def _finding_text(finding: SymptomFinding) -> str:
    symptom = finding.symptom.replace("_", " ").lower()
    return f"{symptom}, {span_text(finding.start, finding.end)}: {finding_numbers(finding)}"
