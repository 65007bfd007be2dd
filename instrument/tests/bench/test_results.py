"""A measurement is written to a file, and read again without loss. A damaged file is refused."""

import json
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.add_command import add
from express_path_instrument.bench.load import Tally
from express_path_instrument.bench.results import (
    BenchResult,
    Client,
    Kind,
    Latency,
    MeasuredPath,
    Step,
    Target,
    as_bench_json,
    tp80,
)
from express_path_instrument.bench.results_reader import read_bench
from tests.support.command import invoke

LATENCY = Latency(p50=1.5, p90=2.25, p99=30.125, p999=31.5, max=32.0)
CLOSED = Step(
    repeat=1,
    seconds=10.5,
    requests=80,
    bytes=80 << 20,
    gbps=0.511,
    requests_per_second=7.619,
    latency=LATENCY,
    connections=8,
    cpu_percent=17.0,
    other_cpu_percent=3.0,
)
OPEN = Step(
    repeat=2,
    seconds=2.0,
    requests=150,
    bytes=150,
    gbps=0.0,
    requests_per_second=75.0,
    rate_per_second=100.0,
    errors={"503": 49, "timed out": 1},
    unfinished=3,
    oldest_unfinished_ms=1234.5,
    hangs=True,
    lag_p99_ms=12.5,
    server_p99_ms=0.5,
    statuses=({"second": 0, "200": 100}, {"second": 1, "200": 50, "503": 49, "timed out": 1}),
)
RESULT = BenchResult(
    kind=Kind.GET,
    made_at=datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
    path=MeasuredPath("NON_COMPLIANT", "NAT_GATEWAY", ("rtb-1", "nat-1")),
    client=Client("c7gn.16xlarge", 64, "libcurl", "8.17.0"),
    target=Target("fast--use1-az4--x-s3", "https://s3express-use1-az4.us-east-1.amazonaws.com", "use1-az4"),
    object_bytes=32 << 20,
    repeats=2,
    steps=(CLOSED, OPEN),
)


@pytest.mark.parametrize(
    "result",
    [RESULT, replace(RESULT, path=None, kind=Kind.OPEN), replace(RESULT, invalid_reason="1 request failed")],
    ids=["closed", "no-path", "invalid"],
)
def test_a_measurement_is_read_as_it_was_written(result: BenchResult, tmp_path: Path) -> None:
    """Reading a written document returns the same measurement."""
    file = tmp_path / "run.json"
    file.write_text(as_bench_json(result), encoding="utf-8")
    assert read_bench(file) == result


def test_tp80_is_what_most_repeats_reach() -> None:
    """80 % of the values reach it, so it lies below the median, between two of them."""
    assert tp80([1.0, 3.0, 2.0]) == pytest.approx(1.4)
    assert tp80([2.0]) == 2.0


ABSENT = object()


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("steps",), [], "steps"),
        (("steps", 0, "seconds"), -1, "step 1: field seconds"),
        (("steps", 0, "gbps"), float("inf"), "step 1: field gbps"),
        (("steps", 1, "latencyMs", "p99"), "12", "step 2: latencyMs: field p99"),
        (("steps", 1, "requests"), ABSENT, "step 2: field requests"),
        (("schemaVersion",), 2, "schemaVersion 2"),
        (("kind",), "head", "kind"),
        (("kind",), ABSENT, "is not the output of express-path bench"),
        (("madeAt",), "1 March", "madeAt"),
        (("path", "hops"), [1], "hops"),
    ],
)
def test_a_damaged_document_is_refused(path: tuple[Any, ...], value: object, named: str, tmp_path: Path) -> None:
    """A missing or invalid field is an error that names the file and the field."""
    document = json.loads(as_bench_json(RESULT))
    *inner, last = path
    damaged: Any = reduce(getitem, inner, document)
    if value is ABSENT:
        del damaged[last]
    else:
        damaged[last] = value
    file = tmp_path / "run.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(OptionError, match=named) as found:
        read_bench(file)
    assert str(file) in str(found.value)


@pytest.mark.parametrize("wrong", [None, True, -1, 1.5, "", "x\ud800", [[]], {"a\ud800": 1}])
def test_no_value_of_another_type_leads_to_a_trace(wrong: object, tmp_path: Path) -> None:
    """At each level of the document, it is read or an error of one line."""
    file = tmp_path / "run.json"
    document = json.loads(as_bench_json(RESULT))
    outer = [document, *(found for found in document.values() if isinstance(found, dict)), *document["steps"]]
    outer += [inner for step in document["steps"] for inner in step.values() if isinstance(inner, dict)]
    errors = []
    for place in outer:
        for key, kept in place.items():
            place[key] = wrong
            file.write_text(json.dumps(document), encoding="utf-8")
            try:
                read_bench(file)
            except OptionError as error:
                errors.append(str(error))
            place[key] = kept
    assert len(errors) > sum(map(len, outer)) / 4
    assert all(error.startswith(str(file)) for error in errors)


def test_a_document_that_does_not_say_it_is_valid_is_not(tmp_path: Path) -> None:
    """Without `valid`, a measurement counts as invalid."""
    document = json.loads(as_bench_json(RESULT))
    del document["valid"]
    file = tmp_path / "run.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    assert not read_bench(file).valid


def measured_by(milliseconds: int, late: float = 0.0) -> BenchResult:
    """Return what one of several machines measured: 100 requests with this latency, in a step that began late."""
    tally = Tally()
    for _ in range(100):
        tally.succeeded(milliseconds / 1e3, 10)
    step = replace(
        OPEN,
        seconds=10.0,
        latency_histogram=tally.histogram().encode().decode(),
        started_at=RESULT.made_at + timedelta(seconds=late),
        cpu_percent=float(milliseconds),
    )
    return replace(RESULT, steps=(step,))


def test_machines_that_measured_at_the_same_time_are_one_result(tmp_path: Path) -> None:
    """Rates and errors are added, by the time of the first machine. Percentiles are those of all requests together."""
    files = [tmp_path / "one.json", tmp_path / "other.json"]
    for file, result in zip(files, (measured_by(1), measured_by(9, late=1)), strict=True):
        file.write_text(as_bench_json(result))
    shown = invoke(["bench", "add", *map(str, files), "--output", str(tmp_path / "both.json")])
    assert "2 x c7gn.16xlarge" in shown.stdout
    [step] = read_bench(tmp_path / "both.json").steps
    assert (step.requests, step.rate_per_second, step.errors) == (300, 200, {"503": 98, "timed out": 2})
    assert (step.latency.p50, step.latency.p90) == pytest.approx((1, 9), rel=0.01)
    assert step.cpu_percent == 9
    assert [(second, counts["200"]) for second, counts in step.answers.items()] == [(0, 100), (1, 150), (2, 50)]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (measured_by(9, late=1.1), "up to 1.1 s apart"),
        (replace(measured_by(9), object_bytes=1), "not alike"),
        (replace(RESULT, steps=(OPEN,)), "older versions"),
    ],
)
def test_machines_that_measured_something_else_are_not_added(other: BenchResult, words: str) -> None:
    """Another size, another time, or a file without times is an error."""
    with pytest.raises(OptionError, match=words):
        add([measured_by(1), other])
