"""What a person can do about an error of AWS, by its code."""

from express_path.adapters.aws import DENIED
from express_path.errors import ApiError

_STACK = "deploy the stack first, or name it with --stack; --region says where it is"
_BY_CODE = {
    ("NoCredentialsError", "PartialCredentialsError"): "sign in (aws sso login), set AWS_PROFILE, or use --profile",
    ("ExpiredToken", "ExpiredTokenException", "RequestExpired"): "these credentials have expired: sign in again",
    ("UnauthorizedSSOTokenError", "SSOTokenLoadError", "TokenRetrievalError"): "run: aws sso login",
    # EC2 answers AuthFailure: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
    ("InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch", "AuthFailure"): (
        "the credentials are not valid here: sign in again; a Region that is off for the account answers so, too"
    ),
    ("ProfileNotFound",): "aws configure list-profiles shows the profiles that there are",
    ("NoRegionError",): "use --region, or set AWS_REGION",
    ("InvalidRegionError",): "a Region's name looks like us-east-1",
    ("OptInRequired",): "the Region is off for this account: switch it on, or leave it out",
    ("EndpointConnectionError", "ConnectTimeoutError", "ReadTimeoutError", "ConnectionClosedError"): (
        "no answer: is the network up, and is the Region's name right?"
    ),
    ("AWSOrganizationsNotInUseException",): "this account is in no organization: leave --organization out",
    ("NoSuchConfigurationAggregatorException",): (
        "aws configservice describe-configuration-aggregators shows those of this account and Region"
    ),
    ("NoRunbooks", "cloudformation:ValidationError"): _STACK,
    ("AutomationExecutionNotFoundException",): "express-path heals lists the runs of past heals",
    ("Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException", "SlowDown"): (
        "try again later, or read many places with fewer --workers: AWS refused for too many calls, after waiting, too"
    ),
    ("InvalidAutomationExecutionParametersException",): (
        "give the whole id: a subnet's looks like subnet-0a1b2c3d4e5f60718, a run's is printed by heal"
    ),
    ("AutomationDefinitionNotFoundException",): "the stack's runbook is gone: deploy the stack again",
    ("logs:ResourceNotFoundException",): "aws logs describe-log-groups shows those of the account and Region",
}
_HINTS = {code: hint for codes, hint in _BY_CODE.items() for code in codes}
_BY_OPERATION = {
    "sts:AssumeRole": "the role must exist, trust this account, and you need sts:AssumeRole on it",
    "organizations:ListAccounts": (
        "allow organizations:ListAccounts; only the management account and delegated administrators may have it"
    ),
}
"""What is missing where an operation is denied, if not the permission alone."""


def hint_of(error: ApiError) -> str:
    """What a person can do about it, by the code, where need be of one service; empty where nothing is known."""
    service = error.operation.partition(":")[0]
    return _HINTS.get(f"{service}:{error.code}") or _HINTS.get(error.code) or _permission(error)


def _permission(error: ApiError) -> str:
    if error.code not in DENIED:
        return ""
    # https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
    if "explicit deny in a service control policy" in error.message:
        return f"the organization forbids {error.operation} by a service control policy, whatever the account allows"
    return _BY_OPERATION.get(
        error.operation, f"allow {error.operation}, or use credentials that may; docs/doctor.md has the policy"
    )
