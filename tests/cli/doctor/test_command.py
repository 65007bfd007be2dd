"""express-path doctor on one healthy deployment: its text and JSON, and where AWS refuses calls."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from config_rule_sandbox.config.rule_statuses import statuses_of
from config_rule_sandbox.server import Sandbox
from express_path_cli.doctor.checkup import QUESTIONS
from tests.cli.doctor.checks import bad, examine, text
from tests.cli.doctor.whole_stack import RULE, WholeStack, healthy_stack
from tests.support.command import invoke

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stack(running_sandbox: Sandbox) -> Iterator[WholeStack]:
    """Yield a healthy deployment, healing off. A test that changes it changes it back."""
    with healthy_stack(running_sandbox) as deployed:
        yield deployed


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let retries happen without waiting."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)


@pytest.fixture
def sandbox(stack: WholeStack) -> Sandbox:
    """Return the sandbox with the deployment, where no call fails yet."""
    stack.sandbox.faults.clear()
    stack.sandbox.calls.clear()
    return stack.sandbox


@pytest.mark.usefixtures("sandbox")
def test_a_healthy_deployment_is_ok() -> None:
    """Every check is OK and the status is 0, also if healing is off."""
    checks, status = examine()
    assert bad(checks) == {}
    assert status == 0
    assert "healing is off" in checks["mode"]["finding"]
    assert "last ran 0 minutes ago" in checks["last-run"]["finding"]
    asked = {question.name for question in QUESTIONS}
    assert asked - checks.keys() == {"network-role", "calendar", "approval", "security-hub", "waiting"}


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
    "logs:FilterLogEvents": ("logs", "FilterLogEvents", "errors"),
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
    shown = text(invoke(["doctor", "--all"]))
    for action in ("config:DescribeConfigRules", "ec2:DescribeInstances"):
        assert shown.count(f"fix: allow {action}") == 1
    assert (
        "last-run, last-error, function, errors, sweep, health, alarm-topic, alarm, notices, verdicts: for the same reason "
        "as rule" in shown
    )
    assert "OK ec2:DescribeSubnets: shows the subnets" in shown


@pytest.mark.usefixtures("sandbox")
def test_the_json_is_one_document() -> None:
    """The JSON has the account, the Region, and every check with the same members."""
    document = json.loads(invoke(["doctor", "--format", "json"]).stdout)
    assert (document["schemaVersion"], document["accountId"], document["region"]) == (1, "123456789012", "us-east-1")
    members = ["group", "name", "required", "state", "finding", "fix", "command"]
    assert {tuple(check) for check in document["checks"]} == {tuple(members)}
    assert [check["name"] for check in document["checks"]] == [
        question.name
        for question in QUESTIONS
        if question.name not in ("network-role", "calendar", "approval", "security-hub", "waiting")
    ]


@pytest.fixture
def stopped(stack: WholeStack, sandbox: Sandbox) -> Iterator[WholeStack]:
    """Let the recorder be stopped, and record only subnets, for one test."""
    assert sandbox is stack.sandbox
    stack.set_recorder({"resourceTypes": ["AWS::EC2::Subnet"]})
    stack.config.stop_configuration_recorder(ConfigurationRecorderName="default")
    yield stack
    stack.set_recorder({"allSupported": True})
    stack.config.start_configuration_recorder(ConfigurationRecorderName="default")


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize("columns", ["80", "120"])
def test_the_text_says_states_in_words(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is grouped by headings, with a word for each state, its fix, and a summary, in short lines."""
    monkeypatch.setenv("COLUMNS", columns)
    result = invoke(["doctor", "--all"])
    assert (result.exit_code, result.stderr) == (1, "")
    for heading in dict.fromkeys(question.group for question in QUESTIONS):
        assert f"\n{heading}\n" in result.stdout
    assert "FAIL recorder: recorder default is stopped" in text(result)
    assert "fix: start it aws configservice start-configuration-recorder" in text(result)
    assert result.stdout.rstrip().endswith("from the top.")
    assert " checks passed. Some checks failed" in text(result)
    long = [line for line in result.stdout.splitlines() if len(line) > int(columns)]
    assert all(line.strip().startswith("aws ") for line in long)
    assert all(line == line.rstrip() for line in result.stdout.splitlines())
    problems = invoke(["doctor"])
    assert set(problems.stdout.splitlines()[:-2]) < set(result.stdout.splitlines())
    passed = result.stdout.count("\n  OK ")
    assert text(problems).count(" OK ") == 0
    assert f"{passed} checks passed; --all lists them. Some checks failed" in text(problems)


def test_commands_can_be_copied(stopped: WholeStack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A command has the options that doctor was run with, quoted for the shell, so that it acts on the same account."""
    assert examine()[0]["recorder"]["command"].endswith("-name default")
    assert examine("--region", "us-east-1")[0]["recorder"]["command"].endswith("-name default --region us-east-1")
    keys = {name: value for name, value in stopped.sandbox.environment().items() if "KEY" in name}
    lines = ["[my prod]", *(f"{name.lower()} = {value}" for name, value in keys.items())]
    (tmp_path / "credentials").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    command = examine("--profile", "my prod")[0]["recorder"]["command"]
    assert shlex.split(command)[-2:] == ["--profile", "my prod"]
