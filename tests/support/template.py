"""A template (by default template.yaml) as CloudFormation processes it, with transforms, parameters, and functions resolved.

The SAM transform is AWS's own (aws-sam-translator); AWS::Include reads the included file. Attributes that AWS makes up,
such as ARNs, become "<LogicalId.Attribute>", so that a test can tell what refers to what.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3
from samtranslator.translator import translator
from samtranslator.translator.transform import transform

from config_rule_sandbox.cloudformation.text import read
from config_rule_sandbox.cloudformation.values import FUNCTIONS
from org.expansion import runbook

ROOT = Path(__file__).parents[2]
PSEUDO_PARAMETERS = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": "us-east-1",
    "AWS::StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/express-path/1a2b3c",
    "AWS::StackName": "express-path",
    "AWS::URLSuffix": "amazonaws.com",
}
MAIN, INTEGRATIONS = "template.yaml", "integrations/template.yaml"
NO_VALUE = {"Ref": "AWS::NoValue"}


# https://docs.aws.amazon.com/service-authorization/latest/reference/
ARNS = {
    "AWS::Events::EventBus": "arn:{Partition}:events:{Region}:{AccountId}:event-bus/{name}",
    "AWS::Events::Rule": "arn:{Partition}:events:{Region}:{AccountId}:rule/{name}",
    "AWS::DynamoDB::Table": "arn:{Partition}:dynamodb:{Region}:{AccountId}:table/{name}",
    "AWS::IAM::Role": "arn:{Partition}:iam::{AccountId}:role{path}{name}",
    "AWS::Lambda::Function": "arn:{Partition}:lambda:{Region}:{AccountId}:function:{name}",
    "AWS::Logs::LogGroup": "arn:{Partition}:logs:{Region}:{AccountId}:log-group:{name}:*",
    "AWS::S3::Bucket": "arn:{Partition}:s3:::{name}",
    "AWS::SQS::Queue": "arn:{Partition}:sqs:{Region}:{AccountId}:{name}",
}


class NoManagedPolicies:
    """Replaces the call to IAM for managed policies, which the transform makes and the template must not need."""

    def load(self) -> dict[str, str]:
        """Return no policy."""
        return {}


@cache
def source(template: str = MAIN) -> dict[str, Any]:
    """Return the parsed template with short forms such as !Ref expanded."""
    parsed: dict[str, Any] = read((ROOT / template).read_text(encoding="utf-8"))
    return parsed


# The transform makes a session, and checks its own policy templates against their schema, each time.
session = cache(boto3.session.Session)
policy_templates = cache(translator.make_policy_template_for_function_plugin)


@contextmanager
def quick_transform(region: str) -> Iterator[None]:
    """Let the transform reuse one session for a Region and one copy of its policy templates."""
    with (
        patch.object(boto3.session, "Session", lambda: session(region_name=region)),
        patch.object(translator, "make_policy_template_for_function_plugin", policy_templates),
    ):
        yield


class Expanded:
    """The stack's resources for the given parameters and pseudo parameters; all others have their defaults."""

    def __init__(self, template: str = MAIN, **parameters: str) -> None:
        """Transform and resolve the template."""
        self.source = source(template)
        known = self.source.get("Parameters", {})
        unknown = parameters.keys() - known.keys() - PSEUDO_PARAMETERS.keys()
        assert not unknown, f"the template has no parameter {unknown}"
        defaults = {name: str(parameter["Default"]) for name, parameter in known.items() if "Default" in parameter}
        self.values: Mapping[str, Any] = PSEUDO_PARAMETERS | defaults | parameters
        transformed = self._transformed() if "Transform" in self.source else self.source
        self.conditions = transformed.get("Conditions", {})
        self.logical_ids = transformed["Resources"].keys()
        self.resources: dict[str, Any] = {
            name: self.resolve(resource)
            for name, resource in transformed["Resources"].items()
            if "Condition" not in resource or self.condition(resource["Condition"])
        }
        self.outputs: dict[str, Any] = {
            name: self.resolve(output)
            for name, output in transformed.get("Outputs", {}).items()
            if "Condition" not in output or self.condition(output["Condition"])
        }

    def _transformed(self) -> dict[str, Any]:
        """Return the template after the SAM transform."""
        fragment = json.loads(json.dumps(self.source))
        fragment["Globals"]["Function"]["CodeUri"] = "s3://artifacts/package"  # as `sam package` would set it
        with quick_transform(self.values["AWS::Region"]):
            return transform(fragment, dict(self.values), NoManagedPolicies(), passthrough_metadata=True)  # type: ignore[no-any-return]

    def of_type(self, resource_type: str) -> dict[str, Any]:
        """Return the properties of the one resource of a type."""
        [found] = [resource for resource in self.resources.values() if resource["Type"] == resource_type]
        properties: dict[str, Any] = found["Properties"]
        return properties

    def properties(self, logical_id: str) -> dict[str, Any]:
        """Return the properties of the resource with a logical id."""
        properties: dict[str, Any] = self.resources[logical_id]["Properties"]
        return properties

    def condition(self, name: str) -> bool:
        """Return whether the condition with that name is true."""
        return bool(self.resolve(self.conditions[name]))

    def resolve(self, node: Any) -> Any:
        """Return a node with functions replaced by their values and without AWS::NoValue."""
        if isinstance(node, list):
            return [self.resolve(item) for item in map(self.chosen, node) if item != NO_VALUE]
        if not isinstance(node, dict):
            return node
        chosen = self.chosen(node)
        if chosen is not node:
            return self.resolve(chosen)
        if len(node) == 1:
            [(name, argument)] = node.items()
            if name == "Ref" or name.startswith("Fn::"):
                return self.call(name, argument)
            if name == "Condition" and isinstance(argument, str):
                return self.condition(argument)
        return {key: self.resolve(value) for key, value in node.items() if self.chosen(value) != NO_VALUE}

    def chosen(self, node: Any) -> Any:
        """Return the branch that an Fn::If selects, also if nested; any other node is returned unchanged."""
        while isinstance(node, dict) and list(node) == ["Fn::If"]:
            name, then, otherwise = node["Fn::If"]
            node = then if self.condition(name) else otherwise
        return node

    def call(self, name: str, argument: Any) -> Any:
        """Return the value of one intrinsic function."""
        if name == "Ref":
            return self.reference(argument)
        if name == "Fn::GetAtt":
            return f"<{'.'.join(argument)}>"
        if name == "Fn::Sub":
            return re.sub(r"\$\{([\w:.]+)\}", lambda match: self.reference(match[1]), argument)
        if name == "Fn::Transform":
            assert argument["Name"] == "AWS::Include"
            return runbook(Path(argument["Parameters"]["Location"]).stem)
        return FUNCTIONS[name](self.resolve(argument))

    def reference(self, name: str) -> str:
        """Return the value of a parameter, or a placeholder for the identifier of a resource."""
        if name in self.values:
            return str(self.values[name])
        assert name.split(".", maxsplit=1)[0] in self.logical_ids, f"{name} is neither a parameter nor a resource"
        return f"<{name}>"

    def deployed(self, node: Any) -> Any:
        """Return a resolved node with realistic ARNs and names instead of placeholders."""
        if isinstance(node, str):
            return re.sub(
                r"<(\w+)(\.\w+)?>",
                lambda match: self._identifier(match[1], arn=match[2] not in (None, ".QueueName")),
                node,
            )
        if isinstance(node, list):
            return [self.deployed(item) for item in node]
        return {key: self.deployed(value) for key, value in node.items()} if isinstance(node, dict) else node

    def _identifier(self, logical_id: str, *, arn: bool) -> str:
        resource = self.resources[logical_id]
        named = (resource["Properties"].get(key) for key in ("Name", "TableName", "ConfigRuleName"))
        name = next(filter(None, named), f"{self.values['AWS::StackName']}-{logical_id}")
        path = resource["Properties"].get("Path", "/")
        if arn and resource["Type"] == "AWS::Events::Rule" and "EventBusName" in resource["Properties"]:
            name = f"{self.deployed(resource['Properties']['EventBusName'])}/{name}"
        return ARNS[resource["Type"]].format(name=name, path=path, **self.place) if arn else name

    @property
    def place(self) -> dict[str, str]:
        """Return the stack's partition, Region, and account."""
        return {name: self.values[f"AWS::{name}"] for name in ("Partition", "Region", "AccountId")}

    def broken_rules(self) -> list[str]:
        """Return the messages of the template's Rules that fail for these parameters."""
        rules = [rule for rule in self.source["Rules"].values() if self.resolve(rule["RuleCondition"])]
        assertions = [assertion for rule in rules for assertion in rule["Assertions"]]
        return [assertion["AssertDescription"] for assertion in assertions if not self.resolve(assertion["Assert"])]


@cache
def expanded(template: str = MAIN, **parameters: str) -> Expanded:
    """Return the stack for the given parameters, transformed only once. Do not change it."""
    return Expanded(template, **parameters)
