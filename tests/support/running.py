"""A running sandbox for tests of what talks to AWS, and the environment that leads our code to it."""

import gc
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.client import ClientCreator
from botocore.loaders import create_loader
from botocore.model import ServiceModel

from sandbox.server import Sandbox

# Sessions of their own, which every cold start makes, need not read the services' models from disk each time.
_loader = cache(create_loader)
# Nor need every client make the methods of its class again, hundreds in EC2: they depend on the service alone.
_methods: dict[str, dict[str, Any]] = {}
_make_methods = vars(ClientCreator)["_create_methods"]


def _same_methods(creator: ClientCreator, service_model: ServiceModel) -> dict[str, Any]:
    name = service_model.service_name
    if name not in _methods:
        _methods[name] = _make_methods(creator, service_model)
    return dict(_methods[name])


@contextmanager
def running() -> Iterator[Sandbox]:
    """Start a sandbox, or use the one that other tests keep running in this process: there can be only one."""
    kept = next((found for found in gc.get_objects() if type(found) is Sandbox and _is_serving(found)), None)
    if kept:
        yield kept
        return
    with Sandbox() as started:
        yield started


def _is_serving(sandbox: Sandbox) -> bool:
    address = urlsplit(sandbox.endpoint_url)
    with socket.socket() as probe:
        return bool(address.port) and probe.connect_ex((address.hostname, address.port)) == 0


@contextmanager
def emptied(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """Empty the sandbox and point the environment at it."""
    sandbox.reset()
    with pointed_at(sandbox, monkeypatch):
        yield sandbox


@contextmanager
def pointed_at(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """Point the environment at the sandbox and keep what is in it."""
    for name, value in sandbox.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setattr("botocore.session.create_loader", _loader)
    monkeypatch.setattr("botocore.client.ClientCreator._create_methods", _same_methods)
    yield sandbox
