"""The undo runbook keeps its claim long enough, checks before each change, and records what it did."""

from typing import Any

import pytest

from express_path.domain.heal.claims import CLAIM_SECONDS
from tests.support.heals import UNDO, runbook

API_SECONDS = 25
"""https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-executeAwsApi.html"""
TAKE_TURN, GIVE_UP = "takeTurn", "markFailed"


@pytest.fixture(scope="module")
def steps() -> list[dict[str, Any]]:
    """Return the steps in the order of the file."""
    found: list[dict[str, Any]] = runbook(UNDO)["mainSteps"]
    return found


@pytest.fixture(scope="module")
def after_claim(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the steps after the claim."""
    names = [step["name"] for step in steps]
    return steps[names.index(TAKE_TURN) + 1 :]


def test_claim_lasts_longer_than_all_steps_after_it(after_claim: list[dict[str, Any]]) -> None:
    """A claim does not expire during a run, even if each attempt of each step takes as long as it can."""
    seconds = [
        step.get("timeoutSeconds", API_SECONDS) * step.get("maxAttempts", 1)
        for step in after_claim
        if step["action"] in ("aws:executeAwsApi", "aws:invokeLambdaFunction", "aws:executeScript")
    ]
    assert len(seconds) > 10
    assert sum(seconds) < CLAIM_SECONDS


def test_each_ec2_change_follows_a_check_of_the_claim(after_claim: list[dict[str, Any]]) -> None:
    """Before each change, the plan function confirms that this run still holds the claim and what to change."""
    checked = False
    for step in after_claim:
        if step["inputs"].get("Service") == "ec2":
            assert checked, step["name"]
            checked = False
        checked = checked or step["action"] == "aws:invokeLambdaFunction"


def test_failures_after_the_claim_release_the_table(after_claim: list[dict[str, Any]]) -> None:
    """Each failed step leads to the step that records the failure."""
    leading_on = {
        step["name"]: step.get("onFailure")
        for step in after_claim
        if step["action"] not in ("aws:branch", "aws:sleep") and step["name"] != GIVE_UP
    }
    assert leading_on.pop("fail") is None
    assert leading_on.pop("disassociate") == "step:findRest"
    assert set(leading_on.values()) == {f"step:{GIVE_UP}"}
