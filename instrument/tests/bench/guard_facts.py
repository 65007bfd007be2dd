"""Run every command of `bench` towards a server that it must not reach, in a network of its own, and count packets.

It runs as process 1 of new namespaces, whose only way out is a link on which every TCP and UDP packet is counted.
Prints JSON: for each case and command, the exit status, the message, and how many packets left.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from express_path_cli.main import app
from express_path_instrument.lab.needs import find_program

OUTSIDE, OUTSIDE_6 = "203.0.113.9", "2001:db8::9"
NAMES = {"public.example": [OUTSIDE], "dual.example": ["127.0.0.1", OUTSIDE_6], "lab.example": ["127.0.0.1"]}
SHORT = ["--size", "1KiB", "--objects", "1", "--quiet", "--region", "us-east-1"]
STEPS = [*SHORT, "--processes", "1", "--timeout", "1"]
COMMANDS = {
    "get": ["bench", "get", "lab", *STEPS, "--connections", "1", "--count", "1"],
    "put": ["bench", "put", "lab", *STEPS, "--connections", "1", "--count", "1"],
    "open": ["bench", "open", "lab", *STEPS, "--rate", "1", "--duration", "0.1"],
    "sync": ["bench", "sync", "fast--use1-az4--x-s3", "lab", *SHORT, "--allow-other-zone"],
}
PROXIES = dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"), f"http://{OUTSIDE}:3128")
CASES: Mapping[str, tuple[list[str], Mapping[str, str]]] = {
    "public name": (["--endpoint-url", "http://public.example"], {}),
    "dual-stack name": (["--endpoint-url", "http://dual.example:9"], {}),
    "AWS_ENDPOINT_URL": ([], {"AWS_ENDPOINT_URL": f"http://{OUTSIDE}"}),
    "AWS_ENDPOINT_URL in the lab": (
        ["--endpoint-url", "http://127.0.0.1:9"],
        {"AWS_ENDPOINT_URL": f"http://{OUTSIDE}"},
    ),
    "proxies": (["--endpoint-url", "http://127.0.0.1:9"], PROXIES),
    "awscrt with a name": (["--endpoint-url", "http://lab.example:9", "--engine", "awscrt"], {}),
}


def run(program: str, *arguments: str) -> str:
    """Run a program and return its output."""
    return subprocess.run([str(find_program(program)), *arguments], check=True, capture_output=True, text=True).stdout


def build() -> None:
    """Create the link to the outside, the counter, and the names."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "out", "type", "veth", "peer", "name", "far")
    for link in ("out", "far"):
        run("ip", "link", "set", link, "up")
    run("ip", "address", "add", "192.0.2.1/24", "dev", "out")
    run("ip", "route", "add", "default", "via", "192.0.2.2")
    run("ip", "neigh", "add", "192.0.2.2", "lladdr", "02:00:00:00:00:01", "dev", "out")
    run("nft", "add table inet facts; add chain inet facts out { type filter hook output priority 0; }")
    run("nft", 'add rule inet facts out oifname "out" meta l4proto { tcp, udp } counter')
    hosts = Path("/run/hosts")
    run("mount", "-t", "tmpfs", "tmpfs", str(hosts.parent))
    hosts.write_text("".join(f"{address} {name}\n" for name, found in NAMES.items() for address in found))
    run("mount", "--bind", str(hosts), "/etc/hosts")


def packets() -> int:
    """Return how many packets have left."""
    rules = json.loads(run("nft", "-j", "list", "ruleset"))["nftables"]
    [counter] = [part["counter"] for row in rules for part in row.get("rule", {}).get("expr", ()) if "counter" in part]
    return int(counter["packets"])


def facts() -> Iterator[tuple[str, str, int, str, int]]:
    """Yield each case, command, exit status, message, and number of packets."""
    for case, (options, variables) in CASES.items():
        for name, line in COMMANDS.items():
            if name in {"open", "sync"} and "--engine" in options:
                continue  # they have one engine
            os.environ.update(variables)
            before, errors, status = packets(), io.StringIO(), 0
            with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
                try:
                    app([*line, *options])
                except SystemExit as ended:
                    status = int(ended.code or 0)
            yield case, name, status, errors.getvalue(), packets() - before
            for variable in variables:
                del os.environ[variable]


if __name__ == "__main__":
    build()
    subprocess.run(
        [sys.executable, "-c", f"import socket; socket.socket(2, 2).sendto(b'', ('{OUTSIDE}', 9))"], check=True
    )
    json.dump({"control": packets(), "facts": list(facts())}, sys.stdout)
