"""The result of a check, and the checks of AWS Config's recorder that a check-up and a check of an organization share."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from express_path.adapters.recorder import (
    TRIGGERS,
    Frequency,
    Recorder,
    RecorderStatus,
    Strategy,
    frequency_of,
    records,
    types_problem,
)
from express_path_cli.installation.recorder import Delivery
from express_path_cli.terminal.texts import time_text


class CheckState(StrEnum):
    """The states of a check, best first."""

    OK = "OK"
    WARN = "WARN"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check: a finding in a sentence and, unless it is OK, a fix in words or as a command."""

    state: CheckState
    finding: str
    fix: str = ""
    command: str = ""


def ok(finding: str) -> CheckResult:
    """Return that everything works."""
    return CheckResult(CheckState.OK, finding)


def warn(finding: str, fix: str, command: str = "") -> CheckResult:
    """Return that something works, but not fully, or not for long."""
    return CheckResult(CheckState.WARN, finding, fix, command)


def fail(finding: str, fix: str, command: str = "") -> CheckResult:
    """Return that something does not work."""
    return CheckResult(CheckState.FAIL, finding, fix, command)


def unknown(finding: str, fix: str) -> CheckResult:
    """Return that the state could not be determined."""
    return CheckResult(CheckState.UNKNOWN, finding, fix)


def judged(problems: Iterable[str], fix: str, finding: str) -> CheckResult:
    """Return a failure with the problems, some of which may be empty; if all are, the finding that everything works."""
    problem = "; ".join(filter(None, problems))
    return fail(problem, fix) if problem else ok(finding)


def check_types(recorder: Recorder) -> CheckResult:
    """Return whether the recorder records every type whose changes invoke the rule."""
    how = "add them to" if recorder.strategy is Strategy.INCLUSION else "remove them from the exclusions of"
    fix = f"AWS Config, Settings: {how} the recorded resource types"
    problem = types_problem(recorder)
    if problem:
        return fail(problem, fix)
    rare = [kind for kind in TRIGGERS if not records(recorder, kind)]
    if rare:
        late = "a verdict that their changes turn stays wrong until the next sweep, up to 24 hours later"
        return warn(f"recorder {recorder.name} does not record {', '.join(rare)}: {late}", fix)
    return ok(f"recorder {recorder.name} records every resource type that invokes the rule")


def check_frequency(recorder: Recorder) -> CheckResult | None:
    """Return whether these types are recorded continuously, or None if none is recorded."""
    recorded = [kind for kind in TRIGGERS if records(recorder, kind)]
    daily = [kind for kind in recorded if frequency_of(recorder, kind) is Frequency.DAILY]
    if not recorded:
        return None
    if not daily:
        return ok("changes are recorded continuously")
    return warn(
        f"recorded once a day: {', '.join(daily)}; their changes are evaluated up to a day late",
        "AWS Config, Settings: override the frequency of these types with continuous recording",
    )


def check_recording(status: RecorderStatus) -> CheckResult:
    """Return whether the recorder is on."""
    if status.recording:
        return ok(f"recorder {status.name} is recording")
    since = f" since {time_text(status.changed)}" if status.changed else ""
    return fail(
        f"recorder {status.name} is stopped{since}: changes do not invoke the rule",
        "start it",
        f"aws configservice start-configuration-recorder --configuration-recorder-name {shlex.quote(status.name)}",
    )


def check_last_recording(status: RecorderStatus) -> CheckResult:
    """Return whether the latest recording event succeeded."""
    if not status.fails:
        return ok(f"the last recording event is {status.last_status or 'unknown'}")
    return fail(
        f"the last recording event failed: {status.error or 'AWS Config gives no reason'}",
        f"allow the recorder's role what was denied; "
        f"`aws configservice describe-configuration-recorders` shows the role of {status.name}",
    )


def check_deliveries(bucket: str, deliveries: Sequence[Delivery]) -> CheckResult:
    """Return whether the last deliveries to the bucket and the topic of the delivery channel succeeded.

    https://docs.aws.amazon.com/config/latest/APIReference/API_DeliveryChannelStatus.html
    """
    failed = [delivery for delivery in deliveries if delivery.status.lower() == "failure"]
    if not failed:
        return ok(f"delivers to the bucket {bucket}")
    reasons = "; ".join(f"{delivery.kind}: {delivery.error or 'no reason given'}" for delivery in failed)
    return warn(
        f"the last delivery to the bucket {bucket} or its topic failed: {reasons}",
        "allow AWS Config to write in the policies of the bucket, its key and the topic",
    )
