"""Resource types of SNS."""

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, Properties, deleting
from config_rule_sandbox.cloudformation.values import Created


def create_topic(account: Account, name: str, properties: Properties) -> Created:
    """Create a topic."""
    return Created(account.call("sns", "create_topic", Name=properties.get("TopicName", name))["TopicArn"])


KINDS = {
    "AWS::SNS::Topic": Kind(create_topic, deleting("sns", "delete_topic", "TopicArn")),
}
