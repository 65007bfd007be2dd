"""Central egress: spoke VPCs behind a transit gateway whose only way to the internet is a NAT gateway in an egress VPC.

https://docs.aws.amazon.com/vpc/latest/tgw/transit-gateway-nat-igw.html.
"""

from config_rule_sandbox.networks.account import ANYWHERE, Account
from config_rule_sandbox.networks.public_sides import PublicSide

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

    def decide_by_policy(self, attachment_id: str, *rules: dict[str, str]) -> str:
        """Let a new policy table decide about an attachment without a table; return it. Its entries lead to the spokes' table."""
        ec2 = self.account.ec2
        made = ec2.create_transit_gateway_policy_table(TransitGatewayId=self.gateway)["TransitGatewayPolicyTable"]
        policy = {"TransitGatewayPolicyTableId": made["TransitGatewayPolicyTableId"]}
        for number, rule in enumerate(rules, start=1):
            ec2.create_transit_gateway_policy_table_entry(
                **policy, PolicyRuleNumber=str(number), PolicyRule=rule, TargetRouteTableId=self.spokes_table
            )
        ec2.associate_transit_gateway_policy_table(**policy, TransitGatewayAttachmentId=attachment_id)
        return str(made["TransitGatewayPolicyTableId"])

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


def connect_over(account: Account, attachment_id: str) -> str:
    """Make a Connect attachment over the attachment of a VPC and return it."""
    made = account.ec2.create_transit_gateway_connect(
        TransportTransitGatewayAttachmentId=attachment_id, Options={"Protocol": "gre"}
    )
    return str(made["TransitGatewayConnect"]["TransitGatewayAttachmentId"])


def attach_to_core_network(account: Account, vpc_id: str, *subnet_ids: str) -> tuple[str, str]:
    """Attach a VPC to a new core network by some of its subnets; return the network's ARN, and the attachment."""
    manager = account.sandbox.client("networkmanager", credentials=account.credentials)
    made = manager.create_global_network()["GlobalNetwork"]["GlobalNetworkId"]
    network = manager.create_core_network(GlobalNetworkId=made)["CoreNetwork"]
    place = f"arn:aws:ec2:{account.sandbox.region}:{account.account_id}"
    attachment = manager.create_vpc_attachment(
        CoreNetworkId=network["CoreNetworkId"],
        VpcArn=f"{place}:vpc/{vpc_id}",
        SubnetArns=[f"{place}:subnet/{subnet_id}" for subnet_id in subnet_ids],
    )["VpcAttachment"]["Attachment"]
    return str(network["CoreNetworkArn"]), str(attachment["AttachmentId"])
