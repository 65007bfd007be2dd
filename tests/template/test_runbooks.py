"""The runbooks as the stack deploys them: the files, whole and unchanged, under names and options that AWS takes."""

import re
from typing import Any

import pytest
import yaml

from tests.support.template import ROOT, expanded, source
from tests.template.models import enum, shape

DOCUMENTS = {
    "HealDocument": "AddS3ExpressGatewayEndpoint",
    "ApprovalDocument": "AddS3ExpressGatewayEndpointWithApproval",
    "UndoDocument": "RemoveS3ExpressGatewayEndpoint",
}
# https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_CreateDocument.html
RESERVED = ("aws", "amazon", "amzn")


def runbook(name: str) -> dict[str, Any]:
    """Return a runbook as its file has it."""
    parsed: dict[str, Any] = yaml.safe_load((ROOT / "runbooks" / f"{name}.yaml").read_text(encoding="utf-8"))
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
