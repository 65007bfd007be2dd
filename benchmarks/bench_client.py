"""The client of `express-path bench` beside wrk and botocore, on one S3 server: throughput, and processor time.

wrk (Debian's package) and versitygw (`make path-lab` builds it, or PATH has it) are needed; otherwise, it is skipped.
All clients run in turn, several times, because other work on the machine changes what a run measures: what counts is
the median of the ratios to wrk of the same turn.
"""

import os
import re
import resource
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import boto3
from botocore.config import Config
from rich.console import Console
from rich.table import Table

from express_path.adapters.aws import Aws
from express_path_instrument.bench.bucket import parse_bucket
from express_path_instrument.bench.crt_engine import CrtEngine
from express_path_instrument.bench.engines import EngineName, engine_for
from express_path_instrument.bench.http_engine import HttpEngine
from express_path_instrument.bench.load import Load
from express_path_instrument.bench.processor import cpus
from express_path_instrument.bench.store import Store, open_store

BUILT_SERVER = Path("build/lab/versitygw")
TURNS = int(os.environ.get("BENCH_CLIENT_TURNS", "3"))
SECONDS = float(os.environ.get("BENCH_CLIENT_SECONDS", "3"))
SIZES = ((64 << 10, 16), (1 << 20, 8), (8 << 20, 8), (32 << 20, 8))
"""Object sizes in bytes, and the connections that read them."""
OBJECTS = 4
BUCKET = "client"


@dataclass(frozen=True, slots=True)
class Run:
    """What one client read in a turn: requests per second, and processor time per request in ms."""

    rate: float
    cpu_ms: float


Client = Callable[[Load], float]
"""Reads a load, and returns the requests per second."""


def main() -> None:
    """Print a table for plain HTTP, and one for TLS."""
    server = str(BUILT_SERVER) if BUILT_SERVER.exists() else shutil.which("versitygw")
    if not server or not shutil.which("wrk"):
        print(f"bench_client: skipped, {'wrk' if server else 'versitygw'} is missing")
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").exists() else None) as folder:
        for tls in (False, True) if shutil.which("openssl") else (False,):
            with _serving(Path(folder).resolve(), str(Path(server).resolve()), tls=tls) as store:
                _compare(store, Path(folder))


def _compare(store: Store, folder: Path) -> None:
    clients: dict[str, Client] = {
        "wrk": lambda load: _wrk(load, folder),
        "http": lambda load: HttpEngine(cpus()).run(load).requests / SECONDS,
        "awscrt": lambda load: CrtEngine().run(load).requests / SECONDS,
        "botocore": lambda load: _botocore(load, store),
    }
    table = Table("objects", "connections", "wrk Gbit/s", "wrk requests/s", title=f"clients of {store.url}")
    for name in list(clients)[1:]:
        table.add_column(f"{name}: of wrk, CPU", justify="right")
    for size, connections in SIZES:
        load = _load(store, size, connections)
        turns = [{name: _measure(client, load) for name, client in clients.items()} for _ in range(TURNS)]
        rate = median(turn["wrk"].rate for turn in turns)
        cells = [f"{size >> 10:,} KiB", str(connections), f"{rate * size * 8 / 1e9:.2f}", f"{rate:,.0f}"]
        chosen = engine_for(EngineName.AUTO, store.server, size).name
        for name in list(clients)[1:]:
            ratio = median(turn[name].rate / turn["wrk"].rate for turn in turns)
            cpu_ms = median(turn[name].cpu_ms for turn in turns)
            cells.append(f"{'* ' if name == chosen else ''}{ratio:.2f}, {cpu_ms:.2f} ms")
        table.add_row(*cells)
    Console(width=120).print(table)
    print("* what bench chooses for such objects. CPU: processor time of the client for each request.\n")


def _measure(client: Client, load: Load) -> Run:
    before = _cpu_seconds()
    rate = client(load)
    return Run(rate, (_cpu_seconds() - before) * 1000 / max(1, rate * SECONDS))


def _cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _load(store: Store, size: int, connections: int) -> Load:
    keys = [f"{size}-{number}" for number in range(OBJECTS)]
    writes = store.targets("PUT", keys, size)
    tally = HttpEngine(1).run(Load(store.server, writes, size, 1, count=OBJECTS))
    if tally.errors:
        raise RuntimeError(tally.failure)
    return Load(store.server, store.targets("GET", keys), size, connections, seconds=SECONDS)


def _wrk(load: Load, folder: Path) -> float:
    paths = ", ".join(f'"{target.path}"' for target in load.targets)
    script = folder / "paths.lua"
    script.write_text(
        f"local paths, i = {{{paths}}}, 0\n"
        'request = function() i = i % #paths + 1 return wrk.format("GET", paths[i]) end\n',
        encoding="ascii",
    )
    url = f"{'https' if load.server.tls else 'http'}://{load.server.authority}"
    line = ["wrk", f"-t{min(2, load.connections)}", f"-c{load.connections}", f"-d{SECONDS:g}s", "-s", str(script), url]
    output = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    found = re.search(r"Requests/sec: *([0-9.]+)", output)
    if not found or float(found[1]) == 0 or "Non-2xx" in output:
        raise RuntimeError(output)
    return float(found[1])


def _botocore(load: Load, store: Store) -> float:
    config = Config(
        s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}, max_pool_connections=load.connections
    )
    s3 = boto3.client("s3", endpoint_url=store.endpoint_url, verify=load.server.ca_file or None, config=config)
    names = [target.path.partition("?")[0].rpartition("/")[2] for target in load.targets]
    end = time.monotonic() + SECONDS

    def read(position: int) -> int:
        done = 0
        while time.monotonic() < end:
            body = s3.get_object(Bucket=BUCKET, Key=names[(position + done) % len(names)])["Body"]
            while body.read(1 << 20):
                pass
            done += 1
        return done

    with ThreadPoolExecutor(load.connections) as pool:
        return sum(pool.map(read, range(load.connections))) / SECONDS


@contextmanager
def _serving(folder: Path, server: str, *, tls: bool) -> Iterator[Store]:
    """Run the S3 server, and yield a bucket of it."""
    os.environ.update({"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"})
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    line = [server, "--access", "key", "--secret", "secret", "--port", f"127.0.0.1:{port}", "--quiet"]
    line += _certificate(folder) if tls else []
    objects = folder / f"objects-{tls}"
    objects.mkdir()
    with subprocess.Popen(
        [*line, "posix", str(objects)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _wait_for(port)
            url = f"https://localhost:{port}" if tls else f"http://127.0.0.1:{port}"
            store = open_store(parse_bucket(BUCKET), Aws(boto3.Session(), Config(), "us-east-1"), url)
            store.create()
            yield store
        finally:
            process.kill()
            os.environ.pop("AWS_CA_BUNDLE", None)


def _certificate(folder: Path) -> list[str]:
    """Make a certificate for localhost, which the clients trust, and return the server's options."""
    key, certificate = str(folder / "key.pem"), str(folder / "certificate.pem")
    line = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    line += ["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate]
    subprocess.run(line, check=True, capture_output=True)
    os.environ["AWS_CA_BUNDLE"] = certificate
    return ["--cert", certificate, "--key", key]


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("versitygw does not answer")
