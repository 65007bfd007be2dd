"""Whoever deploys with deployer-policy.json may do what SAM and CloudFormation do for both stacks, and nothing is spare."""

import io
import json
import re
import tomllib
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.cloudformation.described_stacks import created_stacks
from config_rule_sandbox.cloudformation.operations import CloudFormation
from config_rule_sandbox.cloudformation.permissions import CREATE, DELETE, READ, UPDATE, of_resource, of_transforms
from config_rule_sandbox.cloudformation.sam import transforms
from config_rule_sandbox.config.deployment import prepare
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.iam.people import create_user
from config_rule_sandbox.iam.policies import Authorization, as_list, is_allowed
from config_rule_sandbox.iam.reference import action, matching
from config_rule_sandbox.iam.requests import enforced
from config_rule_sandbox.iam.resources import Place, of_request
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from org.policies import EXAMPLE_ACCOUNT, IN_ONE_ACCOUNT, as_policy
from tests.support.iam import faults
from tests.support.template import INTEGRATIONS, MAIN, ROOT, source
from tests.template.test_permissions import PARAMETERS

pytestmark = pytest.mark.slow

OF_ANOTHER_FUNCTION = {"lambda:FunctionArn": ["arn:aws:lambda:us-east-1:123456789012:function:payments"]}
OF_EXPRESS_PATH = ("express-path", "S3ExpressGatewayEndpoint", ":aws:transform/")
"""What the ARNs of resources contain that other teams do not share, or cannot change."""
STATEMENTS: list[dict[str, Any]] = json.loads((ROOT / "deployer-policy.json").read_bytes())["Statement"]
STACKS = {"express-path": MAIN, "express-path-integrations": INTEGRATIONS}
"""The stacks with the names that samconfig.toml gives them."""
MARK = "PERMISSIONS-BOUNDARY-ARN"
"""What deployer-boundary-policy.json has in place of the boundary."""
HANDLERS = (CREATE, READ, UPDATE, DELETE)
BUCKET = "aws-sam-cli-managed-default-samclisourcebucket-1a2b3c"
"""A bucket with a name as CloudFormation makes it for the stack with which SAM keeps what it uploads."""
CONFIGURATIONS = {"express-path": "samconfig.toml", "express-path-integrations": "integrations/samconfig.toml"}
SAM_CALLS = (
    *("CreateChangeSet", "DeleteStack", "DescribeChangeSet", "DescribeStackEvents", "DescribeStacks"),
    *("ExecuteChangeSet", "GetTemplateSummary", "UpdateStack"),
)
"""What the SAM CLI calls for a stack: https://github.com/aws/aws-sam-cli, samcli/lib/deploy/deployer.py."""
SAM_OBJECT_CALLS = ("AbortMultipartUpload", "DeleteObject", "GetObject", "PutObject")
"""What it does with objects below its prefix: samcli/lib/package/s3_uploader.py. `sam delete` also lists them."""
FIRST_REFUSED = {
    "Stacks": "cloudformation:CreateStack",
    "Transforms": "cloudformation:CreateChangeSet",
    "SamUploads": "s3:GetObject",
    "Functions": "lambda:CreateFunction",
    "NewEventSources": "lambda:CreateEventSourceMapping",
    "EventSources": "lambda:GetEventSourceMapping",
    "EventSourceTags": "lambda:ListTags",
    "Ledger": "dynamodb:",
    "Runbooks": "ssm:",
    "Events": "events:",
    "BusPolicies": "events:PutPermission",
    "Queues": "sqs:",
    "NewAlarms": "cloudwatch:PutMetricAlarm",
    "Alarms": "cloudwatch:",
    "Logs": "logs:",
    "Rule": "config:PutConfigRule",
    "Remediation": "config:PutRemediationConfigurations",
    "RemediationRole": "iam:CreateServiceLinkedRole",
    "Roles": "iam:",
    "Look": ":Describe",
}
"""A part of the action that is refused without a statement."""
ONLY_SAM_DELETE = {"SamLists"}
"""Statements that no deployment needs."""


def without(sid: str) -> dict[str, Any]:
    """Return the policy without a statement."""
    return {"Version": "2012-10-17", "Statement": [row for row in STATEMENTS if row["Sid"] != sid]}


def prefix(stack_name: str) -> str:
    """Return the prefix under which `sam deploy` uploads what a stack needs."""
    text = (ROOT / CONFIGURATIONS[stack_name]).read_text(encoding="utf-8")
    found: str = tomllib.loads(text)["default"]["deploy"]["parameters"]["s3_prefix"]
    return found


class Uploaded:
    """What `sam deploy` uploads: templates that name code and runbooks in a bucket."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Upload everything to an account with a recorder."""
        self.sandbox = sandbox
        self.again()

    def again(self) -> None:
        """Upload everything to an account in which there is nothing else."""
        self.sandbox.reset()
        prepare(self.sandbox)
        s3: Client = direct_client(self.sandbox, "s3")
        s3.create_bucket(Bucket=BUCKET)
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("express_path/__init__.py", "")
        for name, template in STACKS.items():
            s3.put_object(Bucket=BUCKET, Key=f"{prefix(name)}/code.zip", Body=archive.getvalue())
            for path in (ROOT / "runbooks").glob("*.yaml"):
                s3.put_object(Bucket=BUCKET, Key=f"{prefix(name)}/{path.name}", Body=path.read_bytes())
            packaged = json.dumps(self.packaged(template, prefix(name)))
            s3.put_object(Bucket=BUCKET, Key=f"{prefix(name)}/{name}.json", Body=packaged)

    def packaged(self, template: str, keys: str) -> dict[str, Any]:
        """Return a template as `sam package` writes it. keys: the prefix of what it uploads."""
        text = json.dumps(source(template)).replace('"runbooks/', f'"s3://{BUCKET}/{keys}/')
        made: dict[str, Any] = json.loads(text)
        made["Globals"]["Function"]["CodeUri"] = f"s3://{BUCKET}/{keys}/code.zip"
        return made

    def deploy(self, client: Client, name: str, **parameters: str) -> None:
        """Create a stack with every parameter that adds a statement to a role, and these."""
        client.create_stack(**self._given(name, parameters))

    def update(self, client: Client, name: str, **parameters: str) -> None:
        """Update a stack, with parameters as those of `deploy`."""
        client.update_stack(**self._given(name, parameters))

    def _given(self, name: str, parameters: dict[str, str]) -> dict[str, Any]:
        values = PARAMETERS[STACKS[name]] | parameters
        given = [{"ParameterKey": key, "ParameterValue": value} for key, value in values.items()]
        url = f"https://{BUCKET}.s3.us-east-1.amazonaws.com/{prefix(name)}/{name}.json"
        return {"StackName": name, "TemplateURL": url, "Parameters": given}

    def deploy_all(self, client: Client) -> None:
        """Create both stacks."""
        for name in STACKS:
            self.deploy(client, name)


@pytest.fixture
def uploaded(sandbox: Sandbox) -> Iterator[Uploaded]:
    """Yield what SAM uploads, in an account in which CloudFormation deploys both templates."""
    patches = Patches()
    with Automation(sandbox) as automation, Remediation(sandbox, automation):
        CloudFormation(sandbox).apply(patches)
        yield Uploaded(sandbox)
        patches.undo()


def needed(uploaded: Uploaded) -> Iterator[tuple[str, Authorization]]:
    """Yield what SAM and CloudFormation need for the stacks, each with what needs it."""
    sandbox = uploaded.sandbox
    client, place = direct_client(sandbox, "cloudformation"), Place(sandbox.account_id, sandbox.region)
    for name, template in STACKS.items():
        uploaded.deploy(client, name)
        yield from (("transform", row) for row in of_transforms(transforms(source(template)), place))
        for operation in SAM_CALLS:
            known = action(f"cloudformation:{operation}")
            yield from (
                ("SAM", Authorization(known.name, arn)) for arn in of_request(known, {"StackName": name}, place)
            )
        for operation in SAM_OBJECT_CALLS:
            yield "SAM", Authorization(f"s3:{operation}", f"arn:aws:s3:::{BUCKET}/{prefix(name)}/0a1b2c3d")
        yield "SAM", Authorization("s3:ListBucket", f"arn:aws:s3:::{BUCKET}", {"s3:prefix": [f"{prefix(name)}/"]})
    for stack in created_stacks(sandbox.account_id, sandbox.region):
        for logical_id, resource in stack.resources.items():
            kind, properties = stack.template["Resources"][logical_id]["Type"], stack.properties[logical_id]
            rows = of_resource(kind, HANDLERS, resource.physical_id, properties, place)
            yield from ((logical_id, row) for row in rows)


def test_everything_that_a_deployment_needs_is_allowed(uploaded: Uploaded) -> None:
    """A statement has the action on the type of resource, or on "*" if the action has no types. No statement is spare."""
    rows = list(needed(uploaded))
    assert len({row.action for _, row in rows}) > 150
    assert [row for row in rows if not is_allowed(STATEMENTS, row[1])] == []
    for statement in STATEMENTS:
        others = without(statement["Sid"])["Statement"]
        assert any(not is_allowed(others, row) for _, row in rows), f"{statement['Sid']} is not needed"


def test_statements_name_what_exists() -> None:
    """Actions exist, and resources and condition keys are such that the actions support."""
    assert [(row["Sid"], fault) for row in STATEMENTS for fault in faults(row, of_person=True)] == []


@pytest.mark.parametrize("name", ["express-path", "express-path-2", "express-path2", "another"])
def test_no_stack_is_begun_whose_parts_are_denied(name: str) -> None:
    """A stack may have a name only if its functions may have theirs, which begin with it."""
    arn = "arn:aws:{}:us-east-1:123456789012:{}"
    begins = Authorization("cloudformation:CreateChangeSet", arn.format("cloudformation", f"stack/{name}/0a1b"))
    goes_on = Authorization("lambda:CreateFunction", arn.format("lambda", f"function:{name}-PlanFunction-0a1b"))
    assert (
        is_allowed(STATEMENTS, begins)
        is is_allowed(STATEMENTS, goes_on)
        is (name in {"express-path", "express-path-2"})
    )


@pytest.mark.parametrize(
    ("name", "resource", "keys"),
    [
        ("lambda:CreateEventSourceMapping", "*", OF_ANOTHER_FUNCTION),
        (
            "lambda:UpdateEventSourceMapping",
            "lambda:us-east-1:123456789012:event-source-mapping:1a",
            OF_ANOTHER_FUNCTION,
        ),
        (
            "lambda:DeleteEventSourceMapping",
            "lambda:us-east-1:123456789012:event-source-mapping:1a",
            OF_ANOTHER_FUNCTION,
        ),
        ("s3:GetObject", f"s3:::{BUCKET}/0a1b2c3d", {}),
        ("s3:PutObject", f"s3:::{BUCKET}/0a1b2c3d", {}),
        ("s3:PutObject", f"s3:::{BUCKET}/payments/0a1b2c3d", {}),
        ("s3:ListBucket", f"s3:::{BUCKET}", {"s3:prefix": ["payments/"]}),
        ("s3:PutBucketPolicy", f"s3:::{BUCKET}", {}),
        ("s3:DeleteBucket", f"s3:::{BUCKET}", {}),
        # The output of this stack says where every SAM project of the account uploads code.
        ("cloudformation:UpdateStack", "cloudformation:us-east-1:123456789012:stack/aws-sam-cli-managed-default/1", {}),
        ("cloudformation:DeleteStack", "cloudformation:us-east-1:123456789012:stack/aws-sam-cli-managed-default/1", {}),
    ],
)
def test_nothing_of_other_teams_is_allowed(name: str, resource: str, keys: dict[str, list[str]]) -> None:
    """Functions of others keep their event sources, and what others upload with SAM stays as it is."""
    arn = resource if resource == "*" else f"arn:aws:{resource}"
    assert not is_allowed(STATEMENTS, Authorization(name, arn, keys))


def test_runbooks_are_deployed_and_never_run() -> None:
    """A document of any type may have the name of a runbook, and a command runs as root on instances of other teams.

    IAM needs no permission on these instances for an association (ssm:CreateAssociationBatch) or for targets by tag
    (https://docs.aws.amazon.com/service-authorization/latest/reference/list_awssystemsmanager.html).
    """
    arn = "arn:aws:ssm:us-east-1:123456789012:document/AddS3ExpressGatewayEndpoint-command"
    known = [action(name) for name in matching("ssm:*")]
    about_documents = [found.name for found in known if found.types_of(arn) and not found.is_read]
    allowed = {name for name in about_documents if is_allowed(STATEMENTS, Authorization(name, arn))}
    assert {"ssm:CreateAssociationBatch", "ssm:SendCommand"} <= {*about_documents}
    assert allowed == {
        *("ssm:AddTagsToResource", "ssm:CreateDocument", "ssm:DeleteDocument", "ssm:RemoveTagsFromResource"),
        *("ssm:UpdateDocument", "ssm:UpdateDocumentDefaultVersion", "ssm:UpdateDocumentMetadata"),
    }


def test_alarms_only_notify() -> None:
    """An alarm can also stop instances and scale groups, with permissions of CloudWatch."""
    arn = "arn:aws:cloudwatch:us-east-1:123456789012:alarm:express-path-own"
    topic, stop = "arn:aws:sns:us-east-1:123456789012:alarms", "arn:aws:automate:us-east-1:ec2:stop"
    for name in ("PutCompositeAlarm", "PutLogAlarm", "PutMetricAlarm"):
        wanted = {
            count: Authorization(f"cloudwatch:{name}", arn, {"cloudwatch:AlarmActions": actions})
            for count, actions in enumerate(([], [topic], [topic, stop], [stop]))
        }
        allowed = [count for count, row in wanted.items() if is_allowed(STATEMENTS, row)]
        assert allowed == ([0, 1] if name == "PutMetricAlarm" else [])


def test_what_every_resource_shares_is_on_the_page() -> None:
    """SECURITY.md names each action that is allowed on resources of other teams, because IAM has no condition for it."""
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    [row] = re.findall(r"^- \*\*People who deploy.\*\*.*?(?=^- )", page, re.MULTILINE | re.DOTALL)
    shared = {
        known.name
        for statement in STATEMENTS
        for resource in as_list(statement["Resource"])
        if not any(name in resource for name in OF_EXPRESS_PATH) and not statement.get("Condition")
        for name in as_list(statement["Action"])
        for known in map(action, matching(name))
        if not known.is_read
    }
    assert {name for name in shared if f"`{name}`" not in row} == set()


def test_lists_on_the_page_are_allowed() -> None:
    """The calls of docs/deploy.md that are about no single resource need a statement for every resource."""
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    calls = re.findall(r"^ *aws (\w+) ((?:list|describe|get)-[a-z-]+)", page, re.MULTILINE)
    actions = {f"{service}:{call.title().replace('-', '')}" for service, call in calls}
    lists = {name for name in actions if not action(name).types}
    assert {"dynamodb:ListTables", "ssm:DescribeAutomationExecutions"} <= actions
    people = [*STATEMENTS, *json.loads(as_policy(IN_ONE_ACCOUNT, EXAMPLE_ACCOUNT))["Statement"]]
    assert [name for name in lists if not is_allowed(people, Authorization(name))] == []


def test_policy_fits_the_limit_of_iam() -> None:
    """A managed policy has at most 6,144 characters without white space.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
    """
    assert len(json.dumps(without(""), separators=(",", ":"))) < 6144


def test_person_with_the_policy_deploys_and_deletes_both_stacks(uploaded: Uploaded) -> None:
    """The sandbox checks what each resource needs when it is created and deleted."""
    client = uploaded.sandbox.client(
        "cloudformation", credentials=create_user(uploaded.sandbox, "deployer", [without("")])
    )
    with enforced(uploaded.sandbox):
        uploaded.deploy_all(client)
        names = [stack["StackName"] for stack in client.describe_stacks()["Stacks"]]
        for name in reversed(STACKS):
            client.delete_stack(StackName=name)
    assert names == [*STACKS]
    stacks = created_stacks(uploaded.sandbox.account_id, uploaded.sandbox.region)
    assert [stack.status for stack in stacks] == ["DELETE_COMPLETE"] * len(STACKS)


def bounded(sandbox: Sandbox) -> tuple[Client, str]:
    """Return a client of who deploys with both policies, and the permissions boundary that they name."""
    limits = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "NotAction": "iam:Create*", "Resource": "*"}}
    made = direct_client(sandbox, "iam").create_policy(PolicyName="limits", PolicyDocument=json.dumps(limits))
    boundary = str(made["Policy"]["Arn"])
    denied = json.loads((ROOT / "deployer-boundary-policy.json").read_text(encoding="utf-8").replace(MARK, boundary))
    credentials = create_user(sandbox, "deployer", [without(""), denied])
    return sandbox.client("cloudformation", credentials=credentials), boundary


def test_person_with_a_boundary_deploys_only_roles_that_have_it(uploaded: Uploaded) -> None:
    """The sandbox checks what both policies say. With the boundary, all roles get it, and are updated and deleted."""
    sandbox = uploaded.sandbox
    client, _ = bounded(sandbox)
    with enforced(sandbox):
        assert re.search(r"EvaluateRole.* not authorized to perform: iam:\w+ ", refusal(uploaded, client))
    uploaded.again()
    client, boundary = bounded(sandbox)
    with enforced(sandbox):
        for name in STACKS:
            uploaded.deploy(client, name, PermissionsBoundaryArn=boundary)
        uploaded.update(client, "express-path", PermissionsBoundaryArn=boundary, ApprovalTopicKeyArn="")
    stacks = created_stacks(sandbox.account_id, sandbox.region)
    assert {stack.name: stack.status for stack in stacks} == {
        "express-path": "UPDATE_COMPLETE",
        "express-path-integrations": "CREATE_COMPLETE",
    }
    iam: Client = direct_client(sandbox, "iam")
    roles = [role["RoleName"] for role in iam.list_roles()["Roles"] if role["Path"].startswith("/express-path/")]
    boundaries = [iam.get_role(RoleName=name)["Role"].get("PermissionsBoundary") for name in roles]
    assert len(roles) > 5
    assert {found and found["PermissionsBoundaryArn"] for found in boundaries} == {boundary}
    with enforced(sandbox):
        for name in reversed(STACKS):
            client.delete_stack(StackName=name)
    assert [stack.status for stack in stacks] == ["DELETE_COMPLETE"] * len(STACKS)


def refusal(uploaded: Uploaded, client: Client) -> str:
    """Return why the stacks cannot be created: what refuses the request, or what rolls a stack back."""
    try:
        uploaded.deploy_all(client)
    except ClientError as error:
        return str(error)
    stacks = created_stacks(uploaded.sandbox.account_id, uploaded.sandbox.region)
    return str(next(stack.reason for stack in stacks if stack.failure))


def test_person_without_a_statement_cannot_deploy(uploaded: Uploaded) -> None:
    """The sandbox refuses what the statement would allow, and nothing of the stack stays."""
    assert [row["Sid"] for row in STATEMENTS if row["Sid"] not in ONLY_SAM_DELETE] == [*FIRST_REFUSED]
    refusals = {}
    for sid in FIRST_REFUSED:
        uploaded.again()
        sandbox = uploaded.sandbox
        client = sandbox.client("cloudformation", credentials=create_user(sandbox, sid, [without(sid)]))
        with enforced(sandbox):
            refusals[sid] = refusal(uploaded, client)
    assert {sid: text for sid, text in refusals.items() if FIRST_REFUSED[sid] not in text} == {}
