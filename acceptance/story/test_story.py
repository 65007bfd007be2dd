"""The story: the product is deployed, heals, is stopped, asks people, and is created again. Each test needs those before it."""

import ipaddress
import json
from functools import partial

import pytest

from acceptance.run import Run
from acceptance.stack import Ids, Product, delete, deploy_own

NAT = "NON_COMPLIANT NAT_GATEWAY"
"""The verdict of a private subnet before a heal."""
HEALED = "COMPLIANT ENDPOINT"
PUBLIC = "COMPLIANT INTERNET_GATEWAY"


def test_first_deployment(run: Run, product: Product) -> None:
    """The rule is created after its permission, and before its remediation."""
    run.begin()
    product.deploy("create")
    wanted = ["ConfigPermission", "ConfigRule", "Remediation"]
    found = [name for name in product.ids if name in wanted]
    run.add("deployment", "cloudformation", "In which order are these created?", found, wanted, list(product.ids))


def test_first_verdicts(run: Run, product: Product, network: Ids) -> None:
    """Every subnet of the run's VPC has the verdict of its path, and no other subnet has one that counts."""
    for name in ("First", "Second", "Third"):
        product.wait_for(name, NAT)
    product.wait_for("Public", PUBLIC)
    found = product.verdicts().items()
    own = sorted(verdict for subnet, verdict in found if subnet in network.values())
    others = {verdict for subnet, verdict in found if subnet not in network.values()} - {"NOT_APPLICABLE"}
    run.add("first-verdicts", "config", "Which verdicts have others?", sorted(others), [], own)


def test_first_sweep(run: Run, product: Product) -> None:
    """The function is invoked for a sweep soon after the deployment, and says how many things do not work."""
    swept = run.until("a sweep", partial(run.logged, product.ids["EvaluateLogGroup"], '"Unhealthy"'))[0]
    run.add("first-sweep", "lambda", "How many things do not work?", swept["Unhealthy"], 0, swept)


def test_dry_run(run: Run, product: Product, network: Ids) -> None:
    """A dry run shows the plan and changes nothing."""
    ended = product.execute("HealDocumentName", SubnetId=network["First"], DryRun="true")
    answer = [ended["AutomationExecutionStatus"], len(run.endpoints(network["Vpc"]))]
    run.add("dry-run", "ssm", "Status, and number of endpoints", answer, ["Success", 0], ended["Outputs"])


def test_mode_on_leaves_an_owned_endpoint_alone(run: Run, product: Product, network: Ids) -> None:
    """In mode ON, AWS Config starts heals. They are blocked if a stack owns the VPC's endpoint."""
    owned = deploy_own(run, "owner", Vpc=network["Vpc"], Table=network["Spare"])["Endpoint"]
    run.begin()
    product.deploy(RemediationMode="ON")
    heals, failed = f"DocumentName=='{product.ids['HealDocumentName']}'", "AutomationExecutionStatus=='Failed'"
    query = f"AutomationExecutionMetadataList[?{heals} && {failed}].AutomationExecutionId"
    found = partial(run.ask, "ssm", "describe_automation_executions", query)
    heal = run.until("a blocked heal that AWS Config started", found)[0]
    product.deploy(RemediationMode="OFF")
    query = "RemediationExecutionStatuses[?State=='QUEUED' || State=='IN_PROGRESS']"
    rule = product.ids["ConfigRule"]
    left = partial(run.ask, "config", "describe_remediation_execution_status", query, ConfigRuleName=rule)
    run.until("the end of all heals", lambda: not left())
    tables = run.ask("ec2", "describe_vpc_endpoints", "VpcEndpoints[].RouteTableIds[]", VpcEndpointIds=[owned])
    failures = json.loads(run.end(heal)["Outputs"]["explain.Payload"][0])["failures"]
    blockers = [blocker["code"] for failure in failures for blocker in failure["blockers"]]
    answer = [blockers, tables == [network["Spare"]]]
    asked = "What blocks the heal, and is the endpoint as before?"
    run.add("mode-on", "config", asked, answer, [["OWNED_BY_IAC"], True], failures)
    delete(run, f"{run.stack_name}-owner")
    run.delete_endpoints(network["Vpc"])  # the sandbox keeps it


def test_heal_and_undo(run: Run, product: Product, network: Ids) -> None:
    """A heal makes an endpoint, the verdict follows, and an undo removes what the heal added."""
    given = {"SubnetId": network["First"]}
    for name, document, verdict in (("heal", "HealDocumentName", HEALED), ("undo", "UndoDocumentName", NAT)):
        ended = product.execute(document, **given)
        assert ended["AutomationExecutionStatus"] == "Success", ended.get("FailureMessage")
        run.begin()
        product.wait_for("First", verdict)
        run.add(name, "config", "Does the verdict follow?", True, True, ended["Outputs"])
        given = {"RunId": ended["AutomationExecutionId"]}


def test_two_heals_at_once(run: Run, product: Product, network: Ids) -> None:
    """Two heals of one VPC share one endpoint, and both succeed."""
    heals = [product.start("HealDocumentName", SubnetId=network[name]) for name in ("First", "Second")]
    ends = [run.end(heal)["AutomationExecutionStatus"] for heal in heals]
    answer = [*ends, len(run.endpoints(network["Vpc"]))]
    run.add("two-heals", "ssm", "Status of each, and number of endpoints", answer, ["Success", "Success", 1])


def test_prefix_list(run: Run, product: Product, network: Ids) -> None:
    """An entry of a customer-managed prefix list that is more specific than the endpoint's changes the verdict."""
    ec2 = run.client("ec2")
    filters = [{"Name": "prefix-list-name", "Values": [f"com.amazonaws.{run.region}.s3express"]}]
    express = run.ask("ec2", "describe_prefix_lists", "PrefixLists[].Cidrs[]", Filters=filters)
    entry = str(next(ipaddress.ip_network(express[0]).subnets()))
    route = {"RouteTableId": network["FirstTable"], "DestinationPrefixListId": network["PrefixList"]}
    ec2.create_route(**route, NatGatewayId=network["Nat"])
    product.wait_for("First", HEALED)
    run.begin()
    edited = {"PrefixListId": network["PrefixList"], "CurrentVersion": 1}
    ec2.modify_managed_prefix_list(**edited, AddEntries=[{"Cidr": entry}])
    product.wait_for("First", "NON_COMPLIANT PARTLY_NAT")
    run.add("prefix-list", "config", "Does the verdict follow an edit of a prefix list?", True, True)
    ec2.delete_route(**route)


def test_stop_and_start(run: Run, product: Product, network: Ids) -> None:
    """While the ledger has a stop, which the stack's role for it may write, no heal changes anything."""
    stopping, table = run.client("dynamodb", product.ids["StopRoleArn"]), product.ids["LedgerTableName"]
    stopping.put_item(TableName=table, Item={"id": {"S": "STOP"}, "reason": {"S": "acceptance"}})
    stopped = product.execute("HealDocumentName", SubnetId=network["Third"])
    stopping.delete_item(TableName=table, Key={"id": {"S": "STOP"}})
    plan = json.loads(stopped["Outputs"]["plan.Details"][0])
    run.add("stop", "dynamodb", "Does a stop end a heal?", plan["action"], "STOPPED", plan)


def test_approvals(run: Run, product: Product, network: Ids) -> None:
    """A heal that needs an approval changes nothing if it is refused, and heals if it is given."""
    product.deploy(ApprovalTopicArn=network["Approvals"], Approvers=run.caller)
    start = partial(product.start, "ApprovalDocumentName", SubnetId=network["Third"])
    ends = [run.answer(start(), signal)["AutomationExecutionStatus"] for signal in ("Reject", "Approve")]
    run.add("approvals", "ssm", "Status after Reject and Approve", ends, ["Failed", "Success"])
    product.wait_for("Third", HEALED)


def test_block_public_access(run: Run, product: Product, network: Ids) -> None:
    """A closed internet gateway changes the verdict. This is a setting of the whole account."""
    if not run.is_alone:
        pytest.skip("it is a setting of the whole account and Region: set ALONE=1")
    ec2, public = run.client("ec2"), network["Public"]
    product.wait_for("Public", PUBLIC)
    run.begin()
    try:
        ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="block-bidirectional")
        # AWS Config may no longer list a result that is NOT_APPLICABLE.
        run.until("another verdict", lambda: not product.has("Public", PUBLIC))
        verdict = product.verdicts().get(public)
        states = run.ask("ec2", "describe_subnets", "Subnets[].BlockPublicAccessStates", SubnetIds=[public])
    finally:
        ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="off")
    seen = {"verdict": verdict, "states of the subnet": states}
    run.add("block-public-access", "ec2", "Does the verdict follow?", True, True, seen)


def test_created_again(run: Run, product: Product, network: Ids) -> None:
    """A heal of the first stack is undone by a second one with the same ledger, whose rule finds the gateway open again."""
    ledger = product.ids["LedgerTableName"]
    query = f"Items[?routeTableId.S=='{network['ThirdTable']}' && starts_with(id.S, 'RUN#')].id.S"
    heal = run.ask("dynamodb", "scan", query, TableName=ledger)[0].removeprefix("RUN#")
    delete(run, run.stack_name)
    product.deploy("create", LedgerTableName=ledger)
    undo = product.execute("UndoDocumentName", RunId=heal)
    status, asked = undo["AutomationExecutionStatus"], "Status of an undo by the second stack"
    run.add("created-again", "ssm", asked, status, "Success", undo["Outputs"])
    product.wait_for("Third", NAT)
    product.wait_for("Public", PUBLIC)
