"""Hops that the function reads from EC2: NAT instances, appliances, and transit gateways, in one or two accounts."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import pytest

from sandbox.networks import Account, BehindFirewall, BehindNatGateway, BehindNatInstance, Hub, Spoke, attach
from sandbox.server import Sandbox
from tests.support.rule import Rule

pytestmark = pytest.mark.slow

NETWORK = "111122223333"
ROLE = f"arn:aws:iam::{NETWORK}:role/express-path-network"
OF_A_SWEEP = {
    "DescribeVpcs",
    "DescribeSubnets",
    "DescribeRouteTables",
    "DescribeVpcEndpoints",
    "DescribeNatGateways",
    "DescribePrefixLists",
}
Logged = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def account(sandbox: Sandbox) -> Account:
    """The rule's own account."""
    return Account(sandbox)


@pytest.fixture
def network(sandbox: Sandbox) -> Account:
    """The network account, which owns the transit gateway in tests with two accounts."""
    return Account(sandbox, NETWORK, first=100)


class Place(Protocol):
    """A subnet and the route table that governs it."""

    vpc: str
    table: str
    subnet: str


def evaluations(rule: Rule, place: Place) -> dict[str, dict[str, Any]]:
    """Invoke the function for a changed route table and return its results for all affected subnets."""
    item = {
        "awsAccountId": rule.sandbox.account_id,
        "configurationItemCaptureTime": rule.now,
        "configurationItemStatus": "OK",
        "resourceType": "AWS::EC2::RouteTable",
        "resourceId": place.table,
        "configuration": {"vpcId": place.vpc},
    }
    return {evaluation["subnetId"]: evaluation for evaluation in rule.invoke(rule.event(item))["evaluations"]}


def evaluation(rule: Rule, place: Place) -> dict[str, Any]:
    """Invoke the function for a changed route table and return its result for the subnet that the table governs."""
    return evaluations(rule, place)[place.subnet]


def swept(rule: Rule, place: Place) -> dict[str, Any]:
    """Run a sweep and return the function's result for a subnet, whose verdict must be new."""
    delivery = rule.loop.scheduled()
    if delivery.error:
        raise delivery.error
    [found] = [evaluation for evaluation in delivery.answer["evaluations"] if evaluation["subnetId"] == place.subnet]
    return dict(found)


def assumed(sandbox: Sandbox) -> list[Mapping[str, Any]]:
    """Return the requests to assume the role in the network account."""
    calls = sandbox.calls.of("sts", "AssumeRole")
    return [call.parameters for call in calls if call.parameters["RoleArn"] == ROLE]


def ids(evaluation: dict[str, Any]) -> list[str]:
    """Return the ids of the hops of a path."""
    return [hop["id"] for hop in evaluation["path"]]


def cost(rule: Rule) -> Counter[str]:
    """Return the EC2 and STS reads of a sweep in a new runtime."""
    rule.restart()
    rule.sandbox.calls.clear()
    rule.sweep()
    return Counter(call.operation for service in ("ec2", "sts") for call in rule.sandbox.calls.of(service))


def warnings(logged: Logged) -> list[str]:
    """Return the operations that the function's warnings report as denied."""
    return [line["operation"] for line in logged() if line["level"] == "WARNING"]


def test_nat_instance(rule: Rule, account: Account) -> None:
    """A forwarding instance whose subnet leads to an internet gateway is a NAT, with the bandwidth of its type."""
    vpc = BehindNatInstance(account, "c7gn.medium")
    found = evaluation(rule, vpc)
    assert (found["compliance"], found["reason"]) == ("NON_COMPLIANT", "NAT_INSTANCE")
    assert ids(found) == [vpc.interface, vpc.internet_gateway]
    wanted = {"hopId": vpc.interface, "name": "c7gn.medium", "baselineGbps": 3.125, "peakGbps": 25.0}
    assert found["capacity"] == [wanted]


def test_nat_gateway_has_its_capacity(rule: Rule, account: Account) -> None:
    """A NAT gateway has 5 to 100 Gbit/s."""
    vpc = BehindNatGateway(account)
    [capacity] = swept(rule, vpc)["capacity"]
    assert (capacity["hopId"], capacity["baselineGbps"], capacity["peakGbps"]) == (vpc.nat, 5, 100)


def test_instance_that_checks_does_not_forward(rule: Rule, account: Account) -> None:
    """If the source/destination check is on, the path cannot be determined; if it is off, the instance is a NAT."""
    vpc = BehindNatInstance(account, check=True)
    found = evaluation(rule, vpc)
    assert (found["compliance"], found["reason"]) == ("NOT_APPLICABLE", "UNRESOLVED_EGRESS")
    assert "check" in found["annotation"]
    account.ec2.modify_instance_attribute(InstanceId=vpc.instance, SourceDestCheck={"Value": False})
    assert rule.sweep()[vpc.subnet] == "NAT_INSTANCE"


def test_interfaces_may_not_be_read(rule: Rule, account: Account, logged: Logged) -> None:
    """Without ec2:DescribeNetworkInterfaces, the annotation names the permission and the function logs a warning."""
    vpc = BehindNatInstance(account)
    rule.sandbox.faults.deny("ec2", "DescribeNetworkInterfaces")
    found = evaluation(rule, vpc)
    assert found["reason"] == "UNRESOLVED_EGRESS"
    assert "ec2:DescribeNetworkInterfaces" in found["annotation"]
    assert warnings(logged) == ["ec2:DescribeNetworkInterfaces"]


@pytest.mark.parametrize("operation", ["DescribeInstances", "DescribeInstanceTypes"])
def test_bandwidth_may_not_be_read(rule: Rule, account: Account, logged: Logged, operation: str) -> None:
    """The capacity of an instance is optional evidence: without it, the verdict is the same."""
    vpc = BehindNatInstance(account)
    rule.sandbox.faults.deny("ec2", operation)
    found = evaluation(rule, vpc)
    assert (found["reason"], found["capacity"]) == ("NAT_INSTANCE", [])
    assert warnings(logged) == [f"ec2:{operation}"]


@pytest.mark.parametrize("floating", [True, False])
def test_successor_of_a_nat_instance(rule: Rule, account: Account, floating: bool) -> None:
    """A terminated instance leaves a blackhole. A replacement is a NAT again, with its own or the moved interface."""
    vpc = BehindNatInstance(account, floating=floating)
    assert rule.sweep()[vpc.subnet] == "NAT_INSTANCE"
    vpc.terminate()
    assert rule.sweep()[vpc.subnet] == "DROPPED"
    vpc.succeed("c7gn.medium")
    found = evaluation(rule, vpc)
    assert (found["compliance"], found["reason"]) == ("NON_COMPLIANT", "NAT_INSTANCE")
    assert (ids(found)[0], found["capacity"][0]["name"]) == (vpc.interface, "c7gn.medium")


def test_flips_between_instance_and_gateway(rule: Rule, account: Account) -> None:
    """If a route switches to a standby NAT gateway and back, each change's event keeps the subnet NON_COMPLIANT."""
    vpc = BehindNatInstance(account)
    standby = account.nat_gateway(vpc.public)
    rule.sweep()
    rule.take_as_known()
    account.replace(vpc.table, NatGatewayId=standby)
    assert rule.changes(of=vpc.table) == {vpc.subnet: "NAT_GATEWAY"}
    account.replace(vpc.table, NetworkInterfaceId=vpc.interface)
    assert rule.changes(of=vpc.table) == {vpc.subnet: "NAT_INSTANCE"}
    assert rule.held()[vpc.subnet].compliance == "NON_COMPLIANT"


def test_dead_instance_beside_a_longer_route(rule: Rule, account: Account) -> None:
    """If a blackhole drops traffic to some S3 Express addresses, the NAT gateway for the others decides the verdict."""
    vpc = BehindNatInstance(account)
    gateway = account.nat_gateway(vpc.public)
    for half in ("0.0.0.0/1", "128.0.0.0/1"):
        account.route(vpc.table, half, NatGatewayId=gateway)
    listed = account.ec2.describe_prefix_lists()["PrefixLists"]
    cidr = next(
        prefix_list["Cidrs"][0] for prefix_list in listed if prefix_list["PrefixListName"].endswith("s3express")
    )
    account.route(vpc.table, cidr, NetworkInterfaceId=vpc.interface)
    vpc.terminate()
    found = evaluation(rule, vpc)
    assert (found["compliance"], found["reason"], ids(found)) == ("NON_COMPLIANT", "NAT_GATEWAY", [gateway])


@pytest.mark.parametrize("load_balancer", [False, True])
def test_firewall_then_nat(rule: Rule, account: Account, load_balancer: bool) -> None:
    """After a firewall or Gateway Load Balancer endpoint, the table of its subnet decides, here with a NAT route."""
    vpc = BehindFirewall(account, load_balancer=load_balancer)
    found = swept(rule, vpc)
    assert (found["compliance"], found["reason"]) == ("NON_COMPLIANT", "NAT_BEHIND_APPLIANCE")
    assert ids(found) == [vpc.endpoint, vpc.nat]
    assert rule.held()[vpc.appliance_subnet].reason == "NAT_GATEWAY"


def test_endpoint_behind_a_firewall(rule: Rule, account: Account) -> None:
    """A gateway endpoint on the table of the firewall's subnet also fixes the subnets that route to the firewall."""
    vpc = BehindFirewall(account)
    account.endpoint(vpc.vpc, vpc.appliance_table)
    rule.sweep()
    assert {subnet_id: result.reason for subnet_id, result in rule.held().items()} == {
        vpc.subnet: "ENDPOINT",
        vpc.appliance_subnet: "ENDPOINT",
        vpc.public: "INTERNET_GATEWAY",
    }


def test_central_egress_in_one_account(rule: Rule, account: Account) -> None:
    """A spoke's path has the transit gateway, the egress VPC's attachment, and the NAT there."""
    hub = Hub(account)
    spoke = hub.join(account)
    found = swept(rule, spoke)
    assert (found["compliance"], found["reason"]) == ("NON_COMPLIANT", "NAT_BEYOND_TRANSIT_GATEWAY")
    assert ids(found) == [hub.gateway, hub.attachment, hub.nat]
    assert found["capacity"][0]["hopId"] == hub.nat


def test_central_egress_by_an_event(rule: Rule, account: Account) -> None:
    """The event of a spoke's route table is enough to follow the path into the egress VPC."""
    hub = Hub(account)
    spoke = hub.join(account)
    rule.take_as_known()
    account.route(spoke.table, "192.0.2.0/24", TransitGatewayId=hub.gateway)
    assert rule.changes(of=spoke.table) == {spoke.subnet: "NAT_BEYOND_TRANSIT_GATEWAY"}


def test_own_endpoint_spares_the_transit_gateway(rule: Rule, account: Account) -> None:
    """The route of a spoke's own gateway endpoint has a longer prefix than the route to the transit gateway."""
    spoke = Hub(account).join(account)
    account.endpoint(spoke.vpc, spoke.table)
    assert evaluation(rule, spoke)["reason"] == "ENDPOINT"


def test_blackhole_in_the_transit_gateways_table(rule: Rule, account: Account) -> None:
    """A blackhole with a longer prefix than the default route drops the traffic."""
    hub = Hub(account)
    for half in ("0.0.0.0/1", "128.0.0.0/1"):
        hub.lead(half, None)
    spoke = hub.join(account)
    found = evaluation(rule, spoke)
    assert (found["compliance"], found["reason"]) == ("NOT_APPLICABLE", "DROPPED")


def test_detached_egress_vpc(rule: Rule, account: Account) -> None:
    """If the egress VPC is detached, the transit gateway's route is a blackhole and the traffic is dropped."""
    hub = Hub(account)
    spoke = hub.join(account)
    account.ec2.delete_transit_gateway_vpc_attachment(TransitGatewayAttachmentId=hub.attachment)
    assert evaluation(rule, spoke)["reason"] == "DROPPED"


def test_firewall_in_the_egress_vpc(rule: Rule, account: Account) -> None:
    """A NAT beyond a transit gateway takes precedence over an appliance on the same path."""
    hub = Hub(account)
    inspected = account.subnet(hub.vpc, account.table(hub.vpc, NatGatewayId=hub.nat), "c")
    endpoint = account.firewall_endpoint(hub.vpc, inspected)
    account.replace(hub.egress_table, VpcEndpointId=endpoint)
    spoke = hub.join(account)
    found = evaluation(rule, spoke)
    assert found["reason"] == "NAT_BEYOND_TRANSIT_GATEWAY"
    assert ids(found) == [hub.gateway, hub.attachment, endpoint, hub.nat]


def test_firewall_attached_to_the_transit_gateway(rule: Rule, account: Account) -> None:
    """Traffic passes the firewall, and the table associated with its attachment leads to the egress VPC's NAT."""
    hub = Hub(account)
    account.ec2.delete_transit_gateway_route(
        TransitGatewayRouteTableId=hub.spokes_table, DestinationCidrBlock="0.0.0.0/0"
    )
    firewall = hub.inspect("0.0.0.0/0")
    found = evaluation(rule, hub.join(account))
    assert found["reason"] == "NAT_BEYOND_TRANSIT_GATEWAY"
    assert ids(found) == [hub.gateway, firewall, hub.attachment, hub.nat]


def test_zones_of_the_egress_vpc(rule: Rule, account: Account) -> None:
    """Traffic uses the egress VPC's attachment subnet in its own zone: one zone can have a NAT and another none."""
    hub = Hub(account)
    spoke = hub.join(account, "a", "b")
    subnets = account.ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [hub.vpc]}])["Subnets"]
    [in_b] = [row["SubnetId"] for row in subnets if row["AvailabilityZone"].endswith("b")]
    tables = account.ec2.describe_route_tables(Filters=[{"Name": "association.subnet-id", "Values": [in_b]}])
    associations = tables["RouteTables"][0]["Associations"]
    [association] = [row["RouteTableAssociationId"] for row in associations if row.get("SubnetId") == in_b]
    nowhere = account.table(hub.vpc)
    account.ec2.replace_route_table_association(AssociationId=association, RouteTableId=nowhere)
    found = evaluations(rule, spoke)
    assert [found[subnet_id]["reason"] for subnet_id in spoke.subnets] == ["NAT_BEYOND_TRANSIT_GATEWAY", "NO_ROUTE"]
    account.ec2.modify_transit_gateway_vpc_attachment(
        TransitGatewayAttachmentId=hub.attachment, Options={"ApplianceModeSupport": "enable"}
    )
    in_appliance_mode = evaluations(rule, spoke)
    assert {evaluation["reason"] for evaluation in in_appliance_mode.values()} == {"NAT_BEYOND_TRANSIT_GATEWAY"}


def test_peering_of_transit_gateways(rule: Rule, account: Account) -> None:
    """A route to a peering attachment leads to another Region: the path is not followed, and the hop is named."""
    hub, peer = Hub(account), rule.sandbox.client("ec2", region="eu-west-1")
    spoke = hub.join(account)
    made = account.ec2.create_transit_gateway_peering_attachment(
        TransitGatewayId=hub.gateway,
        PeerTransitGatewayId=peer.create_transit_gateway()["TransitGateway"]["TransitGatewayId"],
        PeerAccountId=rule.sandbox.account_id,
        PeerRegion="eu-west-1",
    )["TransitGatewayPeeringAttachment"]["TransitGatewayAttachmentId"]
    peer.accept_transit_gateway_peering_attachment(TransitGatewayAttachmentId=made)
    for half in ("0.0.0.0/1", "128.0.0.0/1"):
        hub.lead(half, made)
    found = evaluation(rule, spoke)
    assert (found["reason"], ids(found)) == ("UNRESOLVED_EGRESS", [hub.gateway, made])
    assert "peering" in found["annotation"]


def test_nat_gateway_of_the_egress_vpc_concerns_the_spokes(rule: Rule, account: Account) -> None:
    """A change of a NAT gateway re-evaluates exactly the subnets whose path crosses it, in all VPCs."""
    hub = Hub(account)
    spokes = [hub.join(account) for _ in range(2)]
    BehindNatGateway(account)
    rule.sweep()
    rule.take_as_known()
    account.ec2.create_tags(Resources=[hub.nat], Tags=[{"Key": "owner", "Value": "network"}])
    account.ec2.delete_nat_gateway(NatGatewayId=hub.nat)
    concerned = rule.changes(of=hub.nat)
    assert {spoke.subnet for spoke in spokes} <= concerned.keys()
    in_egress = account.ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [hub.vpc]}])["Subnets"]
    attached = {row["SubnetId"] for row in in_egress} - {hub.public}
    assert concerned == dict.fromkeys({spoke.subnet for spoke in spokes} | attached, "DROPPED")


@pytest.fixture
def two_accounts(account: Account, network: Account) -> tuple[Hub, Spoke]:
    """A hub in the network account, shared with the rule's account, which has a spoke."""
    hub = Hub(network)
    hub.share(account)
    return hub, hub.join(account)


def test_spoke_without_a_role(rule: Rule, two_accounts: tuple[Hub, Spoke], logged: Logged) -> None:
    """From a spoke account, a transit gateway cannot be followed; the annotation says what to configure."""
    hub, spoke = two_accounts
    found = evaluation(rule, spoke)
    assert (found["compliance"], found["reason"]) == ("NOT_APPLICABLE", "UNRESOLVED_EGRESS")
    assert ids(found) == [hub.gateway]
    assert "ec2:SearchTransitGatewayRoutes" in found["annotation"]
    assert "networkRoleArn" in found["annotation"]
    assert warnings(logged) == []
    assert assumed(rule.sandbox) == []


def test_parameter_decides_on_what_cannot_be_told(sandbox: Sandbox, two_accounts: tuple[Hub, Spoke]) -> None:
    """unresolvedEgress=NON_COMPLIANT flags a spoke whose transit gateway cannot be followed."""
    _, spoke = two_accounts
    found = evaluation(Rule(sandbox, {"unresolvedEgress": "NON_COMPLIANT"}), spoke)
    assert (found["compliance"], found["reason"]) == ("NON_COMPLIANT", "UNRESOLVED_EGRESS")


def test_spoke_with_a_role(sandbox: Sandbox, two_accounts: tuple[Hub, Spoke]) -> None:
    """With a role in the network account, the path is followed to its NAT gateway, and the capacity is shown."""
    hub, spoke = two_accounts
    found = evaluation(Rule(sandbox, {"networkRoleArn": ROLE}), spoke)
    assert (found["compliance"], found["reason"]) == ("NON_COMPLIANT", "NAT_BEYOND_TRANSIT_GATEWAY")
    assert ids(found) == [hub.gateway, hub.attachment, hub.nat]
    assert found["capacity"][0]["hopId"] == hub.nat
    [request] = assumed(sandbox)
    assert "ExternalId" not in request


def test_role_is_assumed_with_the_external_id(
    sandbox: Sandbox, two_accounts: tuple[Hub, Spoke], monkeypatch: pytest.MonkeyPatch
) -> None:
    """NETWORK_ROLE_EXTERNAL_ID is what the role's trust policy may ask for.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_common-scenarios_third-party.html
    """
    _, spoke = two_accounts
    monkeypatch.setenv("NETWORK_ROLE_EXTERNAL_ID", "who-asks")
    assert evaluation(Rule(sandbox, {"networkRoleArn": ROLE}), spoke)["reason"] == "NAT_BEYOND_TRANSIT_GATEWAY"
    [request] = assumed(sandbox)
    assert request["ExternalId"] == "who-asks"


def test_role_by_an_event(sandbox: Sandbox, two_accounts: tuple[Hub, Spoke]) -> None:
    """For the event of a spoke's route table, the role is assumed too."""
    hub, spoke = two_accounts
    rule = Rule(sandbox, {"networkRoleArn": ROLE})
    rule.take_as_known()
    spoke.account.route(spoke.table, "192.0.2.0/24", TransitGatewayId=hub.gateway)
    assert rule.changes(of=spoke.table) == {spoke.subnet: "NAT_BEYOND_TRANSIT_GATEWAY"}


def test_egress_vpc_of_another_account(sandbox: Sandbox, account: Account, network: Account) -> None:
    """The rule's account may own the transit gateway, and the network account the egress VPC."""
    hub = Hub(account)
    hub.share(network)
    egress = BehindNatGateway(network)
    attachment = attach(network, hub.gateway, egress.vpc, egress.subnet)
    account.ec2.accept_transit_gateway_vpc_attachment(TransitGatewayAttachmentId=attachment)
    for half in ("0.0.0.0/1", "128.0.0.0/1"):
        hub.lead(half, attachment)
    spoke = hub.join(account)
    assert evaluation(Rule(sandbox), spoke)["reason"] == "UNRESOLVED_EGRESS"
    found = evaluation(Rule(sandbox, {"networkRoleArn": ROLE}), spoke)
    assert (found["reason"], ids(found)) == ("NAT_BEYOND_TRANSIT_GATEWAY", [hub.gateway, attachment, egress.nat])


def test_foreign_subnets_are_never_reported(sandbox: Sandbox, two_accounts: tuple[Hub, Spoke]) -> None:
    """Resources that the role reads in the network account are used for paths but are not evaluated."""
    _, spoke = two_accounts
    rule = Rule(sandbox, {"networkRoleArn": ROLE, "publicSubnets": "NON_COMPLIANT"})
    assert rule.sweep() == {spoke.subnet: "NAT_BEYOND_TRANSIT_GATEWAY"}
    assert rule.held().keys() == {spoke.subnet}


def test_role_is_not_assumed_in_vain(sandbox: Sandbox, account: Account) -> None:
    """If no route leads to a transit gateway, the role is not assumed."""
    vpc = BehindNatGateway(account)
    assert evaluation(Rule(sandbox, {"networkRoleArn": ROLE}), vpc)["reason"] == "NAT_GATEWAY"
    assert sandbox.calls.of("sts") == []


def test_no_hop_costs_nothing(rule: Rule, account: Account) -> None:
    """If no route leads to an instance or a transit gateway, the function reads neither, even if some exist."""
    BehindNatGateway(account)
    vpc = BehindFirewall(account)
    account.instance(vpc.subnet)
    Hub(account).account.ec2.delete_route(RouteTableId=public_table(account), DestinationCidrBlock="10.0.0.0/8")
    assert cost(rule) == Counter(OF_A_SWEEP)


def public_table(account: Account) -> str:
    """Return the only table that leads to a transit gateway."""
    wanted = [{"Name": "route.destination-cidr-block", "Values": ["10.0.0.0/8"]}]
    [table] = account.ec2.describe_route_tables(Filters=wanted)["RouteTables"]
    return str(table["RouteTableId"])


def test_cost_of_nat_instances(rule: Rule, account: Account) -> None:
    """10 NAT instances need as many calls as 2: one each for the interfaces, the instances, and the instance types."""
    for _ in range(2):
        BehindNatInstance(account)
    few = cost(rule)
    for _ in range(8):
        BehindNatInstance(account)
    assert cost(rule) == few
    extra = ("DescribeNetworkInterfaces", "DescribeInstances", "DescribeInstanceTypes")
    assert few == Counter([*OF_A_SWEEP, *extra])


TRANSIT = ("DescribeTransitGatewayAttachments", "DescribeTransitGatewayVpcAttachments")


def test_cost_of_a_transit_gateway(rule: Rule, account: Account) -> None:
    """10 spokes need as many calls as 2: two for attachments, and one search for each transit gateway table in use."""
    hub = Hub(account)
    for _ in range(2):
        hub.join(account)
    few = cost(rule)
    for _ in range(8):
        hub.join(account)
    assert cost(rule) == few
    assert few == Counter([*OF_A_SWEEP, *TRANSIT, *["SearchTransitGatewayRoutes"] * 2])


def test_cost_of_the_network_account(sandbox: Sandbox, account: Account, network: Account) -> None:
    """With two accounts, 10 spokes need as many calls as 2: the role is assumed once, and its account is read once."""
    hub = Hub(network)
    hub.share(account)
    rule = Rule(sandbox, {"networkRoleArn": ROLE})
    for _ in range(2):
        hub.join(account)
    few = cost(rule)
    for _ in range(8):
        hub.join(account)
    assert cost(rule) == few
    both = [*OF_A_SWEEP, *TRANSIT] * 2
    assert few == Counter([*both, "AssumeRole", *["SearchTransitGatewayRoutes"] * 2])


def test_cost_of_an_event(rule: Rule, account: Account) -> None:
    """The event of one table reads its VPC and, if a route leads out of it, each kind of resource in the Region."""
    hub = Hub(account)
    spoke = hub.join(account)
    rule.sweep()
    rule.take_as_known()
    account.route(spoke.table, "192.0.2.0/24", TransitGatewayId=hub.gateway)
    rule.sandbox.calls.clear()
    rule.changes(of=spoke.table)
    spent = Counter(call.operation for call in rule.sandbox.calls.of("ec2"))
    of_vpc = OF_A_SWEEP - {"DescribePrefixLists", "DescribeNatGateways"}
    of_region = OF_A_SWEEP - {"DescribePrefixLists"}
    assert spent == Counter([*of_vpc, *of_region, *TRANSIT, *["SearchTransitGatewayRoutes"] * 2])


def test_hub_is_attached_like_its_spokes(account: Account) -> None:
    """Every attachment of the test hub has an association; otherwise, the tests above could not fail."""
    hub = Hub(account)
    spoke = hub.join(account)
    found = account.ec2.describe_transit_gateway_attachments()["TransitGatewayAttachments"]
    tables = {row["TransitGatewayAttachmentId"]: row["Association"]["TransitGatewayRouteTableId"] for row in found}
    assert tables == {hub.attachment: hub.own_table, spoke.attachment: hub.spokes_table}
