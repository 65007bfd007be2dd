"""Resource types of SQS."""

import json

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, Properties, deleting, putting, shortened
from config_rule_sandbox.cloudformation.values import Created


def create_queue(account: Account, name: str, properties: Properties) -> Created:
    """Create a queue; every property is an attribute of the queue."""
    name = properties.pop("QueueName", shortened(name, 80))
    tags = {tag["Key"]: tag["Value"] for tag in properties.pop("Tags", [])}
    url = account.call("sqs", "create_queue", QueueName=name, Attributes=properties, tags=tags)["QueueUrl"]
    found = account.call("sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
    return Created(url, {"Arn": found["QueueArn"], "QueueName": name, "QueueUrl": url})


def put_queue_policy(account: Account, properties: Properties) -> None:
    """Put the policy as it is to be."""
    policy = json.dumps(properties["PolicyDocument"])
    for url in properties["Queues"]:
        account.call("sqs", "set_queue_attributes", QueueUrl=url, Attributes={"Policy": policy})


def delete_queue_policy(account: Account, _physical_id: str, properties: Properties) -> None:
    """Remove the policy of queues."""
    for url in properties["Queues"]:
        account.call("sqs", "set_queue_attributes", QueueUrl=url, Attributes={"Policy": ""})


KINDS = {
    "AWS::SQS::Queue": Kind(create_queue, deleting("sqs", "delete_queue", "QueueUrl")),
    "AWS::SQS::QueuePolicy": putting(put_queue_policy, delete_queue_policy),
}
