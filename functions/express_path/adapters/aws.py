"""Clients of AWS, and the translation of its refusals into errors that carry data."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoRegionError

from express_path.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_ssm import SSMClient
    from mypy_boto3_sts import STSClient

DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthFailure"})
"""The codes by which AWS says that a permission is missing."""

# Standard mode backs off with jitter and keeps a retry quota; throttling that outlasts it must fail the invocation.
_RETRYING = Config(retries={"mode": "standard", "total_max_attempts": 6}, connect_timeout=5, read_timeout=20)

_Result = TypeVar("_Result")


class Aws:
    """The clients of one account and Region, each made when first asked for, out of one session."""

    def __init__(self, region: str | None = None, profile: str | None = None) -> None:
        """Take Region and credentials from the environment unless given. Raises ApiError where they name nothing."""
        with calling("boto3:Session"):
            self._session = boto3.Session(region_name=region, profile_name=profile)
            if not self._session.region_name:
                raise NoRegionError

    @property
    def region(self) -> str:
        """The Region of these clients, such as us-east-1."""
        return self._session.region_name

    @cached_property
    def ec2(self) -> "EC2Client":
        """EC2."""
        return self._session.client("ec2", config=_RETRYING)

    @cached_property
    def config(self) -> "ConfigServiceClient":
        """AWS Config."""
        return self._session.client("config", config=_RETRYING)

    @cached_property
    def sts(self) -> "STSClient":
        """STS, for the caller's identity."""
        return self._session.client("sts", config=_RETRYING)

    @cached_property
    def ssm(self) -> "SSMClient":
        """Systems Manager, for its parameters."""
        return self._session.client("ssm", config=_RETRYING)

    @cached_property
    def s3(self) -> "S3Client":
        """S3, for its directory buckets."""
        return self._session.client("s3", config=_RETRYING)


@contextmanager
def calling(operation: str) -> Iterator[None]:
    """Turn a failure of a call into ApiError; operation is its name, such as ec2:DescribeSubnets."""
    try:
        yield
    except ClientError as error:
        fault = error.response["Error"]
        raise ApiError(operation, fault["Code"], fault["Message"]) from error
    except BotoCoreError as error:
        raise ApiError(operation, type(error).__name__, str(error)) from error


def pages(client: Any, service: str, operation: str, field: str, **parameters: object) -> list[Mapping[str, Any]]:  # noqa: ANN401
    """All rows of a paginated call: operation in boto3's spelling, field the list in each page.

    Raises ApiError where any page fails: part of a list is no list.
    """
    name = "".join(part.capitalize() for part in operation.split("_"))
    with calling(f"{service}:{name}"):
        paginator = client.get_paginator(operation)
        return [row for page in paginator.paginate(**parameters) for row in page[field]]


def unless_denied(read: Callable[[], _Result]) -> _Result | None:
    """The result of an optional read, None where a permission for it is missing; other failures raise."""
    try:
        return read()
    except ApiError as error:
        if error.code in DENIED:
            return None
        raise
