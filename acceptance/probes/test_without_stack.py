"""What only the acceptance run shows, and needs no stack. Each test has the name of its probe."""

import json
from functools import partial
from typing import Any

from acceptance.facts import Facts
from acceptance.network import Network, endpoints, express, route_table
from acceptance.place import Place, error_code, pages
from acceptance.probes.runbooks import end, output, run, script, start

LAST = script("last", "reached", isEnd=True)


def test_name_of_the_ipv6_list(place: Place, facts: Facts) -> None:
    """What DescribeManagedPrefixLists and DescribePrefixLists call the lists of S3 Express."""
    ec2 = place.client("ec2")
    names = [
        sorted(one["PrefixListName"] for one in pages(ec2, call, "PrefixLists") if "s3express" in one["PrefixListName"])
        for call in ("describe_managed_prefix_lists", "describe_prefix_lists")
    ]
    believed = any(name.endswith(".ipv6.s3express") for name in names[0])
    facts.add("name-of-the-ipv6-list", "ec2", "Names in each of the two calls", names, believed)


def test_table_of_a_regional_nat_gateway(place: Place, network: Network, facts: Facts) -> None:
    """Which association the table of a regional NAT gateway shows."""
    ec2, tags = place.client("ec2"), place.tagged("natgateway")
    made = ec2.create_nat_gateway(VpcId=network.vpc, AvailabilityMode="regional", TagSpecifications=tags)["NatGateway"]
    ec2.get_waiter("nat_gateway_available").wait(NatGatewayIds=[made["NatGatewayId"]])
    tables = pages(ec2, "describe_route_tables", "RouteTables", Filters=[{"Name": "vpc-id", "Values": [network.vpc]}])
    found = [one for table in tables for one in table["Associations"] if one.get("GatewayId") == made["NatGatewayId"]]
    ec2.delete_nat_gateway(NatGatewayId=made["NatGatewayId"])
    ec2.get_waiter("nat_gateway_deleted").wait(NatGatewayIds=[made["NatGatewayId"]])
    facts.add("table-of-a-regional-nat-gateway", "ec2", "Associations with the gateway", found, bool(found))


def test_used_client_token_and_route_table_added_twice(place: Place, network: Network, facts: Facts) -> None:
    """What a token of a deleted endpoint returns, and what happens if a table is associated twice."""
    ec2, table = place.client("ec2"), route_table(place, network.vpc)
    what = {"VpcId": network.vpc, "ServiceName": express(place), "ClientToken": f"acceptance-{place.run}"}
    made = ec2.create_vpc_endpoint(**what, TagSpecifications=place.tagged("vpc-endpoint"))["VpcEndpoint"]
    add = {"VpcEndpointId": made["VpcEndpointId"], "AddRouteTableIds": [table]}
    codes = [error_code(lambda: ec2.modify_vpc_endpoint(**add)) for _ in range(2)]
    facts.add("route-table-added-twice", "ec2", "Errors of the first and second call", codes, codes[0] == "none")
    ec2.delete_vpc_endpoints(VpcEndpointIds=[made["VpcEndpointId"]])
    found: list[Any] = []
    code = error_code(
        lambda: found.append(ec2.create_vpc_endpoint(**what, TagSpecifications=place.tagged("vpc-endpoint")))
    )
    is_same = [one["VpcEndpoint"]["VpcEndpointId"] == made["VpcEndpointId"] for one in found]
    asked = "Error, and whether the same token returns the deleted endpoint"
    facts.add("used-client-token", "ec2", asked, [code, *is_same], code == "none" and is_same == [True])
    left = [one["VpcEndpointId"] for one in endpoints(place, network.vpc)]
    if left:
        ec2.delete_vpc_endpoints(VpcEndpointIds=left)


def test_keys_of_endpoint_calls_and_attributes(place: Place, network: Network, facts: Facts) -> None:
    """Which condition keys EC2 sends, by dry runs of a role that depends on them. The sandbox checks no permissions."""
    ec2, iam = place.client("ec2"), place.client("iam")
    trust = {
        "Effect": "Allow",
        "Principal": {"AWS": f"arn:aws:iam::{place.account_id}:root"},
        "Action": "sts:AssumeRole",
    }
    document = {"Version": "2012-10-17", "Statement": [trust]}
    name = f"{place.stack_name}-keys"
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(document), Tags=place.tags)["Role"]
    only_express = {"StringEquals": {"ec2:VpceServiceName": express(place)}}
    no_policy = {"Null": {"ec2:Attribute/PolicyDocument": "false"}}
    calls = ["ec2:CreateVpcEndpoint", "ec2:DeleteVpcEndpoints"]
    statements = [
        {"Effect": "Allow", "Action": "ec2:*", "Resource": "*"},
        {
            "Effect": "Deny",
            "Action": calls,
            "Resource": "arn:aws:ec2:*:*:vpc-endpoint/*",
            "Condition": {"StringNotEquals": only_express["StringEquals"]},
        },
        {
            "Effect": "Deny",
            "Action": "ec2:ModifyVpcEndpoint",
            "Resource": "arn:aws:ec2:*:*:vpc-endpoint/*",
            "Condition": no_policy,
        },
    ]
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.put_role_policy(RoleName=name, PolicyName="keys", PolicyDocument=policy)
    sts = place.client("sts")
    assume = {"RoleArn": role["Arn"], "RoleSessionName": place.run}
    place.until("a role that can be assumed", lambda: error_code(lambda: sts.assume_role(**assume)) == "none")
    session = sts.assume_role(**assume)["Credentials"]
    keys = {"access_key_id": "AccessKeyId", "secret_access_key": "SecretAccessKey", "session_token": "SessionToken"}
    acting = place.client("ec2", **{f"aws_{name}": session[key] for name, key in keys.items()})
    made = ec2.create_vpc_endpoint(
        VpcId=network.vpc, ServiceName=express(place), TagSpecifications=place.tagged("vpc-endpoint")
    )["VpcEndpoint"]["VpcEndpointId"]
    s3 = express(place).removesuffix("express")
    codes = {
        "create s3express": error_code(
            lambda: acting.create_vpc_endpoint(DryRun=True, VpcId=network.vpc, ServiceName=express(place))
        ),
        "create s3": error_code(lambda: acting.create_vpc_endpoint(DryRun=True, VpcId=network.vpc, ServiceName=s3)),
        "delete s3express": error_code(lambda: acting.delete_vpc_endpoints(DryRun=True, VpcEndpointIds=[made])),
    }
    allowed, denied = "DryRunOperation", "UnauthorizedOperation"
    table = route_table(place, network.vpc)
    attributes = {
        "tables": error_code(
            lambda: acting.modify_vpc_endpoint(DryRun=True, VpcEndpointId=made, AddRouteTableIds=[table])
        ),
        "policy": error_code(
            lambda: acting.modify_vpc_endpoint(DryRun=True, VpcEndpointId=made, PolicyDocument=policy)
        ),
    }
    ec2.delete_vpc_endpoints(VpcEndpointIds=[made])
    is_shown = place.name != "sandbox"
    believed = list(codes.values()) == [allowed, denied, allowed]
    facts.add(
        "keys-of-endpoint-calls",
        "ec2",
        "Dry runs of a role with ec2:VpceServiceName",
        codes,
        believed if is_shown else None,
    )
    believed = list(attributes.values()) == [allowed, denied]
    facts.add(
        "keys-of-endpoint-attributes",
        "ec2",
        "Dry runs of a role without PolicyDocument",
        attributes,
        believed if is_shown else None,
    )


def test_event_bus_policy(place: Place, facts: Facts) -> None:
    """Whether a policy that only denies others leaves the account's own permission to put events as it is."""
    events, bus = place.client("events"), f"{place.stack_name}-probe"
    arn = events.create_event_bus(Name=bus, Tags=place.tags)["EventBusArn"]
    deny = {"Sid": "Others", "Effect": "Deny", "Principal": {"AWS": "*"}, "Action": "events:PutEvents", "Resource": arn}
    condition = {"ArnEquals": {"aws:PrincipalArn": f"arn:aws:iam::{place.account_id}:role/nobody"}}
    policy = {"Version": "2012-10-17", "Statement": [deny | {"Condition": condition}]}
    events.put_permission(EventBusName=bus, Policy=json.dumps(policy))
    entry = {"EventBusName": bus, "Source": "acceptance", "DetailType": "probe", "Detail": "{}"}
    code = error_code(lambda: events.put_events(Entries=[entry]))
    facts.add(
        "event-bus-policy",
        "events",
        "Error of PutEvents by somebody whom the policy does not deny",
        code,
        code == "none",
    )


def test_redrive_to_a_closed_queue(place: Place, facts: Facts) -> None:
    """Whether SQS moves a message to a dead-letter queue whose policy denies sqs:SendMessage to everyone but EventBridge."""
    sqs, name = place.client("sqs"), place.stack_name
    closed = sqs.create_queue(QueueName=f"{name}-closed")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=closed, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    deny = {"Effect": "Deny", "Principal": "*", "Action": "sqs:SendMessage", "Resource": arn}
    condition = {"StringNotEqualsIfExists": {"aws:PrincipalServiceName": "events.amazonaws.com"}}
    policy = {"Version": "2012-10-17", "Statement": [deny | {"Condition": condition}]}
    sqs.set_queue_attributes(QueueUrl=closed, Attributes={"Policy": json.dumps(policy)})
    redrive = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": "1"})
    attributes = {"RedrivePolicy": redrive, "VisibilityTimeout": "0"}
    source = sqs.create_queue(QueueName=f"{name}-source", Attributes=attributes)["QueueUrl"]
    sqs.send_message(QueueUrl=source, MessageBody="probe")

    def look() -> bool:
        sqs.receive_message(QueueUrl=source)
        return "Messages" in sqs.receive_message(QueueUrl=closed)

    is_moved = place.until("a message in the closed queue", look)
    facts.add("redrive-to-a-closed-queue", "sqs", "Is the message moved?", is_moved, is_moved)


def test_sleep_and_output(place: Place, facts: Facts) -> None:
    """Whether a step sleeps for a duration that another returned, and what an output without a value is."""
    steps = [
        script("duration", {"Wait": "PT1S"}, [output("Wait"), output("Missing")]),
        {"name": "sleep", "action": "aws:sleep", "inputs": {"Duration": "{{ duration.Wait }}"}},
        LAST,
    ]
    found = run(place, "sleep", steps)
    status = found["sleep"]["StepStatus"]
    facts.add("sleep-of-a-variable-duration", "ssm", "How the sleep ends", status, status == "Success")
    missing = found["duration"].get("Outputs", {}).get("Missing")
    believed = "No output available" in str(missing)
    facts.add("output-without-a-value", "ssm", "The output's value", missing, believed)


def test_loops(place: Place, facts: Facts) -> None:
    """Where a jump out of a loop ends, and whether a failed step in a loop is listed."""
    failing = script("failing", "fail", onFailure="step:last", isCritical=False)
    loop = {
        "name": "loop",
        "action": "aws:loop",
        "onFailure": "step:last",
        "isCritical": False,
        "inputs": {
            "MaxIterations": 2,
            "LoopCondition": {"Variable": "{{ first.Next }}", "StringEquals": "WAIT"},
            "Steps": [failing],
        },
    }
    execution_id = start(
        place, "loop", [script("first", {"Next": "WAIT"}, [output("Next")]), loop, script("skipped", "not this"), LAST]
    )
    statuses = {name: step["StepStatus"] for name, step in end(place, execution_id).items()}
    is_jump = statuses.get("last") == "Success" and statuses.get("skipped") in (None, "Pending")
    facts.add("jump-out-of-a-loop", "ssm", "How the steps end", statuses, is_jump)
    listed: list[str] = []
    if place.name != "sandbox":  # which does not have the call
        ssm, execution = place.client("ssm"), {"AutomationExecutionId": execution_id}
        steps = pages(ssm, "describe_automation_step_executions", "StepExecutions", **execution)
        listed = [step["StepName"] for step in steps if step["StepStatus"] == "Failed"]
    believed = "failing" in listed if place.name != "sandbox" else None
    facts.add("failed-step-in-a-loop", "ssm", "Failed steps that are listed", listed, believed)


def test_rejected_and_expired_approvals(place: Place, facts: Facts) -> None:
    """What follows a request that is rejected or expires, and what the step's outputs say."""
    approver = place.client("sts").get_caller_identity()["Arn"]
    found = {}
    for name, seconds in (("rejected", 600), ("expired", 2 if place.name == "sandbox" else 60)):
        ask = {"name": "ask", "action": "aws:approve", "timeoutSeconds": seconds, "onFailure": "step:last"}
        execution = start(place, name, [ask | {"isCritical": False, "inputs": {"Approvers": [approver]}}, LAST])
        if name == "rejected":
            place.until("a request", partial(_rejected, place, execution))
        found[name] = end(place, execution)
    ends = {name: [step["StepStatus"] for step in steps.values()] for name, steps in found.items()}
    believed = all(found[name].get("last", {}).get("StepStatus") == "Success" for name in found)
    facts.add("rejected-and-expired-approval", "ssm", "How both steps end", ends, believed)
    status = found["rejected"]["ask"].get("Outputs", {}).get("ApprovalStatus")
    facts.add("status-of-a-rejected-approval", "ssm", "ApprovalStatus", status, status == ["Rejected"])


def _rejected(place: Place, execution_id: str) -> bool:
    """Reject a request, and return whether there was one."""
    signal = partial(place.client("ssm").send_automation_signal, AutomationExecutionId=execution_id)
    return error_code(partial(signal, SignalType="Reject")) == "none"
