"""express-path org check: every defect in an organization is found where it is, and nothing else."""

import json
from typing import Any

import pytest
from typer.testing import Result

from config_rule_sandbox.config.recorder_settings import recording_of
from config_rule_sandbox.server import Sandbox
from tests.cli.org.deployed import DeployedOrganization
from tests.cli.org.organizations import NOT_OFFERED, REGIONS, ROLE, TYPES, Organization, put_recorder
from tests.support.command import invoke
from tests.support.config_aggregator import Aggregator, answering

PREFIX = "example-artifacts"
KEY = "0123456789abcdef.zip"
HOME, NORTH = REGIONS
TWO_REGIONS = ("--region", HOME, "--region", NORTH)


def check(*options: str) -> Result:
    """Run the check with the role that reads each account."""
    return invoke(["org", "check", "--role-name", ROLE, *options])


def document(result: Result) -> dict[str, Any]:
    """Return the JSON that a check printed."""
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def reasons(result: Result) -> dict[tuple[str, str], list[str]]:
    """Return the reasons by account name and Region, of those that have some."""
    return {
        (place["accountName"], place["region"]): [problem["reason"] for problem in place["problems"]]
        for place in document(result)["places"]
        if place["problems"]
    }


def finding(result: Result, name: str, region: str, reason: str) -> str:
    """Return the finding of one problem."""
    [text] = [
        problem["finding"]
        for place in document(result)["places"]
        for problem in place["problems"]
        if (place["accountName"], place["region"], problem["reason"]) == (name, region, reason)
    ]
    return str(text)


@pytest.fixture
def organization(sandbox: Sandbox) -> Organization:
    """Return an organization with one account that is ready in both Regions, and the artifact buckets."""
    made = Organization(sandbox)
    made.add("ready")
    made.record("ready")
    s3 = sandbox.client("s3")
    s3.create_bucket(Bucket=f"{PREFIX}-{HOME}")
    s3.create_bucket(Bucket=f"{PREFIX}-{NORTH}", CreateBucketConfiguration={"LocationConstraint": NORTH})
    for region in REGIONS:
        sandbox.client("s3", region).put_object(Bucket=f"{PREFIX}-{region}", Key=KEY, Body=b"")
    return made


def test_whether_anybody_would_learn_of_a_fault_is_checked(organization: Organization) -> None:
    """An alarm for another topic, a filter that drops every alarm, and a closed endpoint are found where they are."""
    topic = (
        organization.put_stack("ready").replace(organization.accounts["ready"], "{account}").replace(HOME, "{region}")
    )
    what = ("--region", HOME, "--format", "json", "--alarm-topic-arn", topic)
    assert reasons(check(*what)) == {}
    organization.put_alarm("ready", "check", "Errors", "arn:aws:sns:us-east-1:123456789012:elsewhere")
    sns = organization.aws("ready", "sns")
    [row] = sns.list_subscriptions()["Subscriptions"]
    changed = {"AttributeName": "FilterPolicy", "AttributeValue": json.dumps({"team": ["network"]})}
    sns.set_subscription_attributes(SubscriptionArn=row["SubscriptionArn"], **changed)
    closed = json.dumps(
        {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}]}
    )
    organization.aws("ready", "ssm").put_parameter(Name="/policy", Value=closed, Type="String")
    result = check(*what, "--endpoint-policy-parameter", "/policy")
    assert (reasons(result), result.exit_code) == (
        {("ready", HOME): ["TOPIC_SILENT", "ALARM_ELSEWHERE", "ENDPOINT_CLOSED"]},
        0,
    )
    assert "check-Errors (HealthAlarm) does not send" in finding(result, "ready", HOME, "ALARM_ELSEWHERE")
    assert "parameter /policy allows no s3express:CreateSession" in finding(result, "ready", HOME, "ENDPOINT_CLOSED")


def test_each_recorder_is_judged(sandbox: Sandbox, organization: Organization) -> None:
    """A recorder that is missing, of another service, stopped, failing, daily, or partial has its own reason."""
    names = ("missing", "internal", "stopped", "failing", "daily", "partial")
    for name in names:
        organization.add(name)
    organization.record("missing", [NORTH])
    organization.record("internal", [NORTH])
    recording_of(organization.accounts["internal"], HOME).service_linked.append("AWSConfigurationRecorderForObserve")
    for name in names[2:]:
        organization.record(name)
    organization.aws("stopped", "config").stop_configuration_recorder(ConfigurationRecorderName="default")
    put_recorder(organization.aws("stopped", "config", NORTH))
    organization.aws("stopped", "config", NORTH).stop_configuration_recorder(ConfigurationRecorderName="default")
    organization.aws("stopped", "config", NORTH).delete_delivery_channel(DeliveryChannelName="default")
    recording_of(organization.accounts["failing"], HOME).failure = ("AccessDenied", "the role cannot read")
    put_recorder(organization.aws("daily", "config"), frequency="DAILY")
    put_recorder(organization.aws("partial", "config"), {"allSupported": False, "resourceTypes": TYPES[2:]})
    sandbox.calls.clear()
    result = check(*TWO_REGIONS, "--format", "json")
    assert reasons(result) == {
        ("missing", HOME): ["RECORDER_MISSING"],
        ("internal", HOME): ["RECORDER_INTERNAL"],
        ("stopped", HOME): ["RECORDER_STOPPED"],
        ("stopped", NORTH): ["RECORDER_STOPPED"],
        ("failing", HOME): ["RECORDER_FAILING"],
        ("daily", HOME): ["RECORDER_DAILY"],
        ("partial", HOME): ["RECORDER_TYPES"],
    }
    assert "AWSConfigurationRecorderForObserve" in finding(result, "internal", HOME, "RECORDER_INTERNAL")
    assert "no delivery channel" not in finding(result, "stopped", HOME, "RECORDER_STOPPED")
    assert "no delivery channel" in finding(result, "stopped", NORTH, "RECORDER_STOPPED")
    assert "AWS::EC2::NatGateway" in finding(result, "partial", HOME, "RECORDER_TYPES")
    states = {(place["accountName"], place["region"]): place["state"] for place in document(result)["places"]}
    assert len(states) == 14
    assert {state for (name, _), state in states.items() if name == "ready"} == {"READY"}
    assert (states["daily", HOME], states["missing", HOME], states["missing", NORTH]) == ("LIMITED", "BLOCKED", "READY")
    assert (result.exit_code, document(result)["exitStatus"], document(result)["failures"]) == (1, 1, [])
    assert sandbox.calls.mutating() == []


def test_the_management_account_is_not_covered(sandbox: Sandbox, organization: Organization) -> None:
    """StackSets do not deploy to it: it is named, and not checked. With only ready accounts, the status is 0."""
    result = check("--artifact-bucket-prefix", PREFIX, "--artifact-key", KEY)
    assert (result.exit_code, "1 READY" in result.stdout) == (0, True)
    assert f"Not covered: account {sandbox.account_id}" in result.stdout
    found = document(check("--format", "json"))
    assert found["managementAccountId"] == sandbox.account_id
    assert [place["accountId"] for place in found["places"]] == [organization.accounts["ready"]]


@pytest.mark.usefixtures("organization")
def test_artifact_buckets_are_read_from_each_account(sandbox: Sandbox) -> None:
    """A bucket that is missing or in another Region, and a missing object, are named."""
    options = ("--artifact-bucket-prefix", PREFIX, "--format", "json", *TWO_REGIONS)
    assert reasons(check(*options, "--artifact-key", KEY)) == {}
    assert reasons(check(*options, "--artifact-key", KEY, "--artifact-account", sandbox.account_id)) == {}
    result = check(*options, "--artifact-key", KEY, "--artifact-account", "111122223333")
    assert reasons(result) == {("ready", region): ["BUCKET_UNREADABLE"] for region in REGIONS}
    assert "not one of account 111122223333 (--artifact-account)" in finding(result, "ready", HOME, "BUCKET_UNREADABLE")
    result = check(*options, "--artifact-key", "other.zip")
    assert reasons(result) == {("ready", region): ["BUCKET_MISSING"] for region in REGIONS}
    assert f"{PREFIX}-{HOME} has no object other.zip" in finding(result, "ready", HOME, "BUCKET_MISSING")
    sandbox.client("s3", NORTH).delete_object(Bucket=f"{PREFIX}-{NORTH}", Key=KEY)
    sandbox.client("s3", NORTH).delete_bucket(Bucket=f"{PREFIX}-{NORTH}")
    result = check(*options)
    assert reasons(result) == {("ready", NORTH): ["BUCKET_MISSING"]}
    assert f"{PREFIX}-{NORTH} does not exist" in finding(result, "ready", NORTH, "BUCKET_MISSING")
    sandbox.client("s3").create_bucket(Bucket=f"{PREFIX}-{NORTH}")
    assert f"{PREFIX}-{NORTH} is in {HOME}" in finding(check(*options), "ready", NORTH, "BUCKET_MISSING")


@pytest.mark.usefixtures("organization")
def test_buckets_that_only_let_objects_be_read_are_fine(sandbox: Sandbox) -> None:
    """An account that may not list a bucket can read the code; if the object is denied, the bucket is unreadable."""
    options = ("--artifact-bucket-prefix", PREFIX, "--format", "json", *TWO_REGIONS)
    sandbox.faults.deny("s3", "HeadBucket")
    for more in ((), ("--artifact-key", KEY)):
        result = check(*options, *more)
        assert (reasons(result), result.exit_code) == ({}, 0)
    sandbox.faults.deny("s3", "HeadObject")
    result = check(*options, "--artifact-key", KEY)
    assert reasons(result) == {("ready", region): ["BUCKET_UNREADABLE"] for region in REGIONS}
    sandbox.faults.clear()
    for operation in ("HeadBucket", "HeadObject"):
        sandbox.faults.fail("s3", operation, "BadRequest", 400)
        result = check(*options, "--artifact-key", KEY)
        assert (result.exit_code, f"s3:{operation} failed with 400" in result.stderr) == (2, True)
        sandbox.faults.clear()


def test_names_are_taken_unless_the_stack_set_took_them(
    organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule or runbook of a stack, or of nobody, is in the way; that of a stack instance is not. Rules are limited."""
    for name in ("single", "by-hand", "deployed", "full"):
        organization.add(name)
        organization.record(name)
    content = {"schemaVersion": "0.3", "mainSteps": [{"name": "wait", "action": "aws:sleep", "inputs": {}}]}
    runbook = {
        "Name": "AddS3ExpressGatewayEndpoint",
        "Content": content,
        "DocumentType": "Automation",
        "DocumentFormat": "JSON",
    }
    template = {"Resources": {"Heal": {"Type": "AWS::SSM::Document", "Properties": runbook}}}
    for name, stack in (("single", "express-path"), ("deployed", "StackSet-express-path-data-0a1b2c3d")):
        organization.aws(name, "cloudformation").create_stack(StackName=stack, TemplateBody=json.dumps(template))
    put_rule(organization.aws("by-hand", "config"), "s3express-no-nat-path")
    for name in ("first", "second"):
        put_rule(organization.aws("full", "config"), name)
    monkeypatch.setattr("express_path_cli.org.check.MAX_RULES", 2)
    result = check("--format", "json")
    assert reasons(result) == {
        ("single", HOME): ["NAME_TAKEN"],
        ("by-hand", HOME): ["NAME_TAKEN"],
        ("full", HOME): ["RULE_QUOTA"],
    }
    assert finding(result, "single", HOME, "NAME_TAKEN").endswith(
        "SSM document AddS3ExpressGatewayEndpoint is used by stack express-path"
    )
    assert "no CloudFormation stack created" in finding(result, "by-hand", HOME, "NAME_TAKEN")


def put_rule(config: Any, name: str) -> None:
    """Create a rule."""
    config.put_config_rule(
        ConfigRule={
            "ConfigRuleName": name,
            "Source": {"Owner": "AWS", "SourceIdentifier": "S3_BUCKET_VERSIONING_ENABLED"},
        }
    )


def test_regions_are_offered_and_enabled(sandbox: Sandbox, organization: Organization) -> None:
    """A Region without S3 Express is LIMITED, and left out with --all-regions; a disabled one is not called."""
    organization.record("ready", [NOT_OFFERED])
    sandbox.calls.clear()
    result = check("--region", NOT_OFFERED, "--region", "me-nowhere-1", "--format", "json")
    found = {("ready", NOT_OFFERED): ["SERVICE_NOT_OFFERED"], ("ready", "me-nowhere-1"): ["REGION_DISABLED"]}
    assert (reasons(result), result.exit_code) == (found, 1)
    assert {call.region for call in sandbox.calls} == {NOT_OFFERED}
    everywhere = {place["region"] for place in document(check("--all-regions", "--format", "json"))["places"]}
    assert set(REGIONS) < everywhere
    assert NOT_OFFERED not in everywhere


def test_the_network_role_must_trust_each_account(sandbox: Sandbox, organization: Organization) -> None:
    """The trust policy is read once, and evaluated for each account's roles. What is not understood is a failure."""
    arn = organization.network_role(
        "ready",
        {
            "StringEquals": {"aws:PrincipalOrgID": organization.id, "sts:ExternalId": "secret"},
            "ArnLike": {"aws:PrincipalArn": "arn:aws:iam::*:role/express-path/*"},
        },
    )
    named = ("--network-role-arn", arn, "--format", "json")
    sandbox.calls.clear()
    result = check(*named, "--network-external-id", "secret", *TWO_REGIONS)
    assert (reasons(result), result.exit_code) == ({}, 0)
    assert len(sandbox.calls.of("iam")) == 1
    result = check(*named, *TWO_REGIONS)
    assert reasons(result) == {("ready", region): ["NETWORK_ROLE_UNTRUSTED"] for region in REGIONS}
    assert result.exit_code == 1
    assert "without an external ID" in finding(result, "ready", HOME, "NETWORK_ROLE_UNTRUSTED")
    organization.set_trust("ready", {"IpAddress": {"aws:SourceIp": "192.0.2.0/24"}})
    result = check(*named)
    assert (reasons(result), result.exit_code) == ({}, 2)
    assert f"network role {arn}: the trust policy" in result.stderr
    sandbox.faults.deny("iam", "GetRole")
    result = check(*named)
    assert (reasons(result), result.exit_code) == ({}, 2)
    assert "iam:GetRole" in result.stderr
    sandbox.faults.clear()
    nobody = arn.replace("express-path-network", "nobody")
    result = check("--network-role-arn", nobody, "--format", "json")
    assert "does not exist" in finding(result, "ready", HOME, "NETWORK_ROLE_UNTRUSTED")


def test_only_the_accounts_of_the_units_are_checked(organization: Organization) -> None:
    """--ou selects a unit with those inside it. Units that overlap are refused, as their StackSets would collide."""
    outer = organization.unit("workloads")
    inner = organization.unit("production", outer)
    organization.add("outer", outer)
    organization.add("inner", inner)
    organization.add("elsewhere", organization.unit("sandbox"))
    found = document(check("--ou", outer, "--format", "json"))
    assert {place["accountName"] for place in found["places"]} == {"outer", "inner"}
    assert found["managementAccountId"] is None
    result = check("--ou", inner, "--ou", outer)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"--ou {inner} is inside {outer}" in result.stderr
    empty = check("--ou", organization.unit("empty"))
    assert (empty.exit_code, empty.stdout) == (2, "")
    assert "no active account" in empty.stderr


def test_what_cannot_be_read_is_named_and_the_rest_reported(sandbox: Sandbox, organization: Organization) -> None:
    """An account without the role and a denied call are named with a hint, and never count as READY; status 2."""
    closed = organization.add("closed")
    organization.add("missing")
    sandbox.faults.deny("sts", "AssumeRole", RoleArn=f"arn:aws:iam::{closed}:role/{ROLE}")
    result = check("--format", "json")
    assert result.exit_code == 2
    assert reasons(result) == {("missing", HOME): ["RECORDER_MISSING"]}
    assert f"account {closed} (closed): sts:AssumeRole failed" in result.stderr
    assert "closed" not in {place["accountName"] for place in document(result)["places"]}
    sandbox.faults.clear()
    sandbox.faults.deny("ssm", "ListDocuments")
    result = check("--format", "json")
    assert result.exit_code == 2
    states = {place["accountName"]: place["state"] for place in document(result)["places"]}
    assert states == {"closed": "BLOCKED", "missing": "BLOCKED", "ready": "UNKNOWN"}
    assert f"account {organization.accounts['ready']} (ready) {HOME}: ssm:ListDocuments failed" in result.stderr
    assert [failure["where"] for failure in document(result)["failures"]] == sorted(
        f"account {account_id} ({name}) {HOME}" for name, account_id in organization.accounts.items()
    )


@pytest.mark.usefixtures("sandbox")
def test_an_account_outside_an_organization_is_one_line() -> None:
    """The hint says whose credentials the command needs."""
    result = check()
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert "not in an organization (use --profile" in line


def test_policies_of_the_organization_that_would_deny_are_named(sandbox: Sandbox, organization: Organization) -> None:
    """They do not block a roll-out, because nothing is healed by then. One that cannot be read is a note."""
    del organization
    organizations: Any = sandbox.client("organizations")
    condition = {"NotIpAddress": {"aws:SourceIp": "203.0.113.0/24"}}
    statement = {"Sid": "Office", "Effect": "Deny", "Action": "*", "Resource": "*", "Condition": condition}
    organizations.create_policy(
        Content=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
        Description="-",
        Name="Perimeter",
        Type="SERVICE_CONTROL_POLICY",
    )
    sandbox.faults.deny("organizations", "ListPolicies", Filter="RESOURCE_CONTROL_POLICY")
    found = check("--format", "json")
    denied = [row for row in document(found)["policies"] if row["outcome"] == "WOULD_DENY"]
    assert [(row["statement"], row["condition"]) for row in denied] == [
        ("Office", "NotIpAddress aws:SourceIp 203.0.113.0/24")
    ]
    assert denied[0]["source"].startswith("service control policy Perimeter (p-")
    assert "each resource control policy: organizations:ListPolicies failed with AccessDenied" in found.stderr
    shown = check()
    assert shown.exit_code == found.exit_code == 0
    assert "Perimeter" in shown.stdout


def test_excluded_accounts_that_have_the_rule_are_named(sandbox: Sandbox) -> None:
    """Automatic deployment ignores exclusions. It limits nothing else, so such an account is not blocked."""
    aggregator = Aggregator(sandbox)
    with answering(aggregator):
        deployed = DeployedOrganization(sandbox, aggregator)
    deployed.exclude("web")
    result = check(*TWO_REGIONS, "--format", "json")
    named = {place for place, found in reasons(result).items() if "EXCLUDED_HAS_RULE" in found}
    assert named == {("web", HOME), ("web", NORTH)}
    assert "an account that joins the OU gets the rule" in result.stderr
