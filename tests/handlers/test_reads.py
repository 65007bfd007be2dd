"""The number of calls of an invocation: for one VPC, cold and warm, and for a whole account."""

from collections import Counter

import pytest

from sandbox.server import Sandbox
from tests.support.network import ANYWHERE_IPV6, Builder, Private
from tests.support.rule import Rule

OF_A_VPC = {"DescribeVpcs", "DescribeSubnets", "DescribeRouteTables", "DescribeVpcEndpoints"}
STORED = "GetComplianceDetailsByResource"
"""The read of what AWS Config has stored for a subnet, before the report."""


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """A private and a public subnet."""
    return Private(builder)


def trigger(rule: Rule, vpc: Private) -> dict[str, str]:
    """Clear the recorded calls and invoke the function for the private subnet's route table."""
    rule.sandbox.calls.clear()
    return rule.tell(
        {
            "awsAccountId": "123456789012",
            "configurationItemCaptureTime": rule.now,
            "configurationItemStatus": "OK",
            "resourceType": "AWS::EC2::RouteTable",
            "resourceId": vpc.table,
            "configuration": {"vpcId": vpc.vpc},
        }
    )


def operations(rule: Rule) -> list[str]:
    """Return the names of the operations called, sorted."""
    return sorted(call.operation for call in rule.sandbox.calls)


def test_one_vpc_costs_six_reads_one_report_and_one_event(rule: Rule, vpc: Private) -> None:
    """A cold invocation makes four calls for the VPC, one for the prefix lists, and one to read the stored result.

    Then it reports the verdict, and publishes the change.
    """
    assert trigger(rule, vpc) == {vpc.subnet: "NAT_GATEWAY"}
    assert operations(rule) == sorted([*OF_A_VPC, "DescribePrefixLists", STORED, "PutEvaluations", "PutEvents"])


def test_reads_are_of_one_vpc(rule: Rule, builder: Builder, vpc: Private) -> None:
    """Each of the four reads is limited to the VPC of the item."""
    Private(builder)
    trigger(rule, vpc)
    filters = [call.parameters["Filters"] for call in rule.sandbox.calls.of("ec2") if call.operation in OF_A_VPC]
    assert filters == [[{"Name": "vpc-id", "Values": [vpc.vpc]}]] * 4


def test_warm_invocation_remembers_the_prefix_lists(rule: Rule, vpc: Private) -> None:
    """The second invocation of a runtime reads only the VPC and the stored result again, and publishes nothing."""
    trigger(rule, vpc)
    assert trigger(rule, vpc) == {vpc.subnet: "NAT_GATEWAY"}
    assert operations(rule) == sorted([*OF_A_VPC, STORED, "PutEvaluations"])


def test_warm_invocation_sees_the_network_as_it_is(rule: Rule, builder: Builder, vpc: Private) -> None:
    """The network itself is not cached."""
    trigger(rule, vpc)
    builder.endpoint(vpc.vpc, vpc.table)
    assert trigger(rule, vpc) == {vpc.subnet: "ENDPOINT"}


def test_customer_prefix_lists_are_read_when_a_route_names_one(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A customer-managed list in a route is described each time, and its entries are read once."""
    other = builder.prefix_list("198.18.0.0/15")
    list_id = builder.prefix_list("192.0.2.1/32")
    builder.endpoint(vpc.vpc, vpc.table)
    builder.route(vpc.table, list_id, NatGatewayId=vpc.nat)
    assert trigger(rule, vpc) == {vpc.subnet: "PARTLY_NAT"}
    read = [call.parameters["PrefixListId"] for call in rule.sandbox.calls.of("ec2", "GetManagedPrefixListEntries")]
    assert read.count(list_id) == 1
    assert other not in read
    assert len(rule.sandbox.calls.of("ec2", "DescribeManagedPrefixLists")) == 1
    assert trigger(rule, vpc) == {vpc.subnet: "PARTLY_NAT"}
    assert operations(rule) == sorted([*OF_A_VPC, "DescribeManagedPrefixLists", STORED, "PutEvaluations"])


def test_ipv6_prefix_list_is_read_when_a_subnet_has_ipv6(rule: Rule, builder: Builder, vpc: Private) -> None:
    """If a subnet has IPv6, the IPv6 list of S3 Express is read, because DescribePrefixLists need not return it."""
    builder.dual_stack(vpc.vpc, vpc.subnet)
    gateway = builder.ec2.create_egress_only_internet_gateway(VpcId=vpc.vpc)["EgressOnlyInternetGateway"]
    builder.route(vpc.table, ANYWHERE_IPV6, EgressOnlyInternetGatewayId=gateway["EgressOnlyInternetGatewayId"])
    builder.endpoint(vpc.vpc, vpc.table)
    assert trigger(rule, vpc) == {vpc.subnet: "INTERNET_GATEWAY"}
    assert len(rule.sandbox.calls.of("ec2", "DescribeManagedPrefixLists")) == 1
    assert trigger(rule, vpc) == {vpc.subnet: "INTERNET_GATEWAY"}
    assert operations(rule) == sorted([*OF_A_VPC, STORED, "PutEvaluations"])


def test_dropped_items_and_deleted_subnets_start_nothing(rule: Rule, builder: Builder, vpc: Private) -> None:
    """Events that need no network cause no reads of EC2, also in a cold runtime."""
    rule.take_as_known()
    builder.ec2.delete_subnet(SubnetId=vpc.subnet)
    rule.sandbox.calls.clear()
    rule.changes(of=vpc.subnet)
    assert operations(rule) == [STORED, "PutEvaluations", "PutEvents"]


def test_sweep_costs_the_same_however_many_vpcs(rule: Rule, builder: Builder) -> None:
    """A sweep makes one call for each kind of resource, for the stored results, for the previous sweep, and for events.

    It makes as many for 2 VPCs as for 12.
    """
    for _ in range(2):
        Private(builder)
    few = costs_of_sweep(rule)
    for _ in range(10):
        vpc_id = builder.vpc()
        builder.many_subnets(vpc_id, 5)
        builder.many_tables(vpc_id, 3)
    assert costs_of_sweep(rule) == few
    assert few == Counter(
        [*OF_A_VPC, "DescribeNatGateways", "GetComplianceDetailsByConfigRule", "GetMetricData", "PutEvents"]
    )


def test_sweep_grows_with_pages_alone(rule: Rule, builder: Builder) -> None:
    """With more route tables than a page of 100, there is one more call."""
    Private(builder)
    few = costs_of_sweep(rule)
    builder.many_tables(builder.vpc(), 100)
    assert costs_of_sweep(rule) - few == Counter(["DescribeRouteTables"])


@pytest.mark.usefixtures("vpc")
def test_reads_ask_for_the_largest_pages(rule: Rule) -> None:
    """Every read requests the largest page that EC2 allows: 100 route tables, and 1,000 of other resources."""
    rule.sweep()
    sizes = {
        call.operation: call.parameters["MaxResults"]
        for call in rule.sandbox.calls.of("ec2")
        if call.operation in OF_A_VPC
    }
    assert sizes == {**dict.fromkeys(OF_A_VPC, 1000), "DescribeRouteTables": 100}
    [held] = rule.sandbox.calls.of("config", "GetComplianceDetailsByConfigRule")
    assert held.parameters["Limit"] == 100


def costs_of_sweep(rule: Rule) -> Counter[str]:
    """Return the calls of a warm sweep that has nothing to report."""
    rule.sweep()
    rule.sandbox.calls.clear()
    assert rule.sweep() == {}
    return Counter(operations(rule))


def test_directory_buckets_are_listed_only_if_the_scope_asks(sandbox: Sandbox, vpc: Private) -> None:
    """Scope DIRECTORY_BUCKETS adds one call for directory buckets and one for shared subnets; scope ALL adds none."""
    trigger(Rule(sandbox), vpc)
    assert sandbox.calls.of("s3") == sandbox.calls.of("ram") == []
    rule = Rule(sandbox, {"scope": "DIRECTORY_BUCKETS"})
    assert trigger(rule, vpc) == {vpc.subnet: "NO_DIRECTORY_BUCKETS"}
    assert [call.operation for call in sandbox.calls.of("s3")] == ["ListDirectoryBuckets"]
    [asked] = sandbox.calls.of("ram", "ListResources")
    assert asked.parameters["resourceOwner"] == "SELF"
    assert asked.parameters["resourceType"] == "ec2:Subnet"


def test_shared_subnets_are_read_on_every_page(sandbox: Sandbox, builder: Builder, vpc: Private) -> None:
    """Without directory buckets, a shared subnet on the second page is evaluated, and the public subnet is not."""
    others = [builder.subnet(vpc.vpc, vpc.table) for _ in range(2)]
    for subnet_id in (others[0], vpc.subnet):
        sandbox.ec2.sharing.share_subnet(subnet_id, "210987654321")
    sandbox.ec2.knobs.page_size = 1
    rule = Rule(sandbox, {"scope": "DIRECTORY_BUCKETS"})
    rule.sweep()
    reported = {subnet for subnet, held in rule.held().items() if held.compliance == "NON_COMPLIANT"}
    assert reported == {others[0], vpc.subnet}
    assert len(sandbox.calls.of("ram", "ListResources")) == 2


def test_ipv6_list_is_not_read_for_ipv4_alone(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A customer-managed list adds two calls. S3 Express's IPv6 entries are not read if no subnet has IPv6."""
    list_id = builder.prefix_list("192.0.2.1/32")
    builder.route(vpc.table, list_id, NatGatewayId=vpc.nat)
    trigger(rule, vpc)
    entries = rule.sandbox.calls.of("ec2", "GetManagedPrefixListEntries")
    assert [call.parameters["PrefixListId"] for call in entries] == [list_id]
