"""The run's stack: built and packaged by SAM, and deployed with a rule of its own for the run's VPC alone."""

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from acceptance.place import Place, pages

ROOT = Path(__file__).parent.parent
SAM = ROOT / ".venv-aws" / "bin" / "sam"
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


class Stack:
    """The stack express-path-acceptance-RUN, which is deployed and deleted by a run, perhaps several times."""

    def __init__(self, place: Place, vpc: str) -> None:
        """Upload the code to a bucket of the run. Nothing is deployed yet."""
        self.place = place
        self.parameters = {"RuleName": f"acceptance-{place.run}", "VpcIds": vpc, "LogRetentionDays": "1"}
        self.template_url = _upload(place)
        self._client = place.client("cloudformation")

    @property
    def rule(self) -> str:
        """The name of the stack's rule."""
        return self.parameters["RuleName"]

    def deploy(self, **parameters: str) -> dict[str, str]:
        """Create or update the stack, wait, and return its outputs. Parameters that are not named keep their values."""
        self.parameters |= parameters
        name = self.place.stack_name
        act = "update" if self._exists() else "create"
        given = [{"ParameterKey": key, "ParameterValue": value} for key, value in self.parameters.items()]
        what = {"StackName": name, "TemplateURL": self.template_url, "Parameters": given}
        getattr(self._client, f"{act}_stack")(**what, Capabilities=CAPABILITIES, Tags=self.place.tags)
        self._client.get_waiter(f"stack_{act}_complete").wait(StackName=name)
        return self.outputs

    def delete(self) -> None:
        """Delete the stack and wait. Its ledger remains."""
        self._client.delete_stack(StackName=self.place.stack_name)
        self._client.get_waiter("stack_delete_complete").wait(StackName=self.place.stack_name)

    @property
    def outputs(self) -> dict[str, str]:
        """The outputs of the stack by name."""
        [stack] = self._client.describe_stacks(StackName=self.place.stack_name)["Stacks"]
        return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}

    def events(self) -> list[dict[str, Any]]:
        """Return what CloudFormation did, the first first."""
        return pages(self._client, "describe_stack_events", "StackEvents", StackName=self.place.stack_name)[::-1]

    def physical_id(self, logical_id: str) -> str:
        """Return the name or ID of one of the stack's resources."""
        found = pages(self._client, "list_stack_resources", "StackResourceSummaries", StackName=self.place.stack_name)
        return str(next(one["PhysicalResourceId"] for one in found if one["LogicalResourceId"] == logical_id))

    def _exists(self) -> bool:
        stacks = pages(self._client, "describe_stacks", "Stacks")
        return any(stack["StackName"] == self.place.stack_name for stack in stacks)


def _upload(place: Place) -> str:
    """Upload the built template with its code and runbooks, and return the template's address."""
    s3, bucket = place.client("s3"), bucket_name(place)
    where = {} if place.region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": place.region}}
    s3.create_bucket(Bucket=bucket, **where)
    with tempfile.TemporaryDirectory() as name:
        packaged = Path(name) / "packaged.yaml"
        template = ["--template-file", str(BUILT), "--output-template-file", str(packaged)]
        _sam(place, "package", *template, "--s3-bucket", bucket)
        s3.put_object(Bucket=bucket, Key="template.yaml", Body=packaged.read_bytes())
    return f"https://{bucket}.s3.{place.region}.amazonaws.com/template.yaml"


def bucket_name(place: Place) -> str:
    """Return the name of the bucket with the run's code."""
    return f"{place.stack_name}-{place.account_id}"


def _sam(place: Place, *words: str) -> None:
    """Run the SAM CLI. SamError if it fails."""
    settings = {"SAM_CLI_TELEMETRY": "0", "PATH": f"{ROOT / '.venv/bin'}:{place.environment['PATH']}"}
    command = [str(SAM), *words, "--region", place.region]
    done = subprocess.run(  # our own command
        command, cwd=ROOT, env=place.environment | settings, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SamError(done.stdout + done.stderr)
