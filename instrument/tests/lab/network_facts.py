"""Builds the lab's network as process 1 of its namespaces, and prints facts about it as JSON. It has no server."""

import json
import socket
import subprocess
import sys
from typing import Any

from express_path_instrument.lab import network


def main() -> None:
    """Build the network, look at it, and print what was found."""
    subprocess.run(["mount", "-t", "tmpfs", "lab", "/run"], check=True)
    network.build()
    facts: dict[str, Any] = {"linkAtFirst": network.next_link()}
    network.limit_nat(1e6)
    facts["limit"] = json.loads(network.ip("-n", network.NAT, "-j", "-d", "link", "show", "n-client"))[0]["qdisc"]
    network.use_endpoint()
    facts["linkWithRoute"] = network.next_link()
    network.use_nat()
    facts["linkWithoutRoute"] = network.next_link()
    facts["congestionControl"] = subprocess.run(
        network.command_in(network.CLIENT, sys.executable, __file__, "connect"),
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    facts["routesOutside"] = network.ip("-j", "route")
    network.ip("link", "add", "leak", "netns", network.CLIENT, "type", "veth")
    try:
        network.check_closed()
    except network.LeakError as error:
        facts["leak"] = str(error)
    sys.stdout.write(json.dumps(facts))


def connect() -> None:
    """Start a connection over the default route, and print its congestion control; nobody answers."""
    with socket.socket() as connection:
        connection.setblocking(False)
        connection.connect_ex((network.SERVER_ADDRESS, 9))
        control = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        sys.stdout.write(control.rstrip(b"\0").decode())


if __name__ == "__main__":
    connect() if sys.argv[1:] else main()
