"""The run's stacks: the network, what probes ask about, and the product, which SAM packages and CloudFormation deploys."""

import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from acceptance.place import Json, Place, error_code, pages

ROOT = Path(__file__).parent.parent
TEMPLATES = Path(__file__).parent / "templates"
BUILT = ROOT / ".aws-sam" / "build" / "template.yaml"
"""What `sam build` makes, which `make acceptance` runs first."""
CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
"""CreateStack takes a template with transforms only with the second one.

https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
"""


class SamError(Exception):
    """SAM failed: `output` is what it printed."""

    def __init__(self, output: str) -> None:
        super().__init__(output)
        self.output = output


def deploy(place: Place, name: str, template: dict[str, str], parameters: dict[str, str]) -> None:
    """Create a stack, or update it if there is one, and wait."""
    client = place.client("cloudformation")
    is_new = error_code(partial(client.describe_stacks, StackName=name)) != "none"
    given = [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()]
    call = client.create_stack if is_new else client.update_stack
    call(StackName=name, Parameters=given, Capabilities=CAPABILITIES, Tags=place.tags, **template)
    client.get_waiter(f"stack_{'create' if is_new else 'update'}_complete").wait(StackName=name)


def delete(place: Place, name: str) -> None:
    """Delete a stack and wait."""
    client = place.client("cloudformation")
    client.delete_stack(StackName=name)
    client.get_waiter("stack_delete_complete").wait(StackName=name)


def resources(place: Place, name: str) -> dict[str, str]:
    """Return the physical IDs of a stack's resources by logical ID, in the order in which they were completed."""
    found = pages(place.client("cloudformation"), "list_stack_resources", "StackResourceSummaries", StackName=name)
    found.sort(key=lambda one: one["LastUpdatedTimestamp"])
    return {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found}


def deploy_own(place: Place, kind: str, **parameters: str) -> dict[str, str]:
    """Deploy a template of the run, such as `network`, and return its resources."""
    name = f"{place.stack_name}-{kind}"
    deploy(place, name, {"TemplateBody": (TEMPLATES / f"{kind}.yaml").read_text(encoding="utf-8")}, parameters)
    return resources(place, name)


class Product:
    """The product's stack, with a rule of its own for the run's VPC alone, and its runbooks."""

    def __init__(self, place: Place, vpc: str) -> None:
        """Upload the code to a bucket of the run. Nothing is deployed yet."""
        self.place = place
        self.rule = f"acceptance-{place.run}"
        self.outputs: dict[str, str] = {}
        self._parameters = {"RuleName": self.rule, "VpcIds": vpc, "LogRetentionDays": "1"}
        self._url = _upload(place)

    def deploy(self, **parameters: str) -> None:
        """Create or update the stack, and wait. Parameters that are not named keep their values."""
        self._parameters |= parameters
        name = self.place.stack_name
        deploy(self.place, name, {"TemplateURL": self._url}, self._parameters)
        [stack] = self.place.client("cloudformation").describe_stacks(StackName=name)["Stacks"]
        self.outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}

    def verdicts(self) -> dict[str, tuple[str, str]]:
        """Return compliance and annotation of every subnet that the rule has reported."""
        found = self.place.results(self.rule)
        qualified = [(one["EvaluationResultIdentifier"]["EvaluationResultQualifier"], one) for one in found]
        return {where["ResourceId"]: (one["ComplianceType"], one.get("Annotation", "")) for where, one in qualified}

    def wait_for(self, subnet: str, compliance: str, reason: str) -> None:
        """Wait until AWS Config has a verdict about a subnet."""

        def look() -> bool:
            found, annotation = self.verdicts().get(subnet, ("", ""))
            return found == compliance and annotation.startswith(reason)

        self.place.until(f"{subnet} {compliance} {reason}", look)

    def start(self, document: str, **parameters: str) -> str:
        """Start a runbook of the stack by the name of its output, and return the execution's ID."""
        given = parameters | {
            "AutomationAssumeRole": self.outputs["AutomationRoleArn"],
            "PlanFunctionName": self.outputs["PlanFunctionArn"],
        }
        listed = {name: [value] for name, value in given.items()}
        ssm = self.place.client("ssm")
        started = ssm.start_automation_execution(DocumentName=self.outputs[document], Parameters=listed)
        return str(started["AutomationExecutionId"])

    def run(self, document: str, **parameters: str) -> Json:
        """Run a runbook of the stack to its end, and return the execution."""
        return self.place.end(self.start(document, **parameters))


def _upload(place: Place) -> str:
    """Upload the built template with its code and runbooks, and return the template's address."""
    s3, bucket = place.client("s3"), f"{place.stack_name}-{place.account_id}"
    where: dict[str, Any] = {"CreateBucketConfiguration": {"LocationConstraint": place.region}}
    s3.create_bucket(Bucket=bucket, **({} if place.region == "us-east-1" else where))
    with tempfile.TemporaryDirectory() as name:
        packaged = Path(name) / "packaged.yaml"
        command = [str(ROOT / ".venv-aws" / "bin" / "sam"), "package", "--region", place.region, "--s3-bucket", bucket]
        command += ["--template-file", str(BUILT), "--output-template-file", str(packaged)]
        environment = place.environment | {"SAM_CLI_TELEMETRY": "0"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # our own command
        if done.returncode:
            raise SamError(done.stdout + done.stderr)
        s3.put_object(Bucket=bucket, Key="template.yaml", Body=packaged.read_bytes())
    return f"https://{bucket}.s3.{place.region}.amazonaws.com/template.yaml"
