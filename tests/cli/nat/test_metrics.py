"""How long CloudWatch keeps datapoints, and the sum of a series."""

from datetime import UTC, datetime, timedelta

import pytest

from express_path_cli.nat.metrics import Meter, Series, finest_period

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "period"), [(0, 60), (15, 60), (15.01, 300), (63, 300), (63.01, 3600), (455, 3600), (455.01, None)]
)
def test_datapoints_are_kept_coarser_with_age(days: float, period: int | None) -> None:
    """One-minute datapoints are kept for 15 days, five-minute ones for 63, and hourly ones for 455."""
    assert finest_period(NOW - timedelta(days=days), NOW) == period


def test_a_series_adds_up() -> None:
    """Periods without a datapoint do not affect the sum."""
    assert Series(Meter("nat-1"), "BytesInFromSource", 60, ((NOW, 1.5), (NOW + timedelta(hours=1), 2.0))).total == 3.5
    assert Series(Meter("nat-1"), "BytesInFromSource", 60).total == 0
