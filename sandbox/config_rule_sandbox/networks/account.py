"""One account's part of a network: its VPCs, which have different blocks, and the resources in them."""

from collections import Counter
from collections.abc import Mapping
from ipaddress import IPv6Network
from itertools import islice

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.server import Sandbox

ANYWHERE = "0.0.0.0/0"
ANYWHERE_IPV6 = "::/0"


class Account:
    """Makes resources of one account in the sandbox's Region and returns their ids.

    VPCs have the blocks 10.<n>.0.0/16 with n from `first` on, so that accounts that are connected do not overlap.
    """

    def __init__(self, sandbox: Sandbox, account_id: str | None = None, first: int = 0) -> None:
        """Begin with nothing but the default VPC; the account is the sandbox's own unless another is named."""
        self.sandbox = sandbox
        self.account_id = account_id or sandbox.account_id
        self.credentials = sandbox.credentials(account_id) if account_id else None
        self.ec2: Client = sandbox.client("ec2", credentials=self.credentials)
        self._numbers: dict[str, int] = {}
        self._first = first
        self._subnets: Counter[str] = Counter()

    def vpc(self, *, ipv6: bool = False) -> str:
        """Make a VPC, optionally with an IPv6 block of Amazon's."""
        number = self._first + len(self._numbers)
        vpc_id = str(self.ec2.create_vpc(CidrBlock=f"10.{number}.0.0/16")["Vpc"]["VpcId"])
        if ipv6:
            self.ec2.associate_vpc_cidr_block(VpcId=vpc_id, AmazonProvidedIpv6CidrBlock=True)
        self._numbers[vpc_id] = number
        return vpc_id

    def block(self, vpc_id: str) -> str:
        """Return the IPv4 block of a VPC made here."""
        return f"10.{self._numbers[vpc_id]}.0.0/16"

    def subnet(self, vpc_id: str, table_id: str | None = None, zone: str = "a", *, ipv6: bool = False) -> str:
        """Make a subnet in the zone with this letter, governed by a table or else by the main one."""
        count = self._next_subnet(vpc_id)
        blocks = {"CidrBlock": f"10.{self._numbers[vpc_id]}.{count}.0/24"}
        if ipv6:
            blocks["Ipv6CidrBlock"] = self._ipv6_block(vpc_id, count)
        return self._subnet(vpc_id, table_id, AvailabilityZone=f"{self.sandbox.region}{zone}", **blocks)

    def native_subnet(self, vpc_id: str, table_id: str) -> str:
        """Make a subnet without IPv4, governed by a table."""
        block = self._ipv6_block(vpc_id, self._next_subnet(vpc_id))
        return self._subnet(vpc_id, table_id, Ipv6Native=True, Ipv6CidrBlock=block)

    def _next_subnet(self, vpc_id: str) -> int:
        self._subnets[vpc_id] += 1
        return self._subnets[vpc_id]

    def _ipv6_block(self, vpc_id: str, count: int) -> str:
        [vpc] = self.ec2.describe_vpcs(VpcIds=[vpc_id])["Vpcs"]
        whole = IPv6Network(vpc["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"])
        return str(next(islice(whole.subnets(new_prefix=64), count, None)))

    def _subnet(self, vpc_id: str, table_id: str | None, **more: object) -> str:
        subnet_id = str(self.ec2.create_subnet(VpcId=vpc_id, **more)["Subnet"]["SubnetId"])
        if table_id:
            self.ec2.associate_route_table(RouteTableId=table_id, SubnetId=subnet_id)
        return subnet_id

    def table(self, vpc_id: str, **target: str) -> str:
        """Make a route table, with a default route if a target (NatGatewayId="nat-...") is given."""
        table_id = str(self.ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"])
        if target:
            self.route(table_id, **target)
        return table_id

    def route(self, table_id: str, destination: str = ANYWHERE, **target: str) -> None:
        """Make a route; destination is a block of either family or the id of a prefix list."""
        self.ec2.create_route(RouteTableId=table_id, **_destination(destination), **target)

    def replace(self, table_id: str, destination: str = ANYWHERE, **target: str) -> None:
        """Replace the target of a route."""
        self.ec2.replace_route(RouteTableId=table_id, **_destination(destination), **target)

    def internet_gateway(self, vpc_id: str) -> str:
        """Make an internet gateway and attach it."""
        gateway_id = str(self.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"])
        self.ec2.attach_internet_gateway(InternetGatewayId=gateway_id, VpcId=vpc_id)
        return gateway_id

    def nat_gateway(self, subnet_id: str) -> str:
        """Make a public NAT gateway in a subnet."""
        allocation_id = self.ec2.allocate_address(Domain="vpc")["AllocationId"]
        made = self.ec2.create_nat_gateway(SubnetId=subnet_id, AllocationId=allocation_id)
        return str(made["NatGateway"]["NatGatewayId"])

    def instance(self, subnet_id: str, instance_type: str = "t4g.nano", *, check: bool = False) -> tuple[str, str]:
        """Run an instance; return its id and its interface's. Its source/destination check is off by default."""
        made = self.ec2.run_instances(
            ImageId="ami-0123456789abcdef0", InstanceType=instance_type, SubnetId=subnet_id, MinCount=1, MaxCount=1
        )["Instances"][0]
        interface_id = str(made["NetworkInterfaces"][0]["NetworkInterfaceId"])
        self.ec2.modify_network_interface_attribute(NetworkInterfaceId=interface_id, SourceDestCheck={"Value": check})
        return str(made["InstanceId"]), interface_id

    def endpoint(self, vpc_id: str, *table_ids: str, service: str = "s3express", **more: object) -> str:
        """Make a gateway endpoint of a service."""
        name = f"com.amazonaws.{self.sandbox.region}.{service}"
        made = self.ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName=name, RouteTableIds=list(table_ids), **more)
        return str(made["VpcEndpoint"]["VpcEndpointId"])

    def firewall_endpoint(self, vpc_id: str, subnet_id: str, nat_scope: str = "") -> str:
        """Make an AWS Network Firewall in one subnet and return its endpoint; with a scope, a NAT/Proxy firewall."""
        listeners = [{"Port": 3128, "Type": "HTTP"}]
        proxy = {"ProxySettings": {"ListenerProperties": listeners}, "TransparentFilteringNatScope": nat_scope}
        made = self._firewalls.create_firewall(
            FirewallName=f"firewall-{subnet_id}",
            FirewallPolicyArn=f"arn:aws:network-firewall:us-east-1:{self.account_id}:firewall-policy/inspect",
            VpcId=vpc_id,
            SubnetMappings=[{"SubnetId": subnet_id}],
            **(proxy if nat_scope else {}),
        )
        [state] = made["FirewallStatus"]["SyncStates"].values()
        return str(state["Attachment"]["EndpointId"])

    def firewall_arn(self, subnet_id: str) -> str:
        """Return the ARN of the firewall in a subnet."""
        firewall = self._firewalls.describe_firewall(FirewallName=f"firewall-{subnet_id}")["Firewall"]
        return str(firewall["FirewallArn"])

    def endpoint_of_firewall(self, firewall_arn: str, vpc_id: str, subnet_id: str) -> str:
        """Make an endpoint of a firewall in a subnet of another VPC and return it."""
        made = self._firewalls.create_vpc_endpoint_association(
            FirewallArn=firewall_arn, VpcId=vpc_id, SubnetMapping={"SubnetId": subnet_id}
        )
        [state] = made["VpcEndpointAssociationStatus"]["AssociationSyncState"].values()
        return str(state["Attachment"]["EndpointId"])

    @property
    def _firewalls(self) -> Client:
        return self.sandbox.client("network-firewall", credentials=self.credentials)

    def firewall_on(self, gateway_id: str) -> None:
        """Attach an AWS Network Firewall to a transit gateway."""
        self._firewalls.create_firewall(
            FirewallName=f"firewall-{gateway_id}",
            FirewallPolicyArn=f"arn:aws:network-firewall:us-east-1:{self.account_id}:firewall-policy/inspect",
            TransitGatewayId=gateway_id,
        )

    def load_balancer_endpoint(self, vpc_id: str, subnet_id: str) -> str:
        """Make a Gateway Load Balancer and its endpoint in one subnet, and return the endpoint."""
        balancers = self.sandbox.client("elbv2", credentials=self.credentials)
        made = balancers.create_load_balancer(Name=subnet_id[-17:], Type="gateway", Subnets=[subnet_id])
        arns = [made["LoadBalancers"][0]["LoadBalancerArn"]]
        service = self.ec2.create_vpc_endpoint_service_configuration(GatewayLoadBalancerArns=arns)
        endpoint = self.ec2.create_vpc_endpoint(
            VpcId=vpc_id,
            ServiceName=service["ServiceConfiguration"]["ServiceName"],
            VpcEndpointType="GatewayLoadBalancer",
            SubnetIds=[subnet_id],
        )
        return str(endpoint["VpcEndpoint"]["VpcEndpointId"])


def _destination(destination: str) -> Mapping[str, str]:
    if destination.startswith("pl-"):
        return {"DestinationPrefixListId": destination}
    return {"DestinationIpv6CidrBlock" if ":" in destination else "DestinationCidrBlock": destination}
