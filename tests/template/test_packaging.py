"""What `sam package` makes of the template, and that the package for StackSets is the same without transforms."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
import yaml
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

from config_rule_sandbox.cloudformation.text import read
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.server import Sandbox
from org.expansion import CODE, expand
from tests.support.template import ROOT

pytestmark = pytest.mark.long

SAM = ROOT / ".venv-tools" / "bin" / "sam"
BUCKET = "artifacts"
INCLUDED = {
    "HealDocument": "AddS3ExpressGatewayEndpoint",
    "ApprovalDocument": "AddS3ExpressGatewayEndpointWithApproval",
    "UndoDocument": "RemoveS3ExpressGatewayEndpoint",
}


class SamPackage:
    """The template that `sam package` writes, and the files that it uploads."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        """Run `sam package` with a bucket of the sandbox."""
        self._s3: Client = sandbox.client("s3")
        self._s3.create_bucket(Bucket=BUCKET)
        output = folder / "packaged.yaml"
        command = [SAM, "package", "--template-file", ROOT / "template.yaml", "--s3-bucket", BUCKET]
        command += ["--region", sandbox.region, "--output-template-file", output]
        environment = {**os.environ, **sandbox.environment(), "SAM_CLI_TELEMETRY": "0", "HOME": str(folder)}
        run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
        assert run.returncode == 0, run.stderr
        self.template = read(output.read_text(encoding="utf-8"))

    def included(self, logical_id: str) -> Any:
        """Return the uploaded file that CloudFormation includes in a document."""
        include = self.template["Resources"][logical_id]["Properties"]["Content"]["Fn::Transform"]
        assert include["Name"] == "AWS::Include"
        at = urlsplit(include["Parameters"]["Location"])
        assert (at.scheme, at.netloc) == ("s3", BUCKET)
        content = self._s3.get_object(Bucket=at.netloc, Key=at.path.lstrip("/"))["Body"].read()
        return yaml.load(content, Loader=yaml.CSafeLoader)

    def expanded(self) -> dict[str, Any]:
        """Return the template as CloudFormation processes it: transformed, then with the included files."""
        session = boto3.session.Session(region_name="us-east-1")
        result: dict[str, Any] = Translator(None, Parser(), boto_session=session).translate(
            self.template, parameter_values={}, passthrough_metadata=True
        )
        for logical_id in INCLUDED:
            result["Resources"][logical_id]["Properties"]["Content"] = self.included(logical_id)
        return result


@pytest.fixture(scope="module")
def packaged(running_sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SamPackage]:
    """Yield the result of one run of `sam package`."""
    running_sandbox.reset()
    yield SamPackage(running_sandbox, tmp_path_factory.mktemp("sam"))
    running_sandbox.reset()


def test_packaging_uploads_the_runbooks_unchanged(packaged: SamPackage) -> None:
    """`sam package` puts each file into the bucket that CloudFormation reads it from, and names it in the template."""
    for logical_id, name in INCLUDED.items():
        file = (ROOT / "runbooks" / f"{name}.yaml").read_text(encoding="utf-8")
        assert packaged.included(logical_id) == yaml.load(file, Loader=yaml.CSafeLoader)


def test_package_for_stacksets_has_the_same_resources(packaged: SamPackage) -> None:
    """Every resource, condition, rule, and output equals that of a SAM deployment, apart from where the code is."""
    ours, theirs = expand(ROOT / "template.yaml", "code.zip"), packaged.expanded()
    functions = [name for name, found in theirs["Resources"].items() if found["Type"] == "AWS::Lambda::Function"]
    assert len(functions) >= 2
    for name in functions:
        assert theirs["Resources"][name]["Properties"].pop("Code")["S3Bucket"] == BUCKET
        code = ours["Resources"][name]["Properties"].pop("Code")
        assert code == {"S3Bucket": CODE["Bucket"], "S3Key": CODE["Key"]}
    for template in (ours, theirs):
        for resource in template["Resources"].values():
            resource.pop("Metadata", None)  # for the build; CloudFormation does not use it
    assert ours["Resources"] == theirs["Resources"]
    for section in ("Conditions", "Rules", "Outputs", "Description", "AWSTemplateFormatVersion"):
        assert ours[section] == theirs[section]
    added = {name: ours["Parameters"].pop(name) for name in ("ArtifactBucketPrefix", "CodeKey")}
    assert added["CodeKey"]["Default"] == "code.zip"
    assert ours["Parameters"] == theirs["Parameters"]
    assert ours.keys() == theirs.keys()
