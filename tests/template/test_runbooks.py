"""The runbooks as the stack deploys them: the files, whole and unchanged, under names and options that AWS takes."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from sandbox.dynamic import Client
from sandbox.server import Sandbox
from tests.support.template import ROOT, expanded, included, source
from tests.template.models import enum, shape

DOCUMENTS = {
    "HealDocument": "AddS3ExpressGatewayEndpoint",
    "ApprovalDocument": "AddS3ExpressGatewayEndpointWithApproval",
    "UndoDocument": "RemoveS3ExpressGatewayEndpoint",
}
SAM = ROOT / ".venv-sam" / "bin" / "sam"
# https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_CreateDocument.html
RESERVED = ("aws", "amazon", "amzn")


def runbook(name: str) -> dict[str, Any]:
    """Return a runbook as its file has it."""
    parsed: dict[str, Any] = included(f"runbooks/{name}.yaml")
    return parsed


def test_every_runbook_is_a_document_of_the_stack() -> None:
    """Each runbook file has one document in the stack, and each document has a file."""
    assert sorted(DOCUMENTS.values()) == sorted(path.stem for path in (ROOT / "runbooks").iterdir())
    found = [name for name, resource in source()["Resources"].items() if resource["Type"] == "AWS::SSM::Document"]
    assert sorted(found) == sorted(DOCUMENTS)


@pytest.mark.parametrize(("logical_id", "name"), DOCUMENTS.items())
def test_document_is_of_a_type_and_name_that_systems_manager_takes(logical_id: str, name: str) -> None:
    """The name is the runbook's own by default, unreserved, and an update makes a new version of the same document."""
    document = expanded().properties(logical_id)
    assert document["Name"] == name
    assert re.fullmatch(shape("ssm", "DocumentName").metadata["pattern"], name)
    assert not name.lower().startswith(RESERVED)
    assert document["DocumentType"] in enum("ssm", "DocumentType")
    assert document["UpdateMethod"] == "NewVersion"
    assert document.keys() == {"Name", "DocumentType", "UpdateMethod", "Content"}


@pytest.mark.parametrize(("logical_id", "name"), DOCUMENTS.items())
def test_content_is_the_runbook(logical_id: str, name: str) -> None:
    """With the included file put in, the content is the runbook, word for word."""
    assert expanded().properties(logical_id)["Content"] == runbook(name)


@pytest.mark.slow
def test_packaging_uploads_the_runbooks_unchanged(sandbox: Sandbox, tmp_path: Path) -> None:
    """`sam package` puts each file into the bucket that CloudFormation reads it from, and names it in the template."""
    s3: Client = sandbox.client("s3")
    s3.create_bucket(Bucket="artifacts")
    packaged = tmp_path / "packaged.yaml"
    command = [SAM, "package", "--template-file", ROOT / "template.yaml", "--s3-bucket", "artifacts"]
    command += ["--region", sandbox.region, "--output-template-file", packaged]
    environment = {**os.environ, **sandbox.environment(), "SAM_CLI_TELEMETRY": "0", "HOME": str(tmp_path)}
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    from cfnlint.decode import decode_str  # noqa: PLC0415  # takes a second to import

    template, faults = decode_str(packaged.read_text(encoding="utf-8"))
    assert not faults
    for logical_id, name in DOCUMENTS.items():
        included = template["Resources"][logical_id]["Properties"]["Content"]["Fn::Transform"]
        assert included["Name"] == "AWS::Include"
        at = urlsplit(included["Parameters"]["Location"])
        assert (at.scheme, at.netloc) == ("s3", "artifacts")
        uploaded = s3.get_object(Bucket=at.netloc, Key=at.path.lstrip("/"))["Body"].read()
        assert yaml.load(uploaded, Loader=yaml.CSafeLoader) == runbook(name)
