"""An account with a subnet for every kind of egress path, in both address families and several VPCs."""

from config_rule_sandbox.networks.account import ANYWHERE_IPV6, Account
from config_rule_sandbox.networks.central_egress import Hub
from config_rule_sandbox.networks.public_sides import BehindFirewall, BehindNatGateway, BehindNatInstance, PublicSide

NAT64 = "64:ff9b::/96"
"""The prefix that NAT gateways translate (https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-nat64-dns64.html)."""

OTHER_OWNER = "444455556666"


class Everything:
    """The network; `subnets` has the ids of its subnets, by the kind of path."""

    def __init__(self, account: Account) -> None:
        """Build the network."""
        self.account = account
        self.subnets: dict[str, str] = {}
        self._gateways()
        self._endpoints()
        self._endpoints_beside_the_path()
        self._main_tables()
        self._instances()
        self._appliances()
        self._transit_gateway()
        self._ipv6()
        self._elsewhere()
        self._shared()
        self._closed()

    def s3express_blocks(self) -> list[str]:
        """Return the IPv4 blocks of S3 Express in the Region."""
        listed = self.account.ec2.describe_prefix_lists()["PrefixLists"]
        return next(list(found["Cidrs"]) for found in listed if found["PrefixListName"].endswith("s3express"))

    def _gateways(self) -> None:
        vpc = BehindNatGateway(self.account)
        self.subnets |= {"NAT gateway": vpc.subnet, "internet gateway": vpc.public}
        self.subnets["no route"] = self.account.subnet(vpc.vpc, self.account.table(vpc.vpc))
        self.subnets["main table"] = self.account.subnet(vpc.vpc, zone="b")
        gone = self.account.nat_gateway(vpc.public)
        self.subnets["blackhole"] = self.account.subnet(vpc.vpc, self.account.table(vpc.vpc, NatGatewayId=gone))
        self.account.ec2.delete_nat_gateway(NatGatewayId=gone)
        made = self.account.ec2.create_nat_gateway(VpcId=vpc.vpc, AvailabilityMode="regional")["NatGateway"]
        regional = self.account.table(vpc.vpc, NatGatewayId=made["NatGatewayId"])
        self.subnets["regional NAT gateway"] = self.account.subnet(vpc.vpc, regional)
        halves, elsewhere = self.account.table(vpc.vpc), self.account.table(vpc.vpc)
        self.account.route(halves, "0.0.0.0/1", NatGatewayId=vpc.nat)
        self.account.route(halves, "128.0.0.0/1", NatGatewayId=vpc.nat)
        self.account.route(elsewhere, "192.168.0.0/16", NatGatewayId=vpc.nat)
        self.subnets["NAT gateway, by halves"] = self.account.subnet(vpc.vpc, halves)
        self.subnets["NAT gateway for another network"] = self.account.subnet(vpc.vpc, elsewhere)
        excluded = self.subnets["excluded"] = self.account.subnet(vpc.vpc, vpc.table)
        self.account.ec2.create_tags(Resources=[excluded], Tags=[{"Key": "express-path:exclude", "Value": ""}])

    def _endpoints(self) -> None:
        vpc = BehindNatGateway(self.account)
        partly = self.account.table(vpc.vpc, NatGatewayId=vpc.nat)
        by_list = self.account.table(vpc.vpc, NatGatewayId=vpc.nat)
        self.account.endpoint(vpc.vpc, vpc.table, partly, by_list)
        first, second = self.s3express_blocks()[:2]
        self.account.route(partly, first, NatGatewayId=vpc.nat)
        self.account.route(by_list, self._prefix_list(_host_of(second)), NatGatewayId=vpc.nat)
        self.subnets["endpoint"] = vpc.subnet
        self.subnets["endpoint and equal static route"] = self.account.subnet(vpc.vpc, partly)
        self.subnets["endpoint and customer's prefix list"] = self.account.subnet(vpc.vpc, by_list)

    def _endpoints_beside_the_path(self) -> None:
        none, other, s3, zones = (BehindNatGateway(self.account) for _ in range(4))
        self.account.endpoint(none.vpc)
        self.account.endpoint(other.vpc, self.account.table(other.vpc))
        self.account.endpoint(s3.vpc, s3.table, service="s3")
        self.account.endpoint(zones.vpc, zones.table)
        self.subnets["endpoint on no table"] = none.subnet
        self.subnets["endpoint on another table"] = other.subnet
        self.subnets["endpoint for s3"] = s3.subnet
        self.subnets["endpoint in one zone of two"] = zones.subnet
        forgotten = self.account.table(zones.vpc, NatGatewayId=zones.nat)
        self.subnets["endpoint in the other zone"] = self.account.subnet(zones.vpc, forgotten, "b")

    def _main_tables(self) -> None:
        for name, endpoint in {"main table, NAT gateway": False, "main table, endpoint": True}.items():
            vpc = BehindNatGateway(self.account)
            wanted = [{"Name": "vpc-id", "Values": [vpc.vpc]}, {"Name": "association.main", "Values": ["true"]}]
            [main] = self.account.ec2.describe_route_tables(Filters=wanted)["RouteTables"]
            self.account.route(main["RouteTableId"], NatGatewayId=vpc.nat)
            self.subnets[name] = self.account.subnet(vpc.vpc)
            if endpoint:
                self.account.endpoint(vpc.vpc, main["RouteTableId"])

    def _prefix_list(self, block: str) -> str:
        made = self.account.ec2.create_managed_prefix_list(
            PrefixListName="customer", MaxEntries=5, AddressFamily="IPv4", Entries=[{"Cidr": block}]
        )
        return str(made["PrefixList"]["PrefixListId"])

    def _instances(self) -> None:
        self.subnets["NAT instance"] = BehindNatInstance(self.account, "c7gn.medium").subnet
        self.subnets["floating interface"] = BehindNatInstance(self.account, floating=True).subnet
        self.subnets["instance that checks"] = BehindNatInstance(self.account, check=True).subnet
        dead = BehindNatInstance(self.account)
        dead.terminate()
        self.subnets["dead instance"] = dead.subnet
        vpc = BehindNatGateway(self.account)
        _, interface = self.account.instance(vpc.subnet)
        behind = self.account.table(vpc.vpc, NetworkInterfaceId=interface)
        self.subnets["forwarding instance, then NAT gateway"] = self.account.subnet(vpc.vpc, behind)

    def _appliances(self) -> None:
        self.subnets["firewall"] = BehindFirewall(self.account).subnet
        self.subnets["load balancer"] = BehindFirewall(self.account, load_balancer=True).subnet
        cured = BehindFirewall(self.account)
        self.account.endpoint(cured.vpc, cured.appliance_table)
        self.subnets["firewall, then endpoint"] = cured.subnet
        other = BehindFirewall(self.account, firewall_of=cured)
        self.account.endpoint(other.vpc, other.appliance_table)
        self.subnets["firewall of another VPC, then endpoint"] = other.subnet
        proxy = BehindFirewall(self.account, nat_scope="NAT_NONE")
        self.account.endpoint(proxy.vpc, proxy.appliance_table)
        self.subnets["proxy firewall without translation, then endpoint"] = proxy.subnet
        unknown = BehindFirewall(self.account, load_balancer=True)
        self.account.endpoint(unknown.vpc, unknown.appliance_table)
        self.subnets["load balancer, then endpoint"] = unknown.subnet

    def _transit_gateway(self) -> None:
        hub = Hub(self.account)
        spoke, cured = hub.join(self.account, "a", "b", "c"), hub.join(self.account)
        self.account.endpoint(cured.vpc, cured.table)
        self.subnets |= {"spoke": spoke.subnet, "spoke in a zone without attachment": spoke.subnets[2]}
        self.subnets["spoke with an endpoint"] = cured.subnet
        hub.lead(self.s3express_blocks()[0], None)
        hub.inspect(self.s3express_blocks()[1])
        narrow = hub.join(self.account, "a")
        self.subnets["spoke in a zone that is not covered"] = self.account.subnet(narrow.vpc, narrow.table, "b")

    def _ipv6(self) -> None:
        vpc = PublicSide(self.account, ipv6=True)
        made = self.account.ec2.create_egress_only_internet_gateway(VpcId=vpc.vpc)["EgressOnlyInternetGateway"]
        egress_only = {"EgressOnlyInternetGatewayId": made["EgressOnlyInternetGatewayId"]}
        nat = self.account.nat_gateway(vpc.public)
        for name, address_type in {"IPv4 endpoint": "ipv4", "endpoint of both families": "dualstack"}.items():
            table = self.account.table(vpc.vpc, NatGatewayId=nat)
            self.account.route(table, ANYWHERE_IPV6, **egress_only)
            self.subnets[f"dual stack, {name}"] = self.account.subnet(vpc.vpc, table, ipv6=True)
            self.account.endpoint(vpc.vpc, table, IpAddressType=address_type)
        for name, endpoint in {"dual stack, DNS64": False, "dual stack, DNS64 and endpoint": True}.items():
            table = self.account.table(vpc.vpc)
            self.account.route(table, NAT64, NatGatewayId=nat)
            self.subnets[name] = self.account.subnet(vpc.vpc, table, ipv6=True)
            self.account.ec2.modify_subnet_attribute(SubnetId=self.subnets[name], EnableDns64={"Value": True})
            if endpoint:
                self.account.endpoint(vpc.vpc, table, IpAddressType="dualstack")
        plain = self.account.table(vpc.vpc, NatGatewayId=nat)
        self.account.route(plain, ANYWHERE_IPV6, **egress_only)
        self.subnets["dual stack"] = self.account.subnet(vpc.vpc, plain, ipv6=True)
        translating = self.account.table(vpc.vpc)
        self.account.route(translating, NAT64, NatGatewayId=nat)
        native = self.subnets["NAT64"] = self.account.native_subnet(vpc.vpc, translating)
        self.account.ec2.modify_subnet_attribute(SubnetId=native, EnableDns64={"Value": True})

    def _elsewhere(self) -> None:
        vpc, peer = self.account.vpc(), self.account.vpc()
        made = self.account.ec2.create_vpc_peering_connection(VpcId=vpc, PeerVpcId=peer)["VpcPeeringConnection"]
        peering = {"VpcPeeringConnectionId": made["VpcPeeringConnectionId"]}
        self.account.ec2.accept_vpc_peering_connection(**peering)
        self.subnets["peering"] = self.account.subnet(vpc, self.account.table(vpc, **peering))
        gateway = self.account.ec2.create_vpn_gateway(Type="ipsec.1")["VpnGateway"]["VpnGatewayId"]
        self.account.ec2.attach_vpn_gateway(VpcId=vpc, VpnGatewayId=gateway)
        self.subnets["virtual private gateway"] = self.account.subnet(vpc, self.account.table(vpc, GatewayId=gateway))

    def _shared(self) -> None:
        owner = Account(self.account.sandbox, OTHER_OWNER, first=200)
        shared = self.subnets["shared by another account"] = BehindNatGateway(owner).subnet
        sharing = self.account.sandbox.ec2.sharing
        sharing.share_subnet(shared, self.account.account_id, OTHER_OWNER, self.account.sandbox.region)

    def _closed(self) -> None:
        """Turn on Block Public Access for the whole account, with an exclusion for all VPCs except one."""
        closed = PublicSide(self.account)
        self.subnets["closed internet gateway"] = closed.public
        ec2 = self.account.ec2
        ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="block-bidirectional")
        own = [{"Name": "owner-id", "Values": [self.account.account_id]}]
        for vpc_id in {vpc["VpcId"] for vpc in ec2.describe_vpcs(Filters=own)["Vpcs"]} - {closed.vpc}:
            ec2.create_vpc_block_public_access_exclusion(
                VpcId=vpc_id, InternetGatewayExclusionMode="allow-bidirectional"
            )


def _host_of(block: str) -> str:
    """Return the first address of a block as a block."""
    return f"{block.partition('/')[0]}/32"
