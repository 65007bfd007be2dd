"""For any input, the handlers return an answer or raise one of their own errors."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config_rule_sandbox.server import Sandbox
from express_path.adapters.heal_requests import CONTRACT
from express_path.errors import ExpressPathError, RecordError
from express_path.handlers import evaluate, plan_heal
from express_path.healing import rereading
from tests.support.junk import places
from tests.support.network import Private
from tests.support.rule import Context, Rule

Handler = Callable[[Any, Context], Any]
EVENTS = [json.loads(path.read_text()) for path in sorted((Path(__file__).parents[2] / "events").glob("*.json"))]
TEXTS = ("invokingEvent", "ruleParameters")
PLANS = [
    {
        "contract": CONTRACT,
        "action": "plan",
        "subnetId": "subnet-00000000000000001",
        "dryRun": "true",
        "calendarState": "OPEN",
    },
    {"contract": CONTRACT, "action": "verify", "subnetId": "subnet-00000000000000001", "runId": "run-1"},
    {"contract": CONTRACT, "action": "planUndo", "undoRunId": "run-1", "disassociated": "true"},
]


def deep(depth: int) -> list[Any]:
    """Return nested lists."""
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


ODD = (None, True, 0, -1, 10**5000, 1e308, "", "\ud800", "\x00", "subnet-\udfff", "0001-01-01T00:00:00+14:00")
ODD_OBJECTS = ([], [None], [[]], {}, {"": None}, {"resourceType": []}, deep(5000), {"a": deep(300)}, "[" * 99999, "*")
junk = st.one_of(
    st.sampled_from([*ODD, *ODD_OBJECTS]),
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    ),
)


def opened(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event with its JSON texts parsed, so that their contents can be changed."""
    return {key: json.loads(value) if key in TEXTS else value for key, value in event.items()}


def closed(event: Any) -> Any:
    """Return the event with these values as JSON texts again, if they are still part of it."""
    if not isinstance(event, dict):
        return event
    return {key: text(value) if key in TEXTS else value for key, value in event.items()}


def text(value: object) -> object:
    """Return a value as JSON text, or unchanged if Python cannot serialize it."""
    try:
        return json.dumps(value)
    except (RecursionError, ValueError):
        return value


@st.composite
def spoilt(draw: st.DrawFn, events: list[dict[str, Any]]) -> Any:
    """Return a value that is not an event, or an event with up to three values replaced."""
    event = json.loads(json.dumps(draw(st.sampled_from(events))))
    for _ in range(draw(st.integers(0, 3))):
        *above, last = draw(st.sampled_from(list(places(event))))
        at = event
        for step in above:
            at = at[step]
        at[last] = draw(junk)
        if not isinstance(at[last], str | int | float | bool | None):
            break
    return event if draw(st.integers(0, 9)) else draw(junk)


def answered(handler: Handler, event: Any) -> ExpressPathError | None:
    """Return the error with which a handler rejects an event, or None. An error of another kind fails the test."""
    try:
        json.dumps(handler(event, Context()))
    except ExpressPathError as error:
        str(error).encode()
        return error
    return None


UNREADABLE = [
    None,
    True,
    7,
    10**5000,
    "",
    "event",
    "\ud800",
    [],
    [{}],
    deep(5000),
    {"key": deep(5000)},
    {"action": deep(99)},
]


@pytest.mark.parametrize("handler", [evaluate.handler, plan_heal.handler])
@pytest.mark.parametrize("event", UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_is_no_event_at_all(sandbox: Sandbox, handler: Handler, event: object) -> None:
    """Input that is not an event is refused before any call to AWS. The plan function says so as data."""
    error = answered(handler, event)
    if handler is plan_heal.handler:
        assert json.loads(str(error))["code"] == "RECORD"
    else:
        assert isinstance(error, RecordError)
    assert list(sandbox.calls) == []


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(event=spoilt([opened(sample) for sample in EVENTS]))
def test_any_event_of_the_rule(rule: Rule, vpc: Private, event: Any) -> None:
    """Any change to an event with a valid result token gives an answer or one of the handler's own errors."""
    assert vpc.subnet
    token = rule.loop.results.issue_token(rule.loop.rule.name)
    whole = closed(event)
    event = {**whole, "resultToken": token} if isinstance(whole, dict) else whole
    answered(lambda event, _context: rule.invoke(event), event)


@pytest.fixture
def planning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return the plan function as the stack configures it, without waits."""
    monkeypatch.setattr(rereading, "SECONDS_APART", 0)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(event=spoilt(PLANS))
def test_any_event_of_a_runbook(sandbox: Sandbox, planning: None, event: Any) -> None:
    """For invalid input, a runbook's step fails with a message that says what is wrong."""
    assert planning is None
    answered(plan_heal.handler, event)
    assert sandbox.calls.mutating() == []
