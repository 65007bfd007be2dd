"""Is AWS Config recording what the rule waits for."""

from express_path_cli.doctor.answers import Answer, fail
from express_path_cli.doctor.check_context import CheckContext
from express_path_cli.doctor.recorder_checks import (
    judge_deliveries,
    judge_frequency,
    judge_last_recording,
    judge_recording,
    judge_types,
)
from express_path_cli.doctor.recorder_reader import read_bucket, read_deliveries


def recorder(context: CheckContext) -> Answer:
    """Whether there is a recorder, and it is on."""
    status = context.recorder_status()
    if status is None:
        return fail(
            "AWS Config has no recorder in this Region: no rule can be deployed, and nothing invokes one",
            "AWS Config, Settings: set it up for this Region",
        )
    return judge_recording(status)


def last_recording(context: CheckContext) -> Answer | None:
    """Whether the recorder works."""
    status = context.recorder_status()
    return judge_last_recording(status) if status else None


def recorded_types(context: CheckContext) -> Answer | None:
    """Whether the four types are recorded."""
    found = context.recorder()
    return judge_types(found) if found else None


def frequency(context: CheckContext) -> Answer | None:
    """Whether they are recorded continuously or once a day."""
    found = context.recorder()
    return judge_frequency(found) if found else None


def delivery(context: CheckContext) -> Answer | None:
    """Whether what is recorded is delivered."""
    if context.recorder_status() is None:
        return None
    bucket = read_bucket(context.aws.config)
    if bucket is None:
        return fail(
            "AWS Config has no delivery channel, without which no recorder starts",
            "AWS Config, Settings: choose a bucket",
        )
    return judge_deliveries(bucket, read_deliveries(context.aws.config))
