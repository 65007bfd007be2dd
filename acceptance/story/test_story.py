"""The story: the product is deployed, heals, is stopped, asks people, and is created again. Each test needs those before it."""

import ipaddress
import json
import os
from functools import partial

import pytest

from acceptance.facts import Facts
from acceptance.place import Json, Place, pages
from acceptance.stack import Product, delete, deploy_own, resources

Network = dict[str, str]
PRIVATE = ("First", "Second", "Third")
FREE = "NON_COMPLIANT", "NAT_GATEWAY"
"""The verdict of a private subnet before a heal."""
HEALED = "COMPLIANT", "ENDPOINT"


def test_first_deployment(place: Place, product: Product, facts: Facts) -> None:
    """The rule is created after its permission, and before its remediation."""
    facts.begin()
    product.deploy()
    order = list(resources(place, place.stack_name))
    wanted = ["ConfigPermission", "ConfigRule", "Remediation"]
    found = [name for name in order if name in wanted]
    facts.add("deployment", "cloudformation", "In which order are these created?", found, found == wanted, order)


def test_first_verdicts(product: Product, network: Network, facts: Facts) -> None:
    """Every subnet of the run's VPC has the verdict of its path, and no other subnet has one that counts."""
    for name in PRIVATE:
        product.wait_for(network[name], *FREE)
    product.wait_for(network["Public"], "COMPLIANT", "INTERNET_GATEWAY")
    verdicts = product.verdicts()
    others = sorted({verdicts[one][0] for one in verdicts.keys() - {network[name] for name in ("Public", *PRIVATE)}})
    asked, is_alone = "Which results have other subnets?", set(others) <= {"NOT_APPLICABLE"}
    facts.add("first-verdicts", "config", asked, others, is_alone, sorted(verdicts.values()))


def test_first_sweep(place: Place, facts: Facts) -> None:
    """The function is invoked for a sweep soon after the deployment, and says how many things do not work."""
    group = resources(place, place.stack_name)["EvaluateLogGroup"]

    def look() -> list[Json]:
        lines = [json.loads(line) for line in place.logged(group) if line.startswith("{")]
        return [line for line in lines if "Unhealthy" in line]

    swept = place.until("a sweep in the log", look)[0]
    facts.add("first-sweep", "lambda", "How many things do not work?", swept["Unhealthy"], True, swept)


def test_dry_run(place: Place, product: Product, network: Network, facts: Facts) -> None:
    """A dry run shows the plan and changes nothing."""
    run = product.run("HealDocumentName", SubnetId=network["First"], DryRun="true")
    answer = [run["AutomationExecutionStatus"], len(place.endpoints(network["Vpc"]))]
    facts.add("dry-run", "ssm", "Status, and number of endpoints", answer, answer == ["Success", 0], run["Outputs"])


def test_mode_on_leaves_an_owned_endpoint_alone(place: Place, product: Product, network: Network, facts: Facts) -> None:
    """In mode ON, AWS Config starts heals. They are blocked if a stack owns the VPC's endpoint."""
    owned = deploy_own(place, "owner", Vpc=network["Vpc"], Table=network["Spare"])["Endpoint"]
    facts.begin()
    product.deploy(RemediationMode="ON")
    failed = place.until("a blocked heal that AWS Config started", partial(_heals, place, product, "Failed"))[0]
    product.deploy(RemediationMode="OFF")
    place.until("the end of all heals", lambda: not _heals(place, product, "InProgress"))
    message = place.execution(failed["AutomationExecutionId"])["FailureMessage"]
    tables = place.client("ec2").describe_vpc_endpoints(VpcEndpointIds=[owned])["VpcEndpoints"][0]["RouteTableIds"]
    is_blocked = "OWNED_BY_IAC" in message and tables == [network["Spare"]]
    facts.add("mode-on", "config", "Does an owner's endpoint block a heal?", is_blocked, is_blocked, message)
    delete(place, f"{place.stack_name}-owner")
    if place.endpoints(network["Vpc"]):  # the sandbox keeps it
        place.client("ec2").delete_vpc_endpoints(VpcEndpointIds=[owned])


def _heals(place: Place, product: Product, status: str) -> list[Json]:
    """Return the heals with a status."""
    keys = {"DocumentNamePrefix": product.outputs["HealDocumentName"], "ExecutionStatus": status}
    filters = [{"Key": key, "Values": [value]} for key, value in keys.items()]
    found = "describe_automation_executions", "AutomationExecutionMetadataList"
    return pages(place.client("ssm"), *found, Filters=filters)


def test_heal_and_undo(product: Product, network: Network, facts: Facts) -> None:
    """A heal makes an endpoint, the verdict follows, and an undo removes what the heal added."""
    heal = product.run("HealDocumentName", SubnetId=network["First"])
    assert heal["AutomationExecutionStatus"] == "Success", heal.get("FailureMessage")
    facts.begin()
    product.wait_for(network["First"], *HEALED)
    facts.add("heal", "config", "Does the verdict follow a heal?", True, True, heal["Outputs"])
    undo = product.run("UndoDocumentName", RunId=heal["AutomationExecutionId"])
    assert undo["AutomationExecutionStatus"] == "Success", undo.get("FailureMessage")
    facts.begin()
    product.wait_for(network["First"], *FREE)
    facts.add("undo", "config", "Does the verdict follow an undo?", True, True, undo["Outputs"])


def test_two_heals_at_once(place: Place, product: Product, network: Network, facts: Facts) -> None:
    """Two heals of one VPC share one endpoint, and both succeed."""
    runs = [product.start("HealDocumentName", SubnetId=network[name]) for name in ("First", "Second")]
    ends = [place.end(run)["AutomationExecutionStatus"] for run in runs]
    answer = [*ends, len(place.endpoints(network["Vpc"]))]
    facts.add("two-heals", "ssm", "Status of each, and number of endpoints", answer, answer == ["Success"] * 2 + [1])


def test_prefix_list(
    place: Place, product: Product, network: Network, prefix_list: dict[str, object], facts: Facts
) -> None:
    """An entry of a customer-managed prefix list that is more specific than the endpoint's changes the verdict."""
    ec2 = place.client("ec2")
    filters = [{"Name": "prefix-list-name", "Values": [f"com.amazonaws.{place.region}.s3express"]}]
    [express] = ec2.describe_prefix_lists(Filters=filters)["PrefixLists"]
    entry = str(next(ipaddress.ip_network(express["Cidrs"][0]).subnets()))
    route = {"RouteTableId": network["FirstTable"], "DestinationPrefixListId": prefix_list["PrefixListId"]}
    ec2.create_route(**route, NatGatewayId=network["Nat"])
    product.wait_for(network["First"], *HEALED)
    facts.begin()
    edited = {"PrefixListId": prefix_list["PrefixListId"], "CurrentVersion": prefix_list["Version"]}
    ec2.modify_managed_prefix_list(**edited, AddEntries=[{"Cidr": entry}])
    product.wait_for(network["First"], "NON_COMPLIANT", "PARTLY_NAT")
    facts.add("prefix-list", "config", "Does the verdict follow an edit of a prefix list?", True, True)
    ec2.delete_route(**route)


def test_stop_and_start(place: Place, product: Product, network: Network, facts: Facts) -> None:
    """While the ledger has a stop, which the stack's role for it may write, no heal changes anything."""
    stopping = place.client("dynamodb", product.outputs["StopRoleArn"])
    key = {"TableName": product.outputs["LedgerTableName"]}
    stopping.put_item(**key, Item={"id": {"S": "STOP"}, "reason": {"S": "acceptance"}})
    stopped = product.run("HealDocumentName", SubnetId=network["Third"])
    stopping.delete_item(**key, Key={"id": {"S": "STOP"}})
    message = stopped["Outputs"]["plan.Summary"][0]
    is_stopped = "STOPPED" in message
    facts.add("stop", "dynamodb", "Does a stop end a heal?", is_stopped, is_stopped, message)


def test_approvals(place: Place, product: Product, network: Network, facts: Facts) -> None:
    """A heal that needs an approval changes nothing if it is refused, and heals if it is given."""
    approver = place.client("sts").get_caller_identity()["Arn"]
    product.deploy(ApprovalTopicArn=network["Approvals"], Approvers=approver)
    ends = []
    for signal in ("Reject", "Approve"):
        run = product.start("ApprovalDocumentName", SubnetId=network["Third"])
        place.answer(run, signal)
        ends.append(place.end(run)["AutomationExecutionStatus"])
    facts.add("approvals", "ssm", "Status after Reject and Approve", ends, ends == ["Failed", "Success"])
    product.wait_for(network["Third"], *HEALED)


def test_created_again(place: Place, product: Product, network: Network, facts: Facts) -> None:
    """A heal of the first stack is undone by a second one with the same ledger."""
    ledger = product.outputs["LedgerTableName"]
    items = pages(place.client("dynamodb"), "scan", "Items", TableName=ledger)
    runs = [item["id"]["S"] for item in items if item.get("routeTableId", {}).get("S") == network["ThirdTable"]]
    heal = next(run for run in runs if run.startswith("RUN#")).removeprefix("RUN#")
    delete(place, place.stack_name)
    product.deploy(LedgerTableName=ledger)
    undo = product.run("UndoDocumentName", RunId=heal)
    answer = [undo["AutomationExecutionStatus"], undo.get("FailureMessage")]
    facts.add(
        "created-again", "ssm", "Status of an undo by the second stack", answer, answer == ["Success", None], items
    )
    product.wait_for(network["Third"], *FREE)


def test_block_public_access(place: Place, product: Product, network: Network, facts: Facts) -> None:
    """Closed internet gateways become verdicts. It is a setting of the account, which ALONE=1 allows to change."""
    if not place.is_sandbox and "ALONE" not in os.environ:
        pytest.skip("it is a setting of the whole account and Region: set ALONE=1")
    ec2 = place.client("ec2")
    product.wait_for(network["Public"], "COMPLIANT", "INTERNET_GATEWAY")
    facts.begin()
    try:
        ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="block-bidirectional")
        # AWS Config may no longer list a result that is NOT_APPLICABLE.
        place.until("another verdict", lambda: product.verdicts().get(network["Public"], ("", ""))[0] != "COMPLIANT")
        verdict = product.verdicts().get(network["Public"])
    finally:
        ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="off")
    facts.add("closed-gateway", "config", "Which verdict follows Block Public Access?", verdict, True)
