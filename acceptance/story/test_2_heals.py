"""Heals and undos: a dry run, an endpoint that somebody owns, a heal and its undo, and two heals at once."""

import json
import time
from functools import partial

from acceptance.facts import Facts
from acceptance.network import Network, endpoints, express, route_table
from acceptance.place import Place, pages
from acceptance.stack import Stack
from acceptance.story.acts import Acts, steps_of


def test_dry_run(acts: Acts, network: Network, facts: Facts) -> None:
    """A dry run shows the plan and changes nothing."""
    run = acts.run("HealDocumentName", SubnetId=network.first.subnet, DryRun="true")
    facts.keep("dry-run", {"outputs": run["Outputs"], "steps": steps_of(run)})
    facts.add("dry-run", "ssm", "What does a dry run plan?", run["Outputs"]["plan.Action"], True)
    assert (run["AutomationExecutionStatus"], endpoints(acts.place, network.vpc)) == ("Success", [])


def test_mode_on_leaves_an_owned_endpoint_alone(
    place: Place, acts: Acts, stack: Stack, network: Network, facts: Facts
) -> None:
    """In mode ON, AWS Config starts heals. They are blocked if a stack owns the VPC's endpoint."""
    name, cloudformation = f"{place.stack_name}-owner", place.client("cloudformation")
    table = route_table(place, network.vpc)
    endpoint = {
        "VpcId": network.vpc,
        "ServiceName": express(place),
        "RouteTableIds": [table],
        "VpcEndpointType": "Gateway",
    }
    template = {"Resources": {"Endpoint": {"Type": "AWS::EC2::VPCEndpoint", "Properties": endpoint}}}
    cloudformation.create_stack(StackName=name, TemplateBody=json.dumps(template), Tags=place.tags)
    cloudformation.get_waiter("stack_create_complete").wait(StackName=name)
    start = time.monotonic()
    document = stack.deploy(RemediationMode="ON")["HealDocumentName"]

    def look() -> list[dict[str, str]]:
        filters = [
            {"Key": "DocumentNamePrefix", "Values": [document]},
            {"Key": "ExecutionStatus", "Values": ["Failed"]},
        ]
        ssm = place.client("ssm")
        return pages(ssm, "describe_automation_executions", "AutomationExecutionMetadataList", Filters=filters)

    failed = place.until("a blocked heal that AWS Config started", look)[0]
    seconds = round(time.monotonic() - start, 1)
    excepted = partial(
        pages,
        place.client("config"),
        "describe_remediation_exceptions",
        "RemediationExceptions",
        ConfigRuleName=stack.rule,
    )
    # A later attempt of AWS Config would heal the subnet when the owner's endpoint is gone.
    place.until("the last attempt for each subnet", lambda: len(excepted()) >= len(network.private))
    stack.deploy(RemediationMode="OFF")
    assert [one["VpcEndpointId"] for one in endpoints(place, network.vpc) if one["RouteTableIds"] != [table]] == []
    cloudformation.delete_stack(StackName=name)
    cloudformation.get_waiter("stack_delete_complete").wait(StackName=name)
    if left := [str(one["VpcEndpointId"]) for one in endpoints(place, network.vpc)]:  # the sandbox keeps it
        place.client("ec2").delete_vpc_endpoints(VpcEndpointIds=left)
    message = acts.execution(failed["AutomationExecutionId"])["FailureMessage"]
    facts.keep("blocked-heal", message)
    is_blocked = "OWNED_BY_IAC" in message
    facts.add(
        "mode-on", "config", "Is a heal that AWS Config starts blocked by an owner?", is_blocked, is_blocked, seconds
    )
    assert is_blocked, message


def test_heal_and_undo(acts: Acts, network: Network, facts: Facts) -> None:
    """A heal makes an endpoint, the verdict follows, and an undo removes what the heal added."""
    heal = acts.run("HealDocumentName", SubnetId=network.first.subnet)
    assert heal["AutomationExecutionStatus"] == "Success", heal.get("FailureMessage")
    start = time.monotonic()
    acts.wait_for(network.first.subnet, "COMPLIANT", "ENDPOINT")
    seconds = round(time.monotonic() - start, 1)
    facts.keep("heal", {"outputs": heal["Outputs"], "steps": steps_of(heal)})
    targets = acts.route_targets(network.first.table)
    facts.add("heal", "ec2", "Which targets has the healed table?", targets, "vpce" in targets, seconds)
    undo = acts.run("UndoDocumentName", RunId=heal["AutomationExecutionId"])
    assert undo["AutomationExecutionStatus"] == "Success", undo.get("FailureMessage")
    start = time.monotonic()
    acts.wait_for(network.first.subnet, "NON_COMPLIANT", "NAT_GATEWAY")
    seconds = round(time.monotonic() - start, 1)
    facts.keep("undo", {"outputs": undo["Outputs"], "steps": steps_of(undo)})
    targets = acts.route_targets(network.first.table)
    facts.add("undo", "ec2", "Which targets has the table after the undo?", targets, "vpce" not in targets, seconds)


def test_two_heals_at_once(acts: Acts, network: Network, facts: Facts) -> None:
    """Two heals of one VPC share one endpoint, and both succeed."""
    runs = [acts.start("HealDocumentName", SubnetId=one.subnet) for one in (network.first, network.second)]
    ends = [acts.end(run)["AutomationExecutionStatus"] for run in runs]
    made = len(endpoints(acts.place, network.vpc))
    facts.add("two-heals", "ssm", "How do two heals end, and how many endpoints?", [ends, made], made == 1)
    assert (ends, made) == (["Success", "Success"], 1)
