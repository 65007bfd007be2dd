"""Reading a network: the snapshot of a VPC or an account, what following hops needs in addition, and prefix lists."""

from collections import Counter
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network
from itertools import islice

import pytest
from moto.ec2.models import ec2_backends

from config_rule_sandbox.ec2.transit_gateways.routes import Target, static_routes
from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import Hub, Spoke, attach
from config_rule_sandbox.networks.public_sides import BehindFirewall, BehindNatGateway, BehindNatInstance
from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import Aws, OptionalReads
from express_path.adapters.network_reader import (
    REMEMBERED_SECONDS,
    PrefixListReader,
    SnapshotReader,
    read_instances,
    read_network_interfaces,
    read_transit_gateway_routes,
    read_transit_gateways,
)
from express_path.adapters.records import route_table
from express_path.adapters.roles import assuming
from express_path.domain.network.addresses import Family, parse_cidr
from express_path.domain.network.resources import PrefixList, RouteTable
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters, Scope
from express_path.errors import ApiError
from tests.support.network import Builder, Private

pytestmark = pytest.mark.slow

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


@pytest.fixture
def account(sandbox: Sandbox) -> Account:
    """The account that reads."""
    return Account(sandbox)


@pytest.fixture
def network(sandbox: Sandbox) -> Account:
    """The network account."""
    return Account(sandbox, NETWORK_ACCOUNT, first=100)


def operations(sandbox: Sandbox) -> list[str]:
    """Return the names of the called operations, in order."""
    return [call.operation for call in sandbox.calls]


# --- a VPC, or an account --------------------------------------------------------------------------------------------


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


def test_pages_that_nobody_asked_for_are_followed(
    reader: SnapshotReader, builder: Builder, sandbox: Sandbox, vpc: Private
) -> None:
    """AWS may return shorter pages than requested: every page is read."""
    builder.many_tables(vpc.vpc, 150)
    snapshot = reader.read(ACCOUNT, vpc.vpc, DEFAULTS)
    assert len(snapshot.route_tables) == 153
    assert len(sandbox.calls.of("ec2", "DescribeRouteTables")) == 2


def test_reads_ask_for_the_largest_pages(reader: SnapshotReader, sandbox: Sandbox) -> None:
    """Every read requests the largest page that EC2 allows: 100 route tables, and 1,000 of other resources."""
    reader.read(ACCOUNT, None, DEFAULTS)
    sizes = {call.operation: call.parameters.get("MaxResults") for call in sandbox.calls.of("ec2")}
    assert {name: sizes[name] for name in OF_A_VPC} == {**dict.fromkeys(OF_A_VPC, 1000), "DescribeRouteTables": 100}


def test_endpoints_are_read_before_route_tables(reader: SnapshotReader, sandbox: Sandbox) -> None:
    """A table that is created and associated with an endpoint between the two reads would seem to be left out."""
    reader.read(ACCOUNT, None, DEFAULTS)
    called = operations(sandbox)
    assert called.index("DescribeVpcEndpoints") < called.index("DescribeRouteTables")


def test_credentials_are_not_in_the_text_of_clients(aws: Aws) -> None:
    """A trace that shows clients shows no secret."""
    role = assuming(aws, NETWORK_ROLE)
    assert role.credentials["aws_secret_access_key"] not in repr(role)


def test_role_is_assumed_under_the_external_id(aws: Aws, sandbox: Sandbox) -> None:
    """An external id is passed on where there is one, and left out where there is none."""
    assuming(aws, NETWORK_ROLE, "secret")
    assuming(aws, NETWORK_ROLE)
    first, second = sandbox.calls.of("sts", "AssumeRole")
    assert first.parameters["ExternalId"] == "secret"
    assert "ExternalId" not in second.parameters


# --- directory buckets -----------------------------------------------------------------------------------------------


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


def test_shared_subnets_are_read_on_every_page(reader: SnapshotReader, sandbox: Sandbox, vpc: Private) -> None:
    """If there are no directory buckets, the subnets that the account shares are read."""
    for subnet_id in (vpc.subnet, vpc.public_subnet):
        sandbox.ec2.sharing.share_subnet(subnet_id, NETWORK_ACCOUNT)
    sandbox.ec2.knobs.page_size = 1
    assert reader.read(ACCOUNT, vpc.vpc, BUCKETS).shared_subnet_ids == {vpc.subnet, vpc.public_subnet}
    asked, _ = sandbox.calls.of("ram", "ListResources")
    assert (asked.parameters["resourceOwner"], asked.parameters["resourceType"]) == ("SELF", "ec2:Subnet")


def test_directory_buckets_are_not_asked_for_where_the_service_is_not_offered(sandbox: Sandbox) -> None:
    """In a Region without S3 Express, the host does not exist, so nothing is read or named as denied."""
    snapshot = SnapshotReader(Aws.connect("eu-south-1")).read(ACCOUNT, None, BUCKETS)
    assert (snapshot.has_directory_buckets, snapshot.denied, snapshot.express_prefix_lists) == (None, (), ())
    assert sandbox.calls.of("s3") == []
    assert not sandbox.calls.of("ec2", "DescribeManagedPrefixLists")


# --- denied and failed reads -----------------------------------------------------------------------------------------


@pytest.fixture
def every_hop(account: Account) -> None:
    """Routes to a NAT instance, a firewall, a transit gateway, and a customer's prefix list."""
    vpc = BehindNatInstance(account)
    BehindFirewall(account)
    Hub(account).join(account)
    made = account.ec2.create_managed_prefix_list(
        PrefixListName="customer", MaxEntries=5, AddressFamily="IPv4", Entries=[{"Cidr": "192.0.2.0/24"}]
    )
    account.route(vpc.table, made["PrefixList"]["PrefixListId"], NetworkInterfaceId=vpc.interface)


OPTIONAL = [
    ("s3", "ListDirectoryBuckets", "has_directory_buckets"),
    ("ram", "ListResources", "shared_subnet_ids"),
    ("sts", "AssumeRole", ""),
    ("network-firewall", "ListFirewalls", ""),
    ("network-firewall", "DescribeFirewall", ""),
    ("ec2", "DescribeNetworkInterfaces", "network_interfaces"),
    ("ec2", "DescribeInstances", ""),
    ("ec2", "DescribeInstanceTypes", ""),
    ("ec2", "DescribeTransitGatewayAttachments", "transit_gateway_route_tables"),
    ("ec2", "DescribeTransitGatewayVpcAttachments", ""),
    ("ec2", "SearchTransitGatewayRoutes", "transit_gateway_route_tables"),
    ("ec2", "DescribeManagedPrefixLists", ""),
    ("ec2", "GetManagedPrefixListEntries", ""),
]
"""The reads that may be denied, and the field of the snapshot that is None without them."""


EVERYTHING = RuleParameters(scope=Scope.DIRECTORY_BUCKETS, network_role_arn=NETWORK_ROLE)


@pytest.mark.usefixtures("every_hop")
def test_optional_reads_may_be_denied_and_must_not_fail(aws: Aws, sandbox: Sandbox) -> None:
    """What may not be read is unknown, not empty, and the snapshot names the read. Any other failure is raised."""
    for service, operation, field in OPTIONAL:
        sandbox.faults.deny(service, operation)
        snapshot = SnapshotReader(aws).read(ACCOUNT, None, EVERYTHING)
        assert set(snapshot.denied) == {f"{service}:{operation}"}
        assert field == "" or getattr(snapshot, field) is None, operation
        assert snapshot.denied_to_role == (("sts:AssumeRole",) if service == "sts" else ()), operation
        sandbox.faults.clear()
        sandbox.faults.fail(service, operation, "ValidationError", 400)
        with pytest.raises(ApiError, match=f"{service}:{operation} failed with ValidationError"):
            SnapshotReader(aws).read(ACCOUNT, None, EVERYTHING)
        sandbox.faults.clear()


def test_failures_in_the_network_account_are_raised(
    reader: SnapshotReader, sandbox: Sandbox, account: Account, network: Account
) -> None:
    """There too, only a denial makes a read unknown."""
    hub = Hub(network)
    hub.share(account)
    hub.join(account)
    fault = ("ec2", "DescribeSubnets", "ValidationError", 400)
    sandbox.faults.before("sts", "AssumeRole", lambda: sandbox.faults.fail(*fault))
    with pytest.raises(ApiError, match="ec2:DescribeSubnets failed with ValidationError"):
        reader.read(ACCOUNT, None, WITH_ROLE)


def test_table_that_only_its_owner_sees_is_unknown(reader: SnapshotReader, sandbox: Sandbox, account: Account) -> None:
    """AWS tells other accounts that a transit gateway's table does not exist, which is not a failure.

    https://github.com/hashicorp/terraform-provider-aws/issues/11029
    """
    spoke = Hub(account).join(account)
    sandbox.faults.fail("ec2", "SearchTransitGatewayRoutes", "InvalidRouteTableID.NotFound", 400)
    snapshot = reader.read(ACCOUNT, spoke.vpc, DEFAULTS)
    assert snapshot.transit_gateway_route_tables is None
    assert set(snapshot.vpcs) == {spoke.vpc}


# --- network interfaces and instances ---------------------------------------------------------------------------------


def tables(aws: Aws, table_ids: Iterable[str]) -> list[RouteTable]:
    """Read some route tables."""
    found = aws.ec2.describe_route_tables(RouteTableIds=list(table_ids))["RouteTables"]
    return [route_table(description) for description in found]


def test_the_interface_of_a_blackhole_is_read(aws: Aws, account: Account) -> None:
    """If it exists, its instance is only stopped. One that was terminated is not listed."""
    vpc = BehindNatInstance(account)
    before = tables(aws, [vpc.table])
    assert len(read_network_interfaces(aws, before)) == 1
    vpc.terminate()
    after = tables(aws, [vpc.table])
    account.sandbox.calls.clear()
    assert read_network_interfaces(aws, after) == {}
    assert operations(account.sandbox) == ["DescribeNetworkInterfaces"]


def test_interfaces_are_read_in_hundreds(aws: Aws, account: Account) -> None:
    """A filter accepts 200 values: 201 interfaces are read in two calls."""
    vpc = account.vpc()
    subnet, table_id = account.subnet(vpc), account.table(vpc)
    backend = ec2_backends[account.account_id][account.sandbox.region]
    for block in islice(IPv4Network("198.18.0.0/15").subnets(new_prefix=32), 201):
        interface = backend.create_network_interface(backend.get_subnet(subnet), [])
        backend.create_route(table_id, str(block), interface_id=interface.id)
    [table] = tables(aws, [table_id])
    account.sandbox.calls.clear()
    assert len(read_network_interfaces(aws, [table])) == 201
    assert operations(account.sandbox) == ["DescribeNetworkInterfaces"] * 2


def test_instances_are_read_where_an_interface_forwards(aws: Aws, account: Account) -> None:
    """The capacity is read only for instances that forward."""
    vpcs = [BehindNatInstance(account, kind, check=kind == "t4g.nano") for kind in ("c7gn.medium", "t4g.nano")]
    interfaces = read_network_interfaces(aws, tables(aws, [vpc.table for vpc in vpcs]))
    [found] = read_instances(aws, interfaces.values()).values()
    assert (found.id, found.instance_type) == (vpcs[0].instance, "c7gn.medium")
    assert (found.baseline_gbps, found.peak_gbps) == (3.125, 25.0)
    account.sandbox.calls.clear()
    assert read_instances(aws, [interface for interface in interfaces.values() if interface.source_dest_check]) == {}
    assert operations(account.sandbox) == []


def test_bandwidth_of_several_cards_adds_up(aws: Aws, account: Account) -> None:
    """The capacity of an instance type is the sum of its network cards."""
    vpc = BehindNatInstance(account, "p4d.24xlarge")
    interfaces = read_network_interfaces(aws, tables(aws, [vpc.table]))
    [found] = read_instances(aws, interfaces.values()).values()
    [described] = account.ec2.describe_instance_types(InstanceTypes=["p4d.24xlarge"])["InstanceTypes"]
    cards = described["NetworkInfo"]["NetworkCards"]
    assert len(cards) > 1
    assert found.peak_gbps == sum(card["PeakBandwidthInGbps"] for card in cards)


def test_the_nat_gateways_of_a_vpc_are_read_with_it(reader: SnapshotReader, account: Account) -> None:
    """A regional one shows whether the list of the VPC's tables is partial, in the read of one VPC as in that of all."""
    vpc, other = BehindNatGateway(account), BehindNatGateway(account)
    regional = account.ec2.create_nat_gateway(VpcId=vpc.vpc, AvailabilityMode="regional")["NatGateway"]
    gateways = reader.read(ACCOUNT, vpc.vpc, DEFAULTS).nat_gateways
    assert regional["NatGatewayId"] in gateways
    assert {gateway.vpc_id for gateway in gateways.values()} == {vpc.vpc}
    everywhere = reader.read(ACCOUNT, None, DEFAULTS).nat_gateways
    assert {gateway.vpc_id for gateway in everywhere.values()} == {vpc.vpc, other.vpc}


# --- transit gateways -------------------------------------------------------------------------------------------------


def test_transit_gateways_are_not_read_otherwise(reader: SnapshotReader, sandbox: Sandbox, account: Account) -> None:
    """If no route leads to a transit gateway or an instance, these are not read, even if there are some."""
    spoke = Hub(account).join(account)
    account.instance(spoke.subnet)
    vpc = BehindNatGateway(account)
    sandbox.calls.clear()
    snapshot = reader.read(ACCOUNT, vpc.vpc, WITH_ROLE)
    assert (snapshot.transit_gateway_attachments, snapshot.network_interfaces, snapshot.firewalls) == (None, None, None)
    assert sorted(operations(sandbox)) == sorted([*OF_A_VPC, "DescribePrefixLists"])


def test_vpc_without_an_attachment_costs_one_call_more_with_the_paths_into_it(
    reader: SnapshotReader, sandbox: Sandbox, account: Account
) -> None:
    """The paths of other VPCs enter by an attachment, so nothing else is read. If attachments cannot be described, there may be one."""
    hub = Hub(account)
    spoke = hub.join(account)
    account.ec2.delete_route(RouteTableId=hub.public_table, DestinationCidrBlock="10.0.0.0/8")
    vpc = BehindNatGateway(account)
    sandbox.calls.clear()
    reader.read(ACCOUNT, vpc.vpc, DEFAULTS, with_paths_into_vpc=True)
    once = [*OF_A_VPC, "DescribePrefixLists", "DescribeTransitGatewayVpcAttachments"]
    assert sorted(operations(sandbox)) == sorted(once)
    assert spoke.subnet not in reader.read(ACCOUNT, hub.vpc, DEFAULTS).subnets
    assert spoke.subnet in reader.read(ACCOUNT, hub.vpc, DEFAULTS, with_paths_into_vpc=True).subnets
    sandbox.faults.deny("ec2", "DescribeTransitGatewayVpcAttachments")
    assert spoke.subnet in reader.read(ACCOUNT, hub.vpc, DEFAULTS, with_paths_into_vpc=True).subnets


OF_A_VPC = ["DescribeNatGateways", "DescribeRouteTables", "DescribeSubnets", "DescribeVpcEndpoints", "DescribeVpcs"]
OF_TRANSIT_GATEWAYS = ["DescribeTransitGatewayAttachments", "DescribeTransitGatewayVpcAttachments"]


def test_transit_gateways_cost_as_many_calls_for_ten_spokes_as_for_two(
    reader: SnapshotReader, sandbox: Sandbox, account: Account
) -> None:
    """The VPC is read, then the Region, the attachments, and the routes of each transit gateway table in use."""
    hub = Hub(account)
    spokes = [hub.join(account) for _ in range(2)]
    reader.read(ACCOUNT, None, DEFAULTS)
    for number in (2, 10):
        spokes += [hub.join(account) for _ in range(number - len(spokes))]
        sandbox.calls.clear()
        snapshot = reader.read(ACCOUNT, spokes[0].vpc, DEFAULTS)
        assert {spoke.subnet for spoke in spokes} <= set(snapshot.subnets)
        searches = ["SearchTransitGatewayRoutes"] * 2
        assert Counter(operations(sandbox)) == Counter([*OF_A_VPC, *OF_A_VPC, *OF_TRANSIT_GATEWAYS, *searches])


def test_network_account_is_read_once_by_its_role(
    reader: SnapshotReader, sandbox: Sandbox, account: Account, network: Account
) -> None:
    """With networkRoleArn, the network account's resources are added to the snapshot, whose account does not change."""
    hub = Hub(network)
    hub.share(account)
    spokes = [hub.join(account) for _ in range(2)]
    sandbox.calls.clear()
    snapshot = reader.read(ACCOUNT, spokes[0].vpc, WITH_ROLE)
    assert {hub.vpc, *(spoke.vpc for spoke in spokes)} <= set(snapshot.vpcs)
    assert (snapshot.account_id, snapshot.denied) == (ACCOUNT, ())
    [assumed] = sandbox.calls.of("sts")
    assert assumed.parameters["RoleArn"] == NETWORK_ROLE
    theirs = [call.operation for call in sandbox.calls if call.account_id == NETWORK_ACCOUNT]
    region = [*OF_A_VPC, "DescribePrefixLists", *OF_TRANSIT_GATEWAYS]
    assert Counter(theirs) == Counter([*region, "SearchTransitGatewayRoutes", "SearchTransitGatewayRoutes"])


def test_spoke_does_not_see_the_tables_of_a_foreign_transit_gateway(
    reader: SnapshotReader, sandbox: Sandbox, account: Account, network: Account
) -> None:
    """It sees its own attachment, requests no table's routes, and reads no other VPC."""
    hub = Hub(network)
    hub.share(account)
    spoke = hub.join(account)
    BehindNatGateway(account)
    sandbox.calls.clear()
    snapshot = reader.read(ACCOUNT, spoke.vpc, DEFAULTS)
    assert set(snapshot.vpcs) == {spoke.vpc}
    assert snapshot.transit_gateway_attachments is not None
    assert snapshot.transit_gateway_attachments.keys() == {spoke.attachment}
    assert snapshot.transit_gateway_attachments[spoke.attachment].route_table_id is None
    assert snapshot.transit_gateway_route_tables is None
    assert "SearchTransitGatewayRoutes" not in operations(sandbox)


def test_own_egress_vpc_behind_a_foreign_transit_gateway_is_read(
    reader: SnapshotReader, account: Account, network: Account
) -> None:
    """If a shared transit gateway leads back to an egress VPC of the rule's account, an event reads that VPC too."""
    hub = Hub(network)
    hub.share(account)
    egress = BehindNatGateway(account)
    attachment = attach(account, hub.gateway, egress.vpc, egress.subnet)
    network.ec2.accept_transit_gateway_vpc_attachment(TransitGatewayAttachmentId=attachment)
    spoke = hub.join(account)
    assert egress.subnet in reader.read(ACCOUNT, spoke.vpc, WITH_ROLE).subnets


def test_all_pages_of_a_search(aws: Aws, account: Account) -> None:
    """A table of more than 1,000 routes is read completely."""
    hub = Hub(account)
    fill(hub, 2500)
    account.sandbox.calls.clear()
    found = read_transit_gateway_routes(aws, hub.spokes_table)
    assert (len(found["Routes"]), found["AdditionalRoutesAvailable"]) == (2501, False)
    assert operations(account.sandbox) == ["SearchTransitGatewayRoutes"] * 3


def test_policy_table_is_read_with_the_route_tables_that_it_leads_to(aws: Aws, sandbox: Sandbox) -> None:
    """No attachment needs to be associated with these. Without its entries, nobody knows where traffic leads."""
    hub = Hub(Account(sandbox))
    spoke = Spoke(hub.account, hub.gateway, ("a",))
    spoke.lead_out()
    policy_id = hub.decide_by_policy(spoke.attachment, {"Protocol": "17"}, {"SourceCidrBlock": "10.0.0.0/8"})
    snapshot = SnapshotReader(aws).read(ACCOUNT, spoke.vpc, DEFAULTS)
    [entry] = (snapshot.transit_gateway_policy_tables or {})[policy_id].entries
    assert (entry.number, entry.table_id) == (2, hub.spokes_table)
    assert Evaluator(Tracer(snapshot), DEFAULTS).verdict(spoke.subnet).reason == "NAT_BEYOND_TRANSIT_GATEWAY"
    sandbox.faults.deny("ec2", "GetTransitGatewayPolicyTableEntries")
    denied = SnapshotReader(aws).read(ACCOUNT, spoke.vpc, DEFAULTS)
    verdict = Evaluator(Tracer(denied), DEFAULTS).verdict(spoke.subnet)
    assert (verdict.reason, verdict.lacks) == ("UNRESOLVED_EGRESS", "ec2:GetTransitGatewayPolicyTableEntries")
    assert verdict.lacks in denied.denied


def test_list_that_only_a_transit_gateway_names_is_read(aws: Aws, builder: Builder) -> None:
    """A route may show the id of a prefix list and no block: then its entries say where it leads."""
    hub = Hub(builder)
    spoke = hub.join(builder)
    list_id = builder.prefix_list("0.0.0.0/0")

    def name_list(parsed: dict[str, list[dict[str, object]]], **_: object) -> None:
        """Show the list in place of the block."""
        for route in parsed["Routes"]:
            if route.pop("DestinationCidrBlock") == "0.0.0.0/0":
                route["PrefixListId"] = list_id

    aws.ec2.meta.events.register("after-call.ec2.SearchTransitGatewayRoutes", name_list)
    snapshot = SnapshotReader(aws).read(ACCOUNT, spoke.vpc, DEFAULTS)
    assert Evaluator(Tracer(snapshot), DEFAULTS).verdict(spoke.subnet).reason == "NAT_BEYOND_TRANSIT_GATEWAY"
    builder.sandbox.faults.deny("ec2", "GetManagedPrefixListEntries")
    unread = SnapshotReader(aws).read(ACCOUNT, spoke.vpc, DEFAULTS)
    assert Evaluator(Tracer(unread), DEFAULTS).verdict(spoke.subnet).reason == "UNRESOLVED_EGRESS"


def test_search_that_cannot_go_on(aws: Aws, account: Account) -> None:
    """If a search omits routes and returns no token, the table counts as truncated."""
    hub = Hub(account)
    hub.join(account)
    fill(hub, 1000, gives_tokens=False)
    assert read_transit_gateway_routes(aws, hub.spokes_table)["AdditionalRoutesAvailable"] is True
    found = read_transit_gateways(aws, OptionalReads()).route_tables
    assert found
    assert found[hub.spokes_table].truncated is True


def fill(hub: Hub, number: int, *, gives_tokens: bool = True) -> None:
    """Add blackholes to the spokes' table directly in the sandbox's memory."""
    backend = ec2_backends[hub.account.account_id][hub.account.sandbox.region]
    table = backend.transit_gateways_route_tables[hub.spokes_table]
    table.gives_tokens = gives_tokens  # type: ignore[attr-defined]
    for block in islice(IPv4Network("198.18.0.0/15").subnets(new_prefix=32), number):
        static_routes(table)[block] = Target(None, blackhole=True)


# --- firewalls --------------------------------------------------------------------------------------------------------


def read_network(sandbox: Sandbox, vpc_id: str | None = None) -> Snapshot:
    """Read the account, or one VPC."""
    sandbox.calls.clear()
    return SnapshotReader(Aws.connect()).read(sandbox.account_id, vpc_id, RuleParameters())


def verdict(snapshot: Snapshot, place: BehindFirewall) -> Verdict:
    """Return the verdict on the subnet behind a firewall."""
    return Evaluator(Tracer(snapshot), RuleParameters()).verdict(place.subnet)


def cured(account: Account, **more: object) -> BehindFirewall:
    """Build a firewall behind which the gateway endpoint serves S3 Express."""
    place = BehindFirewall(account, **more)
    account.endpoint(place.vpc, place.appliance_table)
    return place


def test_without_an_appliance_no_firewall_is_read(sandbox: Sandbox) -> None:
    """Calls are made only if a route leads to an endpoint that is no gateway endpoint."""
    account = Account(sandbox)
    BehindNatGateway(account)
    account.firewall_endpoint(vpc := account.vpc(), account.subnet(vpc))
    assert read_network(sandbox).firewalls is None
    assert sandbox.calls.of("network-firewall") == []


def test_own_firewalls_cost_two_calls(sandbox: Sandbox) -> None:
    """If the firewalls of the endpoints' VPCs name all endpoints, and not only some, associations are not read."""
    place = cured(account := Account(sandbox))
    assert verdict(read_network(sandbox, place.vpc), place).reason == "ENDPOINT"
    assert sandbox.calls.operations("network-firewall") == ["ListFirewalls", "DescribeFirewall"]
    account.table(place.vpc, VpcEndpointId=account.load_balancer_endpoint(place.vpc, place.subnet))
    read_network(sandbox)
    assert sandbox.calls.of("network-firewall", "ListVpcEndpointAssociations")


def test_a_firewalls_endpoint_may_have_any_type(sandbox: Sandbox) -> None:
    """Only a firewall says that an endpoint is its own, so firewalls are read whatever type EC2 shows."""
    place = cured(Account(sandbox))
    for endpoint in ec2_backends[sandbox.account_id][sandbox.region].vpc_end_points.values():
        if endpoint.vpc_endpoint_type == "GatewayLoadBalancer":
            endpoint.vpc_endpoint_type = "a-new-type"
    assert verdict(read_network(sandbox, place.vpc), place).reason == "ENDPOINT"
    assert sandbox.calls.operations("network-firewall") == ["ListFirewalls", "DescribeFirewall"]


def test_a_firewall_of_another_account_is_an_unknown_appliance(sandbox: Sandbox) -> None:
    """Its association is readable here, but the firewall is not."""
    account, other = Account(sandbox), Account(sandbox, NETWORK_ACCOUNT, first=50)
    theirs = BehindFirewall(other)
    place = BehindFirewall(account)
    subnet = account.subnet(place.vpc, account.table(place.vpc))
    endpoint = account.endpoint_of_firewall(other.firewall_arn(theirs.appliance_subnet), place.vpc, subnet)
    account.replace(place.table, VpcEndpointId=endpoint)
    sandbox.faults.deny("network-firewall", "DescribeFirewall")
    snapshot = read_network(sandbox, place.vpc)
    assert (snapshot.firewalls, verdict(snapshot, place).reason) == ({}, "UNRESOLVED_EGRESS")


def test_a_firewall_that_was_just_deleted_is_left_out(sandbox: Sandbox) -> None:
    """Between the list and the description, a firewall may be deleted."""
    place = cured(Account(sandbox))
    sandbox.faults.fail("network-firewall", "DescribeFirewall", "ResourceNotFoundException", 400)
    assert verdict(read_network(sandbox), place).reason == "UNRESOLVED_EGRESS"


# --- prefix lists -----------------------------------------------------------------------------------------------------


IPV4 = {Family.IPV4}
BOTH = {Family.IPV4, Family.IPV6}
EXPRESS = "com.amazonaws.us-east-1.s3express"
EXPRESS_IPV6 = "com.amazonaws.us-east-1.ipv6.s3express"


class Clock:
    """A clock that shows a fixed time until a test sets it."""

    def __init__(self) -> None:
        """Start at an arbitrary time."""
        self.seconds = 1_000_000.0

    def __call__(self) -> float:
        """Return the seconds."""
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    """The reader's clock."""
    return Clock()


@pytest.fixture
def lists(aws: Aws, clock: Clock) -> PrefixListReader:
    """A new reader."""
    return PrefixListReader(aws.ec2, aws.region, clock)


def read(lists: PrefixListReader, wanted: list[str], families: set[Family]) -> Mapping[str, PrefixList]:
    """Return the lists that a read finds, by id."""
    return lists.read(wanted, families, OptionalReads()).by_id


def names(lists: PrefixListReader, wanted: list[str], families: set[Family]) -> set[str]:
    """Return the names of the lists that a read finds."""
    return {prefix_list.name for prefix_list in read(lists, wanted, families).values()}


def test_lists_of_awss_own_cost_one_call(lists: PrefixListReader, sandbox: Sandbox) -> None:
    """DescribePrefixLists returns AWS's own lists with their CIDRs."""
    found = {prefix_list.name: prefix_list for prefix_list in read(lists, [], IPV4).values()}
    assert found[EXPRESS].aws_owned
    assert parse_cidr("192.0.2.0/29") in (found[EXPRESS].cidrs or ())
    assert sandbox.calls.operations("ec2") == ["DescribePrefixLists"]


def test_customer_lists_are_read_if_wanted(lists: PrefixListReader, builder: Builder, sandbox: Sandbox) -> None:
    """A list in a route that AWS does not own is described, and its entries are read."""
    list_id = builder.prefix_list("198.18.0.0/15", "192.0.2.1/32")
    found = read(lists, [list_id], IPV4)[list_id]
    assert (found.aws_owned, found.family) == (False, Family.IPV4)
    assert set(found.cidrs or ()) == {parse_cidr("198.18.0.0/15"), parse_cidr("192.0.2.1/32")}
    operations = sandbox.calls.operations("ec2")
    assert operations[:2] == ["DescribePrefixLists", "DescribeManagedPrefixLists"]
    assert set(operations[2:]) == {"GetManagedPrefixListEntries"}


def test_ipv6_list_is_looked_for_where_a_subnet_has_ipv6(lists: PrefixListReader, sandbox: Sandbox) -> None:
    """DescribePrefixLists need not return the IPv6 list, so it is searched for among the managed lists."""
    assert EXPRESS_IPV6 not in names(lists, [], IPV4)
    found = {prefix_list.name: prefix_list for prefix_list in read(lists, [], BOTH).values()}
    assert found[EXPRESS_IPV6].family is Family.IPV6
    assert found[EXPRESS_IPV6].cidrs
    assert found[EXPRESS].cidrs
    sandbox.calls.clear()
    assert EXPRESS_IPV6 in names(lists, [], BOTH)
    assert list(sandbox.calls) == []


def test_ipv6_list_is_looked_for_after_a_customers(lists: PrefixListReader, builder: Builder, sandbox: Sandbox) -> None:
    """A customer-managed list that was read before does not prevent reading the entries of the IPv6 list."""
    list_id = builder.prefix_list("192.0.2.0/24")
    read(lists, [list_id], IPV4)
    entries = sandbox.calls.of("ec2", "GetManagedPrefixListEntries")
    assert [call.parameters["PrefixListId"] for call in entries] == [list_id]
    assert EXPRESS_IPV6 in names(lists, [list_id], BOTH)


def test_only_the_call_that_lists_all_lists_shows_that_there_is_no_ipv6_list(
    lists: PrefixListReader, sandbox: Sandbox
) -> None:
    """Until DescribeManagedPrefixLists is read, and if it is denied, an IPv6 list may exist."""
    assert not lists.read([], IPV4, OptionalReads()).are_all_listed
    sandbox.faults.deny("ec2", "DescribeManagedPrefixLists", times=1)
    assert not lists.read([], BOTH, OptionalReads()).are_all_listed
    assert lists.read([], BOTH, OptionalReads()).are_all_listed


def test_entries_that_may_not_be_read_are_unknown(lists: PrefixListReader, builder: Builder, sandbox: Sandbox) -> None:
    """Denied entries are unknown, not empty, and the denied read is not repeated each time."""
    list_id = builder.prefix_list("198.18.0.0/15")
    sandbox.faults.deny("ec2", "GetManagedPrefixListEntries", PrefixListId=list_id)
    assert read(lists, [list_id], IPV4)[list_id].cidrs is None
    sandbox.calls.clear()
    assert read(lists, [list_id], IPV4)[list_id].cidrs is None
    assert sandbox.calls.of("ec2", "GetManagedPrefixListEntries") == []


@pytest.mark.parametrize("passed", [0, 1, REMEMBERED_SECONDS])
def test_lists_are_remembered_for_15_minutes(
    lists: PrefixListReader, builder: Builder, sandbox: Sandbox, clock: Clock, passed: float
) -> None:
    """For 15 minutes, AWS's lists are not read again, and customer-managed ones only for their version."""
    list_id = builder.prefix_list("198.18.0.0/15")
    before = read(lists, [list_id], BOTH)
    sandbox.calls.clear()
    clock.seconds += passed
    assert read(lists, [], BOTH) == before
    assert list(sandbox.calls) == []
    assert read(lists, [list_id], BOTH) == before
    assert sandbox.calls.operations("ec2") == ["DescribeManagedPrefixLists"]
    assert REMEMBERED_SECONDS == 15 * 60


def test_a_customers_change_shows_at_once(lists: PrefixListReader, builder: Builder, sandbox: Sandbox) -> None:
    """If one list has a new version, only its entries are read again."""
    changed, other = builder.prefix_list("198.18.0.0/15"), builder.prefix_list("192.0.2.0/24")
    wanted = [changed, other]
    read(lists, wanted, IPV4)
    builder.ec2.modify_managed_prefix_list(
        PrefixListId=changed, CurrentVersion=1, RemoveEntries=[{"Cidr": "198.18.0.0/15"}]
    )
    sandbox.calls.clear()
    assert read(lists, wanted, IPV4)[changed].cidrs == ()
    asked = sandbox.calls.of("ec2", "GetManagedPrefixListEntries")
    assert {call.parameters["PrefixListId"] for call in asked} == {changed}


def test_lists_are_read_again_after_15_minutes(
    lists: PrefixListReader, builder: Builder, sandbox: Sandbox, clock: Clock
) -> None:
    """After 15 minutes, everything is read again, so an added entry appears."""
    list_id = builder.prefix_list("198.18.0.0/15")
    read(lists, [list_id], IPV4)
    builder.ec2.modify_managed_prefix_list(
        PrefixListId=list_id, CurrentVersion=1, AddEntries=[{"Cidr": "192.0.2.1/32"}]
    )
    clock.seconds += REMEMBERED_SECONDS + 0.001
    sandbox.calls.clear()
    assert parse_cidr("192.0.2.1/32") in (read(lists, [list_id], IPV4)[list_id].cidrs or ())
    assert sandbox.calls.operations("ec2")[0] == "DescribePrefixLists"


def test_memory_does_not_grow_older_by_being_used(lists: PrefixListReader, sandbox: Sandbox, clock: Clock) -> None:
    """The 15 minutes count from the read, no matter how often the lists are used."""
    read(lists, [], IPV4)
    for _ in range(4):
        clock.seconds += REMEMBERED_SECONDS / 4
        read(lists, [], IPV4)
    clock.seconds += 1
    read(lists, [], IPV4)
    assert sandbox.calls.operations("ec2") == ["DescribePrefixLists"] * 2


def test_lists_are_read_again_where_the_clock_was_set_back(
    lists: PrefixListReader, sandbox: Sandbox, clock: Clock
) -> None:
    """If the clock was set back, nobody knows how old the lists are, so they are read again."""
    read(lists, [], IPV4)
    clock.seconds -= 1
    read(lists, [], IPV4)
    assert sandbox.calls.operations("ec2") == ["DescribePrefixLists"] * 2


def test_list_wanted_later_is_not_older_than_the_rest(
    lists: PrefixListReader, builder: Builder, sandbox: Sandbox, clock: Clock
) -> None:
    """A list that is first read after ten minutes expires with the others, so no entry is too old."""
    read(lists, [], IPV4)
    clock.seconds += REMEMBERED_SECONDS - 1
    list_id = builder.prefix_list("198.18.0.0/15")
    assert read(lists, [list_id], IPV4)[list_id].cidrs
    clock.seconds += 2
    sandbox.calls.clear()
    read(lists, [list_id], IPV4)
    assert "DescribePrefixLists" in sandbox.calls.operations("ec2")


def test_customer_list_made_after_the_lists_were_read_is_found(lists: PrefixListReader, builder: Builder) -> None:
    """A list that did not exist when the managed lists were described is searched for again."""
    first = builder.prefix_list("198.18.0.0/15")
    read(lists, [first], IPV4)
    second = builder.prefix_list("192.0.2.1/32")
    assert read(lists, [first, second], IPV4)[second].cidrs == (parse_cidr("192.0.2.1/32"),)


def test_failed_read_is_not_remembered(lists: PrefixListReader, builder: Builder, sandbox: Sandbox) -> None:
    """After a failed read, the next one starts again."""
    list_id = builder.prefix_list("198.18.0.0/15")
    sandbox.faults.deny("ec2", "DescribePrefixLists", times=1)
    with pytest.raises(ApiError, match="DescribePrefixLists"):
        read(lists, [list_id], IPV4)
    sandbox.faults.deny("ec2", "DescribeManagedPrefixLists", times=1)
    optional = OptionalReads()
    assert list_id not in lists.read([list_id], BOTH, optional).by_id
    assert optional.denied == ["ec2:DescribeManagedPrefixLists"]
    assert read(lists, [list_id], IPV4)[list_id].cidrs == (parse_cidr("198.18.0.0/15"),)
