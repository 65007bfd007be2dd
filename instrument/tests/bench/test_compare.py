"""bench compare: the verdict, tables, ratios, costs, JSON, and errors."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.charts import plots_of
from express_path_instrument.bench.compare import compare
from express_path_instrument.bench.compare_verdict import limit_of, verdict
from express_path_instrument.bench.results import BenchResult, Kind, SecondStatuses, Step, as_bench_json
from express_path_instrument.bench.results_reader import read_bench
from tests.support.command import invoke

RECORDED = Path(__file__).parent / "recorded"
NAT, ENDPOINT = RECORDED / "published-nat-gateway.json", RECORDED / "published-endpoint.json"


def nat() -> BenchResult:
    """Return the published measurement of a NAT gateway."""
    return read_bench(NAT)


def endpoint() -> BenchResult:
    """Return the published measurement of a gateway endpoint."""
    return read_bench(ENDPOINT)


def test_verdict_is_one_sentence_with_the_numbers() -> None:
    """The sentence names both causes, the limit, the tail, the client, and the ratio at the largest load."""
    sentence = verdict(compare([nat(), endpoint()]))
    assert sentence == (
        "NAT gateway has a path ceiling of 24.9 Gbit/s (p99 goes from 253 ms to 1,211 ms, at most 17 % of the client's "
        "CPU), and gateway endpoint is not saturated at 64 connections (55.7 Gbit/s); at 64 connections, gateway "
        "endpoint has 2.24 times the throughput of NAT gateway."
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cpu_peak_percent": 97.0}, "is client-bound at 24.9 Gbit/s (97 % of the client's CPU)"),
        ({"cpu_peak_percent": None}, "stays flat at 24.9 Gbit/s, because of the path or the client"),
        ({"errors": {"503": 5000}}, "is throttled (503 for"),
    ],
)
def test_verdict_says_what_else_limits(change: dict[str, object], words: str) -> None:
    """A busy client, an unknown one, and throttling each have their own words."""
    steps = tuple(replace(step, **change) for step in nat().steps)
    assert words in verdict(compare([replace(nat(), steps=steps), endpoint()]))


def test_one_measurement_has_a_verdict_too() -> None:
    """A single measurement says what limits it; one in stages has no load, so it says nothing."""
    assert limit_of(nat()).startswith("NAT gateway has a path ceiling of 24.9 Gbit/s (p99 goes from 253 ms to 1,211 ms")
    assert limit_of(replace(endpoint(), label="")) == "this path is not saturated at 64 connections (55.7 Gbit/s)."
    assert limit_of(replace(nat(), steps=())) == ""


def test_equal_measurements_are_called_so() -> None:
    """Throughputs within 10 % are about the same, and equal labels get numbers."""
    sentence = verdict(compare([endpoint(), endpoint()]))
    assert "gateway endpoint 2 has about the same throughput as gateway endpoint 1" in sentence


def test_measurements_without_a_shared_load_have_no_ratio() -> None:
    """If no number of connections was measured in both, the verdict says so."""
    few, many = (replace(nat(), steps=steps) for steps in (nat().steps[:2], nat().steps[2:]))
    assert verdict(compare([few, many])).endswith("; no load was measured in all of them.")


def test_table_has_medians_ratios_and_cost() -> None:
    """The terminal shows each load of each file, the ratio, the share of the model, and bandwidth per cost."""
    files = [str(NAT), str(ENDPOINT)]
    shown = invoke(["bench", "compare", *files, "--cost-per-hour", "0.045", "--cost-per-hour", "0.09"])
    assert shown.exit_code == 0
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert any(line.startswith("64 NAT gateway 24.9 39 %") and line.endswith("1.00") for line in lines)
    assert any(line.startswith("64 gateway endpoint 55.7 87 %") and line.endswith("2.24") for line in lines)
    assert any(line.startswith("0.045 NAT gateway 24.9 45 %") for line in lines)
    assert any(line.startswith("0.09 gateway endpoint 55.7 100 %") and line.endswith("100 %") for line in lines)
    assert "o NAT gateway # gateway endpoint . model" in lines[-1] or any(
        "# gateway endpoint" in line for line in lines
    )


def test_json_has_the_same(tmp_path: Path) -> None:
    """JSON has the verdict, the causes, the points, and the ratios; charts are written beside it."""
    charts = [tmp_path / "a.svg", tmp_path / "a.png"]
    options = [f"--chart={chart}" for chart in charts]
    shown = invoke(["bench", "compare", str(NAT), str(ENDPOINT), "--format", "json", "--quiet", *options])
    document = json.loads(shown.stdout)
    assert [run["cause"] for run in document["runs"]] == ["PATH_CEILING", "NOT_SATURATED"]
    assert document["verdict"] == verdict(compare([nat(), endpoint()]))
    last = document["runs"][1]["points"][-1]
    assert (last["load"], last["ratio"], last["shareOfModel"]) == (64, pytest.approx(2.237, abs=0.001), 0.87)
    assert charts[0].read_text().startswith("<svg")
    assert charts[1].read_bytes().startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([str(NAT)], "1 measurements were given"),
        ([str(NAT)] * 5, "5 measurements were given"),
        ([str(NAT), str(ENDPOINT), "--cost-per-hour=1"], "once for each file"),
        ([str(NAT), str(ENDPOINT), "--chart=a.gif"], "SVG or PNG"),
        ([str(NAT), "missing.json"], "missing.json cannot be read"),
    ],
)
def test_bad_command_line_is_explained(arguments: list[str], words: str) -> None:
    """Each mistake has a message and exit status 2."""
    shown = invoke(["bench", "compare", *arguments])
    assert shown.exit_code == 2
    assert words in shown.stderr


@pytest.mark.parametrize("change", [{"kind": Kind.PUT}, {"object_bytes": 1}])
def test_unlike_measurements_are_refused(change: dict[str, object]) -> None:
    """Different subcommands or object sizes cannot be compared."""
    with pytest.raises(OptionError, match="different"):
        compare([nat(), replace(endpoint(), **change)])


def test_measurement_without_steps_is_refused() -> None:
    """A run that ended before its first step has nothing to compare, and the error says why."""
    with pytest.raises(OptionError, match=r"has no steps \(access denied\)"):
        compare([nat(), replace(endpoint(), steps=(), invalid_reason="access denied")])


def test_invalid_measurement_is_marked(tmp_path: Path) -> None:
    """A measurement with failed requests is compared, but the output says that it is invalid."""
    file = tmp_path / "failed.json"
    file.write_text(as_bench_json(replace(nat(), invalid_reason="3 requests failed")))
    shown = invoke(["bench", "compare", str(file), str(ENDPOINT)])
    assert "NAT gateway is invalid: 3 requests failed" in shown.stdout


def test_sync_is_compared_by_stage(tmp_path: Path) -> None:
    """Measurements in stages have seconds and ratios, and no chart."""
    files = []
    for label, seconds in (("standard", 30.0), ("express", 10.0)):
        steps = tuple(
            Step(
                repeat=1, seconds=length, requests=100, bytes=10**9, gbps=8 / length, requests_per_second=1, stage=stage
            )
            for stage, length in (("upload", seconds), ("download", seconds / 2))
        )
        result = replace(nat(), kind=Kind.SYNC, label=label, steps=steps)
        files.append(tmp_path / f"{label}.json")
        files[-1].write_text(as_bench_json(result))
    shown = invoke(["bench", "compare", *map(str, files), f"--chart={tmp_path / 'a.svg'}"])
    assert shown.exit_code == 0
    assert "standard takes 45 s for all stages, and express takes 15 s, 0.333 times as long." in shown.stdout
    assert "was not written" in shown.stderr
    assert not (tmp_path / "a.svg").exists()


def test_answers_over_time_are_drawn_if_requests_failed() -> None:
    """A plot of answers per second follows for each measurement with failures, one step after the other."""
    seconds = (SecondStatuses(0, {"200": 90}), SecondStatuses(1, {"200": 60, "503": 30}))
    steps = tuple(replace(step, statuses=seconds, errors={"503": 30}) for step in nat().steps[:2])
    plots = plots_of(compare([replace(nat(), steps=steps), endpoint()]))
    assert [plot.title for plot in plots] == ["Throughput", "p99 latency", "Answers per second: NAT gateway"]
    assert {line.name: [y for _, y in line.points] for line in plots[2].series} == {
        "200": [90, 60, 90, 60],
        "503": [0, 30, 0, 30],
    }


def test_open_loop_is_named_by_its_rate() -> None:
    """The loads of an open loop are rates, and its answers over time are always drawn."""
    steps = tuple(
        replace(
            step,
            rate_per_second=float(100 * (step.connections or 0)),
            connections=None,
            statuses=(SecondStatuses(0, {"200": 9}),),
        )
        for step in nat().steps
    )
    comparison = compare([replace(nat(), kind=Kind.OPEN, steps=steps), replace(nat(), kind=Kind.OPEN, steps=steps)])
    assert "at 6,400 requests/s" in verdict(comparison)
    assert plots_of(comparison)[0].x_name == "requests to start per second"
    assert len(plots_of(comparison)) == 4
