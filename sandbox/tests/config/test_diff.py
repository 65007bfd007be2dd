"""configurationItemDiff (https://docs.aws.amazon.com/config/latest/developerguide/example-sns-notification.html)."""

from typing import Any

import pytest

from sandbox.config_items.items import diff


def item(configuration: dict[str, Any] | None, *related: str) -> dict[str, Any]:
    """Return the parts of a configuration item that a diff compares."""
    return {"configuration": configuration, "relationships": [{"resourceId": resource_id} for resource_id in related]}


def test_new_resource_is_one_creation() -> None:
    """For a new resource, the updated value is the whole configuration."""
    assert diff(None, item({"a": 1}, "vpc-1")) == {
        "changedProperties": {
            "Relationships.0": {
                "previousValue": None,
                "updatedValue": {"resourceId": "vpc-1"},
                "changeType": "CREATE",
            },
            "Configuration": {"previousValue": None, "updatedValue": {"a": 1}, "changeType": "CREATE"},
        },
        "changeType": "CREATE",
    }


def test_deleted_resource_is_one_deletion() -> None:
    """For a deleted resource, the previous value is the whole configuration."""
    found = diff(item({"a": 1}, "vpc-1"), item(None))
    assert found["changeType"] == "DELETE"
    assert found["changedProperties"]["Configuration"]["previousValue"] == {"a": 1}
    assert found["changedProperties"]["Relationships.0"]["changeType"] == "DELETE"


@pytest.mark.parametrize(
    ("before", "after", "key", "change"),
    [
        ({"state": "pending"}, {"state": "available"}, "Configuration.State", "UPDATE"),
        ({"state": {"value": "a"}}, {"state": {"value": "b"}}, "Configuration.State.Value", "UPDATE"),
        ({"subnetId": None}, {"subnetId": "s"}, "Configuration.SubnetId", "CREATE"),
        ({"subnetId": "s"}, {}, "Configuration.SubnetId", "DELETE"),
    ],
)
def test_changed_property(before: dict[str, Any], after: dict[str, Any], key: str, change: str) -> None:
    """A property has its path as its name, and each part begins with a capital letter."""
    found = diff(item(before), item(after))
    assert found["changeType"] == "UPDATE"
    assert {name: entry["changeType"] for name, entry in found["changedProperties"].items()} == {key: change}


def test_changed_member_is_removed_and_added() -> None:
    """A changed member of a list is removed and added as a whole. Unchanged members are not listed."""
    before = {"routes": [{"d": "10.0.0.0/8"}, {"d": "0.0.0.0/0", "n": "nat-1"}]}
    after = {"routes": [{"d": "0.0.0.0/0", "n": "nat-2"}, {"d": "10.0.0.0/8"}]}
    assert diff(item(before), item(after))["changedProperties"] == {
        "Configuration.Routes.0": {
            "previousValue": {"d": "0.0.0.0/0", "n": "nat-1"},
            "updatedValue": None,
            "changeType": "DELETE",
        },
        "Configuration.Routes.1": {
            "previousValue": None,
            "updatedValue": {"d": "0.0.0.0/0", "n": "nat-2"},
            "changeType": "CREATE",
        },
    }


def test_nothing_changed() -> None:
    """Equal items have an empty diff, whatever the order of their members."""
    same = diff(item({"a": [1, 2]}, "x", "y"), item({"a": [2, 1]}, "y", "x"))
    assert same == {"changedProperties": {}, "changeType": "UPDATE"}
