"""The runbooks of this release, by the hash of their content, and what is checked before one of them is started."""

import json
import re
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING

from express_path.adapters.aws import Expecting, calling
from express_path.adapters.runbooks import Runbooks
from express_path_cli.automation.deployments import Deployment
from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.files import RepeatedKeyError, without_repeated_keys

if TYPE_CHECKING:
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_ssm import SSMClient

HEAL_HASH = "b1e621395d4f682f13c2eae21df86904680ead709facebabc5068d56bb19de74"
APPROVAL_HASH = "5ec08fc2805c09a10e773e00691218998fcd32460dec75ec30a0fc1cee34de96"
UNDO_HASH = "2c90ee2743fdf731cb9108a5d77b4d7e9ad596bd2fb54cc6920b0487191c4120"
"""What content_hash returns for the runbooks of this release: runbooks/*.yaml.

`python -m tests.cli.automation.test_release` writes them.
"""
HASHES = Runbooks(HEAL_HASH, APPROVAL_HASH, UNDO_HASH)
_SCALAR = re.compile(r'"(true|false|[\d.]+)"')


def content_hash(content: str) -> str:
    """Return the SHA-256 of a runbook's JSON, whatever the order of its keys.

    CloudFormation may have made texts of numbers and booleans. The hash is empty if an object has a key twice: which of the
    two values Systems Manager uses is not documented (https://www.rfc-editor.org/rfc/rfc8259#section-4).
    """
    try:
        document = json.loads(content, object_pairs_hook=without_repeated_keys)
    except RepeatedKeyError:
        return ""
    return sha256(_SCALAR.sub(r"\1", json.dumps(document, sort_keys=True)).encode()).hexdigest()


def version_to_start(deployment: Deployment, runbook: str) -> str:
    """Return the version of a deployment's runbook to start. Call it right before each start, also of a dry run.

    The role of the runbooks must exist with its path, and the default version must be the runbook of this release. Start
    the version that is returned, where the call takes one: the default one may be another by then. A run that asks for an
    approval starts the runbook that heals. Raise ApiError, OptionError.
    """
    aws = deployment.new_clients()
    _check_role(aws.iam, deployment)
    if runbook == deployment.runbooks.approval:
        _released_version(aws.ssm, deployment, deployment.runbooks.heal)
    return _released_version(aws.ssm, deployment, runbook)


def _check_role(iam: "IAMClient", deployment: Deployment) -> None:
    """Raise OptionError if there is no role of the runbooks with the path of express-path, and ApiError."""
    expected = deployment.automation_role_arn
    actual = "none"
    with Expecting("NoSuchEntity", "NoSuchEntityException"), calling("iam:GetRole"):
        actual = iam.get_role(RoleName=expected.rpartition("/")[2])["Role"]["Arn"]
    if actual != expected:
        raise OptionError(
            f"{deployment}: its resource AutomationRole must be {expected}, and the role of that name is {actual}",
            "nothing was started: find out who made it, and deploy the stack again",
        )


def _released_version(ssm: "SSMClient", deployment: Deployment, runbook: str) -> str:
    """Return the default version of a runbook. Raise ApiError, and OptionError if it is not the runbook of this release."""
    with calling("ssm:GetDocument"):
        found = ssm.get_document(Name=runbook, DocumentFormat="JSON")
    if is_released(deployment.runbooks, runbook, found["Content"]):
        return found["DocumentVersion"]
    raise OptionError(
        f"runbook {runbook}, version {found['DocumentVersion']}, is not the runbook of express-path {this_version()}",
        f"nothing was started: {what_to_use(deployment.version)}",
    )


def is_released(runbooks: Runbooks, runbook: str, content: str) -> bool:
    """Return whether the content of one of these runbooks, as JSON, is that of this release."""
    return content_hash(content) == dict(zip(runbooks, HASHES, strict=True))[runbook]


def this_version() -> str:
    """Return the version of the command."""
    return version("express-path")


def what_to_use(deployed: str) -> str:
    """Return what to do about a runbook that is not the one of this release. deployed: the version of the stack, or empty."""
    if deployed and deployed != this_version():
        return f"use version {deployed} of the command, with which the stack was deployed (pipx install express-path=={deployed}), or deploy the stack again"
    return "find out who changed it, and deploy the stack again"
