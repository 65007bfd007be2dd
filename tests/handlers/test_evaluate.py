"""One event in the function: what it reports to AWS Config and what it returns."""

import json
import warnings
from collections.abc import Callable
from datetime import datetime

import pytest

from express_path.errors import ParameterError, RecordError, ReportError
from express_path.handlers.evaluate import MAX_RETURNED, handler
from sandbox.server import Sandbox
from tests.support.network import Builder, Private
from tests.support.rule import Context, Item, Rule

CAPTURED = "2026-02-13T05:48:51.341Z"


def item(resource_type: str, resource_id: str, **more: object) -> Item:
    """Return an item with the required fields and the additional ones in more."""
    return {
        "awsAccountId": "123456789012",
        "configurationItemCaptureTime": CAPTURED,
        "configurationItemStatus": "OK",
        "resourceType": f"AWS::EC2::{resource_type}",
        "resourceId": resource_id,
        **more,
    }


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """A private and a public subnet."""
    return Private(builder)


def test_verdict_reaches_config(rule: Rule, vpc: Private) -> None:
    """AWS Config shows the verdict on the subnet, with the deciding route in the annotation."""
    rule.tell(item("Subnet", vpc.subnet, configuration={"vpcId": vpc.vpc}))
    config = rule.sandbox.client("config")
    [result] = config.get_compliance_details_by_config_rule(ConfigRuleName=rule.loop.rule.name)["EvaluationResults"]
    qualifier = result["EvaluationResultIdentifier"]["EvaluationResultQualifier"]
    assert (qualifier["ResourceType"], qualifier["ResourceId"]) == ("AWS::EC2::Subnet", vpc.subnet)
    assert result["ComplianceType"] == "NON_COMPLIANT"
    assert result["Annotation"].startswith("NAT_GATEWAY: ")
    assert f"0.0.0.0/0 -> {vpc.nat} in {vpc.table}" in result["Annotation"]
    assert result["EvaluationResultIdentifier"]["OrderingTimestamp"] == datetime.fromisoformat(CAPTURED)


def test_answer_tells_what_was_posted(rule: Rule, vpc: Private) -> None:
    """The function returns each verdict with its path as plain JSON, for people who invoke it by hand."""
    answer = rule.invoke(rule.event(item("Subnet", vpc.subnet, configuration={"vpcId": vpc.vpc})))
    [evaluation] = json.loads(json.dumps(answer))["evaluations"]
    assert answer["posted"] == 1
    assert evaluation.pop("annotation").startswith("NAT_GATEWAY: ")
    assert evaluation == {
        "subnetId": vpc.subnet,
        "routeTableId": vpc.table,
        "compliance": "NON_COMPLIANT",
        "reason": "NAT_GATEWAY",
        "path": [{"kind": "NAT_GATEWAY", "id": vpc.nat, "destination": "0.0.0.0/0"}],
        "capacity": [{"hopId": vpc.nat, "name": "NAT gateway", "baselineGbps": 5.0, "peakGbps": 100.0}],
    }


def test_answer_is_bounded(rule: Rule, builder: Builder, vpc: Private) -> None:
    """Lambda limits the size of a response, so only some verdicts are returned, but all are reported."""
    builder.make_main(vpc.vpc, vpc.table)
    subnets = builder.many_subnets(vpc.vpc, MAX_RETURNED + 1)
    answer = rule.invoke(rule.event(item("RouteTable", vpc.table, configuration={"vpcId": vpc.vpc})))
    assert answer["posted"] == len(subnets) + 1
    assert len(answer["evaluations"]) == MAX_RETURNED


def test_older_event_does_not_overwrite_a_newer_verdict(rule: Rule, builder: Builder, vpc: Private) -> None:
    """AWS Config orders verdicts by the capture times of the items that led to them."""
    rule.tell(item("Subnet", vpc.subnet))
    builder.endpoint(vpc.vpc, vpc.table)
    earlier = "2026-02-13T05:48:51.340Z"
    assert rule.tell(item("Subnet", vpc.subnet, configurationItemCaptureTime=earlier)) == {vpc.subnet: "ENDPOINT"}
    assert rule.held()[vpc.subnet].reason == "NAT_GATEWAY"


def test_late_items_do_no_harm(rule: Rule, builder: Builder, vpc: Private) -> None:
    """Items that arrive late and out of order give the verdict of the current network."""
    rule.take_as_known()
    builder.endpoint(vpc.vpc, vpc.table)
    rule.loop.notice()
    rule.loop.deliver(late=True)
    builder.route(vpc.table, "192.0.2.0/30", NatGatewayId=vpc.nat)
    rule.loop.notice()
    rule.loop.deliver(shuffled_with_seed=7)
    assert rule.held()[vpc.subnet].reason == "PARTLY_NAT"


def test_batches_of_100(rule: Rule, builder: Builder, vpc: Private) -> None:
    """252 subnets are reported in three calls, because PutEvaluations accepts 100 evaluations."""
    builder.make_main(vpc.vpc, vpc.table)
    builder.many_subnets(builder.vpc(), 250)
    subnets = builder.many_subnets(vpc.vpc, 249)
    rule.sandbox.calls.clear()
    rule.tell(item("RouteTable", vpc.table, configuration={"vpcId": vpc.vpc}))
    puts = rule.sandbox.calls.of("config", "PutEvaluations")
    assert [len(call.parameters["Evaluations"]) for call in puts] == [100, 100, 50]
    assert rule.held().keys() == {*subnets, vpc.subnet}


def test_vpc_without_subnets_reports_nothing(rule: Rule, builder: Builder) -> None:
    """If there is no subnet, AWS Config is not called."""
    empty = builder.vpc()
    endpoint = builder.endpoint(empty, builder.main_table(empty))
    rule.sandbox.calls.clear()
    assert rule.tell(item("VPCEndpoint", endpoint, configuration={"vpcId": empty})) == {}
    assert rule.sandbox.calls.of("config") == []


def test_table_of_1000_routes(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A table with as many routes as AWS allows is one page, and its longest matching prefix decides."""
    others = [f"100.{number // 256}.{number % 256}.0/24" for number in range(996)]
    builder.many_routes(vpc.table, [*others, "192.0.2.1/32"], vpc.nat)
    builder.endpoint(vpc.vpc, vpc.table)
    rule.sandbox.calls.clear()
    assert rule.tell(item("RouteTable", vpc.table, configuration={"vpcId": vpc.vpc})) == {vpc.subnet: "PARTLY_NAT"}
    assert len(rule.sandbox.calls.of("ec2", "DescribeRouteTables")) == 1


def test_refused_evaluations_are_raised(rule: Rule, builder: Builder, vpc: Private) -> None:
    """If AWS Config rejects evaluations, the error names the subnets; the others are stored."""
    endpoint = builder.endpoint(vpc.vpc, vpc.table)
    rule.loop.results.rejected.add(vpc.subnet)
    with pytest.raises(ReportError) as raised:
        rule.tell(item("VPCEndpoint", endpoint, configuration={"vpcId": vpc.vpc}))
    assert [row["ComplianceResourceId"] for row in raised.value.failed] == [vpc.subnet]
    assert vpc.subnet in str(raised.value)
    assert rule.held().keys() == {vpc.public_subnet}


def test_test_mode_stores_nothing(rule: Rule, vpc: Private) -> None:
    """With the token TESTMODE AWS Config checks the evaluations and keeps none."""
    found = rule.tell(item("Subnet", vpc.subnet), resultToken="TESTMODE")
    [put] = rule.sandbox.calls.of("config", "PutEvaluations")
    assert found == {vpc.subnet: "NAT_GATEWAY"}
    assert put.parameters["TestMode"] is True
    assert rule.held() == {}


def test_annotations_fit(rule: Rule, builder: Builder, vpc: Private) -> None:
    """An annotation has at most 256 characters, which AWS Config checks for the whole batch."""
    firewall = builder.appliance_endpoint(vpc.vpc, vpc.subnet)
    behind = builder.subnet(vpc.vpc, builder.table(vpc.vpc, VpcEndpointId=firewall))
    rule.sweep()
    assert rule.held()[behind].reason == "NAT_BEHIND_APPLIANCE"
    assert all(1 <= len(result.annotation) <= 256 for result in rule.held().values())


def test_subnet_that_left_the_scope_is_not_applicable(rule: Rule, vpc: Private) -> None:
    """EventLeftScope gives NOT_APPLICABLE without a call to EC2."""
    rule.sandbox.calls.clear()
    assert rule.tell(item("Subnet", vpc.subnet), eventLeftScope=True) == {vpc.subnet: "EXCLUDED"}
    assert rule.held()[vpc.subnet][:2] == ("NOT_APPLICABLE", "EXCLUDED")
    assert "left the rule's scope" in rule.held()[vpc.subnet].annotation
    assert rule.sandbox.calls.of("ec2") == []


def test_other_resources_that_left_the_scope_are_triggers_still(rule: Rule, vpc: Private) -> None:
    """A route table out of scope still governs subnets that are in it."""
    concerned = rule.tell(item("RouteTable", vpc.table), eventLeftScope=True)
    assert concerned == {vpc.subnet: "NAT_GATEWAY"}


@pytest.mark.parametrize("status", ["ResourceDeleted", "ResourceDeletedNotRecorded"])
def test_deleted_subnet_is_marked_by_either_status(rule: Rule, status: str) -> None:
    """Both deletion statuses are supported without a call to EC2."""
    assert rule.tell(item("Subnet", "subnet-0", configurationItemStatus=status)) == {"subnet-0": "DELETED"}
    assert rule.sandbox.calls.of("ec2") == []


def test_subnet_named_like_a_vpc_is_evaluated(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A tag Name=vpc-prod-a precedes the VPC's id in the item and is not used as an id."""
    builder.tag(vpc.subnet, "Name", "vpc-prod-a")
    builder.tag(vpc.table, "Name", "vpc-prod-private")
    assert rule.changes(of=vpc.subnet) == {vpc.subnet: "NAT_GATEWAY"}
    builder.route(vpc.table, "198.18.0.0/15", NatGatewayId=vpc.nat)
    assert rule.changes(of=vpc.table) == {vpc.subnet: "NAT_GATEWAY"}


def test_item_that_does_not_name_the_vpc_is_evaluated_all_the_same(rule: Rule, vpc: Private) -> None:
    """If the VPC of a route table or NAT gateway is unknown, the whole account is read."""
    assert rule.tell(item("RouteTable", vpc.table)) == {vpc.subnet: "NAT_GATEWAY"}
    assert rule.tell(item("NatGateway", vpc.nat)) == {vpc.subnet: "NAT_GATEWAY"}


def test_deleted_nat_gateway_of_unknown_vpc(rule: Rule, builder: Builder, vpc: Private) -> None:
    """The item of a deleted NAT gateway may contain only its id. Blackhole routes still lead to it."""
    Private(builder)
    builder.ec2.delete_nat_gateway(NatGatewayId=vpc.nat)
    deleted = item("NatGateway", vpc.nat, configurationItemStatus="ResourceDeleted", configuration=None)
    assert rule.tell(deleted) == {vpc.subnet: "DROPPED"}


@pytest.mark.usefixtures("vpc")
def test_deleted_endpoint_of_unknown_vpc_has_everything_evaluated(rule: Rule, builder: Builder) -> None:
    """If the VPC of a deleted endpoint is unknown, all subnets are evaluated and the changed verdicts are reported."""
    other = Private(builder)
    rule.sweep()
    builder.endpoint(other.vpc, other.table)
    deleted = item("VPCEndpoint", "vpce-0", configurationItemStatus="ResourceDeleted", configuration=None)
    assert rule.tell(deleted, configurationItemCaptureTime=rule.now) == {other.subnet: "ENDPOINT"}


@pytest.mark.parametrize("empty", ["absent", "none"])
def test_rule_without_parameters(sandbox: Sandbox, vpc: Private, empty: str) -> None:
    """A rule without parameters, or with empty ones, uses the defaults."""
    rule = Rule(sandbox, None if empty == "absent" else {})
    assert rule.tell(item("Subnet", vpc.public_subnet)) == {vpc.public_subnet: "INTERNET_GATEWAY"}
    assert rule.held()[vpc.public_subnet].compliance == "COMPLIANT"


def test_parameters_rule(sandbox: Sandbox, vpc: Private) -> None:
    """A parameter of the rule changes the verdict."""
    rule = Rule(sandbox, {"publicSubnets": "NON_COMPLIANT", "vpcIds": vpc.vpc})
    rule.tell(item("Subnet", vpc.public_subnet))
    assert rule.held()[vpc.public_subnet].compliance == "NON_COMPLIANT"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"invokingEvent": "{"}, RecordError),
        ({"resultToken": None}, RecordError),
        ({"ruleParameters": '{"scop": "ALL"}'}, ParameterError),
    ],
)
def test_bad_events_touch_nothing(rule: Rule, vpc: Private, change: Item, error: type[Exception]) -> None:
    """A malformed event or parameter fails the invocation before any read or report."""
    event = rule.event(item("Subnet", vpc.subnet), **change)
    rule.sandbox.calls.clear()
    with pytest.raises(error):
        rule.invoke(event)
    assert list(rule.sandbox.calls) == []


@pytest.mark.parametrize("change", [{"resourceType": "AWS::EC2::VPC"}, {"resourceId": None}, {"configuration": "{"}])
def test_bad_items_touch_nothing(rule: Rule, change: Item) -> None:
    """An item that cannot be parsed fails the invocation before any read or report."""
    event = rule.event({**item("Subnet", "subnet-0"), **change})
    rule.sandbox.calls.clear()
    with pytest.raises(RecordError):
        rule.invoke(event)
    assert list(rule.sandbox.calls) == []


def test_log_names_subject_and_outcome(rule: Rule, vpc: Private, logged: Callable[[], list[Item]]) -> None:
    """Each invocation logs its number of reports, with the resource and time to search for."""
    rule.tell(item("Subnet", vpc.subnet))
    [line] = logged()
    assert line["correlation_id"] == f"{vpc.subnet}@2026-02-13T05:48:51.341000+00:00"
    assert (line["message"], line["posted"], line["ruleName"]) == ("evaluated", 1, rule.loop.rule.name)


def test_failed_invocation_warns_of_nothing_else() -> None:
    """A failed invocation logs one error, without Powertools' warning about missing metrics."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(RecordError):
            handler({}, Context())
    assert caught == []
