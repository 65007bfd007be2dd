"""Does once what moto repeats for every request. The behavior stays the same."""

import inspect
import pickle
from functools import cache, lru_cache
from string import ascii_letters, digits
from typing import Any

import xmltodict
import yaml
from moto import backends
from moto.core import responses
from moto.core import utils as core_utils
from moto.core.base_backend import BaseBackend
from moto.core.loaders import create_loader
from moto.core.serialize import AttributePickerContext, ResponseSerializer, XFormedAttributePicker
from moto.core.utils import get_value
from moto.ec2 import utils as ec2_utils
from moto.kms import models as kms_models
from moto.kms.utils import AbstractPrivateKey, generate_private_key
from moto.moto_api._internal import mock_random
from moto.moto_api._internal.moto_random import MotoRandom
from moto.ssm import models as ssm_models

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.patching.patches import Patches


def apply(patches: Patches) -> None:
    """Let moto list its folders once, look up methods by name, parse YAML once, share keys, and draw an id in one step.

    A reset drops every backend, so moto need not fill each one again first.
    """
    patches.set(responses, "XFormedAttributePicker", _AttributePicker)
    patches.set(ResponseSerializer, "get_value", _get_value)
    patches.set(MotoRandom, "get_random_string", _random_string)
    patches.set(MotoRandom, "get_random_hex", _random_hex)
    patches.set(ec2_utils, "random_resource_id", lambda size=8: _random_hex(mock_random, size))
    modules = tuple(backends.list_of_moto_modules())
    patches.set(backends, "list_of_moto_modules", lambda: modules)
    patches.set(core_utils, "create_loader", cache(create_loader))
    patches.set(responses, "method_names_from_class", _Methods)
    patches.set(ssm_models, "yaml", _Yaml)
    patches.set(kms_models, "generate_private_key", _private_key)
    patches.set(BaseBackend, "reset", lambda _: None)
    patches.set(xmltodict, "_validate_name", cache(xmltodict._validate_name))


def _private_key(key_spec: str) -> AbstractPrivateKey:
    """Return the private key of a KMS key. Symmetric keys, which use none, share one: making it takes 0.1 s."""
    return _shared_private_key() if key_spec == "SYMMETRIC_DEFAULT" else generate_private_key(key_spec)


@cache
def _shared_private_key() -> AbstractPrivateKey:
    return generate_private_key("SYMMETRIC_DEFAULT")


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


class _Methods:
    """The names of the methods of a class, for `in` only."""

    def __init__(self, owner: Any) -> None:  # noqa: ANN401  # any class of moto
        self._owner = owner

    def __contains__(self, name: str) -> bool:
        return inspect.isfunction(getattr(self._owner, name, None))


def _random_string(
    random: MotoRandom,
    length: int = 20,
    include_digits: bool = True,  # noqa: FBT001, FBT002  # as moto's
    lower_case: bool = False,  # noqa: FBT001, FBT002  # as moto's
) -> str:
    """Return letters and digits, as moto's method of the same name."""
    text = "".join(random.choices(ascii_letters + digits if include_digits else ascii_letters, k=length))
    return text.lower() if lower_case else text


def _random_hex(random: MotoRandom, length: int = 8) -> str:
    """Return hexadecimal digits, as moto's method of the same name."""
    return f"{random.getrandbits(4 * length):0{length}x}" if length else ""


_ABSENT = object()


class _AttributePicker(XFormedAttributePicker):
    """Finds the value of a member of an answer under the same names as moto's, which it works out only once."""

    _names: dict[tuple[Moto, ...], tuple[str, ...]] = {}  # noqa: RUF012  # shared by all answers

    def __init__(self, response_transformers: dict[str, Moto] | None) -> None:
        """Note the names of the members that have a transformer."""
        super().__init__(response_transformers=response_transformers)
        self.transformed = tuple(path.rpartition(".")[2] for path in self.response_transformers)

    def names(self, serializer: Moto, value: Moto, key: str, shape: Moto) -> tuple[str, ...]:
        """Return the names to look for, in order. They depend on the model and on the class of the object."""
        place = (key, shape, getattr(shape, "parent", None), type(value))
        if place not in self._names:
            context = _context(serializer, value, key, shape)
            self._names[place] = tuple(dict.fromkeys(self.get_possible_keys(context)))
        return self._names[place]


def _context(serializer: Moto, value: Moto, key: str, shape: Moto, path: str = "") -> AttributePickerContext:
    return AttributePickerContext(value, key, shape, serializer.operation_model, serializer.service_model, path)


def _get_value(serializer: ResponseSerializer, value: Moto, key: str, shape: Moto) -> Moto:
    """Return the value of a member of an answer, as moto's method of the same name."""
    picker = serializer._value_picker
    if not isinstance(picker, _AttributePicker) or key.endswith(picker.transformed):
        return picker(_context(serializer, value, key, shape, ".".join(serializer.path)))
    for name in picker.names(serializer, value, key, shape):
        found = get_value(value, name, _ABSENT)
        if found is not _ABSENT:
            return found
    return None
