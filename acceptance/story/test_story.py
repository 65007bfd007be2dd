"""The story: the product is deployed, heals, is stopped, asks people, and is created again. Each test needs those before it."""

import ipaddress
from functools import partial

import pytest

from acceptance.facts import Facts
from acceptance.place import Place
from acceptance.stack import Ids, Product, delete, deploy_own

PRIVATE = ("First", "Second", "Third")
FREE = "NON_COMPLIANT", "NAT_GATEWAY"
"""The verdict of a private subnet before a heal."""
HEALED = "COMPLIANT", "ENDPOINT"
OPEN = "COMPLIANT", "INTERNET_GATEWAY"


def test_first_deployment(product: Product, facts: Facts) -> None:
    """The rule is created after its permission, and before its remediation."""
    facts.begin()
    product.deploy()
    wanted = ["ConfigPermission", "ConfigRule", "Remediation"]
    found = [name for name in product.ids if name in wanted]
    facts.add("deployment", "cloudformation", "In which order are these created?", found, wanted, list(product.ids))


def test_first_verdicts(product: Product, network: Ids, facts: Facts) -> None:
    """Every subnet of the run's VPC has the verdict of its path, and no other subnet has one that counts."""
    for name in PRIVATE:
        product.wait_for(name, *FREE)
    product.wait_for("Public", *OPEN)
    own = {network[name] for name in ("Public", *PRIVATE)}
    verdicts = product.verdicts()
    others = [verdict for subnet, verdict in verdicts.items() if subnet not in own and verdict[0] != "NOT_APPLICABLE"]
    facts.add("first-verdicts", "config", "Which verdicts have others?", others, [], sorted(verdicts.values()))


def test_first_sweep(place: Place, product: Product, facts: Facts) -> None:
    """The function is invoked for a sweep soon after the deployment, and says how many things do not work."""
    swept = place.until("a sweep", partial(place.logged, product.ids["EvaluateLogGroup"], '"Unhealthy"'))[0]
    facts.add("first-sweep", "lambda", "How many things do not work?", swept["Unhealthy"], 0, swept)


def test_dry_run(place: Place, product: Product, network: Ids, facts: Facts) -> None:
    """A dry run shows the plan and changes nothing."""
    run = product.run("HealDocumentName", SubnetId=network["First"], DryRun="true")
    answer = [run["AutomationExecutionStatus"], len(place.endpoints(network["Vpc"]))]
    facts.add("dry-run", "ssm", "Status, and number of endpoints", answer, ["Success", 0], run["Outputs"])


def test_mode_on_leaves_an_owned_endpoint_alone(place: Place, product: Product, network: Ids, facts: Facts) -> None:
    """In mode ON, AWS Config starts heals. They are blocked if a stack owns the VPC's endpoint."""
    owned = deploy_own(place, "owner", Vpc=network["Vpc"], Table=network["Spare"])["Endpoint"]
    facts.begin()
    product.deploy(RemediationMode="ON")
    heal = place.until("a blocked heal that AWS Config started", partial(_heals, place, product, "Failed"))[0]
    product.deploy(RemediationMode="OFF")
    place.until("the end of all heals", lambda: not _heals(place, product, "InProgress"))
    tables = place.ask("ec2", "describe_vpc_endpoints", "VpcEndpoints[].RouteTableIds[]", VpcEndpointIds=[owned])
    message = place.end(heal)["FailureMessage"]
    answer = ["OWNED_BY_IAC" in message, tables == [network["Spare"]]]
    facts.add("mode-on", "config", "Is the heal blocked, and the endpoint as before?", answer, [True, True], message)
    delete(place, f"{place.stack_name}-owner")
    place.delete_endpoints(network["Vpc"])  # the sandbox keeps it


def _heals(place: Place, product: Product, status: str) -> list[str]:
    """Return the heals with a status."""
    query = "AutomationExecutionMetadataList[].AutomationExecutionId"
    keys = {"DocumentNamePrefix": product.ids["HealDocumentName"], "ExecutionStatus": status}
    filters = [{"Key": key, "Values": [value]} for key, value in keys.items()]
    return place.ask("ssm", "describe_automation_executions", query, Filters=filters)


def test_heal_and_undo(product: Product, network: Ids, facts: Facts) -> None:
    """A heal makes an endpoint, the verdict follows, and an undo removes what the heal added."""
    given = {"SubnetId": network["First"]}
    for name, document, verdict in (("heal", "HealDocumentName", HEALED), ("undo", "UndoDocumentName", FREE)):
        ended = product.run(document, **given)
        assert ended["AutomationExecutionStatus"] == "Success", ended.get("FailureMessage")
        facts.begin()
        product.wait_for("First", *verdict)
        facts.add(name, "config", "Does the verdict follow?", True, True, ended["Outputs"])
        given = {"RunId": ended["AutomationExecutionId"]}


def test_two_heals_at_once(place: Place, product: Product, network: Ids, facts: Facts) -> None:
    """Two heals of one VPC share one endpoint, and both succeed."""
    runs = [product.start("HealDocumentName", SubnetId=network[name]) for name in ("First", "Second")]
    ends = [place.end(run)["AutomationExecutionStatus"] for run in runs]
    answer = [*ends, len(place.endpoints(network["Vpc"]))]
    facts.add("two-heals", "ssm", "Status of each, and number of endpoints", answer, ["Success", "Success", 1])


def test_prefix_list(place: Place, product: Product, network: Ids, facts: Facts) -> None:
    """An entry of a customer-managed prefix list that is more specific than the endpoint's changes the verdict."""
    ec2 = place.client("ec2")
    filters = [{"Name": "prefix-list-name", "Values": [f"com.amazonaws.{place.region}.s3express"]}]
    express = place.ask("ec2", "describe_prefix_lists", "PrefixLists[].Cidrs[]", Filters=filters)
    entry = str(next(ipaddress.ip_network(express[0]).subnets()))
    route = {"RouteTableId": network["FirstTable"], "DestinationPrefixListId": network["PrefixList"]}
    ec2.create_route(**route, NatGatewayId=network["Nat"])
    product.wait_for("First", *HEALED)
    facts.begin()
    edited = {"PrefixListId": network["PrefixList"], "CurrentVersion": 1}
    ec2.modify_managed_prefix_list(**edited, AddEntries=[{"Cidr": entry}])
    product.wait_for("First", "NON_COMPLIANT", "PARTLY_NAT")
    facts.add("prefix-list", "config", "Does the verdict follow an edit of a prefix list?", True, True)
    ec2.delete_route(**route)


def test_stop_and_start(place: Place, product: Product, network: Ids, facts: Facts) -> None:
    """While the ledger has a stop, which the stack's role for it may write, no heal changes anything."""
    stopping, table = place.client("dynamodb", product.ids["StopRoleArn"]), product.ids["LedgerTableName"]
    stopping.put_item(TableName=table, Item={"id": {"S": "STOP"}, "reason": {"S": "acceptance"}})
    stopped = product.run("HealDocumentName", SubnetId=network["Third"])
    stopping.delete_item(TableName=table, Key={"id": {"S": "STOP"}})
    message = stopped["Outputs"]["plan.Summary"][0]
    facts.add("stop", "dynamodb", "Does a stop end a heal?", "STOPPED" in message, True, message)


def test_approvals(place: Place, product: Product, network: Ids, facts: Facts) -> None:
    """A heal that needs an approval changes nothing if it is refused, and heals if it is given."""
    product.deploy(ApprovalTopicArn=network["Approvals"], Approvers=place.caller)
    runs = [
        place.answer(product.start("ApprovalDocumentName", SubnetId=network["Third"]), signal)
        for signal in ("Reject", "Approve")
    ]
    ends = [run["AutomationExecutionStatus"] for run in runs]
    facts.add("approvals", "ssm", "Status after Reject and Approve", ends, ["Failed", "Success"])
    product.wait_for("Third", *HEALED)


def test_created_again(place: Place, product: Product, network: Ids, facts: Facts) -> None:
    """A heal of the first stack is undone by a second one with the same ledger."""
    ledger = product.ids["LedgerTableName"]
    items = place.ask("dynamodb", "scan", "Items[]", TableName=ledger)
    ids = [item["id"]["S"] for item in items if item.get("routeTableId") == {"S": network["ThirdTable"]}]
    heal = next(one.removeprefix("RUN#") for one in ids if one.startswith("RUN#"))
    delete(place, place.stack_name)
    product.deploy(LedgerTableName=ledger)
    undo = product.run("UndoDocumentName", RunId=heal)
    answer = [undo["AutomationExecutionStatus"], undo.get("FailureMessage")]
    facts.add("created-again", "ssm", "Status of an undo by the second stack", answer, ["Success", None], items)
    product.wait_for("Third", *FREE)


def test_block_public_access(place: Place, product: Product, network: Ids, facts: Facts) -> None:
    """A closed internet gateway changes the verdict, until it is open again. This is a setting of the whole account."""
    if not place.is_alone:
        pytest.skip("it is a setting of the whole account and Region: set ALONE=1")
    ec2, public = place.client("ec2"), network["Public"]
    product.wait_for("Public", *OPEN)
    facts.begin()
    try:
        ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="block-bidirectional")
        # AWS Config may no longer list a result that is NOT_APPLICABLE.
        place.until("another verdict", lambda: product.verdicts().get(public, [""])[0] != OPEN[0])
        verdict = product.verdicts().get(public)
        states = place.ask("ec2", "describe_subnets", "Subnets[].BlockPublicAccessStates", SubnetIds=[public])
    finally:
        ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="off")
    seen = {"verdict": verdict, "states of the subnet": states}
    facts.add("block-public-access", "ec2", "Does the verdict follow?", True, True, seen)
    product.wait_for("Public", *OPEN)
