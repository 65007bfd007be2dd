"""EventBridge in the sandbox: limits, failing entries, delivery to functions, and SQS as an event source."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.aws_lambda.event_sources import poll
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.iam.requests import enforced
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox

FUNCTION = "arn:aws:lambda:us-east-1:123456789012:function:consumer"


@pytest.fixture
def events(sandbox: Sandbox) -> Client:
    """Return a client, and a rule that sends events of the source `test` to the function `consumer`."""
    client: Client = sandbox.client("events")
    client.put_rule(Name="rule", EventPattern=json.dumps({"source": ["test"], "detail": {"n": [1, 2, 3]}}))
    client.put_targets(Rule="rule", Targets=[{"Id": "function", "Arn": FUNCTION}])
    return client


def entry(number: int = 1, kind: str = "Kind", **more: object) -> dict[str, Any]:
    """Return an entry."""
    return {"Source": "test", "DetailType": kind, "Detail": json.dumps({"n": number, **more}), "Time": 1764201600}


def test_events_reach_the_function_as_eventbridge_writes_them(sandbox: Sandbox, events: Client) -> None:
    """The function gets matching events of an enabled rule, with the time of the entry in UTC."""
    received: list[Any] = []
    sandbox.eventbridge.register("consumer", received.append)
    answer = events.put_events(Entries=[entry(1), entry(9), entry(2)])
    assert answer["FailedEntryCount"] == 0
    assert [event["detail"]["n"] for event in received] == [1, 2]
    assert (received[0]["time"], received[0]["account"], received[0]["region"]) == (
        "2025-11-27T00:00:00Z",
        "123456789012",
        "us-east-1",
    )
    assert received[0]["id"] == answer["Entries"][0]["EventId"]
    events.disable_rule(Name="rule")
    events.put_events(Entries=[entry()])
    assert len(received) == 2


def test_a_bus_with_rules_cannot_be_deleted(sandbox: Sandbox) -> None:
    """The rules must be deleted first. https://github.com/anomalyco/sst/issues/4325."""
    client: Client = sandbox.client("events")
    client.create_event_bus(Name="own")
    client.put_rule(Name="rule", EventBusName="own", EventPattern=json.dumps({"source": ["test"]}))
    assert refused(client.delete_event_bus, Name="own") == "ValidationException"
    client.delete_rule(Name="rule", EventBusName="own")
    client.delete_event_bus(Name="own")
    assert "own" not in [bus["Name"] for bus in client.list_event_buses()["EventBuses"]]


def test_a_function_that_is_not_there_gets_nothing(sandbox: Sandbox, events: Client) -> None:
    """The event is put all the same, as in an account. Other functions can be run by their ARN."""
    assert events.put_events(Entries=[entry()])["FailedEntryCount"] == 0
    assert isinstance(sandbox.eventbridge.deliveries[-1].error, LookupError)
    received: list[tuple[str, int]] = []
    sandbox.eventbridge.run_others = lambda arn, event: received.append((arn, event["detail"]["n"]))
    events.put_events(Entries=[entry(2)])
    assert received == [(FUNCTION, 2)]


RULE = "arn:aws:events:us-east-1:123456789012:rule/rule"


def create_queue(sandbox: Sandbox, name: str, rule: str = RULE) -> str:
    """Create a queue that takes the events of a rule, and return its URL."""
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "events.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": f"arn:aws:sqs:us-east-1:123456789012:{name}",
        "Condition": {"ArnEquals": {"aws:SourceArn": rule}},
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    return str(sandbox.client("sqs").create_queue(QueueName=name, Attributes={"Policy": policy})["QueueUrl"])


def bodies(sandbox: Sandbox, url: str) -> list[dict[str, Any]]:
    """Return the events in a queue."""
    received = sandbox.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10)
    return [json.loads(message["Body"]) for message in received.get("Messages", [])]


@pytest.mark.parametrize("takes", [RULE, f"{RULE}-2", None], ids=["its rule", "another rule", "deleted"])
@pytest.mark.parametrize("dead", [RULE, f"{RULE}-2"], ids=["dead letters", "no dead letters"])
def test_what_a_queue_does_not_take_goes_to_its_dead_letter_queue(
    sandbox: Sandbox, events: Client, takes: str | None, dead: str
) -> None:
    """A queue takes events only of rules that its policy names. If the other one does not either, they are lost."""
    urls = {"dead": create_queue(sandbox, "dead", dead), "work": create_queue(sandbox, "work", takes or RULE)}
    if takes is None:
        sandbox.client("sqs").delete_queue(QueueUrl=urls.pop("work"))
    target = {"Id": "function", "Arn": "arn:aws:sqs:us-east-1:123456789012:work"}
    dead_letters = {"Arn": "arn:aws:sqs:us-east-1:123456789012:dead"}
    events.put_targets(Rule="rule", Targets=[{**target, "DeadLetterConfig": dead_letters}])
    events.put_events(Entries=[entry(1)])
    arrived = {name for name, url in urls.items() if bodies(sandbox, url)}
    assert arrived == ({"work"} if takes == RULE else {"dead"} if dead == RULE else set())
    [delivery] = sandbox.eventbridge.deliveries
    assert (delivery.error is None) is (takes == RULE)


def test_requests_that_are_too_large_are_refused(sandbox: Sandbox, events: Client) -> None:
    """All entries together have at most 256 KB, and there are at most ten."""
    sandbox.eventbridge.register("consumer", lambda _event: None)
    half = entry(1, filler="x" * 131_000)
    assert events.put_events(Entries=[half, half])["FailedEntryCount"] == 0
    with pytest.raises(ClientError, match="over the limit"):
        events.put_events(Entries=[half, half, entry(1, filler="x" * 1000)])
    with pytest.raises(ClientError, match="less than or equal to 10"):
        events.put_events(Entries=[entry()] * 11)


def test_a_queue_invokes_a_function_until_its_messages_are_processed(sandbox: Sandbox) -> None:
    """Messages that the function does not name as failed are deleted; others go to the dead-letter queue at last."""
    sqs: Client = sandbox.client("sqs")
    dead = sqs.create_queue(QueueName="dead")["QueueUrl"]
    policy = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:123456789012:dead", "maxReceiveCount": "2"}
    url = sqs.create_queue(QueueName="work", Attributes={"RedrivePolicy": json.dumps(policy)})["QueueUrl"]
    for body in ("good", "bad"):
        sqs.send_message(QueueUrl=url, MessageBody=body)

    def process(event: dict[str, Any]) -> dict[str, Any]:
        bad = [record["messageId"] for record in event["Records"] if record["body"] == "bad"]
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in bad]}

    first = poll(sandbox, url, process)
    assert (len(first.deleted), len(first.returned)) == (1, 1)
    crashed = poll(sandbox, url, lambda _event: 1 / 0)
    assert (crashed.deleted, crashed.returned) == ((), first.returned)
    assert isinstance(crashed.error, ZeroDivisionError)
    assert poll(sandbox, url, process).returned == ()
    [message] = sqs.receive_message(QueueUrl=dead)["Messages"]
    assert message["Body"] == "bad"


def test_the_policy_of_a_bus_denies_what_an_identity_policy_allows(sandbox: Sandbox) -> None:
    """A Deny for everyone but one role stops every other caller, on this bus only."""
    iam: Client = direct_client(sandbox, "iam")
    anything = json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}})
    for name in ("publisher", "other"):
        iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}", Path="/rooms/")
        iam.put_role_policy(RoleName=name, PolicyName="all", PolicyDocument=anything)
    roles = {name: f"arn:aws:iam::123456789012:role/rooms/{name}" for name in ("publisher", "other")}
    client: Client = sandbox.client("events")
    arn = client.create_event_bus(Name="ours")["EventBusArn"]
    statement = {
        "Sid": "OnlyThePublisher",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "events:PutEvents",
        "Resource": arn,
        "Condition": {"ArnNotEquals": {"aws:PrincipalArn": roles["publisher"]}},
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    client.put_permission(EventBusName="ours", Policy=policy)
    clients = {name: sandbox.client("events", credentials=sandbox.assume(role)) for name, role in roles.items()}
    here = entry() | {"EventBusName": "ours"}
    with enforced(sandbox):
        assert clients["publisher"].put_events(Entries=[here])["FailedEntryCount"] == 0
        assert refused(clients["other"].put_events, Entries=[here]) == "AccessDeniedException"
        assert refused(clients["other"].put_events, Entries=[here | {"EventBusName": arn}]) == "AccessDeniedException"
        assert clients["other"].put_events(Entries=[entry()])["FailedEntryCount"] == 0
