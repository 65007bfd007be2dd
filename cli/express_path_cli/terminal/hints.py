"""What to do about an error of AWS, by its code."""

from express_path.errors import ApiError

_ACCESS_DENIED_PAGE = "https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html"
_STACK = "deploy the stack first, or name it with --stack, and its Region with --region"
_BY_CODE = {
    ("NoCredentialsError", "PartialCredentialsError"): "sign in (aws sso login), set AWS_PROFILE, or use --profile",
    ("ExpiredToken", "ExpiredTokenException", "RequestExpired"): "these credentials have expired: sign in again",
    ("UnauthorizedSSOTokenError", "SSOTokenLoadError", "TokenRetrievalError"): "run: aws sso login",
    # EC2 answers AuthFailure: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
    ("InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch", "AuthFailure"): (
        "the credentials are not valid here: sign in again; a Region that is disabled for the account causes this, too"
    ),
    ("ProfileNotFound",): "run `aws configure list-profiles` to list your profiles",
    ("NoRegionError",): "use --region, or set AWS_REGION",
    ("InvalidRegionError",): "a Region name looks like us-east-1",
    ("OptInRequired",): "the Region is disabled for this account: enable it, or leave it out",
    ("EndpointConnectionError", "ConnectTimeoutError", "ReadTimeoutError", "ConnectionClosedError"): (
        "there was no answer: check the network and the Region's name"
    ),
    ("AWSOrganizationsNotInUseException",): "this account is not in an organization: leave --organization out",
    ("NoSuchConfigurationAggregatorException",): (
        "run `aws configservice describe-configuration-aggregators` to list those of this account and Region"
    ),
    ("NoRunbooks", "cloudformation:ValidationError"): _STACK,
    ("AutomationExecutionNotFoundException",): "express-path heals lists the runs of past heals",
    ("Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException", "SlowDown"): (
        "try again later, or use fewer --workers: AWS throttled the calls, even after retries"
    ),
    ("InvalidAutomationExecutionParametersException",): (
        "give the whole ID: that of a subnet looks like subnet-0a1b2c3d4e5f60718, and heal prints that of a run"
    ),
    ("AutomationDefinitionNotFoundException",): "the stack's runbook was deleted: deploy the stack again",
    ("logs:ResourceNotFoundException",): "run `aws logs describe-log-groups` to list those of the account and Region",
}
_HINTS = {code: hint for codes, hint in _BY_CODE.items() for code in codes}
_BY_OPERATION = {
    "sts:AssumeRole": "the role must exist and trust this account, and you need sts:AssumeRole on it",
    "organizations:ListAccounts": (
        "allow organizations:ListAccounts, which works only in the management account and for delegated administrators"
    ),
}
"""What to do about denied operations that need more than the permission."""


def hint_of(error: ApiError) -> str:
    """Return what to do about an error, by its service and code or by its code, or an empty text."""
    service = error.operation.partition(":")[0]
    return _HINTS.get(f"{service}:{error.code}") or _HINTS.get(error.code) or _permission(error)


def _permission(error: ApiError) -> str:
    if not error.is_denied:
        return ""
    if "explicit deny in a service control policy" in error.message:
        return f"a service control policy of the organization denies {error.operation}"
    return _BY_OPERATION.get(
        error.operation, f"allow {error.operation}, or use credentials that allow it; see {_ACCESS_DENIED_PAGE}"
    )
