"""What people do: a customer prefix list, a stop and a start, and approvals that are given and refused."""

import ipaddress
import time
from functools import partial

from acceptance.facts import Facts
from acceptance.network import Network, express
from acceptance.place import Place
from acceptance.stack import Stack
from acceptance.story.acts import Acts


def test_prefix_list(place: Place, acts: Acts, network: Network, facts: Facts) -> None:
    """An entry of a customer-managed prefix list that is more specific than the endpoint's changes the verdict."""
    ec2 = place.client("ec2")
    filters = [{"Name": "prefix-list-name", "Values": [express(place)]}]
    [express_list] = ec2.describe_prefix_lists(Filters=filters)["PrefixLists"]
    entry = str(next(ipaddress.ip_network(express_list["Cidrs"][0]).subnets()))
    tags = place.tagged("prefix-list")
    made = ec2.create_managed_prefix_list(
        PrefixListName=place.stack_name, MaxEntries=2, AddressFamily="IPv4", TagSpecifications=tags
    )["PrefixList"]
    target = {"RouteTableId": network.first.table, "NatGatewayId": network.nat_gateway}
    ec2.create_route(DestinationPrefixListId=made["PrefixListId"], **target)
    acts.wait_for(network.first.subnet, "COMPLIANT", "ENDPOINT")
    version = {"PrefixListId": made["PrefixListId"], "CurrentVersion": made["Version"]}
    start = time.monotonic()
    ec2.modify_managed_prefix_list(**version, AddEntries=[{"Cidr": entry}])
    annotation = acts.wait_for(network.first.subnet, "NON_COMPLIANT", "PARTLY_NAT")
    seconds = round(time.monotonic() - start, 1)
    facts.add(
        "prefix-list",
        "config",
        "Does an edit of a prefix list lead to a verdict?",
        annotation.split(":")[0],
        True,
        seconds,
    )
    ec2.delete_route(RouteTableId=network.first.table, DestinationPrefixListId=made["PrefixListId"])
    acts.wait_for(network.first.subnet, "COMPLIANT", "ENDPOINT")


def test_stop_and_start(place: Place, acts: Acts, stack: Stack, network: Network, facts: Facts) -> None:
    """While the ledger has a stop, which the stack's role for it may write, no heal changes anything."""
    session = place.client("sts").assume_role(RoleArn=stack.outputs["StopRoleArn"], RoleSessionName=place.run)
    keys = {"access_key_id": "AccessKeyId", "secret_access_key": "SecretAccessKey", "session_token": "SessionToken"}
    credentials = {f"aws_{name}": session["Credentials"][key] for name, key in keys.items()}
    stopping = place.client("dynamodb", **credentials)
    key = {"TableName": stack.outputs["LedgerTableName"]}
    stopping.put_item(**key, Item={"id": {"S": "STOP"}, "reason": {"S": "acceptance"}})
    stopped = acts.run("HealDocumentName", SubnetId=network.third.subnet)
    stopping.delete_item(**key, Key={"id": {"S": "STOP"}})
    message = stopped["Outputs"]["plan.Summary"][0]
    facts.keep("stopped-heal", message)
    is_stopped = "STOPPED" in message
    facts.add("stop", "dynamodb", "Does a stop end a heal?", is_stopped, is_stopped)
    assert is_stopped, message
    assert "vpce" not in acts.route_targets(network.third.table)


def test_approvals(place: Place, acts: Acts, stack: Stack, network: Network, facts: Facts) -> None:
    """A heal that needs an approval changes nothing if it is refused, and heals if it is given."""
    topic = place.client("sns").create_topic(Name=f"Automation-{place.run}")["TopicArn"]
    approver = place.client("sts").get_caller_identity()["Arn"]
    stack.deploy(ApprovalTopicArn=topic, Approvers=approver)
    ends = []
    for answer in ("Reject", "Approve"):
        run = acts.start("ApprovalDocumentName", SubnetId=network.third.subnet)
        place.until("a request", partial(_waits, acts, run))
        place.client("ssm").send_automation_signal(AutomationExecutionId=run, SignalType=answer)
        ends.append(acts.end(run)["AutomationExecutionStatus"])
        facts.keep(f"approval-{answer}", acts.execution(run).get("FailureMessage", ""))
    facts.add("approvals", "ssm", "How do runs end after Reject and Approve?", ends, ends == ["Failed", "Success"])
    assert ends == ["Failed", "Success"]
    acts.wait_for(network.third.subnet, "COMPLIANT", "ENDPOINT")


def _waits(acts: Acts, execution_id: str) -> bool:
    return bool(acts.execution(execution_id)["AutomationExecutionStatus"] == "Waiting")
