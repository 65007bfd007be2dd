"""The lab's network: a client, a NAT with a limited rate, and a server, as in a VPC with a gateway endpoint.

    client 10.0.1.10 --- c-nat ------ n-client [NAT: masquerade, limited rate] n-server --- s-nat --- 10.0.9.2 server
           |                                                                                             |
           +-------- c-endpoint ------------------------------------------------------ s-endpoint -------+

The client's default route leads to the NAT. A more specific route to the server, which the endpoint adds, wins by its
longest prefix. The client keeps its address on both paths, and the server sees the NAT's address on one of them.
"""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from express_path_instrument.lab.needs import find_program

CLIENT, NAT, SERVER = "client", "nat", "server"
CLIENT_ADDRESS, SERVER_ADDRESS = "10.0.1.10", "10.0.9.2"
ENDPOINT_ROUTE = f"{SERVER_ADDRESS}/32"
LINKS = {
    CLIENT: {"lo", "c-nat", "c-endpoint"},
    NAT: {"lo", "n-client", "n-server"},
    SERVER: {"lo", "s-nat", "s-endpoint"},
}
CONGESTION_CONTROL = "cubic"
"""Some machines use bbr by default, which reacts differently to a limited rate."""
_BURST = "128kb"
"""The NAT's token bucket. It splits packets that do not fit, which are up to 64 KiB and a header, into 45 small ones."""
_QUEUE = "100ms"
"""How long the NAT queues packets before it drops them."""


class LeakError(Exception):
    """The lab's network has a link that does not belong to it."""


def ip(*arguments: str) -> str:
    """Run iproute2 and return what it prints."""
    return _run("ip", *arguments)


def build() -> None:
    """Create the namespaces, links, and routes; the client's route leads through the NAT, which has no limit yet."""
    Path("/run/netns").mkdir()
    for name in LINKS:
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
    for near, far in ((("client", "c-nat"), ("nat", "n-client")), (("nat", "n-server"), ("server", "s-nat"))):
        _connect(near, far)
    _connect(("client", "c-endpoint"), ("server", "s-endpoint"))
    _address()
    in_namespace(NAT, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    chain = "add table ip lab; add chain ip lab out { type nat hook postrouting priority 100; }"
    in_namespace(NAT, "nft", f'{chain}; add rule ip lab out oifname "n-server" masquerade')
    check_closed()


def _connect(near: tuple[str, str], far: tuple[str, str]) -> None:
    ip("link", "add", near[1], "netns", near[0], "type", "veth", "peer", "name", far[1], "netns", far[0])
    ip("-n", near[0], "link", "set", near[1], "up")
    ip("-n", far[0], "link", "set", far[1], "up")


def _address() -> None:
    """Assign addresses and routes. Every route to another host sets the congestion control, which needs no root."""
    control = ("congctl", CONGESTION_CONTROL)
    ip("-n", CLIENT, "address", "add", f"{CLIENT_ADDRESS}/24", "dev", "c-nat")
    ip("-n", NAT, "address", "add", "10.0.1.1/24", "dev", "n-client")
    ip("-n", NAT, "address", "add", "10.0.9.1/24", "dev", "n-server")
    ip("-n", SERVER, "address", "add", f"{SERVER_ADDRESS}/24", "dev", "s-nat")
    ip("-n", CLIENT, "route", "add", "default", "via", "10.0.1.1", *control)
    ip("-n", SERVER, "route", "replace", "10.0.9.0/24", "dev", "s-nat", "src", SERVER_ADDRESS, *control)


def check_closed() -> None:
    """Raise LeakError unless every namespace has exactly the lab's links, so nothing can leave this machine."""
    for arguments, allowed in ((("link",), {"lo"}), *((("-n", name, "link"), LINKS[name]) for name in LINKS)):
        links = {link["ifname"] for link in json.loads(ip("-j", *arguments))}
        if links != allowed:
            raise LeakError(f"unexpected links: {sorted(links ^ allowed)}")


def limit_nat(bits_per_second: float) -> None:
    """Limit what the NAT sends to the client, to this rate."""
    rate = f"{bits_per_second:.0f}bit"
    bucket = ("tbf", "rate", rate, "burst", _BURST, "latency", _QUEUE)
    _run("tc", "-n", NAT, "qdisc", "replace", "dev", "n-client", "root", *bucket)


def use_endpoint() -> None:
    """Add the endpoint's route, as a heal does. Answers to the client's own address take the same way back."""
    control = ("congctl", CONGESTION_CONTROL)
    ip("-n", SERVER, "route", "replace", "10.0.1.0/24", "dev", "s-endpoint", "src", SERVER_ADDRESS, *control)
    ip("-n", CLIENT, "route", "replace", ENDPOINT_ROUTE, "dev", "c-endpoint", "src", CLIENT_ADDRESS, *control)


def use_nat() -> None:
    """Remove the endpoint's route, so that the default route wins again."""
    ip("-n", CLIENT, "route", "flush", ENDPOINT_ROUTE)
    ip("-n", SERVER, "route", "flush", "10.0.1.0/24")


def drop_resets() -> None:
    """Make the server ignore packets of connections that it does not know, instead of answering with a reset."""
    chain = "add table ip lab; add chain ip lab out { type filter hook output priority 0; }"
    in_namespace(SERVER, "nft", f"{chain}; add rule ip lab out tcp flags & rst == rst drop")


def next_link() -> str:
    """Return the link through which the client reaches the server now."""
    return str(json.loads(ip("-n", CLIENT, "-j", "route", "get", SERVER_ADDRESS))[0]["dev"])


def received_bytes() -> int:
    """Return what the client has received on both paths."""
    links = json.loads(ip("-n", CLIENT, "-s", "-j", "link"))
    return sum(link["stats64"]["rx"]["bytes"] for link in links if link["ifname"] != "lo")


def command_in(name: str, *command: str) -> list[str]:
    """Return the command line that runs a command in a namespace."""
    return [str(find_program("ip")), "netns", "exec", name, *command]


def in_namespace(name: str, *command: str) -> None:
    """Run a command in a namespace."""
    _run("ip", "netns", "exec", name, str(find_program(command[0]) or command[0]), *command[1:])


def _run(program: str, *arguments: str) -> str:
    command: Sequence[str] = [str(find_program(program)), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
