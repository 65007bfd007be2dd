"""The templates of the roll-out: who may do what, and that they fit template.yaml."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from config_rule_sandbox.cloudformation.text import read
from config_rule_sandbox.iam.policies import Authorization, is_allowed
from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import Hub, Spoke, connect_over
from config_rule_sandbox.networks.public_sides import BehindFirewall, BehindNatInstance
from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import Aws
from express_path.adapters.entrances import with_entrances
from express_path.adapters.network_reader import SnapshotReader
from express_path.domain.verdict.parameters import RuleParameters
from tests.support.iam import access_level, actions
from tests.support.organization import Packaged
from tests.support.rule import Rule
from tests.support.template import INTEGRATIONS, ROOT, expanded, source

ORG = ROOT / "org"
ORGANIZATION = "o-a1b2c3d4e5"
PERMITTED = {
    "aws:PrincipalArn": ["arn:aws:iam::111122223333:role/express-path/rule-EvaluateRole-1A2B"],
    "aws:PrincipalOrgID": [ORGANIZATION],
    "sts:ExternalId": ["express-path"],
}
# Parameters of the rule's template that a StackSet does not pass: a VPC is in one account only, the ledger has a StackSet
# of its own, and a rule of another name would be a second one.
NOT_PASSED = {"VpcIds", "DeployingRoleArn", "RuleName"}
OTHER_DEFAULTS = {"ExcludeTag": "NONE", "LedgerTableName": "express-path-ledger", "AlarmMessages": "false"}


def template(name: str) -> dict[str, Any]:
    """Return a template of org/ with short forms such as !Ref expanded."""
    parsed: dict[str, Any] = read((ORG / f"{name}.yaml").read_text(encoding="utf-8"))
    return parsed


def resolved(node: Any, values: Mapping[str, str]) -> Any:
    """Return part of a template with Ref and Fn::Sub replaced by given values."""
    if isinstance(node, list):
        return [resolved(item, values) for item in node]
    if not isinstance(node, dict):
        return node
    if "Ref" in node:
        return values[node["Ref"]]
    if "Fn::Sub" in node:
        return re.sub(r"\$\{([\w:.]+)\}", lambda match: values[match[1]], node["Fn::Sub"])
    if "Fn::GetAtt" in node:
        return values[".".join(node["Fn::GetAtt"])]
    return {key: resolved(value, values) for key, value in node.items()}


VALUES = {
    "AWS::AccountId": "210987654321",
    "AWS::Partition": "aws",
    "Bucket.Arn": "arn:aws:s3:::code-us-east-1",
    "ExternalId": "express-path",
    "OrganizationId": ORGANIZATION,
}


def role() -> dict[str, Any]:
    """Return the properties of the network account's role."""
    properties: dict[str, Any] = template("network-role")["Resources"]["NetworkRole"]["Properties"]
    return {name: resolved(properties[name], VALUES) for name in ("AssumeRolePolicyDocument", "Policies")}


def test_stackset_passes_every_parameter_that_is_valid_everywhere(packaged: Packaged) -> None:
    """The StackSet passes each parameter of the rule's template, except those of one account, Region, or name."""
    stackset = template("stackset")
    passed = stackset["Resources"]["StackSet"]["Properties"]["Parameters"]
    assert [item["ParameterValue"] for item in passed] == [{"Ref": item["ParameterKey"]} for item in passed]
    names = [item["ParameterKey"] for item in passed]
    assert len(names) == len(set(names))
    assert set(names) == packaged.template["Parameters"].keys() - NOT_PASSED
    assert packaged.template["Parameters"].keys() >= NOT_PASSED


def test_an_account_that_joins_gets_the_ledger_before_the_rule() -> None:
    """The rule's stack uses the table of the ledger's, so its StackSet depends on that one."""
    stackset = template("stackset")
    assert stackset["Resources"]["StackSet"]["Properties"]["AutoDeployment"]["DependsOn"] == [
        {"Ref": "LedgerStackSetArn"}
    ]
    integrations = template("integrations-stackset")["Parameters"]["RuleStackSetArn"]
    assert stackset["Parameters"]["LedgerStackSetArn"]["AllowedPattern"] == integrations["AllowedPattern"]


def test_stackset_has_the_parameters_of_the_rule() -> None:
    """A value that the rule's template would reject in every account is rejected before the StackSet exists."""
    stackset = template("stackset")["Parameters"]
    for name in source()["Parameters"].keys() - NOT_PASSED:
        if name in OTHER_DEFAULTS:
            assert stackset[name]["Default"] == OTHER_DEFAULTS[name]
        else:
            assert stackset[name] == source()["Parameters"][name], name
    for name, default in OTHER_DEFAULTS.items():
        ours = source()["Parameters"][name]
        allowed = ours.get("AllowedPattern") or "|".join(ours["AllowedValues"])
        assert re.fullmatch(allowed, default, re.ASCII)


def test_stackset_of_the_integrations_has_and_passes_their_parameters(packaged: Packaged) -> None:
    """It passes each parameter of the integrations' template but the rule's name, and depends on the rule's StackSet."""
    stackset, ours = template("integrations-stackset"), source(INTEGRATIONS)["Parameters"]
    properties = stackset["Resources"]["StackSet"]["Properties"]
    passed = {item["ParameterKey"]: item["ParameterValue"]["Ref"] for item in properties["Parameters"]}
    assert passed.keys() == packaged.integrations["Parameters"].keys() - {"RuleName"}
    assert {name for name, value in passed.items() if name != value} == {"CodeKey"}
    for name in ours.keys() - {"RuleName"}:
        default = OTHER_DEFAULTS.get(name, ours[name].get("Default"))
        assert stackset["Parameters"][name] == {**ours[name], "Default": default}, name
    assert properties["AutoDeployment"]["DependsOn"] == [{"Ref": "RuleStackSetArn"}]


UNFILTERED = {"Fn::If": ["ExcludesAccounts", "DIFFERENCE", {"Ref": "AWS::NoValue"}]}


@pytest.mark.parametrize("name", ["integrations-stackset", "ledger-stackset", "stackset"])
def test_stacksets_deploy_to_accounts_that_join(name: str) -> None:
    """The StackSets are service-managed, deploy automatically, and name the OU without a filter unless accounts are excluded.

    With a filter, NONE too, AWS's handler of the type works on one Region after the other.
    """
    stackset = template(name)["Resources"]["StackSet"]["Properties"]
    assert stackset["PermissionModel"] == "SERVICE_MANAGED"
    assert stackset["AutoDeployment"]["Enabled"] is True
    assert stackset["ManagedExecution"] == {"Active": True}
    [group] = stackset["StackInstancesGroup"]
    assert len(group["DeploymentTargets"]["OrganizationalUnitIds"]) == 1
    assert group["DeploymentTargets"].get("AccountFilterType", UNFILTERED) == UNFILTERED
    keys = [parameter for parameter in template(name)["Parameters"] if parameter.endswith("TemplateKey")]
    assert f"${{{keys[0]}}}" in stackset["TemplateURL"]["Fn::Sub"]


def test_keys_of_the_package_fit_the_parameters(packaged: Packaged) -> None:
    """The StackSets accept the keys that the package prints, and no others."""
    declared = {}
    for name in ("stackset", "integrations-stackset", "ledger-stackset"):
        declared |= template(name)["Parameters"]
    for name, key in packaged.keys.items():
        assert re.fullmatch(declared[name]["AllowedPattern"], key)
        assert not re.fullmatch(declared[name]["AllowedPattern"], "latest")


def test_promotion_changes_only_the_remediation() -> None:
    """Another RemediationMode changes AWS Config's remediation and a setting of the plan function, and nothing else."""
    ledger = {"LedgerTableName": "express-path-ledger"}
    before, after = (expanded(**ledger, RemediationMode=mode).resources for mode in ("OFF", "ON"))
    assert before.keys() == after.keys()
    assert {name for name in before if before[name] != after[name]} == {"PlanFunction", "Remediation"}
    changed = [expanded(**ledger, RemediationMode=mode).properties("Remediation") for mode in ("OFF", "ON")]
    assert [properties["Automatic"] for properties in changed] == [False, True]
    assert changed[0] | {"Automatic": True} == changed[1]


def test_ledger_is_that_of_the_template_with_a_fixed_name() -> None:
    """A heal finds the same protection in the organization's ledger as in that of a single stack."""
    own = template("ledger")["Resources"]["LedgerTable"]
    single = source()["Resources"]["LedgerTable"]
    assert own["Properties"].pop("TableName") == {"Ref": "LedgerTableName"}
    assert own["Properties"] == single["Properties"]
    assert own["DeletionPolicy"] == own["UpdateReplacePolicy"] == "Retain"
    given, wanted = (template(name)["Parameters"]["LedgerTableName"] for name in ("ledger-stackset", "stackset"))
    assert given["Default"] == wanted["Default"] == template("ledger")["Parameters"]["LedgerTableName"]["Default"]


@pytest.mark.parametrize(
    ("changes", "trusted"),
    [
        ({}, True),
        ({"aws:PrincipalArn": ["arn:aws:iam::444455556666:role/express-path/rule-PlanRole-3C4D"]}, True),
        ({"aws:PrincipalArn": ["arn:aws:iam::444455556666:role/administrator"]}, False),
        ({"aws:PrincipalArn": ["arn:aws:iam::444455556666:user/express-path/jane"]}, False),
        ({"aws:PrincipalArn": ["arn:aws:iam::444455556666:role/other/express-path/reader"]}, False),
        ({"aws:PrincipalOrgID": ["o-zzzzzzzzzz"]}, False),
        ({"aws:PrincipalOrgID": []}, False),
        ({"sts:ExternalId": ["guess"]}, False),
        ({"sts:ExternalId": []}, False),
    ],
)
def test_network_role_trusts_only_the_functions_of_the_organization(
    changes: dict[str, list[str]], *, trusted: bool
) -> None:
    """Organization, path, and external ID must all be right, because the principal is everyone."""
    [statement] = role()["AssumeRolePolicyDocument"]["Statement"]
    request = Authorization("sts:AssumeRole", keys=PERMITTED | changes)
    assert is_allowed([statement | {"Resource": "*"}], request) is trusted


@pytest.mark.parametrize(
    ("action", "changes", "allowed"),
    [
        ("s3:GetObject", {}, True),
        ("s3:GetObject", {"aws:PrincipalOrgID": ["o-zzzzzzzzzz"]}, False),
        ("s3:GetObject", {"aws:PrincipalOrgID": []}, False),
        ("s3:GetObject", {"aws:SecureTransport": ["false"]}, False),
        ("s3:PutObject", {}, False),
        ("s3:DeleteObject", {}, False),
        ("s3:ListBucket", {}, False),
    ],
)
def test_bucket_is_readable_by_the_organization_over_tls(
    action: str, changes: dict[str, list[str]], *, allowed: bool
) -> None:
    """Accounts of the organization may read objects, over TLS; nobody else may, and nobody may write."""
    policy = template("artifact-bucket")["Resources"]["BucketPolicy"]["Properties"]["PolicyDocument"]
    keys = {"aws:PrincipalOrgID": [ORGANIZATION], "aws:SecureTransport": ["true"]} | changes
    request = Authorization(action, "arn:aws:s3:::code-us-east-1/code.zip", keys)
    assert is_allowed(resolved(policy["Statement"], VALUES), request) is allowed


@pytest.mark.parametrize(
    ("changes", "allowed"),
    [
        ({}, True),
        ({"aws:PrincipalOrgID": ["o-zzzzzzzzzz"]}, False),
        ({"aws:PrincipalOrgID": []}, False),
        ({"aws:PrincipalArn": ["arn:aws:iam::444455556666:role/administrator"]}, False),
        ({"aws:PrincipalArn": ["arn:aws:iam::444455556666:role/other/express-path-forwarding/x"]}, False),
        ({"aws:PrincipalArn": ["arn:aws:iam::444455556666:user/express-path-forwarding/jane"]}, False),
    ],
)
def test_documented_central_bus_takes_events_of_forwarding_roles_only(
    changes: dict[str, list[str]], *, allowed: bool
) -> None:
    """Organization and path must both be right; in the bus's own account, no identity policy replaces the path."""
    text = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
    [policy] = [
        json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL) if "ForwardingRoles" in block
    ]
    role = "arn:aws:iam::444455556666:role/express-path-forwarding/events"
    keys = {"aws:PrincipalOrgID": ["o-exampleorgid"], "aws:PrincipalArn": [role]} | changes
    request = Authorization("events:PutEvents", policy["Statement"][0]["Resource"], keys)
    assert is_allowed(policy["Statement"], request) is allowed
    own = {"Effect": "Allow", "Action": "events:PutEvents", "Resource": "*"}
    assert is_allowed([own, *policy["Statement"]], request) is ("aws:PrincipalArn" not in changes)


def test_bucket_is_encrypted_and_private() -> None:
    """The bucket encrypts, keeps versions, ignores ACLs, and blocks public access, and stays when the stack goes."""
    bucket = template("artifact-bucket")["Resources"]["Bucket"]
    properties = bucket["Properties"]
    assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
    assert properties["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]
    assert properties["VersioningConfiguration"] == {"Status": "Enabled"}
    assert "SSEAlgorithm" in str(properties["BucketEncryption"])
    assert bucket["DeletionPolicy"] == "Retain"


AUTOMATION, FUNCTION, OTHER = (
    f"arn:aws:iam::111122223333:role/{name}"
    for name in ("express-path/automation/AutomationRole", "express-path/PlanRole", "administrator")
)


@pytest.mark.parametrize(
    ("policy", "arn", "action", "denied"),
    [
        ("stop-heals", AUTOMATION, "ec2:ModifyVpcEndpoint", True),
        ("stop-heals", AUTOMATION, "ec2:CreateVpcEndpoint", True),
        ("stop-heals", AUTOMATION, "ec2:DeleteVpcEndpoints", True),
        ("stop-heals", AUTOMATION, "dynamodb:UpdateItem", False),
        ("stop-heals", FUNCTION, "ec2:DescribeSubnets", False),
        ("stop-heals", OTHER, "ec2:ModifyVpcEndpoint", False),
        ("stop-everything", AUTOMATION, "ec2:ModifyVpcEndpoint", True),
        ("stop-everything", FUNCTION, "config:PutEvaluations", True),
        ("stop-everything", OTHER, "ec2:ModifyVpcEndpoint", False),
    ],
)
def test_service_control_policy_stops_only_what_it_says(policy: str, arn: str, action: str, *, denied: bool) -> None:
    """One policy denies the changes of the runbooks, the other all calls of this stack's roles, and nobody else's."""
    document = json.loads((ORG / f"{policy}-scp.json").read_text(encoding="utf-8"))
    full_access = {"Effect": "Allow", "Action": "*", "Resource": "*"}  # what every account has besides
    request = Authorization(action, keys={"aws:PrincipalArn": [arn]})
    assert is_allowed([full_access, *document["Statement"]], request) is not denied


def test_every_change_of_a_heal_is_stopped() -> None:
    """The policy that stops heals names each write to EC2 that the runbooks' role may make."""
    policies = expanded().properties("AutomationRole")["Policies"]
    statements = [
        part for policy in policies for part in policy["PolicyDocument"]["Statement"] if part["Effect"] == "Allow"
    ]
    allowed = {action for statement in statements for action in actions(statement)}
    writes = {action for action in allowed if action.startswith("ec2:") and access_level(action) == "Write"}
    document = json.loads((ORG / "stop-heals-scp.json").read_text(encoding="utf-8"))
    assert set(document["Statement"][0]["Action"]) == writes


NETWORK_ACCOUNT = "111122223333"
NETWORK_ROLE = f"arn:aws:iam::{NETWORK_ACCOUNT}:role/network-reader"


@pytest.fixture
def network(sandbox: Sandbox) -> Account:
    """Return a network account with everything that the rule reads there."""
    account = Account(sandbox, NETWORK_ACCOUNT, first=100)
    instance = BehindNatInstance(account)
    made = account.ec2.create_managed_prefix_list(
        PrefixListName="own", MaxEntries=5, AddressFamily="IPv4", Entries=[{"Cidr": "192.0.2.0/24"}]
    )
    account.route(instance.table, made["PrefixList"]["PrefixListId"], InstanceId=instance.instance)
    BehindFirewall(account, firewall_of=BehindFirewall(account))
    return account


def test_role_allows_what_the_rule_reads_there_and_no_more(sandbox: Sandbox, network: Account) -> None:
    """A sweep that follows a transit gateway, and the plan of a heal, make each call that the role allows, and no other."""
    home = Account(sandbox)
    hub = Hub(network)
    hub.share(home)
    spoke = hub.join(home)
    hub.decide_by_policy(Spoke(network, hub.gateway, ("a",)).attachment)
    hub.lead("192.0.2.0/24", connect_over(network, hub.attachment))
    rule = Rule(sandbox, {"networkRoleArn": NETWORK_ROLE})
    sandbox.calls.clear()
    delivery = rule.loop.scheduled()
    assert not delivery.error
    reasons = {found["subnetId"]: found["reason"] for found in delivery.answer["evaluations"]}
    assert reasons[spoke.subnet] == "NAT_BEYOND_TRANSIT_GATEWAY"
    aws = Aws.connect()
    reader = SnapshotReader(aws)
    snapshot = reader.read(home.account_id, spoke.vpc, RuleParameters(network_role_arn=NETWORK_ROLE))
    assert with_entrances(aws, reader, snapshot, spoke.vpc, NETWORK_ROLE).transit_gateway_of_table
    called = {f"{call.service}:{call.operation}" for call in sandbox.calls if call.account_id == NETWORK_ACCOUNT}
    statements = role()["Policies"][0]["PolicyDocument"]["Statement"]
    assert called == {action for statement in statements for action in actions(statement)}


def test_the_operator_can_act_only_on_what_the_roll_out_deployed() -> None:
    """Nothing is allowed for another runbook, role, or table, and only lists have no resource."""
    values = {"AWS::AccountId": "210987654321", "AWS::Partition": "aws", "RuleName": "", "LedgerTableName": "ledger"}
    [policy] = template("operator-role")["Resources"]["OperatorRole"]["Properties"]["Policies"]
    statements = resolved(policy["PolicyDocument"], values)["Statement"]
    of_everything = ["ListStacks", "ListRuns", "SeeExceptionsAndRouteTables", "StartHeals"]
    assert [row["Sid"] for row in statements if row["Resource"] == "*"] == of_everything
    ssm, roles = "arn:aws:ssm:us-east-1:210987654321:", "arn:aws:iam::210987654321:role/"
    to_systems_manager = {"iam:PassedToService": ["ssm.amazonaws.com"]}
    for action, allowed, others in (
        ("ssm:GetDocument", f"{ssm}document/RemoveS3ExpressGatewayEndpoint", f"{ssm}document/Decoy"),
        (
            "ssm:StartAutomationExecution",
            f"{ssm}automation-definition/RemoveS3ExpressGatewayEndpoint:3",
            f"{ssm}automation-definition/Decoy:3",
        ),
        ("iam:PassRole", f"{roles}express-path/automation/rule-AutomationRole-1A2B", f"{roles}Admin"),
        ("sts:AssumeRole", f"{roles}express-path/automation/rule-StopRole-1A2B", f"{roles}Admin"),
        (
            "dynamodb:Scan",
            "arn:aws:dynamodb:us-east-1:210987654321:table/ledger",
            "arn:aws:dynamodb:us-east-1:210987654321:table/another",
        ),
    ):
        for resource, expected in ((allowed, True), (others, False)):
            request = Authorization(action, resource, to_systems_manager)
            assert is_allowed(statements, request) is expected, (action, resource)
    role_arn = f"{roles}express-path/automation/rule-AutomationRole-1A2B"
    for service, expected in (("", True), ("config.amazonaws.com", True), ("lambda.amazonaws.com", False)):
        keys = {"iam:PassedToService": [service]} if service else {}
        assert is_allowed(statements, Authorization("iam:PassRole", role_arn, keys)) is expected, service
