"""What CloudFormation does with a template before it deploys it: AWS::Include, and the transform of SAM."""

from collections.abc import Callable
from typing import Any

import boto3

from config_rule_sandbox.cloudformation.text import read as read_text
from config_rule_sandbox.iam.policies import as_list

INCLUDE = "AWS::Include"
Node = Any
"""Part of a template: JSON."""


def transformed(template: dict[str, Node], read: Callable[[str], bytes]) -> dict[str, Node]:
    """Return a template without transforms, made by AWS's own translator. `read` returns what is at a location.

    https://github.com/aws/serverless-application-model
    """
    from samtranslator.parser.parser import (  # type: ignore[import-untyped]  # noqa: PLC0415  # it takes a second
        Parser,
    )
    from samtranslator.translator.translator import (  # type: ignore[import-untyped]  # noqa: PLC0415
        Translator,
    )

    # The Region only selects the partition of policies.
    translator = Translator(None, Parser(), boto_session=boto3.session.Session(region_name="us-east-1"))
    included = _with_includes(template, read)
    result: dict[str, Node] = translator.translate(included, parameter_values={}, passthrough_metadata=True)
    return result


def transforms(node: Node) -> set[str]:
    """Return the names of all transforms in a template.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/transform-reference.html
    """
    if isinstance(node, list):
        return {name for item in node for name in transforms(item)}
    if not isinstance(node, dict):
        return set()
    inner = {name for value in node.values() for name in transforms(value)}
    named = node.get("Transform", []) if "Resources" in node else []
    included = node.get("Fn::Transform", {}).get("Name")
    return inner | set(as_list(named)) | ({included} if included else set())


def _with_includes(node: Node, read: Callable[[str], bytes]) -> Node:
    """Return part of a template in which each AWS::Include is replaced by what is at its location.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/transform-aws-include.html
    """
    if isinstance(node, list):
        return [_with_includes(item, read) for item in node]
    if not isinstance(node, dict):
        return node
    include = node.get("Fn::Transform", {})
    if len(node) == 1 and include.get("Name") == INCLUDE:
        return read_text(read(include["Parameters"]["Location"]).decode())
    return {key: _with_includes(value, read) for key, value in node.items()}
