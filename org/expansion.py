"""template.yaml without its transform and includes, as service-managed StackSets need it.

StackSets refuse both (https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStackSet.html). The
transform that runs here is AWS's own, aws-sam-translator.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import yaml
from samtranslator.parser.parser import Parser  # type: ignore[import-untyped]
from samtranslator.translator.translator import Translator  # type: ignore[import-untyped]
from samtranslator.yaml_helper import intrinsics_multi_constructor  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[1]
INCLUDE = "AWS::Include"
CODE = {"Bucket": {"Fn::Sub": "${ArtifactBucketPrefix}-${AWS::Region}"}, "Key": {"Ref": "CodeKey"}}
"""Where every function has its code. Lambda reads it from a bucket of its own Region.

https://docs.aws.amazon.com/lambda/latest/api/API_FunctionCode.html
"""


class PackageError(Exception):
    """The template cannot be packaged. The message says what to change."""


class _Loader(yaml.CSafeLoader):
    """Reads YAML with the short forms of intrinsic functions, such as !Ref."""


_Loader.add_multi_constructor("!", intrinsics_multi_constructor)


def expand(template: Path, code_key: str) -> dict[str, Any]:
    """Return a SAM template as plain CloudFormation whose functions have the code with a key.

    The result has two more parameters: ArtifactBucketPrefix, and CodeKey, whose default is `code_key`. PackageError if
    a function has other code, or if a transform is left.
    """
    source = _read(template)
    source["Globals"]["Function"]["CodeUri"] = CODE
    _add_parameters(source, code_key)
    expanded = _transform(source, lambda location: (template.parent / location).read_bytes())
    _check(expanded)
    return expanded


def _transform(template: dict[str, Any], read: Callable[[str], bytes]) -> dict[str, Any]:
    """Return a SAM template as CloudFormation transforms it. `read` returns what is at a location that it includes."""
    # The Region only selects the partition of policies that the transform makes, and the template makes its own.
    translator = Translator(None, Parser(), boto_session=boto3.session.Session(region_name="us-east-1"))
    included = _with_includes(template, read)
    expanded: dict[str, Any] = translator.translate(included, parameter_values={}, passthrough_metadata=True)
    return expanded


@cache
def runbook(name: str) -> dict[str, Any]:
    """Return a runbook as CloudFormation deploys it, with the scripts of the template. All callers share it."""
    mappings = _read(ROOT / "template.yaml")["Mappings"]

    def inserted(node: dict[str, Any]) -> Any:  # noqa: ANN401  # JSON
        names = node.get("Fn::FindInMap")
        return mappings[names[0]][names[1]][names[2]] if names else node

    text = json.dumps(_read(ROOT / "runbooks" / f"{name}.yaml"))
    found: dict[str, Any] = json.loads(text, object_hook=inserted)
    return found


def _read(file: Path) -> Any:  # noqa: ANN401  # JSON
    return yaml.load(file.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506  # it is a safe one


def _add_parameters(template: dict[str, Any], code_key: str) -> None:
    """Add the parameters of the code, and their group in the console."""
    template["Parameters"] |= {
        "ArtifactBucketPrefix": {
            "Type": "String",
            "AllowedPattern": "^[a-z0-9][a-z0-9.-]{1,45}$",
            "ConstraintDescription": "must be the first part of a bucket's name, 2 to 46 characters",
            "Description": "The code is in the bucket with this prefix, a hyphen, and the name of the Region.",
        },
        "CodeKey": {
            "Type": "String",
            "Default": code_key,
            "AllowedPattern": r"^[\w./-]+\.zip$",
            "ConstraintDescription": "must be the key of a zip archive",
            "Description": "The key of the functions' code. It contains a hash, so that new code has a new key.",
        },
    }
    interface = template["Metadata"]["AWS::CloudFormation::Interface"]
    group = {"Label": {"default": "Code of the functions"}, "Parameters": ["ArtifactBucketPrefix", "CodeKey"]}
    interface["ParameterGroups"].append(group)
    interface["ParameterLabels"] |= {
        "ArtifactBucketPrefix": {"default": "Prefix of the artifact buckets"},
        "CodeKey": {"default": "Key of the code"},
    }


def _with_includes(node: Any, read: Callable[[str], bytes]) -> Any:  # noqa: ANN401  # JSON
    """Return part of a template in which each AWS::Include is replaced by what is at its location."""
    if isinstance(node, list):
        return [_with_includes(item, read) for item in node]
    if not isinstance(node, dict):
        return node
    include = node.get("Fn::Transform", {})
    if include.get("Name") == INCLUDE and len(node) == 1:
        return yaml.load(read(include["Parameters"]["Location"]), Loader=yaml.CSafeLoader)
    return {key: _with_includes(value, read) for key, value in node.items()}


def _check(template: dict[str, Any]) -> None:
    """Raise PackageError if something in an expanded template would fail as part of a StackSet."""
    if {"Transform", "Fn::Transform"} & set(_keys(template)):
        raise PackageError("a transform is left in the template: StackSets accept only plain CloudFormation")
    wanted = {"S3Bucket": CODE["Bucket"], "S3Key": CODE["Key"]}
    for logical_id, resource in template["Resources"].items():
        if resource["Type"] == "AWS::Lambda::Function" and resource["Properties"]["Code"] != wanted:
            raise PackageError(f"{logical_id} has code of its own: remove its CodeUri, so that it gets that of Globals")


def _keys(node: Any) -> list[str]:  # noqa: ANN401  # JSON
    if isinstance(node, list):
        return [key for item in node for key in _keys(item)]
    if isinstance(node, dict):
        return [*node, *(key for value in node.values() for key in _keys(value))]
    return []
