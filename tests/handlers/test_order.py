"""Which result stays if events are late, out of order, repeated, or at the same time: the one that was read last."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest

from config_rule_sandbox.server import Sandbox
from express_path.domain.verdict.fanout import ResourceType
from tests.support.network import Builder, Private
from tests.support.rule import Item, Rule

CAPTURES = tuple(f"2026-02-13T05:48:{second}.341Z" for second in (51, 52, 53))


def item(vpc: Private, captured: str, resource_type: str = ResourceType.ROUTE_TABLE, **more: object) -> Item:
    """Return an item of the private subnet's route table, or of the subnet itself."""
    return {
        "awsAccountId": "123456789012",
        "configurationItemCaptureTime": captured,
        "configurationItemStatus": "OK",
        "resourceType": resource_type,
        "resourceId": vpc.table if resource_type == ResourceType.ROUTE_TABLE else vpc.subnet,
        "configuration": {"vpcId": vpc.vpc},
        **more,
    }


def routes(builder: Builder, vpc: Private) -> dict[str, Callable[[], object]]:
    """Return a change of the route table for each reason that the private subnet is to have, in an order that works."""
    anywhere = {"RouteTableId": vpc.table, "DestinationCidrBlock": "0.0.0.0/0"}
    return {
        "NO_ROUTE": lambda: builder.ec2.delete_route(**anywhere),
        "NAT_GATEWAY": lambda: builder.ec2.create_route(**anywhere, NatGatewayId=vpc.nat),
        "ENDPOINT": lambda: builder.endpoint(vpc.vpc, vpc.table),
    }


@pytest.mark.parametrize("captures", list(permutations(CAPTURES)))
def test_what_was_read_last_stays_in_every_order_of_events(
    rule: Rule, builder: Builder, vpc: Private, captures: tuple[str, ...]
) -> None:
    """A newer event whose read of EC2 is stale does not outlast an older one, delivered later, that sees the NAT."""
    times = []
    for captured, (reason, change) in zip(captures, routes(builder, vpc).items(), strict=True):
        change()
        rule.tell(item(vpc, captured))
        assert rule.held()[vpc.subnet].reason == reason
        times.append(rule.held()[vpc.subnet].ordering)
    assert times == sorted(times)


def test_the_time_of_a_result_is_when_the_read_of_ec2_began(rule: Rule, vpc: Private) -> None:
    """Neither the time of the event nor that of the report counts, whether the event is a change or the schedule's."""
    began: list[datetime] = []
    rule.sandbox.faults.before("ec2", "DescribeSubnets", lambda: began.append(datetime.now(UTC)))
    started = datetime.now(UTC)
    rule.tell(item(vpc, CAPTURES[0]))
    assert started.timestamp() <= rule.held()[vpc.subnet].ordering <= began[0].timestamp()
    rule.sandbox.faults.clear()
    rule.sandbox.faults.before("ec2", "DescribeSubnets", lambda: began.append(datetime.now(UTC)))
    rule.sweep()
    assert began[0].timestamp() < rule.held()[vpc.public_subnet].ordering <= began[1].timestamp()


@pytest.mark.parametrize("first", CAPTURES[::2], ids=["older event ends last", "newer event ends last"])
def test_of_two_invocations_at_once_the_later_read_stays(
    rule: Rule, builder: Builder, vpc: Private, first: str
) -> None:
    """The first one reads, then the network changes, the second one reads and reports, and only then the first reports."""

    def overtake() -> None:
        builder.endpoint(vpc.vpc, vpc.table)
        assert rule.tell(item(vpc, CAPTURES[1])) == {vpc.subnet: "ENDPOINT"}

    rule.sandbox.faults.before("config", "PutEvaluations", overtake)
    assert rule.tell(item(vpc, first)) == {vpc.subnet: "NAT_GATEWAY"}
    assert rule.held()[vpc.subnet].reason == "ENDPOINT"


@pytest.mark.parametrize("later", ["sweep", "discovered", "sent again"])
def test_a_later_read_that_shows_the_stored_result_stays(
    rule: Rule, builder: Builder, vpc: Private, later: str
) -> None:
    """The later invocation has nothing to report. The earlier one reports what it read before, and reads again."""
    anywhere = {"RouteTableId": vpc.table, "DestinationCidrBlock": "0.0.0.0/0"}
    rule.tell(item(vpc, CAPTURES[0]))
    rule.sweep()
    builder.ec2.delete_route(**anywhere)

    def overtake() -> None:
        builder.ec2.create_route(**anywhere, NatGatewayId=vpc.nat)
        discovered = item(vpc, CAPTURES[2], configurationItemStatus="ResourceDiscovered")
        again = item(vpc, CAPTURES[2], ResourceType.SUBNET)
        sent = {"discovered": discovered, "sent again": again}
        assert (rule.tell(sent[later], {}) if later in sent else rule.sweep()) == {}

    rule.sandbox.faults.before("config", "PutEvaluations", overtake)
    assert rule.tell(item(vpc, CAPTURES[1])) == {vpc.subnet: "NO_ROUTE"}
    assert rule.held()[vpc.subnet].reason == "NAT_GATEWAY"


@pytest.mark.parametrize("later", ["sweep", "sent again"])
def test_a_result_that_is_replaced_while_a_later_invocation_reads_is_reported_again(
    rule: Rule, builder: Builder, vpc: Private, later: str
) -> None:
    """The later invocation knows an equal result from before its read, but AWS Config has another one since."""
    anywhere = {"RouteTableId": vpc.table, "DestinationCidrBlock": "0.0.0.0/0"}
    rule.tell(item(vpc, CAPTURES[0]))
    rule.sweep()

    def report_first() -> None:
        builder.ec2.delete_route(**anywhere)
        assert rule.tell(item(vpc, CAPTURES[1])) == {vpc.subnet: "NO_ROUTE"}
        builder.ec2.create_route(**anywhere, NatGatewayId=vpc.nat)

    rule.sandbox.faults.before("ec2", "DescribeSubnets", report_first)
    again = item(vpc, CAPTURES[2], ResourceType.SUBNET)
    assert (rule.tell(again, {}) if later == "sent again" else rule.sweep()) == {vpc.subnet: "NAT_GATEWAY"}
    assert rule.held()[vpc.subnet].reason == "NAT_GATEWAY"


def test_a_sweep_reads_again_what_it_reported(rule: Rule, builder: Builder, vpc: Private) -> None:
    """An event that reads later finds the result that the sweep is about to replace, and reports nothing."""
    anywhere = {"RouteTableId": vpc.table, "DestinationCidrBlock": "0.0.0.0/0"}
    rule.sweep()
    builder.ec2.delete_route(**anywhere)

    def overtake() -> None:
        builder.ec2.create_route(**anywhere, NatGatewayId=vpc.nat)
        assert rule.tell(item(vpc, CAPTURES[0], ResourceType.SUBNET), {}) == {}

    rule.sandbox.faults.before("config", "PutEvaluations", overtake)
    rule.sweep()
    assert rule.held()[vpc.subnet].reason == "NAT_GATEWAY"


def test_what_is_as_reported_is_read_once_more_and_not_reported_again(
    rule: Rule, builder: Builder, vpc: Private
) -> None:
    """A result that AWS Config had before needs no second read, and nothing is reported twice."""
    reads = []
    for _ in range(2):
        rule.sandbox.calls.clear()
        rule.tell(item(vpc, CAPTURES[0]))
        reads.append(len(rule.sandbox.calls.of("ec2", "DescribeSubnets")))
        assert len(rule.sandbox.calls.of("config", "PutEvaluations")) == 1
    assert reads == [2, 1]
    builder.endpoint(vpc.vpc, vpc.table)
    rule.sandbox.calls.clear()
    rule.sweep()
    assert len(rule.sandbox.calls.of("config", "PutEvaluations")) == 1


def test_a_sweep_does_not_replace_what_was_read_after_it_began(rule: Rule, builder: Builder, vpc: Private) -> None:
    """An event that arrives while the sweep reads and reports has the later read, and an older event's time."""

    def overtake() -> None:
        builder.endpoint(vpc.vpc, vpc.table)
        rule.tell(item(vpc, CAPTURES[0]))

    rule.sandbox.faults.before("config", "PutEvaluations", overtake)
    assert rule.sweep()[vpc.subnet] == "NAT_GATEWAY"
    assert rule.held()[vpc.subnet].reason == "ENDPOINT"


def test_a_retry_reads_again(rule: Rule, builder: Builder, vpc: Private) -> None:
    """The same event, delivered again after another one, reports what it reads then."""
    event = rule.event(item(vpc, CAPTURES[0]))
    rule.invoke(event)
    builder.endpoint(vpc.vpc, vpc.table)
    rule.tell(item(vpc, CAPTURES[1]))
    builder.ec2.replace_route(RouteTableId=vpc.table, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=vpc.nat)
    builder.ec2.delete_vpc_endpoints(VpcEndpointIds=[_endpoint(builder, vpc)])
    rule.invoke(event)
    assert rule.held()[vpc.subnet].reason == "NAT_GATEWAY"


def _endpoint(builder: Builder, vpc: Private) -> str:
    of_vpc = [{"Name": "vpc-id", "Values": [vpc.vpc]}]
    [endpoint] = builder.ec2.describe_vpc_endpoints(Filters=of_vpc)["VpcEndpoints"]
    return str(endpoint["VpcEndpointId"])


def test_a_clock_that_is_ahead_does_not_hold_a_result(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A sweep, or an item that is sent again, replaces what AWS Config had before, whatever time that claims."""
    rule.tell(item(vpc, CAPTURES[0]))
    ahead = datetime.now(UTC) + timedelta(minutes=2)
    rule.store(vpc.subnet, ahead)
    builder.endpoint(vpc.vpc, vpc.table)
    assert rule.sweep()[vpc.subnet] == "ENDPOINT"
    assert rule.held()[vpc.subnet].reason == "ENDPOINT"
    assert rule.held()[vpc.subnet].ordering > ahead.timestamp()
    rule.store(vpc.subnet, ahead + timedelta(minutes=1))
    again = item(vpc, CAPTURES[0], ResourceType.SUBNET)
    assert rule.tell(again, {}) == {vpc.subnet: "ENDPOINT"}
    assert rule.held()[vpc.subnet].reason == "ENDPOINT"


def test_a_deletion_is_final_in_every_order(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A read that still showed the subnet does not outlast the deletion, whose item was captured before that read."""
    rule.tell(item(vpc, CAPTURES[1]))
    builder.ec2.delete_subnet(SubnetId=vpc.subnet)
    gone = item(vpc, CAPTURES[0], ResourceType.SUBNET, configurationItemStatus="ResourceDeleted", configuration=None)
    rule.tell(gone)
    assert rule.held()[vpc.subnet][:2] == ("NOT_APPLICABLE", "DELETED")


def test_a_notice_of_leaving_the_scope_replaces_the_result(rule: Rule, vpc: Private) -> None:
    """The item was captured before the read that gave the result, so with its time, AWS Config would keep that result."""
    rule.tell(item(vpc, CAPTURES[1]))
    rule.tell(item(vpc, CAPTURES[0], ResourceType.SUBNET), eventLeftScope=True)
    assert rule.held()[vpc.subnet].reason == "EXCLUDED"


def test_a_subnet_of_another_vpc_replaces_the_result_from_before_vpc_ids(
    sandbox: Sandbox, builder: Builder, rule: Rule, vpc: Private
) -> None:
    """VpcIds decides without a read of EC2, and its result is later than any that was read before."""
    rule.tell(item(vpc, CAPTURES[1]))
    narrowed = Rule(sandbox, {"vpcIds": builder.vpc()})
    narrowed.tell(
        item(vpc, CAPTURES[0], ResourceType.SUBNET, configuration={"vpcId": vpc.vpc, "ownerId": "123456789012"})
    )
    assert narrowed.held()[vpc.subnet].reason == "EXCLUDED"


def test_a_sweep_that_fails_half_way_is_completed_by_its_retry(rule: Rule, vpc: Private) -> None:
    """What was rejected has its result from the retry, whose read is the later one."""
    rule.loop.results.rejected.add(vpc.subnet)
    event = rule.event(item(vpc, CAPTURES[0]))
    event["invokingEvent"] = json.dumps(rule.loop.periodic())
    with pytest.raises(Exception, match="rejected"):
        rule.invoke(event)
    assert vpc.subnet not in rule.held()
    rule.loop.results.rejected.clear()
    rule.invoke(event)
    assert {vpc.subnet, vpc.public_subnet} <= rule.held().keys()
