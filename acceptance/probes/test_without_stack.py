"""What only the acceptance run shows, and needs no stack of the product. Facts have the names of their probes."""

import json
from functools import partial
from typing import Any

import pytest

from acceptance.facts import Facts
from acceptance.place import Json, Place, error_code, pages

Ids = dict[str, str]


def test_lists(place: Place, facts: Facts) -> None:
    """What DescribeManagedPrefixLists and DescribePrefixLists call the lists of S3 Express."""
    found = [
        pages(place.client("ec2"), call, "PrefixLists")
        for call in ("describe_managed_prefix_lists", "describe_prefix_lists")
    ]
    names = [sorted(one["PrefixListName"] for one in lists if "s3express" in one["PrefixListName"]) for lists in found]
    believed = any(name.endswith(".ipv6.s3express") for name in names[0])
    facts.add("name-of-the-ipv6-list", "ec2", "Names in each of the two calls", names, believed)


def test_regional_nat_gateway(place: Place, network: Ids, facts: Facts) -> None:
    """Which association the table of a regional NAT gateway shows."""
    ec2, filters = place.client("ec2"), [{"Name": "vpc-id", "Values": [network["Vpc"]]}]
    what = {"VpcId": network["Vpc"], "AvailabilityMode": "regional", "TagSpecifications": place.named("natgateway")}
    gateway = ec2.create_nat_gateway(**what)["NatGateway"]["NatGatewayId"]
    ec2.get_waiter("nat_gateway_available").wait(NatGatewayIds=[gateway])
    tables = pages(ec2, "describe_route_tables", "RouteTables", Filters=filters)
    found = [one for table in tables for one in table["Associations"] if one.get("GatewayId") == gateway]
    ec2.delete_nat_gateway(NatGatewayId=gateway)
    ec2.get_waiter("nat_gateway_deleted").wait(NatGatewayIds=[gateway])
    facts.add("table-of-a-regional-nat-gateway", "ec2", "Associations with the gateway", found, bool(found))


def test_endpoint(place: Place, network: Ids, asked: Ids, facts: Facts) -> None:
    """What happens if a table is added twice, which condition keys EC2 sends, and what a used client token returns."""
    service, ec2 = f"com.amazonaws.{place.region}.s3express", place.client("ec2")
    create = partial(ec2.create_vpc_endpoint, VpcId=network["Vpc"], ServiceName=service, ClientToken=place.stack_name)
    made = create()["VpcEndpoint"]["VpcEndpointId"]
    add = partial(ec2.modify_vpc_endpoint, VpcEndpointId=made, AddRouteTableIds=[network["Spare"]])
    codes = [error_code(add), error_code(add)]
    facts.add("route-table-added-twice", "ec2", "Errors of the first and second call", codes, codes[0] == "none")
    arn = place.client("iam").get_role(RoleName=asked["KeysRole"])["Role"]["Arn"]
    place.until("a role that can be assumed", lambda: error_code(lambda: place.client("ec2", arn)) == "none")
    denied, dry = place.client("ec2", arn), {"DryRun": True, "VpcId": network["Vpc"]}
    calls = [
        partial(denied.create_vpc_endpoint, ServiceName=service, **dry),
        partial(denied.create_vpc_endpoint, ServiceName=service.removesuffix("express"), **dry),
        partial(denied.delete_vpc_endpoints, DryRun=True, VpcEndpointIds=[made]),
        partial(denied.modify_vpc_endpoint, DryRun=True, VpcEndpointId=made, RemoveRouteTableIds=[network["Spare"]]),
        partial(denied.modify_vpc_endpoint, DryRun=True, VpcEndpointId=made, ResetPolicy=True),
    ]
    codes = [error_code(call) for call in calls]
    allowed, refused = "DryRunOperation", "UnauthorizedOperation"
    names = "Dry runs: create for S3 Express and S3, delete"
    believed = codes[:3] == [allowed, refused, allowed]
    facts.add_at_aws("keys-of-endpoint-calls", "ec2", names, codes[:3], believed)
    believed = codes[3:] == [allowed, refused]
    facts.add_at_aws("keys-of-endpoint-attributes", "ec2", "Dry runs: tables, policy", codes[3:], believed)
    ec2.delete_vpc_endpoints(VpcEndpointIds=[made])
    again = create()["VpcEndpoint"]["VpcEndpointId"]
    ec2.delete_vpc_endpoints(VpcEndpointIds=place.endpoints(network["Vpc"]) or [made])
    is_same = again == made
    facts.add_at_aws("used-client-token", "ec2", "Does a used token return the deleted endpoint?", is_same, is_same)


def test_event_bus(place: Place, asked: Ids, facts: Facts) -> None:
    """Whether a policy that only denies others leaves the account's own permission to put events as it is."""
    entry = {"EventBusName": asked["Bus"], "Source": "acceptance", "DetailType": "probe", "Detail": "{}"}
    code = error_code(partial(place.client("events").put_events, Entries=[entry]))
    facts.add("event-bus-policy", "events", "Error of PutEvents by somebody who is not denied", code, code == "none")


def test_redrive(place: Place, asked: Ids, facts: Facts) -> None:
    """Whether SQS moves a message to a dead-letter queue whose policy denies sqs:SendMessage to all but EventBridge."""
    sqs = place.client("sqs")
    sqs.send_message(QueueUrl=asked["SourceQueue"], MessageBody="probe")

    def look() -> bool:
        sqs.receive_message(QueueUrl=asked["SourceQueue"])
        return "Messages" in sqs.receive_message(QueueUrl=asked["ClosedQueue"])

    is_moved = place.until("a message in the closed queue", look)
    facts.add("redrive-to-a-closed-queue", "sqs", "Is the message moved?", is_moved, is_moved)


def test_runbook(place: Place, asked: Ids, facts: Facts) -> None:
    """How the steps of a runbook end that sleeps, jumps out of a loop, and asks twice without success."""
    ssm = place.client("ssm")
    started = ssm.start_automation_execution(DocumentName=asked["Runbook"])["AutomationExecutionId"]
    place.answer(started, "Reject")
    steps = {step["StepName"]: step for step in place.end(started)["StepExecutions"]}
    ends = {name: step["StepStatus"] for name, step in steps.items()}
    outputs = {name: step.get("Outputs", {}) for name, step in steps.items()}
    facts.add("sleep-of-a-variable-duration", "ssm", "Status", ends["sleep"], ends["sleep"] == "Success", outputs)
    missing = outputs["duration"].get("Missing")
    is_text = "No output available" in str(missing)
    facts.add_at_aws("output-without-a-value", "ssm", "Its value", missing, is_text)
    is_jump = ends.get("skipped") in (None, "Pending")
    facts.add("jump-out-of-a-loop", "ssm", "How the steps end", ends, is_jump)
    listed: list[Json] = []
    describe = partial(pages, ssm, "describe_automation_step_executions", "StepExecutions")
    error_code(lambda: listed.extend(describe(AutomationExecutionId=started)))
    failed = [step["StepName"] for step in listed if step["StepStatus"] == "Failed"]
    facts.add_at_aws("failed-step-in-a-loop", "ssm", "Failed steps that are listed", failed, "failing" in failed)
    asks = [ends["rejected"], ends["expired"], ends["last"]]
    facts.add("rejected-and-expired-approval", "ssm", "Both, and the step after", asks, asks[2] == "Success")
    status = outputs["rejected"].get("ApprovalStatus")
    facts.add("status-of-a-rejected-approval", "ssm", "ApprovalStatus", status, status == ["Rejected"])


def _heard(place: Place, kind: str) -> list[Json]:
    """Return the events about resources of a type that the listener has printed."""
    found = [json.loads(line) for line in place.logged(f"{place.stack_name}-probes") if line.startswith("{")]
    events = [event | {"invokingEvent": json.loads(event["invokingEvent"])} for event in found]
    return [one for one in events if one["invokingEvent"].get("configurationItem", {}).get("resourceType") == kind]


@pytest.mark.usefixtures("prefix_list")
def test_rule(place: Place, network: Ids, asked: Ids, facts: Facts) -> None:
    """With which events a new rule evaluates what is there, and which of two results remains."""
    event = place.until("an event about a subnet", partial(_heard, place, "AWS::EC2::Subnet"))[0]
    invoking, rule = event["invokingEvent"], asked["ListenerRule"]
    answer = [invoking["messageType"], invoking["configurationItemDiff"]]
    facts.add("first-evaluation", "config", "Type and difference of a first event", answer, answer[1] is None, invoking)
    put = partial(place.client("config").put_evaluations, ResultToken=event["resultToken"])
    result = {"ComplianceResourceType": "AWS::EC2::Subnet", "ComplianceResourceId": network["Public"]}
    put(Evaluations=[result | {"ComplianceType": "NON_COMPLIANT", "OrderingTimestamp": "2026-01-02"}])
    is_lagging = not place.results(rule)
    facts.add_at_aws("stored-results-lag", "config", "Is a result there only later?", is_lagging, is_lagging)
    place.until("a stored result", partial(place.results, rule))
    put(Evaluations=[result | {"ComplianceType": "COMPLIANT", "OrderingTimestamp": "2026-01-01"}])
    found = place.until("the list event", partial(_heard, place, "AWS::EC2::PrefixList"))
    left = [one["ComplianceType"] for one in place.results(rule)]
    facts.add("older-result", "config", "The result after an older one", left, left == ["NON_COMPLIANT"])
    # Items of exclusions and firewalls cost more than a run may.
    keys = sorted({key for one in found for key in one["invokingEvent"]["configurationItem"]["configuration"] or {}})
    named = "Members of a prefix list's item"
    facts.add("items-of-the-other-triggers", "config", named, keys, "PrefixListId" in keys)


def test_aggregator(place: Place, network: Ids, facts: Facts) -> None:
    """Which fields the item of a subnet has in an aggregator of this account alone."""
    config, name = place.client("config"), {"ConfigurationAggregatorName": place.stack_name}
    sources = [{"AccountIds": [place.account_id], "AwsRegions": [place.region]}]
    config.put_configuration_aggregator(**name, AccountAggregationSources=sources)
    where = {"SourceAccountId": place.account_id, "SourceRegion": place.region, "ResourceType": "AWS::EC2::Subnet"}
    found: list[Any] = []
    code = error_code(
        lambda: found.append(
            config.get_aggregate_resource_config(**name, ResourceIdentifier=where | {"ResourceId": network["Public"]})
        )
    )
    keys = [sorted(json.loads(one["ConfigurationItem"]["configuration"])) for one in found]
    believed = "vpcId" in keys[0] if keys else None
    facts.add_at_aws(
        "items-in-an-aggregator", "config", "Error, and members of a subnet's item", [code, *keys], believed
    )


def test_account(place: Place, network: Ids, facts: Facts) -> None:
    """What the account shows. What a closed NAT gateway does, and which keys S3 Express sends, needs traffic."""
    [subnet] = place.client("ec2").describe_subnets(SubnetIds=[network["Public"]])["Subnets"]
    facts.add("block-public-access", "ec2", "States of a subnet", subnet.get("BlockPublicAccessStates"), None)
    facts.add("keys-of-endpoint-requests", "s3express", "Not asked: it needs a client in the VPC", None, None)
    roles = [one["RoleName"] for one in pages(place.client("iam"), "list_roles", "Roles")]
    found = sum(name.startswith("stacksets-exec-") for name in roles)
    facts.add("role-of-stacksets", "iam", "Number of roles, in an organization", found, found > 0 or None)
