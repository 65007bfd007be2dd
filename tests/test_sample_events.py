"""The sample events in events/ have the same structure as the events of the sandbox."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from express_path.adapters.config_rule.events import parse_event
from sandbox.config_items.items import KIND_OF
from sandbox.config_items.notifications import SUMMARY_KEYS
from sandbox.config_loop import ConfigLoop
from sandbox.server import Sandbox
from tests.support.rule import RULE

EVENTS = Path(__file__).parents[1] / "events"
FILES = sorted(EVENTS.glob("*.json"))
INVENTED = re.compile(r"-0{15,16}[0-9a-f]{1,2}$")
ANY_ID = re.compile(r"\b(?:vpc|subnet|rtb|rtbassoc|nat|igw|vpce|eni|eipalloc|pl)-[0-9a-f]{8,}")


def load(name: str) -> dict[str, Any]:
    """Return a sample event by its file name without suffix."""
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return event


def invoking(event: dict[str, Any]) -> dict[str, Any]:
    """Return the invoking event of an event."""
    parsed: dict[str, Any] = json.loads(event["invokingEvent"])
    return parsed


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_function_parses_the_sample(path: Path) -> None:
    """The function can parse every sample."""
    event = json.loads(path.read_text())
    assert parse_event(event).rule_name == event["configRuleName"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_ids_are_invented(path: Path) -> None:
    """No sample has real ids, tokens, or accounts."""
    text = path.read_text()
    assert all(INVENTED.search(found) for found in ANY_ID.findall(text))
    assert set(re.findall(r"\b[0-9]{12}\b", text)) <= {"123456789012"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sample_is_described(path: Path) -> None:
    """The folder's README describes each sample."""
    assert f"`{path.name}`" in (EVENTS / "README.md").read_text()


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


def test_deleted_and_left_scope_differ() -> None:
    """A deletion has its own status, while leaving the scope sets a flag."""
    deleted, left = load("subnet-deleted"), load("subnet-left-scope")
    assert invoking(deleted)["configurationItem"]["configurationItemStatus"] == "ResourceDeleted"
    assert (deleted["eventLeftScope"], left["eventLeftScope"]) == (False, True)
    assert invoking(left)["configurationItem"]["configuration"] is not None


def test_interface_samples_say_nothing_else() -> None:
    """The diffs of the interface samples name a relationship, and one also the number of free addresses."""
    names = [
        set(invoking(load(f"subnet-network-interface-created{suffix}"))["configurationItemDiff"]["changedProperties"])
        for suffix in ("", "-addresses-counted")
    ]
    assert names == [{"Relationships.0"}, {"Relationships.0", "Configuration.AvailableIpAddressCount"}]


def test_oversized_sample_is_a_summary() -> None:
    """The oversized sample has the keys of a summary and the type of the change."""
    assert set(invoking(load("route-table-oversized"))["configurationItemSummary"]) == {*SUMMARY_KEYS, "changeType"}
