"""bench compare: the verdict, tables, ratios, costs, JSON, and errors."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from express_path_cli.nat.saturation import ThroughputLimit
from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.charts import plots_of
from express_path_instrument.bench.compare import compare, verdict
from express_path_instrument.bench.results import (
    BenchResult,
    Client,
    Kind,
    Latency,
    Step,
    Target,
    as_bench_json,
)
from express_path_instrument.bench.tables import as_bench_table, loads_table
from instrument.tests.bench.published import endpoint, in_turns, nat
from tests.support.command import invoke

BOTH = {"NAT": nat(), "endpoint": endpoint()}


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Return the files of the published measurements of a NAT gateway and of an endpoint."""
    paths = (tmp_path / "NAT.json", tmp_path / "endpoint.json")
    for path, result in zip(paths, (nat(), endpoint()), strict=True):
        path.write_text(as_bench_json(result))
    return str(paths[0]), str(paths[1])


def test_verdict_is_one_sentence_with_the_numbers() -> None:
    """The sentence names both causes, the limit, the tail, the client, and the ratio at the largest load."""
    sentence = verdict(compare(BOTH))
    assert sentence == (
        "NAT has a ceiling of 24.9 Gbit/s (p99 goes from 253 ms to 1,211 ms, at most 17 % of the client's CPU), "
        "because of the path, the network of the instance, the server, or a quota: measure a second path to the same "
        "bucket with the same client in turns, such as A B A B, and compare, and endpoint reaches 55.7 Gbit/s; noise "
        "hides whether it starts to flatten: measure with more repeats; at 64 connections, endpoint has 2.24 times the "
        "throughput of NAT."
    )
    assert verdict(compare(in_turns())).startswith("A1 has a path ceiling of 24.9 Gbit/s (p99 goes from 253 ms")


@pytest.mark.parametrize("paths", ["AB", "ABA", "AABB", "ABAAA", "AAAA"])
def test_a_path_is_blamed_only_in_turns(paths: str) -> None:
    """Before the path has changed three times, something else may have changed with it."""
    assert ThroughputLimit.PATH_CEILING not in {run.cause for run in compare(in_turns(paths)).runs}


@pytest.mark.parametrize(
    "change",
    [
        {"client": Client("c7gn.large", 2, "http", "3.13")},
        {"target": Target("another--use1-az4--x-s3", "", "use1-az4")},
        {"invalid_reason": "1 request failed"},
        {"path": None},
        {"path": in_turns()["A1"].path},
        {"steps": nat().steps},
    ],
    ids=["client", "bucket", "invalid", "unknown path", "same path", "no faster"],
)
def test_a_path_is_blamed_only_if_all_else_is_the_same(change: dict[str, Any]) -> None:
    """One turn of another client, to another bucket, or that disagrees with the others, leaves the cause open."""
    results = in_turns()
    causes = {run.cause for run in compare({**results, "B4": replace(results["B4"], **change)}).runs}
    assert ThroughputLimit.PATH_CEILING not in causes


def test_measurements_of_one_path_that_disagree_are_named() -> None:
    """If one path is slow and fast in turn, something else has changed."""
    results = in_turns("ABA")
    results["A3"] = replace(endpoint(), path=results["A1"].path)
    assert "; A1 and A3 disagree about one path, so something else changed meanwhile" in verdict(compare(results))


def scaled(result: BenchResult, *factors: float) -> BenchResult:
    """Return a measurement with repeats that differ by factors."""
    steps = [
        replace(step, repeat=repeat, requests_per_second=step.requests_per_second * factor)
        for repeat, factor in enumerate(factors, start=1)
        for step in result.steps
    ]
    return replace(result, repeats=len(factors), steps=tuple(steps))


@pytest.mark.parametrize(("noise", "blamed"), [(0.02, True), (0.15, False)])
def test_a_path_is_blamed_only_beyond_noise(noise: float, blamed: bool) -> None:
    """If the repeats differ by 15 %, 1.4 times as much over another path is not certain."""
    results = {
        name: scaled(result, *((1 - noise, 1 + noise) if name[0] == "A" else (0.8,)))
        for name, result in in_turns().items()
    }
    assert (compare(results).runs[0].cause is ThroughputLimit.PATH_CEILING) is blamed


def test_repeats_that_disagree_by_a_factor_are_named() -> None:
    """The verdict has the largest factor, and at which load."""
    assert "although repeats at 1 connection differ by a factor of 2.0" in verdict(
        compare({"NAT": scaled(nat(), 0.6, 1.2)})
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cpu_percent": 97.0}, "is client-bound at 24.9 Gbit/s (at most 97 % of the client's CPU)"),
        ({"cpu_percent": 70.0}, "stays flat at 24.9 Gbit/s, but the client uses 70 % of its CPU, so it may be the"),
        ({"cpu_percent": 30.0, "other_cpu_percent": 50.0}, "uses 30 % of its CPU, and other work 50 % of all CPUs"),
        ({"cpu_percent": None}, "stays flat at 24.9 Gbit/s, because of the path or the client (p99 goes from 253 ms"),
        ({"errors": {"503": 5000}}, "is throttled (503 for"),
        ({"errors": {"timed out": 1}}, ", with 6 timeouts"),
        ({"errors": {"timed out": 90}}, "has requests without an answer (540 timeouts), so nothing else is known"),
        (
            {"unfinished": 2, "oldest_unfinished_ms": 9000.0, "hangs": True},
            "has requests without an answer (12 requests open for up to 9,000 ms), so nothing else is known",
        ),
    ],
)
def test_verdict_says_what_else_limits(change: dict[str, Any], words: str) -> None:
    """A busy client, other work, an unknown CPU, throttling, and missing answers each have their own words."""
    steps = tuple(replace(step, **change) for step in nat().steps)
    assert words in verdict(compare({**BOTH, "NAT": replace(nat(), steps=steps)}))


def test_one_measurement_has_a_verdict_too() -> None:
    """A single measurement names all causes of a ceiling, and says if there are too few loads."""
    assert limit_of(nat()) == (
        "this path has a ceiling of 24.9 Gbit/s (p99 goes from 253 ms to 1,211 ms, at most 17 % of the client's CPU), "
        "because of the path, the network of the instance, the server, or a quota: measure a second path to the same "
        "bucket with the same client in turns, such as A B A B, and compare."
    )
    few = replace(endpoint(), steps=endpoint().steps[:1])
    assert limit_of(few) == "this path reaches 1 Gbit/s at 1 connection; one load shows no limit."
    assert "the loads are too alike" in limit_of(replace(endpoint(), steps=endpoint().steps[4:]))


def limit_of(result: BenchResult) -> str:
    """Return the verdict on one measurement."""
    return verdict(compare({"this path": result}))


def constant_rate(achieved: float) -> BenchResult:
    """Return an open loop that achieves less than its highest rate."""
    steps = tuple(
        replace(step, connections=None, rate_per_second=rate, requests_per_second=min(rate, achieved))
        for step, rate in zip(endpoint().steps, (100.0, 200.0, 400.0, 800.0), strict=False)
    )
    return replace(endpoint(), kind=Kind.OPEN, steps=steps)


def with_lag(step: Step) -> Step:
    """Return a step whose client was late, and whose server was not."""
    return replace(step, lag_p99_ms=900.0, server_p99_ms=2.0)


def test_an_open_loop_first_says_what_it_did_not_achieve() -> None:
    """Below 95 % of a rate, the achieved rate comes first."""
    assert limit_of(constant_rate(700)).startswith("this path achieves 700 of 800 requests/s and ")
    late = replace(constant_rate(700), steps=tuple(map(with_lag, constant_rate(700).steps)))
    assert "of 800 requests/s (p99: sent 900 ms late, answered in 2 ms) and " in limit_of(late)
    assert limit_of(constant_rate(800)).startswith("this path is not saturated at 800 requests/s")


def test_table_has_medians_and_ratios(files: tuple[str, str]) -> None:
    """The terminal shows each load of each file, the ratio, and the share of the model; p99 and CPU are never cut."""
    shown = invoke(["bench", "compare", *files])
    assert shown.exit_code == 0
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert any(line.startswith("64 NAT 24.9 39 % 1,211 17 %") and line.endswith("1.00") for line in lines)
    assert any(line.startswith("64 endpoint 55.7 87 % 326") and line.endswith("2.24") for line in lines)
    assert lines.count("connections: o NAT # endpoint") == 2
    assert max(map(len, shown.stdout.splitlines()[2:])) <= 80


def test_numbers_are_never_cut_at_80_columns() -> None:
    """With long names, errors, and large numbers, p99 and CPU stand in both tables as they are."""
    step = replace(
        nat().steps[-1],
        errors={"503": 123_456, "timed out": 789},
        cpu_percent=100.0,
        peak_cpu_percent=99.0,
        gbps=12_345.6,
    )
    latency = Latency(p50=12_345, p90=12_345, p99=54_321, p999=65_432, max=65_432)
    steps = tuple(replace(step, repeat=repeat, latency=latency, requests_per_second=123_456) for repeat in (1, 2, 3))
    result, name = replace(nat(), repeats=3, steps=steps), "the very long name of a file"
    for table in (as_bench_table(result), loads_table(compare({name: result, f"{name} 2": endpoint()}))):
        console = Console(width=80, file=io.StringIO())
        console.print(table)
        [row] = [line for line in console.file.getvalue().splitlines() if "54,321" in line]  # type: ignore[attr-defined]
        assert {"64", "100", "99", "12,345"} <= set(row.split())
        assert len(row) <= 80


def test_json_has_the_same(files: tuple[str, str], tmp_path: Path) -> None:
    """JSON has the verdict, the causes, the points, and the ratios; charts are written beside it."""
    chart = tmp_path / "a.svg"
    shown = invoke(["bench", "compare", *files, "--format", "json", "--quiet", f"--chart={chart}"])
    document = json.loads(shown.stdout)
    assert [run["cause"] for run in document["runs"]] == ["CEILING", "UNDETERMINED"]
    assert document["verdict"] == verdict(compare(BOTH))
    last = document["runs"][1]["points"][-1]
    assert (last["load"], last["ratio"], last["shareOfModel"]) == (64, pytest.approx(2.237, abs=0.001), 0.87)
    assert chart.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nat", "endpoint", "--chart=a.gif"], "SVG, PNG, or PDF"),
        (["nat", "missing.json"], "missing.json cannot be read"),
    ],
)
def test_bad_command_line_is_explained(arguments: list[str], words: str, files: tuple[str, str]) -> None:
    """Each mistake has a message and exit status 2."""
    names = dict(zip(("nat", "endpoint"), files, strict=True))
    shown = invoke(["bench", "compare", *(names.get(argument, argument) for argument in arguments)])
    assert shown.exit_code == 2
    assert words in shown.stderr


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": Kind.PUT}, "different"),
        ({"object_bytes": 1}, "different"),
    ],
)
def test_unlike_measurements_are_refused(change: dict[str, Any], words: str) -> None:
    """Different subcommands or object sizes cannot be compared."""
    with pytest.raises(OptionError, match=words):
        compare({**BOTH, "endpoint": replace(endpoint(), **change)})


def test_invalid_measurement_is_marked(files: tuple[str, str], tmp_path: Path) -> None:
    """A measurement with failed requests is compared, but the output says that it is invalid."""
    file = tmp_path / "failed.json"
    file.write_text(as_bench_json(replace(nat(), invalid_reason="3 requests failed")))
    shown = invoke(["bench", "compare", str(file), files[1]])
    assert "failed is invalid: 3 requests failed" in shown.stdout


def test_answers_over_time_are_drawn_if_requests_failed() -> None:
    """Answers per second, stacked, follow for each measurement with failures, one step after the other.

    A hang at the end of a step is drawn as seconds without answers.
    """
    seconds = ({"second": 0, "200": 90}, {"second": 1, "200": 60, "503": 30})
    steps = tuple(replace(step, statuses=seconds, errors={"503": 30}, seconds=3.0) for step in nat().steps[:2])
    plots = plots_of(compare({**BOTH, "NAT": replace(nat(), steps=steps)}))
    assert [plot.title for plot in plots] == [
        "Throughput",
        "p99 latency",
        "CPU of the client",
        "Answers per second: NAT",
    ]
    assert {line.name: [y for _, y in line.points] for line in plots[3].edges} == {
        "200": [90, 60, 0, 90, 60, 0],
        "503": [90, 90, 0, 90, 90, 0],
    }


def test_open_loop_is_named_by_its_rate() -> None:
    """The loads of an open loop are rates, and its answers over time are always drawn: a chart for each file."""
    result, names = constant_rate(800), ("cold", "hot", "cold with one prefix", "hot with one prefix")
    steps = tuple(replace(step, statuses=({"second": 0, "200": 9},)) for step in result.steps)
    comparison = compare({name: replace(result, steps=steps) for name in names})
    assert "at 800 requests/s" in verdict(comparison)
    by_rate, *over_time = plots_of(comparison)[-5:]
    assert by_rate.x_name == "requests to start per second"
    assert [plot.title for plot in over_time] == [f"Answers per second: {name}" for name in names]
