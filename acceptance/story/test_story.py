"""The story: the product is deployed, heals, is stopped, asks people, and is created again. Each test needs those before it.

If the run is interrupted, it continues with the test that was interrupted, from its beginning.
"""

import ipaddress
import json
from functools import partial

import pytest

from acceptance.facts import Json
from acceptance.run import Run, error_code
from acceptance.stack import Ids, NotMadeError, Product, delete, deploy_own

NAT = "NON_COMPLIANT NAT_GATEWAY"
"""The verdict of a private subnet before a heal."""
HEALED = "COMPLIANT ENDPOINT"
PUBLIC = "COMPLIANT INTERNET_GATEWAY"
BEYOND = "NON_COMPLIANT NAT_BEYOND_TRANSIT_GATEWAY"
"""The verdict of a spoke."""
HUB = ["TRANSIT_TRAFFIC"]
"""What blocks the heal of a table that the traffic of other VPCs uses."""
ATTEMPTS = 5
"""How often a heal is repeated that is to be overtaken, because it may be faster."""


def made(run: Run, kind: str, **parameters: str) -> Ids:
    """Return a stack of the run. Skip the test if it cannot be made: that says nothing about the product."""
    try:
        return deploy_own(run, kind, **parameters)
    except NotMadeError as error:
        pytest.skip(str(error))


def blockers(execution: Json) -> list[str]:
    """Return the codes of what blocked an execution."""
    failures = json.loads(execution["Outputs"]["explain.Payload"][0])["failures"]
    return [blocker["code"] for failure in failures for blocker in failure["blockers"]]


def test_first_deployment(run: Run, product: Product) -> None:
    """The rule is created after its permission, and before its remediation."""
    run.begin()
    product.deploy()
    wanted = ["ConfigPermission", "ConfigRule", "Remediation"]
    found = [name for name in product.ids if name in wanted]
    run.prove("deployment", "cloudformation", "In which order are these created?", found, wanted, list(product.ids))


def test_first_verdicts(run: Run, product: Product, network: Ids) -> None:
    """Every subnet of the run's VPCs has the verdict of its path, and no other subnet has one that counts."""
    for name in ("First", "Second", "Third"):
        product.wait_for(name, NAT)
    product.wait_for("Public", PUBLIC)
    found = product.verdicts().items()
    own = sorted(verdict for subnet, verdict in found if subnet in network.values())
    others = {verdict for subnet, verdict in found if subnet not in network.values()} - {"NOT_APPLICABLE"}
    run.prove("first-verdicts", "config", "Which verdicts have others?", sorted(others), [], own)


def test_first_sweep(run: Run, product: Product) -> None:
    """The rule sweeps soon after the deployment, and the check that follows says what does not work."""
    checked = run.until("a check", partial(run.logged, product.ids["EvaluateLogGroup"], '"checked"'))[-1]
    run.prove("first-sweep", "lambda", "What does not work?", checked["faults"], [], checked)


def test_dry_run(run: Run, product: Product, network: Ids) -> None:
    """A dry run shows the plan and changes nothing."""
    ended = product.execute("HealDocumentName", SubnetId=network["First"], DryRun="true")
    answer = [ended["AutomationExecutionStatus"], len(run.endpoints(network["Vpc"]))]
    run.prove("dry-run", "ssm", "Status, and number of endpoints", answer, ["Success", 0], ended["Outputs"])


def test_mode_on_leaves_an_owned_endpoint_alone(run: Run, product: Product, network: Ids) -> None:
    """In mode ON, AWS Config starts heals. They are blocked if a stack owns the VPC's endpoint."""
    owned = made(run, "owner", Vpc=network["Vpc"], Table=network["Spare"])["Endpoint"]
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
    ended = run.end(heal)
    failures = json.loads(ended["Outputs"]["explain.Payload"][0])["failures"]
    answer = [blockers(ended), tables == [network["Spare"]]]
    asked = "What blocks the heal, and is the endpoint as before?"
    run.prove("mode-on", "config", asked, answer, [["OWNED_BY_IAC"], True], failures)
    delete(run, f"{run.stack_name}-owner")
    run.delete_endpoints(network["Vpc"])  # the sandbox keeps it


def lead(run: Run, hub: Ids) -> None:
    """Lead the spoke's traffic to the hub, if nothing does so."""
    route = {"TransitGatewayRouteTableId": hub["SpokesTable"], "DestinationCidrBlock": "0.0.0.0/0"}
    attachment = hub["HubAttachment"]
    create = partial(run.client("ec2").create_transit_gateway_route, **route, TransitGatewayAttachmentId=attachment)
    assert error_code(create) in ("none", "RouteAlreadyExists")


def hub_of(run: Run, network: Ids) -> Ids:
    """Return what leads the spoke's traffic to the NAT gateway."""
    given = ("Vpc", "Nat", "PublicTable", "SpokeVpc", "Spoke", "SpokeTable")
    return made(run, "hub", **{name: network[name] for name in given})


def test_hub(run: Run, product: Product, network: Ids) -> None:
    """A spoke's path is seen beyond the transit gateway. The table that its traffic uses in the hub is not changed."""
    hub = hub_of(run, network)
    run.begin()
    product.wait_for("Spoke", BEYOND)
    spoke = product.verdicts()[network["Spoke"]]
    run.prove("spoke", "config", "Does the verdict follow?", True, True, spoke)
    dry_run = product.execute("HealDocumentName", SubnetId=hub["Inside"], DryRun="true")
    plan = json.loads(dry_run["Outputs"]["plan.Details"][0])
    heal = product.execute("HealDocumentName", SubnetId=hub["Inside"])
    answer = [
        plan["action"],
        [blocker["code"] for blocker in plan["blockers"]],
        heal["AutomationExecutionStatus"],
        blockers(heal),
        len(run.endpoints(network["Vpc"])),
    ]
    asked = "A dry run and what blocks it, a heal and what blocks it, and number of endpoints"
    seen = {"plan": plan, "message": heal["FailureMessage"]}
    run.prove("hub", "ssm", asked, answer, ["BLOCKED", HUB, "Failed", HUB, 0], seen)


def test_vpc_becomes_a_hub_during_a_heal(run: Run, product: Product, network: Ids) -> None:
    """A heal looks again right before it associates the table: traffic of other VPCs may use it by now."""
    hub = hub_of(run, network)
    asked = "Step that fails, what blocks it, and tables of the endpoint"
    believed = ["findTarget", HUB, []]
    answer, message = overtaken(run, product, hub)
    for _ in range(ATTEMPTS):
        if answer != believed:
            answer, message = overtaken(run, product, hub)
    run.prove("hub-since-the-plan", "ssm", asked, answer, believed, message)
    delete(run, f"{run.stack_name}-hub")


def overtaken(run: Run, product: Product, hub: Ids) -> tuple[list[Json], str]:
    """Heal the hub's subnet while nothing leads there, and let that change once an endpoint is about to be created.

    Return the answer and the message of the heal, and leave the network as it was.
    """
    vpc = product.network["Vpc"]
    run.delete_endpoints(vpc)
    route = {"TransitGatewayRouteTableId": hub["SpokesTable"], "DestinationCidrBlock": "0.0.0.0/0"}
    error_code(partial(run.client("ec2").delete_transit_gateway_route, **route))
    heal = product.start("HealDocumentName", SubnetId=hub["Inside"])
    run.reach(heal, "recordCreation")
    lead(run, hub)
    ended = run.end(heal)
    query = "VpcEndpoints[?!starts_with(State, 'delet')].RouteTableIds[]"
    named = [{"Name": "vpc-id", "Values": [vpc]}]
    tables = run.ask("ec2", "describe_vpc_endpoints", query, Filters=named)
    if ended["AutomationExecutionStatus"] == "Success":
        product.execute("UndoDocumentName", RunId=heal)
    run.delete_endpoints(vpc)
    failed = [step["StepName"] for step in ended["StepExecutions"] if step["StepStatus"] == "Failed"]
    codes = blockers(ended) if "explain.Payload" in ended["Outputs"] else []
    return [next(iter(failed), ""), codes, tables], str(ended.get("FailureMessage"))


def test_heal_and_undo(run: Run, product: Product, network: Ids) -> None:
    """A heal makes an endpoint, the verdict follows, and an undo removes what the heal added."""
    given = {"SubnetId": network["First"]}
    for name, document, verdict in (("heal", "HealDocumentName", HEALED), ("undo", "UndoDocumentName", NAT)):
        ended = product.execute(document, name, **given)
        assert ended["AutomationExecutionStatus"] == "Success", ended.get("FailureMessage")
        run.begin()
        if name not in run.state.facts:
            product.wait_for("First", verdict)
        run.prove(name, "config", "Does the verdict follow?", True, True, ended["Outputs"])
        given = {"RunId": ended["AutomationExecutionId"]}


def test_two_heals_at_once(run: Run, product: Product, network: Ids) -> None:
    """Two heals of one VPC share one endpoint, and both succeed."""
    heals = [product.start("HealDocumentName", SubnetId=network[name]) for name in ("First", "Second")]
    ends = [run.end(heal)["AutomationExecutionStatus"] for heal in heals]
    answer = [*ends, len(run.endpoints(network["Vpc"]))]
    run.prove("two-heals", "ssm", "Status of each, and number of endpoints", answer, ["Success", "Success", 1])


def test_prefix_list(run: Run, product: Product, network: Ids) -> None:
    """An entry of a customer-managed prefix list that is more specific than the endpoint's changes the verdict."""
    ec2, prefix_list = run.client("ec2"), {"PrefixListId": network["PrefixList"]}
    filters = [{"Name": "prefix-list-name", "Values": [f"com.amazonaws.{run.region}.s3express"]}]
    express = run.ask("ec2", "describe_prefix_lists", "PrefixLists[].Cidrs[]", Filters=filters)
    entry = str(next(ipaddress.ip_network(express[0]).subnets()))
    route = {"RouteTableId": network["FirstTable"], "DestinationPrefixListId": network["PrefixList"]}
    create = partial(ec2.create_route, **route, NatGatewayId=network["Nat"])
    assert error_code(create) in ("none", "RouteAlreadyExists")
    if not run.ask("ec2", "get_managed_prefix_list_entries", "Entries[].Cidr", **prefix_list):
        product.wait_for("First", HEALED)
        run.begin()
        ec2.modify_managed_prefix_list(**prefix_list, CurrentVersion=1, AddEntries=[{"Cidr": entry}])
    product.wait_for("First", "NON_COMPLIANT PARTLY_NAT")
    run.prove("prefix-list", "config", "Does the verdict follow an edit of a prefix list?", True, True)
    ec2.delete_route(**route)


def test_stop_and_start(run: Run, product: Product, network: Ids) -> None:
    """While the ledger has a stop, which the stack's role for it may write, no heal changes anything."""
    stopping, table = run.client("dynamodb", product.ids["StopRoleArn"]), product.ids["LedgerTableName"]
    stopping.put_item(TableName=table, Item={"id": {"S": "STOP"}, "reason": {"S": "acceptance"}})
    stopped = product.execute("HealDocumentName", SubnetId=network["Third"])
    stopping.delete_item(TableName=table, Key={"id": {"S": "STOP"}})
    plan = json.loads(stopped["Outputs"]["plan.Details"][0])
    run.prove("stop", "dynamodb", "Does a stop end a heal?", plan["action"], "STOPPED", plan)


def test_approvals(run: Run, product: Product, network: Ids) -> None:
    """A heal that needs an approval changes nothing if it is refused, and heals if it is given."""
    product.deploy(ApprovalTopicArn=network["Approvals"], Approvers=run.caller)
    ends = []
    for signal in ("Reject", "Approve"):
        asking = product.start("ApprovalDocumentName", signal, SubnetId=network["Third"])
        ends.append(run.answer(asking, signal)["AutomationExecutionStatus"])
    run.prove("approvals", "ssm", "Status after Reject and Approve", ends, ["Failed", "Success"])
    product.wait_for("Third", HEALED)


def test_block_public_access(run: Run, product: Product, network: Ids) -> None:
    """A closed internet gateway changes the verdict. This is a setting of the whole account."""
    if not run.is_alone:
        pytest.skip("it is a setting of the whole account and Region: set ALONE=1")
    public = network["Public"]
    run.close(network["Vpc"], is_closed=False)  # it may be closed since an interruption
    product.wait_for("Public", PUBLIC)
    run.begin()
    try:
        run.close(network["Vpc"], is_closed=True)
        # AWS Config may no longer list a result that is NOT_APPLICABLE.
        run.until("another verdict", lambda: not product.has("Public", PUBLIC))
        verdict = product.verdicts().get(public)
        states = run.ask("ec2", "describe_subnets", "Subnets[].BlockPublicAccessStates", SubnetIds=[public])
    finally:
        run.close(network["Vpc"], is_closed=False)
    seen = {"verdict": verdict, "states of the subnet": states}
    run.prove("block-public-access", "ec2", "Does the verdict follow?", True, True, seen)


def test_created_again(run: Run, product: Product, network: Ids) -> None:
    """A heal of the first stack is undone by a second one with the same ledger, whose rule finds the gateway open again."""
    ledger = run.once("ledger", lambda: product.ids["LedgerTableName"])
    query = f"Items[?routeTableId.S=='{network['ThirdTable']}' && starts_with(id.S, 'RUN#')].id.S"
    scan = partial(run.ask, "dynamodb", "scan", query, TableName=ledger)
    heal = run.once("heal by the first stack", lambda: scan()[0].removeprefix("RUN#"))
    if "LedgerTableName" not in run.state.kept["parameters"]:
        delete(run, run.stack_name)
    product.deploy(LedgerTableName=ledger)
    undo = product.execute("UndoDocumentName", "undo by the second stack", RunId=heal)
    status, asked = undo["AutomationExecutionStatus"], "Status of an undo by the second stack"
    run.prove("created-again", "ssm", asked, status, "Success", undo["Outputs"])
    product.wait_for("Third", NAT)
    product.wait_for("Public", PUBLIC)
