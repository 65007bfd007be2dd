"""The hashes of the runbooks, and the version that is started.

`python -m tests.cli.automation.test_documents` writes the hashes again.
"""

import json
import re
from pathlib import Path

import pytest

from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import Aws
from express_path_cli.automation import documents
from express_path_cli.automation.documents import UNDO_HASH, content_hash, released_version
from express_path_cli.terminal.errors import OptionError
from org.expansion import runbook
from tests.support.heals import APPROVED, HEAL, UNDO

RUNBOOKS = {"HEAL_HASH": HEAL, "APPROVAL_HASH": APPROVED, "UNDO_HASH": UNDO}


def released(name: str) -> str:
    """Return the hash of a runbook."""
    return content_hash(json.dumps(runbook(name)))


@pytest.mark.parametrize("constant", RUNBOOKS)
def test_the_hash_is_that_of_the_runbook(constant: str) -> None:
    """Whoever changes a runbook writes it again. CloudFormation's texts of numbers and booleans make no difference."""
    name, expected = RUNBOOKS[constant], getattr(documents, constant)
    assert released(name) == expected
    assert content_hash(re.sub(r": (true|false|\d+)\b", r': "\1"', json.dumps(runbook(name)))) == expected


def test_the_version_that_was_compared_is_the_one_to_start(sandbox: Sandbox) -> None:
    """A runbook that differs is refused, also if only its default version does."""
    content = json.dumps(runbook(UNDO))
    sandbox.client("ssm").create_document(Name=UNDO, Content=content, DocumentType="Automation")
    ssm = Aws.connect("us-east-1").ssm
    assert released_version(ssm, UNDO, UNDO_HASH) == "1"
    changed = json.dumps(runbook(UNDO) | {"description": "another"})
    sandbox.client("ssm").update_document(Name=UNDO, Content=changed, DocumentVersion="$LATEST")
    assert released_version(ssm, UNDO, UNDO_HASH) == "1"
    sandbox.client("ssm").update_document_default_version(Name=UNDO, DocumentVersion="2")
    with pytest.raises(OptionError, match="version 2, is not the runbook of this version"):
        released_version(ssm, UNDO, UNDO_HASH)


if __name__ == "__main__":
    FILE = Path(documents.__file__)
    text = FILE.read_text(encoding="utf-8")
    for constant, name in RUNBOOKS.items():
        text = re.sub(rf'{constant} = "\w*"', f'{constant} = "{released(name)}"', text)
    FILE.write_text(text, encoding="utf-8")
