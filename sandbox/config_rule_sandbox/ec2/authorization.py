"""What each request to EC2 is authorized on: its resources, and the condition keys that EC2 gives for each of them.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from moto.ec2.models import ec2_backends

from config_rule_sandbox import answers
from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.http.wire import Request
from config_rule_sandbox.iam.policies import Authorization, as_list

Keys = dict[str, list[str]]

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


def _create_vpc_endpoint(request: Request) -> Iterator[Authorization]:
    given = request.parameters
    tags = {
        tag["Key"]: tag["Value"]
        for specification in given.get("TagSpecifications", [])
        for tag in specification.get("Tags", [])
    }
    asked = {f"aws:RequestTag/{key}": [value] for key, value in tags.items()} | {"aws:TagKeys": list(tags)}
    any_endpoint = request.arn("ec2", "vpc-endpoint/*")
    yield _on(request, given["VpcId"], {"ec2:VpcID": [given["VpcId"]]})
    yield Authorization("ec2:CreateVpcEndpoint", any_endpoint, asked | _service_key(given["ServiceName"]))
    yield from (_on(request, resource_id) for name in ENDPOINT_LISTS for resource_id in given.get(name, []))
    if tags:
        yield Authorization("ec2:CreateTags", any_endpoint, asked | {"ec2:CreateAction": ["CreateVpcEndpoint"]})


def _modify_vpc_endpoint(request: Request) -> Iterator[Authorization]:
    given = request.parameters
    lists = [f"{verb}{name}" for verb in ("Add", "Remove") for name in ENDPOINT_LISTS]
    yield _on(request, given["VpcEndpointId"], _attribute_keys(given))
    yield from (_on(request, resource_id) for name in lists for resource_id in given.get(name, []))


def _service_key(service_name: str) -> Keys:
    """Return the key for the service of an endpoint (answers.EndpointKeys)."""
    if answers.given().endpoint_keys is answers.EndpointKeys.NO_SERVICE:
        return {}
    return {"ec2:VpceServiceName": [service_name]}


def _attribute_keys(parameters: Mapping[str, Any]) -> Keys:
    """Return the keys for the attributes of an endpoint that is changed (answers.AttributeKeys)."""
    answer = answers.given().attribute_keys
    if answer is answers.AttributeKeys.NONE:
        return {}
    names = [name for name in ENDPOINT_ATTRIBUTES if name in parameters or answer is answers.AttributeKeys.EACH]
    return {f"ec2:Attribute/{name}": _texts(parameters.get(name, "")) for name in names}


def _texts(value: object) -> list[str]:
    """Return a parameter as the values of a condition key: strings, Booleans in lower case, the rest as JSON."""
    return [member if isinstance(member, str) else json.dumps(member, default=str) for member in as_list(value)]


def _delete_vpc_endpoints(request: Request) -> Iterator[Authorization]:
    for endpoint_id in request.parameters["VpcEndpointIds"]:
        endpoint = _backend(request).vpc_end_points.get(endpoint_id)
        has_tags = answers.given().endpoint_keys is not answers.EndpointKeys.NO_TAGS
        yield _on(request, endpoint_id, _service_key(endpoint.service_name) if endpoint else {}, has_tags=has_tags)


def _tags(request: Request) -> Iterator[Authorization]:
    tags = request.parameters.get("Tags", [])
    asked: Keys = {"aws:TagKeys": [tag["Key"] for tag in tags]}
    asked |= {f"aws:RequestTag/{tag['Key']}": [tag["Value"]] for tag in tags if "Value" in tag}
    yield from (_on(request, resource_id, asked) for resource_id in request.parameters["Resources"])


def _prefix_list(request: Request) -> Iterator[Authorization]:
    list_id = request.parameters["PrefixListId"]
    found = _backend(request).managed_prefix_lists.get(list_id)
    owner = str(found.owner_id).lower() if found else None  # AWS's own belong to the account "aws"
    yield Authorization(request.action, request.arn("ec2", f"prefix-list/{list_id}", owner))


def _on(
    request: Request, resource_id: str, keys: Mapping[str, list[str]] | None = None, *, has_tags: bool = True
) -> Authorization:
    """Return the request's action on one resource of EC2, with the keys for the tags that it has, unless has_tags is false."""
    kind = EC2_TYPES[resource_id.split("-", maxsplit=1)[0]]
    tags = _backend(request).tags.get(resource_id, {}) if has_tags else {}
    of_resource = {f"{service}:ResourceTag/{key}": [value] for key, value in tags.items() for service in ("aws", "ec2")}
    return Authorization(request.action, request.arn("ec2", f"{kind}/{resource_id}"), of_resource | dict(keys or {}))


def _backend(request: Request) -> Moto:
    return ec2_backends[request.account_id][request.region]


READERS: Mapping[str, Callable[[Request], Iterator[Authorization]]] = {
    "ec2:CreateTags": _tags,
    "ec2:CreateVpcEndpoint": _create_vpc_endpoint,
    "ec2:DeleteTags": _tags,
    "ec2:DeleteVpcEndpoints": _delete_vpc_endpoints,
    "ec2:GetManagedPrefixListEntries": _prefix_list,
    "ec2:ModifyVpcEndpoint": _modify_vpc_endpoint,
}
"""Readers of the operations whose resources, or keys, are more than one parameter."""
