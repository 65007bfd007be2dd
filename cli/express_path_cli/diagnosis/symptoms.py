"""Whether a NAT gateway that S3 Express traffic crosses holds it up, told from its metrics over a window."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from express_path_cli.diagnosis.symptoms_findings import Finding, Severity, findings_of
from express_path_cli.diagnosis.symptoms_load import Load, highest, load_of
from express_path_cli.metrics.series import Meter, Series


class State(StrEnum):
    """What a window tells as a whole; NO_SIGN is no proof of a good path: that one crosses a NAT and is paid for."""

    SYMPTOMS = "SYMPTOMS"
    NO_SIGN = "NO_SIGN"
    IDLE = "IDLE"
    NO_DATA = "NO_DATA"


class Diagnosis(NamedTuple):
    """What one meter's metrics from start to before end tell; period in seconds, findings the worst first."""

    meter: Meter
    start: datetime
    end: datetime
    period: int
    load: Load
    findings: tuple[Finding, ...]

    @property
    def state(self) -> State:
        """What the window tells as a whole."""
        if any(each.severity is not Severity.LOW for each in self.findings):
            return State.SYMPTOMS
        if not self.load.carried:
            return State.NO_DATA
        return State.NO_SIGN if highest(self.load.carried) else State.IDLE

    @property
    def missing(self) -> float:
        """The share of the window's periods of which CloudWatch has no bytes, from 0 to 1."""
        return max(0.0, 1 - len(self.load.carried) * self.period / (self.end - self.start).total_seconds())


def diagnose(meter: Meter, series: Sequence[Series], start: datetime, end: datetime, period: int) -> Diagnosis:
    """Diagnose one meter out of its series of METRICS, all of one period in seconds."""
    load = load_of((each for each in series if each.meter == meter), period)
    return Diagnosis(meter, start, end, period, load, tuple(findings_of(load, timedelta(seconds=period))))
