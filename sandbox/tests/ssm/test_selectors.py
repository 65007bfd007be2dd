"""JSONPath as AWS documents it for runbooks.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-outputs-inputs.html
"""

import pytest

from sandbox.ssm.values import ABSENT, parse_selector

RESPONSE = {
    "NextToken": "more",
    "Reservations": [
        {
            "Instances": [
                {
                    "Mappings": [{"Ebs": {"DeleteOnTermination": True, "VolumeId": "vol-0"}}],
                    "State": {"Code": 16, "Name": "running"},
                }
            ]
        },
        {"Instances": [{"Mappings": [{"Ebs": {"VolumeId": "vol-1"}}], "State": {"Code": 80, "Name": "stopped"}}]},
    ],
}


@pytest.mark.parametrize(
    ("expression", "selected"),
    [
        ("$", RESPONSE),
        ("$.NextToken", "more"),
        ("$.Reservations[0].Instances[0].State.Code", 16),
        ("$.Reservations[0].Instances[0].Mappings[0].Ebs.DeleteOnTermination", True),
        ("$.Reservations[1].Instances[0].State", {"Code": 80, "Name": "stopped"}),
    ],
)
def test_selects_what_the_examples_of_aws_select(expression: str, selected: object) -> None:
    """A dot selects a child, and brackets select an item of a list."""
    assert parse_selector(expression).select(RESPONSE) == selected


@pytest.mark.parametrize("expression", ["$.Nothing", "$.Reservations[2]", "$.NextToken.Deeper", "$.Reservations.Name"])
def test_finds_nothing_where_there_is_nothing(expression: str) -> None:
    """A missing child or item is absent, which differs from null."""
    assert parse_selector(expression).select(RESPONSE) is ABSENT


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "Vpcs",
        ".Vpcs",
        "$Vpcs",
        "$.",
        "$..Vpcs",
        "$.Vpcs[",
        "$.Vpcs[-1]",
        "$.Vpcs[*]",
        "$.Vpcs[?(@.Id)]",
        "$['Vpcs']",
        "$. Vpcs",
    ],
)
def test_refuses_every_other_operator(expression: str) -> None:
    """A selector with anything except children and indexes is an error, not an empty result."""
    with pytest.raises(ValueError, match="JSONPath"):
        parse_selector(expression)
