"""The role in the network account allows exactly the calls that the rule makes there."""

import pytest

from sandbox.networks import Account, BehindFirewall, BehindNatInstance, Hub
from sandbox.server import Sandbox
from tests.org.test_templates import role
from tests.support.iam import actions
from tests.support.rule import Rule

NETWORK = "111122223333"
ROLE = f"arn:aws:iam::{NETWORK}:role/network-reader"


@pytest.fixture
def network(sandbox: Sandbox) -> Account:
    """Return a network account with everything that the rule reads there."""
    account = Account(sandbox, NETWORK, first=100)
    instance = BehindNatInstance(account)
    made = account.ec2.create_managed_prefix_list(
        PrefixListName="own", MaxEntries=5, AddressFamily="IPv4", Entries=[{"Cidr": "192.0.2.0/24"}]
    )
    account.route(instance.table, made["PrefixList"]["PrefixListId"], InstanceId=instance.instance)
    BehindFirewall(account, firewall_of=BehindFirewall(account))
    return account


def test_role_allows_what_the_rule_reads_there_and_no_more(sandbox: Sandbox, network: Account) -> None:
    """A sweep that follows a transit gateway makes each call that the role allows, and no other."""
    home = Account(sandbox)
    hub = Hub(network)
    hub.share(home)
    spoke = hub.join(home)
    rule = Rule(sandbox, {"networkRoleArn": ROLE})
    sandbox.calls.clear()
    delivery = rule.loop.scheduled()
    assert not delivery.error
    reasons = {found["subnetId"]: found["reason"] for found in delivery.answer["evaluations"]}
    assert reasons[spoke.subnet] == "NAT_BEYOND_TRANSIT_GATEWAY"
    called = {f"{call.service}:{call.operation}" for call in sandbox.calls if call.account_id == NETWORK}
    statements = role()["Policies"][0]["PolicyDocument"]["Statement"]
    assert called == {action for statement in statements for action in actions(statement)}
