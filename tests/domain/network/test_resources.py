"""Tags, partitions, and the targets of routes."""

import pytest

from express_path.domain.network.resources import TargetKind, has_tag, partition, subnet_arn, target_ids
from tests.support.make import route, table


@pytest.mark.parametrize(
    ("wanted", "has"),
    [
        ("a", True),
        ("a=b=c", True),
        ("a=b", True),
        ("a=b=d", False),
        ("=", False),
        ("a=", False),
        ("e=", True),
        ("e", True),
    ],
)
def test_keys_and_values_may_hold_an_equals_sign(wanted: str, has: bool) -> None:
    """Every way to split the text into key=value is considered."""
    assert has_tag({"a": "b=c", "a=b": "c", "e": ""}, wanted) is has


@pytest.mark.parametrize(
    ("region", "expected"),
    [
        ("eu-west-1", "aws"),
        ("cn-north-1", "aws-cn"),
        ("us-gov-west-1", "aws-us-gov"),
        ("us-iso-east-1", "aws-iso"),
        ("us-isob-east-1", "aws-iso-b"),
        ("eusc-de-east-1", "aws-eusc"),
    ],
)
def test_a_region_names_its_partition(region: str, expected: str) -> None:
    """The name of a Region starts with that of its partition."""
    assert partition(region) == expected
    assert subnet_arn("123456789012", region, "subnet-1").startswith(f"arn:{expected}:ec2:{region}:123456789012:")


def test_targets_of_a_kind_are_named_once() -> None:
    """They are sorted and unique, however many routes lead to them; a blackhole leads nowhere."""
    default = "0.0.0.0/0"
    tables = [
        table("rtb-1", route(default, "nat-2"), route("192.0.2.0/24", "nat-1"), route("198.51.100.0/24", "igw-1")),
        table("rtb-2", route(default, "nat-2"), route("192.0.2.0/24", "nat-3", state="blackhole")),
    ]
    assert target_ids(tables, TargetKind.NAT_GATEWAY) == ["nat-1", "nat-2"]
    assert target_ids(tables, TargetKind.TRANSIT_GATEWAY) == []


def test_a_kind_has_awss_name() -> None:
    """Texts show the label of a kind."""
    assert (TargetKind.NAT_GATEWAY.label, TargetKind.UNKNOWN.label) == ("NAT gateway", "unknown target")
