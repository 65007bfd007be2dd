"""What invokes the rule: each type of change by itself, and items that AWS Config sends again."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import Hub
from config_rule_sandbox.server import Sandbox
from express_path.domain.verdict.fanout import ResourceType
from tests.support.network import Builder, Private
from tests.support.rule import Rule

Change = Callable[[], object]


def block(builder: Builder, mode: str) -> None:
    """Set the mode of VPC Block Public Access."""
    builder.ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode=mode)


def express(account: Account) -> list[str]:
    """Return the IPv4 blocks of S3 Express."""
    lists = account.ec2.describe_prefix_lists()["PrefixLists"]
    [cidrs] = [found["Cidrs"] for found in lists if found["PrefixListName"].endswith("us-east-1.s3express")]
    return list(cidrs)


def blocking(builder: Builder) -> Change:
    """Return a change that blocks public access: a public subnet and its NAT gateway are closed."""
    Private(builder)
    return lambda: block(builder, "block-bidirectional")


def excluding(builder: Builder) -> Change:
    """Return a change that opens the subnet of a NAT gateway again."""
    vpc = Private(builder)
    block(builder, "block-bidirectional")
    return lambda: builder.ec2.create_vpc_block_public_access_exclusion(
        InternetGatewayExclusionMode="allow-bidirectional", SubnetId=vpc.public_subnet
    )


def editing(builder: Builder) -> Change:
    """Return a change that adds the addresses of S3 Express to a customer's list, whose route leads to a NAT gateway."""
    vpc = Private(builder)
    builder.endpoint(vpc.vpc, vpc.table)
    list_id = builder.prefix_list("10.9.0.0/16")
    builder.route(vpc.table, list_id, NatGatewayId=vpc.nat)
    first, _, length = express(builder)[0].partition("/")
    narrower = f"{first}/{int(length) + 1}"
    return lambda: builder.ec2.modify_managed_prefix_list(
        PrefixListId=list_id, CurrentVersion=1, AddEntries=[{"Cidr": narrower}]
    )


def deleting(builder: Builder) -> Change:
    """Return a change that deletes the firewall in front of a NAT gateway."""
    vpc = Private(builder)
    inspected = builder.subnet(vpc.vpc, vpc.table)
    endpoint = builder.firewall_endpoint(vpc.vpc, inspected)
    builder.subnet(vpc.vpc, builder.table(vpc.vpc, VpcEndpointId=endpoint))
    arn = builder.firewall_arn(inspected)
    return lambda: builder.sandbox.client("network-firewall").delete_firewall(FirewallArn=arn)


def inspecting(builder: Builder, state: str) -> tuple[Hub, Any]:
    """Return a hub that leads a spoke's traffic through an appliance, and the record of its endpoint, in a state."""
    hub = Hub(builder)
    behind = builder.subnet(hub.vpc, builder.table(hub.vpc, NatGatewayId=hub.nat))
    endpoint_id = builder.load_balancer_endpoint(hub.vpc, behind)
    anywhere = {"RouteTableId": hub.egress_table, "DestinationCidrBlock": "0.0.0.0/0"}
    builder.ec2.replace_route(**anywhere, VpcEndpointId=endpoint_id)
    hub.join(builder)
    endpoint = builder.memory.vpc_end_points[endpoint_id]
    endpoint.state = state
    return hub, endpoint


def accepting(builder: Builder) -> Change:
    """Return a change after which an inspection VPC's endpoint is available: the spokes' traffic reaches the NAT gateway."""
    _, endpoint = inspecting(builder, "pendingAcceptance")
    return lambda: setattr(endpoint, "state", "available")


def rejecting(builder: Builder) -> Change:
    """Return a change after which an inspection VPC's endpoint is rejected."""
    _, endpoint = inspecting(builder, "available")
    return lambda: setattr(endpoint, "state", "rejected")


def completing(builder: Builder) -> Change:
    """Return a change after which no endpoint of a hub names a table that is not listed, so that its main table is known."""
    hub = Hub(builder)
    hub.join(builder)
    builder.route(builder.main_table(hub.vpc), "0.0.0.0/0", NatGatewayId=hub.nat)
    of_table = [{"Name": "route-table-id", "Values": [hub.egress_table]}]
    [table] = builder.ec2.describe_route_tables(Filters=of_table)["RouteTables"]
    for association in table["Associations"]:
        builder.ec2.disassociate_route_table(AssociationId=association["RouteTableAssociationId"])
    endpoint = builder.memory.vpc_end_points[builder.endpoint(hub.vpc, hub.public_table)]
    listed = list(endpoint.route_table_ids)
    endpoint.route_table_ids = [*listed, "rtb-0123456789abcdef0"]
    return lambda: setattr(endpoint, "route_table_ids", listed)


def one_way(builder: Builder) -> Hub:
    """Return a hub with a spoke whose tables do not lead back to the transit gateway yet."""
    hub = Hub(builder)
    hub.join(builder)
    builder.ec2.delete_route(RouteTableId=hub.public_table, DestinationCidrBlock="10.0.0.0/8")
    return hub


def opening(builder: Builder) -> Change:
    """Return a change that leads the traffic that enters such a hub to its NAT gateway."""
    hub = one_way(builder)
    anywhere = {"RouteTableId": hub.egress_table, "DestinationCidrBlock": "0.0.0.0/0"}
    builder.ec2.delete_route(**anywhere)
    return lambda: builder.ec2.create_route(**anywhere, NatGatewayId=hub.nat)


def dropping(builder: Builder) -> Change:
    """Return a change that adds an endpoint to such a hub, which does not serve the traffic that enters it."""
    hub = one_way(builder)
    return lambda: builder.endpoint(hub.vpc, hub.egress_table)


def moving(builder: Builder) -> Change:
    """Return a change that associates the subnets of such a hub's attachment with a table that has no way out."""
    hub = one_way(builder)
    table = builder.table(hub.vpc)
    of_table = [{"Name": "route-table-id", "Values": [hub.egress_table]}]
    [found] = builder.ec2.describe_route_tables(Filters=of_table)["RouteTables"]

    def move() -> None:
        for association in found["Associations"]:
            association_id = association["RouteTableAssociationId"]
            builder.ec2.replace_route_table_association(AssociationId=association_id, RouteTableId=table)

    return move


def naming(builder: Builder, *, is_deleted: bool) -> Change:
    """Return a change that creates or deletes a regional NAT gateway whose table is not in the VPC's list of tables.

    A subnet of the VPC uses the main table, which leads to another NAT gateway.
    """
    vpc = Private(builder)
    builder.route(builder.main_table(vpc.vpc), "0.0.0.0/0", NatGatewayId=vpc.nat)
    builder.subnet(vpc.vpc)

    def create() -> Any:
        made = builder.ec2.create_nat_gateway(VpcId=vpc.vpc, AvailabilityMode="regional")["NatGateway"]
        gateway = builder.memory.nat_gateways[made["NatGatewayId"]]
        gateway.route_table_id = "rtb-0123456789abcdef0"
        return gateway

    if not is_deleted:
        return create
    gateway = create()
    return lambda: setattr(gateway, "state", "deleting")


@pytest.mark.parametrize(
    ("resource_type", "prepare", "reasons"),
    [
        (ResourceType.BLOCK_PUBLIC_ACCESS_OPTIONS, blocking, {"DROPPED"}),
        (ResourceType.BLOCK_PUBLIC_ACCESS_EXCLUSION, excluding, {"INTERNET_GATEWAY", "NAT_GATEWAY"}),
        (ResourceType.PREFIX_LIST, editing, {"PARTLY_NAT"}),
        (ResourceType.FIREWALL, deleting, {"DROPPED"}),
        (ResourceType.VPC_ENDPOINT, accepting, {"NAT_BEYOND_TRANSIT_GATEWAY"}),
        (ResourceType.VPC_ENDPOINT, rejecting, {"DROPPED"}),
        (ResourceType.VPC_ENDPOINT, completing, {"NAT_BEYOND_TRANSIT_GATEWAY"}),
        (ResourceType.ROUTE_TABLE, opening, {"NAT_BEYOND_TRANSIT_GATEWAY"}),
        (ResourceType.VPC_ENDPOINT, dropping, {"DROPPED"}),
        (ResourceType.ROUTE_TABLE, moving, {"NO_ROUTE"}),
        (ResourceType.NAT_GATEWAY, partial(naming, is_deleted=True), {"NAT_GATEWAY"}),
        (ResourceType.NAT_GATEWAY, partial(naming, is_deleted=False), {"UNRESOLVED_EGRESS"}),
    ],
)
def test_the_event_alone_turns_the_verdicts(
    sandbox: Sandbox,
    builder: Builder,
    resource_type: ResourceType,
    prepare: Callable[[Builder], Change],
    reasons: set[str],
) -> None:
    """After a change, the event of its type evaluates what a sweep would: the sweep finds nothing."""
    change = prepare(builder)
    Private(builder)
    rule = Rule(sandbox)
    rule.loop.baseline()
    rule.changes()
    rule.sweep()
    change()
    rule.only_for = f'"resourceType": "{resource_type}"'
    rule.loop.notice()
    deliveries = rule.loop.deliver()
    assert [delivery.error for delivery in deliveries if delivery.error] == []
    turned = rule.answers([delivery.answer for delivery in deliveries])
    assert reasons <= set(turned.values())
    assert rule.sweep() == {}


VANISHED = "subnet-0123456789abcdef0"
OF_ONE_VPC = {
    ResourceType.ROUTE_TABLE: lambda vpc: (vpc.table, {"vpcId": vpc.vpc}),
    ResourceType.SUBNET: lambda vpc: (vpc.subnet, {"vpcId": vpc.vpc}),
    ResourceType.VPC_ENDPOINT: lambda vpc: ("vpce-0123456789abcdef0", {"vpcId": vpc.vpc}),
    ResourceType.NAT_GATEWAY: lambda vpc: (vpc.nat, {"vpcId": vpc.vpc}),
    ResourceType.BLOCK_PUBLIC_ACCESS_EXCLUSION: lambda vpc: ("vpcbpa-exclude-1", {"SubnetId": vpc.public_subnet}),
}
"""The id and the configuration of a resource that concerns the private subnet of a VPC, by type."""
OF_ALL = {
    ResourceType.VPC_ENDPOINT: lambda _: ("vpce-0123456789abcdef0", None),
    ResourceType.BLOCK_PUBLIC_ACCESS_OPTIONS: lambda _: ("123456789012", {}),
    ResourceType.DIRECTORY_BUCKET: lambda _: ("lake--use1-az4--x-s3", {}),
}
"""The same of a resource that concerns all subnets, such as an endpoint whose item does not name its VPC."""


@pytest.mark.parametrize(
    ("resource_type", "resource", "concerns_all"),
    [*((*pair, False) for pair in OF_ONE_VPC.items()), *((*pair, True) for pair in OF_ALL.items())],
)
def test_a_change_leaves_as_it_is_whatever_it_does_not_concern(
    sandbox: Sandbox,
    builder: Builder,
    resource_type: ResourceType,
    resource: Callable[[Private], tuple[str, object]],
    concerns_all: bool,
) -> None:
    """Only the subnets that it concerns are evaluated: no other result is replaced, and no other subnet is called deleted."""
    vpc, other = Private(builder), Private(builder)
    rule = Rule(sandbox, {"scope": "DIRECTORY_BUCKETS"} if resource_type == ResourceType.DIRECTORY_BUCKET else None)
    earlier = datetime.now(UTC) - timedelta(days=1)
    for subnet_id in (vpc.subnet, other.public_subnet, VANISHED):
        rule.store(subnet_id, earlier)
    before = rule.held()
    resource_id, configuration = resource(vpc)
    item = {
        "awsAccountId": sandbox.account_id,
        "configurationItemCaptureTime": datetime.now(UTC).isoformat(),
        "configurationItemStatus": "ResourceDiscovered" if resource_type == ResourceType.DIRECTORY_BUCKET else "OK",
        "resourceType": resource_type,
        "resourceId": resource_id,
        "configuration": configuration,
    }
    rule.tell(item)
    after = rule.held()
    assert vpc.nat in after[vpc.subnet].annotation
    assert after[VANISHED] == before[VANISHED]
    assert (after[other.public_subnet] != before[other.public_subnet]) == concerns_all


# --- items that are sent again -----------------------------------------------------------------------------------------


def again(rule: Rule) -> dict[str, str]:
    """Let AWS Config send every item again; return the reason of every subnet that was reported."""
    rule.sandbox.calls.clear()
    rule.loop.evaluate_again()
    deliveries = rule.loop.deliver()
    assert [delivery.error for delivery in deliveries if delivery.error] == []
    return rule.answers([delivery.answer for delivery in deliveries])


def test_first_evaluation_reports_each_subnet_once(sandbox: Sandbox, builder: Builder) -> None:
    """The items of all resources together report each subnet once, and a second evaluation reports nothing."""
    vpcs = [Private(builder) for _ in range(3)]
    builder.endpoint(vpcs[0].vpc, vpcs[0].table)
    rule = Rule(sandbox)
    rule.take_as_known()
    assert set(again(rule)) == {subnet_id for vpc in vpcs for subnet_id in (vpc.subnet, vpc.public_subnet)}
    reported = [call.parameters["Evaluations"] for call in sandbox.calls.of("config", "PutEvaluations")]
    assert sum(map(len, reported)) == 2 * len(vpcs)
    assert again(rule) == {}
    assert not sandbox.calls.of("config", "PutEvaluations")
    assert rule.sweep() == {}


@pytest.mark.parametrize("kind", ["table", "nat", "subnet"])
def test_a_discovered_resource_is_a_change_without_any_difference(rule: Rule, vpc: Private, kind: str) -> None:
    """The subnets that it concerns are evaluated, and reported if AWS Config has another result or none."""
    rule.take_as_known()
    resource_id = {"table": vpc.table, "nat": vpc.nat, "subnet": vpc.public_subnet}[kind]
    rule.loop.evaluate_again()
    [notification] = [sent for sent in rule.loop.take() if sent["configurationItem"]["resourceId"] == resource_id]
    assert notification["configurationItem"]["configurationItemStatus"] == "ResourceDiscovered"
    assert notification["configurationItemDiff"] is None
    assert rule.answers([rule.loop.send(notification).answer])[vpc.subnet] == "NAT_GATEWAY"
    assert rule.held()[vpc.subnet].reason == "NAT_GATEWAY"
    rule.sandbox.calls.clear()
    assert rule.answers([rule.loop.send(notification).answer]) == {}
    assert not rule.sandbox.calls.of("config", "PutEvaluations")


def test_item_that_is_older_than_the_stored_result_replaces_it(sandbox: Sandbox) -> None:
    """What no item shows is found when AWS Config sends the subnet's old item again, after a sweep with a later time."""
    hub = Hub(Account(sandbox))
    spoke = hub.join(hub.account)
    rule = Rule(sandbox)
    rule.take_as_known()
    rule.sweep()
    before = rule.held()[spoke.subnet]
    for cidr in express(hub.account):
        hub.lead(cidr, None)
    assert again(rule) == {spoke.subnet: "DROPPED"}
    assert before.reason == "NAT_BEYOND_TRANSIT_GATEWAY"
    assert rule.held()[spoke.subnet].ordering > before.ordering


@pytest.mark.long
def test_no_verdict_is_lost_when_ec2_throttles(sandbox: Sandbox, builder: Builder) -> None:
    """Many invocations at once exceed EC2's rates, and all verdicts arrive without a failed event."""
    vpc = Private(builder)
    builder.many_subnets(vpc.vpc, 30)
    rule = Rule(sandbox)
    rule.take_as_known()
    rule.loop.evaluate_again()
    sandbox.faults.limit_reads(size=5, per_second=10)
    with ThreadPoolExecutor(16) as pool:
        deliveries = list(pool.map(rule.loop.send, rule.loop.take()))
    assert [delivery.error for delivery in deliveries if delivery.error] == []
    assert any(call.error == "RequestLimitExceeded" for call in sandbox.calls.of("ec2"))
    sandbox.faults.clear()
    assert rule.sweep() == {}
