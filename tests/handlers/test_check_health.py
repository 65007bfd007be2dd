"""The function that checks after each sweep: what it takes for a sweep, and that it fails if something does not work."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from config_rule_sandbox.server import Sandbox
from express_path.errors import RecordError, UnhealthyError
from express_path.events.schema import Fault
from express_path.handlers.check_health import faults_of_sweep, handler
from tests.support.rule import Context, Rule

NOW = datetime(2026, 11, 28, 22, tzinfo=UTC)


def ended(time: datetime, **detail: Any) -> dict[str, Any]:
    """Return the event of a sweep that began to read EC2 at this time."""
    found = {"orderingTimestamp": time.isoformat(timespec="milliseconds"), "faults": [], **detail}
    return {"source": "express-path", "detail-type": "SweepCompleted", "detail": found}


def test_what_the_sweep_found_is_a_fault() -> None:
    """The event has what only the sweep can see."""
    fault = {"component": "paths", "problem": "2 paths became unknown"}
    assert faults_of_sweep(ended(NOW), NOW) == []
    assert faults_of_sweep(ended(NOW, faults=[fault]), NOW) == [Fault(**fault)]


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"detail-type": "Scheduled Event", "source": "aws.events", "detail": {}},
        ended(NOW) | {"source": "another"},
        ended(NOW) | {"detail-type": "VerdictSnapshot"},
        ended(NOW) | {"detail": None},
        ended(NOW - timedelta(hours=7)),
        ended(NOW + timedelta(hours=1)),
        ended(NOW, faults=None),
    ],
)
def test_only_the_end_of_a_recent_sweep_counts(event: dict[str, Any]) -> None:
    """Every other event fails the invocation, so it never looks like a sweep. A replay has an old time."""
    with pytest.raises(RecordError):
        faults_of_sweep(event, NOW)


def test_the_function_fails_and_says_what_does_not_work(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    """The event is the one that the rule's function puts on its bus. Without its stack, something does not work."""
    monkeypatch.setenv("STACK_ID", "arn:aws:cloudformation:us-east-1:123456789012:stack/express-path/gone")
    rule = Rule(sandbox)
    rule.sweep()
    [*_, entry] = [row for call in sandbox.calls.of("events", "PutEvents") for row in call.parameters["Entries"]]
    event = {"source": entry["Source"], "detail-type": entry["DetailType"], "detail": json.loads(entry["Detail"])}
    with pytest.raises(UnhealthyError, match=r"^\d parts do not work: .*stack: ") as raised:
        handler(event, Context())
    [line] = [row for row in logged() if row["message"] == "checked"]
    assert [f"{fault['component']}: {fault['problem']}" for fault in line["faults"]] == raised.value.problems
