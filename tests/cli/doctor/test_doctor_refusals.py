"""express-path doctor on one healthy deployment, which no test here changes, and where AWS refuses calls."""

import json
from collections.abc import Iterator

import pytest

from express_path_cli.doctor.checkup import QUESTIONS
from sandbox.config_service.rules import statuses_of
from sandbox.server import Sandbox
from sandbox.service_quotas import applied_quotas
from tests.cli.doctor.checks import bad, examine, text
from tests.cli.doctor.whole_stack import RULE, healthy_stack
from tests.support.command import invoke

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def healthy(running_sandbox: Sandbox) -> Iterator[Sandbox]:
    """Yield the sandbox with a healthy deployment, healing off."""
    with healthy_stack(running_sandbox):
        yield running_sandbox


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let retries happen without waiting."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)


@pytest.fixture
def sandbox(healthy: Sandbox) -> Sandbox:
    """Return the sandbox with the deployment, where no call fails yet."""
    healthy.faults.clear()
    healthy.calls.clear()
    return healthy


@pytest.mark.usefixtures("sandbox")
def test_a_healthy_deployment_is_ok() -> None:
    """Every check is OK and the status is 0, also if healing is off."""
    checks, status = examine()
    assert bad(checks) == {}
    assert status == 0
    assert "healing is off" in checks["mode"]["finding"]
    assert "last ran 0 minutes ago" in checks["last-run"]["finding"]
    asked = {question.name for question in QUESTIONS}
    assert asked - checks.keys() == {"network-role", "calendar", "approval"}


def test_doctor_only_reads(sandbox: Sandbox) -> None:
    """The checks make no call that changes anything, and read shared facts only once."""
    examine()
    assert sandbox.calls.mutating() == []
    once = ["DescribeConfigRules", "DescribeConfigurationRecorders", "DescribeRemediationConfigurations"]
    assert [len(sandbox.calls.of("config", operation)) for operation in once] == [1, 1, 1]


def test_without_times_from_config_the_invocations_count(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS Config may have no status for a custom rule; then the function's invocations count."""
    monkeypatch.setattr(statuses_of(sandbox.account_id, sandbox.region), "silent", {RULE})
    checks, status = examine()
    assert bad(checks) == {}
    assert status == 0
    assert "last-error" not in checks
    assert sandbox.calls.of("cloudwatch", "GetMetricData")


def test_a_quota_without_applied_value_is_the_default(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """If Service Quotas has no applied value, AWS's default counts."""
    monkeypatch.setitem(applied_quotas(sandbox.account_id, sandbox.region), "L-1B52E74A", None)
    assert examine()[0]["endpoint-quota"]["finding"].startswith("0 of 20")


STARTS_DENIED = {
    "config:DescribeConfigRules": ("config", "DescribeConfigRules", "rule"),
    "cloudformation:DescribeStacks": ("cloudformation", "DescribeStacks", "stack"),
}
"""Reads that other checks start from, so these cannot name their own permission."""
DENIED = {
    "ec2:DescribeRouteTables": ("ec2", "DescribeRouteTables", "ec2:DescribeRouteTables"),
    "config:DescribeConfigurationRecorders": ("config", "DescribeConfigurationRecorders", "recorded-types"),
    "config:DescribeConfigRuleEvaluationStatus": ("config", "DescribeConfigRuleEvaluationStatus", "last-run"),
    "lambda:GetFunctionConfiguration": ("lambda", "GetFunctionConfiguration", "function"),
    "iam:GetRole": ("iam", "GetRole", "role"),
    "ssm:DescribeDocument": ("ssm", "DescribeDocument", "heal-runbook"),
}
OPTIONAL = {
    "ec2:DescribeNetworkInterfaces": ("ec2", "DescribeNetworkInterfaces", "ec2:DescribeNetworkInterfaces"),
    "ec2:GetManagedPrefixListEntries": ("ec2", "GetManagedPrefixListEntries", "ec2:GetManagedPrefixListEntries"),
    "s3express:ListAllMyDirectoryBuckets": ("s3", "ListDirectoryBuckets", "s3express:ListAllMyDirectoryBuckets"),
    "ram:ListResources": ("ram", "ListResources", "ram:ListResources"),
    "servicequotas:GetServiceQuota": ("service-quotas", "GetServiceQuota", "endpoint-quota"),
    "sqs:GetQueueAttributes": ("sqs", "GetQueueAttributes", "failed-events"),
    "cloudwatch:GetMetricData": ("cloudwatch", "GetMetricData", "errors"),
}


@pytest.mark.parametrize("denied", [STARTS_DENIED, DENIED, OPTIONAL], ids=["starts", "required", "optional"])
def test_a_missing_permission_is_named(sandbox: Sandbox, denied: dict[str, tuple[str, str, str]]) -> None:
    """A denied check is UNKNOWN and names the permission; the status is 2 only if the check is required."""
    for service, operation, _ in denied.values():
        sandbox.faults.deny(service, operation)
    checks, status = examine()
    for action, (_, _, name) in denied.items():
        found = checks[name]
        assert (found["state"], f"allow {action}" in found["fix"]) == ("UNKNOWN", True), found
        assert found["required"] is (denied is not OPTIONAL), found
    assert status == (0 if denied is OPTIONAL else 2)
    assert checks["identity"]["state"] == checks["service"]["state"] == "OK"


def test_throttling_is_named_and_other_checks_run(sandbox: Sandbox) -> None:
    """Checks of a throttled service are UNKNOWN with the error code; other services' checks are unaffected."""
    sandbox.faults.throttle("config", "*")
    checks, status = examine()
    assert status == 2
    assert {name for name, state in bad(checks).items() if state == "UNKNOWN"} >= {"recorder", "rule", "frequency"}
    assert "ThrottlingException" in checks["recorder"]["finding"]
    assert checks["recorder"]["fix"].startswith("try again")
    assert checks["ec2:DescribeSubnets"]["state"] == checks["stack"]["state"] == "OK"


def test_a_disabled_region_is_not_a_missing_permission(sandbox: Sandbox) -> None:
    """EC2's AuthFailure concerns credentials and Regions, so the fix must not suggest an IAM change."""
    sandbox.faults.fail("ec2", "*", "AuthFailure", 401)
    checks, status = examine()
    assert status == 2
    for name in ("service", "ec2:DescribeSubnets", "ec2:DescribeNetworkInterfaces"):
        assert "AuthFailure" in checks[name]["finding"]
        assert "check that the Region is enabled" in checks[name]["fix"]
        assert "allow" not in checks[name]["fix"]


def test_expired_credentials_are_named(sandbox: Sandbox) -> None:
    """With expired credentials, every check is UNKNOWN, and the fix is to sign in again."""
    for service in ("sts", "ec2", "config", "cloudformation", "ram", "s3", "service-quotas", "network-firewall"):
        sandbox.faults.fail(service, "*", "ExpiredToken", 403)
    checks, status = examine()
    assert (status, checks["identity"]["state"]) == (2, "UNKNOWN")
    assert "sign in again" in checks["identity"]["fix"]
    assert {check["state"] for check in checks.values()} == {"UNKNOWN"}
    assert json.loads(invoke(["doctor", "--format", "json"]).stdout)["accountId"] is None


@pytest.mark.parametrize("code", ["ExpiredToken", "AuthFailure"])
def test_one_cause_is_reported_once(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """If all checks fail for one cause, it is reported once with its fix, and every other check is named."""
    monkeypatch.setenv("COLUMNS", "80")
    for service in ("sts", "ec2", "config", "cloudformation", "ram", "s3", "service-quotas", "network-firewall"):
        sandbox.faults.fail(service, "*", code, 403)
    result = invoke(["doctor"])
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert len(result.stdout.splitlines()) < 45
    shown = text(result)
    assert (shown.count(code), shown.count("fix: "), result.exit_code) == (2, 1, 2)
    assert shown.count("for the same reason as identity") == 5
    assert all(question.name in shown for question in QUESTIONS)


def test_each_cause_is_reported(sandbox: Sandbox) -> None:
    """Each of several causes is reported with its own fix; checks that do not depend on them still run."""
    sandbox.faults.deny("config", "DescribeConfigRules")
    sandbox.faults.deny("ec2", "DescribeInstances")
    shown = text(invoke(["doctor"]))
    for action in ("config:DescribeConfigRules", "ec2:DescribeInstances"):
        assert shown.count(f"fix: allow {action}") == 1
    assert "last-run, last-error, function, errors, verdicts: for the same reason as rule" in shown
    assert "OK ec2:DescribeSubnets: shows the subnets" in shown


@pytest.mark.usefixtures("sandbox")
def test_the_json_is_one_document() -> None:
    """The JSON has the account, the Region, and every check with the same members."""
    document = json.loads(invoke(["doctor", "--format", "json"]).stdout)
    assert (document["schemaVersion"], document["accountId"], document["region"]) == (1, "123456789012", "us-east-1")
    members = ["group", "name", "required", "state", "finding", "fix", "command"]
    assert {tuple(check) for check in document["checks"]} == {tuple(members)}
    assert [check["name"] for check in document["checks"]] == [
        question.name for question in QUESTIONS if question.name not in ("network-role", "calendar", "approval")
    ]
