"""Networks of several VPCs and accounts, built through the EC2 API: what hops can lead through."""

from collections import Counter
from collections.abc import Mapping
from ipaddress import IPv6Network
from itertools import islice

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.server import Sandbox

# --- one account ---------------------------------------------------------------------------------------------------
#
# One account's part of a network: its VPCs, which have different blocks, and the resources in them.


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


# --- VPCs ----------------------------------------------------------------------------------------------------------
#
# VPCs with a public and a private subnet, and what lies between the two: a NAT of either kind, or an appliance.


class PublicSide:
    """A VPC with an internet gateway and a public subnet in zone a, the start of everything else."""

    def __init__(self, account: Account, *, ipv6: bool = False) -> None:
        """Build it."""
        self.account = account
        self.vpc = account.vpc(ipv6=ipv6)
        self.internet_gateway = account.internet_gateway(self.vpc)
        self.public_table = account.table(self.vpc, GatewayId=self.internet_gateway)
        self.public = account.subnet(self.vpc, self.public_table)


class BehindNatGateway(PublicSide):
    """A private subnet whose table leads to a NAT gateway in the public one."""

    def __init__(self, account: Account) -> None:
        """Build it."""
        super().__init__(account)
        self.nat = account.nat_gateway(self.public)
        self.table = account.table(self.vpc, NatGatewayId=self.nat)
        self.subnet = account.subnet(self.vpc, self.table)


class BehindNatInstance(PublicSide):
    """A private subnet whose table leads to an instance in the public one.

    With `floating` the route is to a second interface that outlives its instances, as fck-nat does it
    (https://fck-nat.dev); without, to the instance's own, as alternat does (https://github.com/chime/terraform-aws-alternat).
    """

    def __init__(
        self, account: Account, instance_type: str = "t4g.nano", *, check: bool = False, floating: bool = False
    ) -> None:
        """Build it; the instance forwards unless its check is on."""
        super().__init__(account)
        self.instance, self.interface = account.instance(self.public, instance_type, check=check)
        if floating:
            made = account.ec2.create_network_interface(SubnetId=self.public)
            self.interface = made["NetworkInterface"]["NetworkInterfaceId"]
            off = {"Value": False}
            account.ec2.modify_network_interface_attribute(NetworkInterfaceId=self.interface, SourceDestCheck=off)
            self.attach(self.instance)
        self.table = account.table(self.vpc, NetworkInterfaceId=self.interface)
        self.subnet = account.subnet(self.vpc, self.table)

    def attach(self, instance_id: str) -> None:
        """Attach the floating interface to an instance."""
        self.account.ec2.attach_network_interface(
            NetworkInterfaceId=self.interface, InstanceId=instance_id, DeviceIndex=1
        )

    def terminate(self) -> None:
        """Terminate the instance."""
        self.account.ec2.terminate_instances(InstanceIds=[self.instance])


class BehindFirewall(PublicSide):
    """A private subnet whose table leads to an appliance's endpoint, and on from there to a NAT gateway."""

    def __init__(
        self,
        account: Account,
        *,
        load_balancer: bool = False,
        nat_scope: str = "",
        firewall_of: "BehindFirewall | None" = None,
    ) -> None:
        """Build it with an AWS Network Firewall, a NAT/Proxy one, that of another VPC, or a Gateway Load Balancer."""
        super().__init__(account)
        self.nat = account.nat_gateway(self.public)
        self.appliance_table = account.table(self.vpc, NatGatewayId=self.nat)
        self.appliance_subnet = account.subnet(self.vpc, self.appliance_table)
        if load_balancer:
            self.endpoint = account.load_balancer_endpoint(self.vpc, self.appliance_subnet)
        elif firewall_of:
            arn = account.firewall_arn(firewall_of.appliance_subnet)
            self.endpoint = account.endpoint_of_firewall(arn, self.vpc, self.appliance_subnet)
        else:
            self.endpoint = account.firewall_endpoint(self.vpc, self.appliance_subnet, nat_scope)
        self.table = account.table(self.vpc, VpcEndpointId=self.endpoint)
        self.subnet = account.subnet(self.vpc, self.table)


# --- central egress ------------------------------------------------------------------------------------------------
#
# Central egress: spoke VPCs behind a transit gateway whose only way to the internet is a NAT gateway in an egress VPC.
#
# https://docs.aws.amazon.com/vpc/latest/tgw/transit-gateway-nat-igw.html.


EVERY_VPC = "10.0.0.0/8"


class Hub(PublicSide):
    """A transit gateway and an egress VPC, whose attachment subnets lead to a NAT gateway in its public subnet.

    The transit gateway has a table for its spokes, which leads all of their traffic to the egress VPC, and one for the
    egress VPC, to which the spokes propagate. The public subnet's table leads back to the spokes.
    """

    def __init__(self, account: Account, *, appliance_mode: bool = False) -> None:
        """Build it without any spoke."""
        super().__init__(account)
        self.nat = account.nat_gateway(self.public)
        self.egress_table = account.table(self.vpc, NatGatewayId=self.nat)
        self.gateway = self._transit_gateway()
        mode = {"ApplianceModeSupport": "enable" if appliance_mode else "disable"}
        zones = [account.subnet(self.vpc, self.egress_table, zone) for zone in "ab"]
        self.attachment = attach(account, self.gateway, self.vpc, *zones, **mode)
        account.route(self.public_table, EVERY_VPC, TransitGatewayId=self.gateway)
        self.spokes_table, self.own_table = self._transit_gateway_table(), self._transit_gateway_table()
        self._associate(self.own_table, self.attachment)
        self.lead(ANYWHERE, self.attachment)

    def _transit_gateway(self) -> str:
        options = {"DefaultRouteTableAssociation": "disable", "DefaultRouteTablePropagation": "disable"}
        return str(self.account.ec2.create_transit_gateway(Options=options)["TransitGateway"]["TransitGatewayId"])

    def _transit_gateway_table(self) -> str:
        made = self.account.ec2.create_transit_gateway_route_table(TransitGatewayId=self.gateway)
        return str(made["TransitGatewayRouteTable"]["TransitGatewayRouteTableId"])

    def _associate(self, table_id: str, attachment_id: str) -> None:
        self.account.ec2.associate_transit_gateway_route_table(
            TransitGatewayRouteTableId=table_id, TransitGatewayAttachmentId=attachment_id
        )

    def lead(self, destination: str, attachment_id: str | None) -> None:
        """Make a static route in the spokes' table; a blackhole for None."""
        target = {"TransitGatewayAttachmentId": attachment_id} if attachment_id else {"Blackhole": True}
        self.account.ec2.create_transit_gateway_route(
            DestinationCidrBlock=destination, TransitGatewayRouteTableId=self.spokes_table, **target
        )

    def inspect(self, destination: str) -> str:
        """Lead the spokes' traffic through a firewall attached to the transit gateway; return its attachment.

        The attachment's own table leads on to the egress VPC
        (https://docs.aws.amazon.com/network-firewall/latest/developerguide/tgw-firewall.html).
        """
        self.account.firewall_on(self.gateway)
        by_type = [{"Name": "resource-type", "Values": ["network-function"]}]
        [found] = self.account.ec2.describe_transit_gateway_attachments(Filters=by_type)["TransitGatewayAttachments"]
        attachment, inspected = str(found["TransitGatewayAttachmentId"]), self._transit_gateway_table()
        self._associate(inspected, attachment)
        self.account.ec2.create_transit_gateway_route(
            DestinationCidrBlock=ANYWHERE,
            TransitGatewayRouteTableId=inspected,
            TransitGatewayAttachmentId=self.attachment,
        )
        self.lead(destination, attachment)
        return attachment

    def share(self, other: Account) -> None:
        """Share the transit gateway with another account."""
        [gateway] = self.account.ec2.describe_transit_gateways(TransitGatewayIds=[self.gateway])["TransitGateways"]
        self.account.sandbox.client("ram", credentials=self.account.credentials).create_resource_share(
            name=f"to-{other.account_id}", principals=[other.account_id], resourceArns=[gateway["TransitGatewayArn"]]
        )

    def join(self, account: Account, *zones: str) -> "Spoke":
        """Add a spoke of the same account, or of one that the transit gateway is shared with, in zone a or others."""
        spoke = Spoke(account, self.gateway, zones or ("a",))
        attachment = {"TransitGatewayAttachmentId": spoke.attachment}
        if account.account_id != self.account.account_id:
            self.account.ec2.accept_transit_gateway_vpc_attachment(**attachment)
        spoke.lead_out()
        self._associate(self.spokes_table, spoke.attachment)
        self.account.ec2.enable_transit_gateway_route_table_propagation(
            TransitGatewayRouteTableId=self.own_table, **attachment
        )
        return spoke


class Spoke:
    """A VPC with one private subnet, whose table leads to a transit gateway."""

    def __init__(self, account: Account, gateway_id: str, zones: tuple[str, ...]) -> None:
        """Build and attach it; there is no route to the transit gateway yet."""
        self.account = account
        self.gateway = gateway_id
        self.vpc = account.vpc()
        self.table = account.table(self.vpc)
        self.subnets = [account.subnet(self.vpc, self.table, zone) for zone in zones]
        self.subnet = self.subnets[0]
        self.attachment = attach(account, gateway_id, self.vpc, *self.subnets)

    def lead_out(self) -> None:
        """Route everything to the transit gateway, which the VPC must be attached to."""
        self.account.route(self.table, TransitGatewayId=self.gateway)


def attach(account: Account, gateway_id: str, vpc_id: str, *subnet_ids: str, **options: str) -> str:
    """Attach a VPC to a transit gateway by some of its subnets and return the attachment."""
    made = account.ec2.create_transit_gateway_vpc_attachment(
        TransitGatewayId=gateway_id, VpcId=vpc_id, SubnetIds=list(subnet_ids), Options=options
    )
    return str(made["TransitGatewayVpcAttachment"]["TransitGatewayAttachmentId"])
