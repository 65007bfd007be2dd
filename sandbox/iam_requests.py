"""What each request is authorized on: its resources, and the condition keys that the service gives for each of them.

After AWS's Service Authorization Reference, page by page of the services that are named here:
https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html.
Any other request is authorized on the resource that moto names, or on `*`, which only a statement for all resources
allows.
"""

import json
from collections.abc import Callable, Iterator, Mapping

from moto.ec2.models import ec2_backends
from moto.utilities.utils import get_partition

from sandbox.dynamic import Moto
from sandbox.dynamodb.authorization import authorizations as of_dynamodb
from sandbox.iam_policies import Authorization, as_list
from sandbox.wire import Request

Keys = dict[str, list[str]]
Reader = Callable[[Request], Iterator[Authorization]]

EC2_TYPES = {
    "igw": "internet-gateway",
    "nat": "natgateway",
    "pl": "prefix-list",
    "rtb": "route-table",
    "sg": "security-group",
    "subnet": "subnet",
    "vpc": "vpc",
    "vpce": "vpc-endpoint",
}
"""Types of resources in ARNs, by the prefixes of their ids."""

ENDPOINT_LISTS = ("RouteTableIds", "SubnetIds", "SecurityGroupIds")
"""Members of CreateVpcEndpoint that name further resources; ModifyVpcEndpoint puts Add or Remove before each."""

ENDPOINT_ATTRIBUTES = (
    "AddSecurityGroupIds",
    "AddSubnetIds",
    "DnsOptions",
    "IpAddressType",
    "PolicyDocument",
    "PrivateDnsEnabled",
    "RemoveSecurityGroupIds",
    "RemoveSubnetIds",
    "ResetPolicy",
    "SubnetConfigurations",
)
"""Parameters of ModifyVpcEndpoint that come with a condition key ec2:Attribute/<parameter>.

Route tables are resources of the request instead:
https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
"""

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
    """Return all that a request needs; `action` and `resource` are what moto would ask policies about."""
    if action.startswith(DIRECTORY_BUCKETS):
        bucket = request.parameters.get("Bucket")
        return [Authorization(action, arn(request, "s3express", f"bucket/{bucket}") if bucket else "*")]
    if request.service == "dynamodb":
        return list(of_dynamodb(request))
    reader = READERS.get(f"{request.service}:{request.operation}")
    action = action.replace(METRICS, "cloudwatch:")
    return list(reader(request)) if reader else [Authorization(action, resource)]


def arn(request: Request, service: str, name: str, account_id: str | None = None) -> str:
    """Return the ARN of a resource in the Region of a request, and in its account unless another is named."""
    return f"arn:{get_partition(request.region)}:{service}:{request.region}:{account_id or request.account_id}:{name}"


# --- EC2: https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html ----------------------


def _create_vpc_endpoint(request: Request) -> Iterator[Authorization]:
    given = request.parameters
    tags = {tag["Key"]: tag["Value"] for each in given.get("TagSpecifications", []) for tag in each.get("Tags", [])}
    asked = {f"aws:RequestTag/{key}": [value] for key, value in tags.items()} | {"aws:TagKeys": list(tags)}
    any_endpoint = arn(request, "ec2", "vpc-endpoint/*")
    yield _on(request, given["VpcId"], {"ec2:VpcID": [given["VpcId"]]})
    yield Authorization("ec2:CreateVpcEndpoint", any_endpoint, asked | {"ec2:VpceServiceName": [given["ServiceName"]]})
    yield from (_on(request, each) for name in ENDPOINT_LISTS for each in given.get(name, []))
    if tags:
        yield Authorization("ec2:CreateTags", any_endpoint, asked | {"ec2:CreateAction": ["CreateVpcEndpoint"]})


def _modify_vpc_endpoint(request: Request) -> Iterator[Authorization]:
    given = request.parameters
    lists = [f"{verb}{name}" for verb in ("Add", "Remove") for name in ENDPOINT_LISTS]
    attributes = {f"ec2:Attribute/{name}": _texts(given[name]) for name in ENDPOINT_ATTRIBUTES if name in given}
    yield _on(request, given["VpcEndpointId"], attributes)
    yield from (_on(request, each) for name in lists for each in given.get(name, []))


def _texts(value: object) -> list[str]:
    """Return a parameter as the values of a condition key: strings, Booleans in lower case, the rest as JSON."""
    return [each if isinstance(each, str) else json.dumps(each, default=str) for each in as_list(value)]


def _delete_vpc_endpoints(request: Request) -> Iterator[Authorization]:
    for each in request.parameters["VpcEndpointIds"]:
        endpoint = _backend(request).vpc_end_points.get(each)
        yield _on(request, each, {"ec2:VpceServiceName": [endpoint.service_name]} if endpoint else {})


def _tags(request: Request) -> Iterator[Authorization]:
    tags = request.parameters.get("Tags", [])
    asked: Keys = {"aws:TagKeys": [tag["Key"] for tag in tags]}
    asked |= {f"aws:RequestTag/{tag['Key']}": [tag["Value"]] for tag in tags if "Value" in tag}
    yield from (_on(request, each, asked) for each in request.parameters["Resources"])


def _prefix_list(request: Request) -> Iterator[Authorization]:
    list_id = request.parameters["PrefixListId"]
    found = _backend(request).managed_prefix_lists.get(list_id)
    owner = str(found.owner_id).lower() if found else None  # AWS's own belong to the account "aws"
    yield Authorization(_action(request), arn(request, "ec2", f"prefix-list/{list_id}", owner))


def _on(request: Request, resource_id: str, keys: Mapping[str, list[str]] | None = None) -> Authorization:
    """Return the request's action on one resource of EC2, with the keys for the tags that it has."""
    kind = EC2_TYPES[resource_id.split("-", maxsplit=1)[0]]
    tags = _backend(request).tags.get(resource_id, {})
    of_resource = {f"{service}:ResourceTag/{key}": [value] for key, value in tags.items() for service in ("aws", "ec2")}
    return Authorization(_action(request), arn(request, "ec2", f"{kind}/{resource_id}"), of_resource | dict(keys or {}))


def _backend(request: Request) -> Moto:
    return ec2_backends[request.account_id][request.region]


# --- other services ---------------------------------------------------------------------------------------------------


def _start_automation(request: Request) -> Iterator[Authorization]:
    """The caller passes the role (https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-setup.html)."""
    name = request.parameters["DocumentName"].rpartition("document/")[2]
    yield Authorization(_action(request), arn(request, "ssm", f"document/{name}"))
    yield Authorization(_action(request), arn(request, "ssm", "automation-execution/*"))
    for role in request.parameters.get("Parameters", {}).get(AUTOMATION_ROLE, []):
        yield Authorization("iam:PassRole", role, {"iam:PassedToService": ["ssm.amazonaws.com"]})


def _calendars(request: Request) -> Iterator[Authorization]:
    for name in request.parameters["CalendarNames"]:
        yield Authorization(_action(request), name if ":" in name else arn(request, "ssm", f"document/{name}"))


def _named(parameter: str, service: str, prefix: str) -> Reader:
    """Return a reader for requests about one resource, which a parameter names, under a prefix in its ARN."""

    def read(request: Request) -> Iterator[Authorization]:
        name = prefix + str(request.parameters[parameter]).lstrip("/")
        yield Authorization(_action(request), arn(request, service, name))

    return read


def _with_arn(parameter: str) -> Reader:
    """Return a reader for requests that give the ARN of their one resource."""
    return lambda request: iter([Authorization(_action(request), request.parameters[parameter])])


def _action(request: Request) -> str:
    return f"{request.service}:{request.operation}"


READERS: Mapping[str, Reader] = {
    "config:GetComplianceDetailsByConfigRule": _named("ConfigRuleName", "config", "config-rule/"),
    "ec2:CreateTags": _tags,
    "ec2:CreateVpcEndpoint": _create_vpc_endpoint,
    "ec2:DeleteTags": _tags,
    "ec2:DeleteVpcEndpoints": _delete_vpc_endpoints,
    "ec2:DescribeVpcAttribute": _named("VpcId", "ec2", "vpc/"),
    "ec2:GetManagedPrefixListEntries": _prefix_list,
    "ec2:ModifyVpcEndpoint": _modify_vpc_endpoint,
    "ec2:SearchTransitGatewayRoutes": _named("TransitGatewayRouteTableId", "ec2", "transit-gateway-route-table/"),
    "sns:Publish": _with_arn("TopicArn"),
    "ssm:GetAutomationExecution": _named("AutomationExecutionId", "ssm", "automation-execution/"),
    "ssm:GetCalendarState": _calendars,
    "ssm:GetParameter": _named("Name", "ssm", "parameter/"),
    "ssm:StartAutomationExecution": _start_automation,
    "sts:AssumeRole": _with_arn("RoleArn"),
}
