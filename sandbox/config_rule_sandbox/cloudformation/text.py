"""A template's text as CloudFormation reads it: JSON, or YAML with short forms such as !Ref."""

import json
from typing import Any

import yaml


class _Loader(yaml.CSafeLoader):
    """Reads YAML with the short forms of intrinsic functions."""


def read(text: str) -> dict[str, Any]:
    """Return a template with the full form of every function."""
    template: dict[str, Any]
    try:
        template = json.loads(text)  # JSON is YAML too, but reading it as YAML takes much longer
    except ValueError:
        template = yaml.load(text, Loader=_Loader)  # the loader is a safe one
    return template


def _full_form(loader: _Loader, tag: str, node: yaml.Node) -> dict[str, Any]:
    """Return the full form of a short one: !Sub is Fn::Sub, and !GetAtt A.B is {"Fn::GetAtt": ["A", "B"]}.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/intrinsic-function-reference.html
    """
    argument: Any
    if isinstance(node, yaml.ScalarNode):
        argument = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        argument = loader.construct_sequence(node, deep=True)
    else:
        argument = loader.construct_mapping(node, deep=True)  # type: ignore[arg-type] # the only other kind
    if tag == "GetAtt" and isinstance(argument, str):
        argument = argument.split(".", maxsplit=1)
    return {tag if tag in {"Ref", "Condition"} else f"Fn::{tag}": argument}


_Loader.add_multi_constructor("!", _full_form)
