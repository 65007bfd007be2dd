"""Who starts an automation, and the role that it acts as.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-setup.html
"""

import json
from dataclasses import dataclass

from moto.iam.exceptions import NotFoundException
from moto.iam.models import iam_backends
from moto.sts.models import sts_backends
from moto.utilities.utils import get_partition

from config_rule_sandbox.iam.policies import Authorization, as_list, is_allowed, names_service
from config_rule_sandbox.server import CREDENTIALS
from config_rule_sandbox.ssm.faults import InvalidParametersError

SERVICE = "ssm.amazonaws.com"
CANNOT_ASSUME = "The defined assume role is unable to be assumed."
"""https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-troubleshooting.html."""

SESSION_SECONDS = 3600
Credentials = dict[str, str]


@dataclass(frozen=True, slots=True)
class Caller:
    """The principal of a request: its ARN, and boto3's keyword arguments to act as it."""

    arn: str
    credentials: Credentials


def caller(access_key_id: str, account_id: str, region: str) -> Caller:
    """Return who owns an access key. A key that was never issued acts as the sandbox's own account."""
    partition = get_partition(region)
    backend = sts_backends[account_id][partition]
    _, arn, _ = backend.get_caller_identity(access_key_id, region)
    assumed = backend.get_assumed_role_from_access_key(access_key_id)
    if assumed:
        return Caller(arn, _credentials(assumed.access_key_id, assumed.secret_access_key, assumed.session_token))
    for key in iam_backends[account_id][partition].access_keys.values():
        if key.access_key_id == access_key_id:
            return Caller(arn, _credentials(key.access_key_id, key.secret_access_key, None))
    return Caller(arn, CREDENTIALS)


def assume(role_arn: str, execution_id: str, account_id: str, region: str) -> Credentials:
    """Return credentials of the role, assumed by Systems Manager for one execution.

    InvalidParametersError if there is no such role in this account, or it does not trust ssm.amazonaws.com. Conditions
    are on the account and the execution:
    https://docs.aws.amazon.com/systems-manager/latest/userguide/cross-service-confused-deputy-prevention.html.
    """
    partition = get_partition(region)
    if not role_arn.startswith(f"arn:{partition}:iam::{account_id}:role/"):
        raise InvalidParametersError("The format of the supplied assume role ARN is invalid.")
    try:
        role = iam_backends[account_id][partition].get_role_by_arn(role_arn)
    except NotFoundException as error:
        raise InvalidParametersError(CANNOT_ASSUME) from error
    source = f"arn:{partition}:ssm:{region}:{account_id}:automation-execution/{execution_id}"
    wanted = Authorization("sts:AssumeRole", keys={"aws:SourceAccount": [account_id], "aws:SourceArn": [source]})
    statements = as_list(json.loads(role.assume_role_policy_document)["Statement"])
    # A trust policy names no resource: it is about its role.
    trusting = [{**statement, "Resource": "*"} for statement in statements if names_service(statement, SERVICE)]
    if not is_allowed(trusting, wanted):
        raise InvalidParametersError(CANNOT_ASSUME)
    session = sts_backends[account_id][partition].assume_role(
        region_name=region,
        role_session_name=f"Automation-{execution_id}",
        role_arn=role_arn,
        policy="",
        duration=SESSION_SECONDS,
        external_id="",
    )
    return _credentials(session.access_key_id, session.secret_access_key, session.session_token)


def _credentials(access_key_id: str, secret_access_key: str, session_token: str | None) -> Credentials:
    token = {"aws_session_token": session_token} if session_token else {}
    return {"aws_access_key_id": access_key_id, "aws_secret_access_key": secret_access_key, **token}
