"""The sample events in events/: the function takes each, and they have the structure of the sandbox's events."""

import json
from pathlib import Path

import pytest

from config_rule_sandbox.server import Sandbox
from tests.support.rule import Rule

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
OF_THE_ACCOUNT = "block-public-access-turned-on.json"
"""The sample that concerns every subnet, also those that an empty account has."""
DROPPED = {
    "route-table-re-evaluated.json",
    "subnet-network-interface-created.json",
    "subnet-network-interface-created-addresses-counted.json",
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sample_is_evaluated(sandbox: Sandbox, path: Path) -> None:
    """Every sample is evaluated in an empty account. Samples that the rule ignores make no calls."""
    rule = Rule(sandbox)
    default_subnets = [subnet["SubnetId"] for subnet in sandbox.client("ec2").describe_subnets()["Subnets"]]
    every_subnet = dict.fromkeys(default_subnets if path.name == OF_THE_ACCOUNT else [], "NO_ROUTE")
    token = rule.loop.results.issue_token(rule.loop.rule.name)
    sandbox.calls.clear()
    answer = rule.invoke({**json.loads(path.read_text()), "resultToken": token})
    assert rule.answers([answer]) == EVALUATED.get(path.name, every_subnet)
    assert (list(sandbox.calls) == []) is (path.name in DROPPED)


def test_every_sample_is_explained() -> None:
    """The README's table has one row for each file, and no other rows."""
    rows = (EVENTS / "README.md").read_text(encoding="utf-8").splitlines()
    explained = {row.split("`")[1] for row in rows if row.startswith("| `")}
    assert explained == {path.name for path in FILES}
    assert {*EVALUATED, *DROPPED} <= explained
