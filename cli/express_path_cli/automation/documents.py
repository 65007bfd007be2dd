"""The runbook of this release that undoes a heal, by the hash of its content, and the version of a deployed one that has it."""

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING

from express_path.adapters.aws import calling
from express_path_cli.terminal.errors import OptionError

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

UNDO_HASH = "40c9c966537e3f8579ab9d5c8e27dbcdbdc0333ac5e55a57af0bdc0d92d3cc82"
"""What content_hash returns for runbooks/RemoveS3ExpressGatewayEndpoint.yaml.

`python -m tests.cli.automation.test_documents` writes it.
"""
_SCALAR = re.compile(r'"(true|false|[\d.]+)"')


def content_hash(content: str) -> str:
    """Return the SHA-256 of a runbook's JSON, whatever the order of its keys.

    CloudFormation may have made texts of numbers and booleans.
    """
    return sha256(_SCALAR.sub(r"\1", json.dumps(json.loads(content), sort_keys=True)).encode()).hexdigest()


def released_version(ssm: "SSMClient", name: str) -> str:
    """Return the default version of the runbook that undoes a heal. Raise ApiError, and OptionError if it is not the runbook of this release.

    Start this version: the default one may be another by then.
    """
    with calling("ssm:GetDocument"):
        found = ssm.get_document(Name=name, DocumentFormat="JSON")
    if content_hash(found["Content"]) != UNDO_HASH:
        raise OptionError(
            f"runbook {name}, version {found['DocumentVersion']}, is not the runbook of this version of express-path",
            "nothing was started: use the version that was rolled out, or update the StackSet",
        )
    return found["DocumentVersion"]
