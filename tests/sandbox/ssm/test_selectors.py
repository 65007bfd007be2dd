"""JSONPath as AWS documents it for runbooks.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-outputs-inputs.html
"""

import pytest

from sandbox.ssm.selectors import ABSENT, parse

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
        ("$.Reservations..Mappings..VolumeId", ["vol-0", "vol-1"]),
        ("$.Reservations..Instances..State", [{"Code": 16, "Name": "running"}, {"Code": 80, "Name": "stopped"}]),
        ("$..Name", ["running", "stopped"]),
    ],
)
def test_selects_what_the_examples_of_aws_select(expression: str, selected: object) -> None:
    """A dot takes a child, brackets an item of a list, two dots every value of a name anywhere below."""
    assert parse(expression).select(RESPONSE) == selected


@pytest.mark.parametrize("expression", ["$.Nothing", "$.Reservations[2]", "$.NextToken.Deeper", "$.Reservations.Name"])
def test_finds_nothing_where_there_is_nothing(expression: str) -> None:
    """A child or item that is not there is absent, which is not the same as null."""
    assert parse(expression).select(RESPONSE) is ABSENT


def test_deep_scan_is_always_a_list() -> None:
    """The return type of a deep scan is a list, even where it finds nothing."""
    assert parse("$..Nothing").select(RESPONSE) == []


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "Vpcs",
        ".Vpcs",
        "$Vpcs",
        "$.",
        "$.Vpcs[",
        "$.Vpcs[-1]",
        "$.Vpcs[*]",
        "$.Vpcs[?(@.Id)]",
        "$['Vpcs']",
        "$. Vpcs",
    ],
)
def test_refuses_what_aws_does_not_document(expression: str) -> None:
    """Anything but children, deep scans and indexes is an error, not an empty result."""
    with pytest.raises(ValueError, match="JSONPath"):
        parse(expression)
