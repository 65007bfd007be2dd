"""People: users of IAM with policies, as whom requests are made."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.server import Sandbox


def create_user(sandbox: Sandbox, name: str, policies: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Create a user with managed policies, and return boto3's keyword arguments to act as this user."""
    iam: Client = direct_client(sandbox, "iam")
    iam.create_user(UserName=name)
    for number, policy in enumerate(policies):
        made = iam.create_policy(PolicyName=f"{name}-{number}", PolicyDocument=json.dumps(policy))
        iam.attach_user_policy(UserName=name, PolicyArn=made["Policy"]["Arn"])
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
