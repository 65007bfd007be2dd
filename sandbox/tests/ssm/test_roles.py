"""Which permissions a runbook uses.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-setup.html
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation

Make = Callable[..., Any]
LOOK = {"name": "look", "action": "aws:executeAwsApi", "inputs": {"Service": "ec2", "Api": "DescribeVpcs"}}
ASK = {"name": "ask", "action": "aws:invokeLambdaFunction", "inputs": {"FunctionName": "f"}}
WHO = {
    "name": "who",
    "action": "aws:executeAwsApi",
    "inputs": {"Service": "sts", "Api": "GetCallerIdentity"},
    "outputs": [{"Name": "Arn", "Selector": "$.Arn", "Type": "String"}],
}


def trust(principal: str = "ssm.amazonaws.com", **more: object) -> dict[str, Any]:
    """Return a trust policy."""
    statement = {"Effect": "Allow", "Principal": {"Service": principal}, "Action": "sts:AssumeRole", **more}
    return {"Version": "2012-10-17", "Statement": [statement]}


def make_role(sandbox: Sandbox, policy: dict[str, Any]) -> str:
    """Create a role with a trust policy."""
    made = sandbox.client("iam").create_role(RoleName="other", AssumeRolePolicyDocument=json.dumps(policy))
    return str(made["Role"]["Arn"])


def allow(sandbox: Sandbox, *actions: str, resource: str = "*") -> None:
    """Allow the runbooks' role an action."""
    policy = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": list(actions), "Resource": resource}],
    }
    sandbox.client("iam").put_role_policy(RoleName="automation", PolicyName="p", PolicyDocument=json.dumps(policy))


def ann(sandbox: Sandbox) -> BaseClient:
    """Create a user who may do everything with Systems Manager, and return her client."""
    iam = sandbox.client("iam")
    iam.create_user(UserName="ann")
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ssm:*", "Resource": "*"}]}
    iam.put_user_policy(UserName="ann", PolicyName="p", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName="ann")["AccessKey"]
    own = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
    return sandbox.client("ssm", credentials=own)


def test_acts_as_the_assumed_role(run: Make) -> None:
    """Calls use the role's credentials, in a session that is named after the execution."""
    execution = run(WHO)
    session = f"Automation-{execution['AutomationExecutionId']}"
    assert execution["StepExecutions"][0]["Outputs"]["Arn"][0].endswith(f":assumed-role/automation/{session}")


def test_without_a_role_it_acts_as_who_started_it(
    automation: Automation, sandbox: Sandbox, store: Make, runbook: Make
) -> None:
    """Without a role, Automation uses the caller's permissions.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html
    """
    store(runbook(WHO, assumeRole="{{ Role }}", parameters={"Role": {"type": "String", "default": ""}}))
    account = sandbox.client("ssm", credentials=sandbox.credentials(sandbox.account_id))
    for client, name in ((ann(sandbox), ":user/ann"), (account, ":assumed-role/sandbox/")):
        execution = automation.wait(client.start_automation_execution(DocumentName="Runbook")["AutomationExecutionId"])
        assert name in execution["StepExecutions"][0]["Outputs"]["Arn"][0]
        assert execution["ExecutedBy"] == execution["StepExecutions"][0]["Outputs"]["Arn"][0]


EXECUTIONS = "arn:aws:ssm:*:{}:automation-execution/*"


@pytest.mark.parametrize(
    ("policy", "assumed"),
    [
        (trust("config.amazonaws.com"), False),
        (trust(Effect="Deny"), False),
        (trust(Condition={"StringEquals": {"aws:SourceAccount": "210987654321"}}), False),
        (trust(Condition={"StringEquals": {"aws:SourceAccount": ["123456789012"]}}), True),
        (trust(Condition={"ArnLike": {"aws:SourceArn": EXECUTIONS.format("210987654321")}}), False),
        (trust(Condition={"ArnLike": {"aws:SourceArn": EXECUTIONS.format("123456789012")}}), True),
    ],
)
def test_role_must_trust_systems_manager(
    automation: Automation, sandbox: Sandbox, store: Make, runbook: Make, policy: dict[str, Any], assumed: bool
) -> None:
    """The role must trust Systems Manager, and the conditions on the account and the execution must be met.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-troubleshooting.html,
    https://docs.aws.amazon.com/systems-manager/latest/userguide/cross-service-confused-deputy-prevention.html
    """
    store(runbook(LOOK, assumeRole=make_role(sandbox, policy)))
    if assumed:
        assert automation.execute("Runbook")["AutomationExecutionStatus"] == "Success"
    else:
        with pytest.raises(ClientError, match="The defined assume role is unable to be assumed"):
            automation.execute("Runbook")


@pytest.mark.parametrize(
    ("arn", "reason"),
    [
        ("arn:aws:iam::123456789012:role/nobody", "unable to be assumed"),
        ("arn:aws:iam::210987654321:role/automation", "format of the supplied assume role ARN is invalid"),
        ("automation", "format of the supplied assume role ARN is invalid"),
    ],
)
def test_role_has_to_exist_in_the_account(
    automation: Automation, store: Make, runbook: Make, arn: str, reason: str
) -> None:
    """A malformed ARN, a role of another account, and an unknown role have different errors."""
    store(runbook(LOOK, assumeRole=arn))
    with pytest.raises(ClientError, match=reason):
        automation.execute("Runbook")


def test_permissions_of_the_role_are_enforced(
    automation: Automation, sandbox: Sandbox, store: Make, runbook: Make
) -> None:
    """If permissions are enforced, a step may do what the role's policies allow, and everything else fails."""
    automation.functions.register("f", lambda _: None)
    store(runbook(LOOK, ASK))
    ssm = ann(sandbox)

    def attempt() -> str:
        with sandbox.enforcing_iam():
            started = ssm.start_automation_execution(DocumentName="Runbook")["AutomationExecutionId"]
            return str(automation.wait(started).get("FailureMessage"))

    function = f"arn:aws:lambda:{sandbox.region}:{sandbox.account_id}:function"
    assert "(UnauthorizedOperation)" in attempt()
    allow(sandbox, "ec2:DescribeVpcs")
    assert "(AccessDeniedException)" in attempt()
    allow(sandbox, "ec2:DescribeVpcs", "lambda:Invoke")
    assert "(AccessDeniedException)" in attempt()
    allow(sandbox, "lambda:InvokeFunction", resource=f"{function}:g")
    assert "(UnauthorizedOperation)" in attempt()
    allow(sandbox, "ec2:DescribeVpcs", "lambda:InvokeFunction")
    assert attempt() == "None"
