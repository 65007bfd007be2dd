"""The lab as process 1 of its namespaces: build the network, measure both paths, change the route, print the results.

Everything here ends with this process, also if it is killed. Its files are in memory, so it leaves nothing behind.
"""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from express_path_cli.terminal.texts import rate_text
from express_path_instrument.bench.classify import load_points
from express_path_instrument.bench.results_reader import read_bench
from express_path_instrument.lab import network, server
from express_path_instrument.lab.route_change import change_route
from express_path_instrument.lab.settings import Settings
from express_path_instrument.lab.sweeps import sweep

_FOLDER = Path("/run/lab")
_OVER_LIMIT = 3
"""The exit status if the lab received too many bytes."""


def main() -> None:
    """Run the lab, and print JSON that express_path_instrument.lab.results reads. Arguments: the S3 server, and the settings as JSON."""
    program, settings = Path(sys.argv[1]), Settings(**json.loads(sys.argv[2]))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1g", "lab", "/run"], check=True)
    _FOLDER.mkdir()
    network.build()
    threading.Thread(target=_watch, args=(settings,), daemon=True).start()
    server.start(program, _FOLDER / "objects", settings.service_seconds)
    json.dump(_measure(settings), sys.stdout)


def _measure(settings: Settings) -> dict[str, Any]:
    """Measure the NAT's path without a limit, and with one in turns with the endpoint's; then change the route.

    Return the results. Each names its path: the link of the client, and the limit.
    """
    results, limit = {}, 0.0
    for name in ("endpoint", "control", "nat", "endpoint-again", "nat-again"):
        if name.startswith("endpoint"):
            network.use_endpoint()
        else:
            network.use_nat()
        if name == "nat":
            points = load_points(read_bench(_FOLDER / "endpoint.json"))
            limit = max(point.gbps for point in points) * 1e9 * settings.nat_share
            network.limit_nat(limit)
        path = [network.next_link(), *([rate_text(limit, "bit/s")] if name.startswith("nat") else [])]
        _say(f"Measuring {name}: {', '.join(path)}")
        document = json.loads(sweep(settings, _FOLDER / f"{name}.json").read_bytes())
        results[name] = document | {"path": {"verdict": "LAB", "reason": name, "hops": path}}
    for name, resets in (("route-resets", True), ("route-silence", False)):  # once off, resets stay off
        _say(f"Adding the endpoint's route during downloads: {name}")
        result = change_route(settings.transfer_seconds, _FOLDER / f"{name}.json", resets=resets)
        results[name] = json.loads(result.read_bytes())
    return {"bitsPerSecond": limit, "results": results}


def _watch(settings: Settings) -> None:
    """End everything as soon as the lab has received too many bytes; its caller limits the time."""
    while network.received_bytes() < settings.bytes_limit:
        time.sleep(0.5)
    _say(f"The lab received more than {settings.bytes_limit:,} bytes and was ended")
    os._exit(_OVER_LIMIT)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
