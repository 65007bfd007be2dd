"""The rule's parameters: names, values, defaults."""

import pytest

from express_path.domain.verdict.parameters import PARAMETERS, RuleParameters, parse_parameters
from express_path.errors import ParameterError

GOOD = {
    "publicSubnets": {"COMPLIANT": "COMPLIANT", "NON_COMPLIANT": "NON_COMPLIANT", "NOT_APPLICABLE": "NOT_APPLICABLE"},
    "unresolvedEgress": {"NOT_APPLICABLE": "NOT_APPLICABLE", "NON_COMPLIANT": "NON_COMPLIANT"},
    "scope": {"ALL": "ALL", "DIRECTORY_BUCKETS": "DIRECTORY_BUCKETS"},
    "vpcIds": {"vpc-1": frozenset({"vpc-1"}), " vpc-1 ,vpc-2a": frozenset({"vpc-1", "vpc-2a"})},
    "excludeTag": {
        "team": "team",
        "NONE": "",
        "none": "none",
        "team=data=lake": "team=data=lake",
        "a" * 385: "a" * 385,
    },
    "networkRoleArn": {
        "arn:aws:iam::111122223333:role/path/Name+=,.@_-": "arn:aws:iam::111122223333:role/path/Name+=,.@_-",
        "arn:aws-cn:iam::111122223333:role/Name": "arn:aws-cn:iam::111122223333:role/Name",
    },
}
BAD = {
    "publicSubnets": ["compliant", "INSUFFICIENT_DATA", "", " "],
    "unresolvedEgress": ["COMPLIANT", ""],
    "scope": ["BUCKETS", ""],
    "vpcIds": ["", "vpc-1,", "subnet-1", "vpc-", "VPC-1", "vpc-1 vpc-2"],
    "excludeTag": ["", " ", "a" * 386],
    "networkRoleArn": ["", "role/Name", "arn:aws:iam::1:role/Name", "arn:aws:iam::111122223333:user/Name"],
}


def test_without_parameters_the_defaults_hold() -> None:
    """The first value of each row of the documented table."""
    assert parse_parameters({}) == RuleParameters(
        "COMPLIANT", "NOT_APPLICABLE", "ALL", frozenset(), "express-path:exclude", None
    )


def test_every_parameter_is_tested_here() -> None:
    """A new parameter needs good and bad values."""
    assert set(PARAMETERS) == set(GOOD) == set(BAD)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in GOOD.items() for text in texts])
def test_reads_what_is_allowed(name: str, text: str) -> None:
    """Each allowed value sets its field, and no other."""
    read = parse_parameters({name: f" {text} "})
    assert getattr(read, PARAMETERS[name].field) == GOOD[name][text]


@pytest.mark.parametrize(
    ("name", "value"),
    [*((name, value) for name, values in BAD.items() for value in values), ("scope", 1), ("scope", None)],
)
def test_refuses_what_is_not_allowed(name: str, value: object) -> None:
    """The error carries the parameter, the value and what is allowed."""
    with pytest.raises(ParameterError) as raised:
        parse_parameters({name: value})
    assert raised.value.name == name
    assert raised.value.value in (value, str(value).strip())
    assert raised.value.allowed in str(raised.value)


def test_refuses_an_unknown_name() -> None:
    """The error lists the names there are."""
    with pytest.raises(ParameterError, match=r"publicSubnet=.*publicSubnets, unresolvedEgress, scope"):
        parse_parameters({"publicSubnet": "COMPLIANT"})
