"""The package deployed to the accounts and Regions of an organization: it fails only where it must."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from moto.config.models import config_backends

from config_rule_sandbox.cloudformation.stacks import Failure, Stack
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import acting_in, direct_client
from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import Aws
from express_path_cli.automation.deployments import StackEvidence, own_stacks
from express_path_cli.automation.release import version_to_start
from express_path_cli.aws.sessions import AccountRegion
from tests.support.command import invoke
from tests.support.organization import PREFIX, TOOLS, Organization, Packaged

RULE = "s3express-no-nat-path"
REGIONS = ("us-east-1", "eu-west-1")
NAMED = {
    "RemediationMode": "APPROVAL",
    "Approvers": "arn:aws:iam::{account}:role/operations/on-call",
    "AlarmTopicArn": f"arn:aws:sns:{{region}}:{TOOLS}:network-alarms",
    "ApprovalTopicArn": f"arn:aws:sns:{{region}}:{TOOLS}:AutomationApprovals",
}
# What `express-path org check` calls the cause of a failed deployment, by the error of the call that failed.
CAUSES = {
    "NoAvailableConfigurationRecorderException": "RECORDER_MISSING",
    "S3 Error Code: NoSuchBucket": "BUCKET_MISSING",
    "S3 Error Code: AccessDenied": "BUCKET_UNREADABLE",
    "DocumentAlreadyExists": "NAME_TAKEN",
    "AlreadyExists": "NAME_TAKEN",
}


@pytest.fixture
def organization(sandbox: Sandbox, packaged: Packaged) -> Organization:
    """Return an organization whose accounts record in both Regions, with the code in the first Region only."""
    made = Organization(sandbox, packaged, "apps", "data", "legacy")
    made.provide_code(REGIONS[0])
    for name in made.accounts:
        for region in REGIONS:
            made.record(name, region)
    return made


def cause(failure: Failure | None) -> str | None:
    """Return the cause of a failed deployment as `org check` names it."""
    if failure is None:
        return None
    return next(name for text, name in CAUSES.items() if text in str(failure))


def check(organization: Organization, regions: Iterable[str], *options: str) -> list[dict[str, Any]]:
    """Return what `org check` reports for each member account and Region."""
    named = [option for region in regions for option in ("--region", region)]
    run = invoke(["org", "check", "--role-name", "Audit", "--format", "json", *named, *options])
    members = organization.accounts.values()
    return [place for place in json.loads(run.stdout)["places"] if place["accountId"] in members]


def blocking(organization: Organization) -> dict[tuple[str, str], str | None]:
    """Return what `org check` says will make the deployment fail, by account and Region; None if it will not fail."""
    key = organization.packaged.keys["CodeKey"]
    artifact = ("--artifact-bucket-prefix", PREFIX, "--artifact-key", key, "--artifact-account", TOOLS)
    places = check(organization, REGIONS, *artifact)
    names = {account_id: name for name, account_id in organization.accounts.items()}
    failing = [[problem["reason"] for problem in place["problems"] if problem["effect"] == "FAILS"] for place in places]
    return {
        (names[place["accountId"]], place["region"]): next(iter(reasons), None)
        for place, reasons in zip(places, failing, strict=True)
    }


def rules_of(account_id: str, region: str) -> list[str]:
    """Return the names of the rules of an account and Region."""
    return list(config_backends[account_id][region].config_rules)


def test_each_instance_fails_on_its_own(organization: Organization) -> None:
    """A Region without a bucket, an account without a recorder, and a taken name fail there, and nowhere else."""
    config_backends[organization.accounts["data"]]["us-east-1"].recorders.clear()
    documents: Client = direct_client(organization.sandbox, "ssm")
    with acting_in(organization.accounts["legacy"]):
        content = json.dumps({"schemaVersion": "0.3", "mainSteps": [STEP]})
        documents.create_document(Name="RemoveS3ExpressGatewayEndpoint", Content=content, DocumentType="Automation")
    reported = blocking(organization)
    stacks = {
        (name, region): organization.deploy_rule(name, region) for name in organization.accounts for region in REGIONS
    }
    causes = {place: cause(stack.failure) for place, stack in stacks.items()}
    assert causes == reported
    assert causes == {
        ("apps", "us-east-1"): None,
        ("apps", "eu-west-1"): "BUCKET_MISSING",
        ("data", "us-east-1"): "RECORDER_MISSING",
        ("data", "eu-west-1"): "BUCKET_MISSING",
        ("legacy", "us-east-1"): "NAME_TAKEN",
        ("legacy", "eu-west-1"): "BUCKET_MISSING",
    }
    for (name, region), stack in stacks.items():
        deployed = [] if stack.failure else [RULE]
        assert rules_of(organization.accounts[name], region) == deployed
    organization.provide_code(REGIONS[1])
    assert not organization.deploy_rule("apps", REGIONS[1]).failure
    organization.record("data", REGIONS[0])
    assert not organization.deploy_rule("data", REGIONS[0]).failure


def test_integrations_need_the_rule_and_follow_its_bus(organization: Organization) -> None:
    """Before the rule, their deployment fails for the bus; after it, it succeeds, and is deleted without a trace."""
    early = organization.deploy_integrations("apps", "us-east-1")
    assert early.failure
    assert "express-path-s3express-no-nat-path" in str(early.failure)
    assert not organization.deploy_rule("apps", "us-east-1").failure
    stack = organization.deploy_integrations("apps", "us-east-1")
    assert not stack.failure
    stack.delete()


STEP = {"name": "wait", "action": "aws:sleep", "inputs": {"Duration": "PT1S"}}


def test_an_account_keeps_the_rule_that_it_has_until_that_is_deleted(organization: Organization) -> None:
    """A stack of another OU, or after a deployment by hand, fails and leaves the rule; without the first, it succeeds."""
    first = organization.deploy_rule("apps", "us-east-1", "StackSet-express-path-first")
    assert not first.failure
    second = organization.deploy_rule("apps", "us-east-1", "StackSet-express-path-second")
    assert cause(second.failure) == "NAME_TAKEN"
    assert rules_of(organization.accounts["apps"], "us-east-1") == [RULE]
    assert {
        row["Role"].partition("express-path/")[2].startswith("StackSet-express-path-first")
        for row in deployed_functions(organization, first)
    } == {True}
    first.delete()
    assert not organization.deploy_rule("apps", "us-east-1", "StackSet-express-path-third").failure
    assert rules_of(organization.accounts["apps"], "us-east-1") == [RULE]


def deployed_functions(organization: Organization, stack: Stack) -> list[dict[str, Any]]:
    """Return the configuration of every function of a stack."""
    functions: Client = direct_client(organization.sandbox, "lambda", stack.account.region)
    with acting_in(stack.account.account_id):
        found: list[dict[str, Any]] = functions.list_functions()["Functions"]
    return found


def test_commands_in_the_account_use_what_the_stack_set_deployed(organization: Organization) -> None:
    """Its resources, role, and runbooks are those that a person with credentials of the account may start."""
    account_id, region = organization.accounts["apps"], REGIONS[0]
    organization.deploy_ledger("apps", region)
    stack = organization.deploy_rule("apps", region, **NAMED)
    assert stack.failure is None
    aws = replace(Aws.connect(region), credentials=organization.sandbox.credentials(account_id))
    found = own_stacks(AccountRegion(account_id, aws), None, StackEvidence.confirmed)
    assert found.refused == {}
    [deployment] = found.values
    assert (deployment.stack, deployment.ledger) == (stack.name, "express-path-ledger")
    assert {version_to_start(deployment, name) for name in deployment.runbooks} == {"1"}


def test_same_parameters_are_right_everywhere_and_the_ledger_stays(organization: Organization) -> None:
    """ARNs are those of each Region and account, roles get the path that others trust, and the ledger is found and kept."""
    organization.provide_code(REGIONS[1])
    for name, region in zip(("apps", "data"), REGIONS, strict=True):
        account_id = organization.accounts[name]
        ledger, stack = organization.deploy_ledger(name, region), organization.deploy_rule(name, region, **NAMED)
        assert (ledger.failure, stack.failure) == (None, None)
        functions = deployed_functions(organization, stack)
        roles = {function["Role"] for function in functions}
        assert all(arn.startswith(f"arn:aws:iam::{account_id}:role/express-path/") for arn in roles)
        settings = {key: value for found in functions for key, value in found["Environment"]["Variables"].items()}
        assert settings["LEDGER_TABLE_NAME"] == ledger.outputs["LedgerTableName"]
        assert settings["APPROVAL_TOPIC_ARN"] == f"arn:aws:sns:{region}:{TOOLS}:AutomationApprovals"
        assert settings["APPROVERS"] == NAMED["Approvers"]  # the function replaces the account
        assert stack.properties["ConfigRule"]["InputParameters"]["excludeTag"] == "NONE"
        assert stack.properties["ErrorsAlarm"]["AlarmActions"] == [f"arn:aws:sns:{region}:{TOOLS}:network-alarms"]
        assert "LedgerTable" not in stack.resources
        for deployed in (stack, ledger):
            deployed.delete()
        assert rules_of(account_id, region) == []
        tables: Client = direct_client(organization.sandbox, "dynamodb", region)
        with acting_in(account_id):
            assert tables.describe_table(TableName="express-path-ledger")["Table"]["DeletionProtectionEnabled"] is True
        again = organization.deploy_ledger(name, region)
        assert again.failure
        assert again.failure.code == "ResourceInUseException"  # docs/organization.md: the table that is there is used
