"""The policy of the troubleshooting document has exactly the permissions needed."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.config.results import Result, results_of
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.iam.policies import as_list
from config_rule_sandbox.iam.requests import enforced
from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import Hub, Spoke, attach_to_core_network, connect_over
from config_rule_sandbox.networks.public_sides import BehindFirewall
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.service_quotas.quotas import applied_quotas
from config_rule_sandbox.ssm import Automation
from express_path.adapters import unhealed
from express_path_cli.automation import starts
from express_path_cli.doctor.permissions import OPTIONAL, REQUIRED
from tests.cli.doctor.whole_stack import WholeStack, topic_with_subscription
from tests.cli.heal.healing_stack import deployed, make_stack, remove_stack
from tests.support.command import invoke
from tests.support.config_aggregator import Aggregator, answering
from tests.support.documented import TEXT, documented
from tests.support.heals import RULE, Vpc, configure_remediation
from tests.support.network import Builder, Private
from tests.support.stack import POLICY as ENDPOINT_POLICY
from tests.support.stack import POLICY_PARAMETER

DIRECTORY = {
    "Location": {"Type": "AvailabilityZone", "Name": "use1-az4"},
    "Bucket": {"Type": "Directory", "DataRedundancy": "SingleAvailabilityZone"},
}
IAM_NAMES = {
    "s3:ListDirectoryBuckets": "s3express:ListAllMyDirectoryBuckets",
    "s3:GetBucketPolicy": "s3express:GetBucketPolicy",
    "s3control:GetAccessPointPolicy": "s3express:GetAccessPointPolicy",
    "s3control:ListAccessPointsForDirectoryBuckets": "s3express:ListAccessPointsForDirectoryBuckets",
}
"""Actions that are not named as their operations
(https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3express.html)."""


def actions(sid: str) -> set[str]:
    """Return the actions of a statement of the policy."""
    [statement] = documented(sid)
    return set(as_list(statement["Action"]))


def test_statement_for_scans_has_the_tested_reads() -> None:
    """The statement for scans has exactly the reads that doctor tests, and the lists that two of them need first."""
    lists = {"network-firewall:ListFirewalls", "network-firewall:ListVpcEndpointAssociations"}
    assert actions("ReadNetwork") == {read.action for read in (*REQUIRED, *OPTIONAL)} | lists


def called(sandbox: Sandbox) -> set[str]:
    """Return the IAM actions of the calls so far, without GetCallerIdentity, which needs no permission."""
    made = {f"{call.service.replace('service-quotas', 'servicequotas')}:{call.operation}" for call in sandbox.calls}
    return {IAM_NAMES.get(operation, operation) for operation in made} - {"sts:GetCallerIdentity"}


def test_the_policy_is_enough_and_not_more(sandbox: Sandbox, builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    """With only this policy, no check is UNKNOWN, and every action that it allows is used. A subnet waits for its heal."""
    monkeypatch.setattr(unhealed, "QUIET", timedelta())
    private = Private(builder)
    gateway = builder.ec2.create_transit_gateway()["TransitGateway"]["TransitGatewayId"]
    attachment = {"TransitGatewayId": gateway, "VpcId": private.vpc, "SubnetIds": [private.subnet]}
    builder.ec2.create_transit_gateway_vpc_attachment(**attachment)
    account = Account(sandbox)
    hub = Hub(account)
    hub.decide_by_policy(Spoke(account, hub.gateway, ("a",)).attachment)
    firewall = BehindFirewall(account)
    account.endpoint_of_firewall(account.firewall_arn(firewall.appliance_subnet), private.vpc, private.subnet)
    applied_quotas(sandbox.account_id, sandbox.region)["L-1B52E74A"] = None
    with Automation(sandbox) as automation, Remediation(sandbox, automation):
        automation.knobs.open_calendars.add("freeze")
        topic = topic_with_subscription(sandbox, "AutomationApprovals")
        sandbox.client("ssm").put_parameter(Name=POLICY_PARAMETER, Value=ENDPOINT_POLICY, Type="String")
        settings = {"RemediationMode": "APPROVAL", "Approvers": "ann", "ApprovalTopicArn": topic}
        settings |= {"EndpointPolicyParameter": POLICY_PARAMETER}
        assert WholeStack(sandbox, ChangeCalendarName="freeze", **settings).rule
        credentials = somebody(sandbox)
        sandbox.calls.clear()
        for name, value in credentials.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("AWS_SESSION_TOKEN")
        with enforced(sandbox):
            checks = json.loads(invoke(["doctor", "--format", "json"]).stdout)["checks"]
    [waiting] = [check for check in checks if check["state"] != "OK"]
    assert waiting["name"] == "waiting"
    assert private.subnet in waiting["finding"]
    assert waiting["command"] == "express-path start"
    assert called(sandbox) | {"cloudformation:ListStacks"} == actions("ReadNetwork") | actions("CheckUp")


def test_explain_needs_only_two_statements(sandbox: Sandbox, builder: Builder) -> None:
    """Two statements of the policy are exactly what explain needs."""
    subnet = Private(builder).subnet
    builder.ec2.create_network_interface(SubnetId=subnet)
    bucket: Client = sandbox.client("s3")
    bucket.create_bucket(Bucket="data--use1-az4--x-s3", CreateBucketConfiguration=DIRECTORY)
    sandbox.client("s3control").create_access_point(
        AccountId=sandbox.account_id, Name="data--use1-az4--xa-s3", Bucket="data--use1-az4--x-s3"
    )
    sandbox.calls.clear()
    assert invoke(["explain", subnet]).exit_code == 0
    assert called(sandbox) - actions("ReadNetwork") == actions("Explain")


@pytest.mark.parametrize("command", [["collect", "dump"], ["scan"]], ids=["collect", "scan"])
def test_hubs_need_a_statement_of_their_own(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """It shows which tables lead to a VPC: those of its transit gateway, with tunnels, and its attachments to core networks."""
    account = Account(sandbox)
    hub = Hub(account)
    connect_over(account, hub.attachment)
    hub.join(account)
    network_arn, _ = attach_to_core_network(account, hub.vpc, hub.public)
    account.route(hub.public_table, "172.16.0.0/12", CoreNetworkArn=network_arn)
    monkeypatch.chdir(tmp_path)
    sandbox.calls.clear()
    assert invoke(command).exit_code in (0, 1)
    assert called(sandbox) - actions("ReadNetwork") == actions("Collect")


def test_all_regions_and_accounts_need_their_own_statement(sandbox: Sandbox) -> None:
    """The statement for --all-regions and organizations has exactly the actions that they need."""
    sandbox.client("organizations").create_organization(FeatureSet="ALL")
    sandbox.client("organizations").create_account(AccountName="data", Email="data@example.com")
    sandbox.calls.clear()
    assert invoke(["scan", "--all-regions", "--organization", "--role-name", "Audit"]).exit_code == 0
    assert called(sandbox) - actions("ReadNetwork") == actions("Places") | actions("PlacesRole")


def test_an_aggregator_needs_one_statement(sandbox: Sandbox, builder: Builder) -> None:
    """A scan of an aggregator needs only that statement, with or without IPv6 subnets."""
    private = Private(builder)
    builder.dual_stack(private.vpc, private.subnet)
    aggregator = Aggregator(sandbox)
    aggregator.copy()
    sandbox.calls.clear()
    with answering(aggregator):
        assert invoke(["scan", "--aggregator", aggregator.name]).exit_code == 1
    assert called(sandbox) == actions("Aggregator")


@pytest.fixture
def flagged(sandbox: Sandbox, vpc: Vpc, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield a subnet that waits for its heal in mode ON, where every permission is required and a user has the policy."""
    monkeypatch.setattr(unhealed, "QUIET", timedelta())
    with deployed(sandbox, monkeypatch) as made, Remediation(sandbox, made.automation):
        remove_stack(sandbox, "express-path")
        make_stack(sandbox, made, mode="ON")
        configure_remediation(sandbox.client("config"), made.given)
        result = Result(RULE, ("AWS::EC2::Subnet", vpc.subnet), "NON_COMPLIANT", 0, 0, 0, "-")
        results_of(sandbox.account_id, sandbox.region).store(result)
        credentials = somebody(sandbox)
        for name, value in credentials.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("AWS_SESSION_TOKEN")
        sandbox.calls.clear()
        yield vpc.subnet


def test_list_of_heals_needs_five_statements(sandbox: Sandbox, flagged: str) -> None:
    """The heals command reads the stack's outputs, the ledger, and which subnets wait for a heal."""
    with enforced(sandbox):
        result = invoke(["heals"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"for a day: 1 of them, {flagged} (to start their heals: express-path start --region " in result.stdout
    sids = ("ReadStacks", "ListHeals", "ListRuns", "SeeWhatWaits", "SeeExceptionsAndRouteTables")
    assert called(sandbox) == {"cloudformation:DescribeStacks"} | set().union(*map(actions, sids)) - {
        "config:DescribeRemediationConfigurations"
    }


def test_start_needs_these_statements(sandbox: Sandbox, flagged: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS Config starts the heal with the permissions of the person, who passes it the role of its remediation."""
    monkeypatch.setattr(starts, "POLL_SECONDS", 0.01)
    iam: Client = sandbox.client("iam")
    trusted = {
        "Effect": "Allow",
        "Principal": {"AWS": f"arn:aws:iam::{sandbox.account_id}:root"},
        "Action": "sts:AssumeRole",
    }
    trust = json.dumps({"Statement": [trusted]})
    iam.create_role(RoleName="stop", Path="/express-path/automation/", AssumeRolePolicyDocument=trust)
    everything = json.dumps(
        {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    )
    iam.put_role_policy(RoleName="stop", PolicyName="stop", PolicyDocument=everything)
    with enforced(sandbox):
        result = invoke(["start", "--yes", "--format", "json"])
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["places"][0]["startedHeals"] == [flagged]
    sids = ("ReadStacks", "StopAndStart", "ListHeals", "CheckRole", "CompareRunbooks", "StartHeals")
    needed = set().union(*map(actions, (*sids, "SeeWhatWaits", "SeeExceptionsAndRouteTables")))
    assert {call for call in called(sandbox) if not call.startswith("sts:")} | {"sts:AssumeRole"} >= needed


def somebody(sandbox: Sandbox) -> dict[str, str]:
    """Return the environment of a user who has the policy."""
    iam: Client = sandbox.client("iam")
    iam.create_user(UserName="oncall")
    iam.put_user_policy(UserName="oncall", PolicyName="doctor", PolicyDocument=TEXT)
    key = iam.create_access_key(UserName="oncall")["AccessKey"]
    return {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}
