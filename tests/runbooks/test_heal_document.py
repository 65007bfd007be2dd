"""docs/heal-and-undo.md matches the code: blockers, which of them can warn, times, settings, and tags."""

import re
from pathlib import Path
from typing import Any

import pytest

from express_path.domain.heal import records as healing
from express_path.domain.heal.approvals import ANSWER_SECONDS, APPROVED_SECONDS
from express_path.domain.heal.claims import CLAIM_SECONDS
from express_path.domain.heal.endpoints import EXPRESS_WEIGHT
from express_path.domain.heal.plan import LOOP_BREAKER, MAX_CONCERNS
from express_path.domain.heal.preflight import EPHEMERAL
from express_path.domain.heal.records import MAY_WARN, Blocker, HealSettings
from tests.support.heals import HEAL, UNDO, runbook

TEXT = (Path(__file__).parents[2] / "docs" / "heal-and-undo.md").read_text(encoding="utf-8")
SECTION = TEXT.partition("## Blockers")[2].partition("\n## ")[0]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in SECTION.splitlines() if line.startswith("|")]
TABLE = {row[0]: row[1:] for row in ROWS[2:]}


def test_each_blocker_has_one_row_and_each_row_a_blocker() -> None:
    """The table lists exactly the blockers of the enum, in the same order."""
    assert [row[0] for row in ROWS[2:]] == [blocker.value for blocker in Blocker]


def test_each_row_says_what_it_means_and_what_to_do() -> None:
    """Each row has a sentence for the meaning and one for the fix."""
    for blocker, (meaning, cure, _) in TABLE.items():
        assert meaning.endswith("."), blocker
        assert cure.endswith("."), blocker


def test_blockers_that_can_warn_are_marked() -> None:
    """Exactly the blockers in MAY_WARN are marked."""
    assert {blocker for blocker, row in TABLE.items() if row[2] == "yes"} == {blocker.value for blocker in MAY_WARN}
    assert {row[2] for row in TABLE.values()} == {"yes", ""}


def test_side_effects_of_a_heal_are_documented() -> None:
    """The document says that connections drop and that the source address changes."""
    section = TEXT.partition("## What breaks")[2].partition("\n## ")[0]
    assert "Open TCP connections to S3 Express drop for a moment" in section
    assert "The source address that policies see changes" in section


def test_numbers_match_the_code() -> None:
    """If a number changes in the code, this test points to the sentence that must change with it."""
    assert (MAX_CONCERNS, CLAIM_SECONDS, LOOP_BREAKER.total_seconds()) == (10, 3600, 24 * 3600)
    assert "A claim lasts an hour" in TEXT
    assert (ANSWER_SECONDS, APPROVED_SECONDS) == (24 * 3600, 3600)
    assert "more than ten times, ten are listed" in SECTION
    assert "answers within a day" in TEXT
    assert "An approval counts for one hour, one heal, and the plan" in TEXT
    assert "by default it names DNS_ATTRIBUTES" in SECTION
    assert HealSettings().warn_only == {Blocker.DNS_ATTRIBUTES}
    assert "healed less than 24 hours ago" in TEXT
    assert f"counts as {EXPRESS_WEIGHT} routes" in TABLE["ROUTE_QUOTA"][0]
    assert f"{EPHEMERAL} back in" in TABLE["NETWORK_ACL"][0]


def test_every_tag_is_named() -> None:
    """The document names every tag that heals use."""
    tags = {value for name, value in vars(healing).items() if name.endswith("_TAG")}
    assert tags <= set(re.findall(r"`(express-path:[a-z]+)`", TEXT))


STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in runbook(HEAL)["mainSteps"]}
CLAIMED = list(STEPS)[list(STEPS).index("confirmPlan") : list(STEPS).index("recordFailed")]
"""The steps from a claim to its end, in their order."""


def test_claim_lasts_longer_than_all_steps_after_it() -> None:
    """A claim does not expire during a run, even if each step takes as long as it can."""
    waiting = [STEPS[name] for name in [*CLAIMED, "recordFailed"] if STEPS[name]["action"] != "aws:branch"]
    assert sum(step["timeoutSeconds"] * step.get("maxAttempts", 1) for step in waiting) < CLAIM_SECONDS


def test_failures_after_a_claim_release_it() -> None:
    """A failed step releases the claim, except the change itself, which is verified."""
    leading = {name: STEPS[name].get("onFailure") for name in CLAIMED if STEPS[name]["action"] != "aws:branch"}
    assert leading.pop("associate") == "step:verifyPath"
    assert set(leading.values()) == {"step:recordFailed"}


@pytest.mark.parametrize("name", [HEAL, UNDO])
def test_message_of_a_failed_run_is_that_of_its_last_step(name: str) -> None:
    """The last step of a failed run names the failed steps, so the steps that lead to it are not critical.

    AWS does not document which step's message becomes that of the run if a failed step leads to another step.
    """
    steps = {step["name"]: step for step in runbook(name)["mainSteps"]}
    release = {HEAL: "recordFailed", UNDO: "markFailed"}[name]
    names = list(steps)
    assert names[names.index(release) + 1] == "fail"
    assert steps["fail"]["isEnd"]
    leading = [step for step in steps.values() if step.get("onFailure") in (f"step:{release}", "step:fail")]
    assert len(leading) > 10
    assert [step["name"] for step in [steps[release], *leading] if step.get("isCritical") is not False] == []


@pytest.mark.parametrize("name", [HEAL, UNDO])
def test_history_is_never_overwritten(name: str) -> None:
    """Attributes of a run's item are written only if they do not exist, and every other write has a condition."""
    writes = [step["inputs"] for step in runbook(name)["mainSteps"] if step["inputs"].get("Service") == "dynamodb"]
    assert {write["Api"] for write in writes} == {"UpdateItem"}
    for write in writes:
        if write["Key"]["id"]["S"].startswith("RUN#"):
            assignments = write["UpdateExpression"].removeprefix("SET ").split("), ")
            assert all("if_not_exists(" in assignment for assignment in assignments)
        elif "DELETE deletedIds" not in write["UpdateExpression"]:
            assert write["ConditionExpression"]


def test_every_ec2_change_follows_a_check_in_the_same_run() -> None:
    """Before each change, the plan function checks that the claim is still held and the change is still needed."""
    names = list(STEPS)
    changing = [name for name in names if STEPS[name]["inputs"].get("Service") == "ec2"]
    assert changing == ["create", "associate"]
    before = names[names.index("findElected") : names.index("create")]
    assert before == ["findElected", "recordCreation", "decideCreate"]
    before = names[names.index("findTarget") : names.index("associate")]
    assert before == ["findTarget", "recordIntent", "decideAssociate"]
