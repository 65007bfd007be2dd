"""The runbooks of this release, by the hash of their content, and the version of a deployed one that has it."""

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from express_path.adapters.aws import calling
from express_path_cli.terminal.errors import OptionError

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

RELEASED = {
    "AddS3ExpressGatewayEndpoint": "c1d9077e4f1abf9e35f6bba97f5ed9d043cd1fad0498cb2711b66598479efba4",
    "AddS3ExpressGatewayEndpointWithApproval": "5edd0d22cc8317d4a6e7169a7e7515322d0deccb760191e88f51674db0848990",
    "RemoveS3ExpressGatewayEndpoint": "71a703a40ce62680a8377d12bdb6f5d608083b270d0b204b636e2d9f04dc3a74",
}
"""What content_hash returns for each file of runbooks/. `python -m tests.cli.automation.test_documents` writes them."""


def content_hash(content: str) -> str:
    """Return the SHA-256 of a runbook's JSON, whatever the order of its keys."""
    return sha256(json.dumps(json.loads(content), sort_keys=True).encode()).hexdigest()


def released_version(ssm: "SSMClient", name: str) -> str:
    """Return the default version of a runbook. Raise ApiError, and OptionError if it is not the runbook of this release.

    Start this version: the default one may be another by then.
    """
    with calling("ssm:GetDocument"):
        found = ssm.get_document(Name=name, DocumentFormat="JSON")
    # A rule of another name appends it to the names of its runbooks.
    if content_hash(found["Content"]) != RELEASED[name.partition("-")[0]]:
        raise OptionError(
            f"runbook {name}, version {found['DocumentVersion']}, is not the runbook of this version of express-path",
            "nothing was started: use the version that was rolled out, or update the StackSet",
        )
    return found["DocumentVersion"]
