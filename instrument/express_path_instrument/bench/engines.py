"""The engines, and which of them measures what (docs/decisions/0012)."""

from enum import StrEnum
from importlib.util import find_spec
from typing import Protocol

from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.crt_engine import CrtEngine
from express_path_instrument.bench.http_engine import HttpEngine, Sign
from express_path_instrument.bench.load import Load, Server, Tally
from express_path_instrument.bench.processor import cpus

LARGE = 8 << 20
"""From this size on, in bytes, awscrt is used over TLS. For smaller objects, one process is too few."""


class EngineName(StrEnum):
    """How requests are sent."""

    AUTO = "auto"
    HTTP = "http"
    AWSCRT = "awscrt"


class Engine(Protocol):
    """Sends a load and measures it."""

    @property
    def name(self) -> str:
        """The name, as results have it."""
        ...

    @property
    def version(self) -> str:
        """The version of what sends the requests."""
        ...

    def run(self, load: Load, sign: Sign | None = None) -> Tally:
        """Send a load, and return what was measured."""
        ...


def engine_for(name: EngineName, server: Server, object_bytes: int, processes: int | None = None) -> Engine:
    """Return the engine with a name, or the one that measured best for such objects.

    processes: None for one for each processor. Raise OptionError for awscrt without TLS and with a name, which it would
    resolve again.
    """
    if name is EngineName.AWSCRT and not server.tls and server.host not in server.addresses:
        raise OptionError(
            f"--engine awscrt resolves {server.host} itself, so without TLS nothing proves the server; nothing was sent",
            "use --engine http, https, or an address in --endpoint-url",
        )
    if name is EngineName.AWSCRT or (name is EngineName.AUTO and server.tls and object_bytes >= LARGE):
        return CrtEngine()
    return HttpEngine(processes or cpus())


def require_extra() -> None:
    """Raise OptionError if the libraries of the extra `bench` are not installed."""
    missing = [name for name in ("awscrt", "hdrh") if find_spec(name) is None]
    if missing:
        raise OptionError(
            f"bench needs the Python package{'s' if len(missing) > 1 else ''} {' and '.join(missing)}",
            "install them with: pipx inject express-path awscrt hdrhistogram",
        )
