"""If AWS denies or fails a call, the function retries, then raises, and never evaluates an incomplete network."""

from collections.abc import Callable
from typing import Any

import pytest

from express_path.errors import ApiError
from sandbox.server import Sandbox
from tests.support.network import Builder, Private
from tests.support.rule import Rule

ATTEMPTS = 6
REQUIRED = ["DescribeSubnets", "DescribeRouteTables", "DescribeVpcs", "DescribeVpcEndpoints", "DescribePrefixLists"]
BUCKETS = {"scope": "DIRECTORY_BUCKETS"}
Logged = Callable[[], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let botocore retry without waiting."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """A private and a public subnet."""
    return Private(builder)


def failure(rule: Rule, of: Private | None = None) -> ApiError:
    """Invoke the function and return its error; check that it reported nothing."""
    rule.sandbox.calls.clear()
    with pytest.raises(ApiError) as raised:
        evaluator(rule, of) if of else rule.sweep()
    assert rule.sandbox.calls.of("config", "PutEvaluations") == []
    assert rule.held() == {}
    return raised.value


def evaluator(rule: Rule, vpc: Private) -> dict[str, str]:
    """Invoke the function for the private subnet's route table."""
    return rule.tell(
        {
            "awsAccountId": "123456789012",
            "configurationItemCaptureTime": rule.now,
            "configurationItemStatus": "OK",
            "resourceType": "AWS::EC2::RouteTable",
            "resourceId": vpc.table,
            "configuration": {"vpcId": vpc.vpc},
        }
    )


@pytest.mark.parametrize("operation", REQUIRED)
def test_throttling_that_passes_is_retried(rule: Rule, vpc: Private, operation: str) -> None:
    """A throttled read is retried, and the verdict is correct."""
    rule.sandbox.faults.throttle("ec2", operation, times=3)
    assert evaluator(rule, vpc) == {vpc.subnet: "NAT_GATEWAY"}
    assert [call.error for call in rule.sandbox.calls.of("ec2", operation)] == ["RequestLimitExceeded"] * 3 + [None]


def test_throttled_reports_are_retried(rule: Rule, vpc: Private) -> None:
    """A throttled report is retried."""
    rule.sandbox.faults.throttle("config", "PutEvaluations", times=2)
    evaluator(rule, vpc)
    assert rule.held()[vpc.subnet].reason == "NAT_GATEWAY"


@pytest.mark.parametrize(
    ("code", "status"), [("InternalError", 500), ("Unavailable", 503), ("ServiceUnavailable", 503)]
)
def test_errors_of_awss_own_are_retried(rule: Rule, vpc: Private, code: str, status: int) -> None:
    """Internal errors of AWS are retried."""
    rule.sandbox.faults.fail("ec2", "DescribeRouteTables", code, status, times=2)
    assert evaluator(rule, vpc) == {vpc.subnet: "NAT_GATEWAY"}


@pytest.mark.parametrize("operation", REQUIRED)
def test_lasting_throttling_fails_the_invocation(rule: Rule, vpc: Private, operation: str) -> None:
    """If throttling outlasts the retries, the error has the operation and AWS's code, and the old verdict stays."""
    rule.sandbox.faults.throttle("ec2", operation)
    error = failure(rule, vpc)
    assert (error.operation, error.code) == (f"ec2:{operation}", "RequestLimitExceeded")
    assert len(rule.sandbox.calls.of("ec2", operation)) == ATTEMPTS


@pytest.mark.parametrize("operation", REQUIRED)
def test_denied_reads_of_a_vpc_fail_the_invocation(rule: Rule, vpc: Private, operation: str) -> None:
    """If a required read is denied, the error is raised at once."""
    rule.sandbox.faults.deny("ec2", operation)
    error = failure(rule, vpc)
    assert (error.operation, error.code) == (f"ec2:{operation}", "UnauthorizedOperation")
    assert "You are not authorized" in error.message
    assert len(rule.sandbox.calls.of("ec2", operation)) == 1


@pytest.mark.parametrize("operation", [*REQUIRED, "DescribeNatGateways"])
@pytest.mark.usefixtures("vpc")
def test_denied_reads_of_a_sweep_fail_the_invocation(rule: Rule, operation: str) -> None:
    """A sweep must not treat resources that it cannot read as deleted."""
    rule.sandbox.faults.deny("ec2", operation)
    assert failure(rule).operation == f"ec2:{operation}"


@pytest.mark.usefixtures("vpc")
def test_sweep_without_the_stored_results_fails(rule: Rule) -> None:
    """If the stored results cannot be read, nothing is reported."""
    rule.sandbox.faults.deny("config", "GetComplianceDetailsByConfigRule")
    error = failure(rule)
    assert (error.operation, error.code) == ("config:GetComplianceDetailsByConfigRule", "AccessDeniedException")
    assert rule.sandbox.calls.of("ec2") == []


def test_denied_report_fails_the_invocation(rule: Rule, vpc: Private) -> None:
    """If a report is denied, the error is raised."""
    rule.sandbox.faults.deny("config", "PutEvaluations")
    with pytest.raises(ApiError) as raised:
        evaluator(rule, vpc)
    assert raised.value.operation == "config:PutEvaluations"


@pytest.mark.parametrize(
    ("operation", "page", "fault"),
    [
        ("DescribeSubnets", 1000, "deny"),
        ("DescribeRouteTables", 100, "deny"),
        ("DescribeRouteTables", 100, "throttle"),
    ],
)
def test_later_pages_that_fail_fail_the_invocation(
    rule: Rule, builder: Builder, operation: str, page: int, fault: str
) -> None:
    """If the second page of a list fails, the first page alone is not used."""
    crowded = builder.vpc()
    if operation == "DescribeSubnets":
        builder.many_subnets(crowded, page)
    else:
        builder.many_tables(crowded, page)
    refuse = getattr(rule.sandbox.faults, fault)
    rule.sandbox.faults.before("ec2", operation, lambda: refuse("ec2", operation))
    assert failure(rule).operation == f"ec2:{operation}"
    first, second, *_ = rule.sandbox.calls.of("ec2", operation)
    assert (first.error, "NextToken" in first.parameters) == (None, False)
    assert (second.error is not None, "NextToken" in second.parameters) == (True, True)


def test_failed_events_are_tried_thrice_and_kept(rule: Rule, builder: Builder, vpc: Private) -> None:
    """Lambda retries a failed event twice and then keeps it; AWS Config still shows the old verdict."""
    rule.sweep()
    builder.endpoint(vpc.vpc, vpc.table)
    rule.sandbox.faults.deny("ec2", "DescribeSubnets")
    delivery = rule.loop.scheduled()
    assert (delivery.attempts, len(rule.loop.on_failure)) == (3, 1)
    assert rule.held()[vpc.subnet].reason == "NAT_GATEWAY"
    rule.sandbox.faults.clear()
    assert rule.sweep() == {vpc.subnet: "ENDPOINT"}


def test_unreachable_endpoint_fails_the_invocation(rule: Rule, vpc: Private, monkeypatch: pytest.MonkeyPatch) -> None:
    """If EC2 cannot be reached, the error names the operation and the host."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", "http://127.0.0.1:1")
    error = failure(rule, vpc)
    assert (error.operation, error.code) == ("ec2:DescribeSubnets", "EndpointConnectionError")
    assert "127.0.0.1:1" in error.message


# --- optional reads --------------------------------------------------------------------------------------------------


def test_denied_directory_buckets_count_as_some(sandbox: Sandbox, vpc: Private, logged: Logged) -> None:
    """If directory buckets cannot be listed, the subnet is still evaluated, and a warning names the read."""
    rule = Rule(sandbox, BUCKETS)
    sandbox.faults.deny("s3", "ListDirectoryBuckets")
    assert evaluator(rule, vpc) == {vpc.subnet: "NAT_GATEWAY"}
    [warning] = [line for line in logged() if line["level"] == "WARNING"]
    assert "s3:ListDirectoryBuckets" in str(warning)


def test_denied_list_of_shared_subnets_counts_as_all(sandbox: Sandbox, vpc: Private, logged: Logged) -> None:
    """If shared subnets cannot be listed, every subnet may be shared, and a warning names the read."""
    rule = Rule(sandbox, BUCKETS)
    sandbox.faults.deny("ram", "ListResources")
    assert evaluator(rule, vpc) == {vpc.subnet: "NAT_GATEWAY"}
    [warning] = [line for line in logged() if line["level"] == "WARNING"]
    assert "ram:ListResources" in str(warning)


def test_directory_buckets_that_can_be_listed_warn_of_nothing(sandbox: Sandbox, vpc: Private, logged: Logged) -> None:
    """With the permission there is no warning, with or without buckets."""
    rule = Rule(sandbox, BUCKETS)
    assert evaluator(rule, vpc) == {vpc.subnet: "NO_DIRECTORY_BUCKETS"}
    directory_bucket(sandbox)
    assert evaluator(rule, vpc) == {vpc.subnet: "NAT_GATEWAY"}
    assert {line["level"] for line in logged()} == {"INFO"}


def test_other_failures_of_the_directory_buckets_fail_the_invocation(sandbox: Sandbox, vpc: Private) -> None:
    """Any error except a denial is raised."""
    rule = Rule(sandbox, BUCKETS)
    sandbox.faults.throttle("s3", "ListDirectoryBuckets")
    assert failure(rule, vpc).code == "SlowDown"


def test_entries_of_a_prefix_list_that_may_not_be_read_are_unresolved(
    rule: Rule, builder: Builder, vpc: Private
) -> None:
    """A customer-managed list whose entries are denied may match any address: UNRESOLVED_EGRESS or worse."""
    builder.endpoint(vpc.vpc, vpc.table)
    list_id = builder.prefix_list("198.18.0.0/15")
    builder.route(vpc.table, list_id, NatGatewayId=vpc.nat)
    rule.sandbox.faults.deny("ec2", "GetManagedPrefixListEntries")
    assert evaluator(rule, vpc) == {vpc.subnet: "UNRESOLVED_EGRESS"}
    assert rule.held()[vpc.subnet].compliance == "NOT_APPLICABLE"
    assert list_id in rule.held()[vpc.subnet].annotation


def test_prefix_lists_that_fail_otherwise_fail_the_invocation(rule: Rule, builder: Builder, vpc: Private) -> None:
    """Throttled entries are not treated as unreadable."""
    builder.route(vpc.table, builder.prefix_list("198.18.0.0/15"), NatGatewayId=vpc.nat)
    rule.sandbox.faults.throttle("ec2", "GetManagedPrefixListEntries")
    assert failure(rule, vpc).operation == "ec2:GetManagedPrefixListEntries"


def test_history_that_may_not_be_read_fails_the_invocation(rule: Rule, builder: Builder, vpc: Private) -> None:
    """If the item of an oversized notification cannot be read, the error is raised."""
    rule.take_as_known()
    rule.loop.oversized_above = 0
    builder.tag(vpc.table, "Name", "private")
    rule.sandbox.faults.deny("config", "GetResourceConfigHistory")
    with pytest.raises(ApiError, match="config:GetResourceConfigHistory failed with AccessDenied"):
        rule.changes(of=vpc.table)
    assert rule.held() == {}


def directory_bucket(sandbox: Sandbox) -> None:
    """Make a directory bucket."""
    sandbox.client("s3").create_bucket(
        Bucket="data--use1-az4--x-s3",
        CreateBucketConfiguration={
            "Location": {"Type": "AvailabilityZone", "Name": "use1-az4"},
            "Bucket": {"Type": "Directory", "DataRedundancy": "SingleAvailabilityZone"},
        },
    )
