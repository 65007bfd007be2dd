"""The change of a plan for CloudFormation, Terraform, and the AWS CLI, so that a person can apply it."""

import json
import shlex
from collections.abc import Iterable, Sequence

from express_path.domain.heal.evidence import Policy
from express_path.domain.heal.records import FULL_ACCESS
from express_path.domain.network.resources import VpcEndpoint

_STACK = "aws:cloudformation:stack-name"
_LOGICAL_ID = "aws:cloudformation:logical-id"
_LOGICAL_ID_OF_NEW = "S3ExpressEndpoint"


def associate_patches(
    endpoint: VpcEndpoint, route_table_ids: Sequence[str], policies: Iterable[Policy] = ()
) -> dict[str, str]:
    """Return the patches that associate route tables with an existing endpoint; policies may include its policy."""
    policy = next((found.document for found in policies if found.holder == endpoint.id), FULL_ACCESS)
    logical_id = endpoint.tags.get(_LOGICAL_ID, _LOGICAL_ID_OF_NEW)
    tables = sorted({*endpoint.route_table_ids, *route_table_ids})
    return {
        "cloudFormation": _stack_comment(endpoint)
        + _template(logical_id, [*_identity(endpoint), *_lines("RouteTableIds", tables), *_policy_document(policy)]),
        "terraform": _terraform_comment(endpoint, route_table_ids)
        + _terraform_associations(f'"{endpoint.id}"', route_table_ids),
        "cli": f"aws ec2 modify-vpc-endpoint --region {_region(endpoint)} --vpc-endpoint-id {endpoint.id} "
        f"--add-route-table-ids {' '.join(route_table_ids)}\n",
    }


def create_patches(endpoint: VpcEndpoint, route_table_ids: Sequence[str], policy: str) -> dict[str, str]:
    """Return the patches that create the endpoint and associate the route tables. EC2's default policy is omitted."""
    document = _custom_policy(policy)
    properties = [
        *_identity(endpoint),
        f"IpAddressType: {endpoint.ip_address_type}",
        *_lines("RouteTableIds", route_table_ids),
        *_policy_document(policy),
    ]
    name = _name(endpoint.vpc_id)
    return {
        "cloudFormation": _template(_LOGICAL_ID_OF_NEW, properties),
        "terraform": f'resource "aws_vpc_endpoint" "{name}" {{\n  vpc_id            = "{endpoint.vpc_id}"\n'
        f'  vpc_endpoint_type = "Gateway"\n  service_name      = "{endpoint.service_name}"\n'
        f'  ip_address_type   = "{endpoint.ip_address_type}"\n'
        + (f"  policy            = jsonencode({_literal(document)})\n" if document else "")
        # Without route_table_ids in the endpoint, Terraform does not touch associations that others add.
        + "}\n\n"
        + _terraform_associations(f"aws_vpc_endpoint.{name}.id", route_table_ids),
        "cli": f"aws ec2 create-vpc-endpoint --region {_region(endpoint)} --vpc-endpoint-type Gateway "
        f"--vpc-id {endpoint.vpc_id} --service-name {endpoint.service_name} "
        f"--ip-address-type {endpoint.ip_address_type} --route-table-ids {' '.join(route_table_ids)}"
        + (f" --policy-document {shlex.quote(document)}" if document else "")
        + "\n",
    }


def _identity(endpoint: VpcEndpoint) -> list[str]:
    return [
        f"VpcId: {endpoint.vpc_id}",
        "VpcEndpointType: Gateway",
        f"ServiceName: {endpoint.service_name}",
    ]


def _template(logical_id: str, properties: Iterable[str]) -> str:
    """Return a template with one endpoint."""
    head = f"Resources:\n  {logical_id}:\n    Type: AWS::EC2::VPCEndpoint\n    Properties:\n"
    return head + "".join(f"      {line}\n" for line in properties)


def _lines(name: str, values: Iterable[str]) -> list[str]:
    return [f"{name}:", *(f"  - {value}" for value in values)]


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
    where = f"Stack {stack}: change" if stack else f"If a stack owns {endpoint.id}, change"
    return f"# {where} RouteTableIds as below. Keep all other properties of the resource.\n"


def _terraform_comment(endpoint: VpcEndpoint, route_table_ids: Sequence[str]) -> str:
    """Return a comment: the two ways to associate a table cannot be used together for one endpoint.

    https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/vpc_endpoint_route_table_association
    """
    listed = ", ".join(f'"{table_id}"' for table_id in route_table_ids)
    these = "this resource" if len(route_table_ids) == 1 else "these resources"
    return (
        f"# If your configuration sets route_table_ids in the aws_vpc_endpoint of {endpoint.id},\n"
        f"# add {listed} to that list and leave {these} out.\n"
    )


def _terraform_associations(endpoint_id: str, route_table_ids: Iterable[str]) -> str:
    """Return a resource for each route table; endpoint_id is an expression."""
    return "\n".join(
        f'resource "aws_vpc_endpoint_route_table_association" "{_name(table_id)}" {{\n'
        f'  vpc_endpoint_id = {endpoint_id}\n  route_table_id  = "{table_id}"\n}}\n'
        for table_id in route_table_ids
    )


def _literal(text: str) -> str:
    """Return the text with ${ and %{ escaped, which are templates in Terraform."""
    return text.replace("${", "$${").replace("%{", "%%{")


def _region(endpoint: VpcEndpoint) -> str:
    """Return the Region in a service name such as com.amazonaws.us-east-1.s3express, in any partition."""
    return endpoint.service_name.split(".")[-2]


def _name(resource_id: str) -> str:
    return "s3express_" + resource_id.replace("-", "_")
