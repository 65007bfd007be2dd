"""AWS's Service Authorization Reference decides on which resources a request needs a permission."""

import pytest

from config_rule_sandbox.cloudformation.kinds.all import KINDS
from config_rule_sandbox.cloudformation.permissions import OWN_TYPES
from config_rule_sandbox.http.wire import Request
from config_rule_sandbox.iam.people import create_user
from config_rule_sandbox.iam.reference import UnknownActionError, action, do_overlap, matching
from config_rule_sandbox.iam.requests import READERS, action_of, authorizations, enforced
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox

ACCOUNT, REGION = "123456789012", "us-east-1"


def resources(operation: str, **parameters: object) -> list[str]:
    """Return the ARNs on which a request is authorized."""
    service, _, name = operation.partition(":")
    request = Request(service, name, parameters, ACCOUNT, REGION)
    return [wanted.resource for wanted in authorizations(request, operation)]


@pytest.mark.parametrize(
    ("operation", "parameters", "expected"),
    [
        (
            "config:PutRemediationConfigurations",
            {},
            ["arn:aws:config:us-east-1:123456789012:remediation-configuration/*"],
        ),
        ("events:PutPermission", {"EventBusName": "mine"}, ["*"]),
        ("lambda:CreateEventSourceMapping", {"FunctionName": "mine"}, ["*"]),
        ("lambda:GetFunction", {"FunctionName": "mine"}, ["arn:aws:lambda:us-east-1:123456789012:function:mine"]),
        (
            "lambda:DeleteEventSourceMapping",
            {"UUID": "1"},
            ["arn:aws:lambda:us-east-1:123456789012:event-source-mapping:1"],
        ),
        (
            "cloudformation:CreateStack",
            {"StackName": "mine"},
            ["arn:aws:cloudformation:us-east-1:123456789012:stack/mine/*"],
        ),
        ("cloudformation:DescribeStacks", {}, ["*"]),
        (
            "cloudwatch:DeleteAlarms",
            {"AlarmNames": ["a", "b"]},
            [f"arn:aws:cloudwatch:us-east-1:123456789012:alarm:{name}" for name in "ab"],
        ),
        ("logs:FilterLogEvents", {"logGroupName": "mine"}, ["arn:aws:logs:us-east-1:123456789012:log-group:mine"]),
        ("s3:GetObject", {"Bucket": "mine", "Key": "a/b"}, ["arn:aws:s3:::mine/a/b"]),
        ("s3:ListObjectsV2", {"Bucket": "mine"}, ["arn:aws:s3:::mine"]),
        (
            "sqs:SendMessageBatch",
            {"QueueUrl": "https://sqs/123456789012/mine"},
            ["arn:aws:sqs:us-east-1:123456789012:mine"],
        ),
        ("sns:Publish", {"TopicArn": "arn:aws:sns:eu-west-1:1:mine"}, ["arn:aws:sns:eu-west-1:1:mine"]),
        ("network-firewall:ListFirewalls", {}, ["arn:aws:network-firewall:us-east-1:123456789012:firewall/*"]),
    ],
)
def test_request_is_authorized_on_the_types_of_the_action(
    operation: str, parameters: dict[str, object], expected: list[str]
) -> None:
    """An action without types needs a statement for all resources; what a request does not name is *."""
    assert resources(operation, **parameters) == expected


def test_policy_for_another_type_allows_nothing(sandbox: Sandbox) -> None:
    """AWS does not authorize PutPermission on a bus, so a statement for the bus does not allow it."""
    sandbox.client("events").create_event_bus(Name="mine")
    bus = {"Effect": "Allow", "Action": "events:*", "Resource": "arn:aws:events:*:*:event-bus/mine"}
    every = {"Effect": "Allow", "Action": "events:PutPermission", "Resource": "*"}
    people = {
        name: sandbox.client(
            "events", credentials=create_user(sandbox, name, [{"Version": "2012-10-17", "Statement": found}])
        )
        for name, found in (("ann", [bus]), ("bob", [bus, every]))
    }
    given = {"EventBusName": "mine", "StatementId": "a", "Action": "events:PutEvents", "Principal": "111122223333"}
    with enforced(sandbox):
        assert people["ann"].describe_event_bus(Name="mine")["Name"] == "mine"
        assert refused(people["ann"].put_permission, **given) == "AccessDeniedException"
        people["bob"].put_permission(**given)


def test_actions_have_one_name_in_any_case() -> None:
    """CloudFormation's schemas write some in capitals, and some that do not exist."""
    assert action("EC2:createmanagedprefixlist").name == "ec2:CreateManagedPrefixList"
    assert [*matching("iam:*RolePolicies")] == ["iam:ListAttachedRolePolicies", "iam:ListRolePolicies"]
    with pytest.raises(UnknownActionError, match="s3:PutBucketReplication"):
        action("s3:PutBucketReplication")
    assert action_of("lambda:Invoke") == action("lambda:InvokeFunction").name


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("arn:aws:events:*:*:rule/a-*", "arn:*:events:*:*:rule/*/*", True),
        ("arn:aws:config:*:*:config-rule/*", "arn:*:config:*:*:remediation-configuration/*", False),
        ("arn:aws:s3:::b", "arn:*:s3:::*/*", False),
        ("arn:aws:ssm:*:*:document/?", "arn:*:ssm:*:*:document/ab*", False),
        ("arn:aws:iam::*:role/*a", "arn:*:iam::1:role/b*", True),
        ("*", "arn:*:iam::*:role/*", False),
    ],
)
def test_patterns_of_arns_overlap(first: str, second: str, *, expected: bool) -> None:
    """Two patterns overlap if there is an ARN that fits both. A wildcard does not reach into another part."""
    assert do_overlap(first, second) is expected
    assert do_overlap(second, first) is expected


def test_every_reader_and_every_type_of_stacks_is_in_the_reference() -> None:
    """Their actions and resource types exist."""
    assert [action(action_of(name)).name for name in READERS]
    assert KINDS.keys() <= OWN_TYPES.keys()
