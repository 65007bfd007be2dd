"""What one look of a heal shows, and what it makes a run do."""

from dataclasses import replace
from datetime import UTC, datetime

from express_path.domain.heal.claims import NextStep, Observation, found_instead, next_change
from express_path.domain.heal.records import Action
from tests.support.heal_situation import network, planned
from tests.support.make import endpoint, evaluator


def test_a_run_verifies_where_nothing_is_to_be_changed() -> None:
    """Another run, or another tool, was faster."""
    plan = planned(network())
    assert next_change(plan) is NextStep.CREATE
    assert next_change(replace(plan, action=Action.NOTHING_TO_DO)) is NextStep.VERIFY


def test_what_is_there_instead_of_an_available_endpoint_is_named() -> None:
    """Its state, or that it no longer exists."""
    found = network(endpoints=(endpoint("vpce-1", state="pending"),))
    plan = replace(planned(found), endpoint_id="vpce-1")
    observation = Observation(evaluator(found), plan, None, datetime.now(UTC))
    assert found_instead(observation) == "vpce-1 is pending"
    assert "no longer exists" in found_instead(replace(observation, plan=replace(plan, endpoint_id="vpce-2")))
