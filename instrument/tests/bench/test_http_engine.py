"""The processes of the engine together send each request of a load once, and are gone at the end."""

import ssl
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.http_engine import HttpEngine
from express_path_instrument.bench.load import Load, Server
from express_path_instrument.bench.results import latency_of
from instrument.tests.bench.raw_server import reads, serving

ENGINE = HttpEngine(2)


def test_a_count_of_reads() -> None:
    """Each object is read once."""
    with serving() as raw:
        tally = ENGINE.run(Load(raw.server, reads(20), 100, connections=3, count=20))
    assert tally.failure == ""
    assert (tally.requests, tally.transferred) == (20, 2000)
    assert Counter(raw.lines()) == Counter(f"GET /{position}" for position in range(20))
    latency = latency_of(tally.histogram())
    assert 0 < (latency.p50 or 0) <= (latency.p99 or 0) <= (latency.max or 0)
    assert tally.ended > tally.started
    assert 0 < (tally.use.client_percent or 0) <= 100
    assert 0 <= (tally.use.other_percent or 0) <= 100
    assert ENGINE.version


def test_modules_of_the_current_folder_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes find the modules that the command has found, and no file that has the name of one of them."""
    for name in ("pickle", "pycurl"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with serving() as raw:
        assert ENGINE.run(Load(raw.server, reads(1), 100, connections=1, count=1)).requests == 1


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


def test_tls_proves_that_the_server_is_the_right_one(
    certificate: tuple[str, str],
) -> None:
    """Objects are read over TLS from a server with a trusted certificate for its name, and from no other."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with serving() as raw:
        raw.context = context
        trusted = Server("localhost", raw.port, ("127.0.0.1",), tls=True, ca_file=certificate[0])
        assert ENGINE.run(Load(trusted, reads(2), 100, connections=1, count=2)).errors == {}
        for other in (replace(trusted, ca_file=None), replace(trusted, host="127.0.0.1")):
            tally = ENGINE.run(Load(other, reads(1), 100, connections=1, count=1))
            assert [name[:5] for name in tally.errors] == ["TLS: "]
        assert len(raw.requests) == 2


@pytest.mark.parametrize("program", ["", "import os; os.close(0); print('ready', flush=True)"])
def test_a_process_that_ends_early_is_an_error(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command reports a process that cannot start, and one that closes its pipe, which is not the command's own."""
    monkeypatch.setattr("express_path_instrument.bench.http_engine._WORKER", [sys.executable, "-c", program])
    with serving() as raw, pytest.raises(OptionError, match="ended early"):
        HttpEngine(1).run(Load(raw.server, reads(1), 100, connections=1, count=1))
