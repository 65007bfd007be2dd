"""A configuration recorder, a Lambda function and the rule that invokes it, as a stack would deploy them."""

import io
import json
import zipfile
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from moto.awslambda.exceptions import UnknownFunctionException
from moto.awslambda.models import lambda_backends
from moto.config.models import config_backends
from moto.iam.exceptions import NotFoundException
from moto.iam.models import iam_backends
from moto.utilities.utils import get_partition

from config_rule_sandbox.config.items.kinds import KIND_OF
from config_rule_sandbox.config.notifications import RuleIdentity
from config_rule_sandbox.dynamic import Client, Moto
from config_rule_sandbox.http.direct import acting_in, direct_client
from config_rule_sandbox.server import Sandbox

CHANGE, PERIODIC = "ConfigurationItemChangeNotification", "ScheduledNotification"
MESSAGE_TYPES = (CHANGE, "OversizedConfigurationItemChangeNotification", PERIODIC)


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
    """Create the recorder, the function and the rule where they do not exist, or update the rule; return the rule.

    A rule that already has this function, scope, and these parameters stays as it is.
    """
    prepare(sandbox)
    config: Client = direct_client(sandbox, "config")  # in the sandbox's account
    details = [{"EventSource": "aws.config", "MessageType": message_type} for message_type in MESSAGE_TYPES]
    function = function_arn(sandbox, definition.function_name)
    rule = {
        "ConfigRuleName": definition.name,
        "Scope": {"ComplianceResourceTypes": list(definition.resource_types)},
        "Source": {"Owner": "CUSTOM_LAMBDA", "SourceIdentifier": function, "SourceDetails": details},
        **({} if parameters is None else {"InputParameters": json.dumps(dict(parameters))}),
    }
    rules = config_backends[sandbox.account_id][sandbox.region].config_rules
    wanted = (function, definition.resource_types, dict(parameters or {}))
    if definition.name not in rules or _definition(rules[definition.name]) != wanted:
        with acting_in(sandbox.account_id):
            config.put_config_rule(ConfigRule=rule)
    known = rules[definition.name]
    return RuleIdentity(
        definition.name,
        known.config_rule_arn,
        known.config_rule_id,
        sandbox.account_id,
        _recorder_role(sandbox),
        parameters,
    )


def _definition(rule: Moto) -> tuple[str, tuple[str, ...], dict[str, str]]:
    """Return the function, the scope, and the parameters of a rule."""
    return rule.source.source_identifier, scope_of(rule), json.loads(rule.input_parameters or "{}")


def scope_of(rule: Moto) -> tuple[str, ...]:
    """Return the resource types whose changes invoke a rule: those of its scope, or all that are recorded."""
    types = rule.scope.compliance_resource_types if rule.scope else None
    return tuple(types or KIND_OF)


def rule_exists(sandbox: Sandbox, name: str) -> bool:
    """Return whether there is a rule of this name."""
    return name in config_backends[sandbox.account_id][sandbox.region].config_rules


def prepare(sandbox: Sandbox) -> None:
    """Put the recorder in place, without which there can be no rule, and let it record, unless there is one that records."""
    if records(sandbox.account_id, sandbox.region):
        return
    config: Client = direct_client(sandbox, "config")
    recorder = {"name": "default", "roleARN": _recorder_role(sandbox), "recordingGroup": {"allSupported": True}}
    with acting_in(sandbox.account_id):
        config.put_configuration_recorder(ConfigurationRecorder=recorder)
        config.put_delivery_channel(DeliveryChannel={"name": "default", "s3BucketName": "config-history"})
        config.start_configuration_recorder(ConfigurationRecorderName="default")


def records(account_id: str, region: str) -> bool:
    """Return whether a recorder records in an account and Region."""
    return any(recorder.status.recording for recorder in config_backends[account_id][region].recorders.values())


def _recorder_role(sandbox: Sandbox) -> str:
    return f"arn:aws:iam::{sandbox.account_id}:role/aws-service-role/config.amazonaws.com/AWSServiceRoleForConfig"


def function_arn(sandbox: Sandbox, name: str) -> str:
    """Return the ARN of a function, which PutConfigRule looks up; an empty one is created where there is none."""
    functions = lambda_backends[sandbox.account_id][sandbox.region]
    with suppress(UnknownFunctionException):
        return str(functions.get_function(name).function_arn)
    specification = {
        "FunctionName": name,
        "Runtime": "python3.13",
        "Role": _role_arn(sandbox, name),
        "Handler": "function.handler",
        "Code": {"ZipFile": _empty_archive()},
    }
    created = functions.create_function(specification)
    permission = {
        "StatementId": "config",
        "Action": "lambda:InvokeFunction",
        "Principal": "config.amazonaws.com",
        "SourceAccount": sandbox.account_id,
    }
    functions.add_permission(name, None, json.dumps(permission))  # type: ignore[arg-type]  # it may be None
    return str(created.function_arn)


def _role_arn(sandbox: Sandbox, name: str) -> str:
    roles = iam_backends[sandbox.account_id][get_partition(sandbox.region)]
    with suppress(NotFoundException):  # a function in another Region has it already
        return str(roles.get_role(name).arn)
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    created = roles.create_role(
        name,
        document,
        path="/",
        permissions_boundary=None,
        description="",
        tags=[],
        max_session_duration=None,
    )
    return str(created.arn)


@cache
def _empty_archive() -> str:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("README", "")
    return b64encode(buffer.getvalue()).decode()
