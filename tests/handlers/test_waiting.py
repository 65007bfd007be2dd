"""A sweep names the subnets that AWS Config should have healed and has not started for a day."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from config_rule_sandbox.answers import RemediationTrigger
from config_rule_sandbox.config.remediation.exceptions import add_exception
from config_rule_sandbox.config.remediation.memory import Remediations, remediations_of
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path.adapters import unhealed
from express_path.domain.heal.ledger_records import STOP_ID
from tests.support.heals import HEAL, TRUST, configure_remediation
from tests.support.ledgers import LEDGER, LedgerTable
from tests.support.network import Builder, Private
from tests.support.rule import Rule

SLEEPS = """
schemaVersion: "0.3"
assumeRole: "{{ AutomationAssumeRole }}"
parameters:
  SubnetId: {type: String}
  AutomationAssumeRole: {type: String}
mainSteps:
  - {name: rest, action: "aws:sleep", inputs: {Duration: PT1H}}
"""
Sweep = Callable[[], Any]


@pytest.fixture
def automation(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Automation]:
    """Yield Automation, AWS Config's remediation with a runbook that changes nothing, and a ledger."""
    monkeypatch.setenv("LEDGER_TABLE_NAME", LEDGER)
    with Automation(sandbox) as running, Remediation(sandbox, running):
        running.knobs.time_scale = 0
        sandbox.client("ssm").create_document(
            Name=HEAL, Content=SLEEPS, DocumentType="Automation", DocumentFormat="YAML"
        )
        yield running


@pytest.fixture
def ledger(sandbox: Sandbox) -> LedgerTable:
    """Return the ledger."""
    return LedgerTable(sandbox)


@pytest.fixture
def private(builder: Builder) -> Private:
    """Return a subnet behind a NAT gateway."""
    return Private(builder)


@pytest.fixture
def memory(sandbox: Sandbox) -> Remediations:
    """Return what AWS Config stores about remediation."""
    return remediations_of(sandbox.account_id, sandbox.region)


@pytest.fixture
def sweep(rule: Rule, private: Private, automation: Automation, ledger: LedgerTable) -> Sweep:
    """Return a function that sweeps, checks that the fault is in the event, and returns the event's `waiting`.

    AWS Config knows the subnet as NON_COMPLIANT, and had one run for it, which ended with success.
    """
    del private, ledger
    sandbox = rule.sandbox
    role = sandbox.client("iam").create_role(RoleName="heals", AssumeRolePolicyDocument=json.dumps(TRUST))
    sandbox.answers.remediation_trigger = RemediationTrigger.CONFIGURATION_ONLY
    rule.sweep()
    configure_remediation(sandbox.client("config"), {"AutomationAssumeRole": role["Role"]["Arn"]})
    Remediation(sandbox, automation).remediate(rule.loop.rule.name)

    def run() -> Any:
        sandbox.calls.clear()
        rule.sweep()
        entries = [entry for call in sandbox.calls.of("events", "PutEvents") for entry in call.parameters["Entries"]]
        [completed] = [entry for entry in entries if entry["DetailType"] == "SweepCompleted"]
        detail = json.loads(completed["Detail"])
        waiting = detail["waiting"]
        faults = [fault["problem"] for fault in detail["faults"] if fault["component"] == "heals"]
        assert bool(faults) is (waiting is None or bool(waiting["subnetIds"]))
        return waiting

    return run


@pytest.fixture
def a_day_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every result and every run be older than a day."""
    monkeypatch.setattr(unhealed, "QUIET", timedelta())


def subnets(waiting: Any) -> list[str]:
    """Return the subnets in the event."""
    return list(waiting["subnetIds"])


def test_a_subnet_waits_after_a_day(sweep: Sweep, private: Private, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named with the command that starts its heal. Before that, AWS Config may still do it."""
    assert subnets(sweep()) == []
    monkeypatch.setattr(unhealed, "QUIET", timedelta())
    assert sweep() == {"subnetIds": [private.subnet], "command": "express-path start --region us-east-1"}


@pytest.mark.usefixtures("a_day_later")
def test_a_finding_that_is_new_does_not_wait(sweep: Sweep, private: Private, builder: Builder) -> None:
    """Only what AWS Config has had as NON_COMPLIANT before the sweep waits."""
    other = Private(builder)
    assert subnets(sweep()) == [private.subnet]
    assert subnets(sweep()) == sorted([private.subnet, other.subnet])


@pytest.mark.usefixtures("a_day_later")
def test_what_people_decided_hides_nothing(
    sweep: Sweep, private: Private, builder: Builder, ledger: LedgerTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many subnets only a person heals, one that waits is named."""
    monkeypatch.setattr(unhealed, "MAX_WAITING", 1)
    other = Private(builder)
    sweep()
    decided, waits = sorted([private, other], key=lambda place: place.subnet)
    ledger.write(f"TABLE#{decided.table}", state="UNDONE")
    assert subnets(sweep()) == [waits.subnet]


@pytest.mark.usefixtures("a_day_later")
def test_what_people_decided_does_not_wait(
    sweep: Sweep, private: Private, ledger: LedgerTable, memory: Remediations, rule: Rule
) -> None:
    """Heals are stopped, undone, or rejected; or there is an exception. In mode OFF, AWS Config heals nothing."""
    ledger.write(STOP_ID, stoppedAt="now", by="ann")
    assert subnets(sweep()) == []
    ledger.dynamodb.delete_item(TableName=LEDGER, Key={"id": {"S": STOP_ID}})
    for item in ({"state": "UNDONE"}, {"state": "FAILED", "approvalState": "DENIED", "approvalRunId": "1"}):
        ledger.write(f"TABLE#{private.table}", **item)
        assert subnets(sweep()) == []
    ledger.dynamodb.delete_item(TableName=LEDGER, Key={"id": {"S": f"TABLE#{private.table}"}})
    assert subnets(sweep()) == [private.subnet]
    name = rule.loop.rule.name
    memory.configurations[name]["Automatic"] = False
    assert subnets(sweep()) == []
    memory.configurations[name]["Automatic"] = True
    add_exception(memory, name, ("AWS::EC2::Subnet", private.subnet), "-")
    assert subnets(sweep()) == []


@pytest.mark.usefixtures("a_day_later")
def test_what_runs_does_not_wait(
    sweep: Sweep, private: Private, automation: Automation, sandbox: Sandbox, rule: Rule
) -> None:
    """A run that AWS Config has not ended counts, however long it takes, such as one that asks for an approval."""
    automation.knobs.time_scale = 1
    keys = [{"resourceType": "AWS::EC2::Subnet", "resourceId": private.subnet}]
    sandbox.client("config").start_remediation_execution(ConfigRuleName=rule.loop.rule.name, ResourceKeys=keys)
    assert subnets(sweep()) == []


@pytest.mark.usefixtures("a_day_later")
def test_a_heal_that_the_network_blocks_does_not_wait(sweep: Sweep, private: Private, builder: Builder) -> None:
    """A route with the same prefix as one of the service would win over the endpoint's."""
    lists = builder.ec2.describe_prefix_lists()["PrefixLists"]
    [block] = [found["Cidrs"][0] for found in lists if found["PrefixListName"].endswith(".s3express")]
    builder.route(private.table, block, NatGatewayId=private.nat)
    sweep()
    assert subnets(sweep()) == []


@pytest.mark.usefixtures("a_day_later")
def test_what_cannot_be_read_is_not_known(sweep: Sweep, sandbox: Sandbox) -> None:
    """The event says so, and it is a fault. The sweep goes on."""
    sandbox.faults.deny("config", "DescribeRemediationExecutionStatus")
    assert sweep() is None
