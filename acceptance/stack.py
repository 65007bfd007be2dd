"""The run's stacks: the network, what probes ask about, and the product, which SAM packages and CloudFormation deploys."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from botocore.exceptions import ClientError

from acceptance.facts import Json
from acceptance.run import Run

ROOT = Path(__file__).parent.parent
TEMPLATES = Path(__file__).parent / "templates"
BUILT = ROOT / ".aws-sam" / "build" / "template.yaml"
"""What `sam build` makes, which `make acceptance` runs first."""
CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
"""CreateStack takes a template with transforms only with the second one.

https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
"""
COMPLETE = ("CREATE_COMPLETE", "UPDATE_COMPLETE")
USABLE = (*COMPLETE, "UPDATE_ROLLBACK_COMPLETE")
"""The statuses of stacks that can be updated. One that was never created can only be deleted.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html
"""
UNCHANGED = "No updates are to be performed"
"""What UpdateStack says, as a ValidationError, if a stack is as it is to be."""
Ids = dict[str, str]
"""Physical IDs of a stack's resources by logical ID, in the order in which they were completed, and then its outputs."""


class NotMadeError(Exception):
    """A stack that CloudFormation did not create or update; the text says which one, and why."""


def deploy(run: Run, name: str, template: dict[str, str], parameters: dict[str, str], *, keep: bool = False) -> Ids:
    """Create or update a stack, whatever was left of it, and return what it has. NotMadeError if that fails.

    With `keep`, a stack that exists stays as it is.
    """
    client = run.client("cloudformation")
    status = settled(run, name)
    if status and status not in USABLE:
        delete(run, name)
        status = ""
    if status and keep:
        return ids_of(run, name)
    given = [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()]
    tags = [{"Key": "express-path:acceptance", "Value": run.id}]
    change = client.update_stack if status else client.create_stack
    try:
        change(StackName=name, Parameters=given, Capabilities=CAPABILITIES, Tags=tags, **template)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        if UNCHANGED in str(error):
            return ids_of(run, name)
        raise NotMadeError(f"{name}: {error.response['Error']['Message']}") from error
    status = settled(run, name)
    if status not in COMPLETE:
        raise NotMadeError(f"{name} is {status}: {'; '.join(_failures(run, name))}")
    return ids_of(run, name)


def settled(run: Run, name: str) -> str:
    """Wait until nothing is in progress in a stack, and return its status; an empty text if it does not exist."""
    query = "Stacks[?!ends_with(StackStatus, '_IN_PROGRESS')].StackStatus"

    def look() -> list[str]:
        try:
            return run.ask("cloudformation", "describe_stacks", query, StackName=name)
        except ClientError as error:  # DescribeStacks has no code of its own for a stack that does not exist
            if "does not exist" not in str(error):
                raise
            return [""]

    return run.until(f"the end of what {name} has in progress", look)[0]


def _failures(run: Run, name: str) -> list[str]:
    """Return why resources of a stack failed, the first one first. Those that were cancelled have no reason of their own."""
    failed = "ends_with(ResourceStatus, '_FAILED') && !contains(to_string(ResourceStatusReason), 'cancelled')"
    query = f"StackEvents[?{failed}].join(': ', [LogicalResourceId, to_string(ResourceStatusReason)])"
    return list(reversed(run.ask("cloudformation", "describe_stack_events", query, StackName=name)))


def ids_of(run: Run, name: str) -> Ids:
    """Return what a stack has."""
    found = run.ask("cloudformation", "list_stack_resources", "StackResourceSummaries[]", StackName=name)
    found.sort(key=lambda row: row["LastUpdatedTimestamp"])
    outputs = run.ask("cloudformation", "describe_stacks", "Stacks[].Outputs[]", StackName=name)
    ids = {row["LogicalResourceId"]: row["PhysicalResourceId"] for row in found}
    return ids | {row["OutputKey"]: row["OutputValue"] for row in outputs}


def deploy_own(run: Run, kind: str, **parameters: str) -> Ids:
    """Deploy a template of the run, such as `network`, unless that was done. NotMadeError if that fails."""
    return _deploy_own(run, kind, parameters, keep=True)


def update_own(run: Run, kind: str, **parameters: str) -> Ids:
    """Deploy a template of the run again, with other parameters. NotMadeError if that fails."""
    return _deploy_own(run, kind, parameters, keep=False)


def _deploy_own(run: Run, kind: str, parameters: dict[str, str], *, keep: bool) -> Ids:
    body = (TEMPLATES / f"{kind}.yaml").read_text(encoding="utf-8")
    return deploy(run, f"{run.stack_name}-{kind}", {"TemplateBody": body}, parameters, keep=keep)


def network(run: Run) -> Ids:
    """Return the run's VPCs and what is in them."""
    return deploy_own(run, "network")


@contextmanager
def own_stack(run: Run, kind: str, **parameters: str) -> Iterator[Ids]:
    """Deploy a template of the run, and delete its stack at the end unless an interruption is the end.

    Nobody waits for the deletion.
    """
    made = deploy_own(run, kind, **parameters)
    remove = partial(run.client("cloudformation").delete_stack, StackName=f"{run.stack_name}-{kind}")
    try:
        yield made
    except Exception:
        remove()
        raise
    remove()


def delete(run: Run, name: str) -> None:
    """Delete a stack and wait. NotMadeError if something of it stays."""
    run.client("cloudformation").delete_stack(StackName=name)
    if status := settled(run, name):
        raise NotMadeError(f"{name} is {status}: {'; '.join(_failures(run, name))}")


class Product:
    """The product's stack, with a rule of its own for the run's VPCs alone, and its runbooks."""

    def __init__(self, run: Run, network: Ids) -> None:
        """Upload the code to the bucket of the run, unless that was done. Nothing is deployed yet."""
        self._run = run
        self.network = network
        vpcs = f"{network['Vpc']},{network['SpokeVpc']}"
        self._parameters = {"RuleName": run.rule_name, "VpcIds": vpcs, "LogRetentionDays": "1"}
        self._parameters |= run.state.kept.get("parameters", {})
        self._url = run.once("template", lambda: _upload(run, network["Bucket"]))
        self.ids: Ids = ids_of(run, run.stack_name) if settled(run, run.stack_name) else {}

    def deploy(self, **parameters: str) -> None:
        """Create or update the stack, and wait. Parameters that are not named keep their values."""
        self._parameters |= parameters
        self._run.state.keep("parameters", self._parameters)
        self.ids = deploy(self._run, self._run.stack_name, {"TemplateURL": self._url}, self._parameters)

    def verdicts(self) -> dict[str, str]:
        """Return compliance and annotation of every subnet that the rule has reported."""
        return results(self._run, self.ids["ConfigRule"])

    def has(self, subnet: str, verdict: str) -> bool:
        """Return whether the verdict of a subnet of the network begins with a compliance and a reason."""
        return self.verdicts().get(self.network[subnet], "").startswith(verdict)

    def wait_for(self, subnet: str, verdict: str) -> None:
        """Wait until a subnet of the network has a verdict."""
        self._run.until(f"{subnet} {verdict}", lambda: self.has(subnet, verdict))

    def start(self, document: str, name: str = "", **parameters: str) -> str:
        """Start a runbook of the stack by the name of its output, and return the execution's ID.

        With a name, only one execution is started under it, also if the run is interrupted.
        """
        role, function = self.ids["AutomationRoleArn"], self.ids["PlanFunctionArn"]
        given = {"AutomationAssumeRole": role, "PlanFunctionName": function, **parameters}
        return self._run.start(self.ids[document], name, Parameters={key: [value] for key, value in given.items()})

    def execute(self, document: str, name: str = "", **parameters: str) -> Json:
        """Run a runbook of the stack to its end, and return the execution."""
        return self._run.end(self.start(document, name, **parameters))


def results(run: Run, rule: str) -> dict[str, str]:
    """Return compliance and annotation of each result that AWS Config has of a rule, by resource."""
    resource = "EvaluationResultIdentifier.EvaluationResultQualifier.ResourceId"
    query = f"EvaluationResults[].[{resource}, join(' ', [ComplianceType, Annotation][?@])]"
    return dict(run.ask("config", "get_compliance_details_by_config_rule", query, ConfigRuleName=rule))


def _upload(run: Run, bucket: str) -> str:
    """Upload the built template with its code and runbooks to a bucket, and return the template's address."""
    command = [str(ROOT / ".venv-tools" / "bin" / "sam"), "package", "--template-file", str(BUILT)]
    command += ["--region", run.region, "--s3-bucket", bucket]
    packaged = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout  # our own command
    run.client("s3").put_object(Bucket=bucket, Key="template.yaml", Body=packaged)
    return f"https://{bucket}.s3.{run.region}.amazonaws.com/template.yaml"
