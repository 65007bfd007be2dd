"""Events from AWS Config: what is read from them, which errors invalid ones raise, and oversized items."""

import json
from datetime import UTC, datetime

import pytest

from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import Aws
from express_path.adapters.config_rule.events import ConfigEvent, parse_event, whole_item
from express_path.errors import ApiError, RecordError
from tests.adapters.events import Object, change, event, item, oversized, place, scheduled
from tests.support.network import Builder
from tests.support.rule import RULE

CAPTURED = datetime(2026, 2, 13, 5, 48, 51, 341000, UTC)
NOTIFIED = datetime(2026, 2, 13, 5, 49, 2, 100000, UTC)
NOT_A_STRING = [..., None, "", 7, ["a"], {"a": "b"}]
NOT_A_TIME = [
    *NOT_A_STRING,
    "yesterday",
    "2026-02-13T05:48:51",
    "2026-02-30T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "1969-12-31T23:59:59Z",
    "9999-12-31T23:59:59-14:00",
]
NOT_AN_OBJECT = [..., None, "text", 7, ["a"]]
NOT_JSON_OF_AN_OBJECT = [..., None, "", 7, {"messageType": "x"}, "{", "[]", "7", "null", '"text"']


def refusal(of: Object) -> RecordError:
    """Return the error that an event is refused with."""
    with pytest.raises(RecordError) as raised:
        parse_event(of)
    return raised.value


def test_change_is_read() -> None:
    """A change has the item and its diff; the time that orders it is when the item was captured."""
    diff = {"changedProperties": {}, "changeType": "UPDATE"}
    assert parse_event(event(change(configurationItemDiff=diff))) == ConfigEvent(
        account_id="123456789012",
        rule_name="s3express-no-nat-path",
        result_token="token",
        parameters={},
        ordering_timestamp=CAPTURED,
        left_scope=False,
        item=item(),
        diff=diff,
    )


@pytest.mark.parametrize(("diff", "read"), [(..., None), (None, {})])
def test_change_without_diff_is_read(diff: object, read: object) -> None:
    """An item that is sent again has a diff of null. One without a diff, like AWS's sample, may be a change."""
    parsed = parse_event(event(change(configurationItemDiff=diff)))
    assert (parsed.item, parsed.diff) == (item(), read)


def test_oversized_change_is_read() -> None:
    """Of an oversized item there is a summary, and word that there is more to fetch."""
    parsed = parse_event(event(oversized()))
    assert parsed.item == oversized()["configurationItemSummary"]
    assert (parsed.is_oversized, parsed.diff, parsed.ordering_timestamp) == (True, None, CAPTURED)


def test_schedule_is_read() -> None:
    """The schedule has no item; the time that orders it is when the notification was made."""
    parsed = parse_event(event(scheduled()))
    assert (parsed.item, parsed.is_oversized, parsed.ordering_timestamp) == (None, False, NOTIFIED)


def test_account_is_that_of_the_resource() -> None:
    """Item and event name the same account; where the item names none, the event's counts."""
    assert parse_event(event(change())).account_id == "123456789012"
    other = {"accountId": "999999999999"}
    assert parse_event(event(change(configurationItem=item(awsAccountId=...)), **other)).account_id == "999999999999"
    assert parse_event(event(scheduled(awsAccountId=...), **other)).account_id == "999999999999"


def test_item_of_another_account_is_refused() -> None:
    """Events of another account are rejected, because its subnets would seem to be deleted in this one."""
    for invoking in (change(), oversized(), scheduled()):
        assert place(refusal(event(invoking, accountId="999999999999"))) == "awsAccountId"


@pytest.mark.parametrize(("value", "expected"), [(True, True), (False, False), (..., False)])
def test_left_scope_is_read(value: object, expected: bool) -> None:
    """EventLeftScope means that the resource is no longer in the rule's scope."""
    assert parse_event(event(change(), eventLeftScope=value)).left_scope is expected


@pytest.mark.parametrize(("token", "expected"), [("TESTMODE", True), ("token", False)])
def test_test_mode_is_read_from_the_token(token: str, expected: bool) -> None:
    """The token TESTMODE asks for a rehearsal."""
    assert parse_event(event(change(), resultToken=token)).is_test is expected


@pytest.mark.parametrize("absent", [..., None, "", "{}"])
def test_absent_parameters_are_none(absent: object) -> None:
    """AWS Config omits ruleParameters if the rule has none."""
    assert parse_event(event(change(), ruleParameters=absent)).parameters == {}


def test_parameters_are_read() -> None:
    """RuleParameters is the JSON text of an object, whose values the rule itself checks."""
    assert parse_event(event(scheduled(), ruleParameters='{"limit": "7", "x": 7}')).parameters == {"limit": "7", "x": 7}


@pytest.mark.parametrize("malformed", ["{", "[]", "null", {"scope": "ALL"}, ["scope"], {}, [], False])
def test_malformed_parameters_are_refused(malformed: object) -> None:
    """RuleParameters that are not JSON text of an object are refused by that name."""
    error = refusal(event(change(), ruleParameters=malformed))
    assert (error.field, error.found) == ("ruleParameters", malformed)


@pytest.mark.parametrize(
    "message_type",
    [
        "ScheduledNxotification",  # so spelt in a sample of Powertools
        "ConfigurationSnapshotDeliveryCompleted",
        "configurationItemChangeNotification",
        "",
        None,
        ...,
        7,
        ["ScheduledNotification"],
        {},
    ],
)
def test_unknown_message_type_is_refused(message_type: object) -> None:
    """A message type that is not known is refused, and the error says which are."""
    found = None if message_type is ... else message_type
    for invoking in (change(messageType=message_type), scheduled(messageType=message_type)):
        error = refusal(event(invoking))
        assert (place(error), error.found) == ("invokingEvent.messageType", found)
        assert "OversizedConfigurationItemChangeNotification, ScheduledNotification" in str(error)


@pytest.mark.parametrize("invoking", NOT_JSON_OF_AN_OBJECT)
def test_malformed_invoking_event_is_refused(invoking: object) -> None:
    """The invoking event is the JSON text of an object, or it is refused by name."""
    assert place(refusal(event(change(), invokingEvent=invoking))) == "invokingEvent"


@pytest.mark.parametrize("found", NOT_A_STRING)
@pytest.mark.parametrize("field", ["resultToken", "configRuleName"])
def test_text_of_the_event_is_required(field: str, found: object) -> None:
    """Without a token or a rule's name nothing could be reported."""
    for invoking in (change(), oversized(), scheduled()):
        assert place(refusal(event(invoking, **{field: found}))) == field


def test_account_is_required() -> None:
    """An account there must be, in the item or in the event."""
    nameless = {"accountId": ...}
    assert place(refusal(event(change(configurationItem=item(awsAccountId=...)), **nameless))) == "accountId"
    assert place(refusal(event(scheduled(awsAccountId=...), **nameless))) == "accountId"
    assert place(refusal(event(scheduled(awsAccountId=123456789012), **nameless))) == "accountId"


@pytest.mark.parametrize("found", NOT_AN_OBJECT)
def test_item_is_required(found: object) -> None:
    """A change without an item, or an oversized one without a summary, is refused by that name."""
    assert place(refusal(event(change(configurationItem=found)))) == "invokingEvent.configurationItem"
    summary = {**oversized(), "configurationItemSummary": None if found is ... else found}
    assert place(refusal(event(summary))) == "invokingEvent.configurationItemSummary"


@pytest.mark.parametrize("found", ["text", 7, ["a"]])
def test_diff_of_another_form_says_nothing(found: object) -> None:
    """A diff is an object, null, or absent. Another form is not null, which means that nothing changed."""
    assert parse_event(event(change(configurationItemDiff=found))).diff is None


@pytest.mark.parametrize("found", NOT_A_TIME)
def test_times_are_required(found: object) -> None:
    """The time that orders the verdict is needed, with its offset from UTC."""
    assert place(refusal(event(scheduled(notificationCreationTime=found)))) == "invokingEvent.notificationCreationTime"
    if found in (..., None):
        return
    late = refusal(event(change(configurationItem=item(configurationItemCaptureTime=found))))
    assert place(late) == "invokingEvent.configurationItem.configurationItemCaptureTime"
    late = refusal(event(oversized(configurationItemCaptureTime=found)))
    assert place(late) == "invokingEvent.configurationItemSummary.configurationItemCaptureTime"


@pytest.mark.parametrize("found", [..., None])
def test_without_a_capture_time_the_notifications_own_counts(found: object) -> None:
    """It is the nearest time that is known, and later than the capture."""
    for invoking in (
        change(configurationItem=item(configurationItemCaptureTime=found)),
        oversized(configurationItemCaptureTime=found),
    ):
        assert parse_event(event(invoking)).ordering_timestamp == NOTIFIED


@pytest.mark.parametrize("found", ["true", "false", 1, {}])
def test_left_scope_is_true_or_false(found: object) -> None:
    """EventLeftScope that is neither true nor false is rejected; it does not count as false."""
    with pytest.raises(RecordError) as raised:
        parse_event(event(change(), eventLeftScope=found))
    assert place(raised.value) == "eventLeftScope"


@pytest.fixture
def loop(sandbox: Sandbox) -> ConfigLoop:
    """A recorder, and a rule whose notifications are all oversized."""
    loop = ConfigLoop(sandbox, invoke=dict, rule=RULE)
    loop.oversized_above = 0
    return loop


def captured(summary: Object) -> datetime:
    """Return when the item of a summary was captured."""
    return datetime.fromisoformat(summary["configurationItemCaptureTime"])


def test_item_and_the_one_before_are_fetched(aws: Aws, builder: Builder, loop: ConfigLoop) -> None:
    """The whole item comes with the one recorded before it, each with its configuration as JSON text.

    What the summary says, too, is as it says.
    """
    table = builder.table(builder.vpc())
    summaries = []
    for name in ("one", "two", "three"):
        builder.tag(table, "Name", name)
        loop.notice()
        summaries.append(loop.queued[-1]["configurationItemSummary"])
    recorded = whole_item(aws.config, summaries[-1], captured(summaries[-1]))
    assert recorded.previous is not None
    assert recorded.item == recorded.item | summaries[-1]
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
    recorded = whole_item(aws.config, summary, captured(summary))
    assert (recorded.item["tags"], recorded.previous) == ({}, None)


def test_history_that_cannot_be_read_is_an_error(aws: Aws, sandbox: Sandbox, loop: ConfigLoop) -> None:
    """Any other failure is raised."""
    loop.notice()
    sandbox.faults.deny("config", "GetResourceConfigHistory")
    with pytest.raises(ApiError) as raised:
        whole_item(aws.config, loop.queued[0]["configurationItemSummary"], CAPTURED)
    assert (raised.value.operation, raised.value.code) == ("config:GetResourceConfigHistory", "AccessDeniedException")
