"""What only the acceptance run shows, and needs no stack of the product. Facts have the names of their probes."""

import json
import secrets
from datetime import UTC, datetime, timedelta
from functools import partial

from acceptance.facts import Json
from acceptance.probes.probe import probe
from acceptance.run import Run, attempt, error_code
from acceptance.stack import NotMadeError, network, own_stack, results, update_own


@probe("ec2", "name-of-the-ipv6-list")
def test_lists(run: Run) -> None:
    """What DescribeManagedPrefixLists and DescribePrefixLists call the lists of S3 Express."""
    query = "PrefixLists[?contains(PrefixListName, 's3express')].PrefixListName"
    operations = "describe_managed_prefix_lists", "describe_prefix_lists"
    names = {operation: sorted(run.ask("ec2", operation, query)) for operation in operations}
    express = f"com.amazonaws.{run.region}.s3express"
    believed = {operations[0]: [express.replace(".s3", ".ipv6.s3"), express], operations[1]: [express]}
    run.add("name-of-the-ipv6-list", "ec2", "What are the lists called?", names, believed)


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


POLICY = json.dumps({"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}]})
"""A policy that changes nothing: https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-endpoints-access.html."""


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
        run.client("ec2").create_tags(
            Resources=[endpoint_id], Tags=[{"Key": "express-path:acceptance", "Value": "kept"}]
        )
        codes.append(dry_run("delete_vpc_endpoints", VpcEndpointIds=[endpoint_id]))
        named = "Dry runs: create for S3 Express and S3, delete, delete with a tag that denies it"
        believed = ["DryRunOperation", "UnauthorizedOperation"]
        run.add("keys-of-endpoint-calls", "ec2", named, codes, [*believed, *believed])
        codes = [
            dry_run("modify_vpc_endpoint", VpcEndpointId=endpoint_id, RemoveRouteTableIds=[table]),
            dry_run("modify_vpc_endpoint", VpcEndpointId=endpoint_id, PolicyDocument=POLICY),
        ]
        run.add("keys-of-endpoint-attributes", "ec2", "Dry runs: tables, policy", codes, believed)
        run.delete_endpoints(vpc)


@probe("ec2", "used-client-token")
def test_used_client_token(run: Run) -> None:
    """What a client token returns that was used for an endpoint that is deleted."""
    vpc, token = network(run)["Vpc"], secrets.token_hex(8)
    endpoint_id = _create_endpoint(run, vpc, token)
    run.delete_endpoints(vpc)
    code, again = attempt(lambda: _create_endpoint(run, vpc, token))
    answer = "the deleted endpoint" if again == endpoint_id else "a new endpoint" if again else code
    run.delete_endpoints(vpc)
    run.add("used-client-token", "ec2", "What does a used token return?", answer, "the deleted endpoint")


@probe("events", "event-bus-policy")
def test_event_bus(run: Run) -> None:
    """Whether a policy that only denies others leaves the account's own permission to put events as it is."""
    with own_stack(run, "bus") as made:
        entry = {"EventBusName": made["Bus"], "Source": "acceptance", "DetailType": "probe", "Detail": "{}"}
        code = error_code(partial(run.client("events").put_events, Entries=[entry]))
    run.add("event-bus-policy", "events", "Error of PutEvents by somebody who is not denied", code, "none")


@probe("ssm", "jump-out-of-a-loop", "failed-step-in-a-loop")
def test_loop(run: Run) -> None:
    """How a runbook goes on if a step of a loop fails whose onFailure names a step outside, and where that step is listed."""
    try:
        with own_stack(run, "loop") as made:
            execution = run.end(run.start(made["Loop"]))
            described = _described(run, execution)
    except NotMadeError as error:
        run.add("jump-out-of-a-loop", "ssm", "Which steps succeed?", "refused", ["last"], str(error))
        run.add("failed-step-in-a-loop", "ssm", "Which calls list the step?", "refused")
        return
    ends = _ends(execution["StepExecutions"])
    succeeded = sorted(name for name, status in ends.items() if status == "Success")
    run.add("jump-out-of-a-loop", "ssm", "Which steps succeed?", succeeded, ["last"], ends)
    listed = {"GetAutomationExecution": ends, "DescribeAutomationStepExecutions": described}
    answer = [call for call, steps in listed.items() if steps.get("failing") == "Failed"]
    run.add("failed-step-in-a-loop", "ssm", "Which calls list the step?", answer, list(listed), described)


def _described(run: Run, execution: Json) -> dict[str, str]:
    named = {"AutomationExecutionId": execution["AutomationExecutionId"]}
    return _ends(run.ask("ssm", "describe_automation_step_executions", "StepExecutions[]", **named))


@probe(
    "ssm",
    "output-without-a-value",
    "inputs-of-a-step",
    "status-of-a-rejected-approval",
    "rejected-and-expired-approval",
)
def test_runbook(run: Run) -> None:
    """How a step that asks in vain is shown, and how its runbook goes on. What stands for an output without a value."""
    with own_stack(run, "runbook", Approver=run.caller) as made:
        start = partial(run.start, made["Runbook"])
        rejected, expired = start(), start() if run.is_alone else ""
        steps = run.answer(rejected, "Reject")["StepExecutions"]
        expired_steps = run.end(expired)["StepExecutions"] if expired else []
    outputs = {step["StepName"]: step.get("Outputs", {}) for step in steps}
    missing = outputs["look"].get("Missing")
    run.add("output-without-a-value", "ssm", "What stands for it?", missing, [NO_OUTPUT], outputs)
    [shown] = [step["Inputs"] for step in steps if step["StepName"] == "approval"]
    run.add("inputs-of-a-step", "ssm", "How is a text shown?", shown["Message"], all_answers=shown)
    status = outputs.get("approval", {}).get("ApprovalStatus")
    run.add("status-of-a-rejected-approval", "ssm", "ApprovalStatus", status, ["Rejected"])
    both = [_ends(steps), _ends(expired_steps)] if expired else [_ends(steps)]
    asks = [ends.get(name) for ends in both for name in ("approval", "last")]
    believed = ["Failed", "Success", "TimedOut", "Success"][: len(asks)]
    run.add("rejected-and-expired-approval", "ssm", "Status of each, and of the step after it", asks, believed)


NO_OUTPUT = "No output available yet because the step is not successfully executed"
"""What the examples of describe-automation-executions show for an output.

https://docs.aws.amazon.com/cli/latest/reference/ssm/describe-automation-executions.html
"""


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
        update_own(run, "listener", Value="second")
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
