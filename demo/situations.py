"""The VPCs of the demonstration, built through the EC2 API; their resources are known by name."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.server import Sandbox

FAMILIAR_BLOCK = "10.20.0.0/16"
ANYWHERE = "0.0.0.0/0"
LOGICAL_ID = "S3ExpressEndpoint"
"""The name of the endpoint in the template of its CloudFormation stack."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What was built: ids by name. A route table's name begins with "rtb-", an endpoint's with "vpce-".

    `subnets` are the subnets that the situation is about, in the order in which a person would list them.
    """

    ids: Mapping[str, str]
    subnets: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        """Return the id of a resource by its name. KeyError if there is none."""
        return self.ids[name]

    def name_of(self, resource_id: str) -> str:
        """Return the name of a resource by its id, or the id itself if it was not built here."""
        return next((name for name, known in self.ids.items() if known == resource_id), resource_id)


def familiar(sandbox: Sandbox) -> Situation:
    """Build a typical VPC.

    Three private subnets in three Availability Zones share the route table "rtb-private", which leads to a NAT
    gateway in the public subnet. Its endpoint for `s3` does not serve S3 Express. The endpoint for `s3express` is
    associated with "rtb-main", which no subnet uses. The isolated subnet has no route out.
    """
    builder = _Builder(sandbox, FAMILIAR_BLOCK)
    subnets = {
        "public-a": builder.subnet("public-a", "10.20.0.0/24", "a"),
        "private-a": builder.subnet("private-a", "10.20.16.0/20", "a"),
        "private-b": builder.subnet("private-b", "10.20.32.0/20", "b"),
        "private-c": builder.subnet("private-c", "10.20.48.0/20", "c"),
        "isolated": builder.subnet("isolated", "10.20.1.0/24", "b"),
    }
    builder.route_table("rtb-public", subnets["public-a"], GatewayId=builder.internet_gateway("igw"))
    private = [subnets[name] for name in ("private-a", "private-b", "private-c")]
    builder.route_table("rtb-private", *private, NatGatewayId=builder.nat_gateway("nat-a", subnets["public-a"]))
    builder.route_table("rtb-isolated", subnets["isolated"])
    builder.name_main_table("rtb-main")
    builder.endpoint("vpce-s3", "s3", "rtb-private")
    builder.endpoint("vpce-s3express", "s3express", "rtb-main")
    return Situation(builder.ids, subnets)


def without_endpoint(sandbox: Sandbox, credentials: Mapping[str, str] | None = None) -> Situation:
    """Build the VPC "data": the route table of its private subnet leads to a NAT gateway, and there is no endpoint.

    credentials: of another account, as `Sandbox.client` takes them.
    """
    builder = _Builder(sandbox, "10.30.0.0/16", credentials)
    return Situation(builder.ids, {"data-private": builder.behind_nat("data", "10.30")})


def owned_by_a_stack(sandbox: Sandbox) -> Situation:
    """Build the VPC "reports", like "data", but with an endpoint for `s3express` that a CloudFormation stack made.

    The stack associates it with the main route table, which the private subnet does not use.
    """
    builder = _Builder(sandbox, "10.40.0.0/16")
    subnets = {"reports-private": builder.behind_nat("reports", "10.40")}
    builder.name_main_table("rtb-reports-main")
    builder.endpoint_of_a_stack("vpce-reports", "s3express", "rtb-reports-main")
    return Situation(builder.ids, subnets)


def remove_default_vpc(sandbox: Sandbox) -> None:
    """Delete the default VPC of the sandbox's account, and its subnets."""
    ec2 = sandbox.client("ec2")
    filters = [{"Name": "is-default", "Values": ["true"]}]
    for vpc in ec2.describe_vpcs(Filters=filters)["Vpcs"]:
        inside = [{"Name": "vpc-id", "Values": [vpc["VpcId"]]}]
        for subnet in ec2.describe_subnets(Filters=inside)["Subnets"]:
            ec2.delete_subnet(SubnetId=subnet["SubnetId"])
        ec2.delete_vpc(VpcId=vpc["VpcId"])


class _Builder:
    """Creates the resources of one VPC, names them by a tag, and remembers their ids."""

    def __init__(self, sandbox: Sandbox, block: str, credentials: Mapping[str, str] | None = None) -> None:
        self._ec2: Client = sandbox.client("ec2", credentials=credentials)
        self._cloudformation: Client = sandbox.client("cloudformation", credentials=credentials)
        self._region = sandbox.region
        self.ids: dict[str, str] = {}
        vpc_id = self._remember("vpc", self._ec2.create_vpc(CidrBlock=block)["Vpc"]["VpcId"])
        # Without DNS hostnames, a heal is blocked.
        self._ec2.modify_vpc_attribute(VpcId=vpc_id, EnableDnsHostnames={"Value": True})

    def behind_nat(self, name: str, network: str) -> str:
        """Create a private subnet whose route table leads to a NAT gateway in a public subnet, and return its id.

        `network` are the first two parts of the addresses.
        """
        public = self.subnet(f"{name}-public", f"{network}.0.0/24", "a")
        self.route_table(f"rtb-{name}-public", public, GatewayId=self.internet_gateway(f"igw-{name}"))
        private = self.subnet(f"{name}-private", f"{network}.16.0/20", "a")
        self.route_table(f"rtb-{name}", private, NatGatewayId=self.nat_gateway(f"nat-{name}", public))
        return private

    def subnet(self, name: str, block: str, zone: str) -> str:
        """Create a subnet in the Availability Zone with this letter."""
        answer = self._ec2.create_subnet(
            VpcId=self.ids["vpc"], CidrBlock=block, AvailabilityZone=f"{self._region}{zone}"
        )
        return self._remember(name, answer["Subnet"]["SubnetId"])

    def internet_gateway(self, name: str) -> str:
        """Create an internet gateway and attach it."""
        gateway_id = self._ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        self._ec2.attach_internet_gateway(InternetGatewayId=gateway_id, VpcId=self.ids["vpc"])
        return self._remember(name, gateway_id)

    def nat_gateway(self, name: str, subnet_id: str) -> str:
        """Create a public, zonal NAT gateway and wait until it is available."""
        allocation_id = self._ec2.allocate_address(Domain="vpc")["AllocationId"]
        answer = self._ec2.create_nat_gateway(SubnetId=subnet_id, AllocationId=allocation_id)
        gateway_id = answer["NatGateway"]["NatGatewayId"]
        self._ec2.get_waiter("nat_gateway_available").wait(NatGatewayIds=[gateway_id])
        return self._remember(name, gateway_id)

    def route_table(self, name: str, *subnet_ids: str, **target: str) -> str:
        """Create a route table for some subnets, with a default route if a target (`NatGatewayId`, ...) is given."""
        table_id = self._ec2.create_route_table(VpcId=self.ids["vpc"])["RouteTable"]["RouteTableId"]
        for subnet_id in subnet_ids:
            self._ec2.associate_route_table(RouteTableId=table_id, SubnetId=subnet_id)
        if target:
            self._ec2.create_route(RouteTableId=table_id, DestinationCidrBlock=ANYWHERE, **target)
        return self._remember(name, table_id)

    def name_main_table(self, name: str) -> str:
        """Name the main route table, which every VPC is born with."""
        tables = self._ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [self.ids["vpc"]]}])
        main = [
            table["RouteTableId"]
            for table in tables["RouteTables"]
            if any(association["Main"] for association in table["Associations"])
        ]
        return self._remember(name, main[0])

    def endpoint(self, name: str, service: str, *tables: str) -> str:
        """Create a gateway endpoint of an AWS service, associated with route tables by their names here."""
        answer = self._ec2.create_vpc_endpoint(
            VpcId=self.ids["vpc"],
            ServiceName=f"com.amazonaws.{self._region}.{service}",
            RouteTableIds=[self.ids[table] for table in tables],
        )
        return self._remember(name, answer["VpcEndpoint"]["VpcEndpointId"])

    def endpoint_of_a_stack(self, name: str, service: str, table: str) -> str:
        """Create a gateway endpoint by a CloudFormation stack, associated with one route table."""
        properties = {
            "VpcId": self.ids["vpc"],
            "VpcEndpointType": "Gateway",
            "ServiceName": f"com.amazonaws.{self._region}.{service}",
            "RouteTableIds": [self.ids[table]],
        }
        template = {"Resources": {LOGICAL_ID: {"Type": "AWS::EC2::VPCEndpoint", "Properties": properties}}}
        stack = {"StackName": f"network-{_tag(name)}"}
        self._cloudformation.create_stack(**stack, TemplateBody=json.dumps(template))
        self._cloudformation.get_waiter("stack_create_complete").wait(**stack)
        made = self._cloudformation.describe_stack_resource(**stack, LogicalResourceId=LOGICAL_ID)
        return self._remember(name, made["StackResourceDetail"]["PhysicalResourceId"])

    def _remember(self, name: str, resource_id: str) -> str:
        self._ec2.create_tags(Resources=[resource_id], Tags=[{"Key": "Name", "Value": _tag(name)}])
        self.ids[name] = resource_id
        return resource_id


def _tag(name: str) -> str:
    """Return the Name tag of a resource: its name here without the prefix of a route table or an endpoint."""
    return name.removeprefix("rtb-").removeprefix("vpce-")
