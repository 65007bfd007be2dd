"""Errors carry data and mention it in their message."""

from express_path import errors

ROWS = [{"ComplianceResourceId": f"subnet-{number}"} for number in range(7)]


def test_a_long_value_is_cut() -> None:
    """A long value, such as a whole event, is cut in the message."""
    assert len(str(errors.RecordError("rtb-1", "Routes", "x" * 10_000, "less"))) < 300


def test_of_many_refused_evaluations_only_the_first_are_named() -> None:
    """The message names only the first ids, while the error keeps all of them."""
    error = errors.ReportError(ROWS)
    assert "subnet-5" not in str(error)
    assert error.failed == tuple(ROWS)
