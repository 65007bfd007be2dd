"""Whether the approvers of heals can be asked."""

from typing import NamedTuple

from express_path_cli.doctor.answers import Answer, fail, ok, some, warn

_OF_SNS = "alias/aws/sns"


class Topic(NamedTuple):
    """The topic that tells the approvers: how many subscriptions are confirmed, and its KMS key, empty for none."""

    subscriptions: int
    key: str = ""


def judge_approval(arn: str, topic: Topic | None, approvers: str, key_arn: str) -> Answer:
    """Whether a request reaches somebody who may answer; topic is None where there is none of that ARN.

    approvers and key_arn are the stack's parameters Approvers and ApprovalTopicKeyArn.
    """
    names = [each for each in approvers.split(",") if each]
    if not names:
        return fail("nobody may approve a heal", "deploy the stack with Approvers")
    if topic is None:
        return fail(
            f"topic {arn or '(none)'} does not exist: nobody is asked", "deploy the stack with ApprovalTopicArn"
        )
    if topic.key and not topic.key.endswith(_OF_SNS) and not key_arn:
        return fail(
            f"topic {arn} is encrypted with {topic.key}, which the runbooks may not use: no request is sent",
            "deploy the stack with the ARN of that key as ApprovalTopicKeyArn",
        )
    if not topic.subscriptions:
        return warn(
            f"nobody is subscribed to topic {arn}: approvers must find requests in Systems Manager",
            "subscribe the approvers",
            f"aws sns subscribe --topic-arn {arn} --protocol email --notification-endpoint ADDRESS",
        )
    return ok(f"{some(len(names), 'approver')}, told through {arn}")
