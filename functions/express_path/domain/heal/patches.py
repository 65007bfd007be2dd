"""The change of a plan for CloudFormation, Terraform, and the AWS CLI, so that a person can apply it."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

from express_path.domain.heal.preflight import Policy
from express_path.domain.heal.records import FULL_ACCESS
from express_path.domain.network.resources import VpcEndpoint

_STACK = "aws:cloudformation:stack-name"
LOGICAL_ID = "aws:cloudformation:logical-id"
_ALPHANUMERIC = re.compile("[A-Za-z0-9]+")
"""A logical ID of CloudFormation
(https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/resources-section-structure.html)."""
_PLAIN = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)$)[A-Za-z][A-Za-z0-9._-]*", re.IGNORECASE)
"""A word that YAML 1.1 reads as a text, which excludes booleans and null (https://yaml.org/type/bool.html)."""
_LOGICAL_ID_OF_NEW = "S3ExpressEndpoint"
_TOOLS = {"cloudFormation": "aws:cloudformation:|cdk", "terraform": "terraform|tofu"}
"""What the tag of an owner contains, by the name of the tool's patch."""


def associate_patches(
    endpoint: VpcEndpoint, route_table_ids: Sequence[str], policies: Iterable[Policy] = ()
) -> dict[str, str]:
    """Return the patches that associate route tables with an existing endpoint; policies may include its policy."""
    policy = next(
        (policy_record.document for policy_record in policies if policy_record.holder == endpoint.id), FULL_ACCESS
    )
    logical_id = endpoint.tags.get(LOGICAL_ID, "")
    if not _ALPHANUMERIC.fullmatch(logical_id):
        logical_id = _LOGICAL_ID_OF_NEW
    tables = sorted({*endpoint.route_table_ids, *route_table_ids})
    return {
        "cloudFormation": _stack_comment(endpoint)
        + _template(logical_id, [*_identity(endpoint), *_lines("RouteTableIds", tables), *_policy_document(policy)]),
        "terraform": _terraform_comment(endpoint, route_table_ids)
        + _terraform_associations(_hcl(endpoint.id), route_table_ids),
        "cli": _command(
            "modify-vpc-endpoint",
            *("--region", _region(endpoint), "--vpc-endpoint-id", endpoint.id),
            *("--add-route-table-ids", *route_table_ids),
        ),
    }


def create_patches(endpoint: VpcEndpoint, route_table_ids: Sequence[str], policy: str) -> dict[str, str]:
    """Return the patches that create the endpoint and associate the route tables. EC2's default policy is omitted."""
    document = _custom_policy(policy)
    properties = [
        *_identity(endpoint),
        f"IpAddressType: {_yaml(endpoint.ip_address_type)}",
        *_lines("RouteTableIds", route_table_ids),
        *_policy_document(policy),
    ]
    name = _endpoint_name(endpoint)
    return {
        "cloudFormation": _template(_LOGICAL_ID_OF_NEW, properties),
        "terraform": f'resource "aws_vpc_endpoint" "{name}" {{\n  vpc_id            = {_hcl(endpoint.vpc_id)}\n'
        f'  vpc_endpoint_type = "Gateway"\n  service_name      = {_hcl(endpoint.service_name)}\n'
        f"  ip_address_type   = {_hcl(endpoint.ip_address_type)}\n"
        + (f"  policy            = jsonencode({_literal(document)})\n" if document else "")
        # Without route_table_ids in the endpoint, Terraform does not touch associations that others add.
        + "}\n\n"
        + _terraform_associations(f"aws_vpc_endpoint.{name}.id", route_table_ids),
        "cli": _command(
            "create-vpc-endpoint",
            *("--region", _region(endpoint), "--vpc-endpoint-type", "Gateway", "--vpc-id", endpoint.vpc_id),
            *("--service-name", endpoint.service_name, "--ip-address-type", endpoint.ip_address_type),
            *("--route-table-ids", *route_table_ids),
            *(("--policy-document", document) if document else ()),
        ),
    }


def join_patches(endpoint: VpcEndpoint, route_table_ids: Sequence[str]) -> dict[str, str]:
    """Return the patches that associate route tables with an endpoint that somebody else creates before.

    CloudFormation has none: an endpoint's resource lists all of its route tables
    (https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-vpcendpoint.html).
    """
    name, region = _endpoint_name(endpoint), _region(endpoint)
    filters = {
        "vpc-id": endpoint.vpc_id,
        "service-name": endpoint.service_name,
        "vpc-endpoint-type": "Gateway",
        "vpc-endpoint-state": "pending,available",
    }
    of_type = f"VpcEndpoints[?IpAddressType=='{endpoint.ip_address_type}'].VpcEndpointId"
    find = _command(
        "describe-vpc-endpoints",
        *("--region", region, "--filters", *(f"Name={key},Values={value}" for key, value in filters.items())),
        *("--query", of_type, "--output", "text"),
    )
    modify = _command("modify-vpc-endpoint", "--region", region, "--vpc-endpoint-id")
    return {
        "terraform": f'data "aws_vpc_endpoint" "{name}" {{\n  vpc_id       = {_hcl(endpoint.vpc_id)}\n'
        f"  service_name = {_hcl(endpoint.service_name)}\n}}\n\n"
        + _terraform_associations(f"data.aws_vpc_endpoint.{name}.id", route_table_ids),
        "cli": f'{modify.strip()} "$({find.strip()})" {shlex.join(["--add-route-table-ids", *route_table_ids])}\n',
    }


def fitting(patches: Mapping[str, str], owner: str) -> dict[str, str]:
    """Return the patches for the tool that owns a resource; all of them if none does.

    owner: text with the tag that shows it, as key=value. Of a tag that names no tool, only the AWS CLI's patch is left out:
    the next run of the tool would revert what it does.
    """
    tool = next((tool for tool, words in _TOOLS.items() if re.search(words, owner, re.IGNORECASE)), "")
    return {name: patch for name, patch in patches.items() if not owner or name == tool or not (tool or name == "cli")}


def _endpoint_name(endpoint: VpcEndpoint) -> str:
    """Return the name of an endpoint's resource: a VPC may need one of each type."""
    return _name(
        endpoint.vpc_id if endpoint.ip_address_type == "ipv4" else f"{endpoint.vpc_id}_{endpoint.ip_address_type}"
    )


def _command(operation: str, *words: str) -> str:
    return shlex.join(["aws", "ec2", operation, *words]) + "\n"


def _yaml(text: str) -> str:
    """Return a text as YAML: quoted unless it is a plain word, and always on one line."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def _hcl(text: str) -> str:
    """Return a text as a string of Terraform's language."""
    return _literal(json.dumps(text))


def _identity(endpoint: VpcEndpoint) -> list[str]:
    return [
        f"VpcId: {_yaml(endpoint.vpc_id)}",
        "VpcEndpointType: Gateway",
        f"ServiceName: {_yaml(endpoint.service_name)}",
    ]


def _template(logical_id: str, properties: Iterable[str]) -> str:
    """Return a template with one endpoint."""
    head = f"Resources:\n  {logical_id}:\n    Type: AWS::EC2::VPCEndpoint\n    Properties:\n"
    return head + "".join(f"      {line}\n" for line in properties)


def _lines(name: str, values: Iterable[str]) -> list[str]:
    return [f"{name}:", *(f"  - {_yaml(value)}" for value in values)]


def _policy_document(policy: str) -> list[str]:
    document = _custom_policy(policy)
    return [f"PolicyDocument: {document}"] if document else []


def _custom_policy(policy: str) -> str:
    """Return the policy on one line; empty if it is EC2's default."""
    document = json.loads(policy)
    return "" if document == json.loads(FULL_ACCESS) else json.dumps(document)


def _stack_comment(endpoint: VpcEndpoint) -> str:
    """Return a comment: the list of route tables must be complete, and the other properties must stay."""
    stack = endpoint.tags.get(_STACK)
    where = f"Stack {_yaml(stack)}: change" if stack else f"If a stack owns {_yaml(endpoint.id)}, change"
    return f"# {where}\n# RouteTableIds as below. Keep all other properties.\n"


def _terraform_comment(endpoint: VpcEndpoint, route_table_ids: Sequence[str]) -> str:
    """Return a comment: the two ways to associate a table cannot be used together for one endpoint.

    https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/vpc_endpoint_route_table_association
    """
    listed = ", ".join(map(_hcl, route_table_ids))
    these = "this resource" if len(route_table_ids) == 1 else "these resources"
    return (
        f"# If the aws_vpc_endpoint of {_yaml(endpoint.id)} sets\n"
        f"# route_table_ids, add {listed} to it\n# and leave {these} out.\n"
    )


def _terraform_associations(endpoint_id: str, route_table_ids: Iterable[str]) -> str:
    """Return a resource for each route table; endpoint_id is an expression."""
    return "\n".join(
        f'resource "aws_vpc_endpoint_route_table_association" "{_name(table_id)}" {{\n'
        f"  vpc_endpoint_id = {endpoint_id}\n  route_table_id  = {_hcl(table_id)}\n}}\n"
        for table_id in route_table_ids
    )


def _literal(text: str) -> str:
    """Return the text with ${ and %{ escaped, which are templates in Terraform."""
    return text.replace("${", "$${").replace("%{", "%%{")


def _region(endpoint: VpcEndpoint) -> str:
    """Return the Region in a service name such as com.amazonaws.us-east-1.s3express, in any partition."""
    return endpoint.service_name.split(".")[-2]


def _name(resource_id: str) -> str:
    return "s3express_" + re.sub(r"\W", "_", resource_id, flags=re.ASCII)
