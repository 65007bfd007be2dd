"""The forms of IDs: messages and commands contain the IDs of somebody else's dump."""

import pytest

from express_path.domain.network.ids import wrong_form

PREFIXES = {"SubnetId": "subnet", "VpcId": "vpc", "RouteTableId": "rtb", "NatGatewayId": "nat", "PrefixListId": "pl"}


@pytest.mark.parametrize("field", PREFIXES)
def test_an_id_has_the_prefix_of_its_resource(field: str) -> None:
    """Words are allowed after it, since people make dumps anonymous."""
    prefix = PREFIXES[field]
    assert wrong_form(f"{prefix}-0a1b2c3d4e5f60718", field) == ""
    assert wrong_form(f"{prefix}-private-a", field) == ""
    for wrong in ("x-1", prefix, f"{prefix}-"):
        assert wrong_form(wrong, field) == f"an id such as {prefix}-0a1b2c3d4e5f60718"


@pytest.mark.parametrize(
    "rest", ["[/bold]", "1;touch x", "$(touch x)", "1`touch x`", "1 x", "1\nx", "1'x", "\u202e1", "A", "1\x1b[2J"]
)
@pytest.mark.parametrize("field", [*PREFIXES, "GatewayId"])
def test_an_id_is_nothing_that_a_shell_or_a_terminal_interprets(field: str, rest: str) -> None:
    """It is refused, with what is allowed."""
    assert wrong_form(f"{PREFIXES.get(field, 'igw')}-{rest}", field)


@pytest.mark.parametrize(
    ("field", "right", "wrong"),
    [
        ("gatewayId", ["local", "vgw-1", "arn:aws:networkmanager::111122223333:core-network/c"], ["remote"]),
        ("ownerId", ["111122223333", "AWS", "amazon-elb"], ["1111", "amazon ", "aws"]),
        ("region", ["eu-west-1", "us-gov-west-1"], ["eu-west-1a", "EU-WEST-1", "virginia"]),
        ("availabilityZoneId", ["use1-az4"], ["use1-az4\x1b"]),
        ("serviceName", ["com.amazonaws.us-east-1.s3express"], ["com.amazonaws\x85"]),
        ("tagValue", ["any text", "\u202e"], ["a\x1b[31m", "\x9b", "\n"]),
    ],
)
def test_each_field_has_its_form(field: str, right: list[str], wrong: list[str]) -> None:
    """A field that holds no IDs may contain any string without control characters."""
    assert [wrong_form(found, field) for found in right] == [""] * len(right)
    assert all(wrong_form(found, field) for found in wrong)
