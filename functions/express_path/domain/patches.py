"""The change of a plan as a person or a tool would make it: for CloudFormation, for Terraform, for the AWS CLI."""

import json
import shlex
from collections.abc import Mapping

from express_path.domain.healing import FULL_ACCESS
from express_path.domain.network import VpcEndpoint

_STACK = "aws:cloudformation:stack-name"
_LOGICAL_ID = "aws:cloudformation:logical-id"


def associate_patches(endpoint: VpcEndpoint, route_table_id: str) -> dict[str, str]:
    """How to associate a route table with an endpoint that is there."""
    stack = endpoint.tags.get(_STACK)
    logical_id = endpoint.tags.get(_LOGICAL_ID, "S3ExpressEndpoint")
    tables = "".join(f"        - {each}\n" for each in sorted({*endpoint.route_table_ids, route_table_id}))
    name = _name(route_table_id)
    return {
        # A whole resource would invite to paste it over the one that is there, and its policy would be lost.
        "cloudFormation": f"# {f'stack {stack}: ' if stack else ''}change RouteTableIds, leave all else as it is\n"
        f"Resources:\n  {logical_id}:\n    Type: AWS::EC2::VPCEndpoint\n    Properties:\n"
        f"      RouteTableIds:\n{tables}",
        "terraform": f'resource "aws_vpc_endpoint_route_table_association" "{name}" {{\n'
        f'  vpc_endpoint_id = "{endpoint.id}"\n  route_table_id  = "{route_table_id}"\n}}\n',
        "cli": f"aws ec2 modify-vpc-endpoint --region {_region(endpoint)} --vpc-endpoint-id {endpoint.id} "
        f"--add-route-table-ids {route_table_id}\n",
    }


def create_patches(endpoint: VpcEndpoint, route_table_id: str, policy: str) -> Mapping[str, str]:
    """How to create the endpoint and associate the route table with it; a policy of full access is EC2's default."""
    vpc_id, service_name, address_type = endpoint.vpc_id, endpoint.service_name, endpoint.ip_address_type
    own = "" if policy == FULL_ACCESS else json.dumps(json.loads(policy))
    # Terraform would take these for templates of its own.
    literal = own.replace("${", "$${").replace("%{", "%%{")
    return {
        "cloudFormation": "Resources:\n  S3ExpressEndpoint:\n    Type: AWS::EC2::VPCEndpoint\n    Properties:\n"
        f"      VpcId: {vpc_id}\n      VpcEndpointType: Gateway\n      ServiceName: {service_name}\n"
        f"      IpAddressType: {address_type}\n      RouteTableIds:\n        - {route_table_id}\n"
        + (f"      PolicyDocument: {own}\n" if own else ""),
        "terraform": f'resource "aws_vpc_endpoint" "{_name(route_table_id)}" {{\n  vpc_id            = "{vpc_id}"\n'
        f'  vpc_endpoint_type = "Gateway"\n  service_name      = "{service_name}"\n'
        f'  ip_address_type   = "{address_type}"\n  route_table_ids   = ["{route_table_id}"]\n'
        + (f"  policy            = jsonencode({literal})\n" if own else "")
        + "}\n",
        "cli": f"aws ec2 create-vpc-endpoint --region {_region(endpoint)} --vpc-endpoint-type Gateway "
        f"--vpc-id {vpc_id} --service-name {service_name} --ip-address-type {address_type} "
        f"--route-table-ids {route_table_id}" + (f" --policy-document {shlex.quote(own)}" if own else "") + "\n",
    }


def _region(endpoint: VpcEndpoint) -> str:
    """The Region in a service name such as com.amazonaws.us-east-1.s3express, in any partition."""
    return endpoint.service_name.split(".")[-2]


def _name(route_table_id: str) -> str:
    return "s3express_" + route_table_id.replace("-", "_")
