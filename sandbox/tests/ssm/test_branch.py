"""aws:branch.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-branch-condition.html
"""

from collections.abc import Callable
from typing import Any

import pytest

PARAMETERS = {
    "Text": {"type": "String", "default": "Windows"},
    "Other": {"type": "String", "default": "windows"},
}
Run = Callable[..., dict[str, Any]]
Statuses = Callable[[dict[str, Any]], dict[str, str]]


def nap(name: str, **properties: object) -> dict[str, Any]:
    """Return a step that does nothing."""
    return {"name": name, "action": "aws:sleep", "inputs": {"Duration": "PT1S"}, **properties}


def choose(*choices: dict[str, Any], default: str | None = None, **properties: object) -> dict[str, Any]:
    """Return a branch."""
    inputs = {"Choices": list(choices)} | ({"Default": default} if default else {})
    return {"name": "choose", "action": "aws:branch", "inputs": inputs, **properties}


def text(value: str) -> dict[str, str]:
    """Return a condition on the parameter Text."""
    return {"Variable": "{{ Text }}", "StringEquals": value}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (text("Windows"), True),
        (text("windows"), False),
        (text("{{ Other }}"), False),
    ],
)
def test_jumps_where_a_choice_is_true(run: Run, outcome: Statuses, condition: dict[str, Any], *, holds: bool) -> None:
    """StringEquals compares a parameter with a text or another parameter, and is case-sensitive."""
    branch = choose({**condition, "NextStep": "chosen"}, default="other")
    statuses = outcome(run(branch, nap("other", isEnd=True), nap("chosen"), parameters=PARAMETERS))
    assert (statuses["chosen"], statuses["other"]) == (("Success", "Pending") if holds else ("Pending", "Success"))


def test_first_true_choice_wins(run: Run, outcome: Statuses) -> None:
    """Choices are evaluated in order; the automation continues with the step of the first true one."""
    choices = [
        {**text(value), "NextStep": name} for value, name in (("Linux", "a"), ("Windows", "b"), ("Windows", "c"))
    ]
    statuses = outcome(run(choose(*choices), *(nap(name, isEnd=True) for name in "dabc"), parameters=PARAMETERS))
    assert [name for name in "abcd" if statuses[name] == "Success"] == ["b"]


def test_goes_on_where_no_choice_is_true_and_there_is_no_default(run: Run, outcome: Statuses) -> None:
    """Without Default, the next step of the runbook runs."""
    branch = choose({**text("Linux"), "NextStep": "chosen"})
    statuses = outcome(run(branch, nap("next", isEnd=True), nap("chosen"), parameters=PARAMETERS))
    assert (statuses["next"], statuses["chosen"]) == ("Success", "Pending")


@pytest.mark.parametrize(("value", "chosen"), [("Linux", "Pending"), ("Windows", "Success")])
def test_is_end_ends_only_where_no_choice_is_true(run: Run, outcome: Statuses, value: str, chosen: str) -> None:
    """With isEnd and without Default, the automation ends after the branch if no choice is true."""
    branch = choose({**text(value), "NextStep": "chosen"}, isEnd=True)
    execution = run(branch, nap("chosen"), parameters=PARAMETERS)
    assert outcome(execution)["chosen"] == chosen
    assert execution["AutomationExecutionStatus"] == "Success"


def test_output_that_was_not_found_equals_nothing(run: Run, outcome: Statuses) -> None:
    """If a property does not exist, as in AWS's own examples, the comparison is false.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-branch-condition.html (Platform of an
    instance), https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html (noSnapshotFound)
    """
    look = {
        "name": "look",
        "action": "aws:executeAwsApi",
        "inputs": {"Service": "ec2", "Api": "DescribeVpcs"},
        "outputs": [{"Name": "Tag", "Selector": "$.Vpcs[0].Tags[0].Value", "Type": "String"}],
    }
    condition = {"Variable": "{{ look.Tag }}", "StringEquals": "", "NextStep": "chosen"}
    execution = run(look, choose(condition, isEnd=True), nap("chosen"))
    assert outcome(execution)["chosen"] == "Pending"
    assert execution["StepExecutions"][1]["Inputs"]["Choices"].count('"Variable":""') == 1
