"""Check whether requests reach the approvers of heals."""

import shlex
from dataclasses import dataclass

from express_path_cli.installation.answers import Answer, count_text, fail, ok, warn

_SNS_KEY = "alias/aws/sns"


@dataclass(frozen=True, slots=True)
class Topic:
    """The topic that notifies the approvers: its confirmed subscriptions, and its KMS key or an empty text."""

    subscriptions: int
    key: str = ""


def check_approval(arn: str, topic: Topic | None, approvers: str, key: str) -> Answer:
    """Return whether a request reaches somebody who may approve it. `topic` is None if it does not exist.

    `approvers` and `key` are the stack's parameters Approvers and ApprovalTopicKeyArn.
    """
    names = [name for name in approvers.split(",") if name]
    if not names:
        return fail("nobody may approve a heal", "deploy the stack with Approvers")
    if topic is None:
        return fail(
            f"topic {arn or '(none)'} does not exist: nobody is notified", "deploy the stack with ApprovalTopicArn"
        )
    if topic.key and not topic.key.endswith(_SNS_KEY) and not key:
        return fail(
            f"topic {arn} is encrypted with {topic.key}, which the runbooks may not use: no request is sent",
            "deploy the stack with the ARN of that key as ApprovalTopicKeyArn",
        )
    if not topic.subscriptions:
        return warn(
            f"topic {arn} has no confirmed subscription: approvers must find requests in Systems Manager",
            "subscribe the approvers",
            f"aws sns subscribe --topic-arn {shlex.quote(arn)} --protocol email --notification-endpoint ADDRESS",
        )
    return ok(f"{count_text(len(names), 'approver')}, notified through {arn}")
