"""The hashes of the runbooks, and the version that is started.

`python -m tests.cli.automation.test_documents` writes the hashes of runbooks/ again.
"""

import json
import re
from pathlib import Path

import pytest

from express_path.adapters.aws import Aws
from express_path_cli.automation import documents
from express_path_cli.automation.documents import RELEASED, content_hash, released_version
from express_path_cli.terminal.errors import OptionError
from sandbox.server import Sandbox
from tests.support.heals import UNDO, runbook


def hashes() -> dict[str, str]:
    """Return the hash of each runbook."""
    return {name: content_hash(json.dumps(runbook(name))) for name in RELEASED}


def test_the_hashes_are_those_of_the_runbooks() -> None:
    """Whoever changes a runbook writes them again."""
    assert hashes() == RELEASED


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
    text = FILE.read_text(encoding="utf-8")
    for name, value in hashes().items():
        text = re.sub(rf'"{name}": "\w*"', f'"{name}": "{value}"', text)
    FILE.write_text(text, encoding="utf-8")
