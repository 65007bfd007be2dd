"""The installed command in its own processes, which start in 50 ms instead of a second.

A server imports the command once and forks a process for each start. What is started is a relay, which hands its
streams, environment, and directory to the new process, passes SIGINT on, and ends with the same status. The new process
exits as any interpreter does. It has none of the relay's resource limits and is not in its process group.
"""

import atexit
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
AT_START = ("PYTHON", "LC_", "LANG")
"""How the variables begin that an interpreter reads when it starts."""


def command(environment: dict[str, str]) -> list[str]:
    """Return the first arguments of a process that runs the command in an environment."""
    at_start = {name: value for name, value in environment.items() if name.startswith(AT_START)}
    return [sys.executable, "-I", "-S", str(HERE / "relay.py"), str(_server(frozenset(at_start.items())))]


@cache
def _server(environment: frozenset[tuple[str, str]]) -> Path:
    """Start a server in an environment and return the path of its socket. It ends with this process."""
    address = Path(tempfile.mkdtemp(prefix="express-path-")) / "socket"  # the server removes both
    line = [sys.executable, HERE / "server.py", address]
    pipe = subprocess.PIPE
    server = _running.enter_context(subprocess.Popen(line, stdin=pipe, stdout=pipe, env=dict(environment)))
    assert server.stdout
    assert server.stdout.readline() == b"ready\n"
    return address


_running = ExitStack()
atexit.register(_running.close)
