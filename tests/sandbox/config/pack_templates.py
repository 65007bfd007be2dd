"""Templates of conformance packs for tests, and the packs made of them."""

import json
from collections.abc import Mapping
from typing import Any

from sandbox.config_service.deployment import MESSAGE_TYPES, function_arn, prepare
from sandbox.dynamic import Client
from sandbox.server import Sandbox

Template = dict[str, Any]

RULE_NAME = "s3express-no-nat-path"
PACK = "express-path"
SCOPE = ("AWS::EC2::RouteTable", "AWS::EC2::Subnet", "AWS::EC2::VPCEndpoint", "AWS::EC2::NatGateway")


def managed(name: str, **more: object) -> dict[str, Any]:
    """Return a resource with one of AWS's own rules, which need no function."""
    properties = {"ConfigRuleName": name, "Source": {"Owner": "AWS", "SourceIdentifier": "ENCRYPTED_VOLUMES"}}
    return {"Type": "AWS::Config::ConfigRule", "Properties": properties | more}


def custom(name: str, function: object, **more: object) -> dict[str, Any]:
    """Return a resource with a rule that invokes a function for every type of message."""
    details = [{"EventSource": "aws.config", "MessageType": each} for each in MESSAGE_TYPES]
    source = {"Owner": "CUSTOM_LAMBDA", "SourceIdentifier": function, "SourceDetails": details}
    scope = {"ComplianceResourceTypes": list(SCOPE)}
    properties = {"ConfigRuleName": name, "Source": source, "Scope": scope}
    return {"Type": "AWS::Config::ConfigRule", "Properties": properties | more}


def express_path(sandbox: Sandbox, **parameters: str) -> Template:
    """Return a template with the rule of the product, once its function and the recorder are in place."""
    prepare(sandbox)
    more = {"InputParameters": parameters} if parameters else {}
    return {"Resources": {"S3ExpressNoNatPath": custom(RULE_NAME, function_arn(sandbox), **more)}}


def put(config: Client, template: Template | str, name: str = PACK, **more: object) -> str:
    """Put a pack and return its ARN. `more` are further members of the request."""
    body = template if isinstance(template, str) else json.dumps(template)
    return str(config.put_conformance_pack(ConformancePackName=name, TemplateBody=body, **more)["ConformancePackArn"])


def status(config: Client, name: str = PACK) -> Mapping[str, Any]:
    """Return the status of a pack."""
    (found,) = config.describe_conformance_pack_status(ConformancePackNames=[name])["ConformancePackStatusDetails"]
    row: dict[str, Any] = found
    return row


def settled(config: Client, name: str = PACK) -> Mapping[str, Any]:
    """Return the status that a pack has once it is no longer in progress."""
    while (found := status(config, name))["ConformancePackState"].endswith("_IN_PROGRESS"):
        pass
    return found


def created(config: Client, template: Template | str, name: str = PACK, **more: object) -> str:
    """Put a pack, see that it is complete, and return its id, which is the suffix of its rules."""
    put(config, template, name, **more)
    found = settled(config, name)
    assert found["ConformancePackState"] in ("CREATE_COMPLETE", "UPDATE_COMPLETE"), found
    return str(found["ConformancePackId"])


def rule_names(config: Client) -> list[str]:
    """Return the names of all rules there are."""
    pages = config.get_paginator("describe_config_rules").paginate()
    return [rule["ConfigRuleName"] for page in pages for rule in page["ConfigRules"]]
