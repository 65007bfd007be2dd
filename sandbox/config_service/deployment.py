"""A configuration recorder, a Lambda function and the rule that invokes it, as a stack would deploy them."""

import io
import json
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from botocore.exceptions import ClientError
from moto.config.models import config_backends

from sandbox.config_items.direct import direct_client
from sandbox.config_items.kinds import KIND_OF
from sandbox.config_items.notifications import RuleIdentity
from sandbox.dynamic import Client
from sandbox.server import Sandbox

MESSAGE_TYPES = (
    "ConfigurationItemChangeNotification",
    "OversizedConfigurationItemChangeNotification",
    "ScheduledNotification",
)


@dataclass(frozen=True, slots=True)
class RuleDefinition:
    """A custom rule: its name, the name of its function, and the resource types whose changes invoke it.

    `resource_types` is the rule's scope; by default, all types that are recorded here.
    """

    name: str = "rule"
    function_name: str = "rule-function"
    resource_types: tuple[str, ...] = tuple(KIND_OF)


def deploy_rule(
    sandbox: Sandbox, definition: RuleDefinition, parameters: Mapping[str, str] | None = None
) -> RuleIdentity:
    """Create the recorder, the function and the rule where they do not exist, or update the rule; return the rule."""
    prepare(sandbox)
    config: Client = direct_client(sandbox, "config")
    details = [{"EventSource": "aws.config", "MessageType": message_type} for message_type in MESSAGE_TYPES]
    rule = {
        "ConfigRuleName": definition.name,
        "Scope": {"ComplianceResourceTypes": list(definition.resource_types)},
        "Source": {
            "Owner": "CUSTOM_LAMBDA",
            "SourceIdentifier": function_arn(sandbox, definition.function_name),
            "SourceDetails": details,
        },
        **({} if parameters is None else {"InputParameters": json.dumps(dict(parameters))}),
    }
    config.put_config_rule(ConfigRule=rule)
    known = config.describe_config_rules(ConfigRuleNames=[definition.name])["ConfigRules"][0]
    return RuleIdentity(
        definition.name,
        known["ConfigRuleArn"],
        known["ConfigRuleId"],
        sandbox.account_id,
        _recorder_role(sandbox),
        parameters,
    )


def rule_exists(sandbox: Sandbox, name: str) -> bool:
    """Return whether there is a rule of this name."""
    return name in config_backends[sandbox.account_id][sandbox.region].config_rules


def prepare(sandbox: Sandbox) -> None:
    """Put the recorder in place, without which there can be no rule."""
    config: Client = direct_client(sandbox, "config")
    recorder = {"name": "default", "roleARN": _recorder_role(sandbox), "recordingGroup": {"allSupported": True}}
    config.put_configuration_recorder(ConfigurationRecorder=recorder)


def _recorder_role(sandbox: Sandbox) -> str:
    return f"arn:aws:iam::{sandbox.account_id}:role/aws-service-role/config.amazonaws.com/AWSServiceRoleForConfig"


def function_arn(sandbox: Sandbox, name: str) -> str:
    """Return the ARN of a function, which PutConfigRule looks up; an empty one is created where there is none."""
    functions: Client = direct_client(sandbox, "lambda")
    try:
        return str(functions.get_function(FunctionName=name)["Configuration"]["FunctionArn"])
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
    answer = functions.create_function(
        FunctionName=name,
        Runtime="python3.13",
        Role=_role_arn(sandbox, name),
        Handler="function.handler",
        Code={"ZipFile": _empty_archive()},
    )
    permission = {"StatementId": "config", "Action": "lambda:InvokeFunction", "Principal": "config.amazonaws.com"}
    functions.add_permission(FunctionName=name, SourceAccount=sandbox.account_id, **permission)
    return str(answer["FunctionArn"])


def _role_arn(sandbox: Sandbox, name: str) -> str:
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    iam: Client = direct_client(sandbox, "iam")
    with suppress(iam.exceptions.EntityAlreadyExistsException):  # a function in another Region has it already
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=document)
    return str(iam.get_role(RoleName=name)["Role"]["Arn"])


def _empty_archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("README", "")
    return buffer.getvalue()
