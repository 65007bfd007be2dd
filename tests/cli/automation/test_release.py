"""The hashes of the runbooks, and the version that is started.

`python -m tests.cli.automation.test_release` writes the hashes again.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from express_path.adapters.aws import Aws
from express_path_cli.automation import release
from express_path_cli.automation.deployments import StackEvidence, own_stacks
from express_path_cli.automation.release import content_hash, version_to_start
from express_path_cli.aws.sessions import AccountRegion
from express_path_cli.terminal.errors import OptionError
from org.expansion import runbook
from tests.support.heals import APPROVED, HEAL, UNDO, Deployment

RUNBOOKS = {"HEAL_HASH": HEAL, "APPROVAL_HASH": APPROVED, "UNDO_HASH": UNDO}


def released(name: str) -> str:
    """Return the hash of a runbook."""
    return content_hash(json.dumps(runbook(name)))


@pytest.mark.parametrize("constant", RUNBOOKS)
def test_the_hash_is_that_of_the_runbook(constant: str) -> None:
    """Whoever changes a runbook writes it again. CloudFormation's texts of numbers and booleans make no difference."""
    name, expected = RUNBOOKS[constant], getattr(release, constant)
    assert released(name) == expected
    assert content_hash(re.sub(r": (true|false|\d+)\b", r': "\1"', json.dumps(runbook(name)))) == expected


@pytest.mark.parametrize("key", ["mainSteps", "description"])
def test_a_key_that_occurs_twice_is_not_the_release_s(key: str) -> None:
    """Systems Manager may use the first value, and JSON readers the last one. An inner object counts, too."""
    content = json.dumps(runbook(HEAL))
    assert content_hash(f'{{"{key}": [], {content[1:]}') == ""
    assert content_hash(content.replace('"mainSteps": [{', '"mainSteps": [{"action": "aws:sleep", ', 1)) == ""


def test_the_version_that_was_compared_is_the_one_to_start(deployment: Deployment) -> None:
    """A runbook that differs is refused, also if only its default version does. The refusal names the version to use."""
    [found] = own_stacks(AccountRegion.of_caller(Aws.connect("us-east-1")), None, StackEvidence.confirmed).values
    ssm = deployment.ssm
    assert version_to_start(found, UNDO) == "1"
    changed = json.dumps(runbook(UNDO) | {"description": "another"})
    ssm.update_document(Name=UNDO, Content=changed, DocumentVersion="$LATEST")
    assert version_to_start(found, UNDO) == "1"
    ssm.update_document_default_version(Name=UNDO, DocumentVersion="2")
    with pytest.raises(OptionError, match="version 2, is not the runbook of express-path") as refusal:
        version_to_start(found, UNDO)
    assert "find out who changed it" in refusal.value.hint
    with pytest.raises(OptionError) as refusal:
        version_to_start(replace(found, version="9.8.7"), UNDO)
    assert "use version 9.8.7 of the command" in refusal.value.hint


def test_a_runbook_that_starts_another_is_compared_with_it(deployment: Deployment) -> None:
    """The run that asks for an approval starts the runbook that heals, in its default version."""
    deployment.publish(APPROVED)
    [found] = own_stacks(AccountRegion.of_caller(Aws.connect("us-east-1")), None, StackEvidence.confirmed).values
    assert version_to_start(found, APPROVED) == "1"
    changed = json.dumps(runbook(HEAL) | {"description": "another"})
    deployment.ssm.update_document(Name=HEAL, Content=changed, DocumentVersion="$LATEST")
    deployment.ssm.update_document_default_version(Name=HEAL, DocumentVersion="2")
    with pytest.raises(OptionError, match=f"runbook {HEAL}, version 2"):
        version_to_start(found, APPROVED)


if __name__ == "__main__":
    FILE = Path(release.__file__)
    text = FILE.read_text(encoding="utf-8")
    for constant, name in RUNBOOKS.items():
        text = re.sub(rf'{constant} = "\w*"', f'{constant} = "{released(name)}"', text)
    FILE.write_text(text, encoding="utf-8")
