"""Decide from its metrics over a window whether a NAT gateway throttles traffic."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from express_path_cli.nat.metrics import Meter, Series
from express_path_cli.traffic.symptoms_findings import Finding, Severity, findings_of
from express_path_cli.traffic.symptoms_load import Load, highest, load_of


class State(StrEnum):
    """The state of a gateway over a window. Even with NO_SIGN the path crosses a NAT, which AWS charges for."""

    SYMPTOMS = "SYMPTOMS"
    NO_SIGN = "NO_SIGN"
    IDLE = "IDLE"
    NO_DATA = "NO_DATA"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The findings in one meter's metrics from start to before end, worst first; period is in seconds."""

    meter: Meter
    start: datetime
    end: datetime
    period: int
    load: Load
    findings: tuple[Finding, ...]

    @property
    def state(self) -> State:
        """The state over the whole window."""
        if any(finding.severity is not Severity.LOW for finding in self.findings):
            return State.SYMPTOMS
        if not self.load.carried:
            return State.NO_DATA
        return State.NO_SIGN if highest(self.load.carried) else State.IDLE

    @property
    def missing(self) -> float:
        """The share of the window's periods without datapoints of bytes, from 0 to 1."""
        return max(0.0, 1 - len(self.load.carried) * self.period / (self.end - self.start).total_seconds())


def diagnose(meter: Meter, series: Sequence[Series], start: datetime, end: datetime, period: int) -> Diagnosis:
    """Diagnose one meter from its series of METRICS, all with one period in seconds."""
    load = load_of((found for found in series if found.meter == meter), period)
    return Diagnosis(meter, start, end, period, load, tuple(findings_of(load, timedelta(seconds=period))))
