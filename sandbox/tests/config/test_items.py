"""Configuration items in AWS Config's format, and the differences between two of them.

https://docs.aws.amazon.com/config/latest/developerguide/resource-config-reference.html has the relationships,
https://github.com/awslabs/aws-config-resource-schema the keys, and
https://docs.aws.amazon.com/config/latest/developerguide/example-sns-notification.html the differences.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from config_rule_sandbox.config.items.differences import diff
from config_rule_sandbox.config.items.items import ItemStyle, Recorded
from config_rule_sandbox.config.recorder import Recorder
from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.server import Sandbox

OLD = ItemStyle(explicit_nulls=True, state_as_object=True)


NEW = ItemStyle(explicit_nulls=False)


def items_of(sandbox: Sandbox, style: ItemStyle) -> dict[str, dict[str, Any]]:
    """Return the items of everything in the sandbox, by resource id."""
    recorder = Recorder(partial(direct_client, sandbox), Recorded(sandbox.account_id, sandbox.region, style))
    return {change.item["resourceId"]: change.item for change in recorder.look()}


def related(item: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the relationships of an item as (name, id)."""
    return [(relationship["name"], relationship["resourceId"]) for relationship in item["relationships"]]


def test_route_table(sandbox: Sandbox, network: Mapping[str, str]) -> None:
    """A route table has its routes and associations, and relationships to its associated subnets and its VPC."""
    table_id = network["rtb-public"]
    item = items_of(sandbox, NEW)[table_id]
    assert item["ARN"] == f"arn:aws:ec2:us-east-1:123456789012:route-table/{table_id}"
    assert (item["resourceType"], item["availabilityZone"]) == ("AWS::EC2::RouteTable", "Not Applicable")
    assert item["tags"] == {"Name": "public"}
    (association,) = item["configuration"]["associations"]
    assert association["subnetId"] == network["public"]
    assert (association["main"], association["associationState"]) == (False, {"state": "associated"})
    expected = {
        "destinationCidrBlock": "0.0.0.0/0",
        "gatewayId": network["igw"],
        "origin": "CreateRoute",
        "state": "active",
    }
    assert expected in item["configuration"]["routes"]
    assert related(item) == [("Contains Subnet", network["public"]), ("Is contained in Vpc", network["vpc"])]


def test_main_table_has_no_subnet(sandbox: Sandbox, network: Mapping[str, str]) -> None:
    """The main association names no subnet: the field is null in older items and absent in newer ones."""
    main_id = network["rtb-main"]
    for style, expected in ((OLD, {"subnetId": None}), (NEW, {})):
        (association,) = items_of(sandbox, style)[main_id]["configuration"]["associations"]
        assert association["main"] is True
        assert {key: value for key, value in association.items() if key == "subnetId"} == expected


@pytest.mark.parametrize(("style", "state"), [(NEW, "available"), (OLD, {"value": "available"})])
def test_state_has_two_shapes(sandbox: Sandbox, network: Mapping[str, str], style: ItemStyle, state: object) -> None:
    """For every type that has one, `state` is a string or an object."""
    items = items_of(sandbox, style)
    for name in ("private", "nat", "vpce-s3", "vpc"):
        assert items[network[name]]["configuration"]["state"] == state


def test_partition_of_china(sandbox: Sandbox) -> None:
    """ARNs in the China Regions have their own partition."""
    recorded = Recorded("123456789012", "cn-north-1", NEW)
    recorder = Recorder(partial(direct_client, sandbox), recorded)
    assert all(change.item["ARN"].startswith("arn:aws-cn:ec2:cn-north-1:") for change in recorder.look())


def item(configuration: dict[str, Any] | None, *related: str) -> dict[str, Any]:
    """Return the parts of a configuration item that a diff compares."""
    return {"configuration": configuration, "relationships": [{"resourceId": resource_id} for resource_id in related]}


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
    """A changed member of a list is removed and added as a whole. Unchanged members are not listed, in any order."""
    assert diff(item({"a": [1, 2]}, "x", "y"), item({"a": [2, 1]}, "y", "x"))["changedProperties"] == {}
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
