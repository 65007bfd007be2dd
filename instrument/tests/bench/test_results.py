"""A measurement is written to a file, and read again without loss. A damaged file is refused."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from express_path_cli.terminal.errors import OptionError
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

LATENCY = Latency(p50=1.5, p90=2.25, p99=30.125, p999=31.5, max=32.0, mean=3.5)
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


def test_a_step_has_the_keys_of_its_kind() -> None:
    """A step of get has connections, and a step of open has a rate and the statuses of each second."""
    closed, constant_rate = json.loads(as_bench_json(RESULT))["steps"]
    assert closed["connections"] == 8
    assert "ratePerSecond" not in closed
    assert closed["latencyMs"]["p999"] == 31.5
    assert constant_rate["ratePerSecond"] == 100
    assert "connections" not in constant_rate
    assert constant_rate["statusOverTime"][1] == {"second": 1, "200": 50, "503": 49, "timed out": 1}


ABSENT = object()


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("steps",), [], "steps"),
        (("steps", 0, "seconds"), -1, "step 1: field seconds"),
        (("steps", 0, "gbps"), float("inf"), "step 1: field gbps"),
        (("steps", 1, "latencyMs", "p99"), "12", "step 2: field p99"),
        (("steps", 1, "requests"), ABSENT, "step 2: field requests"),
        (("steps", 1, "gbps"), ABSENT, "step 2: field gbps"),
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


def test_a_document_that_does_not_say_it_is_valid_is_not(tmp_path: Path) -> None:
    """Without `valid`, a measurement counts as invalid."""
    document = json.loads(as_bench_json(RESULT))
    del document["valid"]
    file = tmp_path / "run.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    assert not read_bench(file).valid
