"""Both engines measure the same, from processes that are gone at the end, and send each request once and directly."""

import ssl
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from express_path.errors import ApiError
from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench import engines, http_engine
from express_path_instrument.bench.crt_engine import CrtEngine
from express_path_instrument.bench.engines import Engine, EngineName, engine_for
from express_path_instrument.bench.http_engine import HttpEngine
from express_path_instrument.bench.load import Keys, Load, Presigned, Server, Target
from express_path_instrument.bench.processor import cpus
from instrument.tests.bench.raw_server import CLOSE, reads, response, serving, with_object
from tests.support.command import invoke

PROXIES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
BOTH = [HttpEngine(2), CrtEngine()]
SLOW_DOWN = response("503 Slow Down", b"<Error><Code>SlowDown</Code></Error>")


@pytest.fixture(autouse=True)
def proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy in the environment that no request may use: nothing listens there."""
    for name in PROXIES:
        monkeypatch.setenv(name, "http://127.0.0.1:9")


@pytest.mark.parametrize("engine", BOTH, ids=lambda engine: engine.name)
def test_a_count_of_reads(engine: Engine) -> None:
    """Each object is read once, directly, although the environment names a proxy."""
    with serving() as raw:
        tally = engine.run(Load(raw.server, reads(20), 100, connections=3, count=20))
    assert tally.failure == ""
    assert (tally.requests, tally.transferred) == (20, 2000)
    assert 0 <= (tally.use.system_percent or 0) <= 100
    assert Counter(raw.lines()) == Counter(f"GET /{position}" for position in range(20))
    latency = tally.latency()
    assert 0 < (latency.p50 or 0) <= (latency.p99 or 0) <= (latency.max or 0)
    assert 0 < (latency.mean or 0) < 1.001 * (latency.max or 0)
    assert tally.ended > tally.started
    assert 0 <= (tally.use.client_percent or 0) <= 100
    assert 0 <= (tally.use.other_percent or 0) <= 100
    assert engine.version


@pytest.mark.parametrize("engine", BOTH, ids=lambda engine: engine.name)
def test_each_connection_has_a_rate(engine: Engine) -> None:
    """The rate of a connection is that of its own requests: 100 bytes in at least 0.1 s each."""

    def slowly(request: bytes) -> bytes:
        time.sleep(0.1)
        return with_object(request)

    with serving(slowly) as raw:
        tally = engine.run(Load(raw.server, reads(1), 100, connections=3, count=6))
    assert len(tally.streams) == 3
    assert all(200 < rate <= 1000 for rate in tally.streams)


@pytest.mark.parametrize("engine", BOTH, ids=lambda engine: engine.name)
def test_a_duration_of_writes(engine: Engine) -> None:
    """Writes go on for the duration, after a warm-up, and each sends the whole body."""
    with serving(lambda _: response("200 OK", b"", 'ETag: "1"')) as raw:
        targets = [Target("PUT", f"/{position}", 3000) for position in range(4)]
        tally = engine.run(Load(raw.server, targets, 3000, connections=2, warm_up=0.1, seconds=0.3))
    assert tally.failure == ""
    assert set(raw.body_lengths) == {3000}
    assert 0 < tally.requests < len(raw.requests)
    assert sum(tally.statuses.values()) == tally.requests


@pytest.mark.parametrize("engine", BOTH, ids=lambda engine: engine.name)
def test_a_throttled_request_is_sent_once(engine: Engine) -> None:
    """An engine does not repeat a request that was answered with 503, because that would hide the throttling."""
    answers = iter([SLOW_DOWN, SLOW_DOWN])
    with serving(lambda request: next(answers, None) or with_object(request)) as raw:
        tally = engine.run(Load(raw.server, reads(1), 100, connections=1, count=6))
    assert len(raw.requests) == 6
    assert tally.errors == {"503": 2}
    assert tally.requests == 4
    assert Counter(status for _, status in tally.statuses.elements()) in (
        {"503": 2, "200": 4},
        {"503": 2, "206": 4},
    )


@pytest.mark.parametrize("engine", BOTH, ids=lambda engine: engine.name)
def test_a_lost_connection_is_an_error(engine: Engine) -> None:
    """A connection that the server closes instead of an answer is counted, and the rest of the load is sent."""
    answers = iter([CLOSE])
    with serving(lambda request: next(answers, None) or with_object(request)) as raw:
        tally = engine.run(Load(raw.server, reads(1), 100, connections=1, count=3))
    assert tally.errors.total() == 1
    assert tally.requests == 2


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The files of a certificate for localhost, and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    today = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, today, today + timedelta(days=1))
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    signed = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    folder = tmp_path_factory.mktemp("certificate")
    pem = serialization.Encoding.PEM
    (folder / "certificate").write_bytes(signed.public_bytes(pem))
    plain = serialization.NoEncryption()
    (folder / "key").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return str(folder / "certificate"), str(folder / "key")


@pytest.mark.parametrize("engine", BOTH, ids=lambda engine: engine.name)
def test_tls_proves_that_the_server_is_the_right_one(
    engine: Engine, certificate: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Objects are read over TLS from a server with a trusted certificate for its name, and from no other."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with serving() as raw:
        raw.context = context
        trusted = Server("localhost", raw.port, ("127.0.0.1",), tls=True, ca_file=certificate[0])
        assert engine.run(Load(trusted, reads(2), 100, connections=1, count=2)).errors == {}
        others = (replace(trusted, ca_file=None), replace(trusted, host="127.0.0.1"))
        loads = [Load(other, reads(1), 100, connections=1, count=1) for other in others]
        for name in PROXIES:
            monkeypatch.delenv(name)  # awscrt's engine changes them, which loads at the same time must not
        # At the same time, because awscrt reports a certificate that it refuses after a random delay of 10 to 30 s.
        with ThreadPoolExecutor() as threads:
            tallies = list(threads.map(engine.run, loads))
        assert [tally.errors.total() for tally in tallies] == [1, 1], tallies
        assert len(raw.requests) == 2


@pytest.mark.parametrize("engine", BOTH, ids=lambda engine: engine.name)
def test_requests_of_a_long_step_are_signed_again(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a session expires, every process uses new signatures, and the step goes on. A failure is tried again.

    Requests that are signed when they are sent have new keys for as long as the step lasts.
    """
    monkeypatch.setattr(http_engine, "RENEW_SECONDS", 0.1)
    signed = iter([ApiError("s3:CreateSession", "SlowDown", "Reduce your rate.")])

    def sign() -> Presigned:
        for error in signed:
            raise error
        return Presigned("GET", Keys(("a/", "b/"), "run", 10**12), 0, "/lab/", "host", "again=1", "first lines", "00")

    def answer(request: bytes) -> bytes:
        seen.append(request.split()[1].decode())
        return with_object(request)

    seen: list[str] = []
    with serving(answer) as raw:
        tally = engine.run(Load(raw.server, reads(4), 100, connections=4, seconds=2), sign)
    assert tally.errors == {}
    assert {"/0", "/1", "/2", "/3"} < set(seen)
    again = [path for path in seen if path.endswith(tuple("0123456789abcdef")) and "?again=1&X-Amz-Signature=" in path]
    assert len(set(again)) == len(again) > 4
    assert {path.split("/")[2] for path in again} == {"a", "b"}


PART = b"HTTP/1.1 206 Partial Content\r\nContent-Length: 100\r\nContent-Range: bytes 0-99/100\r\n\r\nx"


@pytest.mark.parametrize("engine", BOTH, ids=lambda engine: engine.name)
@pytest.mark.parametrize("ends", [{"seconds": 0.3}, {"count": 5, "count_limit": 0.3}], ids=["seconds", "count"])
def test_requests_that_are_open_at_the_end_count_with_their_age(engine: Engine, ends: dict[str, Any]) -> None:
    """A step ends in time although two requests hang, and its latency is at least as long as they waited."""
    before = time.monotonic()
    with serving(lambda _: PART) as raw:
        tally = engine.run(Load(raw.server, reads(1), 100, connections=2, **ends))
    assert time.monotonic() - before < 30  # the timeout of a request is 60 s
    assert (tally.requests, tally.errors, tally.unfinished) == (0, {}, 2)
    latency = tally.latency()
    assert tally.oldest >= 0.2
    assert (latency.p50 or 0) >= 200
    assert (latency.max or 0) >= 200


@pytest.mark.parametrize("engine", BOTH, ids=lambda engine: engine.name)
def test_one_request_that_hangs_is_the_maximum(engine: Engine) -> None:
    """While one connection goes on, the request that hangs on the other is in the maximum, and alone unfinished."""
    answers = iter([PART])
    with serving(lambda request: next(answers, None) or with_object(request)) as raw:
        tally = engine.run(Load(raw.server, reads(1), 100, connections=2, seconds=0.5))
    assert tally.requests > 0
    assert tally.unfinished in {1, 2}  # the other connection may be about to get an answer
    assert (tally.latency().max or 0) >= 300


def test_a_process_that_ends_early_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command reports a process that cannot start."""
    monkeypatch.setattr("express_path_instrument.bench.http_engine._WORKER", [sys.executable, "-c", ""])
    with serving() as raw, pytest.raises(OptionError, match="ended early"):
        HttpEngine(1).run(Load(raw.server, reads(1), 100, connections=1, count=1))


def test_the_engine_is_the_one_that_measured_best() -> None:
    """Large objects over TLS are read with awscrt, and everything else from several processes."""
    secure, plain = Server("localhost", 1, ("127.0.0.1",), tls=True), Server("127.0.0.1", 1, ("127.0.0.1",), tls=False)
    assert engine_for(EngineName.AUTO, secure, 8 << 20).name == "awscrt"
    assert engine_for(EngineName.AUTO, secure, (8 << 20) - 1).name == "http"
    assert engine_for(EngineName.AUTO, plain, 1 << 30).name == "http"
    assert engine_for(EngineName.AWSCRT, plain, 1).name == "awscrt"
    assert engine_for(EngineName.HTTP, secure, 1 << 30).name == "http"
    assert engine_for(EngineName.HTTP, plain, 1) == HttpEngine(cpus())


def test_without_the_extra_the_command_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If its libraries are not installed, bench sends nothing, and names the command that installs them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engines, "find_spec", lambda _: None)
    with serving() as raw:
        result = invoke(["bench", "get", "lab", "--endpoint-url", raw.url])
    assert result.exit_code == 2
    assert "pipx inject express-path awscrt hdrhistogram" in result.stderr
    assert raw.requests == []
