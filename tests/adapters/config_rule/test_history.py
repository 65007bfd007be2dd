"""Fetching the items that oversized notifications summarize."""

import json

import pytest

from express_path.adapters.aws import Aws
from express_path.adapters.config_rule.events import RecordedItem, whole_item
from express_path.errors import ApiError
from sandbox.config_loop import ConfigLoop
from sandbox.server import Sandbox
from tests.support.network import Builder
from tests.support.rule import RULE


@pytest.fixture
def loop(sandbox: Sandbox) -> ConfigLoop:
    """A recorder, and a rule whose notifications are all oversized."""
    loop = ConfigLoop(sandbox, invoke=dict, rule=RULE)
    loop.oversized_above = 0
    return loop


def test_item_and_the_one_before_are_fetched(aws: Aws, builder: Builder, loop: ConfigLoop) -> None:
    """The whole item comes with the one recorded before it, each with its configuration as JSON text."""
    table = builder.table(builder.vpc())
    summaries = []
    for name in ("one", "two", "three"):
        builder.tag(table, "Name", name)
        loop.notice()
        summaries.append(loop.queued[-1]["configurationItemSummary"])
    recorded = whole_item(aws.config, summaries[-1])
    assert recorded.previous is not None
    assert [item["tags"]["Name"] for item in (recorded.item, recorded.previous)] == ["three", "two"]
    assert json.loads(recorded.item["configuration"])["routeTableId"] == table


def test_items_after_the_notification_are_left_out(aws: Aws, builder: Builder, loop: ConfigLoop) -> None:
    """A late notification is answered by the item it was about."""
    table = builder.table(builder.vpc())
    loop.notice()
    summary = next(
        notification["configurationItemSummary"]
        for notification in loop.queued
        if notification["configurationItemSummary"]["resourceId"] == table
    )
    builder.tag(table, "Name", "later")
    loop.notice()
    recorded = whole_item(aws.config, summary)
    assert (recorded.item["tags"], recorded.previous) == ({}, None)


@pytest.mark.usefixtures("loop")
def test_resource_that_is_not_recorded_has_no_items(aws: Aws) -> None:
    """If AWS Config never discovered the resource, the summary is all there is."""
    summary = {
        "resourceType": "AWS::EC2::RouteTable",
        "resourceId": "rtb-0",
        "configurationItemCaptureTime": "2026-02-13T05:48:51.341Z",
    }
    assert whole_item(aws.config, summary) == RecordedItem(summary)


def test_history_that_cannot_be_read_is_an_error(aws: Aws, sandbox: Sandbox, loop: ConfigLoop) -> None:
    """Any other failure is raised."""
    loop.notice()
    sandbox.faults.deny("config", "GetResourceConfigHistory")
    with pytest.raises(ApiError) as raised:
        whole_item(aws.config, loop.queued[0]["configurationItemSummary"])
    assert (raised.value.operation, raised.value.code) == ("config:GetResourceConfigHistory", "AccessDeniedException")
