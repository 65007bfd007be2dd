# mypy: disable-error-code="attr-defined,redundant-expr,no-untyped-call"
# ruff: noqa: ANN401
"""Shortcuts that make boto3 faster in this process. Requests, answers, retries and errors stay the same.

A heal makes about a hundred API calls, and every cold start of the function makes new clients, so botocore and moto
take most of the time of the tests. Other processes, such as Terraform or the Lambda runtime, use no shortcut.
"""

import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

import pytest
from botocore.auth import AUTH_TYPE_MAPS, SigV4Auth
from botocore.awsrequest import AWSPreparedRequest, AWSRequest, AWSResponse
from botocore.client import BaseClient, ClientCreator
from botocore.endpoint import EndpointCreator
from botocore.hooks import BaseEventHooks, EventAliaser, NodeList, _PrefixTrie
from botocore.httpsession import URLLib3Session
from botocore.loaders import create_loader
from botocore.model import ServiceModel, Shape
from botocore.parsers import BaseXMLResponseParser
from botocore.useragent import UserAgentString
from moto import settings

from sandbox.backends import serve
from sandbox.server import Sandbox

HANDLE_STRUCTURE = vars(BaseXMLResponseParser)["_handle_structure"]
MAKE_API_CALL = BaseClient._make_api_call  # botocore offers no other place to patch
LOAD_SERVICE_MODEL = vars(ClientCreator)["_load_service_model"]
CREATE_METHODS = vars(ClientCreator)["_create_methods"]
ALIAS_EVENT_NAME = vars(EventAliaser)["_alias_event_name"]
SEND_BY_SOCKET = URLLib3Session.send
SIGN = SigV4Auth.add_auth
APPEND_ITEM, REMOVE_ITEM = _PrefixTrie.append_item, _PrefixTrie.remove_item
TIMESTAMP = "20250101T000000Z"
"""The time of requests that are not signed."""

sandbox_is_measured = False
"""Whether the coverage of the sandbox is measured while it serves a request. Its own tests set this."""

_paused = threading.local()
_models: dict[str, ServiceModel] = {}
_methods: dict[str, dict[str, Any]] = {}
_aliases: dict[str, str] = {}
_elements: dict[Shape, list[tuple[str, Shape, str]] | None] = {}


def apply(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do the work that is the same for all clients only once, until `monkeypatch` is undone."""
    monkeypatch.setattr("botocore.session.create_loader", cache(create_loader))
    # No proxy is used on this machine, and nobody looks at user agents.
    monkeypatch.setattr(EndpointCreator, "_get_proxies", lambda _creator, _url: {})
    monkeypatch.setattr(UserAgentString, "to_string", lambda _user_agent: "boto3")
    monkeypatch.setattr(ClientCreator, "_load_service_model", _load_service_model)
    monkeypatch.setattr(ClientCreator, "_create_methods", _create_methods)
    monkeypatch.setattr(EventAliaser, "_alias_event_name", _alias_event_name)
    monkeypatch.setattr(_PrefixTrie, "__copy__", _copy_trie)
    monkeypatch.setattr(_PrefixTrie, "append_item", _append_item)
    monkeypatch.setattr(_PrefixTrie, "remove_item", _remove_item)
    # The signature of each handler of events is inspected whenever a client is made.
    monkeypatch.setattr(BaseEventHooks, "_verify_accept_kwargs", lambda _hooks, _handler: None)
    monkeypatch.setattr(BaseXMLResponseParser, "_handle_structure", _handle_structure)
    monkeypatch.setattr(BaseXMLResponseParser, "_node_tag", lambda _parser, node: _local_name(node.tag))
    # With awscrt, botocore signs with another class, which has no place to patch.
    monkeypatch.setitem(AUTH_TYPE_MAPS, "v4", SigV4Auth)
    monkeypatch.setattr(SigV4Auth, "add_auth", _add_authorization)
    monkeypatch.setattr(BaseClient, "_make_api_call", _make_unmeasured_api_call)


def connect(monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox) -> None:
    """Send requests to a sandbox without a socket or a thread, until `monkeypatch` is undone."""
    monkeypatch.setattr(URLLib3Session, "send", _sender(sandbox))


def measured(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function whose coverage is measured although the sandbox invokes it, as it invokes Lambda functions."""

    def invoke(event: Any) -> Any:
        sys.settrace(getattr(_paused, "tracer", None))
        try:
            return function(event)
        finally:
            sys.settrace(None)

    return invoke


def _load_service_model(creator: ClientCreator, service_name: str, api_version: str | None = None) -> ServiceModel:
    """Return one model for all clients of a service. Each model parses every operation that is looked up in it."""
    if service_name not in _models:
        _models[service_name] = LOAD_SERVICE_MODEL(creator, service_name, api_version)
    return _models[service_name]


def _create_methods(creator: ClientCreator, service_model: ServiceModel) -> dict[str, Any]:
    """Return the methods of a client's class, hundreds for EC2. They depend only on the service."""
    name = service_model.service_name
    if name not in _methods:
        _methods[name] = CREATE_METHODS(creator, service_model)
    return dict(_methods[name])


def _alias_event_name(aliaser: EventAliaser, event_name: str) -> str:
    """Return the current name of an event. Each client has a cache of its own, but all have the same aliases."""
    if event_name not in _aliases:
        _aliases[event_name] = ALIAS_EVENT_NAME(aliaser, event_name)
    return _aliases[event_name]


def _copy_trie(trie: _PrefixTrie) -> _PrefixTrie:
    """Copy the handlers of events, as every new client does. The copies share the nodes that neither changes."""
    copied = _PrefixTrie()
    copied._root = trie._root  # botocore offers no other way to it
    return copied


def _append_item(trie: _PrefixTrie, key: str, value: object, section: int) -> None:
    """Add a handler of an event, to nodes that no copy shares."""
    _copy_path(trie, key)
    APPEND_ITEM(trie, key, value, section)


def _remove_item(trie: _PrefixTrie, key: str, value: object) -> None:
    """Remove a handler of an event, from nodes that no copy shares."""
    _copy_path(trie, key)
    REMOVE_ITEM(trie, key, value)


def _copy_path(trie: _PrefixTrie, key: str) -> None:
    """Give a trie its own nodes on the way to a key."""
    trie._root = node = _copy_node(trie._root)  # botocore offers no other way to it
    for chunk in key.split("."):
        if chunk not in node["children"]:
            break
        node["children"][chunk] = node = _copy_node(node["children"][chunk])


def _copy_node(node: dict[str, Any]) -> dict[str, Any]:
    lists: NodeList | None = node["values"]
    return {
        "chunk": node["chunk"],
        "children": dict(node["children"]),
        "values": lists and NodeList(lists.first[:], lists.middle[:], lists.last[:]),
    }


def _handle_structure(parser: BaseXMLResponseParser, shape: Shape, node: Element | list[Element]) -> dict[str, Any]:
    """Return the members of a structure in XML. Which elements they are depends only on the service."""
    if shape not in _elements:
        _elements[shape] = _elements_of(parser, shape)
    elements = _elements[shape]
    if elements is None:
        handled: dict[str, Any] = HANDLE_STRUCTURE(parser, shape, node)
        return handled
    nodes = parser._build_name_to_xml_node(node)  # botocore offers no other way to it
    return {
        name: parser._parse_shape(member, nodes[element])  # as above
        for name, member, element in elements
        if element in nodes
    }


def _elements_of(parser: BaseXMLResponseParser, shape: Shape) -> list[tuple[str, Shape, str]] | None:
    """Return names, shapes, and elements of the members of a structure, or None if botocore treats them specially."""
    if shape.metadata.get("exception") or shape.is_tagged_union:
        return None
    if any(
        {"location", "eventheader", "xmlAttribute"} & member.serialization.keys() for member in shape.members.values()
    ):
        return None
    return [
        (name, member, parser._member_key_name(member, name))  # botocore offers no other way to it
        for name, member in shape.members.items()
    ]


@cache
def _local_name(tag: str) -> str:
    """Return the name of an element without its namespace."""
    return tag.rpartition("}")[2]


def _make_unmeasured_api_call(client: BaseClient, *arguments: Any) -> Any:
    """Make an API call without measuring coverage, because tracing botocore and moto would double the time."""
    _paused.tracer = tracer = sys.gettrace()
    sys.settrace(None)
    try:
        return MAKE_API_CALL(client, *arguments)
    finally:
        sys.settrace(tracer)


def _add_authorization(auth: SigV4Auth, request: AWSRequest) -> None:
    """Name the caller in a request, and sign it only if the sandbox checks signatures, because that takes long."""
    if type(auth) is not SigV4Auth or auth.credentials is None or settings.INITIAL_NO_AUTH_ACTION_COUNT == 0:
        SIGN(auth, request)
        return
    request.context["timestamp"] = TIMESTAMP
    auth._modify_request_before_signing(request)  # botocore offers no other way to it
    scope = auth.scope(request)
    request.headers["Authorization"] = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature={'0' * 64}"


def _sender(sandbox: Sandbox) -> Callable[[URLLib3Session, AWSPreparedRequest], AWSResponse]:
    """Return a function that sends requests for the sandbox directly to its WSGI application, and others as usual."""
    address = urlsplit(sandbox.endpoint_url).netloc

    def send(session: URLLib3Session, request: AWSPreparedRequest) -> AWSResponse:
        if urlsplit(request.url).netloc != address:
            return SEND_BY_SOCKET(session, request)
        sys.settrace(_paused.tracer if sandbox_is_measured else None)
        try:
            return serve(sandbox.application, request)
        finally:
            sys.settrace(None)

    return send
