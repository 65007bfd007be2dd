"""What CloudFormation needs from whoever deploys a stack: for transforms, for code and templates, and for each resource.

A resource needs what AWS's schema of its type lists for its handlers, which cfn-lint contains:
https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html (handlers). Only what is about the
resource itself counts, in its own service. The lists also have what handlers need for features that a resource may lack,
such as keys of one's own, and names that IAM does not know.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from config_rule_sandbox.iam.policies import Authorization, as_list
from config_rule_sandbox.iam.reference import Action, UnknownActionError, action
from config_rule_sandbox.iam.resources import Place, boundary_key, named, role_arn

Properties = Mapping[str, Any]

CREATE, READ, UPDATE, DELETE = "create", "read", "update", "delete"
OWN_TYPES = {
    "AWS::CloudFormation::StackSet": ("stackset", "StackSetName"),
    "AWS::CloudWatch::Alarm": ("alarm", "AlarmName"),
    "AWS::CloudWatch::Dashboard": ("dashboard", "DashboardName"),
    "AWS::Config::ConfigRule": ("ConfigRule", ""),
    "AWS::Config::ConfigurationAggregator": ("ConfigurationAggregator", ""),
    "AWS::Config::RemediationConfiguration": ("RemediationConfiguration", ""),
    "AWS::DynamoDB::Table": ("table", "TableName"),
    "AWS::EC2::EIP": ("elastic-ip", ""),
    "AWS::EC2::InternetGateway": ("internet-gateway", ""),
    "AWS::EC2::NatGateway": ("natgateway", ""),
    "AWS::EC2::PrefixList": ("prefix-list", ""),
    "AWS::EC2::Route": ("route-table", "RouteTableId"),
    "AWS::EC2::RouteTable": ("route-table", ""),
    "AWS::EC2::Subnet": ("subnet", ""),
    "AWS::EC2::SubnetRouteTableAssociation": ("route-table", "RouteTableId"),
    "AWS::EC2::TransitGateway": ("transit-gateway", ""),
    "AWS::EC2::TransitGatewayAttachment": ("transit-gateway-attachment", ""),
    "AWS::EC2::TransitGatewayRoute": ("transit-gateway-route-table", "TransitGatewayRouteTableId"),
    "AWS::EC2::TransitGatewayRouteTable": ("transit-gateway-route-table", ""),
    "AWS::EC2::TransitGatewayRouteTableAssociation": ("transit-gateway-route-table", "TransitGatewayRouteTableId"),
    "AWS::EC2::TransitGatewayRouteTablePropagation": ("transit-gateway-route-table", "TransitGatewayRouteTableId"),
    "AWS::EC2::TransitGatewayVpcAttachment": ("transit-gateway-attachment", ""),
    "AWS::EC2::VPC": ("vpc", ""),
    "AWS::EC2::VPCEndpoint": ("vpc-endpoint", ""),
    "AWS::EC2::VPCGatewayAttachment": ("vpc", "VpcId"),
    "AWS::Events::EventBus": ("event-bus", "Name"),
    "AWS::Events::EventBusPolicy": ("event-bus", "EventBusName"),
    "AWS::Events::Rule": ("rule-on-default-event-bus", "Name"),
    "AWS::IAM::Role": ("role", "RoleName"),
    "AWS::IAM::RolePolicy": ("role", "RoleName"),
    "AWS::Lambda::EventInvokeConfig": ("function", "FunctionName"),
    "AWS::Lambda::EventSourceMapping": ("eventSourceMapping", ""),
    "AWS::Lambda::Function": ("function", "FunctionName"),
    "AWS::Lambda::Permission": ("function", "FunctionName"),
    "AWS::Logs::LogGroup": ("log-group", "LogGroupName"),
    "AWS::Oam::Link": ("Link", ""),
    "AWS::Oam::Sink": ("Sink", ""),
    "AWS::S3::Bucket": ("bucket", "BucketName"),
    "AWS::S3::BucketPolicy": ("bucket", "Bucket"),
    "AWS::SecurityHub::AutomationRuleV2": ("automation-rulev2", ""),
    "AWS::SNS::Topic": ("topic", "TopicName"),
    "AWS::SNS::TopicPolicy": ("topic", "Topics"),
    "AWS::SQS::Queue": ("queue", "QueueName"),
    "AWS::SQS::QueuePolicy": ("queue", "Queues"),
    "AWS::SSM::Document": ("document", "Name"),
}
"""The type in the Service Authorization Reference of a resource, or of what it belongs to, and the property that names it.

Without a property, AWS makes an ID, which no policy can know.
"""
ONLY_WITH = {
    ("AWS::Events::EventBus", "events:PutPermission"): "Policy",
    ("AWS::Events::EventBus", "events:RemovePermission"): "Policy",
    ("AWS::Logs::LogGroup", "logs:CreateLogDelivery"): "DataProtectionPolicy",
    ("AWS::Logs::LogGroup", "logs:DeleteIndexPolicy"): "FieldIndexPolicies",
    ("AWS::Logs::LogGroup", "logs:DeleteResourcePolicy"): "ResourcePolicyDocument",
    ("AWS::Logs::LogGroup", "logs:PutIndexPolicy"): "FieldIndexPolicies",
    ("AWS::Logs::LogGroup", "logs:PutResourcePolicy"): "ResourcePolicyDocument",
}
"""Actions on no type of resources, and the properties with which alone a resource needs them.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-events-eventbus.html,
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-logs-loggroup.html
"""
ROLES = ("AutomationAssumeRole", "Role", "RoleArn")
"""Properties, and parameters of a runbook, with a role that is passed to a service."""
PASSED_TO = {
    "AWS::Config::RemediationConfiguration": "ssm.amazonaws.com",
    "AWS::Events::Rule": "events.amazonaws.com",
    "AWS::Lambda::Function": "lambda.amazonaws.com",
}
"""The service to which a resource passes its role.

https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_passrole.html
"""
FUNCTION_ARN = "lambda:FunctionArn"
ALARM_ACTIONS = "cloudwatch:AlarmActions"
ACTIONS_OF_ALARMS = ("AlarmActions", "OKActions", "InsufficientDataActions")
"""What one condition key has of an alarm.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/iam-cw-condition-keys-alarm-actions.html
"""
LINKED_ROLE = "aws-service-role/remediation.config.amazonaws.com/AWSServiceRoleForConfigRemediation"
"""https://docs.aws.amazon.com/config/latest/developerguide/using-service-linked-roles.html."""


def of_transforms(names: Iterable[str], place: Place) -> Iterator[Authorization]:
    """Yield what the transforms of a template need, by names such as AWS::Include.

    https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-permissions-cloudformation.html
    """
    for name in names:
        arn = (
            action("cloudformation:CreateChangeSet")
            .types["transform"]
            .arn({**place.values, "TransformName": name.removeprefix("AWS::")})
        )
        yield Authorization("cloudformation:CreateChangeSet", arn)


def of_resource(
    resource_type: str, handlers: tuple[str, ...], name: str, properties: Properties, place: Place
) -> Iterator[Authorization]:
    """Yield what the handlers of a resource need, such as create and read. `name` is its name if no property has one."""
    service = resource_type.split("::")[1].lower()
    kind, _ = OWN_TYPES[resource_type]
    for action_name in sorted(_listed(resource_type, handlers)):
        known = _known(action_name)
        if known is None or not known.name.startswith(f"{service}:") or _keeps_boundary(known.name, properties):
            continue
        if kind in known.types:
            arns = _arns(resource_type, known, name, properties, place)
        else:
            arns = [] if known.types or _is_unused(known.name, resource_type, properties) else ["*"]
        keys = _keys(resource_type, name, properties, place)
        yield from (Authorization(known.name, arn, keys) for arn in arns)
    if CREATE in handlers or UPDATE in handlers:
        yield from _of_other_services(resource_type, properties, place)


def _keeps_boundary(name: str, properties: Properties) -> bool:
    """Return whether an action would only be needed to take a role's permissions boundary away."""
    return name == "iam:DeleteRolePermissionsBoundary" and "PermissionsBoundary" in properties


def _known(name: str) -> Action | None:
    """Return an action of a schema, in whose lists some names have other letter case, or do not exist."""
    try:
        return action(name)
    except UnknownActionError:
        return None


def _is_unused(name: str, resource_type: str, properties: Properties) -> bool:
    """Return whether an action is only for a property that the resource does not have."""
    needed = ONLY_WITH.get((resource_type, name))
    return needed is not None and needed not in properties


def _arns(resource_type: str, known: Action, name: str, properties: Properties, place: Place) -> list[str]:
    """Return the ARNs of a resource, or of what it belongs to."""
    kind, named_by = OWN_TYPES[resource_type]
    found = known.types[kind]
    if not named_by:
        return [found.arn(place.values)]
    names = properties.get(named_by, name)
    if kind == "role":
        return [role_arn(names, properties.get("Path", "/"), place)]
    if resource_type == "AWS::Events::Rule" and "EventBusName" in properties:
        bus = {"EventBusName": properties["EventBusName"], "RuleName": names}
        return named(known.types["rule-on-custom-event-bus"], bus, place)
    return named(found, {found.variables[0]: names}, place)


def _of_other_services(resource_type: str, properties: Properties, place: Place) -> Iterator[Authorization]:
    """Yield what a resource needs for roles that it passes, for a role that AWS Config makes, and for code in S3."""
    to_service = [PASSED_TO[resource_type]] if resource_type in PASSED_TO else []
    for arn in _passed(properties):
        yield Authorization("iam:PassRole", arn, {"iam:PassedToService": to_service})
    if resource_type == "AWS::Config::RemediationConfiguration":
        role = f"arn:{place.values['Partition']}:iam::{place.account_id}:role/{LINKED_ROLE}"
        keys = {"iam:AWSServiceName": ["remediation.config.amazonaws.com"]}
        yield Authorization("iam:CreateServiceLinkedRole", role, keys)
    code = properties.get("Code", {})
    if "S3Bucket" in code:
        yield of_object(code["S3Bucket"], code["S3Key"], place)


def of_object(bucket: str, key: str, place: Place) -> Authorization:
    """Return what reading an object needs: CloudFormation reads templates and code with the permissions of its caller."""
    return Authorization("s3:GetObject", f"arn:{place.values['Partition']}:s3:::{bucket}/{key}")


def _listed(resource_type: str, handlers: tuple[str, ...]) -> set[str]:
    from cfnlint.schema.manager import (  # noqa: PLC0415  # it takes seconds
        PROVIDER_SCHEMA_MANAGER,
    )

    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", resource_type).schema
    found = {name for handler in handlers for name in schema["handlers"].get(handler, {}).get("permissions", ())}
    tagging = schema.get("tagging", {})
    if tagging.get("cloudFormationSystemTags", False) and handlers != (DELETE,):
        found.update(tagging.get("permissions", ()))
    return found


def _keys(resource_type: str, name: str, properties: Properties, place: Place) -> dict[str, list[str]]:
    """Return the condition keys that a resource's own requests bring."""
    if resource_type in ("AWS::IAM::Role", "AWS::IAM::RolePolicy"):
        return boundary_key(properties.get("RoleName", name), properties.get("PermissionsBoundary"), place)
    if resource_type == "AWS::CloudWatch::Alarm":
        return {ALARM_ACTIONS: [arn for name in ACTIONS_OF_ALARMS for arn in properties.get(name, ())]}
    if resource_type != "AWS::Lambda::EventSourceMapping":
        return {}
    function = action("lambda:GetFunction").types["function"]
    return {FUNCTION_ARN: named(function, {"FunctionName": properties["FunctionName"]}, place)}


def _passed(node: Any) -> Iterator[str]:  # noqa: ANN401  # JSON
    """Yield the ARNs of the roles in properties."""
    if isinstance(node, list):
        for item in node:
            yield from _passed(item)
    if isinstance(node, Mapping):
        for name, value in node.items():
            if name in ROLES:
                yield from (text for text in as_list(_values(value)) if isinstance(text, str) and ":role/" in text)
            else:
                yield from _passed(value)


def _values(value: Any) -> Any:  # noqa: ANN401  # JSON
    """Return the values of a parameter of a remediation, or a property as it is."""
    return value.get("StaticValue", {}).get("Values", []) if isinstance(value, Mapping) else value
