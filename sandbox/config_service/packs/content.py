"""The text of a template: YAML, or JSON, which is YAML too. Every scalar is a string, as CloudFormation takes them."""

from collections.abc import Hashable
from typing import Any

import yaml

from sandbox.config_service.packs.errors import TemplateError

BARE = ("Ref", "Condition")
"""Functions whose full name has no `Fn::`.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
"""


class _Loader(yaml.BaseLoader):
    """YAML with the short forms of functions (`!Ref`), and without duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        """Return a mapping; YAMLError if it has a key twice: one of the two values would be lost."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(problem=f"the key {key!r} is there twice")
        return super().construct_mapping(node, deep=deep)


def _function(loader: _Loader, name: str, node: yaml.Node) -> dict[str, Any]:
    match node:
        case yaml.ScalarNode():
            argument: Any = loader.construct_scalar(node)
        case yaml.SequenceNode():
            argument = loader.construct_sequence(node, deep=True)
        case _:
            raise yaml.constructor.ConstructorError(problem=f"!{name} takes a text or a list")
    return {name if name in BARE else f"Fn::{name}": argument}


_Loader.add_multi_constructor("!", _function)


def load(text: str) -> dict[str, Any]:
    """Return the template in a text, short forms of functions written out. TemplateError if it is no mapping."""
    try:
        template = yaml.load(text, Loader=_Loader)  # it makes only strings, lists and dictionaries
    except yaml.YAMLError as error:
        raise TemplateError(" ".join(str(error).split())) from error
    if not isinstance(template, dict):
        raise TemplateError("the template is not an object")
    return template
