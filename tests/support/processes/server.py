"""A server that forks a process with the command for each relay that connects, until standard input is closed."""

import json
import os
import select
import signal
import socket
import sys
from pathlib import Path

import boto3  # noqa: F401  # imported before processes are forked, like all that the command imports late
import botocore.session  # noqa: F401  # as above
import pydantic  # noqa: F401  # as above
import rich.progress
import rich.table  # noqa: F401  # as above
import typer._adapters  # noqa: F401  # as above

from express_path_cli.main import SUBCOMMANDS, app
from express_path_cli.sources import aggregator, live  # noqa: F401  # as above

for name in SUBCOMMANDS.all():
    SUBCOMMANDS.load(name)

LONGEST_REQUEST = 1 << 20


def wait_for_a_start(address: str) -> list[str]:
    """Return the arguments in each new process; in the server itself, never return."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes that watch the others
    os.write(1, b"ready\n")
    while listener in select.select([listener, 0], [], [])[0]:
        connection, _ = listener.accept()
        if not os.fork():
            listener.close()
            return started(connection)
        connection.close()
    Path(address).unlink()
    Path(address).parent.rmdir()
    os._exit(0)


def started(connection: socket.socket) -> list[str]:
    """Return the arguments in a new process with the relay's streams; in this process, wait for its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, streams, _, _ = socket.recv_fds(connection, LONGEST_REQUEST, 3)
    pid = os.fork()
    if pid:
        for stream in (*streams, 0, 1, 2):
            os.close(stream)
        connection.sendall(b"%d\n" % pid)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        connection.sendall(b"%d\n" % status)
        os._exit(0)
    connection.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    request = json.loads(message)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["directory"])
    if sys.stdout.isatty():
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # as the interpreter does when it starts
    return list(request["arguments"])


if __name__ == "__main__":
    sys.argv = ["express-path", *wait_for_a_start(sys.argv[1])]
    sys.exit(app())
