"""VPCs with a public and a private subnet, and what lies between the two: a NAT of either kind, or an appliance."""

from config_rule_sandbox.networks.account import Account


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
