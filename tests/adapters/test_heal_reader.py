"""What heals and undos read beyond the snapshot: the evidence of a pre-flight, quotas, and the state of runs."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.service_quotas.quotas import applied_quotas
from express_path.adapters.aws import Aws
from express_path.adapters.heal_reader import ENDED, evidence_for, failed_steps, has_ended, shown_input, shown_inputs
from express_path.adapters.network_reader import SnapshotReader
from express_path.domain.heal.failures import StepFailure
from express_path.domain.heal.preflight import (
    ENDPOINT_QUOTA,
    ROUTE_QUOTA,
    EgressRule,
    Evidence,
    Policy,
    PortRange,
    Quota,
)
from express_path.domain.network.addresses import parse_cidr
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator
from express_path.domain.verdict.parameters import RuleParameters
from express_path.errors import ApiError
from tests.support.network import Builder, Private

RUN = "00000000-0000-0000-0000-000000000001"
BUCKET = "data--use1-az4--x-s3"
ANYWHERE = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
Read = Callable[..., Evidence]


@pytest.fixture
def read(aws: Aws, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Return a function that reads the evidence for the heal of a private subnet, perhaps without a read of EC2."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)

    def evidence(vpc: Private, denied: str = "") -> Evidence:
        snapshot = SnapshotReader(aws).read(sandbox.account_id, vpc.vpc, RuleParameters())
        evaluator = Evaluator(Tracer(snapshot), RuleParameters())
        if denied:
            sandbox.faults.deny("ec2", denied)
        sandbox.calls.clear()
        verdict = evaluator.verdict(vpc.subnet)
        return evidence_for(aws, evaluator, verdict, evaluator.snapshot.route_tables[vpc.table], calendar_open=True)

    return evidence


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """Return a private subnet behind a NAT gateway."""
    return Private(builder)


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


def test_security_groups_and_their_prefix_lists(read: Read, builder: Builder, vpc: Private) -> None:
    """Each interface of the table's subnets counts, with the rules of its groups and the blocks of their lists."""
    list_id = builder.prefix_list("0.0.0.0/1", "128.0.0.0/1")
    group = interface_behind(builder, vpc, https_to(list_id), {**ANYWHERE, "IpProtocol": "-1"})
    builder.ec2.create_network_interface(SubnetId=vpc.public_subnet)
    found = read(vpc)
    assert found.group_sets == {frozenset({group})}
    to_list = EgressRule(PortRange(443, 443), (), (list_id,))
    assert set(found.egress_rules[group]) == {to_list, EgressRule(PortRange(0, 65535), (parse_cidr("0.0.0.0/0"),))}
    assert found.prefix_lists[list_id] == (parse_cidr("0.0.0.0/1"), parse_cidr("128.0.0.0/1"))


def test_group_of_another_vpc_is_read(read: Read, builder: Builder, vpc: Private) -> None:
    """An interface can use a group that another VPC shares with its VPC, so groups are read by their ids.

    https://docs.aws.amazon.com/vpc/latest/userguide/security-group-assoc.html
    """
    group = interface_behind(builder, vpc, ANYWHERE, of=builder.vpc())
    assert list(read(vpc).egress_rules) == [group]


@pytest.mark.parametrize("code", ["UnauthorizedOperation", "InvalidPrefixListID.NotFound"])
def test_list_that_cannot_be_read_is_unknown(
    read: Read, sandbox: Sandbox, builder: Builder, vpc: Private, code: str
) -> None:
    """It may let everything out or nothing."""
    list_id = builder.prefix_list("0.0.0.0/0")
    interface_behind(builder, vpc, https_to(list_id))
    sandbox.faults.fail("ec2", "GetManagedPrefixListEntries", code, 400)
    assert read(vpc).prefix_lists[list_id] is None


def test_list_that_is_throttled_is_an_error(read: Read, sandbox: Sandbox, builder: Builder, vpc: Private) -> None:
    """A throttled read is not reported as unreadable."""
    interface_behind(builder, vpc, https_to(builder.prefix_list("0.0.0.0/0")))
    sandbox.faults.throttle("ec2", "GetManagedPrefixListEntries")
    with pytest.raises(ApiError, match="ec2:GetManagedPrefixListEntries"):
        read(vpc)


def test_network_acl_and_dns_attributes(read: Read, builder: Builder, vpc: Private) -> None:
    """The network ACL of the table's subnets, entry by entry, and both DNS attributes of the VPC."""
    of_vpc = [{"Name": "vpc-id", "Values": [vpc.vpc]}]
    [acl] = builder.ec2.describe_network_acls(Filters=of_vpc)["NetworkAcls"]
    entry = {"RuleNumber": 1, "Egress": True, "RuleAction": "deny", "Protocol": "6", "CidrBlock": "10.0.0.0/8"}
    builder.ec2.create_network_acl_entry(NetworkAclId=acl["NetworkAclId"], PortRange={"From": 443, "To": 443}, **entry)
    builder.ec2.modify_vpc_attribute(VpcId=vpc.vpc, EnableDnsHostnames={"Value": True})
    found = read(vpc)
    [shown] = found.network_acls
    first = min(shown.entries, key=lambda found: (found.number, not found.egress))
    assert (shown.id, first.number, first.egress, first.allow) == (acl["NetworkAclId"], 1, True, False)
    assert (first.ports, first.cidr) == (PortRange(443, 443), parse_cidr("10.0.0.0/8"))
    assert (found.dns_support, found.dns_hostnames) == (True, True)
    builder.ec2.modify_vpc_attribute(VpcId=vpc.vpc, EnableDnsHostnames={"Value": False})
    assert (read(vpc).dns_support, read(vpc).dns_hostnames) == (True, False)


@pytest.fixture
def bucket(sandbox: Sandbox) -> Any:
    """Return an S3 client with a directory bucket."""
    s3 = sandbox.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    return s3


def test_policies_of_the_endpoint_and_of_buckets(read: Read, builder: Builder, vpc: Private, bucket: Any) -> None:
    """Those of S3 Express endpoints in the VPC count; a directory bucket may have no policy of its own."""
    text = json.dumps({"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}]})
    endpoint = builder.endpoint(vpc.vpc, PolicyDocument=text)
    builder.endpoint(vpc.vpc, service="s3")
    of_endpoint = Policy(endpoint, text, endpoint_id=endpoint)
    assert read(vpc).policies == (of_endpoint,)
    bucket.put_bucket_policy(Bucket=BUCKET, Policy=text)
    assert read(vpc).policies == (of_endpoint, Policy(BUCKET, text))


@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize(
    ("operation", "holder"), [("ListDirectoryBuckets", "each directory bucket"), ("GetBucketPolicy", BUCKET)]
)
def test_bucket_policy_that_cannot_be_read_says_why(
    read: Read, sandbox: Sandbox, vpc: Private, operation: str, holder: str
) -> None:
    """One bucket must not stop every heal in the Region."""
    sandbox.faults.deny("s3", operation)
    [policy] = read(vpc).policies
    assert (policy.holder, policy.document, bool(policy.fault)) == (holder, "", True)


READS = ["DescribeVpcEndpoints", "DescribeNetworkInterfaces", "DescribeSecurityGroups", "DescribeNetworkAcls"]


@pytest.mark.parametrize("operation", [*READS, "DescribeVpcAttribute"])
def test_what_cannot_be_read_is_not_taken_for_safe(read: Read, builder: Builder, vpc: Private, operation: str) -> None:
    """A denied read names the permission, because the plan would be based on partial data."""
    interface_behind(builder, vpc)
    with pytest.raises(ApiError) as raised:
        read(vpc, denied=operation)
    assert raised.value.operation == f"ec2:{operation}"


def test_quotas_are_read_only_if_a_heal_could_exceed_the_defaults(
    read: Read, builder: Builder, vpc: Private, sandbox: Sandbox
) -> None:
    """The account's own quota counts, and most heals do not ask for it."""
    assert read(vpc).endpoint_quota == ENDPOINT_QUOTA
    assert not [call for call in sandbox.calls if call.service == "service-quotas"]
    for _ in range(20):
        builder.endpoint(builder.vpc())
    assert (read(vpc).gateway_endpoints, read(vpc).endpoint_quota) == (20, ENDPOINT_QUOTA)
    assert sandbox.calls.operations("service-quotas") == ["GetServiceQuota"]
    applied_quotas(sandbox.account_id, sandbox.region)[ENDPOINT_QUOTA.code] = 40
    assert read(vpc).endpoint_quota == Quota(ENDPOINT_QUOTA.code, 40)
    sandbox.faults.fail("service-quotas", "GetServiceQuota", "NoSuchResourceException", 400)
    assert read(vpc).endpoint_quota == ENDPOINT_QUOTA
    assert sandbox.calls.operations("service-quotas") == ["GetServiceQuota", "GetAWSDefaultServiceQuota"]


def test_quota_that_cannot_be_read_is_the_default(read: Read, builder: Builder, vpc: Private, sandbox: Sandbox) -> None:
    """AWS's default can only block more, and the quota says why it is the default."""
    builder.many_routes(vpc.table, [f"172.16.{place >> 6}.{(place & 63) * 4}/30" for place in range(500)], vpc.nat)
    applied_quotas(sandbox.account_id, sandbox.region)[ROUTE_QUOTA.code] = 1000
    assert read(vpc).route_quota == replace(ROUTE_QUOTA, value=1000)
    sandbox.faults.fail("service-quotas", "GetServiceQuota", "AccessDeniedException", 400)
    fault = "servicequotas:GetServiceQuota failed with AccessDeniedException"
    assert read(vpc).route_quota == replace(ROUTE_QUOTA, fault=fault)


# --- runs ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def ssm() -> Any:
    """Return a client of Systems Manager for canned answers."""
    return boto3.client("ssm", region_name="us-east-1", aws_access_key_id="-", aws_secret_access_key="-")


@pytest.mark.parametrize("status", ["Pending", "InProgress", "Waiting", "Cancelling", *sorted(ENDED)])
def test_run_has_ended_by_its_status(ssm: Any, status: str) -> None:
    """A run that may still change something keeps its claims. One that is no longer listed has ended."""
    with Stubber(ssm) as stub:
        stub.add_response("get_automation_execution", {"AutomationExecution": {"AutomationExecutionStatus": status}})
        stub.add_client_error("get_automation_execution", "AutomationExecutionNotFoundException")
        stub.add_client_error("get_automation_execution", "AccessDeniedException")
        assert has_ended(ssm, RUN) is (status not in ("Pending", "InProgress", "Waiting", "Cancelling"))
        assert has_ended(ssm, RUN)
        with pytest.raises(ApiError, match="AccessDeniedException"):
            has_ended(ssm, RUN)


def ended(name: str, second: int, status: str = "Failed") -> dict[str, Any]:
    """Return a step that ended."""
    time = datetime(2026, 11, 22, 12, 0, second, tzinfo=UTC)
    return {"StepName": name, "StepStatus": status, "ExecutionEndTime": time, "FailureMessage": f"{name} failed"}


def test_failed_steps_after_a_long_loop_are_read_too(ssm: Any) -> None:
    """An execution contains only the first steps of a run that waited in vain."""
    first = {"StepExecutions": [ended("seeTurn", 1, "Success")], "StepExecutionsTruncated": True}
    failed = {"Key": "StepExecutionStatus", "Values": ["Failed", "TimedOut"]}
    asked = {"AutomationExecutionId": RUN, "Filters": [failed]}
    with Stubber(ssm) as stub:
        stub.add_response("get_automation_execution", {"AutomationExecution": first}, {"AutomationExecutionId": RUN})
        later = {"StepExecutions": [ended("recordFailed", 3)], "NextToken": "2"}
        stub.add_response("describe_automation_step_executions", later, asked)
        last = {"StepExecutions": [ended("confirmPlan", 2, "TimedOut")]}
        stub.add_response("describe_automation_step_executions", last, {**asked, "NextToken": "2"})
        found = failed_steps(ssm, RUN)
    assert found == [StepFailure(name, "", "", f"{name} failed") for name in ("confirmPlan", "recordFailed")]


@pytest.mark.parametrize("shown", ["Approve?\nPlan: 1", '"Approve?\nPlan: 1"', r'"Approve?\nPlan: 1"'])
def test_message_of_an_approval_step_in_each_form(shown: str) -> None:
    """AWS does not say whether inputs of steps are shown as they are, in quotation marks, or as JSON."""
    assert shown_input(shown).split("\n") == ["Approve?", "Plan: 1"]


@pytest.mark.parametrize("shown", ['["ann", "bob"]', "[ann, bob]", "ann,bob", r'"[\"ann\",\"bob\"]"'])
def test_approvers_of_an_approval_step_in_each_form(shown: str) -> None:
    """The same for a list."""
    assert shown_inputs(shown) == {"ann", "bob"}
