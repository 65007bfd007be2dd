"""Charts: scales, the terminal chart, and the SVG file."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from express_path_cli.nat.metrics import Meter
from express_path_cli.terminal.charts import averaged, axis, ticks
from express_path_cli.traffic.charts import Panel, as_svg, as_text_chart, lanes
from express_path_cli.traffic.symptoms import Diagnosis, MeterLoad, Severity, Symptom, SymptomFinding

START = datetime(2026, 3, 1, tzinfo=UTC)
PERIOD = timedelta(minutes=5)
SVG = "{http://www.w3.org/2000/svg}"


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


@pytest.mark.parametrize("highest", [0.0, 1.0, 24.9e9, 25e9, 25.1e9])
def test_an_axis_ends_just_above_what_it_shows(highest: float) -> None:
    """The axis has at most five steps of a round size and ends at a multiple of that size."""
    found = axis(highest, "bit/s", 5)
    labels = list(found.labels())
    assert highest <= found.top <= max(2 * highest, 1)
    assert len(labels) <= 6
    assert labels[0] == (0, "0")
    assert labels[-1][0] == pytest.approx(found.top)


@pytest.mark.parametrize("hours", [0.5, 3, 24, 24 * 30, 24 * 455])
def test_ticks_are_round_and_few(hours: float) -> None:
    """All ticks are in the window, at equal distances, and midnights are shown as dates."""
    end = START + timedelta(hours=hours, minutes=7)
    found = ticks(START + timedelta(minutes=3), end, 8)
    times = [time for time, _ in found]
    assert 1 < len(found) <= 8
    assert START < times[0] <= times[-1] <= end
    assert len({later - time for time, later in pairwise(times)}) == 1
    assert all((label == f"{time:%b %d}") is (time.hour == time.minute == 0) for time, label in found)


def test_columns_average_the_periods_that_they_meet() -> None:
    """A column averages all its periods, a long period fills several columns, and a gap stays empty."""
    values = points([1.0, 3.0, None, 5.0])
    end = START + 4 * PERIOD
    assert averaged(values, PERIOD, START, end, 2) == [2.0, 5.0]
    assert averaged(values, PERIOD, START, end, 8) == [1, 1, 3, 3, None, None, 5, 5]
    assert averaged([(START - PERIOD, 9.0), (end, 9.0)], PERIOD, START, end, 4) == [None] * 4


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


@pytest.mark.parametrize("width", [40, 120])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_terminal_shows_heights_times_and_marks(width: int, ascii_only: bool) -> None:
    """The chart fits, the plateau is at 25 Gbit/s above its mark, and nothing depends on color alone."""
    lines = as_text_chart(DIAGNOSIS, width, ascii_only=ascii_only).plain.splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0] == "Gbit/s carried, both directions"
    [top] = [line for line in lines if line.strip().startswith("25 ")]
    full = "#" if ascii_only else "█"
    plateau = next(line for line in lines if line.strip().startswith("plateau"))
    flat, marked = (
        {index for index, sign in enumerate(line) if sign in signs} for line, signs in ((top, full), (plateau, "=━"))
    )
    # Columns at the edges meet periods of both sides.
    assert len(marked) > 6
    assert len(flat ^ marked) <= 2
    assert [line.split()[0] for line in lines[-4:]] == ["drops", "no", "peaks", "no"]
    assert any(line.strip().startswith("UTC") and "Mar 01" in line for line in lines)
    assert all(line.isascii() for line in lines) is ascii_only


def test_gaps_and_trickles_look_different() -> None:
    """Columns without datapoints or traffic are empty, the gap is marked, and very little traffic is visible."""
    lines = as_text_chart(DIAGNOSIS, 155, ascii_only=False).plain.splitlines()
    floor = next(index for index, line in enumerate(lines) if " 0 ┼" in line)
    lowest = lines[floor - 1][11:].ljust(144)
    assert set(lowest[73:107]) == {" "}
    assert set(lowest[109:143]) == {"▁"}
    assert lines[-1][11:].strip() == "???"


def drawn(*panels: Panel) -> ET.Element:
    """Return the file as parsed XML."""
    return ET.fromstring(as_svg(panels))


def test_the_svg_draws_each_stretch_of_data_and_each_mark() -> None:
    """There are two areas around the gap, peaks, a frame for the plateau, a bar in each lane, and a description."""
    root = drawn(Panel("nat-1", ("It ran flat.", "Heal it."), DIAGNOSIS))
    assert (root.get("role"), root.get("aria-labelledby")) == ("img", "title desc")
    assert root.findtext(f"{SVG}desc") == "nat-1: It ran flat. Heal it."
    assert "prefers-color-scheme: dark" in (root.findtext(f"{SVG}style") or "")
    by_class = {name: root.findall(f".//*[@class='{name}']") for name in ("area", "peak", "band", "mark")}
    assert {name: len(found) for name, found in by_class.items()} == {"area": 2, "peak": 1, "band": 1, "mark": 5}
    band, plateau_mark = by_class["band"][0], by_class["mark"][0]
    assert (band.get("x"), band.get("width")) == (plateau_mark.get("x"), plateau_mark.get("width"))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"Gbit/s", "plateau", "drops", "no ports", "peaks", "no data", "Mar 01", "06:00"} <= {*texts}


def test_a_plateau_in_packets_and_an_idle_gateway_are_drawn() -> None:
    """A plateau of another unit than the axis is framed over the whole height; no traffic is a line at zero."""
    in_packets = replace(DIAGNOSIS, findings=(finding(Symptom.PLATEAU, 36, 72, 1e6, "packets/s"),))
    [band] = drawn(Panel("nat-1", (), in_packets)).findall(".//*[@class='band']")
    assert band.get("height") == "220.0"
    idle = Diagnosis(Meter("nat-1"), START, START + 3 * PERIOD, 300, MeterLoad(carried=points([0.0] * 3)), ())
    root = drawn(Panel("nat-1", (), idle))
    assert [len(root.findall(f".//*[@class='{name}']")) for name in ("area", "peak", "mark")] == [1, 0, 0]
    two = drawn(Panel("a", (), DIAGNOSIS), Panel("b", (), DIAGNOSIS))
    assert float(two.get("height") or 0) == 2 * float(drawn(Panel("a", (), DIAGNOSIS)).get("height") or 0)


def test_what_is_text_stays_text() -> None:
    """Names never become markup, and long lines are wrapped, between words if possible."""
    hostile = "</text><script>alert(1)</script> & \"'"
    root = drawn(Panel(hostile, (hostile * 5, "x" * 300), DIAGNOSIS))
    assert root.findall(f".//{SVG}script") == []
    assert any(element.text == hostile for element in root.iter(f"{SVG}text"))
    assert max(len(element.text or "") for element in root.iter(f"{SVG}text")) <= 125
