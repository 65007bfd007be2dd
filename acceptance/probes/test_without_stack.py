"""What only the acceptance run shows, and needs no stack of the product. Facts have the names of their probes."""

import json
import secrets
from datetime import UTC, datetime, timedelta
from functools import partial

from acceptance.facts import Json
from acceptance.probes.probe import probe
from acceptance.run import Run, attempt, error_code
from acceptance.stack import deploy_own, network, own_stack, results


@probe("ec2", "name-of-the-ipv6-list")
def test_lists(run: Run) -> None:
    """What DescribeManagedPrefixLists and DescribePrefixLists call the lists of S3 Express."""
    query = "PrefixLists[?contains(PrefixListName, 's3express')].PrefixListName"
    operations = "describe_managed_prefix_lists", "describe_prefix_lists"
    names = {operation: sorted(run.ask("ec2", operation, query)) for operation in operations}
    is_named = f"com.amazonaws.{run.region}.ipv6.s3express" in names[operations[0]]
    run.add("name-of-the-ipv6-list", "ec2", "Does its name end with .ipv6.s3express?", is_named, True, names)


@probe("ec2", "table-of-a-regional-nat-gateway")
def test_regional_nat_gateway(run: Run) -> None:
    """Which association the table of a regional NAT gateway shows."""
    with own_stack(run, "regional-nat", Vpc=network(run)["Vpc"]) as made:
        query = f"RouteTables[].Associations[?GatewayId=='{made['RegionalNat']}'][]"
        found = run.look_for(partial(run.ask, "ec2", "describe_route_tables", query))
    run.add("table-of-a-regional-nat-gateway", "ec2", "Is it associated?", bool(found), True, found)


@probe("ec2", "route-table-added-twice")
def test_table_added_twice(run: Run) -> None:
    """What happens if a table is added to an endpoint twice."""
    made = network(run)
    run.delete_endpoints(made["Vpc"])
    endpoint_id = _create_endpoint(run, made["Vpc"])
    add = partial(run.client("ec2").modify_vpc_endpoint, VpcEndpointId=endpoint_id, AddRouteTableIds=[made["Spare"]])
    codes = [error_code(add), error_code(add)]
    run.add("route-table-added-twice", "ec2", "Error of the second call", codes[1], "none", codes)
    run.delete_endpoints(made["Vpc"])


def _create_endpoint(run: Run, vpc: str, token: str = "") -> str:
    service = f"com.amazonaws.{run.region}.s3express"
    given = {"ClientToken": token} if token else {}
    created = run.client("ec2").create_vpc_endpoint(VpcId=vpc, ServiceName=service, **given)
    return str(created["VpcEndpoint"]["VpcEndpointId"])


@probe("ec2", "keys-of-endpoint-calls", "keys-of-endpoint-attributes")
def test_condition_keys(run: Run) -> None:
    """Which condition keys EC2 sends when endpoints are created, changed, and deleted."""
    made = network(run)
    vpc, table, service = made["Vpc"], made["Spare"], f"com.amazonaws.{run.region}.s3express"
    with own_stack(run, "role") as asked:
        role = asked["RoleArn"]
        run.delete_endpoints(vpc)
        endpoint_id = _create_endpoint(run, vpc)
        run.client("ec2").modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table])
        run.until("a role that can be assumed", lambda: error_code(lambda: run.client("ec2", role)) == "none")
        limited = run.client("ec2", role)

        def dry_run(operation: str, **given: Json) -> str:
            return error_code(lambda: getattr(limited, operation)(DryRun=True, **given))

        codes = [
            dry_run("create_vpc_endpoint", VpcId=vpc, ServiceName=service),
            dry_run("create_vpc_endpoint", VpcId=vpc, ServiceName=service.removesuffix("express")),
            dry_run("delete_vpc_endpoints", VpcEndpointIds=[endpoint_id]),
        ]
        named, believed = "Dry runs: create for S3 Express and S3, delete", ["DryRunOperation", "UnauthorizedOperation"]
        run.add("keys-of-endpoint-calls", "ec2", named, codes, [*believed, believed[0]], only_at_aws=True)
        codes = [
            dry_run("modify_vpc_endpoint", VpcEndpointId=endpoint_id, RemoveRouteTableIds=[table]),
            dry_run("modify_vpc_endpoint", VpcEndpointId=endpoint_id, ResetPolicy=True),
        ]
        run.add("keys-of-endpoint-attributes", "ec2", "Dry runs: tables, policy", codes, believed, only_at_aws=True)
        run.delete_endpoints(vpc)


@probe("ec2", "used-client-token")
def test_used_client_token(run: Run) -> None:
    """What a client token returns that was used for an endpoint that is deleted."""
    vpc, token = network(run)["Vpc"], secrets.token_hex(8)
    endpoint_id = _create_endpoint(run, vpc, token)
    run.delete_endpoints(vpc)
    is_same = _create_endpoint(run, vpc, token) == endpoint_id
    run.delete_endpoints(vpc)
    named = "Does a used token return the deleted endpoint?"
    run.add("used-client-token", "ec2", named, is_same, True, only_at_aws=True)


@probe("events", "event-bus-policy")
def test_event_bus(run: Run) -> None:
    """Whether a policy that only denies others leaves the account's own permission to put events as it is."""
    with own_stack(run, "bus") as made:
        entry = {"EventBusName": made["Bus"], "Source": "acceptance", "DetailType": "probe", "Detail": "{}"}
        code = error_code(partial(run.client("events").put_events, Entries=[entry]))
    run.add("event-bus-policy", "events", "Error of PutEvents by somebody who is not denied", code, "none")


@probe("sqs", "redrive-to-a-closed-queue")
def test_redrive(run: Run) -> None:
    """Whether SQS moves a message to a dead-letter queue whose policy denies sqs:SendMessage to all but EventBridge."""
    sqs = run.client("sqs")
    with own_stack(run, "queues") as made:
        sqs.send_message(QueueUrl=made["SourceQueue"], MessageBody="probe")

        def look() -> bool:
            sqs.receive_message(QueueUrl=made["SourceQueue"])
            return "Messages" in sqs.receive_message(QueueUrl=made["ClosedQueue"])

        is_moved = run.look_for(look)
    run.add("redrive-to-a-closed-queue", "sqs", "Is the message moved?", is_moved, True)


@probe(
    "ssm",
    "sleep-of-a-variable-duration",
    "output-without-a-value",
    "jump-out-of-a-loop",
    "failed-step-in-a-loop",
    "status-of-a-rejected-approval",
    "rejected-and-expired-approval",
)
def test_runbook(run: Run) -> None:
    """How the steps of a runbook end that sleeps, jumps out of a loop, and asks in vain."""
    with own_stack(run, "runbook", Approver=run.caller) as made:
        start = partial(run.start, made["Runbook"])
        rejected, expired = start(), start() if run.is_alone else ""
        steps = run.answer(rejected, "Reject")["StepExecutions"]
        expired_steps = run.end(expired)["StepExecutions"] if expired else []
    outputs = {step["StepName"]: step.get("Outputs", {}) for step in steps}
    ends = _ends(steps)
    run.add("sleep-of-a-variable-duration", "ssm", "Status", ends.get("sleep"), "Success", outputs)
    is_text = "No output available" in str(outputs.get("duration", {}).get("Missing"))
    run.add("output-without-a-value", "ssm", "Does it say that there is no output?", is_text, True, only_at_aws=True)
    is_jump = ends.get("skipped") in (None, "Pending")
    run.add("jump-out-of-a-loop", "ssm", "Does the jump skip a step?", is_jump, True, ends)
    listing = "ssm", "describe_automation_step_executions", "StepExecutions[?StepStatus=='Failed'].StepName"
    _, failed = attempt(lambda: run.ask(*listing, AutomationExecutionId=rejected))
    is_listed = "failing" in (failed or [])
    run.add("failed-step-in-a-loop", "ssm", "Is the step listed?", is_listed, True, failed, only_at_aws=True)
    status = outputs.get("approval", {}).get("ApprovalStatus")
    run.add("status-of-a-rejected-approval", "ssm", "ApprovalStatus", status, ["Rejected"])
    both = [ends, _ends(expired_steps)] if expired else [ends]
    asks = [names.get(name) for names in both for name in ("approval", "last")]
    believed = ["Failed", "Success", "TimedOut", "Success"][: len(asks)]
    run.add("rejected-and-expired-approval", "ssm", "Status of each, and of the step after it", asks, believed)


def _ends(steps: list[Json]) -> dict[str, str]:
    return {step["StepName"]: step["StepStatus"] for step in steps}


@probe("ssm", "raised-error", "later-steps")
def test_raised_error(run: Run) -> None:
    """How a step ends whose function raises an error, and how a step is shown that has not begun."""
    with own_stack(run, "raising") as made:
        execution = run.start(made["Runbook"])
        run.reach(execution, "sleep")
        steps = run.execution(execution, "InProgress", "Success", "Failed")["StepExecutions"]
        ended = _ends(run.end(execution)["StepExecutions"])
    run.add("later-steps", "ssm", "Which status has the last step meanwhile?", str(_ends(steps).get("last")))
    run.add("raised-error", "ssm", "Status of the step", ended.get("raising"), "Failed", ended)


SUBNET, PREFIX_LIST = "AWS::EC2::Subnet", "AWS::EC2::PrefixList"


def _heard(run: Run, kind: str) -> list[Json]:
    """Return the events about resources of a type that the listener has printed."""
    return run.logged(f"{run.stack_name}-listener", f'"resourceType": "{kind}"')


def _scheduled(run: Run) -> list[Json]:
    """Return the scheduled messages that the listener has printed."""
    return run.logged(f"{run.stack_name}-listener", '"messageType": "ScheduledNotification"')


@probe(
    "config",
    "first-evaluation",
    "items-of-the-other-triggers",
    "older-result",
    "stored-results-lag",
    "updated-rule",
    "first-scheduled-message",
)
def test_rule(run: Run) -> None:
    """With which events a new rule and an updated one evaluate what is there, and which of two results remains."""
    made = network(run)
    with own_stack(run, "listener") as listener:
        event = run.until("an event about a subnet", partial(_heard, run, SUBNET))[0]
        invoking, rule = event["invokingEvent"], listener["ListenerRule"]
        difference = invoking.get("configurationItemDiff", "absent")
        kind = difference["changeType"] if isinstance(difference, dict) else difference
        run.add("first-evaluation", "config", "What is the difference?", str(kind), "None", invoking)
        # Items of exclusions and firewalls cost more than a run may.
        _add_prefix_list(run, made["PrefixList"])
        told, is_scheduled = len(_heard(run, SUBNET)), [bool(_scheduled(run))]
        _add_results(run, rule, event["resultToken"], made["Public"])
        scheduled = len(_scheduled(run))
        deploy_own(run, "listener", keep=False, Value="second")
        is_sent = run.look_for(lambda: len(_heard(run, SUBNET)) > told)
        run.add("updated-rule", "config", "Does an update send the items again?", is_sent, True)
        is_scheduled.append(len(_scheduled(run)) > scheduled)
    asked = "Is there one at the creation, and at an update?"
    run.add("first-scheduled-message", "config", asked, is_scheduled)


def _add_prefix_list(run: Run, prefix_list: str) -> None:
    """Add how the item of a prefix list names it: by its ID or its ARN, and the names of its ID in the configuration."""
    events = run.look_for(partial(_heard, run, PREFIX_LIST))
    items = [event["invokingEvent"]["configurationItem"] for event in events]
    names = [
        [
            "ID" if item["resourceId"] == prefix_list else "ARN",
            *(key for key, value in (item["configuration"] or {}).items() if value == prefix_list),
        ]
        for item in items
        if prefix_list in item["resourceId"]
    ]
    asked, believed = "How does its item name a prefix list?", ["ID", "PrefixListId"]
    run.add("items-of-the-other-triggers", "config", asked, names[0] if names else [], believed, items)


def _add_results(run: Run, rule: str, token: str, subnet: str) -> None:
    """Add whether a result can be read at once, and which one remains if an older one is reported."""
    put = partial(run.client("config").put_evaluations, ResultToken=token)
    result = {"ComplianceResourceType": SUBNET, "ComplianceResourceId": subnet}
    put(Evaluations=[result | {"ComplianceType": "NON_COMPLIANT", "OrderingTimestamp": datetime.now(UTC)}])
    is_lagging = not results(run, rule)
    run.add("stored-results-lag", "config", "Is a result there only later?", is_lagging)
    run.look_for(partial(results, run, rule))
    yesterday = datetime.now(UTC) - timedelta(days=1)
    put(Evaluations=[result | {"ComplianceType": "COMPLIANT", "OrderingTimestamp": yesterday}])
    expected = ["NON_COMPLIANT"]
    stored = run.stays(lambda: list(results(run, rule).values()), expected)
    run.add("older-result", "config", "The result after an older one", stored, expected)


LATER = ("ResourceNotDiscoveredException",)
"""The error about an item that is not in the aggregator yet.

https://docs.aws.amazon.com/config/latest/APIReference/API_GetAggregateResourceConfig.html
"""


@probe("config", "items-in-an-aggregator", "state-in-an-aggregator")
def test_aggregator(run: Run) -> None:
    """Whether the item of a subnet has its VPC in an aggregator of this account alone."""
    public = network(run)["Public"]
    where = {"SourceAccountId": run.account_id, "SourceRegion": run.region, "ResourceType": "AWS::EC2::Subnet"}
    with own_stack(run, "aggregator") as made:
        get = partial(
            run.client("config").get_aggregate_resource_config, ConfigurationAggregatorName=made["Aggregator"]
        )

        def look() -> tuple[str, Json] | None:
            code, found = attempt(lambda: get(ResourceIdentifier=where | {"ResourceId": public}))
            return None if code in LATER else (code, found)

        code, found = run.until("a subnet in the aggregator", look)
    configuration = json.loads(found["ConfigurationItem"]["configuration"]) if found else {}
    seen = sorted(configuration) or code
    run.add("items-in-an-aggregator", "config", "Has a subnet's item its VPC?", "vpcId" in configuration, True, seen)
    state = configuration.get("state")
    run.add("state-in-an-aggregator", "config", "What is its state?", state, None, state)


@probe("iam", "role-of-stacksets")
def test_stack_sets(run: Run) -> None:
    """Which roles StackSets has made in the account."""
    roles = run.ask("iam", "list_roles", "Roles[?starts_with(RoleName, 'stacksets-exec-')].RoleName")
    run.add("role-of-stacksets", "iam", "Number of roles, in an organization", len(roles))
