"""Which subnets a change of one resource affects."""

import pytest

from sandbox.config_items.items import ItemStyle
from sandbox.server import Sandbox
from tests.support.network import Builder, Private
from tests.support.rule import Rule

SHORT = ItemStyle(explicit_nulls=False, state_as_object=True, indirect_relationships=False)


@pytest.fixture
def rule(sandbox: Sandbox, request: pytest.FixtureRequest) -> Rule:
    """Return the rule. Its items have the style that a test sets."""
    return Rule(sandbox, style=getattr(request, "param", None))


# AWS Config's items have had several shapes over the years.
all_styles = pytest.mark.parametrize("rule", [ItemStyle(), SHORT], ids=["nulls", "short"], indirect=True)


def interface_endpoint(builder: Builder, vpc: Private) -> str:
    """Create an interface endpoint in the private subnet."""
    answer = builder.ec2.create_vpc_endpoint(
        VpcId=vpc.vpc,
        ServiceName=f"com.amazonaws.{builder.region}.ssm",
        VpcEndpointType="Interface",
        SubnetIds=[vpc.subnet],
    )
    return str(answer["VpcEndpoint"]["VpcEndpointId"])


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """A private and a public subnet."""
    return Private(builder)


def test_route_table_concerns_the_subnets_associated_with_it(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A changed route table re-evaluates only the subnets that are associated with it."""
    second = builder.subnet(vpc.vpc, vpc.table)
    builder.subnet(vpc.vpc)
    rule.take_as_known()
    builder.endpoint(vpc.vpc, vpc.table)
    assert rule.changes(of=vpc.table) == {vpc.subnet: "ENDPOINT", second: "ENDPOINT"}


def test_main_route_table_concerns_the_subnets_without_association(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A changed main table re-evaluates only the subnets without an association."""
    implicit = builder.subnet(vpc.vpc)
    rule.take_as_known()
    builder.route(builder.main_table(vpc.vpc), NatGatewayId=vpc.nat)
    assert rule.changes(of=builder.main_table(vpc.vpc)) == {implicit: "NAT_GATEWAY"}


@all_styles
def test_route_table_concerns_the_subnets_it_governed_before(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A subnet whose association is removed is re-evaluated with the table that governs it now."""
    association = builder.associate(vpc.table, (moved := builder.subnet(vpc.vpc)))
    rule.take_as_known()
    builder.ec2.disassociate_route_table(AssociationId=association)
    assert rule.changes(of=vpc.table) == {vpc.subnet: "NAT_GATEWAY", moved: "NO_ROUTE"}


def test_new_main_table_concerns_the_subnets_without_association(rule: Rule, builder: Builder, vpc: Private) -> None:
    """The item of a new main table re-evaluates the subnets that it governs implicitly now."""
    implicit = builder.subnet(vpc.vpc)
    rule.take_as_known()
    builder.make_main(vpc.vpc, vpc.table)
    assert rule.changes(of=vpc.table) == {vpc.subnet: "NAT_GATEWAY", implicit: "NAT_GATEWAY"}


@all_styles
def test_former_main_table_concerns_the_subnets_without_association(rule: Rule, builder: Builder, vpc: Private) -> None:
    """The item of the previous main table is enough, if the item of the new one is late."""
    implicit = builder.subnet(vpc.vpc)
    former = builder.main_table(vpc.vpc)
    rule.take_as_known()
    builder.make_main(vpc.vpc, vpc.table)
    concerned = rule.changes(of=former)
    assert concerned[implicit] == "NAT_GATEWAY"
    assert vpc.public_subnet not in concerned


def test_deleted_route_table_concerns_the_subnets_it_governed(rule: Rule, builder: Builder, vpc: Private) -> None:
    """Only the diff of a deleted table contains the subnets that it governed."""
    association = builder.associate((table := builder.table(vpc.vpc)), (orphan := builder.subnet(vpc.vpc)))
    rule.take_as_known()
    builder.ec2.disassociate_route_table(AssociationId=association)
    builder.ec2.delete_route_table(RouteTableId=table)
    assert rule.changes(of=table) == {orphan: "NO_ROUTE"}


def test_route_table_of_no_subnet_concerns_none(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A table that governs no subnet has nothing to report, so AWS Config is not called."""
    unused = builder.table(vpc.vpc)
    rule.take_as_known()
    builder.route(unused, NatGatewayId=vpc.nat)
    assert rule.changes(of=unused) == {}
    assert rule.sandbox.calls.of("config") == []


def test_new_endpoint_concerns_its_whole_vpc(rule: Rule, builder: Builder, vpc: Private) -> None:
    """An endpoint re-evaluates all subnets of its VPC, not only those of its route tables, and no others."""
    Private(builder)
    rule.take_as_known()
    endpoint = builder.endpoint(vpc.vpc, vpc.table)
    assert rule.changes(of=endpoint) == {vpc.subnet: "ENDPOINT", vpc.public_subnet: "INTERNET_GATEWAY"}


@all_styles
def test_deleted_endpoint_concerns_its_whole_vpc(rule: Rule, builder: Builder, vpc: Private) -> None:
    """The item of a deleted endpoint has no configuration, so its diff names the VPC. Traffic crosses the NAT again."""
    Private(builder)
    endpoint = builder.endpoint(vpc.vpc, vpc.table)
    rule.take_as_known()
    builder.ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint])
    builder.ec2.describe_vpc_endpoints()
    builder.ec2.describe_vpc_endpoints()
    assert rule.changes(of=endpoint) == {vpc.subnet: "NAT_GATEWAY", vpc.public_subnet: "INTERNET_GATEWAY"}


def test_nat_gateway_concerns_the_subnets_whose_path_crosses_it(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A changed NAT gateway re-evaluates only the subnets whose traffic crosses it."""
    other = builder.nat_gateway(vpc.public_subnet)
    builder.subnet(vpc.vpc, builder.table(vpc.vpc, NatGatewayId=other))
    rule.take_as_known()
    builder.tag(vpc.nat, "Name", "nat")
    assert rule.changes(of=vpc.nat) == {vpc.subnet: "NAT_GATEWAY"}


def test_nat_gateway_past_which_all_traffic_goes_concerns_none(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A subnet with a route to the NAT gateway is not affected if all its S3 Express traffic uses the endpoint."""
    builder.endpoint(vpc.vpc, vpc.table)
    rule.take_as_known()
    builder.tag(vpc.nat, "Name", "nat")
    assert rule.changes(of=vpc.nat) == {}


@all_styles
def test_deleted_nat_gateway_concerns_the_subnets_with_blackhole_routes(
    rule: Rule, builder: Builder, vpc: Private
) -> None:
    """The routes to a deleted NAT gateway remain as blackholes, so its subnets are DROPPED."""
    rule.take_as_known()
    builder.ec2.delete_nat_gateway(NatGatewayId=vpc.nat)
    assert rule.changes(of=vpc.nat) == {vpc.subnet: "DROPPED"}


def test_new_subnet_concerns_itself(rule: Rule, builder: Builder, vpc: Private) -> None:
    """For a new subnet, only that subnet is evaluated."""
    builder.make_main(vpc.vpc, vpc.table)
    rule.take_as_known()
    subnet = builder.subnet(vpc.vpc)
    assert rule.changes(of=subnet) == {subnet: "NAT_GATEWAY"}


def test_deleted_subnet_is_marked_without_reading(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A deleted subnet is NOT_APPLICABLE and DELETED, without a call to EC2."""
    rule.take_as_known()
    builder.ec2.delete_subnet(SubnetId=vpc.subnet)
    rule.sandbox.calls.clear()
    assert rule.changes(of=vpc.subnet) == {vpc.subnet: "DELETED"}
    assert rule.held()[vpc.subnet].compliance == "NOT_APPLICABLE"
    assert rule.sandbox.calls.of("ec2") == []


def test_subnet_deleted_between_event_and_read(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A subnet that EC2 no longer returns is NOT_APPLICABLE, whatever its item says."""
    rule.take_as_known()
    builder.tag(vpc.subnet, "Name", "private")
    rule.loop.notice()
    builder.ec2.delete_subnet(SubnetId=vpc.subnet)
    [delivery] = rule.loop.deliver()
    assert rule.answers([delivery.answer]) == {vpc.subnet: "DELETED"}
    assert rule.held()[vpc.subnet][:2] == ("NOT_APPLICABLE", "DELETED")


def test_route_table_may_have_governed_a_subnet_that_is_gone(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A subnet of an earlier association that no longer exists is DELETED too."""
    rule.take_as_known()
    builder.ec2.delete_subnet(SubnetId=vpc.subnet)
    assert rule.changes(of=vpc.table) == {vpc.subnet: "DELETED"}


@all_styles
def test_interface_in_a_subnet_concerns_nothing(rule: Rule, builder: Builder, vpc: Private) -> None:
    """If a subnet's item reports only that a network interface was added or removed, it is ignored without a call."""
    rule.take_as_known()
    interface = builder.ec2.create_network_interface(SubnetId=vpc.subnet)["NetworkInterface"]["NetworkInterfaceId"]
    rule.sandbox.calls.clear()
    assert rule.changes() == {}
    builder.ec2.delete_network_interface(NetworkInterfaceId=interface)
    rule.sandbox.calls.clear()
    assert rule.changes() == {}
    assert list(rule.sandbox.calls) == []


@all_styles
def test_instance_in_a_subnet_concerns_nothing(rule: Rule, builder: Builder, vpc: Private) -> None:
    """Launching or terminating an instance also causes such items, for its interface and for itself."""
    rule.take_as_known()
    run = builder.ec2.run_instances(ImageId="ami-12345678", MinCount=1, MaxCount=1, SubnetId=vpc.subnet)
    rule.sandbox.calls.clear()
    assert rule.changes() == {}
    builder.ec2.terminate_instances(InstanceIds=[run["Instances"][0]["InstanceId"]])
    rule.sandbox.calls.clear()
    assert rule.changes() == {}
    assert list(rule.sandbox.calls) == []


def test_addresses_in_use_concern_nothing(sandbox: Sandbox, builder: Builder, vpc: Private) -> None:
    """The number of free addresses, which changes with every interface, does not affect a path."""
    rule = Rule(sandbox, style=ItemStyle(counts_addresses=True))
    rule.take_as_known()
    builder.ec2.create_network_interface(SubnetId=vpc.subnet)
    sandbox.calls.clear()
    assert rule.changes() == {}
    assert list(sandbox.calls) == []


def test_other_changes_of_a_subnet_are_evaluated(rule: Rule, builder: Builder, vpc: Private) -> None:
    """The item of a subnet that gets another table also leads to its evaluation."""
    rule.take_as_known()
    [association] = builder.ec2.describe_route_tables(RouteTableIds=[vpc.table])["RouteTables"][0]["Associations"]
    builder.ec2.replace_route_table_association(
        AssociationId=association["RouteTableAssociationId"], RouteTableId=vpc.public
    )
    assert rule.changes(of=vpc.subnet) == {vpc.subnet: "INTERNET_GATEWAY"}


def test_interface_and_route_table_in_one_item_are_evaluated(rule: Rule, builder: Builder, vpc: Private) -> None:
    """An item that reports an interface and another change is not ignored."""
    rule.take_as_known()
    builder.ec2.create_network_interface(SubnetId=vpc.subnet)
    builder.tag(vpc.subnet, "express-path:exclude")
    assert rule.changes(of=vpc.subnet) == {vpc.subnet: "EXCLUDED"}


def test_interface_endpoint_concerns_nothing(rule: Rule, builder: Builder, vpc: Private) -> None:
    """No route can lead to an interface endpoint, so its changes are ignored without a call."""
    endpoint = interface_endpoint(builder, vpc)
    rule.take_as_known()
    builder.tag(endpoint, "Name", "ssm")
    rule.sandbox.calls.clear()
    assert rule.changes() == {}
    assert list(rule.sandbox.calls) == []


def test_new_interface_endpoint_concerns_nothing(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A newly discovered interface endpoint (status ResourceDiscovered) is ignored without a call."""
    rule.take_as_known()
    interface_endpoint(builder, vpc)
    rule.sandbox.calls.clear()
    assert rule.changes() == {}
    assert list(rule.sandbox.calls) == []


def test_deleted_interface_endpoint_concerns_nothing(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A deleted interface endpoint is ignored without a call, because the diff contains its type."""
    endpoint = interface_endpoint(builder, vpc)
    rule.take_as_known()
    builder.ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint])
    builder.ec2.describe_vpc_endpoints()
    builder.ec2.describe_vpc_endpoints()
    rule.sandbox.calls.clear()
    assert rule.changes() == {}
    assert list(rule.sandbox.calls) == []
