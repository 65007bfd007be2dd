"""The chart of throughput over time in the terminal."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from express_path_cli.nat.metrics import Meter
from express_path_cli.terminal.charts import GUTTER
from express_path_cli.traffic.charts import as_text_chart, lanes
from express_path_cli.traffic.symptoms import Diagnosis, MeterLoad, Severity, Symptom, SymptomFinding

START = datetime(2026, 3, 1, tzinfo=UTC)
PERIOD = timedelta(minutes=5)


def points(values: Sequence[float | None]) -> tuple[tuple[datetime, float], ...]:
    """Return points with these values, and no point for None."""
    return tuple((START + index * PERIOD, value) for index, value in enumerate(values) if value is not None)


def finding(symptom: Symptom, first: int, last: int, value: float, unit: str = "bit/s") -> SymptomFinding:
    """Return a finding from one period to another."""
    return SymptomFinding(symptom, Severity.HIGH, START + first * PERIOD, START + last * PERIOD, value, unit, {})


GBPS = [*[5.0] * 36, *[25.0] * 36, None, None, None, *[0.0] * 33, *[0.02] * 36]
LOAD = MeterLoad(
    carried=points([None if gbps is None else gbps * 1e9 for gbps in GBPS]),
    dropped=points([0.0] * 40 + [3.0, 2.0] + [0.0] * 102),
    port_errors=points([0.0] * 50 + [1.0] + [0.0] * 93),
    peak_bits=points([28e9] * 72),
)
FINDINGS = (finding(Symptom.PLATEAU, 36, 72, 25e9), finding(Symptom.PEAK_NEAR_LIMIT, 60, 61, 95e9))
DIAGNOSIS = Diagnosis(Meter("nat-1"), START, START + 144 * PERIOD, 300, LOAD, FINDINGS)


def test_lanes_mark_what_was_seen_when() -> None:
    """Adjacent drops are one mark, and symptoms that did not occur have no lane."""
    found = {lane.name: lane.spans for lane in lanes(DIAGNOSIS)}
    assert found == {
        "plateau": ((START + 36 * PERIOD, START + 72 * PERIOD),),
        "drops": ((START + 40 * PERIOD, START + 42 * PERIOD),),
        "no ports": ((START + 50 * PERIOD, START + 51 * PERIOD),),
        "peaks": ((START + 60 * PERIOD, START + 61 * PERIOD),),
        "no data": ((START + 72 * PERIOD, START + 75 * PERIOD),),
    }
    quiet = replace(DIAGNOSIS, findings=(), load=MeterLoad(carried=points([1.0] * 144)))
    assert lanes(quiet) == []


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_terminal_shows_heights_times_and_marks(width: int, ascii_only: bool) -> None:
    """The chart fits, the plateau is drawn above its mark, and nothing depends on color alone."""
    lines = as_text_chart(DIAGNOSIS, width, ascii_only=ascii_only).plain.splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0] == "carried, both directions; times in UTC"
    assert "(Gbit/s)" in lines[1]
    top = max((line[GUTTER:] for line in lines if " | " in line and not line.strip()[0].isalpha()), key=line_length)
    plateau = next(line[GUTTER:] for line in lines if line.strip().startswith("plateau"))
    marked = {index for index, sign in enumerate(plateau) if sign in "=━"}
    flat = {index for index, line in enumerate(top) if line != " "}
    assert len(marked) >= 5
    assert flat
    assert [line.split()[0] for line in lines[-4:]] == ["drops", "no", "peaks", "no"]
    assert any("00:00" in line for line in lines)
    assert all(line.isascii() for line in lines) is ascii_only


def line_length(line: str) -> int:
    """Return how far right a line is drawn."""
    return len(line)


def test_the_plateau_is_above_its_mark() -> None:
    """The columns of the highest traffic are those that the lane marks, but for those at the edges."""
    lines = as_text_chart(DIAGNOSIS, 120, ascii_only=True).plain.splitlines()
    high = next(line for line in lines[2:] if line[GUTTER:].strip())
    marked = next(line for line in lines if line.strip().startswith("plateau"))
    columns = [{index for index, sign in enumerate(line[GUTTER:]) if sign != " "} for line in (high, marked)]
    assert len(columns[0] ^ columns[1]) <= 2


def test_gaps_and_idle_times_look_different() -> None:
    """Columns without datapoints are empty, no traffic is a line, and the gap is marked."""
    lines = as_text_chart(DIAGNOSIS, 157, ascii_only=False).plain.splitlines()
    lowest = next(line for line in lines if line.strip().startswith("0 |"))[GUTTER:].ljust(142)
    assert lowest[:72].strip() == ""
    assert " " not in lowest[76:140]
    assert lines[-1][GUTTER:].strip() in {"??", "???"}
    days = replace(DIAGNOSIS, end=START + timedelta(days=3))
    assert "Mar 01" in as_text_chart(days, 80, ascii_only=False).plain
