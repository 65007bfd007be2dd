"""A stack that is updated in place keeps what it knows: the ledger, the rule, and the results."""

from collections.abc import Iterator
from typing import Any

import pytest

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.stacks import Stack, create_stack, update_stack
from config_rule_sandbox.config.deployment import RuleDefinition, prepare
from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.config.results import results_of
from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path.handlers import evaluate, plan_heal
from org.expansion import expand
from tests.support.heals import Vpc, run_id_of, status
from tests.support.network import Builder
from tests.support.rule import RULE, Context
from tests.support.template import MAIN, ROOT

pytestmark = pytest.mark.long

BUCKET, CODE, NEW_CODE = "artifacts", "code.zip", "new-code.zip"
KEPT = ("ConfigRule", "LedgerTable", "HealDocument", "UndoDocument")


@pytest.fixture
def automation(sandbox: Sandbox) -> Iterator[Automation]:
    """Yield Automation, where waits are short."""
    with Automation(sandbox) as automation:
        automation.knobs.time_scale = 0.001
        yield automation


def environment_of(sandbox: Sandbox, stack: Stack, logical_id: str) -> dict[str, str]:
    """Return the environment of a function of the stack."""
    variables: dict[str, str] = stack.properties[logical_id]["Environment"]["Variables"]
    return variables | {"AWS_REGION": sandbox.region}


def rule_of(sandbox: Sandbox, stack: Stack) -> ConfigLoop:
    """Return AWS Config's loop for the rule, whose function runs with the settings that it has now."""
    services = evaluate.compose_services(environment_of(sandbox, stack, "EvaluateFunction"))
    name, function = (stack.resources[key].physical_id for key in ("ConfigRule", "EvaluateFunction"))
    definition = RuleDefinition(name, function, RULE.resource_types)
    return ConfigLoop(sandbox, lambda event: evaluate.handler(event, Context(), services), rule=definition)


def run(sandbox: Sandbox, automation: Automation, stack: Stack, document: str, **given: str) -> dict[str, Any]:
    """Run a runbook of the stack until it succeeds, with the stack's role and function."""
    services = plan_heal.compose_services(environment_of(sandbox, stack, "PlanFunction"), sandbox.account_id)
    function = stack.outputs["PlanFunctionArn"]
    name = stack.resources["PlanFunction"].physical_id
    automation.functions.register(name, lambda event: plan_heal.handler(event, Context(), services))
    own = {"AutomationAssumeRole": stack.outputs["AutomationRoleArn"], "PlanFunctionName": function}
    ended = automation.execute(stack.resources[document].physical_id, own | given)
    assert status(ended) == "Success", ended["FailureMessage"]
    return ended


def kept(sandbox: Sandbox, stack: Stack) -> dict[str, Any]:
    """Return what an update must not change: names, items of the ledger, and results of the rule."""
    items = direct_client(sandbox, "dynamodb").scan(TableName=stack.outputs["LedgerTableName"])["Items"]
    return {
        "resources": {name: stack.resources[name] for name in KEPT},
        "ledger": sorted(items, key=lambda item: str(item["id"]["S"])),
        "results": results_of(sandbox.account_id, sandbox.region).of_rule(stack.outputs["RuleName"]),
    }


def test_update_keeps_the_ledger_the_rule_and_the_results(
    sandbox: Sandbox, automation: Automation, builder: Builder
) -> None:
    """New code and other parameters change nothing that is stored, and a heal from before the update can be undone."""
    account = Account(sandbox, sandbox.account_id, sandbox.region)
    prepare(sandbox)
    s3, bucket = direct_client(sandbox, "s3"), f"{BUCKET}-{sandbox.region}"
    s3.create_bucket(Bucket=bucket)
    for key in (CODE, NEW_CODE):
        s3.put_object(Bucket=bucket, Key=key, Body=b"PK\5\6" + bytes(18))  # an empty archive
    template, vpc = expand(ROOT / MAIN, CODE), Vpc(builder)
    table = builder.ec2.describe_route_tables(RouteTableIds=[vpc.table])["RouteTables"]
    stack = create_stack(account, "express-path", template, {"ArtifactBucketPrefix": BUCKET})
    assert stack.failure is None
    run_id = run_id_of(run(sandbox, automation, stack, "HealDocument", SubnetId=vpc.subnet))
    assert rule_of(sandbox, stack).scheduled().error is None
    before = kept(sandbox, stack)
    assert before["ledger"]
    assert before["results"]

    changed = {"ArtifactBucketPrefix": BUCKET, "CodeKey": NEW_CODE, "LogRetentionDays": "90", "RemediationMode": "ON"}
    assert update_stack(stack, template, changed) is None
    assert kept(sandbox, stack) == before
    assert rule_of(sandbox, stack).scheduled().error is None
    assert kept(sandbox, stack)["results"] == before["results"]
    run(sandbox, automation, stack, "UndoDocument", RunId=run_id)
    assert builder.ec2.describe_route_tables(RouteTableIds=[vpc.table])["RouteTables"] == table
