"""Act with a role."""

from dataclasses import replace
from typing import Any

from express_path.adapters.aws import Aws, calling


def assuming(aws: Aws, role_arn: str, external_id: str = "") -> Aws:
    """Return the same Region in the account of a role. Raise ApiError if the role cannot be assumed."""
    with calling("sts:AssumeRole"):
        request: Any = {"RoleArn": role_arn, "RoleSessionName": "express-path"}
        if external_id:
            request["ExternalId"] = external_id
        answer = aws.sts.assume_role(**request)["Credentials"]
    credentials = {
        "aws_access_key_id": answer["AccessKeyId"],
        "aws_secret_access_key": answer["SecretAccessKey"],
        "aws_session_token": answer["SessionToken"],
    }
    return replace(aws, credentials=credentials)
