"""Whether a policy allows the request of an AWS service, whatever is not known of it."""

import json
from typing import Any

import pytest

from express_path.domain.policies.denials import may_allow
from express_path.domain.policies.documents import parse_policy
from express_path.domain.policies.requests import ServiceRequest
from express_path.errors import PolicyError

TOPIC = "arn:aws:sns:us-east-1:111122223333:alarms"
REQUEST = ServiceRequest(
    "cloudwatch.amazonaws.com",
    "sns:Publish",
    TOPIC,
    {"aws:sourceaccount": [("111122223333",)], "aws:securetransport": [("true",)]},
    ("aws:principal",),
)
SERVICE, ANYBODY = {"Service": "cloudwatch.amazonaws.com"}, {"AWS": "*"}


def statement(effect: str = "Allow", principal: object = SERVICE, **more: Any) -> dict[str, Any]:
    """Return a statement about publishing to the topic."""
    return {"Effect": effect, "Principal": principal, "Action": "sns:Publish", "Resource": TOPIC, **more}


def of_account(account_id: str) -> dict[str, Any]:
    """Return a condition on the account for which the service acts."""
    return {"StringEquals": {"aws:SourceAccount": account_id}}


POLICIES = {
    "the service": ([statement()], True),
    "everybody": ([statement(principal="*")], True),
    "another service": ([statement(principal={"Service": "events.amazonaws.com"})], False),
    "another topic": ([statement(Resource=f"{TOPIC}-2")], False),
    "another action": ([statement(Action="sns:Subscribe")], False),
    "for the account": ([statement(Condition=of_account("111122223333"))], True),
    "for another account": ([statement(Condition=of_account("444455556666"))], False),
    "by a value that is not known": ([statement(Condition={"StringEquals": {"aws:SourceOrgID": "o-1"}})], True),
    "by a key that services do not send": (
        [statement(principal=ANYBODY, Condition={"StringEquals": {"aws:PrincipalOrgID": "o-1"}})],
        False,
    ),
    "denied": ([statement(), statement("Deny", "*")], False),
    "denied for another account": ([statement(), statement("Deny", "*", Condition=of_account("444455556666"))], True),
    "denied without TLS": (
        [statement(), statement("Deny", "*", Condition={"Bool": {"aws:SecureTransport": "false"}})],
        True,
    ),
}


@pytest.mark.parametrize(("statements", "allowed"), POLICIES.values(), ids=POLICIES)
def test_what_is_known_decides(statements: list[dict[str, Any]], *, allowed: bool) -> None:
    """Any value of what is not known is enough, and a Deny wins."""
    document = parse_policy("the policy of the topic", json.dumps({"Statement": statements}))
    assert may_allow(document, REQUEST) is allowed


def test_a_condition_that_cannot_be_read_is_no_answer() -> None:
    """It raises, so that nothing is called good."""
    odd = statement("Deny", "*", Condition={"IpAddress": {"aws:SourceIp": "everywhere"}})
    with pytest.raises(PolicyError):
        may_allow(parse_policy("the policy of the topic", json.dumps({"Statement": [statement(), odd]})), REQUEST)
