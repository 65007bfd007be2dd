"""Does once what moto repeats for every request. The behavior stays the same."""

import inspect
from typing import Any

import yaml
from moto import backends
from moto.core import responses
from moto.ssm import models as ssm_models

from sandbox.patches import Patches


def apply(patches: Patches) -> None:
    """Let moto list its folders once, look methods up by name instead of listing them, and parse YAML in C."""
    modules = tuple(backends.list_of_moto_modules())
    patches.set(backends, "list_of_moto_modules", lambda: modules)
    patches.set(responses, "method_names_from_class", _Methods)
    patches.set(ssm_models, "yaml", _Yaml)


class _Yaml:
    """What moto's SSM uses of PyYAML, with the parser and the emitter of libyaml: 20 times as fast."""

    YAMLError = yaml.YAMLError

    @staticmethod
    def safe_load(content: str) -> object:
        """Parse a document, as `yaml.safe_load` does."""
        return yaml.load(content, Loader=yaml.CSafeLoader)

    @staticmethod
    def dump(content: object) -> str:
        """Write a document, as `yaml.dump` does."""
        return str(yaml.dump(content, Dumper=yaml.CDumper))


class _Methods:
    """The names of the methods of a class, for `in` only."""

    def __init__(self, owner: Any) -> None:  # noqa: ANN401  # any class of moto
        self._owner = owner

    def __contains__(self, name: str) -> bool:
        return inspect.isfunction(getattr(self._owner, name, None))
