"""Read policies: from files, and the identity policies of an account."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from express_path.adapters.aws import Aws, pages
from express_path.domain.heal.preflight import Policy
from express_path_cli.terminal.files import STDOUT

_FILTER = ["User", "Role", "Group", "LocalManagedPolicy", "AWSManagedPolicy"]


def policies_in_files(files: Iterable[Path]) -> Iterator[Policy]:
    """Yield the policy in each file; - is standard input. A file may also be what the AWS CLI prints of a policy."""
    for file in files:
        try:
            text = sys.stdin.read() if file == STDOUT else file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeError) as error:
            yield Policy(str(file), "", f"cannot be read: {getattr(error, 'strerror', None) or error}")
            continue
        yield Policy(str(file), _document(text))


def _document(text: str) -> str:
    """Return the policy document in the output of a call such as s3api get-bucket-policy, else the text as it is."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    while isinstance(found, Mapping) and "Statement" not in found:
        inner = [
            found[key] for key in ("Policy", "PolicyDocument", "PolicyVersion", "Document", "Content") if key in found
        ]
        if not inner:
            return text
        found = inner[0]
        if isinstance(found, str):
            return found
    return json.dumps(found)


def identity_policies(aws: Aws) -> Iterator[Policy]:
    """Yield every identity policy of an account: inline ones, and managed ones that somebody uses. Raise ApiError.

    https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetAccountAuthorizationDetails.html
    """
    for key in ("UserDetailList", "GroupDetailList", "RoleDetailList", "Policies"):
        for row in pages(aws.client("iam"), "iam", "get_account_authorization_details", key, Filter=_FILTER):
            yield from _of_managed(row) if key == "Policies" else _inline(row)


def _inline(row: Mapping[str, Any]) -> Iterator[Policy]:
    for key in ("UserPolicyList", "GroupPolicyList", "RolePolicyList"):
        for policy in row.get(key, []):
            yield Policy(f"{row['Arn']} {policy['PolicyName']}", json.dumps(policy["PolicyDocument"]))


def _of_managed(row: Mapping[str, Any]) -> Iterator[Policy]:
    if row.get("AttachmentCount") or row.get("PermissionsBoundaryUsageCount"):
        for version in row["PolicyVersionList"]:
            if version["IsDefaultVersion"]:
                yield Policy(row["Arn"], json.dumps(version["Document"]))
