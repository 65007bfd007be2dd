"""Does once what moto repeats for every request. The behavior stays the same."""

import inspect
import pickle
from functools import cache, lru_cache
from threading import RLock
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import yaml
from moto import backends
from moto.core import responses, utils
from moto.core.routing import ProtocolRouter, ServiceOperationRouter
from moto.core.serialize import AttributePickerContext, EC2Serializer, ResponseSerializer, XFormedAttributePicker
from moto.core.utils import get_value
from moto.kms import models as kms_models
from moto.kms.utils import AbstractPrivateKey, generate_private_key
from moto.ssm import models as ssm_models

from sandbox.dynamic import Moto
from sandbox.patches import Patches

_ABSENT = object()
_LOADING = RLock()
"""Held while a model or its routes are loaded, so that concurrent requests do not all load them."""

_LOAD_SERVICE_MODEL = utils._load_service_model  # noqa: SLF001  # moto offers no other place to patch
_GET_ROUTER = ServiceOperationRouter._get_router  # noqa: SLF001  # moto offers no other place to patch


def apply(patches: Patches) -> None:
    """Let moto list its folders once, look up methods and attributes by name, parse each YAML document once, write XML.

    The XML of EC2's answers needs no check of names, because they come from the service model.
    """
    modules = tuple(backends.list_of_moto_modules())
    patches.set(backends, "list_of_moto_modules", lambda: modules)
    patches.set(responses, "method_names_from_class", _Methods)
    patches.set(responses, "XFormedAttributePicker", _AttributePicker)
    patches.set(ResponseSerializer, "get_value", _get_value)
    patches.set(ssm_models, "yaml", _Yaml)
    patches.set(utils, "_load_service_model", _load_service_model)
    patches.set(ServiceOperationRouter, "_get_router", _get_router)
    patches.set(EC2Serializer, "_serialize_body", lambda _serializer, body: _xml(body))
    patches.set(kms_models, "generate_private_key", _private_key)


def _private_key(key_spec: str) -> AbstractPrivateKey:
    """Return the private key of a KMS key. Symmetric keys, which use none, share one: making it takes 0.1 s."""
    return _shared_private_key() if key_spec == "SYMMETRIC_DEFAULT" else generate_private_key(key_spec)


@cache
def _shared_private_key() -> AbstractPrivateKey:
    return generate_private_key("SYMMETRIC_DEFAULT")


def _load_service_model(service: str, name: str) -> Moto:
    """Return a model of a service, as moto's function of the same name."""
    with _LOADING:
        return _loaded_service_model(service, name)


@cache
def _loaded_service_model(service: str, name: str) -> Moto:
    return _LOAD_SERVICE_MODEL(service, name)


_routers: dict[tuple[str, str], ProtocolRouter] = {}


def _get_router(router: ServiceOperationRouter, protocol: str) -> ProtocolRouter:
    """Return the routes of a service, as moto's method of the same name."""
    service: Moto = router._service_model  # noqa: SLF001  # moto offers no other way to it
    with _LOADING:
        key = (service.service_name, protocol)
        if key not in _routers:
            _routers[key] = _GET_ROUTER(router, protocol)
        return _routers[key]


class _Yaml:
    """What moto's SSM uses of PyYAML, with the parser and the emitter of libyaml: 20 times as fast."""

    YAMLError = yaml.YAMLError

    @staticmethod
    def safe_load(content: str) -> object:
        """Parse a document, as `yaml.safe_load` does."""
        return pickle.loads(_parsed(content))

    @staticmethod
    def dump(content: object) -> str:
        """Write a document, as `yaml.dump` does."""
        return str(yaml.dump(content, Dumper=yaml.CDumper))


@lru_cache(maxsize=64)
def _parsed(content: str) -> bytes:
    """Return a parsed document, pickled so that every caller has a copy of its own."""
    return pickle.dumps(yaml.load(content, Loader=yaml.CSafeLoader))


class _AttributePicker(XFormedAttributePicker):
    """Finds the value of a member of an answer under the same names as moto's, which it works out only once."""

    _names: dict[tuple[Moto, ...], tuple[str, ...]] = {}  # noqa: RUF012  # shared by all answers

    def __init__(self, response_transformers: dict[str, Moto] | None) -> None:
        """Note the members that a transformer may be for: those named like the end of its path."""
        super().__init__(response_transformers=response_transformers)
        self.transformed = tuple(path.rpartition(".")[2] for path in self.response_transformers)

    def names(self, context: AttributePickerContext) -> tuple[str, ...]:
        """Return the names to look for, in order. They depend on the model and on the class of the object."""
        shape: Moto = context.shape
        key = (context.key, shape, getattr(shape, "parent", None), type(context.obj))
        if key not in self._names:
            self._names[key] = tuple(dict.fromkeys(self.get_possible_keys(context)))
        return self._names[key]


def _get_value(serializer: ResponseSerializer, value: Moto, key: str, shape: Moto) -> Moto:
    """Return the value of a member of an answer, as moto's method of the same name."""
    picker = serializer._value_picker  # noqa: SLF001  # moto offers no other way to it
    context = AttributePickerContext(value, key, shape, serializer.operation_model, serializer.service_model)
    if not isinstance(picker, _AttributePicker) or key.endswith(picker.transformed):
        context.key_path = ".".join(serializer.path)
        return picker(context)
    for name in picker.names(context):
        found = get_value(value, name, _ABSENT)
        if found is not _ABSENT:
            return found
    return None


def _xml(body: dict[str, Any]) -> str:
    """Return an XML document, as `xmltodict.unparse` does."""
    parts = ['<?xml version="1.0" encoding="utf-8"?>\n']
    for name, value in body.items():
        _write_element(name, value, parts)
    return "".join(parts)


def _write_element(name: str, value: Moto, parts: list[str]) -> None:
    """Append an element with its attributes (`@name`) and members, or one for each value of a list."""
    if isinstance(value, (list, tuple)):
        for member in value:
            _write_element(name, member, parts)
        return
    if not isinstance(value, dict):
        text = escape(_text(value))
        parts.append(f"<{name}>{text}</{name}>" if text else f"<{name}/>")
        return
    start = len(parts)
    attributes = ""
    for key, member in value.items():
        if key.startswith("@"):
            attributes += f" {key[1:]}={quoteattr(_text(member))}"
        else:
            _write_element(key, member, parts)
    empty = len(parts) == start
    parts.insert(start, f"<{name}{attributes}/>" if empty else f"<{name}{attributes}>")
    if not empty:
        parts.append(f"</{name}>")


def _text(value: Moto) -> str:
    """Return a scalar as it is written in XML; nothing for None."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


class _Methods:
    """The names of the methods of a class, for `in` only."""

    def __init__(self, owner: Any) -> None:  # noqa: ANN401  # any class of moto
        self._owner = owner

    def __contains__(self, name: str) -> bool:
        return inspect.isfunction(getattr(self._owner, name, None))
