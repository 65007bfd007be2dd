"""Questions about AWS Config's recorder and delivery channel."""

from express_path_cli.doctor.check_context import CheckContext
from express_path_cli.installation.checks import (
    CheckResult,
    check_deliveries,
    check_frequency,
    check_last_recording,
    check_recording,
    check_types,
    fail,
)
from express_path_cli.installation.recorder import read_bucket, read_deliveries


def recorder(context: CheckContext) -> CheckResult:
    """Return whether there is a recorder, and it is on."""
    status = context.recorder_status()
    if status is None:
        return fail(
            "AWS Config has no recorder in this Region: rules cannot be deployed or invoked",
            "AWS Config, Settings: set it up in this Region",
        )
    return check_recording(status)


def last_recording(context: CheckContext) -> CheckResult | None:
    """Return whether the recorder works."""
    status = context.recorder_status()
    return check_last_recording(status) if status else None


def recorded_types(context: CheckContext) -> CheckResult | None:
    """Return whether the four resource types are recorded."""
    found = context.recorder()
    return check_types(found) if found else None


def frequency(context: CheckContext) -> CheckResult | None:
    """Return whether they are recorded continuously or once a day."""
    found = context.recorder()
    return check_frequency(found) if found else None


def delivery(context: CheckContext) -> CheckResult | None:
    """Return whether recorded items are delivered."""
    if context.recorder_status() is None:
        return None
    bucket = read_bucket(context.aws.config)
    if bucket is None:
        return fail(
            "AWS Config has no delivery channel, and a recorder cannot start without one",
            "AWS Config, Settings: choose a bucket",
        )
    return check_deliveries(bucket, read_deliveries(context.aws.config))
