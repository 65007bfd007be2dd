"""The stack on the sandbox: the real template, deployed by a person with deployer-policy.json, and a person who operates it.

Whoever operates it has the policy of docs/troubleshoot.md.
"""

import hashlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.stacks import create_stack
from config_rule_sandbox.config.deployment import RuleDefinition, prepare
from config_rule_sandbox.iam.caller import Principal
from config_rule_sandbox.iam.people import create_user
from config_rule_sandbox.iam.requests import Caller
from config_rule_sandbox.server import Sandbox
from org.archive import write_archive
from org.expansion import expand
from org.policies import IN_ONE_ACCOUNT, as_policy

ROOT = Path(__file__).parent.parent
FUNCTIONS = ROOT / "functions"
PREFIX = "aws-sam-cli-managed-default"
"""How the name of the bucket begins in which SAM keeps code. deployer-policy.json allows uploads below the name of the stack."""
STACK_NAME = "express-path"


class NotDeployedError(LookupError):
    """The stack could not be deployed. The message says what CloudFormation refused."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the stack: its name, and the environment variables with which it acts as its role."""

    name: str
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Deployed:
    """The stack: its rule with the rule's parameters, its functions, its outputs, and the credentials of its operator."""

    rule: RuleDefinition
    parameters: Mapping[str, str]
    evaluate: Function
    plan: Function
    outputs: Mapping[str, str]
    operator: Mapping[str, str]


def deploy(sandbox: Sandbox) -> Deployed:
    """Deploy the stack from the template, with an archive of the functions' source as their code. Raise NotDeployedError."""
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "code.zip"
        write_archive(FUNCTIONS / "express_path", archive)
        code = archive.read_bytes()
    key = f"{STACK_NAME}/{hashlib.sha256(code).hexdigest()}.zip"
    bucket, s3 = f"{PREFIX}-{sandbox.region}", sandbox.client("s3")
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key=key, Body=code)
    prepare(sandbox)
    account = Account(sandbox, sandbox.account_id, sandbox.region, caller=_deployer(sandbox))
    template = expand(ROOT / "template.yaml", key)
    stack = create_stack(account, STACK_NAME, template, {"ArtifactBucketPrefix": PREFIX})
    if stack.failure:
        raise NotDeployedError(str(stack.failure))
    names = {logical_id: resource.physical_id for logical_id, resource in stack.resources.items()}
    [rule] = sandbox.client("config").describe_config_rules(ConfigRuleNames=[names["ConfigRule"]])["ConfigRules"]
    types = tuple(rule["Scope"]["ComplianceResourceTypes"])
    return Deployed(
        RuleDefinition(names["ConfigRule"], names["EvaluateFunction"], types),
        json.loads(rule["InputParameters"]),
        _function(sandbox, names["EvaluateFunction"]),
        _function(sandbox, names["PlanFunction"]),
        stack.outputs,
        create_user(sandbox, "operator", [json.loads(as_policy(IN_ONE_ACCOUNT, sandbox.account_id))]),
    )


def _deployer(sandbox: Sandbox) -> Caller:
    """Return a person who has deployer-policy.json and nothing else."""
    policy = json.loads((ROOT / "deployer-policy.json").read_bytes())
    arn = f"arn:aws:iam::{sandbox.account_id}:user/deployer"
    return Caller(Principal(arn, arn, sandbox.account_id), policy["Statement"])


def _function(sandbox: Sandbox, name: str) -> Function:
    function = sandbox.client("lambda").get_function_configuration(FunctionName=name)
    session = {key.upper(): value for key, value in sandbox.assume(function["Role"]).items()}
    return Function(name, {**sandbox.environment(), **session, **function["Environment"]["Variables"]})
