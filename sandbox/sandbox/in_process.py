"""Faster tests with the boto3 that everybody has: no socket, each service model read once, API calls not traced.

Everything here goes through botocore's public ways in: the list of handlers that each new session gets (moto adds its
own there, too), the events `before-send` and `creating-client-class`, and `create_loader`, the function by which a
session gets its loader of models. boto3 still checks, serializes, signs, retries, and parses by itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from unittest.mock import patch

from botocore.handlers import BUILTIN_HANDLERS
from botocore.loaders import create_loader

from sandbox.server import Sandbox
from sandbox.tracing import trace_no_calls


@contextmanager
def in_process(sandbox: Sandbox) -> Iterator[None]:
    """Let the clients of all sessions that are made in this context reach the sandbox without a socket.

    Requests to other addresses are sent as usual. Other processes, such as the AWS CLI, use the sandbox's server.
    """
    handlers = [("before-send", sandbox.answer), ("creating-client-class", trace_no_calls)]
    BUILTIN_HANDLERS.extend(handlers)
    try:
        # A session's loader keeps what it reads. A client of EC2 takes 50 ms without one that has been used before.
        with patch("botocore.session.create_loader", cache(create_loader)):
            yield
    finally:
        for handler in handlers:
            BUILTIN_HANDLERS.remove(handler)
