"""The runbooks' function in the sandbox: it plans and verifies, and changes nothing."""

import json
import os
import time
from collections.abc import Callable, Iterator
from ipaddress import IPv4Network
from typing import Any

import pytest

from express_path import healing
from express_path.adapters.heal_steps import CONTRACT
from express_path.errors import (
    ApiError,
    BlockedError,
    ClaimLostError,
    ElectionError,
    EndpointNotReadyError,
    NotCuredError,
    RecordError,
    SettingError,
    TableChangedError,
)
from express_path.handlers import plan_heal
from express_path.healing import HealServices
from sandbox.server import Sandbox
from sandbox.service_quotas import applied_quotas
from sandbox.ssm import Automation
from tests.support.ledgers import LEDGER, TIME, LedgerTable, heal_id
from tests.support.network import Builder, Private
from tests.support.rule import Context

pytestmark = pytest.mark.slow

Ask = Callable[..., dict[str, Any]]
BUCKET = "data--use1-az4--x-s3"
SOURCE_IP = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Deny",
                "Principal": "*",
                "Action": "s3express:CreateSession",
                "Resource": "*",
                "Condition": {"NotIpAddress": {"aws:SourceIp": "192.0.2.1/32"}},
            }
        ],
    }
)


@pytest.fixture
def ask(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    """Yield a function that clears the recorded calls and invokes the plan function."""
    monkeypatch.setattr(healing, "SECONDS_APART", 0)
    monkeypatch.setenv("LEDGER_TABLE_NAME", LEDGER)
    services: list[HealServices] = []

    def question(action: str, subnet_id: str = "", **more: object) -> dict[str, Any]:
        sandbox.calls.clear()
        event = {"contract": CONTRACT, "action": action, "subnetId": subnet_id, "runId": "run-2", **more}
        if not services:
            services.append(plan_heal.compose_services(os.environ, sandbox.account_id))
        return plan_heal.handler({key: value for key, value in event.items() if value}, Context(), services[0])

    yield question
    assert sandbox.calls.mutating() == []


@pytest.fixture(autouse=True)
def ledger(sandbox: Sandbox) -> LedgerTable:
    """An empty ledger."""
    return LedgerTable(sandbox)


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox) -> Iterator[None]:
    """The stack's change calendar, which is closed."""
    monkeypatch.setenv("CHANGE_CALENDAR_NAME", "changes")
    with Automation(sandbox) as automation:
        automation.knobs.closed_calendars.add("changes")
        yield


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """A private subnet to plan heals for, in a VPC without other findings."""
    private = Private(builder)
    builder.ec2.modify_vpc_attribute(VpcId=private.vpc, EnableDnsHostnames={"Value": True})
    return private


def names(answer: dict[str, Any]) -> list[str]:
    """Return the blockers of a plan."""
    return [finding["name"] for finding in answer["blockers"]]


def test_new_endpoint_is_planned(ask: Ask, vpc: Private) -> None:
    """If the VPC has no endpoint, the plan creates one, and the answer has all parameters of CreateVpcEndpoint."""
    answer = ask("plan", vpc.subnet)
    assert (answer["action"], answer["vpcId"], answer["routeTableId"], answer["endpointId"]) == (
        "CREATE_AND_ASSOCIATE",
        vpc.vpc,
        vpc.table,
        "",
    )
    assert (answer["serviceName"], answer["ipAddressType"]) == ("com.amazonaws.us-east-1.s3express", "ipv4")
    assert answer["verdict"]["reason"] == "NAT_GATEWAY"


def test_existing_endpoint_is_planned(ask: Ask, builder: Builder, vpc: Private) -> None:
    """If the VPC has the endpoint, the plan associates the table with it."""
    endpoint = builder.endpoint(vpc.vpc)
    answer = ask("plan", vpc.subnet)
    assert (answer["action"], answer["endpointId"]) == ("ASSOCIATE", endpoint)


def test_healthy_subnet_is_planned_nothing_for(ask: Ask, sandbox: Sandbox, builder: Builder, vpc: Private) -> None:
    """For a compliant subnet, the plan does nothing and does not read what only a heal needs."""
    builder.endpoint(vpc.vpc, vpc.table)
    answer = ask("plan", vpc.subnet)
    assert (answer["action"], answer["blockers"]) == ("NOTHING_TO_DO", [])
    read = {call.operation for call in sandbox.calls}
    assert not read & {"DescribeSecurityGroups", "DescribeNetworkAcls", "ListDirectoryBuckets", "DescribeVpcAttribute"}


def test_subnet_that_is_gone_is_planned_nothing_for(ask: Ask, builder: Builder, vpc: Private) -> None:
    """AWS Config can start a heal for a subnet that was deleted: there is nothing to do, and the run succeeds."""
    builder.ec2.delete_subnet(SubnetId=vpc.subnet)
    answer = ask("plan", vpc.subnet)
    assert (answer["action"], answer["verdict"]["reason"], answer["routeTableId"]) == ("NOTHING_TO_DO", "DELETED", "")


def test_subnet_that_is_gone_is_not_cured(ask: Ask, builder: Builder, vpc: Private) -> None:
    """A subnet that is deleted during a heal is not COMPLIANT, and the run says why."""
    builder.ec2.delete_subnet(SubnetId=vpc.subnet)
    with pytest.raises(NotCuredError) as raised:
        ask("verify", vpc.subnet)
    assert raised.value.subnet_id == vpc.subnet
    assert "no longer exists" in raised.value.annotation


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"contract": CONTRACT, "action": "heal", "subnetId": "subnet-1"}, "action"),
        ({"contract": CONTRACT, "action": "plan"}, "subnetId"),
        ({"contract": CONTRACT, "action": "plan", "subnetId": "subnet-1", "force": "true"}, "force"),
    ],
)
def test_wrong_question_is_refused_before_any_call(sandbox: Sandbox, event: dict[str, Any], field: str) -> None:
    """The error names the invalid field, and AWS is not called."""
    sandbox.calls.clear()
    with pytest.raises(RecordError) as raised:
        plan_heal.handler(event, Context())
    assert raised.value.field == field
    assert list(sandbox.calls) == []


@pytest.fixture
def blocked(sandbox: Sandbox, builder: Builder, monkeypatch: pytest.MonkeyPatch) -> Private:
    """A private subnet with many blockers, none of which only warns."""
    monkeypatch.setenv("WARN_ONLY", "")
    vpc = Private(builder)
    builder.ec2.modify_vpc_attribute(VpcId=vpc.vpc, EnableDnsHostnames={"Value": False})
    listed = builder.ec2.describe_prefix_lists()["PrefixLists"]
    [express] = [prefix_list for prefix_list in listed if prefix_list["PrefixListName"].endswith(".s3express")]
    builder.route(vpc.table, express["Cidrs"][0], NatGatewayId=vpc.nat)
    group = builder.ec2.create_security_group(GroupName="closed", Description="closed", VpcId=vpc.vpc)["GroupId"]
    builder.ec2.revoke_security_group_egress(
        GroupId=group, IpPermissions=[{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
    )
    builder.ec2.create_network_interface(SubnetId=vpc.subnet, Groups=[group])
    [acl] = builder.ec2.describe_network_acls(Filters=[{"Name": "vpc-id", "Values": [vpc.vpc]}])["NetworkAcls"]
    builder.ec2.create_network_acl_entry(
        NetworkAclId=acl["NetworkAclId"],
        RuleNumber=1,
        Egress=True,
        RuleAction="deny",
        Protocol="6",
        PortRange={"From": 443, "To": 443},
        CidrBlock="0.0.0.0/0",
    )
    s3 = sandbox.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    s3.put_bucket_policy(Bucket=BUCKET, Policy=SOURCE_IP)
    return vpc


BLOCKERS = ["MORE_SPECIFIC_ROUTE", "SECURITY_GROUP_EGRESS", "NETWORK_ACL", "SOURCE_IP_POLICY", "DNS_ATTRIBUTES"]


def planned(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the fields of the one log line about a plan."""
    [line] = [line for line in lines if line["message"] == "planned"]
    return {name: line[name] for name in ("status", "blockers", "subnetId", "routeTableId")}


def test_the_plan_is_logged(ask: Ask, vpc: Private, logged: Callable[[], list[dict[str, Any]]]) -> None:
    """The log has the outcome of a plan, for queries."""
    ask("plan", vpc.subnet)
    expected = {"status": "CREATE_AND_ASSOCIATE", "blockers": [], "subnetId": vpc.subnet, "routeTableId": vpc.table}
    assert planned(logged()) == expected


def test_blockers_are_logged_by_code(ask: Ask, blocked: Private, logged: Callable[[], list[dict[str, Any]]]) -> None:
    """The log has the codes of what blocks a heal, although the step fails."""
    with pytest.raises(BlockedError) as raised:
        ask("plan", blocked.subnet)
    found = planned(logged())
    assert found["blockers"] == list(raised.value.blockers) != []
    assert (found["status"], found["subnetId"], found["routeTableId"]) == ("BLOCKED", blocked.subnet, blocked.table)


@pytest.mark.usefixtures("closed")
def test_dry_run_returns_what_blocks(ask: Ask, blocked: Private) -> None:
    """A dry run succeeds with all blockers, their evidence and fixes, and the patch."""
    answer = ask("plan", blocked.subnet, dryRun="true")
    assert answer["action"] == "BLOCKED"
    assert names(answer) == [*BLOCKERS, "CHANGE_CALENDAR_CLOSED"]
    assert set(answer["patches"]) == {"cloudFormation", "terraform", "cli"}


@pytest.mark.usefixtures("closed")
def test_real_run_fails_with_everything_that_blocks(ask: Ask, blocked: Private) -> None:
    """The failed step's message has every blocker with its fix, and the patch to apply by hand."""
    with pytest.raises(BlockedError) as raised:
        ask("plan", blocked.subnet)
    message = str(raised.value)
    assert all(f"| {blocker}: " in message for blocker in [*BLOCKERS, "CHANGE_CALENDAR_CLOSED"])
    assert "aws ec2 create-vpc-endpoint" in message
    assert f'route_table_id  = "{blocked.table}"' in message


def test_warnings_block_nothing(ask: Ask, blocked: Private, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stack parameter reaches the function in its environment."""
    monkeypatch.setenv("WARN_ONLY", "SECURITY_GROUP_EGRESS,NETWORK_ACL,SOURCE_IP_POLICY,DNS_ATTRIBUTES")
    answer = ask("plan", blocked.subnet, dryRun="true")
    assert names(answer) == ["MORE_SPECIFIC_ROUTE"]
    assert [finding["name"] for finding in answer["warnings"]] == BLOCKERS[1:]


def test_quotas_are_read_only_if_a_heal_could_exceed_the_defaults(
    ask: Ask, builder: Builder, vpc: Private, sandbox: Sandbox
) -> None:
    """The account's own quota counts, and most heals do not ask for it."""
    assert ask("plan", vpc.subnet, dryRun="true")["action"] == "CREATE_AND_ASSOCIATE"
    assert not [call for call in sandbox.calls if call.service == "service-quotas"]
    for _ in range(20):
        builder.endpoint(builder.vpc())
    answer = ask("plan", vpc.subnet, dryRun="true")
    assert names(answer) == ["ENDPOINT_QUOTA"]
    assert answer["blockers"][0]["evidence"] == "the Region has 20 gateway endpoints; the quota is 20"
    applied_quotas(sandbox.account_id, sandbox.region)["L-1B52E74A"] = 40
    assert ask("plan", vpc.subnet, dryRun="true")["action"] == "CREATE_AND_ASSOCIATE"


def test_quota_that_cannot_be_read_is_the_default(ask: Ask, builder: Builder, vpc: Private, sandbox: Sandbox) -> None:
    """AWS's default can only block more, and the plan says that it is the default, and why."""
    destinations = [f"172.16.{place >> 6}.{(place & 63) * 4}/30" for place in range(500)]
    builder.many_routes(vpc.table, destinations, vpc.nat)
    applied_quotas(sandbox.account_id, sandbox.region)["L-93826ACB"] = 1000
    assert names(ask("plan", vpc.subnet, dryRun="true")) == []
    sandbox.faults.fail("service-quotas", "GetServiceQuota", "AccessDeniedException", 400)
    answer = ask("plan", vpc.subnet, dryRun="true")
    assert names(answer) == ["ROUTE_QUOTA"]
    assert answer["blockers"][0]["evidence"].endswith(
        "the quota is 500 (AWS's default, because servicequotas:GetServiceQuota failed with AccessDeniedException)"
    )


def test_stack_s_other_settings_arrive(
    ask: Ask, builder: Builder, vpc: Private, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Owner tags come from the stack's parameters."""
    monkeypatch.setenv("OWNER_TAGS", "terraform")
    builder.tag(builder.endpoint(vpc.vpc), "terraform", "yes")
    assert names(ask("plan", vpc.subnet, dryRun="true")) == ["OWNED_BY_IAC"]
    monkeypatch.setenv("ADOPT_IAC_OWNED", "true")
    assert ask("plan", vpc.subnet)["action"] == "ASSOCIATE"


def test_wrong_setting_fails_every_plan(ask: Ask, vpc: Private, monkeypatch: pytest.MonkeyPatch) -> None:
    """An invalid setting is an error; it never changes the behavior silently."""
    monkeypatch.setenv("WARN_ONLY", "ROUTE_QUOTA")
    with pytest.raises(SettingError) as raised:
        ask("plan", vpc.subnet, dryRun="true")
    assert (raised.value.name, raised.value.value) == ("WARN_ONLY", "ROUTE_QUOTA")


def test_rule_s_parameters_decide(ask: Ask, builder: Builder, vpc: Private, monkeypatch: pytest.MonkeyPatch) -> None:
    """A heal uses the rule's parameters: a subnet that the rule excludes is not healed."""
    monkeypatch.setenv("RULE_PARAMETERS", json.dumps({"excludeTag": "team=db"}))
    builder.tag(vpc.table, "team", "db")
    with pytest.raises(BlockedError, match="EXCLUDED"):
        ask("plan", vpc.subnet)


@pytest.fixture
def elected(ledger: LedgerTable, vpc: Private) -> dict[str, str]:
    """Return the fields of requests by a run that has the claim and was elected to create the endpoint."""
    expires = int(time.time()) + 600
    ledger.write(f"TABLE#{vpc.table}", state="CLAIMED", runId="run-2", expiresAt=expires)
    ledger.write(f"VPC#{vpc.vpc}", tokenRun="run-2", generation=1)
    return {"routeTableId": vpc.table}


@pytest.mark.parametrize("kind", ["String", "SecureString"])
def test_policy_comes_from_a_parameter(
    ask: Ask, sandbox: Sandbox, vpc: Private, elected: dict[str, str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The endpoint's policy is exactly the parameter's text, decrypted if it is a SecureString."""
    text = '{"Version": "2012-10-17",\n "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3express:*"}]}'
    sandbox.client("ssm").put_parameter(Name="/express/policy", Value=text, Type=kind)
    full_access = ask("elected", vpc.subnet, **elected)
    monkeypatch.setenv("ENDPOINT_POLICY_PARAMETER", "/express/policy")
    answer = ask("elected", vpc.subnet, **elected)
    assert (answer["next"], answer["policy"]) == ("CREATE", text)
    assert answer["clientToken"] != full_access["clientToken"]


def test_malformed_policy_is_refused(ask: Ask, sandbox: Sandbox, vpc: Private, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the parameter is not a policy, the plan fails before anything is created."""
    sandbox.client("ssm").put_parameter(Name="/express/policy", Value="allow everything", Type="String")
    monkeypatch.setenv("ENDPOINT_POLICY_PARAMETER", "/express/policy")
    with pytest.raises(SettingError) as raised:
        ask("plan", vpc.subnet, dryRun="true")
    assert (raised.value.name, raised.value.value) == ("ENDPOINT_POLICY_PARAMETER", "allow everything")


def test_missing_policy_is_an_error(ask: Ask, vpc: Private, monkeypatch: pytest.MonkeyPatch) -> None:
    """A parameter that does not exist is an error, and never means full access."""
    monkeypatch.setenv("ENDPOINT_POLICY_PARAMETER", "/express/none")
    with pytest.raises(ApiError) as raised:
        ask("plan", vpc.subnet)
    assert (raised.value.operation, raised.value.code) == ("ssm:GetParameter", "ParameterNotFound")


@pytest.mark.parametrize("action", ["confirm", "elected", "target"])
@pytest.mark.parametrize(
    "claim",
    [
        {},
        {"state": "CLAIMED", "runId": "run-1", "expiresAt": 10**10},
        {"state": "CLAIMED", "runId": "run-2", "expiresAt": 10},
        {"state": "HEALED", "runId": "run-2", "expiresAt": 10**10},
    ],
    ids=["none", "another run's", "expired", "given up"],
)
def test_no_change_is_planned_without_a_current_claim(
    ask: Ask,
    ledger: LedgerTable,
    vpc: Private,
    monkeypatch: pytest.MonkeyPatch,
    action: str,
    claim: dict[str, object],
) -> None:
    """The function checks the claim before each change; the error names the table and the run."""
    monkeypatch.setattr(healing, "has_ended", lambda _ssm, _run_id: True)
    ledger.write(f"TABLE#{vpc.table}", **claim)
    with pytest.raises(ClaimLostError) as raised:
        ask(action, vpc.subnet, routeTableId=vpc.table)
    assert (raised.value.route_table_id, raised.value.run_id) == (vpc.table, "run-2")


@pytest.mark.parametrize("action", ["confirm", "elected", "target"])
def test_table_that_no_longer_governs_the_subnet_is_not_changed(
    ask: Ask, builder: Builder, ledger: LedgerTable, vpc: Private, action: str
) -> None:
    """A claim is invalid if its table no longer governs the subnet."""
    other = builder.table(vpc.vpc, NatGatewayId=vpc.nat)
    ledger.write(f"TABLE#{other}", state="CLAIMED", runId="run-2", expiresAt=10**10)
    with pytest.raises(TableChangedError) as raised:
        ask(action, vpc.subnet, routeTableId=other)
    assert (raised.value.claimed, raised.value.governing) == (other, vpc.table)


def test_endpoint_is_not_created_before_somebody_is_elected(
    ask: Ask, ledger: LedgerTable, vpc: Private, elected: dict[str, str]
) -> None:
    """The step elect can fail for another reason than a lost election."""
    ledger.write(f"VPC#{vpc.vpc}", tokenRun=None)
    with pytest.raises(ElectionError, match=vpc.vpc):
        ask("elected", vpc.subnet, **elected)


def test_endpoint_that_another_tool_created_meanwhile_is_used(
    ask: Ask, builder: Builder, vpc: Private, elected: dict[str, str]
) -> None:
    """If another tool created an endpoint after the election, no second one is created."""
    builder.endpoint(vpc.vpc)
    assert ask("elected", vpc.subnet, **elected)["next"] == "ASSOCIATE"


def test_endpoint_that_the_ledger_shows_before_ec2_does_is_used(
    ask: Ask, sandbox: Sandbox, ledger: LedgerTable, vpc: Private, elected: dict[str, str]
) -> None:
    """Another run created and recorded the endpoint between this run's reads of EC2 and of the ledger."""
    with sandbox.stale_reads("ec2:DescribeVpcEndpoints") as observation:
        create = sandbox.client("ec2").create_vpc_endpoint
        endpoint = create(VpcId=vpc.vpc, ServiceName="com.amazonaws.us-east-1.s3express")["VpcEndpoint"]
        endpoint_id = endpoint["VpcEndpointId"]
        ledger.write(f"VPC#{vpc.vpc}", tokenRun="run-1", generation=1, tokenIds={endpoint_id}, createdIds={endpoint_id})
        assert ask("elected", vpc.subnet, **elected)["next"] == "ASSOCIATE"
    assert len(observation.given) == 1


def test_table_is_not_associated_with_an_endpoint_that_is_gone(ask: Ask, vpc: Private, elected: dict[str, str]) -> None:
    """The function reads the endpoint several times; then the step fails with the endpoint's state."""
    with pytest.raises(EndpointNotReadyError, match="no longer exists"):
        ask("target", vpc.subnet, **elected)


def test_table_is_not_associated_before_the_endpoint_is_available(
    ask: Ask, builder: Builder, sandbox: Sandbox, vpc: Private, elected: dict[str, str]
) -> None:
    """A route to a pending endpoint carries no traffic."""
    sandbox.ec2.knobs.pending_describes = 100
    builder.endpoint(vpc.vpc)
    with pytest.raises(EndpointNotReadyError, match="is pending"):
        ask("target", vpc.subnet, **elected)


def test_turn_of_a_run_whose_table_changed_does_not_come(ask: Ask, builder: Builder, vpc: Private) -> None:
    """A run does not claim a table that no longer governs the subnet."""
    other = builder.table(vpc.vpc, NatGatewayId=vpc.nat)
    with pytest.raises(TableChangedError):
        ask("turn", vpc.subnet, routeTableId=other, vpcId=vpc.vpc, seenRun="run-1", seenState="CLAIMED")


def test_waiting_is_not_done_in_the_function(
    ask: Ask, sandbox: Sandbox, ledger: LedgerTable, vpc: Private, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another run works on the table, the function reads only the ledger and that run, and answers at once."""

    def sleep(seconds: float) -> None:
        raise AssertionError(f"the function sleeps for {seconds} seconds")

    with Automation(sandbox):
        monkeypatch.setattr(healing, "has_ended", lambda _ssm, _run_id: False)
        monkeypatch.setattr("time.sleep", sleep)
        ledger.write(f"TABLE#{vpc.table}", state="CLAIMED", runId=heal_id(7), expiresAt=10**10)
        sandbox.calls.clear()
        answer = ask("turn", vpc.subnet, routeTableId=vpc.table, vpcId=vpc.vpc, seenRun="NONE", seenState="NONE")
    assert (answer["next"], answer["pause"]) == ("WAIT", "PT10S")
    assert [call.service for call in sandbox.calls] == ["dynamodb"]


def test_heal_in_mode_approval_needs_an_approval(
    ask: Ask, ledger: LedgerTable, vpc: Private, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs that a person starts need an approval too. A dry run needs none. confirm says that the heal uses it."""
    monkeypatch.setenv("REMEDIATION_MODE", "APPROVAL")
    with pytest.raises(BlockedError, match="APPROVAL_REQUIRED"):
        ask("plan", vpc.subnet)
    dry = ask("plan", vpc.subnet, dryRun="true")
    assert dry["action"] == "CREATE_AND_ASSOCIATE"
    approved = {"approvalState": "APPROVED", "approvalRunId": "ask-1", "approvalExpiresAt": 10**10}
    approved["approvalPlan"] = dry["fingerprint"]
    ledger.write(f"TABLE#{vpc.table}", state="CLAIMED", runId="run-2", expiresAt=10**10, **approved)
    answer = ask("confirm", vpc.subnet, routeTableId=vpc.table)
    updates = [write["request"]["UpdateExpression"] for write in answer["ledger"]]
    assert answer["next"] == "CREATE"
    assert updates[0] == "SET approvalState = :used"
    assert updates[1].startswith("SET tokenRun = :run")


READS = [
    *("DescribeSubnets", "DescribeRouteTables", "DescribeVpcEndpoints", "DescribeNetworkInterfaces"),
    *("DescribeSecurityGroups", "DescribeNetworkAcls", "DescribeVpcAttribute"),
]


@pytest.mark.parametrize(
    ("service", "operation"),
    [("ec2", operation) for operation in READS],
)
def test_what_cannot_be_read_is_not_taken_for_safe(
    ask: Ask, sandbox: Sandbox, builder: Builder, vpc: Private, service: str, operation: str
) -> None:
    """A denied read fails the plan and names the permission, because the plan would be based on partial data."""
    sandbox.client("s3").create_bucket(Bucket=BUCKET)
    interface_behind(builder, vpc)
    sandbox.faults.deny(service, operation)
    with pytest.raises(ApiError) as raised:
        ask("plan", vpc.subnet, dryRun="true")
    assert raised.value.operation == f"{service}:{operation}"


@pytest.mark.parametrize("operation", ["ListDirectoryBuckets", "GetBucketPolicy"])
def test_bucket_policy_that_cannot_be_read_is_a_finding(
    ask: Ask, sandbox: Sandbox, vpc: Private, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    """One bucket must not stop every heal in the Region: the finding blocks or warns, depending on WarnOnly."""
    sandbox.client("s3").create_bucket(Bucket=BUCKET)
    sandbox.faults.deny("s3", operation)
    [blocker] = ask("plan", vpc.subnet, dryRun="true")["blockers"]
    assert blocker["name"] == "SOURCE_IP_POLICY"
    assert "unknown" in blocker["evidence"]
    assert "WarnOnly" in blocker["cure"]
    monkeypatch.setenv("WARN_ONLY", "SOURCE_IP_POLICY")
    answer = ask("plan", vpc.subnet)
    assert (answer["blockers"], [finding["name"] for finding in answer["warnings"]]) == ([], ["SOURCE_IP_POLICY"])


def test_bucket_without_a_policy_is_fine(ask: Ask, sandbox: Sandbox, vpc: Private) -> None:
    """Most directory buckets have no policy of their own."""
    sandbox.client("s3").create_bucket(Bucket=BUCKET)
    assert ask("plan", vpc.subnet)["blockers"] == []


def interface_behind(builder: Builder, vpc: Private, *egress: dict[str, Any], of: str = "") -> str:
    """Create a network interface in the private subnet whose group has only these egress rules; return the group."""
    made = builder.ec2.create_security_group(GroupName="own", Description="own", VpcId=of or vpc.vpc)
    group_id = str(made["GroupId"])
    [group] = builder.ec2.describe_security_groups(GroupIds=[group_id])["SecurityGroups"]
    builder.ec2.revoke_security_group_egress(GroupId=group_id, IpPermissions=group["IpPermissionsEgress"])
    if egress:
        builder.ec2.authorize_security_group_egress(GroupId=group_id, IpPermissions=list(egress))
    builder.ec2.create_network_interface(SubnetId=vpc.subnet, Groups=[group_id])
    return group_id


def https_to(list_id: str) -> dict[str, Any]:
    """Return a rule that allows TCP 443 to a prefix list."""
    return {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "PrefixListIds": [{"PrefixListId": list_id}]}


def test_group_that_lets_out_to_a_customers_list_is_read(ask: Ask, builder: Builder, vpc: Private) -> None:
    """A prefix list that contains the service's blocks counts like the blocks; another one blocks the heal."""
    interface_behind(builder, vpc, https_to(builder.prefix_list("0.0.0.0/1", "128.0.0.0/1")))
    assert names(ask("plan", vpc.subnet)) == []
    closed = Private(builder)
    builder.ec2.modify_vpc_attribute(VpcId=closed.vpc, EnableDnsHostnames={"Value": True})
    interface_behind(builder, closed, https_to(builder.prefix_list("10.0.0.0/8")))
    assert names(ask("plan", closed.subnet, dryRun="true")) == ["SECURITY_GROUP_EGRESS"]


@pytest.mark.parametrize("code", ["UnauthorizedOperation", "InvalidPrefixListID.NotFound"])
def test_list_of_a_group_that_cannot_be_read_is_said_to_be_unknown(
    ask: Ask, sandbox: Sandbox, builder: Builder, vpc: Private, code: str
) -> None:
    """The plan is blocked, and the finding names the list that could not be read."""
    list_id = builder.prefix_list("0.0.0.0/0")
    interface_behind(builder, vpc, https_to(list_id))
    sandbox.faults.fail("ec2", "GetManagedPrefixListEntries", code, 400)
    [blocker] = ask("plan", vpc.subnet, dryRun="true")["blockers"]
    assert blocker["name"] == "SECURITY_GROUP_EGRESS"
    assert "is unknown" in blocker["evidence"]
    assert list_id in blocker["evidence"]


def test_list_that_is_throttled_fails_the_plan(
    ask: Ask, sandbox: Sandbox, builder: Builder, vpc: Private, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A throttled read is not reported as unreadable."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    interface_behind(builder, vpc, https_to(builder.prefix_list("0.0.0.0/0")))
    sandbox.faults.throttle("ec2", "GetManagedPrefixListEntries")
    with pytest.raises(ApiError) as raised:
        ask("plan", vpc.subnet, dryRun="true")
    assert raised.value.operation == "ec2:GetManagedPrefixListEntries"


def test_group_of_another_vpc_is_read(ask: Ask, builder: Builder, vpc: Private) -> None:
    """An interface can use a group that another VPC shares with its VPC, so groups are read by their ids.

    https://docs.aws.amazon.com/vpc/latest/userguide/security-group-assoc.html
    """
    anywhere = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
    interface_behind(builder, vpc, anywhere, of=builder.vpc("10.9.0.0/16"))
    assert names(ask("plan", vpc.subnet)) == []


def test_verified_subnet_is_told(ask: Ask, builder: Builder, vpc: Private) -> None:
    """The rule's engine says COMPLIANT, and the answer has the path."""
    endpoint = builder.endpoint(vpc.vpc, vpc.table)
    answer = ask("verify", vpc.subnet)
    assert (answer["compliance"], answer["reason"]) == ("COMPLIANT", "ENDPOINT")
    assert [hop["id"] for hop in answer["path"]] == [endpoint]


def test_subnet_that_is_not_cured_is_an_error(ask: Ask, sandbox: Sandbox, vpc: Private) -> None:
    """After several reads, the run fails with the remaining verdict."""
    with pytest.raises(NotCuredError) as raised:
        ask("verify", vpc.subnet)
    assert (raised.value.subnet_id, raised.value.annotation[:11]) == (vpc.subnet, "NAT_GATEWAY")
    assert len(sandbox.calls.of("ec2", "DescribeRouteTables")) == healing.ATTEMPTS


def test_routes_may_take_a_moment(ask: Ask, sandbox: Sandbox, builder: Builder, vpc: Private) -> None:
    """If the endpoint becomes available during the verification, it is read again."""
    builder.endpoint(vpc.vpc, vpc.table)
    sandbox.ec2.knobs.pending_describes = 3
    answer = ask("verify", vpc.subnet)
    assert answer["compliance"] == "COMPLIANT"
    assert 1 < len(sandbox.calls.of("ec2", "DescribeRouteTables")) < healing.ATTEMPTS


def test_verified_heal_says_how_to_undo_it(ask: Ask, vpc: Private, builder: Builder, ledger: LedgerTable) -> None:
    """The answer has the undo for the command and the runbook, with the id of the run that made the association.

    If the ledger does not confirm that this run made it, the answer says so.
    """
    builder.endpoint(vpc.vpc, vpc.table)
    assert "nothing to undo" in ask("verify", vpc.subnet)["undo"]
    ledger.write(f"TABLE#{vpc.table}", healRunId="run-1")
    run = {"kind": "HEAL", "startedBy": "PERSON", "intendedAt": TIME}
    ledger.write("RUN#run-1", **run)
    assert ask("verify", vpc.subnet)["undo"].startswith("unconfirmed: run run-1 started to associate")
    ledger.write("RUN#run-1", associatedAt=TIME)
    answer = ask("verify", vpc.subnet)
    assert "express-path undo run-1" in answer["undo"]
    assert "RemoveS3ExpressGatewayEndpoint with RunId=run-1" in answer["undo"]
    [write] = answer["ledger"]
    assert write["request"]["Key"] == {"id": {"S": f"TABLE#{vpc.table}"}}


def test_answer_is_small_however_large_the_network(ask: Ask, builder: Builder, vpc: Private, sandbox: Sandbox) -> None:
    """The answer is below 200 KB, the limit of a step's output, with 1,000 routes and 200 subnets."""
    applied_quotas(sandbox.account_id, sandbox.region)["L-93826ACB"] = 2000
    destinations = [f"172.16.{place >> 6}.{(place & 63) * 4}/30" for place in range(1000)]
    builder.many_routes(vpc.table, destinations, vpc.nat)
    for subnet_id in builder.many_subnets(vpc.vpc, 200):
        builder.memory.associate_route_table(vpc.table, None, subnet_id)
    answer = ask("plan", vpc.subnet)
    assert answer["action"] == "CREATE_AND_ASSOCIATE"
    assert len(json.dumps(answer)) < 200_000
    [table] = builder.ec2.describe_route_tables(RouteTableIds=[vpc.table])["RouteTables"]
    assert (len(table["Routes"]), len(table["Associations"])) == (1002, 201)


def test_answer_is_small_however_many_routes_are_in_the_way(ask: Ask, builder: Builder, vpc: Private) -> None:
    """The answer is below 30 KB, however many routes take precedence and however many security groups block."""
    [express] = [
        prefix_list["Cidrs"]
        for prefix_list in builder.ec2.describe_prefix_lists()["PrefixLists"]
        if prefix_list["PrefixListName"].endswith(".s3express")
    ]
    everywhere = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
    addresses = [address for block in express for address in IPv4Network(block)]
    for place in range(12):
        builder.memory.create_route(vpc.table, f"{addresses[place]}/32", nat_gateway_id=vpc.nat)
        group = builder.ec2.create_security_group(GroupName=f"g{place}", Description="x", VpcId=vpc.vpc)["GroupId"]
        builder.ec2.revoke_security_group_egress(GroupId=group, IpPermissions=everywhere)
        builder.ec2.create_network_interface(SubnetId=vpc.subnet, Groups=[group])
    answer = ask("plan", vpc.subnet, dryRun="true")
    assert names(answer) == ["MORE_SPECIFIC_ROUTE"] * 11 + ["SECURITY_GROUP_EGRESS"] * 11
    assert len(json.dumps(answer)) < 30_000
