"""A process that represents the one that the server forks: relay.py SOCKET ARGUMENT..."""

import json
import os
import signal
import socket
import sys

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
request = {"arguments": sys.argv[2:], "environment": dict(os.environ), "directory": os.getcwd()}  # noqa: PTH109  # quick
socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
answers = connection.makefile("rb")
pid = int(answers.readline())
signal.signal(signal.SIGINT, lambda number, _: os.kill(pid, number))
for stream in (0, 1, 2):
    os.close(stream)  # a pipe is closed when the process that writes to it ends
status = int(answers.readline())
if status < 0:
    os.kill(os.getpid(), -status)
os._exit(status)
