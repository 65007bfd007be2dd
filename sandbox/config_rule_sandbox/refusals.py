"""Calls that the sandbox must refuse, and the error codes that it refuses them with."""

from collections.abc import Callable

from botocore.exceptions import ClientError


class NotRefusedError(AssertionError):
    """A call that had to be refused was served."""


def refused(call: Callable[..., object], **parameters: object) -> str:
    """Make a call of a boto3 client and return the error code it is refused with. NotRefusedError if it is served."""
    try:
        call(**parameters)
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    raise NotRefusedError(call)
