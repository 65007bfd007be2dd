"""Faster tests with the boto3 that everybody has: no socket, one model and class for each service, boto3 not traced.

Requests and classes are reached by the handlers that each new session gets (moto adds its own there, too). What makes
the model and the class of a client for each client again does it once. boto3 still checks, serializes, signs, retries,
and parses by itself.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from unittest.mock import patch

import boto3
from botocore.client import ClientCreator
from botocore.handlers import BUILTIN_HANDLERS
from botocore.hooks import EventAliaser
from botocore.httpsession import create_urllib3_context
from botocore.loaders import create_loader
from botocore.useragent import UserAgentString

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.tracing import trace_no_calls, untraced


@contextmanager
def in_process(sandbox: Sandbox) -> Iterator[None]:
    """Let the clients of all sessions that are made in this context reach the sandbox without a socket.

    Requests to other addresses are sent as usual. Other processes, such as the AWS CLI, use the sandbox's server.
    """
    handlers = [("before-send", sandbox.answer), ("creating-client-class", trace_no_calls)]
    BUILTIN_HANDLERS.extend(handlers)
    try:
        # Without these, a client of EC2 with its 700 methods takes 50 ms.
        with (
            patch("botocore.session.create_loader", cache(create_loader)),
            patch.object(boto3.Session, "__init__", untraced(boto3.Session.__init__)),
            patch.object(boto3.Session, "client", untraced(boto3.Session.client)),
            _once(ClientCreator, "_load_service_model"),
            _once(ClientCreator, "_create_client_class"),
            # Each session would inspect botocore's own handlers, each client work out the names of events again and read
            # certificates and proxies, and each request the user agent, none of which is used here.
            patch("botocore.hooks.accepts_kwargs", lambda _: True),
            _once(EventAliaser, "_alias_event_name"),
            patch("botocore.endpoint.get_environ_proxies", lambda _: {}),
            patch("botocore.httpsession.create_urllib3_context", cache(create_urllib3_context)),
            patch.object(UserAgentString, "to_string", lambda _: "sandbox"),
        ):
            yield
    finally:
        for handler in handlers:
            BUILTIN_HANDLERS.remove(handler)


def _once(owner: type, name: str) -> AbstractContextManager[object]:
    """Return a context in which a method makes something for the same arguments once, whichever object is asked."""
    method: Moto = getattr(owner, name)
    made: dict[tuple[object, ...], object] = {}

    def make(asked: object, *arguments: object) -> object:
        if arguments not in made:
            made[arguments] = method(asked, *arguments)
        return made[arguments]

    return patch.object(owner, name, make)
