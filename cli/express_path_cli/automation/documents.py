"""The runbooks of this release, by the hash of their content, and the version of a deployed one that has it."""

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING

from express_path.adapters.aws import calling
from express_path_cli.terminal.errors import OptionError

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

HEAL_HASH = "d3612f958190106db210a5a719ab55f386f3bbba7e3df4432230d1451908a504"
APPROVAL_HASH = "bb0888340ae6808f368272bbad6ab7ccf64a36dbf435c22d14d3728832acd100"
UNDO_HASH = "40c9c966537e3f8579ab9d5c8e27dbcdbdc0333ac5e55a57af0bdc0d92d3cc82"
"""What content_hash returns for the runbooks of this release: runbooks/*.yaml.

`python -m tests.cli.automation.test_documents` writes them.
"""
_SCALAR = re.compile(r'"(true|false|[\d.]+)"')


def content_hash(content: str) -> str:
    """Return the SHA-256 of a runbook's JSON, whatever the order of its keys.

    CloudFormation may have made texts of numbers and booleans.
    """
    return sha256(_SCALAR.sub(r"\1", json.dumps(json.loads(content), sort_keys=True)).encode()).hexdigest()


def released_version(ssm: "SSMClient", name: str, expected_hash: str) -> str:
    """Return the default version of a runbook. Raise ApiError, and OptionError if it is not the runbook of this release.

    Start this version, where the call takes one: the default one may be another by then.
    """
    with calling("ssm:GetDocument"):
        found = ssm.get_document(Name=name, DocumentFormat="JSON")
    if content_hash(found["Content"]) != expected_hash:
        raise OptionError(
            f"runbook {name}, version {found['DocumentVersion']}, is not the runbook of this version of express-path",
            "nothing was started: use the version that was rolled out, or update the StackSet",
        )
    return found["DocumentVersion"]
