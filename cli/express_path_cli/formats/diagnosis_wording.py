"""A diagnosis in sentences: what every format says in the same words."""

from collections.abc import Iterator

from express_path_cli.diagnosis.diagnosing import NatDiagnosis
from express_path_cli.diagnosis.symptoms import Diagnosis, State
from express_path_cli.diagnosis.symptoms_findings import MANY_DROPS, Finding, Severity, Symptom
from express_path_cli.diagnosis.symptoms_load import highest
from express_path_cli.flagged_nats import NatKind
from express_path_cli.formats.chart_scale import count, duration, rate, share

_LISTED = 3
SHARE_UNKNOWN = (
    "NAT metrics do not record destinations: express-path cost --flow-logs measures the share of S3 Express."
)


def name(diagnosis: Diagnosis) -> str:
    """The NAT gateway, with its zone where it is regional."""
    gateway_id, zone = diagnosis.meter
    return f"{gateway_id} in {zone}" if zone else gateway_id


def headline(told: NatDiagnosis, diagnosis: Diagnosis) -> str:
    """The sentence that a person needs; a colon and heal_commands end it."""
    if diagnosis.state is State.SYMPTOMS:
        return (
            f"{name(diagnosis)} {_clause(diagnosis.findings[0])}: {_crossing(told)}; "
            "the free gateway endpoint takes that traffic off"
        )
    return f"{_nothing(diagnosis)}; {_crossing(told, 'still ')}, which is paid for by the GB"


def undiagnosed(told: NatDiagnosis) -> str:
    """The same, where there are no metrics to tell from."""
    why = "its metrics could not be read"
    if told.nat.kind is NatKind.INSTANCE:
        why = "CloudWatch has no NAT metrics of an instance; its ENA driver counts bw_out_allowance_exceeded"
    elif told.diagnoses is not None:
        why = "CloudWatch has metrics of none of its zones"
    return f"{told.nat.id} is not diagnosed: {why}; {_crossing(told)}"


def heal_commands(told: NatDiagnosis) -> list[str]:
    """The commands that take S3 Express off the NAT."""
    return [f"express-path heal {subnet_id} --region {told.nat.region}" for subnet_id in told.heals]


def _clause(finding: Finding) -> str:
    """What the NAT did, after its name."""
    if finding.symptom is Symptom.PLATEAU:
        flat = f"ran flat at {rate(finding.value, finding.unit)} for {duration(finding.end - finding.start)}"
        return f"{flat} {_meanwhile(finding)}"
    if finding.symptom is Symptom.PORT_ALLOCATION_ERRORS:
        return f"had no source port left for {count(finding.value, 'connection')}"
    if finding.symptom is Symptom.PACKETS_DROPPED:
        return f"dropped {_dropped(finding, 'packet')}"
    return f"peaked at {rate(finding.value, finding.unit)}, near the most that a NAT gateway carries"


def _meanwhile(finding: Finding) -> str:
    """What makes a plateau certain, or does not."""
    told = []
    if finding.evidence.get("droppedPackets"):
        told.append(_dropped(finding, "dropped packet"))
    if refused := finding.evidence.get("portAllocationErrors"):
        told.append(count(refused, "refused connection"))
    seen = f"with {' and '.join(told)}" if told else ""
    if finding.severity is Severity.HIGH:
        return seen or "near the most that a NAT gateway carries"
    if seen:
        return f"{seen}, so few that it may be a limit of its clients instead"
    if "droppedPackets" not in finding.evidence:
        return "and CloudWatch does not know whether it dropped packets, so it may be a limit of its clients instead"
    return "and dropped nothing, so it may be a limit of its clients instead"


def _dropped(finding: Finding, noun: str) -> str:
    dropped, part = count(finding.evidence["droppedPackets"], noun), finding.evidence.get("droppedShare")
    return dropped if part is None else f"{dropped} ({share(part)})"


def _nothing(diagnosis: Diagnosis) -> str:
    """What a window without symptoms tells, and of how much of it that is known."""
    part = share(1 - diagnosis.missing)
    known = " in this window" if part == "100 %" else f" in the {part} of this window that CloudWatch knows"
    if diagnosis.state is State.NO_DATA:
        return f"CloudWatch has no datapoints of {name(diagnosis)} in this window"
    if diagnosis.state is State.IDLE:
        return f"{name(diagnosis)} carried nothing{known}"
    top = rate(highest(diagnosis.load.carried), "bit/s")
    return f"{name(diagnosis)} shows no sign of saturation{known}: at most {top}"


def _crossing(told: NatDiagnosis, still: str = "") -> str:
    """Whose traffic crosses the NAT, as many as a sentence holds."""
    subnets = told.nat.subnet_ids
    more = f" and {len(subnets) - _LISTED} more" if len(subnets) > _LISTED else ""
    verb = "reaches" if len(subnets) == 1 else "reach"
    return f"{', '.join(subnets[:_LISTED])}{more} {still}{verb} S3 Express through it"


def measured(finding: Finding) -> str:
    """A finding's numbers, in one line."""
    return ", ".join(_numbers(finding))


def _numbers(finding: Finding) -> Iterator[str]:
    evidence, symptom = finding.evidence, finding.symptom
    if symptom in (Symptom.PLATEAU, Symptom.PEAK_NEAR_LIMIT):
        yield rate(finding.value, finding.unit)
    if symptom is Symptom.PLATEAU:
        usual = evidence.get("usualJitter")
        yield f"steps of {share(evidence['jitter'])}" + (f" where {share(usual)} is usual" if usual else "")
    if evidence.get("droppedPackets") and symptom is not Symptom.PORT_ALLOCATION_ERRORS:
        yield _dropped(finding, "dropped packet") + _compared(evidence.get("droppedShare"))
    if (refused := evidence.get("portAllocationErrors")) and symptom is not Symptom.PACKETS_DROPPED:
        yield count(refused, "port allocation error")
    if (peak := evidence.get("peakBitsPerSecond")) and symptom in (Symptom.PLATEAU, Symptom.PACKETS_DROPPED):
        yield f"10-second peak {rate(peak, 'bit/s')}"
    if (most := evidence.get("activeConnections")) and symptom is Symptom.PORT_ALLOCATION_ERRORS:
        yield f"up to {count(most, 'active connection')}, of which each address holds 55,000 to one destination"


def _compared(part: float | None) -> str:
    """Dropped packets beside the share from which on AWS suspects a problem."""
    if part is None:
        return ""
    relation = "above" if part > MANY_DROPS else "not above"
    return f", {relation} the {100 * MANY_DROPS:g} % from which on AWS suspects a problem"
