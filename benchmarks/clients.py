"""The client of `express-path bench` beside wrk, vegeta, and botocore: its speed, and what it says about a stall.

Speed: all clients read the same objects of one versitygw in turn, several times, because other work on the machine
changes what a run measures: what counts is the median of the ratios to wrk of the same turn. Stalls: wrk and `bench get`
(closed loops) and vegeta and `bench open` (open loops, at the same rate) measure one server that stalls for a second, and
one that never answers two requests.

wrk (Debian's package), versitygw (`make build/lab/versitygw`, or PATH), and vegeta (PATH) are skipped if they are missing.
"""

import csv
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil, nan
from pathlib import Path
from statistics import median

import boto3
from botocore.config import Config
from rich.console import Console
from rich.table import Table

from benchmarks.stalling_server import OBJECT
from express_path.adapters.aws import Aws
from express_path_instrument.bench.bucket import parse_bucket
from express_path_instrument.bench.http_engine import HttpEngine
from express_path_instrument.bench.load import Load, Server, Tally, Target
from express_path_instrument.bench.processor import cpus
from express_path_instrument.bench.results import latency_of
from express_path_instrument.bench.store import Store, open_store
from express_path_instrument.lab.needs import find_server

TURNS = int(os.environ.get("CLIENTS_TURNS", "5"))
SECONDS = int(os.environ.get("CLIENTS_SECONDS", "4"))
SIZES = ((64 << 10, 16), (32 << 20, 8))
"""Object sizes in bytes, and the connections that read them."""
OBJECTS = 4
BUCKET = "client"
CONNECTIONS, RATE, STALL_SECONDS = 8, 200, round(2.5 * SECONDS)
"""The connections of the closed loops, the requests in each second of the open loops, and the length of each run."""
VEGETA_TIMEOUT = 30.0


def main() -> None:
    """Print what was measured."""
    if not shutil.which("wrk"):
        print("clients: skipped, wrk is missing")
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").exists() else None) as name:
        folder = Path(name).resolve()
        _speed(folder)
        _stalls(folder)


# --- speed -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Run:
    """What one client read in a turn: requests per second, and processor time per request in ms, without its start."""

    rate: float
    cpu_ms: float


Client = Callable[[Load], Run]


def _speed(folder: Path) -> None:
    server = find_server()
    if not server:
        print("clients: no speeds, versitygw is missing")
        return
    for tls in (False, True) if shutil.which("openssl") else (False,):
        with _serving(folder, str(server.resolve()), tls=tls) as store:
            _compare(store, folder)


def _compare(store: Store, folder: Path) -> None:
    clients: dict[str, Client] = {
        "wrk": lambda load: _timed(lambda: int(_wrk(load, folder)["requests"])),
        "bench": lambda load: _bench(load, cpus()),
        "bench, one process": lambda load: _bench(load, 1),
        "botocore": lambda load: _timed(lambda: _botocore(load, store)),
    }
    table = Table("objects", "connections", "wrk: Gbit/s, CPU", title=f"speed, {store.url}")
    for name in list(clients)[1:]:
        table.add_column(f"{name}: of wrk, CPU", justify="right")
    for size, connections in SIZES:
        load = _load(store, size, connections)
        turns = [{name: client(load) for name, client in clients.items()} for _ in range(TURNS)]
        wrk = [turn["wrk"] for turn in turns]
        cells = [f"{size >> 10:,} KiB", str(connections)]
        cells.append(f"{median(run.rate for run in wrk) * size * 8 / 1e9:.2f}, {min(run.cpu_ms for run in wrk):.2f} ms")
        for name in list(clients)[1:]:
            ratios = [turn[name].rate / turn["wrk"].rate for turn in turns if turn["wrk"].rate]
            ratio = median(ratios or [nan])  # on a busy machine, wrk may not end a single request
            cells.append(f"{ratio:.2f}, {min(turn[name].cpu_ms for turn in turns):.2f} ms")
        table.add_row(*cells)
    Console(width=120).print(table)
    print("CPU: the least processor time of the client for each request, which other work changes least.\n")


def _timed(send: Callable[[], int]) -> Run:
    """Return the run of a client in this process, or in one that starts fast."""
    before = _cpu_seconds()
    requests = send()
    return _run(requests, _cpu_seconds() - before)


def _bench(load: Load, processes: int) -> Run:
    tally = HttpEngine(processes).run(load)
    return _run(tally.requests, tally.cpu)


def _run(requests: int, cpu_seconds: float) -> Run:
    return Run(requests / SECONDS, cpu_seconds * 1e3 / max(1, requests))


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


def _botocore(load: Load, store: Store) -> int:
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
            done += time.monotonic() < end
        return done

    with ThreadPoolExecutor(load.connections) as pool:
        return sum(pool.map(read, range(load.connections)))


@contextmanager
def _serving(folder: Path, server: str, *, tls: bool) -> Iterator[Store]:
    """Run the S3 server, and yield a bucket of it."""
    os.environ.update({"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"})
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    # --keep-alive: without it, every request needs a connection of its own.
    line = [server, "--access", "key", "--secret", "secret", "--port", f"127.0.0.1:{port}", "--quiet", "--keep-alive"]
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
            store.client().create_bucket(Bucket=BUCKET)
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


_DONE = """
done = function(summary, latency)
  io.write(string.format("\\nfound %d %d %d %d %d %d\\n", summary.requests, latency:percentile(50), latency:percentile(99),
    latency:percentile(99.9), latency.max, summary.errors.timeout))
end
"""


def _wrk(load: Load, folder: Path) -> dict[str, float]:
    """Run wrk, and return its number of requests, its percentiles in ms, and its timeouts."""
    paths = ", ".join(f'"{target.path}"' for target in load.targets)
    script = folder / "paths.lua"
    script.write_text(
        f"local paths, i = {{{paths}}}, 0\n"
        f'request = function() i = i % #paths + 1 return wrk.format("GET", paths[i]) end\n{_DONE}',
        encoding="ascii",
    )
    url = f"{'https' if load.server.tls else 'http'}://{load.server.authority}"
    line = ["wrk", f"-t{min(2, load.connections)}", f"-c{load.connections}", f"-d{load.seconds:g}s"]
    output = subprocess.run([*line, "-s", str(script), url], capture_output=True, text=True, check=True).stdout
    found = re.search(r"found (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)", output)
    if not found or "Non-2xx" in output:
        raise RuntimeError(output)
    requests, p50, p99, p999, most, timeouts = map(int, found.groups())
    return {
        "requests": requests,
        "p50": p50 / 1e3,
        "p99": p99 / 1e3,
        "p999": p999 / 1e3,
        "max": most / 1e3,
        "without": timeouts,
    }


# --- stalls ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Seen:
    """What a client says: answered requests, those without an answer, and percentiles of the latency in ms."""

    requests: int
    without: int
    p50: float
    p99: float
    p999: float
    most: float


def _stalls(folder: Path) -> None:
    line = [sys.executable, "-m", "benchmarks.stalling_server"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            port = int(process.stdout.readline())
            server = Server("127.0.0.1", port, ("127.0.0.1",), tls=False)
            _processes(server)
            for kind in ("calm", "stall", "hang"):
                _show(kind, server, folder)
        finally:
            process.kill()


def _processes(server: Server) -> None:
    """Print what two processes get of what one gets, with the same three connections to a calm server."""
    load = Load(server, [Target("GET", "/calm")], len(OBJECT), 3, seconds=SECONDS)
    one, two = (HttpEngine(number).run(load) for number in (1, 2))
    tails = [latency_of(tally.histogram()).p99 or nan for tally in (one, two)]
    print(
        f"two processes: {two.requests / one.requests:.3f} of the rate of one, {tails[1] / tails[0]:.2f} of its p99\n"
    )


def _show(kind: str, server: Server, folder: Path) -> None:
    closed = Load(server, [Target("GET", f"/{kind}")], len(OBJECT), CONNECTIONS, seconds=STALL_SECONDS, timeout=10)
    opened = replace(closed, rate=RATE, connections=8 * CONNECTIONS)
    clients: dict[str, Callable[[], Seen]] = {
        f"wrk, {CONNECTIONS} connections": lambda: _seen_by_wrk(_wrk(closed, folder)),
        f"bench get, {CONNECTIONS} connections": lambda: _seen_by_bench(HttpEngine(1).run(closed)),
        f"vegeta, {RATE}/s": lambda: _vegeta(opened, folder),
        f"bench open, {RATE}/s": lambda: _seen_by_bench(HttpEngine(1).run(opened)),
    }
    table = Table("client", title=f"{kind}, {STALL_SECONDS:g} s; latency in ms")
    for column in ("answered", "without an answer", "p50", "p99", "p99.9", "max"):
        table.add_column(column, justify="right")
    for name, client in clients.items():
        if name.startswith("vegeta") and not shutil.which("vegeta"):
            print("clients: no vegeta")
            continue
        seen = client()
        times = (seen.p50, seen.p99, seen.p999, seen.most)
        table.add_row(name, f"{seen.requests:,}", str(seen.without), *(f"{value:,.0f}" for value in times))
        time.sleep(2)  # the server begins another run
    Console(width=120).print(table)


def _seen_by_wrk(found: dict[str, float]) -> Seen:
    return Seen(int(found["requests"]), int(found["without"]), found["p50"], found["p99"], found["p999"], found["max"])


def _seen_by_bench(tally: Tally) -> Seen:
    latency = latency_of(tally.histogram())
    values = (latency.p50, latency.p99, latency.p999, latency.max)
    return Seen(tally.requests, tally.unfinished, *(value or 0 for value in values))


def _vegeta(load: Load, folder: Path) -> Seen:
    """Run vegeta, and return what its results say: each has the time of one request, also of one without an answer."""
    url = f"http://{load.server.authority}{load.targets[0].path}"
    line = ["vegeta", "attack", f"-rate={load.rate:g}", f"-duration={load.seconds:g}s", f"-timeout={VEGETA_TIMEOUT:g}s"]
    results = folder / "vegeta.bin"
    subprocess.run([*line, f"-output={results}"], input=f"GET {url}\n", text=True, check=True)
    encoded = subprocess.run(
        ["vegeta", "encode", "-to=csv", str(results)], capture_output=True, text=True, check=True
    ).stdout
    rows = [(int(row[1]), int(row[2]) / 1e6) for row in csv.reader(encoded.splitlines())]
    times = sorted(milliseconds for _, milliseconds in rows)
    answered = sum(status > 0 for status, _ in rows)
    p50, p99, p999 = (_percentile(times, share) for share in (50, 99, 99.9))
    return Seen(answered, len(rows) - answered, p50, p99, p999, times[-1])


def _percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[max(0, ceil(len(ordered) * share / 100) - 1)]
