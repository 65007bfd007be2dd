"""The role that stops all heals, with permissions enforced: it writes the item STOP past the ledger's policy."""

import pytest

from config_rule_sandbox.config.remediation.exceptions import add_exception
from config_rule_sandbox.config.remediation.memory import remediations_of
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.iam.people import create_user
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox
from express_path.domain.heal.ledger_records import STOP_ID
from express_path_cli.automation import stops
from tests.cli.org.organizations import put_recorder
from tests.iam.deployed import Deployed
from tests.support.command import invoke
from tests.support.documented import documented
from tests.support.stack import Stack, listed_stack

STOP, CLAIM = {"id": {"S": STOP_ID}}, {"id": {"S": "TABLE#rtb-1"}}


def test_the_role_writes_the_stop_and_nothing_else(stack: Stack) -> None:
    """Claims, history, and other writes of the stop are refused."""
    table = str(stack.template.deployed("<LedgerTable>"))
    client = stack.client("StopRole", "dynamodb")
    with stack.enforced():
        client.put_item(TableName=table, Item=STOP)
        assert client.get_item(TableName=table, Key=STOP)["Item"] == STOP
        client.delete_item(TableName=table, Key=STOP)
        for call, given in (
            (client.put_item, {"Item": CLAIM}),
            (client.get_item, {"Key": CLAIM}),
            (client.delete_item, {"Key": CLAIM}),
            (client.update_item, {"Key": STOP}),
            (client.scan, {}),
        ):
            assert refused(call, TableName=table, **given) == "AccessDeniedException"


def test_the_role_is_enough_to_stop_and_start(
    deployed: Deployed, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has the documented statements needs nothing else; every call is one that the role allows."""
    stack = deployed.stack
    config: Client = sandbox.client("config")
    put_recorder(config)
    rule = {"Owner": "AWS", "SourceIdentifier": "S3_BUCKET_VERSIONING_ENABLED"}
    config.put_config_rule(ConfigRule={"ConfigRuleName": "s3express-no-nat-path", "Source": rule})
    outputs = {name: stack.template.deployed(row["Value"]) for name, row in stack.template.outputs.items()}
    names = stack.template.deployed({name: f"<{name}>" for name in stack.template.resources})
    listed_stack(sandbox, "express-path", names, outputs)
    monkeypatch.setattr(stops, "POLL_SECONDS", 0.01)
    policy = {"Version": "2012-10-17", "Statement": documented("ListStacks", "ReadStacks", "StopAndStart")}
    for name, value in create_user(sandbox, "ann", [policy]).items():
        monkeypatch.setenv(name.upper(), value)
    monkeypatch.delenv("AWS_SESSION_TOKEN")
    with Remediation(sandbox, deployed.automation), stack.enforced():
        for words in (["stop"], ["start", "--yes"]):
            result = invoke(words)
            assert (result.exit_code, result.stderr) == (0, ""), result.stderr
            memory = remediations_of(sandbox.account_id, sandbox.region)
            add_exception(memory, "s3express-no-nat-path", ("AWS::EC2::Subnet", "subnet-0a1b2c3d"), "-")
    assert "left the remediation exceptions" in result.stdout
    assert sandbox.calls.of("config", "DescribeRemediationExecutionStatus")
