"""template.yaml as CloudFormation would see it: the SAM transform applied, parameters and functions resolved.

The transform is AWS's own (aws-sam-translator). Attributes that AWS makes up, such as ARNs, become
"<LogicalId.Attribute>", so that a test can tell what refers to what.
"""

import json
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cfnlint.decode import decode_str
from samtranslator.translator.transform import transform

ROOT = Path(__file__).parents[2]
PSEUDO_PARAMETERS = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": "us-east-1",
    "AWS::StackName": "express-path",
    "AWS::URLSuffix": "amazonaws.com",
}
NO_VALUE = {"Ref": "AWS::NoValue"}


class NoManagedPolicies:
    """Stands where the transform would ask IAM for names of managed policies: the template must name none."""

    def load(self) -> dict[str, str]:
        """Return no policy."""
        return {}


@cache
def source() -> dict[str, Any]:
    """Parse template.yaml, short forms such as !Ref written out."""
    template, faults = decode_str((ROOT / "template.yaml").read_text(encoding="utf-8"))
    assert not faults
    parsed: dict[str, Any] = json.loads(json.dumps(template))
    return parsed


class Expanded:
    """The stack's resources under given parameters; the others have their defaults."""

    def __init__(self, **parameters: str) -> None:
        """Transform and resolve the template."""
        defaults = {name: str(each["Default"]) for name, each in source()["Parameters"].items()}
        unknown = parameters.keys() - defaults.keys()
        assert not unknown, f"the template has no parameter {unknown}"
        self.values: Mapping[str, Any] = PSEUDO_PARAMETERS | defaults | parameters
        fragment = json.loads(json.dumps(source()))
        fragment["Globals"]["Function"]["CodeUri"] = "s3://artifacts/package"  # as `sam package` would set it
        with patch.dict(os.environ, AWS_DEFAULT_REGION=PSEUDO_PARAMETERS["AWS::Region"]):
            template = transform(fragment, dict(self.values), NoManagedPolicies(), passthrough_metadata=True)
        self.conditions = template.get("Conditions", {})
        self.logical_ids = template["Resources"].keys()
        self.resources: dict[str, Any] = {
            name: self.resolve(each)
            for name, each in template["Resources"].items()
            if "Condition" not in each or self.condition(each["Condition"])
        }
        self.outputs = self.resolve(template["Outputs"])

    def of_type(self, resource_type: str) -> dict[str, Any]:
        """Return the properties of the one resource of a type."""
        [found] = [each for each in self.resources.values() if each["Type"] == resource_type]
        properties: dict[str, Any] = found["Properties"]
        return properties

    def properties(self, logical_id: str) -> dict[str, Any]:
        """Return the properties of the resource with a logical id."""
        properties: dict[str, Any] = self.resources[logical_id]["Properties"]
        return properties

    def condition(self, name: str) -> bool:
        """Whether the condition of that name holds."""
        return bool(self.resolve(self.conditions[name]))

    def resolve(self, node: Any) -> Any:  # noqa: ANN401 -- a template's node may be anything
        """Resolve a node: functions become values, and what is AWS::NoValue is left out."""
        if isinstance(node, list):
            return [self.resolve(each) for each in map(self.chosen, node) if each != NO_VALUE]
        if not isinstance(node, dict):
            return node
        chosen = self.chosen(node)
        if chosen is not node:
            return self.resolve(chosen)
        if len(node) == 1:
            [(name, argument)] = node.items()
            if name == "Ref" or name.startswith("Fn::"):
                return self.call(name, argument)
        return {key: self.resolve(each) for key, each in node.items() if self.chosen(each) != NO_VALUE}

    def chosen(self, node: Any) -> Any:  # noqa: ANN401 -- a template's node may be anything
        """Return the branch that an Fn::If takes, however nested; anything else is itself."""
        while isinstance(node, dict) and list(node) == ["Fn::If"]:
            name, then, otherwise = node["Fn::If"]
            node = then if self.condition(name) else otherwise
        return node

    def call(self, name: str, argument: Any) -> Any:  # noqa: ANN401 -- a function's argument and value may be anything
        """Work out one intrinsic function."""
        if name == "Ref":
            return self.reference(argument)
        if name == "Fn::GetAtt":
            return f"<{'.'.join(argument)}>"
        if name == "Fn::Sub":
            return re.sub(r"\$\{([\w:.]+)\}", lambda match: self.reference(match[1]), argument)
        if name == "Fn::Equals":
            return self.resolve(argument[0]) == self.resolve(argument[1])
        if name == "Fn::Not":
            return not self.resolve(argument[0])
        raise NotImplementedError(name)

    def reference(self, name: str) -> str:
        """Return the value of a parameter, or stand in for what identifies a resource."""
        if name in self.values:
            return str(self.values[name])
        assert name.split(".", maxsplit=1)[0] in self.logical_ids, f"{name} is neither a parameter nor a resource"
        return f"<{name}>"
