"""Read policies: from files, of an account, and of an organization. What a heal reads itself is in adapters/policies.py."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import Aws, calling, pages
from express_path.adapters.policies import resource_policies
from express_path.domain.heal.preflight import Policy
from express_path.errors import ApiError
from express_path_cli.aws.sessions import AccountRegion
from express_path_cli.terminal.files import STDOUT

if TYPE_CHECKING:
    from mypy_boto3_organizations import OrganizationsClient

S3_EXPRESS = ".s3express"
"""How the service name of S3 Express's gateway endpoints ends."""
_FILTER = ["User", "Role", "Group", "LocalManagedPolicy", "AWSManagedPolicy"]


def policies_in_files(files: Iterable[Path]) -> Iterator[Policy]:
    """Yield the policy in each file; - is standard input. A file may also be what the AWS CLI prints of a policy."""
    for file in files:
        try:
            text = sys.stdin.read().removeprefix("\ufeff") if file == STDOUT else file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeError) as error:
            yield Policy(str(file), "", f"cannot be read: {getattr(error, 'strerror', None) or error}")
            continue
        yield from _in_text(str(file), text)


def _in_text(source: str, text: str) -> Iterator[Policy]:
    """Yield the policy of each endpoint in the output of ec2 describe-vpc-endpoints, else the one policy in a text."""
    try:
        contents = json.loads(text)
    except (ValueError, RecursionError):
        contents = None
    if isinstance(contents, Mapping) and isinstance(contents.get("VpcEndpoints"), list):
        for row in contents["VpcEndpoints"]:
            endpoint = row if isinstance(row, Mapping) else {}
            if str(endpoint.get("ServiceName", S3_EXPRESS)).endswith(S3_EXPRESS):
                endpoint_id = str(endpoint.get("VpcEndpointId") or "")
                document = _document(endpoint.get("PolicyDocument"))
                yield Policy(f"{endpoint_id or 'endpoint'} in {source}", document, endpoint_id=endpoint_id)
    else:
        yield Policy(source, text if contents is None else _document(contents, text))


def _document(found: object, text: str = "") -> str:
    """Return the policy document in the output of a call such as s3api get-bucket-policy, or the text where there is none."""
    while isinstance(found, Mapping) and "Statement" not in found:
        inner = [
            found[key] for key in ("Policy", "PolicyDocument", "PolicyVersion", "Document", "Content") if key in found
        ]
        if not inner:
            break
        found, text = inner[0], ""
    if isinstance(found, str):
        return found
    return text or json.dumps(found)


def account_policies(place: AccountRegion) -> Iterator[Policy]:
    """Yield the policies of an account: of directory buckets and access points of its Region, and identity policies.

    For what cannot be read, the Policy says why. Raise ApiError if identity policies are not denied, but cannot be read.
    """
    yield from resource_policies(place.aws, place.account_id)
    try:
        yield from _identity_policies(place.aws)
    except ApiError as error:
        if not error.is_denied:
            raise
        yield Policy(f"identity policies of account {place.account_id}", "", str(error))


def _identity_policies(aws: Aws) -> Iterator[Policy]:
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


def organization_policies(organizations: "OrganizationsClient") -> Iterator[Policy]:
    """Yield the service control policies and the resource control policies of the organization.

    For what cannot be read, the Policy says why
    (https://docs.aws.amazon.com/organizations/latest/APIReference/API_ListPolicies.html).
    """
    for kind in ("SERVICE_CONTROL_POLICY", "RESOURCE_CONTROL_POLICY"):
        name = kind.lower().replace("_", " ")
        try:
            for row in pages(organizations, "organizations", "list_policies", "Policies", Filter=kind):
                with calling("organizations:DescribePolicy"):
                    content = organizations.describe_policy(PolicyId=row["Id"])["Policy"]["Content"]
                yield Policy(f"{name} {row['Name']} ({row['Id']})", content)
        except ApiError as error:
            yield Policy(f"each {name}", "", str(error))
