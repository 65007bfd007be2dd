"""Snapshots that are read from EC2: their calls, their contents, and their extent."""

from collections import Counter

import pytest

from express_path.adapters.aws import Aws
from express_path.adapters.network_reader import SnapshotReader, assuming
from express_path.domain.verdict.parameters import RuleParameters, Scope
from express_path.errors import ApiError
from sandbox.server import Sandbox
from tests.support.network import Builder, Private

ACCOUNT = "123456789012"
NETWORK_ACCOUNT = "210987654321"
NETWORK_ROLE = f"arn:aws:iam::{NETWORK_ACCOUNT}:role/network-reader"
DEFAULTS = RuleParameters()
BUCKETS = RuleParameters(scope=Scope.DIRECTORY_BUCKETS)
WITH_ROLE = RuleParameters(network_role_arn=NETWORK_ROLE)


@pytest.fixture
def reader(aws: Aws) -> SnapshotReader:
    """A new reader."""
    return SnapshotReader(aws)


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """A private and a public subnet."""
    return Private(builder)


def test_snapshot_of_a_vpc_holds_that_vpc(reader: SnapshotReader, builder: Builder, vpc: Private) -> None:
    """Subnets, tables, and endpoints are those of the VPC, and the account is the given one."""
    builder.endpoint(Private(builder).vpc)
    endpoint = builder.endpoint(vpc.vpc, vpc.table)
    snapshot = reader.read(ACCOUNT, vpc.vpc, DEFAULTS)
    assert (snapshot.account_id, snapshot.region) == (ACCOUNT, "us-east-1")
    assert set(snapshot.vpcs) == {vpc.vpc}
    assert set(snapshot.subnets) == {vpc.subnet, vpc.public_subnet}
    assert set(snapshot.route_tables) == {vpc.table, vpc.public, builder.main_table(vpc.vpc)}
    assert set(snapshot.vpc_endpoints) == {endpoint}
    assert snapshot.denied == ()


def test_snapshot_of_the_account_holds_everything(reader: SnapshotReader, builder: Builder, vpc: Private) -> None:
    """Without a VPC, the whole Region is read, including NAT gateways."""
    other = Private(builder)
    snapshot = reader.read(ACCOUNT, None, DEFAULTS)
    assert {vpc.subnet, other.subnet} < set(snapshot.subnets)
    assert set(snapshot.nat_gateways) == {vpc.nat, other.nat}


def test_vpc_that_is_gone_is_an_empty_snapshot(reader: SnapshotReader) -> None:
    """A VPC that was deleted has no subnets, which is not an error."""
    snapshot = reader.read(ACCOUNT, "vpc-0", DEFAULTS)
    assert (snapshot.vpcs, snapshot.subnets) == ({}, {})


def test_pages_that_nobody_asked_for_are_followed(
    reader: SnapshotReader, builder: Builder, sandbox: Sandbox, vpc: Private
) -> None:
    """AWS may return shorter pages than requested: every page is read."""
    builder.many_tables(vpc.vpc, 150)
    snapshot = reader.read(ACCOUNT, vpc.vpc, DEFAULTS)
    assert len(snapshot.route_tables) == 153
    assert len(sandbox.calls.of("ec2", "DescribeRouteTables")) == 2


# --- directory buckets -----------------------------------------------------------------------------------------------


def test_directory_buckets_are_not_asked_for_by_default(reader: SnapshotReader, sandbox: Sandbox, vpc: Private) -> None:
    """Without the scope DIRECTORY_BUCKETS, it is unknown if there are directory buckets."""
    assert reader.read(ACCOUNT, vpc.vpc, DEFAULTS).has_directory_buckets is None
    assert sandbox.calls.of("s3") == []


def test_directory_buckets_are_found(reader: SnapshotReader, sandbox: Sandbox, vpc: Private) -> None:
    """With that scope, one call is enough; a general purpose bucket does not count."""
    sandbox.client("s3").create_bucket(Bucket="general-purpose")
    assert reader.read(ACCOUNT, vpc.vpc, BUCKETS).has_directory_buckets is False
    configuration = {
        "Location": {"Type": "AvailabilityZone", "Name": "use1-az4"},
        "Bucket": {"Type": "Directory", "DataRedundancy": "SingleAvailabilityZone"},
    }
    for name in ("one", "two"):
        sandbox.client("s3").create_bucket(Bucket=f"{name}--use1-az4--x-s3", CreateBucketConfiguration=configuration)
    sandbox.calls.clear()
    assert reader.read(ACCOUNT, vpc.vpc, BUCKETS).has_directory_buckets is True
    assert len(sandbox.calls.of("s3")) == 1


def test_denied_directory_buckets_are_unknown_and_named(reader: SnapshotReader, sandbox: Sandbox, vpc: Private) -> None:
    """If directory buckets may not be listed, it is unknown if there are any, and the snapshot names the read."""
    sandbox.faults.deny("s3", "ListDirectoryBuckets")
    snapshot = reader.read(ACCOUNT, vpc.vpc, BUCKETS)
    assert (snapshot.has_directory_buckets, snapshot.denied) == (None, ("s3:ListDirectoryBuckets",))


def test_directory_buckets_are_not_asked_for_where_the_service_is_not_offered(sandbox: Sandbox) -> None:
    """In a Region without S3 Express, the host does not exist, so nothing is read or named as denied."""
    snapshot = SnapshotReader(Aws.connect("eu-south-1")).read(ACCOUNT, None, BUCKETS)
    assert (snapshot.has_directory_buckets, snapshot.denied) == (None, ())
    assert sandbox.calls.of("s3") == []


# --- network interfaces ----------------------------------------------------------------------------------------------


def nat_instance(builder: Builder, vpc: Private) -> tuple[str, str]:
    """Run an instance in the public subnet, route the private subnet to its interface, and return both ids."""
    answer = builder.ec2.run_instances(ImageId="ami-12345678", MinCount=1, MaxCount=1, SubnetId=vpc.public_subnet)
    instance = answer["Instances"][0]
    interface = instance["NetworkInterfaces"][0]["NetworkInterfaceId"]
    builder.ec2.replace_route(RouteTableId=vpc.table, DestinationCidrBlock="0.0.0.0/0", NetworkInterfaceId=interface)
    return instance["InstanceId"], interface


def test_network_interfaces_are_read_where_a_route_leads_to_one(
    reader: SnapshotReader, builder: Builder, sandbox: Sandbox, vpc: Private
) -> None:
    """Only the interfaces that are targets of routes are read."""
    builder.ec2.create_network_interface(SubnetId=vpc.subnet)
    instance, interface = nat_instance(builder, vpc)
    snapshot = reader.read(ACCOUNT, vpc.vpc, DEFAULTS)
    assert snapshot.network_interfaces is not None
    [found] = snapshot.network_interfaces.values()
    assert (found.id, found.subnet_id, found.instance_id) == (interface, vpc.public_subnet, instance)
    assert all(
        call.parameters["Filters"][0]["Name"] in ("network-interface-id", "attachment.instance-id")
        for call in sandbox.calls.of("ec2", "DescribeNetworkInterfaces")
    )


def test_network_interfaces_are_not_read_otherwise(reader: SnapshotReader, sandbox: Sandbox, vpc: Private) -> None:
    """If no route leads to an interface, interfaces are not read."""
    assert reader.read(ACCOUNT, vpc.vpc, DEFAULTS).network_interfaces is None
    assert sandbox.calls.of("ec2", "DescribeNetworkInterfaces") == []


def test_many_network_interfaces_are_asked_for_200_at_a_time(
    reader: SnapshotReader, builder: Builder, sandbox: Sandbox, vpc: Private
) -> None:
    """An EC2 filter accepts 200 values, so routes to 201 interfaces need two calls."""
    for number in range(201):
        interface = builder.memory.create_network_interface(builder.memory.get_subnet(vpc.public_subnet), None)
        builder.many_routes(vpc.table, [f"100.64.{number}.0/24"], vpc.nat)
        route = builder.memory.get_route_table(vpc.table).routes[-1]
        route.nat_gateway, route.interface = None, interface
    snapshot = reader.read(ACCOUNT, vpc.vpc, DEFAULTS)
    assert len(snapshot.network_interfaces or {}) == 201
    calls = sandbox.calls.of("ec2", "DescribeNetworkInterfaces")
    assert max(len(call.parameters["Filters"][0]["Values"]) for call in calls) == 200


def test_denied_network_interfaces_are_unknown_and_named(
    reader: SnapshotReader, builder: Builder, sandbox: Sandbox, vpc: Private
) -> None:
    """If interfaces may not be read, the snapshot says so and names the read."""
    nat_instance(builder, vpc)
    sandbox.faults.deny("ec2", "DescribeNetworkInterfaces")
    snapshot = reader.read(ACCOUNT, vpc.vpc, DEFAULTS)
    assert (snapshot.network_interfaces, snapshot.denied) == (None, ("ec2:DescribeNetworkInterfaces",))


# --- transit gateways ------------------------------------------------------------------------------------------------


def attached(builder: Builder, vpc: Private) -> str:
    """Attach the VPC to a transit gateway, route the private subnet to it, and return the gateway."""
    gateway = builder.ec2.create_transit_gateway()["TransitGateway"]["TransitGatewayId"]
    builder.ec2.create_transit_gateway_vpc_attachment(TransitGatewayId=gateway, VpcId=vpc.vpc, SubnetIds=[vpc.subnet])
    builder.ec2.replace_route(RouteTableId=vpc.table, DestinationCidrBlock="0.0.0.0/0", TransitGatewayId=gateway)
    return str(gateway)


def test_transit_gateways_are_read_where_a_route_leads_to_one(
    reader: SnapshotReader, builder: Builder, sandbox: Sandbox, vpc: Private
) -> None:
    """Attachments and the routes of their tables are read, and then the other VPCs to which paths lead."""
    other = Private(builder)
    gateway = attached(builder, vpc)
    snapshot = reader.read(ACCOUNT, vpc.vpc, DEFAULTS)
    assert [attachment.transit_gateway_id for attachment in (snapshot.transit_gateway_attachments or {}).values()] == [
        gateway
    ]
    assert snapshot.transit_gateway_route_tables
    assert other.subnet in snapshot.subnets
    assert len(sandbox.calls.of("ec2", "SearchTransitGatewayRoutes")) == 1


def test_transit_gateways_are_not_read_otherwise(reader: SnapshotReader, sandbox: Sandbox, vpc: Private) -> None:
    """If no route leads to a transit gateway, the network account's role is not assumed."""
    snapshot = reader.read(ACCOUNT, vpc.vpc, WITH_ROLE)
    assert snapshot.transit_gateway_attachments is None
    assert not [call for call in sandbox.calls if "Transit" in call.operation or call.service == "sts"]


def test_spoke_account_reads_no_further_than_its_vpc(
    reader: SnapshotReader, builder: Builder, sandbox: Sandbox, vpc: Private
) -> None:
    """If the routes of the transit gateway may not be read, only its VPC is read, and the read is named."""
    Private(builder)
    attached(builder, vpc)
    sandbox.faults.deny("ec2", "SearchTransitGatewayRoutes")
    snapshot = reader.read(ACCOUNT, vpc.vpc, DEFAULTS)
    assert snapshot.transit_gateway_route_tables is None
    assert snapshot.denied == ("ec2:SearchTransitGatewayRoutes",)
    assert set(snapshot.vpcs) == {vpc.vpc}


def test_network_account_is_read_by_its_role(
    reader: SnapshotReader, builder: Builder, sandbox: Sandbox, vpc: Private
) -> None:
    """With networkRoleArn, the network account's resources are added to the snapshot, whose account does not change."""
    attached(builder, vpc)
    central = sandbox.client("ec2", credentials=sandbox.credentials(NETWORK_ACCOUNT))
    egress = central.create_vpc(CidrBlock="10.99.0.0/16")["Vpc"]["VpcId"]
    sandbox.calls.clear()
    snapshot = reader.read(ACCOUNT, vpc.vpc, WITH_ROLE)
    assert {vpc.vpc, egress} <= set(snapshot.vpcs)
    assert snapshot.account_id == ACCOUNT
    [assumed] = sandbox.calls.of("sts")
    assert assumed.parameters["RoleArn"] == NETWORK_ROLE
    assert {call.account_id for call in sandbox.calls.of("ec2")} == {ACCOUNT, NETWORK_ACCOUNT}


def test_network_role_that_may_not_be_assumed_is_named(
    reader: SnapshotReader, builder: Builder, sandbox: Sandbox, vpc: Private
) -> None:
    """Without the role, the snapshot has only what this account sees."""
    attached(builder, vpc)
    sandbox.faults.deny("sts", "AssumeRole")
    snapshot = reader.read(ACCOUNT, vpc.vpc, WITH_ROLE)
    assert snapshot.denied == ("sts:AssumeRole",)
    assert vpc.vpc in snapshot.vpcs


def test_throttled_optional_reads_are_raised(
    reader: SnapshotReader, builder: Builder, sandbox: Sandbox, vpc: Private, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a denial makes an optional read unknown; throttling raises."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    attached(builder, vpc)
    sandbox.faults.throttle("ec2", "DescribeTransitGatewayAttachments")
    with pytest.raises(ApiError, match="ec2:DescribeTransitGatewayAttachments failed with RequestLimitExceeded"):
        reader.read(ACCOUNT, vpc.vpc, DEFAULTS)


def test_hops_cost_one_read_a_kind(reader: SnapshotReader, builder: Builder, sandbox: Sandbox) -> None:
    """For a whole account, hops of three VPCs with transit gateways need as many calls as those of one."""
    costs = []
    for _ in range(2):
        vpc = Private(builder)
        gateway = attached(builder, vpc)
        assert gateway
        sandbox.calls.clear()
        reader.read(ACCOUNT, None, DEFAULTS)
        costs.append(Counter(call.operation for call in sandbox.calls if "Search" not in call.operation))
    assert costs[0] - costs[1] == Counter(["DescribePrefixLists"])
    assert costs[1] - costs[0] == Counter()


def test_vpc_of_a_subnet(reader: SnapshotReader, vpc: Private) -> None:
    """Finding the VPC of a subnet is one call; a deleted subnet has none."""
    assert reader.vpc_of(vpc.subnet) == vpc.vpc
    assert reader.vpc_of("subnet-0") is None


def test_credentials_are_not_in_the_text_of_clients(aws: Aws) -> None:
    """A trace that shows clients shows no secret."""
    role = assuming(aws, NETWORK_ROLE)
    assert role.credentials["aws_secret_access_key"] not in repr(role)


def test_role_of_another_account_is_assumed(aws: Aws) -> None:
    """With a role, the clients are those of the role's account, in the same Region."""
    other = assuming(aws, NETWORK_ROLE)
    assert other.sts.get_caller_identity()["Account"] == "210987654321"
    assert other.region == aws.region


def test_role_is_assumed_under_the_external_id(aws: Aws, sandbox: Sandbox) -> None:
    """An external id is passed on where there is one, and left out where there is none."""
    assuming(aws, NETWORK_ROLE, "secret")
    assuming(aws, NETWORK_ROLE)
    first, second = sandbox.calls.of("sts", "AssumeRole")
    assert first.parameters["ExternalId"] == "secret"
    assert "ExternalId" not in second.parameters


def test_role_that_may_not_be_assumed_is_an_error(aws: Aws, sandbox: Sandbox) -> None:
    """A role that does not trust this account is reported as denied."""
    sandbox.faults.deny("sts", "AssumeRole")
    with pytest.raises(ApiError) as raised:
        assuming(aws, NETWORK_ROLE)
    assert (raised.value.operation, raised.value.code) == ("sts:AssumeRole", "AccessDenied")
