"""The run's stacks: the network, what probes ask about, and the product, which SAM packages and CloudFormation deploys."""

import subprocess
from pathlib import Path

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
Ids = dict[str, str]
"""Physical IDs of a stack's resources by logical ID, in the order in which they were completed, and then its outputs."""


def deploy(run: Run, verb: str, name: str, template: dict[str, str], parameters: dict[str, str]) -> Ids:
    """Create or update a stack, which is the verb, and wait."""
    client = run.client("cloudformation")
    given = [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()]
    tags = [{"Key": "express-path:acceptance", "Value": run.id}]
    call = client.create_stack if verb == "create" else client.update_stack
    call(StackName=name, Parameters=given, Capabilities=CAPABILITIES, Tags=tags, **template)
    client.get_waiter(f"stack_{verb}_complete").wait(StackName=name)
    found = run.ask("cloudformation", "list_stack_resources", "StackResourceSummaries[]", StackName=name)
    found.sort(key=lambda one: one["LastUpdatedTimestamp"])
    outputs = run.ask("cloudformation", "describe_stacks", "Stacks[].Outputs[]", StackName=name)
    ids = {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found}
    return ids | {one["OutputKey"]: one["OutputValue"] for one in outputs}


def deploy_own(run: Run, kind: str, **parameters: str) -> Ids:
    """Deploy a template of the run, such as `network`."""
    body = (TEMPLATES / f"{kind}.yaml").read_text(encoding="utf-8")
    return deploy(run, "create", f"{run.stack_name}-{kind}", {"TemplateBody": body}, parameters)


def delete(run: Run, name: str) -> None:
    """Delete a stack and wait."""
    client = run.client("cloudformation")
    client.delete_stack(StackName=name)
    client.get_waiter("stack_delete_complete").wait(StackName=name)


class Product:
    """The product's stack, with a rule of its own for the run's VPC alone, and its runbooks."""

    def __init__(self, run: Run, network: Ids) -> None:
        """Upload the code to the bucket of the run. Nothing is deployed yet."""
        self._run = run
        self.network = network
        self.ids: Ids = {}
        self._parameters = {"RuleName": f"acceptance-{run.id}", "VpcIds": network["Vpc"], "LogRetentionDays": "1"}
        self._url = _upload(run, network["Bucket"])

    def deploy(self, verb: str = "update", **parameters: str) -> None:
        """Create or update the stack, and wait. Parameters that are not named keep their values."""
        self._parameters |= parameters
        self.ids = deploy(self._run, verb, self._run.stack_name, {"TemplateURL": self._url}, self._parameters)

    def verdicts(self) -> dict[str, str]:
        """Return compliance and annotation of every subnet that the rule has reported."""
        return results(self._run, self.ids["ConfigRule"])

    def has(self, subnet: str, verdict: str) -> bool:
        """Return whether the verdict of a subnet of the network begins with a compliance and a reason."""
        return self.verdicts().get(self.network[subnet], "").startswith(verdict)

    def wait_for(self, subnet: str, verdict: str) -> None:
        """Wait until a subnet of the network has a verdict."""
        self._run.until(f"{subnet} {verdict}", lambda: self.has(subnet, verdict))

    def start(self, document: str, **parameters: str) -> str:
        """Start a runbook of the stack by the name of its output, and return the execution's ID."""
        role, function = self.ids["AutomationRoleArn"], self.ids["PlanFunctionArn"]
        given = {"AutomationAssumeRole": role, "PlanFunctionName": function, **parameters}
        return self._run.start(self.ids[document], Parameters={name: [value] for name, value in given.items()})

    def execute(self, document: str, **parameters: str) -> Json:
        """Run a runbook of the stack to its end, and return the execution."""
        return self._run.end(self.start(document, **parameters))


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
