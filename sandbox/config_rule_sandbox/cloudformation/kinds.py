"""The resource types that stacks can create, and the calls that create and delete each."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from moto.config.models import config_backends
from moto.sqs.models import sqs_backends

from config_rule_sandbox import remediation
from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.values import Created
from config_rule_sandbox.remediation import remediations_of

# --- kinds ---------------------------------------------------------------------------------------------------------
#
# A resource type is what creates, updates, and deletes its resources.
#
# The properties of a type are listed at https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/.


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


def putting(put: Callable[[Account, Properties], None], delete: Delete, named_by: str = "") -> Kind:
    """Return a type that one call creates and updates. A property is the physical ID, or else the name."""

    def create(account: Account, name: str, properties: Properties) -> Created:
        put(account, properties)
        return Created(properties[named_by] if named_by else name)

    def update(account: Account, _physical_id: str, _earlier: Properties, properties: Properties) -> None:
        put(account, properties)

    return Kind(create, delete, update)


def deleting(service: str, operation: str, parameter: str) -> Delete:
    """Return what deletes a resource by one call, whose parameter is the physical ID."""

    def delete(account: Account, physical_id: str, _properties: Properties) -> None:
        account.call(service, operation, **{parameter: physical_id})

    return delete


# --- AWS Config ----------------------------------------------------------------------------------------------------
#
# Rules of AWS Config and their remediation.


class AlreadyExistsError(Exception):
    """A resource of that name exists, and was not created by this stack.

    PutConfigRule would update it, but a resource handler must not take over what it did not create:
    https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract-errors.html.
    """


def create_rule(account: Account, name: str, properties: Properties) -> Created:
    """Create a rule. AlreadyExistsError if there is one of that name; ClientError without a recorder."""
    name = properties.get("ConfigRuleName", name)
    if name in config_backends[account.account_id][account.region].config_rules:
        raise AlreadyExistsError(f"Resource of type 'AWS::Config::ConfigRule' with identifier '{name}' already exists.")
    update_rule(account, name, {}, properties)
    [known] = account.call("config", "describe_config_rules", ConfigRuleNames=[name])["ConfigRules"]
    return Created(name, {"Arn": known["ConfigRuleArn"], "ConfigRuleId": known["ConfigRuleId"]})


def update_rule(account: Account, physical_id: str, _earlier: Properties, properties: Properties) -> None:
    """Put the rule as it is to be. Its results remain."""
    inputs = properties.get("InputParameters", {})
    rule = properties | {"ConfigRuleName": physical_id, "InputParameters": json.dumps(inputs)}
    account.call("config", "put_config_rule", ConfigRule=rule)


def put_remediation(account: Account, properties: Properties) -> None:
    """Put the remediation as it is to be; texts become the numbers and booleans of the API."""
    controls = properties["ExecutionControls"]["SsmControls"]
    numbers = {name: int(properties[name]) for name in ("MaximumAutomaticAttempts", "RetryAttemptSeconds")}
    configuration = {
        **properties,
        **numbers,
        "ExecutionControls": {"SsmControls": {name: int(value) for name, value in controls.items()}},
    }
    backend = config_backends[account.account_id][account.region]
    memory = remediations_of(account.account_id, account.region)
    remediation.put_configurations(backend, memory, {"RemediationConfigurations": [configuration]})


def delete_remediation(account: Account, physical_id: str, _properties: Properties) -> None:
    """Remove the remediation of a rule."""
    backend = config_backends[account.account_id][account.region]
    remediation.delete_configuration(
        backend, remediations_of(account.account_id, account.region), {"ConfigRuleName": physical_id}
    )


# --- functions -----------------------------------------------------------------------------------------------------
#
# Lambda functions, what may invoke them, and what becomes of their events.


UNQUALIFIED = "$LATEST"


def create_function(account: Account, name: str, properties: Properties) -> Created:
    """Create a function from code in a bucket."""
    name = properties.pop("FunctionName", name[-64:])
    tags = {tag["Key"]: tag["Value"] for tag in properties.pop("Tags", [])}
    made = account.call("lambda", "create_function", FunctionName=name, Tags=tags, **properties)
    return Created(name, {"Arn": made["FunctionArn"]})


def update_function(account: Account, physical_id: str, earlier: Properties, properties: Properties) -> None:
    """Update the code and the settings of a function."""
    if properties["Code"] != earlier["Code"]:
        account.call("lambda", "update_function_code", FunctionName=physical_id, **properties["Code"])
    kept_apart = ("Architectures", "Code", "FunctionName", "Tags")
    settings = {name: value for name, value in properties.items() if name not in kept_apart}
    account.call("lambda", "update_function_configuration", FunctionName=physical_id, **settings)


def create_permission(account: Account, name: str, properties: Properties) -> Created:
    """Let a service invoke a function."""
    account.call("lambda", "add_permission", StatementId=name, **properties)
    return Created(name)


def delete_permission(account: Account, physical_id: str, properties: Properties) -> None:
    """Revoke a permission."""
    function = properties["FunctionName"]
    account.call("lambda", "remove_permission", FunctionName=function, StatementId=physical_id)


def create_invoke_config(account: Account, name: str, properties: Properties) -> Created:
    """Set retries of asynchronous invocations, and where failed events go."""
    account.call("lambda", "put_function_event_invoke_config", **_invoke_settings(properties))
    return Created(name)


def _invoke_settings(properties: Properties) -> Properties:
    return {key: value for key, value in properties.items() if (key, value) != ("Qualifier", UNQUALIFIED)}


def delete_invoke_config(account: Account, _physical_id: str, properties: Properties) -> None:
    """Return to the defaults."""
    account.call("lambda", "delete_function_event_invoke_config", FunctionName=properties["FunctionName"])


def create_mapping(account: Account, _name: str, properties: Properties) -> Created:
    """Let a queue invoke a function. moto would do so in a container when a message is sent; here, a test polls."""
    tags = {tag["Key"]: tag["Value"] for tag in properties.pop("Tags", [])}
    made = account.call("lambda", "create_event_source_mapping", **properties, **({"Tags": tags} if tags else {}))
    for queue in sqs_backends[account.account_id][account.region].queues.values():
        queue.lambda_event_source_mappings.clear()
    return Created(made["UUID"], {"Id": made["UUID"]})


# --- roles ---------------------------------------------------------------------------------------------------------
#
# Roles and their policies. IAM has no Regions, so the name of a role differs in each Region's stack.


LONGEST_NAME = 64


def create_role(account: Account, name: str, properties: Properties) -> Created:
    """Create a role with its inline policies."""
    name = properties.pop("RoleName", name[-LONGEST_NAME:])
    policies = properties.pop("Policies", [])
    made = account.call("iam", "create_role", RoleName=name, **properties)["Role"]
    for policy in policies:
        account.call("iam", "put_role_policy", RoleName=name, **policy)
    return Created(name, {"Arn": made["Arn"], "RoleId": made["RoleId"]})


def delete_role(account: Account, physical_id: str, properties: Properties) -> None:
    """Delete a role after its policies."""
    for policy in properties.get("Policies", []):
        account.call("iam", "delete_role_policy", RoleName=physical_id, PolicyName=policy["PolicyName"])
    account.call("iam", "delete_role", RoleName=physical_id)


def put_role_policy(account: Account, properties: Properties) -> None:
    """Put the policy as it is to be."""
    account.call("iam", "put_role_policy", **properties)


def delete_role_policy(account: Account, physical_id: str, properties: Properties) -> None:
    """Remove an inline policy from a role."""
    account.call("iam", "delete_role_policy", RoleName=properties["RoleName"], PolicyName=physical_id)


# --- queues, events, logs, alarms ----------------------------------------------------------------------------------
#
# Queues, events, logs, and alarms.


def create_queue(account: Account, name: str, properties: Properties) -> Created:
    """Create a queue; every property is an attribute of the queue."""
    name = properties.pop("QueueName", name[-80:])
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


def create_event_bus(account: Account, _name: str, properties: Properties) -> Created:
    """Create an event bus."""
    arn = account.call("events", "create_event_bus", **properties)["EventBusArn"]
    return Created(properties["Name"], {"Arn": arn, "Name": properties["Name"]})


def put_event_bus_policy(account: Account, properties: Properties) -> None:
    """Put the statement as it is to be."""
    statement = {"Sid": properties["StatementId"], **properties["Statement"]}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    account.call("events", "put_permission", Policy=policy, **_bus(properties))


def delete_event_bus_policy(account: Account, _physical_id: str, properties: Properties) -> None:
    """Remove a statement from the policy of an event bus."""
    account.call("events", "remove_permission", StatementId=properties["StatementId"], **_bus(properties))


def create_event_rule(account: Account, name: str, properties: Properties) -> Created:
    """Create a rule of EventBridge with its targets."""
    name = properties.pop("Name", name[-64:])
    targets = properties.pop("Targets", [])
    arn = account.call("events", "put_rule", Name=name, **properties)["RuleArn"]
    account.call("events", "put_targets", Rule=name, Targets=targets, **_bus(properties))
    return Created(name, {"Arn": arn})


def delete_event_rule(account: Account, physical_id: str, properties: Properties) -> None:
    """Delete a rule of EventBridge after its targets."""
    ids = [target["Id"] for target in properties.get("Targets", [])]
    account.call("events", "remove_targets", Rule=physical_id, Ids=ids, **_bus(properties))
    account.call("events", "delete_rule", Name=physical_id, **_bus(properties))


def _bus(properties: Properties) -> dict[str, str]:
    return {"EventBusName": properties["EventBusName"]} if "EventBusName" in properties else {}


def create_log_group(account: Account, name: str, properties: Properties) -> Created:
    """Create a log group."""
    name = properties.get("LogGroupName", name)
    account.call("logs", "create_log_group", logGroupName=name)
    if "RetentionInDays" in properties:
        update_log_group(account, name, {}, properties)
    return Created(name, {"Arn": f"arn:aws:logs:{account.region}:{account.account_id}:log-group:{name}:*"})


def update_log_group(account: Account, physical_id: str, _earlier: Properties, properties: Properties) -> None:
    """Set for how long a log group keeps its events."""
    days = properties["RetentionInDays"]
    account.call("logs", "put_retention_policy", logGroupName=physical_id, retentionInDays=days)


def create_alarm(account: Account, name: str, properties: Properties) -> Created:
    """Create an alarm."""
    name = properties.get("AlarmName", name)
    update_alarm(account, name, {}, properties)
    return Created(name, {"Arn": f"arn:aws:cloudwatch:{account.region}:{account.account_id}:alarm:{name}"})


def delete_alarm(account: Account, physical_id: str, _properties: Properties) -> None:
    """Delete an alarm."""
    account.call("cloudwatch", "delete_alarms", AlarmNames=[physical_id])


def update_alarm(account: Account, physical_id: str, _earlier: Properties, properties: Properties) -> None:
    """Put the alarm as it is to be."""
    account.call("cloudwatch", "put_metric_alarm", **{**properties, "AlarmName": physical_id})


# --- tables, buckets, documents ------------------------------------------------------------------------------------
#
# Tables, buckets, and documents.


NO_CONSTRAINT = "us-east-1"
"""The Region that CreateBucket does not accept: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html."""


def create_table(account: Account, name: str, properties: Properties) -> Created:
    """Create a table with its resource policy and its recovery to a point in time."""
    name = properties.pop("TableName", name)
    recovery = properties.pop("PointInTimeRecoverySpecification", None)
    encryption = properties.pop("SSESpecification", {})
    policy = properties.pop("ResourcePolicy", None)
    made = account.call(
        "dynamodb",
        "create_table",
        TableName=name,
        **properties,
        **({"SSESpecification": {"Enabled": encryption["SSEEnabled"]}} if encryption else {}),
        **({"ResourcePolicy": json.dumps(policy["PolicyDocument"])} if policy else {}),
    )["TableDescription"]
    if recovery:
        account.call("dynamodb", "update_continuous_backups", TableName=name, PointInTimeRecoverySpecification=recovery)
    return Created(name, {"Arn": made["TableArn"]})


def create_bucket(account: Account, name: str, properties: Properties) -> Created:
    """Create a bucket in the stack's Region, with encryption, versions, and blocked public access."""
    name = properties.get("BucketName", name.lower())
    where = {} if account.region == NO_CONSTRAINT else {"LocationConstraint": account.region}
    account.call("s3", "create_bucket", Bucket=name, **({"CreateBucketConfiguration": where} if where else {}))
    if blocked := properties.get("PublicAccessBlockConfiguration"):
        account.call("s3", "put_public_access_block", Bucket=name, PublicAccessBlockConfiguration=blocked)
    if versions := properties.get("VersioningConfiguration"):
        account.call("s3", "put_bucket_versioning", Bucket=name, VersioningConfiguration=versions)
    if encryption := properties.get("BucketEncryption"):
        rules = [
            {"ApplyServerSideEncryptionByDefault": rule["ServerSideEncryptionByDefault"]}
            for rule in encryption["ServerSideEncryptionConfiguration"]
        ]
        configuration = {"Rules": rules}
        account.call("s3", "put_bucket_encryption", Bucket=name, ServerSideEncryptionConfiguration=configuration)
    return Created(name, {"Arn": f"arn:aws:s3:::{name}"})


def put_bucket_policy(account: Account, properties: Properties) -> None:
    """Put the policy as it is to be."""
    policy = json.dumps(properties["PolicyDocument"])
    account.call("s3", "put_bucket_policy", Bucket=properties["Bucket"], Policy=policy)


def delete_bucket_policy(account: Account, _physical_id: str, properties: Properties) -> None:
    """Remove the policy of a bucket."""
    account.call("s3", "delete_bucket_policy", Bucket=properties["Bucket"])


def create_document(account: Account, name: str, properties: Properties) -> Created:
    """Create a document of Systems Manager. ClientError (DocumentAlreadyExists) if its name is taken."""
    name = properties.pop("Name", name)
    properties.pop("UpdateMethod", None)  # how CloudFormation itself updates the document
    account.call("ssm", "create_document", Name=name, **{"DocumentFormat": "JSON", **properties})
    return Created(name)


# --- networks, topics, aggregators ---------------------------------------------------------------------------------
#
# Types whose properties are the parameters of the call that creates them.


def calling(service: str, create: str, key: str, delete: str = "") -> Kind:
    """Return a type with the calls that create and delete a resource, and the key of its ID in their parameters.

    Without a key, the name is the ID. Without `delete`, the resource goes with another one.
    """

    def make(account: Account, name: str, properties: Properties) -> Created:
        tags = properties.pop("Tags", [])
        made = account.call(service, create, **properties)
        found = [made, *(value for value in made.values() if isinstance(value, dict))]
        physical_id = next((one[key] for one in found if key in one), properties.get(key, name))
        if tags:
            account.call(service, "create_tags", Resources=[physical_id], Tags=tags)
        return Created(physical_id, {key: physical_id})

    def remove(account: Account, physical_id: str, properties: Properties) -> None:
        if delete:
            account.call(service, delete, **({key: physical_id} if key else properties))

    return Kind(make, remove)


def create_topic(account: Account, _name: str, properties: Properties) -> Created:
    """Create a topic."""
    return Created(account.call("sns", "create_topic", Name=properties["TopicName"])["TopicArn"])


# --- all kinds -----------------------------------------------------------------------------------------------------


KINDS = {
    "AWS::CloudWatch::Alarm": Kind(create_alarm, delete_alarm, update_alarm),
    "AWS::Config::ConfigurationAggregator": calling(
        "config",
        "put_configuration_aggregator",
        "ConfigurationAggregatorName",
        "delete_configuration_aggregator",
    ),
    "AWS::Config::ConfigRule": Kind(
        create_rule, deleting("config", "delete_config_rule", "ConfigRuleName"), update_rule
    ),
    "AWS::Config::RemediationConfiguration": putting(put_remediation, delete_remediation, "ConfigRuleName"),
    "AWS::DynamoDB::Table": Kind(create_table, deleting("dynamodb", "delete_table", "TableName")),
    "AWS::EC2::EIP": calling("ec2", "allocate_address", "AllocationId", "release_address"),
    "AWS::EC2::InternetGateway": calling(
        "ec2", "create_internet_gateway", "InternetGatewayId", "delete_internet_gateway"
    ),
    "AWS::EC2::NatGateway": calling("ec2", "create_nat_gateway", "NatGatewayId", "delete_nat_gateway"),
    "AWS::EC2::PrefixList": calling("ec2", "create_managed_prefix_list", "PrefixListId", "delete_managed_prefix_list"),
    "AWS::EC2::Route": calling("ec2", "create_route", ""),
    "AWS::EC2::RouteTable": calling("ec2", "create_route_table", "RouteTableId", "delete_route_table"),
    "AWS::EC2::Subnet": calling("ec2", "create_subnet", "SubnetId", "delete_subnet"),
    "AWS::EC2::SubnetRouteTableAssociation": calling(
        "ec2", "associate_route_table", "AssociationId", "disassociate_route_table"
    ),
    "AWS::EC2::VPC": calling("ec2", "create_vpc", "VpcId", "delete_vpc"),
    "AWS::EC2::VPCGatewayAttachment": calling("ec2", "attach_internet_gateway", "", "detach_internet_gateway"),
    "AWS::Events::EventBus": Kind(create_event_bus, deleting("events", "delete_event_bus", "Name")),
    "AWS::Events::EventBusPolicy": putting(put_event_bus_policy, delete_event_bus_policy),
    "AWS::Events::Rule": Kind(create_event_rule, delete_event_rule),
    "AWS::IAM::Role": Kind(create_role, delete_role),
    "AWS::IAM::RolePolicy": putting(put_role_policy, delete_role_policy, "PolicyName"),
    "AWS::Lambda::EventInvokeConfig": Kind(create_invoke_config, delete_invoke_config),
    "AWS::Lambda::EventSourceMapping": Kind(create_mapping, deleting("lambda", "delete_event_source_mapping", "UUID")),
    "AWS::Lambda::Function": Kind(
        create_function, deleting("lambda", "delete_function", "FunctionName"), update_function
    ),
    "AWS::Lambda::Permission": Kind(create_permission, delete_permission),
    "AWS::Logs::LogGroup": Kind(
        create_log_group, deleting("logs", "delete_log_group", "logGroupName"), update_log_group
    ),
    "AWS::S3::Bucket": Kind(create_bucket, deleting("s3", "delete_bucket", "Bucket")),
    "AWS::S3::BucketPolicy": putting(put_bucket_policy, delete_bucket_policy),
    "AWS::SNS::Topic": Kind(create_topic, deleting("sns", "delete_topic", "TopicArn")),
    "AWS::SQS::Queue": Kind(create_queue, deleting("sqs", "delete_queue", "QueueUrl")),
    "AWS::SQS::QueuePolicy": putting(put_queue_policy, delete_queue_policy),
    "AWS::SSM::Document": Kind(create_document, deleting("ssm", "delete_document", "Name")),
}
