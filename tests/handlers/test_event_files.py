"""The function can parse the sample events in events/, and events/README.md describes their effect."""

import json
from pathlib import Path
from typing import Any

import pytest

from express_path.adapters.config_rule.events import parse_event
from sandbox.server import Sandbox
from tests.support.rule import Rule

EVENTS = Path(__file__).parents[2] / "events"
FILES = sorted(EVENTS.glob("*.json"))
# The subnets of the samples do not exist, so the function reports the ones that an item names as DELETED.
EVALUATED = {
    "route-table-association-removed.json": {"subnet-00000000000000005": "DELETED"},
    "subnet-deleted.json": {"subnet-00000000000000004": "DELETED"},
    "subnet-discovered-state-as-object.json": {"subnet-00000000000000001": "DELETED"},
    "subnet-left-scope.json": {"subnet-00000000000000003": "EXCLUDED"},
    "subnet-route-table-replaced.json": {"subnet-00000000000000005": "DELETED"},
}
DROPPED = {
    "subnet-network-interface-created.json",
    "subnet-network-interface-created-addresses-counted.json",
}


def name(path: Path) -> str:
    """Return a file's name."""
    return path.name


def read(path: Path) -> dict[str, Any]:
    """Return an event."""
    event: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return event


@pytest.mark.parametrize("path", FILES, ids=name)
def test_event_is_read(path: Path) -> None:
    """Every sample is a valid event for the function, of the rule with its name."""
    event = parse_event(read(path))
    assert event.rule_name == "s3express-no-nat-path"
    assert (event.item is None) is path.name.startswith("scheduled")
    assert event.is_oversized is path.name.endswith("-oversized.json")
    assert event.left_scope is path.name.endswith("-left-scope.json")


@pytest.mark.parametrize("path", FILES, ids=name)
def test_event_is_evaluated(sandbox: Sandbox, path: Path) -> None:
    """Every sample is evaluated in an empty account. Samples that the rule ignores make no calls."""
    rule = Rule(sandbox)
    token = rule.loop.results.issue_token(rule.loop.rule.name)
    sandbox.calls.clear()
    answer = rule.invoke({**read(path), "resultToken": token})
    assert rule.answers([answer]) == EVALUATED.get(path.name, {})
    assert (list(sandbox.calls) == []) is (path.name in DROPPED)


def test_every_expectation_is_of_a_file() -> None:
    """The expectations above cover every file, and there is a sample of each message type."""
    assert {*EVALUATED, *DROPPED} <= {path.name for path in FILES}
    kinds = {json.loads(read(path)["invokingEvent"])["messageType"] for path in FILES}
    assert kinds == {
        "ConfigurationItemChangeNotification",
        "OversizedConfigurationItemChangeNotification",
        "ScheduledNotification",
    }


def test_every_file_is_explained() -> None:
    """The README's table has one row for each file, and no other rows."""
    rows = (EVENTS / "README.md").read_text(encoding="utf-8").splitlines()
    explained = {row.split("`")[1] for row in rows if row.startswith("| `")}
    assert explained == {path.name for path in FILES}
