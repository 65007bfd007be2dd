"""One event in the function: what it reports to AWS Config and what it returns."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from config_rule_sandbox.server import Sandbox
from express_path.errors import ApiError, ParameterError, RecordError
from express_path.handlers.evaluate import FAILED, MAX_RETURNED
from tests.support.network import Builder, Private
from tests.support.rule import Item, Rule

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
        "capacity": [{"hopId": vpc.nat, "name": "zonal public NAT gateway", "baselineGbps": 5.0, "peakGbps": 100.0}],
    }


def test_answer_is_bounded(rule: Rule, builder: Builder, vpc: Private) -> None:
    """Lambda limits the size of a response, so only some verdicts are returned, but all are reported."""
    builder.make_main(vpc.vpc, vpc.table)
    subnets = builder.many_subnets(vpc.vpc, MAX_RETURNED + 1)
    answer = rule.invoke(rule.event(item("RouteTable", vpc.table, configuration={"vpcId": vpc.vpc})))
    assert answer["posted"] == len(subnets) + 1
    assert len(answer["evaluations"]) == MAX_RETURNED


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


def test_deleted_subnet_is_marked_by_its_item(rule: Rule) -> None:
    """The item of a deletion is enough, without a call to EC2."""
    assert rule.tell(item("Subnet", "subnet-0", configurationItemStatus="ResourceDeleted")) == {"subnet-0": "DELETED"}
    assert rule.sandbox.calls.of("ec2") == []


def test_item_that_does_not_name_the_vpc_is_evaluated_all_the_same(rule: Rule, vpc: Private) -> None:
    """If the VPC of a route table or NAT gateway is unknown, the whole account is read."""
    assert rule.tell(item("RouteTable", vpc.table)) == {vpc.subnet: "NAT_GATEWAY"}
    assert rule.tell(item("NatGateway", vpc.nat)) == {vpc.subnet: "NAT_GATEWAY"}


@pytest.mark.usefixtures("vpc")
def test_deleted_endpoint_of_unknown_vpc_has_everything_evaluated(rule: Rule, builder: Builder) -> None:
    """If the VPC of a deleted endpoint is unknown, all subnets are evaluated and the changed verdicts are reported."""
    other = Private(builder)
    rule.sweep()
    builder.endpoint(other.vpc, other.table)
    deleted = item("VPCEndpoint", "vpce-0", configurationItemStatus="ResourceDeleted", configuration=None)
    assert rule.tell(deleted, configurationItemCaptureTime=rule.now) == {other.subnet: "ENDPOINT"}


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


@pytest.mark.parametrize(
    "change",
    [{"resourceType": "AWS::EC2::VPC"}, {"awsRegion": "eu-west-1"}],
)
def test_bad_items_touch_nothing(rule: Rule, change: Item) -> None:
    """An item of another type or Region, where its subnet would look deleted, fails the invocation before any read or report."""
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


def test_change_that_cannot_matter_is_answered_without_a_call(rule: Rule, logged: Callable[[], list[Item]]) -> None:
    """A network interface in a subnet changes no route, so the answer is empty, and the log says why."""
    attached = {"resourceId": "eni-1", "resourceType": "AWS::EC2::NetworkInterface", "name": "Contains"}
    changed = {"Relationships.0": {"previousValue": None, "updatedValue": attached, "changeType": "CREATE"}}
    event = rule.event(item("Subnet", "subnet-1"), {"changedProperties": changed, "changeType": "UPDATE"})
    rule.sandbox.calls.clear()
    assert rule.invoke(event) == {"posted": 0, "evaluations": []}
    assert list(rule.sandbox.calls) == []
    assert logged()[0]["message"] == "nothing to evaluate: this change cannot change a path"


# --- oversized items -------------------------------------------------------------------------------------------------


@pytest.fixture
def oversized(rule: Rule, vpc: Private) -> Rule:
    """Return the rule when it knows the network. From then on, every event has only a summary of its item."""
    assert vpc.subnet
    rule.take_as_known()
    rule.loop.oversized_above = 0
    return rule


def test_oversized_item_is_fetched(oversized: Rule, builder: Builder, vpc: Private) -> None:
    """The item for the summary names the VPC, and the function reads only that VPC."""
    builder.endpoint(vpc.vpc, vpc.table)
    oversized.sandbox.calls.clear()
    assert oversized.changes(of=vpc.table) == {vpc.subnet: "ENDPOINT"}
    filters = [call.parameters.get("Filters") for call in oversized.sandbox.calls.of("ec2", "DescribeSubnets")]
    assert filters == [[{"Name": "vpc-id", "Values": [vpc.vpc]}]] * 2  # again after the report


def test_earlier_associations_come_from_the_item_before(oversized: Rule, builder: Builder, vpc: Private) -> None:
    """A summary has no diff: the previous item contains the subnets that a table governed before."""
    [association] = builder.ec2.describe_route_tables(RouteTableIds=[vpc.table])["RouteTables"][0]["Associations"]
    builder.ec2.disassociate_route_table(AssociationId=association["RouteTableAssociationId"])
    assert oversized.changes(of=vpc.table) == {vpc.subnet: "NO_ROUTE"}


@pytest.mark.parametrize("kind", ["table", "endpoint"])
def test_oversized_item_that_is_not_recorded_any_more(
    oversized: Rule, builder: Builder, vpc: Private, kind: str
) -> None:
    """If the history has no item, the whole account is read."""
    resource = vpc.table if kind == "table" else builder.endpoint(vpc.vpc, vpc.table)
    builder.tag(resource, "Name", "changed")
    oversized.loop.notice()
    oversized.loop.results.history.clear()
    oversized.sandbox.calls.clear()
    assert vpc.subnet in oversized.changes(of=resource)
    assert "Filters" not in oversized.sandbox.calls.of("ec2", "DescribeSubnets")[0].parameters


# --- calls -----------------------------------------------------------------------------------------------------------

ATTACHMENTS = "DescribeTransitGatewayVpcAttachments"
OF_A_VPC = {"DescribeVpcs", "DescribeSubnets", "DescribeRouteTables", "DescribeVpcEndpoints", "DescribeNatGateways"}
STORED = "GetComplianceDetailsByResource"
"""The read of what AWS Config has stored for a subnet, before the report."""


def trigger(rule: Rule, vpc: Private) -> dict[str, str]:
    """Clear the recorded calls and invoke the function for the private subnet's route table."""
    rule.sandbox.calls.clear()
    more = {"configurationItemCaptureTime": rule.now, "configuration": {"vpcId": vpc.vpc}}
    return rule.tell(item("RouteTable", vpc.table, **more))


def operations(rule: Rule) -> list[str]:
    """Return the names of the operations called, sorted."""
    return sorted(call.operation for call in rule.sandbox.calls)


def test_one_vpc_costs_eight_reads_one_report_and_one_event(rule: Rule, vpc: Private) -> None:
    """A cold invocation makes five calls for the VPC, one for its attachments, for the prefix lists, and for the stored result.

    The five calls read only the VPC of the item. Then the function reports the verdict, and publishes the change. What it
    replaced, it reads again: the five calls and the stored result. A warm invocation remembers the prefix lists.
    """
    assert trigger(rule, vpc) == {vpc.subnet: "NAT_GATEWAY"}
    calls = [call for call in rule.sandbox.calls.of("ec2") if call.operation in OF_A_VPC]
    # The call for NAT gateways spells its parameter differently.
    filters = [call.parameters.get("Filters") or call.parameters["Filter"] for call in calls]
    assert filters == [[{"Name": "vpc-id", "Values": [vpc.vpc]}]] * 10
    again = [*OF_A_VPC, STORED]
    once = [*OF_A_VPC, ATTACHMENTS, "DescribePrefixLists", STORED, "PutEvaluations", "PutEvents"]
    assert operations(rule) == sorted([*once, *again])
    trigger(rule, vpc)
    assert operations(rule) == sorted([*OF_A_VPC, ATTACHMENTS, STORED, "PutEvaluations"])


def costs_of_sweep(rule: Rule) -> Counter[str]:
    """Return the calls of a warm sweep that has nothing to report."""
    rule.sweep()
    rule.sandbox.calls.clear()
    assert rule.sweep() == {}
    return Counter(operations(rule))


def test_sweep_costs_the_same_however_many_vpcs(rule: Rule, builder: Builder) -> None:
    """A sweep makes one call for each kind of resource and the earlier gauges, and two for events and the stored results.

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
        [
            *OF_A_VPC,
            *["GetComplianceDetailsByConfigRule"] * 2,
            "GetMetricData",
            *["PutEvents"] * 2,
        ]
    )


# --- faults ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let botocore retry without waiting."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)


def failure(rule: Rule, invoke: Callable[[], object]) -> ApiError:
    """Invoke the function and return its error; check that it reported nothing."""
    rule.sandbox.calls.clear()
    with pytest.raises(ApiError) as raised:
        invoke()
    assert rule.sandbox.calls.of("config", "PutEvaluations") == []
    assert rule.held() == {}
    return raised.value


def test_failure_is_logged_without_the_result_token(rule: Rule, vpc: Private, logged: Callable[[], list[Item]]) -> None:
    """The log has the account, the resource, and the error, and no line has what could forge a result."""
    rule.sandbox.faults.deny("ec2", "DescribeSubnets")
    event = rule.event(item("Subnet", vpc.subnet, configuration={"vpcId": vpc.vpc}))
    with pytest.raises(ApiError):
        rule.invoke(event)
    assert event["resultToken"] not in json.dumps(logged())
    [line] = [line for line in logged() if line["message"] == FAILED]
    assert (line["accountId"], line["resourceId"]) == (rule.sandbox.account_id, vpc.subnet)
    assert line["error"].startswith("ApiError: ec2:DescribeSubnets")
    with pytest.raises(RecordError):
        rule.invoke({"accountId": rule.sandbox.account_id})
    assert logged()[-1]["resourceId"] == "unknown"


def test_event_from_the_future_is_rejected(rule: Rule, vpc: Private) -> None:
    """AWS Config does not send such an event, so its times are wrong. Five minutes are a difference of clocks."""
    for minutes, accepted in ((4, True), (6, False)):
        time = (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()
        event = rule.event(item("Subnet", vpc.subnet, configurationItemCaptureTime=time))
        if accepted:
            assert rule.invoke(event)["posted"] == 1
        else:
            with pytest.raises(RecordError, match="orderingTimestamp"):
                rule.invoke(event)


@pytest.mark.usefixtures("without_waiting")
def test_throttling_is_retried_and_then_fails_the_invocation(rule: Rule, vpc: Private) -> None:
    """If throttling passes, the verdict is correct. If it lasts, the error has the operation and AWS's code."""
    rule.sandbox.faults.throttle("ec2", "DescribeSubnets")
    error = failure(rule, lambda: trigger(rule, vpc))
    assert (error.operation, error.code) == ("ec2:DescribeSubnets", "RequestLimitExceeded")
    assert len(rule.sandbox.calls.of("ec2", "DescribeSubnets")) == 6
    rule.sandbox.faults.clear()
    rule.sandbox.faults.throttle("ec2", "DescribeSubnets", times=3)
    assert trigger(rule, vpc) == {vpc.subnet: "NAT_GATEWAY"}


@pytest.mark.parametrize("operation", [*sorted(OF_A_VPC), "DescribePrefixLists", "GetComplianceDetailsByConfigRule"])
@pytest.mark.usefixtures("vpc")
def test_denied_reads_of_a_sweep_fail_the_invocation(rule: Rule, operation: str) -> None:
    """A sweep must not treat resources that it cannot read as deleted."""
    service = "config" if operation.startswith("Get") else "ec2"
    rule.sandbox.faults.deny(service, operation)
    assert failure(rule, rule.sweep).operation == f"{service}:{operation}"


def test_denied_report_fails_the_invocation(rule: Rule, vpc: Private) -> None:
    """If a report is denied, the error is raised."""
    rule.sandbox.faults.deny("config", "PutEvaluations")
    with pytest.raises(ApiError, match="config:PutEvaluations"):
        trigger(rule, vpc)


def test_denied_optional_read_is_logged(sandbox: Sandbox, vpc: Private, logged: Callable[[], list[Item]]) -> None:
    """If directory buckets cannot be listed, the subnet is still evaluated, and a warning names the read."""
    rule = Rule(sandbox, {"scope": "DIRECTORY_BUCKETS"})
    sandbox.faults.deny("s3", "ListDirectoryBuckets")
    assert trigger(rule, vpc) == {vpc.subnet: "NAT_GATEWAY"}
    [warning] = [line for line in logged() if line["level"] == "WARNING"]
    assert warning["operation"] == "s3:ListDirectoryBuckets"


# --- settings --------------------------------------------------------------------------------------------------------


def test_external_id_of_the_network_role_comes_from_the_environment(
    sandbox: Sandbox, builder: Builder, vpc: Private, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NETWORK_ROLE_EXTERNAL_ID is what the role's trust policy may ask for.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_common-scenarios_third-party.html
    """
    gateway = builder.ec2.create_transit_gateway()["TransitGateway"]["TransitGatewayId"]
    builder.ec2.create_transit_gateway_vpc_attachment(TransitGatewayId=gateway, VpcId=vpc.vpc, SubnetIds=[vpc.subnet])
    builder.route(vpc.table, "192.0.2.0/24", TransitGatewayId=gateway)
    monkeypatch.setenv("NETWORK_ROLE_EXTERNAL_ID", "who-asks")
    trigger(Rule(sandbox, {"networkRoleArn": "arn:aws:iam::111122223333:role/express-path-network"}), vpc)
    assert {request.parameters["ExternalId"] for request in sandbox.calls.of("sts", "AssumeRole")} == {"who-asks"}
