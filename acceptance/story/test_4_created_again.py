"""The stack is deleted, and created again with its ledger: earlier heals can still be undone."""

import os

import pytest

from acceptance.facts import Facts
from acceptance.network import Network
from acceptance.place import Place, pages
from acceptance.stack import Stack
from acceptance.story.acts import Acts


def test_ledger_outlives_the_stack(place: Place, acts: Acts, stack: Stack, network: Network, facts: Facts) -> None:
    """A heal of the first stack is undone by the second one."""
    ledger = stack.outputs["LedgerTableName"]
    items = pages(place.client("dynamodb"), "scan", "Items", TableName=ledger)
    facts.keep("ledger", sorted(items, key=lambda item: item["id"]["S"].partition("#")[0]))
    heal = next(
        item["id"]["S"].removeprefix("RUN#")
        for item in items
        if item["id"]["S"].startswith("RUN#") and item.get("routeTableId", {}).get("S") == network.third.table
    )
    stack.delete()
    stack.deploy(LedgerTableName=ledger)
    undo = acts.run("UndoDocumentName", RunId=heal)
    status = undo["AutomationExecutionStatus"]
    facts.add("created-again", "cloudformation", "Does a new stack undo an earlier heal?", status, status == "Success")
    assert status == "Success", undo.get("FailureMessage")
    acts.wait_for(network.third.subnet, "NON_COMPLIANT", "NAT_GATEWAY")


def test_block_public_access(place: Place, acts: Acts, network: Network, facts: Facts) -> None:
    """Closed internet gateways become verdicts. It is a setting of the account, which ALONE=1 allows to change."""
    if place.name != "sandbox" and "ALONE" not in os.environ:
        pytest.skip("it is a setting of the whole account and Region: set ALONE=1")
    ec2 = place.client("ec2")
    try:
        ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="block-bidirectional")
        annotation = acts.wait_for(network.public, "NOT_APPLICABLE", "DROPPED")
    finally:
        ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="off")
    facts.add(
        "block-public-access-verdict", "ec2", "Which verdict has a closed subnet?", annotation.split(":")[0], True
    )
    acts.wait_for(network.public, "COMPLIANT", "INTERNET_GATEWAY")
