"""The stack's roles and event bus, deployed in a sandbox that enforces their permissions."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.described_stacks import created_stacks
from config_rule_sandbox.cloudformation.stacks import Stack as CreatedStack
from config_rule_sandbox.cloudformation.values import Created
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.iam.requests import enforced
from config_rule_sandbox.server import Sandbox
from tests.support.tables import deploy_tables
from tests.support.template import expanded

NETWORK_ROLE = "arn:aws:iam::210987654321:role/network-reader"
POLICY_PARAMETER = "/network/s3express/policy"
ONLY_SESSIONS = {"Effect": "Allow", "Principal": "*", "Action": "s3express:CreateSession", "Resource": "*"}
POLICY = json.dumps({"Version": "2012-10-17", "Statement": [ONLY_SESSIONS]})
CALENDAR = "changes"
TOPIC = "arn:aws:sns:us-east-1:123456789012:AutomationApprovals"
TOPIC_KEY = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
EVERYTHING = {
    "NetworkRoleArn": NETWORK_ROLE,
    "EndpointPolicyParameter": POLICY_PARAMETER,
    "ChangeCalendarName": CALENDAR,
    "ApprovalTopicArn": TOPIC,
    "ApprovalTopicKeyArn": TOPIC_KEY,
}


def listed_stack(
    sandbox: Sandbox,
    name: str,
    names: Mapping[str, str],
    outputs: dict[str, str] | None = None,
    account_id: str = "",
    types: Mapping[str, str] | None = None,
    **parameters: str,
) -> str:
    """Let CloudFormation list a stack with these resources, whether or not they exist, and return its ID.

    It is in the sandbox's own account, unless another one is given. The resources have the types of the template, or others.
    """
    created = {logical_id: Created(physical_id) for logical_id, physical_id in names.items()}
    place = account_id or sandbox.account_id, sandbox.region
    known = {name: resource["Type"] for name, resource in expanded().resources.items()} | dict(types or {})
    resources = {name: {"Type": known.get(name) or _type(name)} for name in names}
    account = Account(sandbox, *place)
    stack = CreatedStack(name, account, created, {}, outputs or {}, parameters, template={"Resources": resources})
    if "/" in name:  # it is only found by its ID
        stack.stack_id = f"arn:aws:cloudformation:{place[1]}:{place[0]}:stack/{name}"
    created_stacks(*place).insert(0, stack)
    return stack.stack_id


def _type(logical_id: str) -> str:
    return "AWS::CloudWatch::Alarm" if logical_id.endswith("Alarm") else ""


class Stack:
    """The template's roles, with their policies and trust policies as CloudFormation creates them."""

    def __init__(self, sandbox: Sandbox, **parameters: str) -> None:
        """Deploy the roles and tables."""
        self.sandbox = sandbox
        self.template = expanded(**parameters)
        self.iam: Client = direct_client(sandbox, "iam")
        for logical_id in ("EvaluateRole", "HealthRole", "PlanRole", "AutomationRole", "StopRole"):
            self._deploy(logical_id)
        deploy_tables(sandbox, self.template)
        self._deploy_bus()
        names = self.template.deployed({name: f"<{name}>" for name in self.template.resources})
        values = {name: value for name, value in self.template.values.items() if "::" not in name}
        listed_stack(sandbox, str(self.template.values["AWS::StackId"]).partition(":stack/")[2], names, **values)

    def _deploy(self, logical_id: str) -> None:
        role = self.template.deployed(self.template.properties(logical_id))
        trust, path = json.dumps(role["AssumeRolePolicyDocument"]), role.get("Path", "/")
        boundary = {name: role[name] for name in ("PermissionsBoundary",) if name in role}
        self.iam.create_role(RoleName=self.role_name(logical_id), AssumeRolePolicyDocument=trust, Path=path, **boundary)
        attached = [
            resource for resource in self.template.resources.values() if resource["Type"] == "AWS::IAM::RolePolicy"
        ]
        policies = role["Policies"] + [
            self.template.deployed(policy["Properties"])
            for policy in attached
            if policy["Properties"]["RoleName"] == f"<{logical_id}>"
        ]
        for policy in policies:
            self.iam.put_role_policy(
                RoleName=self.role_name(logical_id),
                PolicyName=policy["PolicyName"],
                PolicyDocument=json.dumps(policy["PolicyDocument"]),
            )

    def _deploy_bus(self) -> None:
        events: Client = direct_client(self.sandbox, "events")
        properties = self.template.deployed(self.template.properties("EventBusPolicy"))
        statement = {"Sid": properties["StatementId"], **properties["Statement"]}
        events.create_event_bus(Name=self.bus_name)
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        events.put_permission(EventBusName=self.bus_name, Policy=policy)

    @property
    def bus_name(self) -> str:
        """Return the name of the event bus."""
        return str(self.template.deployed("<EventBus>"))

    def role_name(self, logical_id: str) -> str:
        """Return the name of a role."""
        return str(self.template.deployed(f"<{logical_id}>"))

    def arn(self, logical_id: str) -> str:
        """Return the ARN of a role or function."""
        return str(self.template.deployed(f"<{logical_id}.Arn>"))

    def credentials(self, logical_id: str) -> dict[str, str]:
        """Return credentials of a session of a role."""
        return self.sandbox.assume(self.arn(logical_id))

    def client(self, logical_id: str, service: str) -> Client:
        """Return a service client that acts as a role; create it before permissions are enforced."""
        return self.sandbox.client(service, credentials=self.credentials(logical_id))

    def user(self, name: str, service: str, *statements: dict[str, Any]) -> Client:
        """Create a user with the given policy statements and return the user's client of a service."""
        policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
        self.iam.create_user(UserName=name)
        self.iam.put_user_policy(UserName=name, PolicyName="own", PolicyDocument=policy)
        key = self.iam.create_access_key(UserName=name)["AccessKey"]
        credentials = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
        return self.sandbox.client(service, credentials=credentials)

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Enforce permissions for every request."""
        with enforced(self.sandbox):
            yield
