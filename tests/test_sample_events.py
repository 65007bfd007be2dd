"""The sample events in events/: the function takes each, and they have the structure of the sandbox's events."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from express_path.adapters.config_rule.events import parse_event
from sandbox.config_items.items import KIND_OF
from sandbox.config_loop import ConfigLoop
from sandbox.server import Sandbox
from tests.support.rule import RULE, Rule

EVENTS = Path(__file__).parents[1] / "events"
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
INVENTED = re.compile(r"-0{15,16}[0-9a-f]{1,2}$")
ANY_ID = re.compile(r"\b(?:vpc|subnet|rtb|rtbassoc|nat|igw|vpce|eni|eipalloc|pl)-[0-9a-f]{8,}")


def invoking(event: dict[str, Any]) -> dict[str, Any]:
    """Return the invoking event of an event."""
    parsed: dict[str, Any] = json.loads(event["invokingEvent"])
    return parsed


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sample_is_parsed(path: Path) -> None:
    """Every sample is a valid event for the function, of the rule with its name."""
    event = parse_event(json.loads(path.read_text()))
    assert event.rule_name == "s3express-no-nat-path"
    assert (event.item is None) is path.name.startswith("scheduled")
    assert event.is_oversized is path.name.endswith("-oversized.json")
    assert event.left_scope is path.name.endswith("-left-scope.json")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sample_is_evaluated(sandbox: Sandbox, path: Path) -> None:
    """Every sample is evaluated in an empty account. Samples that the rule ignores make no calls."""
    rule = Rule(sandbox)
    token = rule.loop.results.issue_token(rule.loop.rule.name)
    sandbox.calls.clear()
    answer = rule.invoke({**json.loads(path.read_text()), "resultToken": token})
    assert rule.answers([answer]) == EVALUATED.get(path.name, {})
    assert (list(sandbox.calls) == []) is (path.name in DROPPED)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_ids_are_invented(path: Path) -> None:
    """No sample has real ids, tokens, or accounts."""
    text = path.read_text()
    assert all(INVENTED.search(found) for found in ANY_ID.findall(text))
    assert set(re.findall(r"\b[0-9]{12}\b", text)) <= {"123456789012"}


def test_every_sample_is_explained() -> None:
    """The README's table has one row for each file, and no other rows."""
    rows = (EVENTS / "README.md").read_text(encoding="utf-8").splitlines()
    explained = {row.split("`")[1] for row in rows if row.startswith("| `")}
    assert explained == {path.name for path in FILES}
    assert {*EVALUATED, *DROPPED} <= explained


def test_all_message_types_are_there() -> None:
    """There is a sample for each message type of the rule and each resource type in its scope."""
    messages = [invoking(json.loads(path.read_text())) for path in FILES]
    assert {message["messageType"] for message in messages} == {
        "ConfigurationItemChangeNotification",
        "OversizedConfigurationItemChangeNotification",
        "ScheduledNotification",
    }
    types = {message["configurationItem"]["resourceType"] for message in messages if "configurationItem" in message}
    assert types == {*RULE.resource_types}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_keys_are_those_of_the_sandbox(path: Path, sandbox: Sandbox) -> None:
    """A sample has the same keys as the sandbox's events, so it cannot become outdated."""
    events: list[dict[str, Any]] = []
    loop = ConfigLoop(sandbox, events.append, rule=RULE)
    loop.baseline()
    loop.deliver()
    sample, made = json.loads(path.read_text()), events[0]
    assert set(sample) - {"ruleParameters"} == set(made)
    item, made_item = invoking(sample).get("configurationItem"), invoking(made)["configurationItem"]
    if item is None:
        return
    assert set(item) == set(made_item)
    kind = KIND_OF[item["resourceType"]]
    assert set(item["configuration"] or {}) <= set(kind.keys)
