"""The resource types that stacks can create, and the calls that create, update, and delete each.

The properties of a type are listed at https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sandbox.cloudformation import config, functions, identity, messages, storage
from sandbox.cloudformation.account import Account
from sandbox.cloudformation.values import Created

Properties = dict[str, Any]
Create = Callable[[Account, str, Properties], Created]
"""Create a resource. The text is a name for it if its properties have none."""

Delete = Callable[[Account, str, Properties], None]
"""Delete the resource with a physical ID."""

Update = Callable[[Account, str, Properties, Properties], None]
"""Update the resource with a physical ID from its earlier properties to its new ones."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A resource type. Without `update`, it can only be created, replaced, and deleted here."""

    create: Create
    delete: Delete
    update: Update | None = None


KINDS = {
    "AWS::CloudWatch::Alarm": Kind(messages.create_alarm, messages.delete_alarm, messages.update_alarm),
    "AWS::Config::ConfigRule": Kind(config.create_rule, config.delete_rule, config.update_rule),
    "AWS::Config::RemediationConfiguration": Kind(
        config.create_remediation, config.delete_remediation, config.update_remediation
    ),
    "AWS::DynamoDB::Table": Kind(storage.create_table, storage.delete_table, storage.update_table),
    "AWS::Events::EventBus": Kind(messages.create_event_bus, messages.delete_event_bus),
    "AWS::Events::EventBusPolicy": Kind(
        messages.create_event_bus_policy, messages.delete_event_bus_policy, messages.update_event_bus_policy
    ),
    "AWS::Events::Rule": Kind(messages.create_event_rule, messages.delete_event_rule, messages.update_event_rule),
    "AWS::IAM::Role": Kind(identity.create_role, identity.delete_role, identity.update_role),
    "AWS::IAM::RolePolicy": Kind(identity.create_role_policy, identity.delete_role_policy, identity.update_role_policy),
    "AWS::Lambda::EventInvokeConfig": Kind(
        functions.create_invoke_config, functions.delete_invoke_config, functions.update_invoke_config
    ),
    "AWS::Lambda::EventSourceMapping": Kind(functions.create_mapping, functions.delete_mapping),
    "AWS::Lambda::Function": Kind(functions.create_function, functions.delete_function, functions.update_function),
    "AWS::Lambda::Permission": Kind(functions.create_permission, functions.delete_permission),
    "AWS::Logs::LogGroup": Kind(messages.create_log_group, messages.delete_log_group, messages.update_log_group),
    "AWS::S3::Bucket": Kind(storage.create_bucket, storage.delete_bucket),
    "AWS::S3::BucketPolicy": Kind(
        storage.create_bucket_policy, storage.delete_bucket_policy, storage.update_bucket_policy
    ),
    "AWS::SQS::Queue": Kind(messages.create_queue, messages.delete_queue, messages.update_queue),
    "AWS::SQS::QueuePolicy": Kind(
        messages.create_queue_policy, messages.delete_queue_policy, messages.update_queue_policy
    ),
    "AWS::SSM::Document": Kind(storage.create_document, storage.delete_document, storage.update_document),
}
