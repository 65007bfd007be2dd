"""What each request is authorized on: its resources, and the condition keys that the service gives for each of them.

After AWS's Service Authorization Reference, page by page of the services that are named here:
https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html.
Any other request is authorized on the resource that moto names, or on `*`, which only a statement for all resources
allows.
"""

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from moto.core.authorization import ActionAuthenticatorMixin
from moto.iam.exceptions import NotFoundException
from moto.iam.models import Policy, iam_backends
from moto.utilities.utils import get_partition

from config_rule_sandbox.aws_lambda.code import organization_of
from config_rule_sandbox.config.remediation.memory import remediations_of
from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.dynamodb.authorization import authorizations as of_dynamodb
from config_rule_sandbox.dynamodb.authorization import resource_statements
from config_rule_sandbox.ec2.authorization import READERS as OF_EC2
from config_rule_sandbox.eventbridge.policies import bus_statements, queue_statements
from config_rule_sandbox.http.wire import Request, read
from config_rule_sandbox.iam.caller import Principal, principal_of
from config_rule_sandbox.iam.policies import Authorization, Statement, as_list, is_allowed
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.security_hub.authorization import READERS as OF_SECURITY_HUB
from config_rule_sandbox.server import Sandbox

Reader = Callable[[Request], Iterator[Authorization]]

DIRECTORY_BUCKETS = "s3express:"
"""How actions on directory buckets begin; moto takes it from the name that their requests are signed for.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3express.html
"""

METRICS = "monitoring:"
"""How moto begins actions on CloudWatch, after the name that their requests are signed for; IAM has cloudwatch.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudwatch.html
"""

AUTOMATION_ROLE = "AutomationAssumeRole"
"""The parameter of a runbook whose value becomes its role, by convention, and is what the caller passes."""


def authorizations(request: Request, action: str, resource: str) -> list[Authorization]:
    """Return all that a request needs; `action` and `resource` are what moto would check policies for."""
    if action.startswith(DIRECTORY_BUCKETS):
        bucket = request.parameters.get("Bucket")
        return [Authorization(action, request.arn("s3express", f"bucket/{bucket}") if bucket else "*")]
    if request.service == "dynamodb":
        return list(of_dynamodb(request))
    action = action.replace(METRICS, "cloudwatch:")
    if reader := READERS.get(request.action):
        return list(reader(request))
    return [Authorization(action, arn) for arn in _named_resources(request)] or [Authorization(action, resource)]


def _start_automation(request: Request) -> Iterator[Authorization]:
    """Yield what starting a runbook needs; the caller passes the role (https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-setup.html)."""
    name = request.parameters["DocumentName"].rpartition("document/")[2]
    yield Authorization(request.action, request.arn("ssm", f"document/{name}"))
    yield Authorization(request.action, request.arn("ssm", "automation-execution/*"))
    for role in request.parameters.get("Parameters", {}).get(AUTOMATION_ROLE, []):
        yield Authorization("iam:PassRole", role, {"iam:PassedToService": ["ssm.amazonaws.com"]})


def _start_remediation(request: Request) -> Iterator[Authorization]:
    """Yield what a remediation on demand needs; the caller passes the role of the remediation.

    https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsconfig.html. Not documented: to which service,
    so the condition key iam:PassedToService is absent.
    """
    yield Authorization(request.action, "*")
    known = remediations_of(request.account_id, request.region).configurations
    parameters = known.get(request.parameters["ConfigRuleName"], {}).get("Parameters", {})
    for role in parameters.get(AUTOMATION_ROLE, {}).get("StaticValue", {}).get("Values", []):
        yield Authorization("iam:PassRole", role)


def _calendars(request: Request) -> Iterator[Authorization]:
    for name in request.parameters["CalendarNames"]:
        yield Authorization(request.action, name if ":" in name else request.arn("ssm", f"document/{name}"))


def _firewalls(request: Request) -> Iterator[Authorization]:
    """Yield the firewall that is named, or all of the account's (https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsnetworkfirewall.html)."""
    name = request.parameters.get("FirewallName", "*")
    yield Authorization(
        request.action, request.parameters.get("FirewallArn") or request.arn("network-firewall", f"firewall/{name}")
    )


def _event_buses(request: Request) -> Iterator[Authorization]:
    for entry in request.parameters["Entries"]:
        name = entry.get("EventBusName", "default")
        bus = name if ":" in name else request.arn("events", f"event-bus/{name}")
        yield Authorization(request.action, bus, {"events:source": [entry["Source"]]})


def _queue(request: Request) -> Iterator[Authorization]:
    """Yield the permission for a message; that for a batch is the same.

    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-batch-api-actions.html
    """
    name = request.parameters["QueueUrl"].rpartition("/")[2]
    yield Authorization(request.action.removesuffix("Batch"), request.arn("sqs", name))


def _named(parameter: str, service: str, prefix: str) -> Reader:
    """Return a reader for requests about one resource, which a parameter names, under a prefix in its ARN."""

    def read(request: Request) -> Iterator[Authorization]:
        name = prefix + str(request.parameters[parameter]).lstrip("/")
        yield Authorization(request.action, request.arn(service, name))

    return read


NAMES = (
    ("cloudwatch", "AlarmName", "alarm:"),
    ("cloudwatch", "AlarmNames", "alarm:"),
    ("events", "Name", "event-bus/"),
    ("lambda", "FunctionName", "function:"),
    ("ssm", "Name", "document/"),
)
"""The parameters that name the resource of a request to a service, unless READERS has the action; what its ARN has before it."""


def _named_resources(request: Request) -> Iterator[str]:
    """Yield the ARNs of the resources that a request names. That of a role has the role's path."""
    given = request.parameters
    if request.service == "iam" and "RoleName" in given:
        partition = get_partition(request.region)
        roles: Moto = iam_backends[request.account_id][partition].roles
        new = f"arn:{partition}:iam::{request.account_id}:role{given.get('Path', '/')}{given['RoleName']}"
        yield next((role.arn for role in roles.values() if role.name == given["RoleName"]), new)
    for service, parameter, prefix in NAMES:
        if request.service == service:
            for name in as_list(given.get(parameter, [])):
                yield name if ":" in name else request.arn(service, prefix + name)


def _remediations(request: Request) -> Iterator[Authorization]:
    for name in request.parameters["ConfigRuleNames"]:
        yield Authorization(request.action, request.arn("config", f"remediation-configuration/{name}"))


def _event_rule(request: Request) -> Iterator[Authorization]:
    given = request.parameters
    bus, name = given.get("EventBusName", "default"), given.get("Name") or given["Rule"]
    yield Authorization(request.action, request.arn("events", f"rule/{name if bus == 'default' else f'{bus}/{name}'}"))


def _with_arn(parameter: str) -> Reader:
    """Return a reader for requests that give the ARN of their one resource, or are about all of them."""
    return lambda request: iter([Authorization(request.action, request.parameters.get(parameter, "*"))])


READERS: Mapping[str, Reader] = {
    **OF_EC2,
    **OF_SECURITY_HUB,
    "cloudformation:DescribeStacks": _with_arn("StackName"),
    "cloudformation:ListStackResources": _with_arn("StackName"),
    "config:GetComplianceDetailsByConfigRule": _named("ConfigRuleName", "config", "config-rule/"),
    "config:DescribeRemediationConfigurations": _remediations,
    "config:DescribeRemediationExecutionStatus": _named("ConfigRuleName", "config", "remediation-configuration/"),
    "config:StartRemediationExecution": _start_remediation,
    "ec2:DescribeVpcAttribute": _named("VpcId", "ec2", "vpc/"),
    "ec2:GetTransitGatewayPolicyTableEntries": _named(
        "TransitGatewayPolicyTableId", "ec2", "transit-gateway-policy-table/"
    ),
    "ec2:SearchTransitGatewayRoutes": _named("TransitGatewayRouteTableId", "ec2", "transit-gateway-route-table/"),
    "events:DeleteRule": _event_rule,
    "events:DescribeRule": _event_rule,
    "events:DisableRule": _event_rule,
    "events:ListTargetsByRule": _event_rule,
    "events:PutEvents": _event_buses,
    "events:PutRule": _event_rule,
    "events:PutTargets": _event_rule,
    "events:RemoveTargets": _event_rule,
    "network-firewall:DescribeFirewall": _firewalls,
    "network-firewall:DescribeVpcEndpointAssociation": _with_arn("VpcEndpointAssociationArn"),
    "network-firewall:ListFirewalls": _firewalls,
    "sns:GetTopicAttributes": _with_arn("TopicArn"),
    "sns:Publish": _with_arn("TopicArn"),
    "sqs:SendMessage": _queue,
    "sqs:SendMessageBatch": _queue,
    "ssm:DescribeAutomationStepExecutions": _named("AutomationExecutionId", "ssm", "automation-execution/"),
    "ssm:GetAutomationExecution": _named("AutomationExecutionId", "ssm", "automation-execution/"),
    "ssm:GetCalendarState": _calendars,
    "ssm:GetParameter": _named("Name", "ssm", "parameter/"),
    "ssm:StartAutomationExecution": _start_automation,
    "sts:AssumeRole": _with_arn("RoleArn"),
}


ALWAYS_ALLOWED = "sts:GetCallerIdentity"
"""https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html: no permission is needed."""


@contextmanager
def enforced(sandbox: Sandbox, control: Sequence[Statement] = ()) -> Iterator[None]:
    """Require a permission for every request to a running sandbox, by resource and condition too.

    `control` are statements of service control policies that deny, and are attached to every account.
    """
    patches = Patches()
    apply(patches, control)
    try:
        with sandbox.enforcing_iam():
            yield
    finally:
        patches.undo()


def apply(patches: Patches, control: Sequence[Statement] = ()) -> None:
    """Let moto, where it enforces permissions, decide by whole statements of the caller's identity policies."""
    wrap = partial(_authorizing, control)
    patches.wrap(ActionAuthenticatorMixin, "_authenticate_and_authorize_action", wrap)


def _authorizing(control: Sequence[Statement], original: Moto) -> Moto:
    """Check a request with the subclass of moto's request class that evaluates policies here."""

    def authorize(response: Moto, iam_request_class: Moto, resource: str = "*") -> None:
        class Checked(iam_request_class):  # type: ignore[misc] # moto's class for requests to this service
            """A request whose caller's policies are evaluated here; moto still checks its signature."""

            def _create_aws_request(self) -> Moto:
                """Return what was signed. Without a body, moto takes the parameters in the path of these methods for one."""
                parameters = vars(self)["_data"]
                self._data = parameters if self._body or self._method not in ("GET", "DELETE") else {}
                signed = super()._create_aws_request()
                self._data = parameters
                return signed

            def check_action_permitted(self, resource: str) -> None:
                """Raise the service's own error unless everything that the request needs is allowed."""
                if not _is_permitted(self, _request(response), resource, control):
                    self._raise_access_denied()

        original(response, Checked, resource)

    return authorize


def _request(response: Moto) -> Request:
    """Return the request that moto is answering; its body has been read, and the sandbox's front keeps it in memory."""
    environ = response.normalized_request.environ
    return read({**environ, "wsgi.input": io.BytesIO(environ["wsgi.input"].getvalue())})


def _is_permitted(checked: Moto, request: Request, resource: str, control: Sequence[Statement]) -> bool:
    """Return whether the caller may make a request; a role to be assumed must also trust the caller.

    Within one account, an identity policy or a resource policy is enough to allow, and either can deny, as a
    service control policy can, which here also limits service-linked roles
    (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic_policy-eval-basics-single-account.html).
    """
    action = checked._action
    if action == ALWAYS_ALLOWED:
        return True
    principal = principal_of(checked)
    identity = [*_statements(checked._access_key.collect_policies()), *control]
    for wanted in authorizations(request, action, resource):
        policy = (
            *resource_statements(wanted.resource),
            *bus_statements(wanted.resource),
            *queue_statements(wanted.resource),
        )
        named = [statement for statement in policy if principal.is_named_by(statement)]
        if not is_allowed([*identity, *named], replace(wanted, keys={**principal.keys, **wanted.keys})):
            return False
    return action != "sts:AssumeRole" or _is_trusted(principal, request)


def _is_trusted(principal: Principal, request: Request) -> bool:
    """Return whether the role that a request assumes exists, in any account, and its trust policy names the caller.

    A statement for an account leaves it to that account's identity policies who assumes the role:
    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html#principal-accounts
    """
    arn = request.parameters["RoleArn"]
    _, partition, _, _, account_id, _ = arn.split(":", 5)
    try:
        role = iam_backends[account_id][partition].get_role_by_arn(arn)
    except NotFoundException:
        return False
    organization, external_id = organization_of(principal.account_id), request.parameters.get("ExternalId")
    keys = {
        **principal.keys,
        "aws:PrincipalOrgID": [organization] if organization else [],
        "sts:ExternalId": [external_id] if external_id else [],
    }
    trusting = [
        {**row, "Resource": "*"}  # a trust policy names no resource: it is about its role
        for row in as_list(json.loads(role.assume_role_policy_document)["Statement"])
        if principal.is_named_by(row, of_account=True)
    ]
    return is_allowed(trusting, Authorization(request.action, arn, keys))


def _statements(policies: list[Any]) -> Iterator[Statement]:
    """Yield the statements of policies in each of the forms in which moto keeps them: managed, of a user, of a role."""
    for policy in policies:
        if isinstance(policy, Policy):
            [text] = [version.document for version in policy.versions if version.is_default]
        else:
            text = policy["policy_document"] if isinstance(policy, dict) else policy
        yield from as_list(json.loads(text)["Statement"])
