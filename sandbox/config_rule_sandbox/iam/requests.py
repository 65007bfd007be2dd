"""What each request is authorized on: its resources, and the condition keys that the service gives for each of them.

The Service Authorization Reference decides on which types of resources an action is authorized. The parameters of the
request say which resources these are. Only a statement for all resources allows an action that has no types:
https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html.
"""

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from moto.core.authorization import ActionAuthenticatorMixin
from moto.iam.exceptions import NotFoundException
from moto.iam.models import Policy, iam_backends

from config_rule_sandbox.answers import DenyingBusPolicy, TableDeny, given
from config_rule_sandbox.aws_lambda.code import organization_of
from config_rule_sandbox.config.remediation.memory import remediations_of
from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.dynamodb.authorization import authorizations as of_dynamodb
from config_rule_sandbox.dynamodb.authorization import resource_statements
from config_rule_sandbox.ec2.authorization import READERS as OF_EC2
from config_rule_sandbox.eventbridge.policies import bus_statements, queue_statements
from config_rule_sandbox.http.wire import Request, read
from config_rule_sandbox.iam.caller import Principal, boundary_of, principal_of
from config_rule_sandbox.iam.policies import Authorization, Statement, as_list, is_allowed
from config_rule_sandbox.iam.reference import action as known_action
from config_rule_sandbox.iam.resources import Place, boundary_key, of_request, role_arn
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.security_hub.authorization import READERS as OF_SECURITY_HUB
from config_rule_sandbox.server import Sandbox

Reader = Callable[[Request], Iterator[Authorization]]

SERVICES = {"monitoring": "cloudwatch", "service-quotas": "servicequotas"}
"""The services of policies, if they differ from the names that requests are signed for, or from botocore's.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudwatch.html
"""
ACTIONS = {
    "lambda:Invoke": "lambda:InvokeFunction",
    "s3:HeadBucket": "s3:ListBucket",
    "s3:HeadObject": "s3:GetObject",
    "s3:ListBuckets": "s3:ListAllMyBuckets",
    "s3:ListObjects": "s3:ListBucket",
    "s3:ListObjectsV2": "s3:ListBucket",
    "s3express:ListDirectoryBuckets": "s3express:ListAllMyDirectoryBuckets",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "securityhub:GetFindingsV2": "securityhub:GetFindings",
}
"""The actions of operations with other names.

https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html,
https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html,
https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-batch-api-actions.html,
https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_GetFindingsV2.html
"""

AUTOMATION_ROLE = "AutomationAssumeRole"
"""The parameter of a runbook whose value becomes its role, by convention, and is what the caller passes."""


def authorizations(request: Request, action: str) -> list[Authorization]:
    """Return all that a request needs; `action` is what moto would check policies for."""
    action = action_of(action)
    if request.service == "dynamodb":
        return list(of_dynamodb(request))
    if reader := READERS.get(request.action):
        return list(reader(request))
    place = Place(request.account_id, request.region)
    if request.service == "iam" and "RoleName" in request.parameters:
        given = request.parameters
        role = role_arn(given["RoleName"], given.get("Path", "/"), place)
        return [Authorization(action, role, boundary_key(given["RoleName"], given.get("PermissionsBoundary"), place))]
    return [Authorization(action, arn) for arn in of_request(known_action(action), request.parameters, place)]


def action_of(operation: str) -> str:
    """Return the action that policies allow for an operation, such as s3:ListBucket for s3:ListObjectsV2."""
    service, _, name = operation.partition(":")
    action = f"{SERVICES.get(service, service)}:{name}"
    return ACTIONS.get(action, action)


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


def _event_buses(request: Request) -> Iterator[Authorization]:
    for entry in request.parameters["Entries"]:
        name = entry.get("EventBusName", "default")
        bus = name if ":" in name else request.arn("events", f"event-bus/{name}")
        yield Authorization(request.action, bus, {"events:source": [entry["Source"]]})


def _event_rule(request: Request) -> Iterator[Authorization]:
    given = request.parameters
    bus, name = given.get("EventBusName", "default"), given.get("Name") or given["Rule"]
    yield Authorization(request.action, request.arn("events", f"rule/{name if bus == 'default' else f'{bus}/{name}'}"))


def _log_streams(request: Request) -> Iterator[Authorization]:
    """Yield the permission on the streams of a log group, whose ARN has this end in messages of CloudWatch Logs."""
    group = request.parameters["logGroupName"]
    yield Authorization(request.action, request.arn("logs", f"log-group:{group}:log-stream:"))


READERS: Mapping[str, Reader] = {
    **OF_EC2,
    **OF_SECURITY_HUB,
    "config:StartRemediationExecution": _start_remediation,
    "events:DeleteRule": _event_rule,
    "events:DescribeRule": _event_rule,
    "events:DisableRule": _event_rule,
    "events:EnableRule": _event_rule,
    "events:ListTargetsByRule": _event_rule,
    "events:PutEvents": _event_buses,
    "events:PutRule": _event_rule,
    "events:PutTargets": _event_rule,
    "events:RemoveTargets": _event_rule,
    "logs:DescribeLogStreams": _log_streams,
    "ssm:GetCalendarState": _calendars,
    "ssm:StartAutomationExecution": _start_automation,
}
"""Readers of the requests that bring condition keys, or whose parameters do not say by their names what they name."""


CALLER = "sandbox_caller"
"""Where the caller of a request is kept with moto's response."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a request, with the statements of the own policies and of service control policies.

    boundary: the statements of the permissions boundary, None without one.
    """

    principal: Principal
    statements: Sequence[Statement]
    boundary: Sequence[Statement] | None = None

    def may(self, wanted: Authorization) -> bool:
        """Return whether policies allow an action on a resource.

        Within one account, an identity policy or a resource policy is enough to allow, and either can deny, as a
        service control policy can, which here also limits service-linked roles
        (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic_policy-eval-basics-single-account.html).
        A permissions boundary must allow it, too, also where a resource policy names the role
        (https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html).
        """
        policies = (
            *resource_statements(wanted.resource),
            *bus_statements(wanted.resource),
            *queue_statements(wanted.resource),
        )
        named = [statement for statement in policies if self.principal.is_named_by(statement)]
        known = replace(wanted, keys={**self.principal.keys, **wanted.keys})
        if self.boundary is not None and not is_allowed(self.boundary, known):
            return False
        if self._passes_table_policy(known):
            return True
        return is_allowed([*self.statements, *named], known) and not _is_closed_bus(wanted, named)

    def _passes_table_policy(self, wanted: Authorization) -> bool:
        """Return whether the caller's own policies are enough for an action on a table (answers.TableDeny)."""
        if not wanted.action.startswith("dynamodb:") or given().table_deny is TableDeny.HOLDS:
            return False
        return is_allowed(self.statements, wanted)


def _is_closed_bus(wanted: Authorization, statements: Sequence[Statement]) -> bool:
    """Return whether an event bus has a policy that allows nobody anything (answers.DenyingBusPolicy)."""
    if wanted.action != "events:PutEvents" or given().denying_bus_policy is DenyingBusPolicy.OWN_POLICIES_ALLOW:
        return False
    return bool(statements) and all(statement["Effect"] == "Deny" for statement in statements)


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

            def check_action_permitted(self, _resource: str) -> None:
                """Raise the service's own error unless everything that the request needs is allowed."""
                caller = _caller_of(self, control)
                setattr(response, CALLER, caller)
                if caller is None or not _is_permitted(self, _request(response), caller):
                    self._raise_access_denied()

        original(response, Checked, resource)

    return authorize


def _request(response: Moto) -> Request:
    """Return the request that moto is answering; its body has been read, and the sandbox's front keeps it in memory."""
    environ = response.normalized_request.environ
    return read({**environ, "wsgi.input": io.BytesIO(environ["wsgi.input"].getvalue())})


def caller_of(response: Moto) -> Caller | None:
    """Return who made the request that moto answers; None if permissions are not enforced for it."""
    caller: Caller | None = vars(response).get(CALLER)
    return caller


def _caller_of(checked: Moto, control: Sequence[Statement]) -> Caller | None:
    """Return who made a request; None if its user or role was deleted, so that it has no permissions.

    They are evaluated for each request of a session:
    https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_temp_control-access_disable-perms.html
    """
    try:
        statements = _statements(checked._access_key.collect_policies())
        boundary = boundary_of(checked)
        limits = None if boundary is None else tuple(_statements(boundary))
        return Caller(principal_of(checked), (*statements, *control), limits)
    except NotFoundException:
        return None


def _is_permitted(checked: Moto, request: Request, caller: Caller) -> bool:
    """Return whether the caller may make a request. A role to be assumed must also trust the caller."""
    action = checked._action
    if action == ALWAYS_ALLOWED:
        return True
    if not all(caller.may(wanted) for wanted in authorizations(request, action)):
        return False
    return action != "sts:AssumeRole" or _is_trusted(caller.principal, request)


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
