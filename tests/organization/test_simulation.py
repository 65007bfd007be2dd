"""A small organization under load: messages are late, repeated, and out of order, and functions fail now and then."""

import pytest

from config_rule_sandbox.server import Sandbox
from tests.organization.simulated.outcome import Outcome, run
from tests.organization.simulated.simulation import Size

pytestmark = pytest.mark.long

REGIONS = ("us-east-1", "eu-north-1")


def check(outcome: Outcome) -> None:
    """Check that everything equals fresh scans after the last sweep, and that nothing was lost before it."""
    assert {subject: rows for subject, rows in outcome.after.items() if rows} == {}
    assert outcome.before["results of AWS Config"] == []
    differing = {row.partition(":")[0] for row in outcome.before["reasons at the consumer"]}
    assert differing <= outcome.unpublished


def test_everything_equals_fresh_scans_at_the_end(sandbox: Sandbox) -> None:
    """Results, findings, gauges, and a consumer's verdicts are right, and nothing is open for a deleted subnet."""
    outcome = run(sandbox, Size(2, REGIONS, changes=40), seed=1)
    check(outcome)
    assert outcome.happened["changes"] == 40
    assert outcome.happened["events that failed all retries"]
    assert outcome.happened["messages of Security Hub's function delivered again"]


@pytest.mark.timeout(3600)
def test_a_larger_organization(sandbox: Sandbox) -> None:
    """With a thousand changes in 30 accounts and Regions, everything is right at the end, too."""
    check(run(sandbox, Size(10, (*REGIONS, "us-west-2"), changes=1000), seed=1))
