"""The stack's parameters and outputs as a person meets them: described, grouped, constrained."""

import re
import tomllib
from typing import Any

import pytest

from tests.template.expand import ROOT, Expanded, source

PARAMETERS: dict[str, dict[str, Any]] = source()["Parameters"]
INTERFACE: dict[str, Any] = source()["Metadata"]["AWS::CloudFormation::Interface"]


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameter_is_described_and_constrained(name: str) -> None:
    """Each parameter says what it is for, and takes only values or a pattern that it names."""
    parameter = PARAMETERS[name]
    assert len(parameter["Description"]) > 20
    assert ("AllowedValues" in parameter) != ("AllowedPattern" in parameter)
    assert ("ConstraintDescription" in parameter) == ("AllowedPattern" in parameter)


@pytest.mark.parametrize("name", PARAMETERS)
def test_default_is_allowed(name: str, allows: Any) -> None:  # noqa: ANN401 -- a fixture's function
    """Every parameter has a default, and it is a value that the parameter allows."""
    assert allows(name, str(PARAMETERS[name]["Default"]))


def test_every_parameter_is_shown_once_with_a_label() -> None:
    """The console's form groups all parameters and labels each."""
    grouped = [name for group in INTERFACE["ParameterGroups"] for name in group["Parameters"]]
    assert sorted(grouped) == sorted(PARAMETERS)
    assert INTERFACE["ParameterLabels"].keys() == PARAMETERS.keys()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("RuleName", "s" * 64, True),
        ("RuleName", "s" * 65, False),
        ("RuleName", "s3express no nat", False),
        ("AlarmTopicArn", "arn:aws:sns:eu-west-1:123456789012:alarms", True),
        ("AlarmTopicArn", "arn:aws:sqs:eu-west-1:123456789012:alarms", False),
        ("ReservedConcurrency", "10", True),
        ("ReservedConcurrency", "0", False),
        ("PermissionsBoundaryArn", "arn:aws:iam::123456789012:policy/team/boundary", True),
        ("PermissionsBoundaryArn", "arn:aws:iam::123456789012:role/boundary", False),
        ("EvaluationFrequency", "Daily", False),
    ],
)
def test_parameter_takes_what_aws_takes(name: str, value: str, *, expected: bool, allows: Any) -> None:  # noqa: ANN401
    """A value that would fail halfway through a deployment is refused before it starts."""
    assert allows(name, value) is expected


def test_deploying_needs_no_more_capability_than_it_must() -> None:
    """CAPABILITY_IAM is enough, because no role has a name of its own, and samconfig.toml asks for no more."""
    assert "RoleName" not in Expanded().of_type("AWS::IAM::Role")
    config = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))
    assert config["default"]["deploy"]["parameters"]["capabilities"] == "CAPABILITY_IAM"


def test_outputs_lead_to_what_was_made() -> None:
    """The outputs name the rule, the function, its role, its log and its queue."""
    assert {name: each["Value"] for name, each in Expanded().outputs.items()} == {
        "RuleName": "<ConfigRule>",
        "RuleArn": "<ConfigRule.Arn>",
        "FunctionArn": "<EvaluateFunction.Arn>",
        "RoleArn": "<EvaluateRole.Arn>",
        "LogGroupName": "<EvaluateLogGroup>",
        "FailedEventsQueueUrl": "<FailedEventsQueue>",
    }


def test_every_skipped_check_has_its_reason() -> None:
    """A checkov check is skipped beside the resource, with a sentence that says why."""
    metadata = [each.get("Metadata", {}).get("checkov", {}) for each in source()["Resources"].values()]
    skips = [skip for each in metadata for skip in each.get("skip", [])]
    assert skips
    for skip in skips:
        assert re.fullmatch(r"CKV2?_AWS_\d+", skip["id"])
        assert len(skip["comment"].split()) > 5
