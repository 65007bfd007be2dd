"""A configuration recorder, a Lambda function and the rule that invokes it, as a stack would deploy them."""

import io
import json
import zipfile
from collections.abc import Mapping

from botocore.exceptions import ClientError
from moto.config.models import config_backends

from sandbox.config_items.direct import direct_client
from sandbox.config_items.kinds import DIRECTORY_BUCKET, NAT_GATEWAY, ROUTE_TABLE, SUBNET, VPC_ENDPOINT
from sandbox.config_items.notifications import RuleIdentity
from sandbox.dynamic import Client
from sandbox.server import Sandbox

FUNCTION_NAME = "express-path-evaluate"
RESOURCE_TYPES = (ROUTE_TABLE, SUBNET, VPC_ENDPOINT, NAT_GATEWAY, DIRECTORY_BUCKET)
"""The scope of the rule: types whose changes invoke it."""

MESSAGE_TYPES = (
    "ConfigurationItemChangeNotification",
    "OversizedConfigurationItemChangeNotification",
    "ScheduledNotification",
)


def deploy_rule(sandbox: Sandbox, name: str, parameters: Mapping[str, str] | None) -> RuleIdentity:
    """Put the recorder, the function and the rule in place, or the rule anew if they are there; return it."""
    prepare(sandbox)
    config: Client = direct_client(sandbox, "config")
    details = [{"EventSource": "aws.config", "MessageType": message_type} for message_type in MESSAGE_TYPES]
    rule = {
        "ConfigRuleName": name,
        "Scope": {"ComplianceResourceTypes": list(RESOURCE_TYPES)},
        "Source": {
            "Owner": "CUSTOM_LAMBDA",
            "SourceIdentifier": function_arn(sandbox),
            "SourceDetails": details,
        },
        **({} if parameters is None else {"InputParameters": json.dumps(dict(parameters))}),
    }
    config.put_config_rule(ConfigRule=rule)
    known = config.describe_config_rules(ConfigRuleNames=[name])["ConfigRules"][0]
    return RuleIdentity(
        name, known["ConfigRuleArn"], known["ConfigRuleId"], sandbox.account_id, _recorder_role(sandbox), parameters
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


def function_arn(sandbox: Sandbox) -> str:
    """Return the ARN of the function, which PutConfigRule looks up; its code runs elsewhere."""
    functions: Client = direct_client(sandbox, "lambda")
    try:
        return str(functions.get_function(FunctionName=FUNCTION_NAME)["Configuration"]["FunctionArn"])
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
    answer = functions.create_function(
        FunctionName=FUNCTION_NAME,
        Runtime="python3.13",
        Role=_role_arn(sandbox),
        Handler="express_path.handlers.evaluate.handler",
        Code={"ZipFile": _empty_archive()},
    )
    permission = {"StatementId": "config", "Action": "lambda:InvokeFunction", "Principal": "config.amazonaws.com"}
    functions.add_permission(FunctionName=FUNCTION_NAME, SourceAccount=sandbox.account_id, **permission)
    return str(answer["FunctionArn"])


def _role_arn(sandbox: Sandbox) -> str:
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    iam: Client = direct_client(sandbox, "iam")
    role = iam.create_role(RoleName=FUNCTION_NAME, AssumeRolePolicyDocument=document)
    return str(role["Role"]["Arn"])


def _empty_archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("README", "")
    return buffer.getvalue()
