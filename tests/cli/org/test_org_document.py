"""docs/organization.md has exactly the permissions that the commands need. shown.txt has what they print."""

import json
import re

from config_rule_sandbox.server import Sandbox
from express_path.domain.path.reasons import Reason
from tests.cli.org.deployed import STACK_SET, TEMPLATE, DeployedOrganization
from tests.cli.org.organizations import REGIONS, ROLE, Organization
from tests.cli.org.shown import SHOWN, regenerated
from tests.support.command import invoke
from tests.support.config_aggregator import Aggregator, answering
from tests.support.iam import actions
from tests.support.stack import listed_stack
from tests.support.template import ROOT

TEXT = (ROOT / "docs" / "organization.md").read_text(encoding="utf-8")
PARAMETERS = [{"ParameterKey": "RemediationMode", "ParameterValue": "OFF"}]
NEEDS = {"s3:HeadBucket": "s3:ListBucket", "s3:HeadObject": "s3:GetObject"}
"""The actions of calls whose action has another name.

https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadBucket.html
"""


def test_a_terminal_gets_what_is_shown(sandbox: Sandbox) -> None:
    """Run `.venv/bin/python -m tests.cli.org.shown` after a change of the output, and read the difference."""
    assert regenerated(sandbox) == SHOWN.read_text(encoding="utf-8")


def documented() -> dict[str, set[str]]:
    """Return the documented actions by statement."""
    policies = map(json.loads, re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL))
    return {statement["Sid"]: set(actions(statement)) for policy in policies for statement in policy["Statement"]}


def of_caller(sid: str) -> set[str]:
    """Return the actions of a statement for the caller's account, with that for the role in the others."""
    return documented()[sid] | documented()["RoleInAccounts"]


def in_account(*sids: str) -> set[str]:
    """Return the actions of statements for the role in each account."""
    return set().union(*(documented()[sid] for sid in sids))


def called(sandbox: Sandbox) -> tuple[set[str], set[str]]:
    """Return the actions in the caller's account and in the others since the last time."""
    found: tuple[set[str], set[str]] = (set(), set())
    for call in sandbox.calls:
        action = f"{call.service}:{call.operation}"
        found[call.account_id != sandbox.account_id].add(NEEDS.get(action, action))
    sandbox.calls.clear()
    return found[0] - {"sts:GetCallerIdentity"}, found[1]


def excluding(sandbox: Sandbox, unit: str, account_id: str) -> None:
    """Let a stack with a StackSet of the rule exclude an account that has an instance."""
    client = sandbox.client("cloudformation")
    made = client.create_stack_set(
        StackSetName=STACK_SET, TemplateBody=TEMPLATE, PermissionModel="SERVICE_MANAGED", Parameters=PARAMETERS
    )
    client.create_stack_instances(
        StackSetName=STACK_SET, DeploymentTargets={"OrganizationalUnitIds": [unit]}, Regions=[REGIONS[0]]
    )
    listed_stack(sandbox, STACK_SET, {"StackSet": made["StackSetId"]}, ExcludedAccountIds=account_id)


def test_the_documented_policies_are_what_check_calls(sandbox: Sandbox) -> None:
    """A check of missing, stopped, and taken things calls exactly the documented actions, in each account."""
    organization = Organization(sandbox)
    unit = organization.unit("workloads")
    for name in ("missing", "taken", "stopped"):
        organization.add(name, unit)
    organization.record("taken")
    organization.record("stopped")
    organization.aws("stopped", "config").stop_configuration_recorder(ConfigurationRecorderName="default")
    source = {"Owner": "AWS", "SourceIdentifier": "S3_BUCKET_VERSIONING_ENABLED"}
    rule = {"ConfigRuleName": "s3express-no-nat-path", "Source": source}
    organization.aws("taken", "config").put_config_rule(ConfigRule=rule)
    organization.add("deployed", unit)
    organization.record("deployed")
    topic = organization.put_stack("deployed").replace(organization.accounts["deployed"], "{account}")
    sandbox.client("s3").create_bucket(Bucket=f"example-{REGIONS[0]}")
    arn = organization.network_role("taken", {})
    excluding(sandbox, unit, organization.accounts["deployed"])
    sandbox.calls.clear()
    what = ("--artifact-bucket-prefix", "example", "--artifact-key", "1.zip", "--network-role-arn", arn)
    what += ("--alarm-topic-arn", topic, "--endpoint-policy-parameter", "/policy")
    for where in ((), ("--ou", unit)):
        assert invoke(["org", "check", "--role-name", ROLE, *where, *what]).exit_code == 1
    central, members = called(sandbox)
    needed = ("CheckInAccount", "ReadCode", "ReadEndpointPolicy", "ReadFunctions", "ReadTrustOfNetworkRole")
    assert (central, members) == (of_caller("Check"), in_account(*needed))


def test_the_documented_policies_are_what_status_calls(sandbox: Sandbox) -> None:
    """A status with findings, sweeps, and excluded subnets calls exactly the documented actions, in each account."""
    aggregator = Aggregator(sandbox)
    with answering(aggregator):
        organization = DeployedOrganization(sandbox, aggregator)
        organization.result("data", REGIONS[0], "subnet-1", Reason.NAT_GATEWAY, ["nat-1"])
        organization.sweep("data", REGIONS[0], NOT_APPLICABLE=1)
        organization.exclude("data")
        sandbox.faults.fail("config", "DescribeConfigRules", "UnrecognizedClientException", 400, region=REGIONS[1])
        sandbox.calls.clear()
        assert invoke(["org", "status", "--aggregator", aggregator.name, "--role-name", ROLE]).exit_code == 2
    central, members = called(sandbox)
    assert central == of_caller("Status")
    assert members == {"config:DescribeConfigRules", "ec2:DescribeRegions"} | in_account("ReadFunctions", "ReadSweeps")
