"""A worker sends a load as it says: each request once, for a time, or at a rate, whatever the server does."""

import io
import pickle
import socket
import threading
import time
from collections import Counter

import pytest

from express_path_instrument.bench import http_worker
from express_path_instrument.bench.http_worker import Sender, main
from express_path_instrument.bench.load import Load, Server, Tally, Target
from express_path_instrument.bench.results import latency_of
from express_path_instrument.bench.steps import step_of
from instrument.tests.bench.raw_server import CLOSE, OBJECT, chunked, reads, response, serving

GET = Target("GET", "/key?signature=1")
PUT = Target("PUT", "/key?signature=1", (1 << 20) + 5)
SLOW_DOWN = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Reduce your rate.</Message></Error>"


def measured(load: Load) -> Tally:
    return Sender(load).run(time.monotonic())


def test_a_duration_ends_the_load_and_the_warm_up_is_not_counted() -> None:
    """Requests are sent during the warm-up and the duration, and only the latter are counted."""
    with serving() as raw:
        before = time.monotonic()
        tally = measured(Load(raw.server, reads(3), 100, connections=2, warm_up=0.5, seconds=0.5))
        took = time.monotonic() - before
    assert took >= 1
    assert 0 < tally.requests < len(raw.requests)
    assert tally.ended - tally.started <= 0.5 + 1e-6


def test_a_read_that_began_in_the_warm_up_counts() -> None:
    """A request that ends in the measurement counts, because one that ends after it does not."""
    answers = iter([response("200 OK", OBJECT)])

    def after_the_warm_up(_request: bytes) -> bytes:
        threading.Event().wait(0.2)
        return next(answers, b"")

    with serving(after_the_warm_up) as raw:
        tally = measured(Load(raw.server, reads(1), 100, connections=1, warm_up=0.1, seconds=1, timeout=1))
    assert len(raw.requests) == 2
    assert tally.requests == 1
    assert (latency_of(tally.histogram()).max or 0) >= 200


def test_errors_are_counted_by_status_and_second() -> None:
    """Failed requests, objects of another size, and lost connections are not in the latency, but in the errors."""
    slow = response("503 Slow Down", b"<Error><Code>SlowDown</Code></Error>")
    answers = iter([slow, response("500 Oops"), response("200 OK", b"short"), CLOSE])
    with serving(lambda _: next(answers, response("200 OK", OBJECT))) as raw:
        tally = measured(Load(raw.server, reads(1), 100, connections=1, count=6))
    names = ("503", "500", "wrong size", "connection closed")
    assert tally.errors == dict.fromkeys(names, 1)
    assert tally.failure == "503 SlowDown"
    assert tally.statuses == {(0, "200"): 3, (0, "503"): 1, (0, "500"): 1, (0, "connection closed"): 1}
    assert (tally.requests, tally.transferred) == (2, 200)


@pytest.mark.parametrize(
    ("answer", "target", "name", "failure"),
    [
        (response("200 OK", OBJECT), GET, "200", ""),
        (response("206 Partial Content", OBJECT), GET, "206", ""),
        (response("503 Slow Down", SLOW_DOWN), GET, "503", "503 SlowDown"),
        (chunked("503 Slow Down", SLOW_DOWN), GET, "503", "503 SlowDown"),
        (chunked("500 Internal Server Error", b"no XML"), GET, "500", "500"),
        (response("307 Temporary Redirect", b"", "Location: http://127.0.0.1:9/"), GET, "307", "307"),
        (response("200 OK"), PUT, "200", ""),
        (b"HTTP/1.1 204 No Content\r\n\r\n", Target("DELETE", "/key"), "204", ""),
        (chunked("503 Slow Down", SLOW_DOWN), PUT, "503", "503 SlowDown"),
    ],
)
def test_an_answer_is_counted_and_the_connection_used_again(
    answer: bytes, target: Target, name: str, failure: str
) -> None:
    """Whatever the server answers, a second request uses the same connection and is counted by the same name."""
    with serving(lambda _: answer) as raw:
        tally = measured(Load(raw.server, [target], 100, connections=1, count=2))
    assert Counter(status for _, status in tally.statuses.elements()) == {name: 2}
    assert (tally.requests, tally.failure) == ((0, failure) if failure else (2, ""))
    assert raw.connections == 1
    assert raw.body_lengths == [target.body_bytes] * 2
    head = raw.requests[0].decode().split("\r\n")
    assert head[:2] == [f"{target.method} {target.path} HTTP/1.1", f"Host: {raw.server.authority}"]


def test_a_connection_that_the_server_closed_is_made_again() -> None:
    """A server may close a connection between two requests, which is no error."""
    with serving(lambda _: response("200 OK", OBJECT, "Connection: close")) as announced:
        assert measured(Load(announced.server, reads(1), 100, connections=1, count=2)).errors == {}
    assert announced.connections == 2
    answers = iter([response("200 OK", OBJECT) + CLOSE])
    with serving(lambda _: next(answers, response("200 OK", OBJECT))) as silent:
        assert measured(Load(silent.server, reads(1), 100, connections=1, seconds=0.9, rate=2)).errors == {}
    assert silent.connections == 2


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (CLOSE, "connection closed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nxxx" + CLOSE, "answer cut short"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 50, "timed out"),
        (b"220 ready\r\n\r\n", "answer is not HTTP/1.1"),
        (b"", "timed out"),
    ],
)
@pytest.mark.parametrize("before", [0, 1], ids=["first", "again"])
def test_a_fault_has_a_name_and_is_not_repeated(answer: bytes, name: str, before: int) -> None:
    """An answer that is missing, cut short, late, or not HTTP is an error, also on a connection that was used before."""
    answers = iter([response("200 OK", OBJECT)] * before)
    with serving(lambda _: next(answers, answer)) as raw:
        tally = measured(Load(raw.server, reads(1), 100, connections=1, count=1 + before, timeout=1))
    assert (tally.requests, tally.errors) == (before, {name: 1})
    assert len(raw.requests) == 1 + before


def test_a_refused_connection_has_a_name() -> None:
    """Errors of the network are counted by the system's words for them."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server("localhost", listener.getsockname()[1], ("127.0.0.1",), tls=False)
    assert measured(Load(server, reads(1), 100, connections=1, count=1)).errors == {"connection refused": 1}


def test_requests_at_a_rate_start_at_their_times() -> None:
    """At 100 requests/s for half a second there are 50, none of which is skipped."""
    with serving() as raw:
        tally = measured(Load(raw.server, reads(7), 100, connections=4, seconds=0.5, rate=100))
    assert tally.requests == len(raw.requests) == 50
    assert tally.ended - tally.started >= 0.4


class Stalling:
    """Answers that all wait for a second from the 40th request on, as those of a server that stalls once."""

    def __init__(self) -> None:
        self.requests = 0
        self.lock = threading.Lock()

    def __call__(self, _request: bytes) -> bytes:
        with self.lock:
            self.requests += 1
            if self.requests == 40:
                threading.Event().wait(1)
        return response("200 OK", OBJECT)


@pytest.mark.long
def test_a_stall_shows_at_a_constant_rate_and_not_in_a_closed_loop() -> None:
    """If the server stalls for a second, p99.9 at a constant rate shows it; that of a closed loop does not.

    In a closed loop, one of 3,000 requests waits: the client sends nothing while it waits, so the users who would have
    come in this second are missing. At a constant rate, every request of this second is late.
    """
    with serving(Stalling()) as raw:
        constant = latency_of(
            measured(Load(raw.server, reads(1), 100, connections=8, seconds=2.0, rate=200)).histogram()
        )
    with serving(Stalling()) as raw:
        closed = latency_of(measured(Load(raw.server, reads(1), 100, connections=1, count=3000)).histogram())
    assert (closed.max or 0) >= 1000
    assert (closed.p999 or 1000) < 500
    assert (constant.p999 or 0) >= 900
    assert (constant.p90 or 0) >= 500


def test_a_constant_rate_ends_also_if_the_server_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that never answers again does not make the step longer. All requests of the rate are counted once."""
    monkeypatch.setattr(http_worker, "BACKLOG", 0.2)
    answers = iter([response("200 OK", OBJECT)] * 3)
    before = time.monotonic()
    with serving(lambda _: next(answers, b"")) as raw:
        tally = measured(Load(raw.server, reads(1), 100, connections=2, seconds=0.3, rate=100, timeout=0.4))
    assert time.monotonic() - before < 30
    assert (tally.requests, tally.unfinished, tally.hanging, tally.unsent, tally.errors) == (3, 2, 2, 25, {})
    assert tally.oldest >= 0.4
    assert (latency_of(tally.histogram()).p50 or 0) >= 200


@pytest.mark.parametrize("parts", [1, 3, 8])
def test_divided_loads_are_the_whole_load(parts: int) -> None:
    """Several processes together send every object, request, and arrival of the load once, each as its connections do."""
    with serving() as raw:
        load = Load(raw.server, reads(10), 100, connections=5, count=10)
        divided = load.divided(parts)
        assert len(divided) == min(parts, 5)
        assert sum(part.connections for part in divided) == 5
        assert [measured(part).requests for part in divided] == [2 * part.connections for part in divided]
        rated = Load(raw.server, reads(10), 100, connections=5, seconds=0.1, rate=100).divided(parts)
        assert [measured(part).requests for part in rated] == [2 * part.connections for part in rated]
    assert Counter(raw.lines()[:10]) == Counter(f"GET /{position}" for position in range(10))


@pytest.mark.long
def test_a_late_answer_is_no_hang() -> None:
    """What is answered after the end has its latency, but is not in the throughput. What has no data for the timeout hangs."""
    answers = iter([response("200 OK", OBJECT)] * 20)

    def slowly(_request: bytes) -> bytes:
        if answer := next(answers, b""):
            return answer
        threading.Event().wait(0.7)
        return response("200 OK", OBJECT)

    with serving(slowly) as raw:
        tally = measured(Load(raw.server, reads(1), 100, connections=1, seconds=0.3))
    assert (tally.requests, tally.unfinished, tally.hanging) == (20, 0, 0)
    assert (latency_of(tally.histogram()).max or 0) >= 700
    with serving(lambda _: b"") as raw:
        tally = measured(Load(raw.server, reads(1), 100, connections=1, seconds=0.1, timeout=1))
    assert (tally.requests, tally.unfinished, tally.hanging) == (0, 1, 1)
    assert tally.oldest >= 1


@pytest.mark.long
def test_a_rate_above_that_of_the_server_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that answers 700 of 3,000 requests/s shows as such, and what the warm-up left is neither sent nor counted."""
    monkeypatch.setattr(http_worker, "BACKLOG", 0.3)
    lock, free_at, answered = threading.Lock(), [0.0], list[float]()

    def paced(_request: bytes) -> bytes:
        with lock:
            free_at[0] = max(free_at[0], time.monotonic()) + 1 / 700
            wait = free_at[0] - time.monotonic()
        threading.Event().wait(wait)
        answered.append(time.monotonic())
        return response("200 OK", OBJECT)

    with serving(paced) as raw:
        load = Load(raw.server, reads(1), 100, connections=8, warm_up=1, seconds=2, rate=3000)
        tally = measured(load)
    step = step_of(load, tally, 1)
    # On a busy machine, the server answers less.
    own = sum(tally.started <= at <= tally.ended for at in answered) / step.seconds
    assert step.requests_per_second == pytest.approx(own, rel=0.02)
    assert step.requests_per_second <= 701
    assert tally.requests + tally.unfinished + tally.unsent == 6000
    assert not step.hangs
    assert (step.lag_p99_ms or 0) > 1000
    assert 0 < (step.peak_cpu_percent or 0) <= 100


def test_a_process_without_a_start_ends() -> None:
    """If the command ends before it says when to start, nothing is sent."""
    with serving() as raw:
        load = Load(raw.server, reads(2), 100, connections=1, count=2)
        main(io.BytesIO(pickle.dumps(load)), io.BytesIO())
    assert raw.requests == []
