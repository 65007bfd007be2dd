"""Resource types of SNS."""

import json

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, Properties, deleting, putting
from config_rule_sandbox.cloudformation.values import Created


def create_topic(account: Account, name: str, properties: Properties) -> Created:
    """Create a topic."""
    arn = account.call("sns", "create_topic", Name=properties.get("TopicName", name))["TopicArn"]
    return Created(arn, {"TopicArn": arn})


def put_topic_policy(account: Account, properties: Properties) -> None:
    """Put the policy of topics as it is to be."""
    policy = json.dumps(properties["PolicyDocument"])
    for arn in properties["Topics"]:
        account.call("sns", "set_topic_attributes", TopicArn=arn, AttributeName="Policy", AttributeValue=policy)


def keep_topic_policy(_account: Account, _physical_id: str, _properties: Properties) -> None:
    """Leave the policy: here, a stack deletes the topic, too."""


KINDS = {
    "AWS::SNS::Topic": Kind(create_topic, deleting("sns", "delete_topic", "TopicArn")),
    "AWS::SNS::TopicPolicy": putting(put_topic_policy, keep_topic_policy),
}
