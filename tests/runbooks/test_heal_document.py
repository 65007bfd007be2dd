"""docs/healing.md says just what the code does: blockers, which of them may warn, times, settings, and tags."""

import json
import re
from pathlib import Path
from typing import Any

import yaml

from express_path.domain.heal import records as healing
from express_path.domain.heal.approvals import ANSWER_SECONDS, APPROVED_SECONDS
from express_path.domain.heal.claims import CLAIM_SECONDS
from express_path.domain.heal.ledger_findings import LOOP_BREAKER
from express_path.domain.heal.plan import LISTED
from express_path.domain.heal.preflight import EPHEMERAL
from express_path.domain.heal.quotas import EXPRESS_WEIGHT
from express_path.domain.heal.records import MAY_WARN, Blocker, HealSettings
from tests.support.heals import HEAL

TEXT = (Path(__file__).parents[2] / "docs" / "healing.md").read_text(encoding="utf-8")
SECTION = TEXT.partition("## Blockers")[2].partition("\n## ")[0]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in SECTION.splitlines() if line.startswith("|")]
TABLE = {row[0]: row[1:] for row in ROWS[2:]}


def test_each_blocker_has_one_row_and_each_row_a_blocker() -> None:
    """The table and the enum are equal, in the same order."""
    assert [row[0] for row in ROWS[2:]] == [blocker.value for blocker in Blocker]


def test_each_row_says_what_it_means_and_what_to_do() -> None:
    """A reader in a hurry finds a sentence of each."""
    for blocker, (meaning, cure, _) in TABLE.items():
        assert meaning.endswith("."), blocker
        assert cure.endswith("."), blocker


def test_the_four_that_may_warn_are_marked() -> None:
    """And no other."""
    assert {blocker for blocker, row in TABLE.items() if row[2] == "yes"} == {blocker.value for blocker in MAY_WARN}
    assert {row[2] for row in TABLE.values()} == {"yes", ""}


def test_what_breaks_is_said_plainly() -> None:
    """Dropped connections and another source address, in so many words."""
    section = TEXT.partition("## What breaks")[2].partition("\n## ")[0]
    assert "Open TCP connections to S3 Express drop for a moment" in section
    assert "The source address that policies see changes" in section


def test_numbers_are_those_of_the_code() -> None:
    """Whoever changes one of them finds the sentence that tells it."""
    assert (LISTED, CLAIM_SECONDS, LOOP_BREAKER.total_seconds()) == (10, 3600, 24 * 3600)
    assert "A claim lasts an hour" in TEXT
    assert (ANSWER_SECONDS, APPROVED_SECONDS) == (24 * 3600, 3600)
    assert "Ten of one name are listed" in SECTION
    assert "answers within a day" in TEXT
    assert "An approval counts for one hour and one heal." in TEXT
    assert "by default it names DNS_ATTRIBUTES" in SECTION
    assert HealSettings().warn_only == {Blocker.DNS_ATTRIBUTES}
    assert "healed less than 24 hours ago" in TEXT
    assert f"counts as {EXPRESS_WEIGHT} routes" in TABLE["ROUTE_QUOTA"][0]
    assert "{}-{} back in".format(*EPHEMERAL) in TABLE["NETWORK_ACL"][0]


def test_every_tag_is_named() -> None:
    """Tags are how a person tells what heals did."""
    tags = {value for name, value in vars(healing).items() if name.endswith("_TAG")}
    assert tags <= set(re.findall(r"`(express-path:[a-z]+)`", TEXT))


RUNBOOK = Path(__file__).parents[2] / "runbooks" / f"{HEAL}.yaml"
STEPS: dict[str, dict[str, Any]] = {
    step["name"]: step for step in yaml.safe_load(RUNBOOK.read_text(encoding="utf-8"))["mainSteps"]
}
CLAIMED = list(STEPS)[list(STEPS).index("confirmPlan") : list(STEPS).index("finishRun")]
"""The steps from a claim to its end, in their order."""
CLAIMS = ("claim", "claimAgain", "claimLast")


def test_claim_lasts_longer_than_all_that_follows_it() -> None:
    """However slow each step is, no other run may take the table over meanwhile."""
    assert all(STEPS[name]["nextStep"] == CLAIMED[0] for name in CLAIMS)
    waiting = [STEPS[name] for name in [*CLAIMED, "recordFailed"] if STEPS[name]["action"] != "aws:branch"]
    assert sum(step["timeoutSeconds"] * step.get("maxAttempts", 1) for step in waiting) < CLAIM_SECONDS


def test_what_fails_after_a_claim_gives_it_up() -> None:
    """Save the change itself, after which the verdict decides, and an election, which another run may have won."""
    leading = {name: STEPS[name].get("onFailure") for name in CLAIMED if STEPS[name]["action"] != "aws:branch"}
    assert leading.pop("associate") == "step:verifyPath"
    assert leading.pop("elect") == "step:findElected"
    assert leading.pop("recordHealed") is None
    assert set(leading.values()) == {"step:recordFailed"}


def test_claims_are_equal() -> None:
    """The second and the third attempt claim as the first one does, by the plan that was made before them."""
    first, second, third = (json.dumps(STEPS[name]["inputs"]) for name in CLAIMS)
    assert second.replace("{{ turn.", "{{ plan.") == first == third.replace("{{ turnAgain.", "{{ plan.")


def test_every_change_of_ec2_follows_a_look_in_the_same_run() -> None:
    """The plan function checks that the claim is still this run's, and that the change is still needed."""
    names = list(STEPS)
    changing = [name for name in names if STEPS[name]["inputs"].get("Service") == "ec2"]
    assert changing == ["create", "associate"]
    assert names[names.index("create") - 3 : names.index("create")] == ["findElected", "elected", "decideCreate"]
    before = names[names.index("lookAgain") : names.index("associate")]
    assert before == ["lookAgain", "target", "decideAssociate", "recordIntent", "recordTable"]
