"""The change of a plan as a person or a tool would make it: for CloudFormation, for Terraform, for the AWS CLI."""

from collections.abc import Mapping

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
        "cloudFormation": (f"# stack {stack}\n" if stack else "")
        + f"Resources:\n  {logical_id}:\n    Type: AWS::EC2::VPCEndpoint\n    Properties:\n"
        + f"      RouteTableIds:\n{tables}",
        "terraform": f'resource "aws_vpc_endpoint_route_table_association" "{name}" {{\n'
        f'  vpc_endpoint_id = "{endpoint.id}"\n  route_table_id  = "{route_table_id}"\n}}\n',
        "cli": f"aws ec2 modify-vpc-endpoint --vpc-endpoint-id {endpoint.id} --add-route-table-ids {route_table_id}\n",
    }


def create_patches(vpc_id: str, route_table_id: str, service_name: str, ip_address_type: str) -> Mapping[str, str]:
    """How to create the endpoint and associate the route table with it."""
    name = _name(route_table_id)
    return {
        "cloudFormation": "Resources:\n  S3ExpressEndpoint:\n    Type: AWS::EC2::VPCEndpoint\n    Properties:\n"
        f"      VpcId: {vpc_id}\n      VpcEndpointType: Gateway\n      ServiceName: {service_name}\n"
        f"      IpAddressType: {ip_address_type}\n      RouteTableIds:\n        - {route_table_id}\n",
        "terraform": f'resource "aws_vpc_endpoint" "{name}" {{\n  vpc_id            = "{vpc_id}"\n'
        f'  vpc_endpoint_type = "Gateway"\n  service_name      = "{service_name}"\n'
        f'  ip_address_type   = "{ip_address_type}"\n  route_table_ids   = ["{route_table_id}"]\n}}\n',
        "cli": f"aws ec2 create-vpc-endpoint --vpc-endpoint-type Gateway --vpc-id {vpc_id} "
        f"--service-name {service_name} --ip-address-type {ip_address_type} --route-table-ids {route_table_id}\n",
    }


def _name(route_table_id: str) -> str:
    return "s3express_" + route_table_id.replace("-", "_")
