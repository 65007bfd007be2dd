"""What the ledger says of a route table, and of a stop."""

from datetime import UTC, datetime

from express_path.domain.heal.ledger_records import Stop, TableRecord, TableState


def test_a_claim_keeps_other_runs_away_until_it_expires() -> None:
    """While it lasts, only the run that claimed the table may change it."""
    record = TableRecord("rtb-1", TableState.CLAIMED, "run-1", expires_at=100)
    for second, is_claimed in ((99, True), (100, False)):
        now = datetime.fromtimestamp(second, UTC)
        assert record.is_claimed_by("run-1", now) is record.is_claimed_by_other("run-2", now) is is_claimed
        assert not record.is_claimed_by("run-2", now)
        assert not record.is_claimed_by_other("run-1", now)


def test_a_stop_names_who_when_and_why_as_far_as_it_is_known() -> None:
    """What is not known is said to be unknown."""
    assert str(Stop("2026-01-01", "arn:x", "a change freeze")).startswith(
        "STOPPED: arn:x stopped all heals at 2026-01-01: a change freeze; "
    )
    assert str(Stop("", "", "")).startswith("STOPPED: somebody stopped all heals at an unknown time; ")
