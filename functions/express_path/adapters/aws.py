"""Clients of AWS, and the translation of its refusals into errors that carry data."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoRegionError

from express_path.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ram import RAMClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_ssm import SSMClient
    from mypy_boto3_sts import STSClient
    from mypy_boto3_sts.type_defs import AssumeRoleRequestTypeDef

DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
"""The codes by which AWS says that a permission is missing."""

_FILTER_VALUES = 200
"""The most values that one EC2 filter takes (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html)."""

# Standard mode backs off with jitter and keeps a retry quota; throttling that outlasts it must fail the invocation.
_RETRYING = Config(retries={"mode": "standard", "total_max_attempts": 6}, connect_timeout=5, read_timeout=20)

_Result = TypeVar("_Result")


class Aws:
    """The clients of one account and Region, each made when first asked for, out of one session."""

    def __init__(self, session: boto3.Session, credentials: Mapping[str, str] | None = None) -> None:
        """Use the session's credentials unless others are given, as boto3 names them."""
        self._session = session
        self._credentials = dict(credentials or {})

    @classmethod
    def connect(cls, region: str | None = None, profile: str | None = None) -> Self:
        """Take Region and credentials from the environment unless named. Raises ApiError where they name nothing.

        AWS_REGION is every SDK's setting but boto3's (https://docs.aws.amazon.com/sdkref/latest/guide/feature-region.html).
        """
        with calling("boto3:Session"):
            session = boto3.Session(region_name=region or os.environ.get("AWS_REGION"), profile_name=profile)
            if not session.region_name:
                raise NoRegionError
        return cls(session)

    def assuming(self, role_arn: str, external_id: str = "") -> Self:
        """The same Region in the account of a role. Raises ApiError where it may not be assumed."""
        with calling("sts:AssumeRole"):
            request: AssumeRoleRequestTypeDef = {"RoleArn": role_arn, "RoleSessionName": "express-path"}
            if external_id:
                request["ExternalId"] = external_id
            answer = self.sts.assume_role(**request)["Credentials"]
        return type(self)(
            self._session,
            {
                "aws_access_key_id": answer["AccessKeyId"],
                "aws_secret_access_key": answer["SecretAccessKey"],
                "aws_session_token": answer["SessionToken"],
            },
        )

    def _client(self, service: str) -> Any:  # noqa: ANN401  # each property has its own type
        return self._session.client(service, config=_RETRYING, **self._credentials)  # type: ignore[call-overload]

    @property
    def region(self) -> str:
        """The Region of these clients, such as us-east-1."""
        return self._session.region_name

    @cached_property
    def ec2(self) -> "EC2Client":
        """EC2."""
        return cast("EC2Client", self._client("ec2"))

    @cached_property
    def config(self) -> "ConfigServiceClient":
        """AWS Config."""
        return cast("ConfigServiceClient", self._client("config"))

    @cached_property
    def dynamodb(self) -> "DynamoDBClient":
        """DynamoDB, for the ledger."""
        return cast("DynamoDBClient", self._client("dynamodb"))

    @cached_property
    def ram(self) -> "RAMClient":
        """Resource Access Manager, for the subnets that the account shares."""
        return cast("RAMClient", self._client("ram"))

    @cached_property
    def sts(self) -> "STSClient":
        """STS, for the caller's identity."""
        return cast("STSClient", self._client("sts"))

    @cached_property
    def ssm(self) -> "SSMClient":
        """Systems Manager, for its parameters."""
        return cast("SSMClient", self._client("ssm"))

    @cached_property
    def s3(self) -> "S3Client":
        """S3, for its directory buckets."""
        return cast("S3Client", self._client("s3"))


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


def filtered(ec2: "EC2Client", operation: str, field: str, name: str, values: Sequence[str]) -> list[Mapping[str, Any]]:
    """All rows of a paginated call of EC2, filtered by values, however many these are."""
    found = []
    for start in range(0, len(values), _FILTER_VALUES):
        by_value = [{"Name": name, "Values": values[start : start + _FILTER_VALUES]}]
        found += pages(ec2, "ec2", operation, field, Filters=by_value)
    return found


def unless_denied(read: Callable[[], _Result]) -> _Result | None:
    """The result of an optional read, None where a permission for it is missing; other failures raise."""
    try:
        return read()
    except ApiError as error:
        if error.code in DENIED:
            return None
        raise
