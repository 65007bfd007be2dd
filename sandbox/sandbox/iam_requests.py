"""What each request is authorized on: its resources, and the condition keys that the service gives for each of them.

After AWS's Service Authorization Reference, page by page of the services that are named here:
https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html.
Any other request is authorized on the resource that moto names, or on `*`, which only a statement for all resources
allows.
"""

from collections.abc import Callable, Iterator, Mapping

from sandbox.dynamodb.authorization import authorizations as of_dynamodb
from sandbox.ec2.authorization import READERS as OF_EC2
from sandbox.iam_policies import Authorization
from sandbox.security_hub.authorization import READERS as OF_SECURITY_HUB
from sandbox.wire import Request

Reader = Callable[[Request], Iterator[Authorization]]

DIRECTORY_BUCKETS = "s3express:"
"""How actions on directory buckets begin; moto takes it from the name that their requests are signed for.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3express.html
"""

METRICS = "monitoring:"
"""How moto begins actions on CloudWatch, after the name that their requests are signed for; IAM has cloudwatch.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudwatch.html
"""

AUTOMATION_ROLE = "AutomationAssumeRole"
"""The parameter of a runbook whose value becomes its role, by convention, and is what the caller passes."""


def authorizations(request: Request, action: str, resource: str) -> list[Authorization]:
    """Return all that a request needs; `action` and `resource` are what moto would check policies for."""
    if action.startswith(DIRECTORY_BUCKETS):
        bucket = request.parameters.get("Bucket")
        return [Authorization(action, request.arn("s3express", f"bucket/{bucket}") if bucket else "*")]
    if request.service == "dynamodb":
        return list(of_dynamodb(request))
    reader = READERS.get(request.action)
    action = action.replace(METRICS, "cloudwatch:")
    return list(reader(request)) if reader else [Authorization(action, resource)]


def _start_automation(request: Request) -> Iterator[Authorization]:
    """Yield what starting a runbook needs; the caller passes the role (https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-setup.html)."""
    name = request.parameters["DocumentName"].rpartition("document/")[2]
    yield Authorization(request.action, request.arn("ssm", f"document/{name}"))
    yield Authorization(request.action, request.arn("ssm", "automation-execution/*"))
    for role in request.parameters.get("Parameters", {}).get(AUTOMATION_ROLE, []):
        yield Authorization("iam:PassRole", role, {"iam:PassedToService": ["ssm.amazonaws.com"]})


def _calendars(request: Request) -> Iterator[Authorization]:
    for name in request.parameters["CalendarNames"]:
        yield Authorization(request.action, name if ":" in name else request.arn("ssm", f"document/{name}"))


def _firewalls(request: Request) -> Iterator[Authorization]:
    """Yield the firewall that is named, or all of the account's (https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsnetworkfirewall.html)."""
    name = request.parameters.get("FirewallName", "*")
    yield Authorization(
        request.action, request.parameters.get("FirewallArn") or request.arn("network-firewall", f"firewall/{name}")
    )


def _event_buses(request: Request) -> Iterator[Authorization]:
    for entry in request.parameters["Entries"]:
        name = entry.get("EventBusName", "default")
        bus = name if ":" in name else request.arn("events", f"event-bus/{name}")
        yield Authorization(request.action, bus, {"events:source": [entry["Source"]]})


def _queue_of_batch(request: Request) -> Iterator[Authorization]:
    """Yield the permission for a batch, which is that for single messages.

    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-batch-api-actions.html
    """
    name = request.parameters["QueueUrl"].rpartition("/")[2]
    yield Authorization(request.action.removesuffix("Batch"), request.arn("sqs", name))


def _named(parameter: str, service: str, prefix: str) -> Reader:
    """Return a reader for requests about one resource, which a parameter names, under a prefix in its ARN."""

    def read(request: Request) -> Iterator[Authorization]:
        name = prefix + str(request.parameters[parameter]).lstrip("/")
        yield Authorization(request.action, request.arn(service, name))

    return read


def _with_arn(parameter: str) -> Reader:
    """Return a reader for requests that give the ARN of their one resource."""
    return lambda request: iter([Authorization(request.action, request.parameters[parameter])])


READERS: Mapping[str, Reader] = {
    **OF_EC2,
    **OF_SECURITY_HUB,
    "config:GetComplianceDetailsByConfigRule": _named("ConfigRuleName", "config", "config-rule/"),
    "ec2:DescribeVpcAttribute": _named("VpcId", "ec2", "vpc/"),
    "ec2:SearchTransitGatewayRoutes": _named("TransitGatewayRouteTableId", "ec2", "transit-gateway-route-table/"),
    "events:PutEvents": _event_buses,
    "network-firewall:DescribeFirewall": _firewalls,
    "network-firewall:DescribeVpcEndpointAssociation": _with_arn("VpcEndpointAssociationArn"),
    "network-firewall:ListFirewalls": _firewalls,
    "sns:Publish": _with_arn("TopicArn"),
    "sqs:SendMessageBatch": _queue_of_batch,
    "ssm:DescribeAutomationStepExecutions": _named("AutomationExecutionId", "ssm", "automation-execution/"),
    "ssm:GetAutomationExecution": _named("AutomationExecutionId", "ssm", "automation-execution/"),
    "ssm:GetCalendarState": _calendars,
    "ssm:GetParameter": _named("Name", "ssm", "parameter/"),
    "ssm:StartAutomationExecution": _start_automation,
    "sts:AssumeRole": _with_arn("RoleArn"),
}
