"""The hash of the runbook that undoes a heal, and the version that is started.

`python -m tests.cli.automation.test_documents` writes the hash again.
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
from tests.support.heals import UNDO


def released() -> str:
    """Return the hash of the runbook."""
    return content_hash(json.dumps(runbook(UNDO)))


def test_the_hash_is_that_of_the_runbook() -> None:
    """Whoever changes the runbook writes it again. CloudFormation's texts of numbers and booleans make no difference."""
    assert released() == UNDO_HASH
    assert content_hash(re.sub(r": (true|false|\d+)\b", r': "\1"', json.dumps(runbook(UNDO)))) == UNDO_HASH


def test_the_version_that_was_compared_is_the_one_to_start(sandbox: Sandbox) -> None:
    """A runbook that differs is refused, also if only its default version does."""
    content = json.dumps(runbook(UNDO))
    sandbox.client("ssm").create_document(Name=UNDO, Content=content, DocumentType="Automation")
    ssm = Aws.connect("us-east-1").ssm
    assert released_version(ssm, UNDO) == "1"
    changed = json.dumps(runbook(UNDO) | {"description": "another"})
    sandbox.client("ssm").update_document(Name=UNDO, Content=changed, DocumentVersion="$LATEST")
    assert released_version(ssm, UNDO) == "1"
    sandbox.client("ssm").update_document_default_version(Name=UNDO, DocumentVersion="2")
    with pytest.raises(OptionError, match="version 2, is not the runbook of this version"):
        released_version(ssm, UNDO)


if __name__ == "__main__":
    FILE = Path(documents.__file__)
    text = re.sub(r'UNDO_HASH = "\w*"', f'UNDO_HASH = "{released()}"', FILE.read_text(encoding="utf-8"))
    FILE.write_text(text, encoding="utf-8")
