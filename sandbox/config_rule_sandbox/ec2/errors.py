"""The errors of the EC2 API, with the codes of AWS and the HTTP statuses that moto does not know.

Codes: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html.
"""

from moto.ec2.exceptions import EC2ClientError

STATUSES = {
    "UnauthorizedOperation": 403,
    "AuthFailure": 401,
    "RequestLimitExceeded": 503,
    "InternalError": 500,
}
"""HTTP statuses other than 400, by error code."""


class ApiError(EC2ClientError):
    """A refusal by the EC2 API: `code` is AWS's error code, `message` AWS's message."""

    def __init__(self, code: str, message: str) -> None:
        """Keep both for the response."""
        super().__init__(code, message)


def not_found(code: str, kind: str, resource_id: str) -> ApiError:
    """Return the error for an id that does not exist, worded as AWS words it: "The vpc ID 'vpc-1' does not exist"."""
    return ApiError(code, f"The {kind} ID '{resource_id}' does not exist")
