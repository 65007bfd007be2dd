"""Check whether AWS Config's recorder lets the rule be deployed and invoked."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from express_path.adapters.aws import pages
from express_path_cli.installation.answers import Answer, State
from express_path_cli.installation.recorder import (
    RecorderStatus,
    check_frequency,
    check_last_recording,
    check_recording,
    check_types,
    read_bucket,
    read_recorder,
    read_recorder_status,
)
from express_path_cli.org.place import Place
from express_path_cli.org.reasons import CheckReason, Problem

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient

_INTERNAL = "INTERNAL"
"""The scope of recorders whose items rules do not get, unlike PAID.

https://docs.aws.amazon.com/config/latest/APIReference/API_ConfigurationRecorder.html
"""


def recorder_problems(place: Place) -> Iterator[Problem]:
    """Yield what is wrong with the recorder. Raise ApiError, RecordError."""
    config = place.aws.config
    recorder, status = read_recorder(config), read_recorder_status(config)
    if recorder is None or status is None:
        yield _no_recorder(config)
        return
    yield from _stopped(config, status)
    for reason, answer in (
        (CheckReason.RECORDER_FAILING, check_last_recording(status) if status.recording else None),
        (CheckReason.RECORDER_TYPES, check_types(recorder)),
        (CheckReason.RECORDER_DAILY, check_frequency(recorder)),
    ):
        yield from _problem(reason, answer)


def _no_recorder(config: "ConfigServiceClient") -> Problem:
    """Return the problem of a Region without a customer managed recorder, which may have one of another AWS service.

    Without a customer managed one, PutConfigRule fails with NoAvailableConfigurationRecorderException (botocore model).
    """
    internal = [str(row["name"]) for row in _recorders(config) if row.get("recordingScope") == _INTERNAL]
    if internal:
        return Problem(
            CheckReason.RECORDER_INTERNAL,
            f"the only recorder is {', '.join(internal)}, which another AWS service owns: AWS Config has no recorder "
            "for rules",
        )
    return Problem(CheckReason.RECORDER_MISSING, "AWS Config has no recorder: rules cannot be deployed or invoked")


def _recorders(config: "ConfigServiceClient") -> list[dict[str, object]]:
    """Read all recorders, also those of other AWS services, which DescribeConfigurationRecorders does not return."""
    rows = pages(config, "config", "list_configuration_recorders", "ConfigurationRecorderSummaries")
    return [dict(row) for row in rows]


def _stopped(config: "ConfigServiceClient", status: RecorderStatus) -> Iterator[Problem]:
    """Yield a problem if the recorder is off. It cannot be started without a delivery channel."""
    for problem in _problem(CheckReason.RECORDER_STOPPED, check_recording(status)):
        channel = "" if read_bucket(config) else "; there is no delivery channel, without which it cannot start"
        yield Problem(problem.reason, problem.finding + channel)


def _problem(reason: CheckReason, answer: Answer | None) -> Iterator[Problem]:
    if answer and answer.state is not State.OK:
        yield Problem(reason, answer.finding)
