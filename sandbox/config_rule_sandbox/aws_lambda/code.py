"""The code of Lambda functions in buckets of their Region, in any account whose bucket policy allows it; and their logs."""

import json
from collections.abc import Mapping
from typing import Any

from moto.awslambda import models
from moto.awslambda.models import LambdaFunction
from moto.core.exceptions import JsonRESTError
from moto.organizations.models import organizations_backends
from moto.s3.models import s3_backends

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.iam.policies import Authorization, Statement, as_list, is_allowed
from config_rule_sandbox.patching.patches import Patches

ROLE = "role/deployment"
"""A role that may do everything in its own account, such as the one with which CloudFormation deploys a stack."""


class CodeError(JsonRESTError):
    """Lambda could not read the code. It reads with the permissions of the function's creator.

    https://docs.aws.amazon.com/lambda/latest/dg/troubleshooting-deployment.html
    """

    code = 400


def apply(patches: Patches) -> None:
    """Let functions take their code from buckets of other accounts, and only from their own Region, and keep their logs.

    https://docs.aws.amazon.com/lambda/latest/api/API_FunctionCode.html,
    https://docs.aws.amazon.com/lambda/latest/api/API_LoggingConfig.html
    """
    patches.wrap(LambdaFunction, "_set_function_code", _checking)
    patches.wrap(models, "_validate_s3_bucket_and_key", _of_any_account)
    patches.wrap(LambdaFunction, "__init__", _keeping_logging)
    patches.wrap(LambdaFunction, "get_configuration", _with_logging)


def _keeping_logging(original: Moto) -> Moto:
    def make(self: Moto, account_id: str, spec: dict[str, Any], *more: Any, **named: Any) -> None:  # noqa: ANN401  # moto's
        original(self, account_id, spec, *more, **named)
        default = {"LogFormat": "Text", "LogGroup": f"/aws/lambda/{self.function_name}"}
        self.sandbox_logging = default | spec.get("LoggingConfig", {})

    return make


def _with_logging(original: Moto) -> Moto:
    def get_configuration(self: Moto, *given: Any, **named: Any) -> dict[str, Any]:  # noqa: ANN401  # moto's
        return {**original(self, *given, **named), "LoggingConfig": self.sandbox_logging}

    return get_configuration


def _checking(original: Moto) -> Moto:
    def set_function_code(self: Moto, code: dict[str, Any]) -> None:
        owner = _owner(code.get("S3Bucket", ""))
        if owner:
            _check(self.account_id, self.region, owner, code)
        original(self, code)

    return set_function_code


def _of_any_account(original: Moto) -> Moto:
    def find(account_id: str, partition: str, data: dict[str, Any]) -> Moto:
        return original(_owner(data["S3Bucket"]) or account_id, partition, data)

    return find


def _owner(bucket: str) -> str | None:
    """Return the account that owns a bucket, None if there is no such bucket."""
    _, account_id = s3_backends.bucket_accounts.get(bucket, ("", None))
    return account_id


def _check(account_id: str, region: str, owner: str, code: Mapping[str, str]) -> None:
    """Raise CodeError if a function of an account and Region cannot have its code from a bucket."""
    name = code["S3Bucket"]
    bucket = s3_backends[owner]["aws"].buckets[name]
    if bucket.region_name != region:
        raise CodeError(
            "InvalidParameterValueException",
            "Error occurred while GetObject. S3 Error Code: PermanentRedirect. S3 Error Message: "
            f"The bucket is in this region: {bucket.region_name}. Please use this region to retry the request",
        )
    wanted = Authorization("s3:GetObject", f"arn:aws:s3:::{name}/{code['S3Key']}", _keys(account_id))
    if owner != account_id and not is_allowed(_statements(bucket, account_id), wanted):
        raise CodeError(
            "AccessDeniedException",
            "Your access has been denied by S3, please make sure your request credentials have permission to GetObject "
            f"for {name}/{code['S3Key']}. S3 Error Code: AccessDenied. S3 Error Message: Access Denied",
        )


def _keys(account_id: str) -> dict[str, list[str]]:
    """Return the condition keys of a request by Lambda in the name of an account's role."""
    keys = {
        "aws:PrincipalArn": [f"arn:aws:iam::{account_id}:{ROLE}"],
        "aws:PrincipalAccount": [account_id],
        "aws:PrincipalIsAWSService": ["false"],
        "aws:SecureTransport": ["true"],
    }
    organization = organization_of(account_id)
    return keys | ({"aws:PrincipalOrgID": [organization]} if organization else {})


def _statements(bucket: Moto, account_id: str) -> list[Statement]:
    """Return the statements of a bucket's policy that name everyone or an account."""
    if not bucket.policy:
        return []
    named = {"*", account_id, f"arn:aws:iam::{account_id}:root"}
    statements = as_list(json.loads(bucket.policy)["Statement"])
    return [statement for statement in statements if not named.isdisjoint(_principals(statement))]


def _principals(statement: Statement) -> list[str]:
    principal = statement["Principal"]
    return [principal] if isinstance(principal, str) else as_list(principal.get("AWS", []))


def organization_of(account_id: str) -> str | None:
    """Return the ID of the organization that an account belongs to, None if there is none."""
    for account in list(organizations_backends):
        for backend in organizations_backends[account].values():
            if backend.org and any(member.id == account_id for member in backend.accounts):
                return str(backend.org.id)
    return None
