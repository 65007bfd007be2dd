"""The clients of AWS, and the conversion of its errors into ApiError."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoRegionError

from express_path.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_config import ConfigServiceClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_ram import RAMClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_securityhub import SecurityHubClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_ssm import SSMClient
    from mypy_boto3_sts import STSClient

_FILTER_VALUES = 200
"""The most values that one EC2 filter takes (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html)."""

# Standard mode backs off with jitter and keeps a retry quota; throttling that outlasts it must fail the invocation.
LAMBDA_CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 6}, connect_timeout=5, read_timeout=20)
"""The retries and timeouts of the Lambda functions, in seconds."""
BRIEF_CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 2}, connect_timeout=2, read_timeout=5)
"""For reads that a function can do without, in seconds: it does not wait long for them."""

# Creating clients from one session is not thread-safe
# (https://boto3.amazonaws.com/v1/documentation/api/latest/guide/resources.html).
_creating_a_client = Lock()

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, eq=False)
class Aws:
    """The clients of one account and Region, each created on first use.

    The services that the Lambda functions call have a typed property; `client` creates any other. All accounts and
    Regions share one session, because each session takes over 100 ms and 20 MiB. `credentials` are boto3's keyword
    arguments, and empty for the session's own credentials.
    """

    session: boto3.Session
    client_config: Config
    region: str
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    _clients: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def connect(
        cls, region: str | None = None, profile: str | None = None, client_config: Config = LAMBDA_CONFIG
    ) -> Self:
        """Connect with the AWS settings that boto3 finds, unless a Region or a profile is given.

        Raise ApiError if there is no Region or no such profile.
        """
        with calling("boto3:Session"):
            session = boto3.Session(region_name=region, profile_name=profile)
            if not session.region_name:
                raise NoRegionError
        return cls(session, client_config, session.region_name)

    def client(self, service: str) -> Any:  # noqa: ANN401  # the caller knows the service's type
        """Return the client of a service by boto3's name for it. Raise ApiError if it cannot be created."""
        with calling(f"boto3:{service} in {self.region}"), _creating_a_client:
            if service not in self._clients:
                self._clients[service] = self.session.client(
                    service,  # type: ignore[call-overload]
                    region_name=self.region,
                    config=self.client_config,
                    **self.credentials,
                )
            return self._clients[service]

    @property
    def ec2(self) -> "EC2Client":
        """EC2."""
        return cast("EC2Client", self.client("ec2"))

    @property
    def config(self) -> "ConfigServiceClient":
        """AWS Config."""
        return cast("ConfigServiceClient", self.client("config"))

    @property
    def dynamodb(self) -> "DynamoDBClient":
        """DynamoDB, for the ledger."""
        return cast("DynamoDBClient", self.client("dynamodb"))

    @property
    def ram(self) -> "RAMClient":
        """Resource Access Manager, for the subnets that the account shares."""
        return cast("RAMClient", self.client("ram"))

    @property
    def security_hub(self) -> "SecurityHubClient":
        """Security Hub CSPM."""
        return cast("SecurityHubClient", self.client("securityhub"))

    @property
    def sts(self) -> "STSClient":
        """STS, for roles and the caller's identity."""
        return cast("STSClient", self.client("sts"))

    @property
    def ssm(self) -> "SSMClient":
        """Systems Manager, for its parameters and runs."""
        return cast("SSMClient", self.client("ssm"))

    @property
    def cloudwatch(self) -> "CloudWatchClient":
        """CloudWatch, for the function's own metrics."""
        return cast("CloudWatchClient", self.client("cloudwatch"))

    @property
    def events(self) -> "EventBridgeClient":
        """EventBridge, for the events that the rule publishes."""
        return cast("EventBridgeClient", self.client("events"))

    @property
    def functions(self) -> "LambdaClient":
        """Lambda."""
        return cast("LambdaClient", self.client("lambda"))

    @property
    def iam(self) -> "IAMClient":
        """IAM."""
        return cast("IAMClient", self.client("iam"))

    @property
    def sns(self) -> "SNSClient":
        """SNS, for the alarm topic."""
        return cast("SNSClient", self.client("sns"))

    @property
    def s3(self) -> "S3Client":
        """S3, for its directory buckets."""
        return cast("S3Client", self.client("s3"))


@contextmanager
def calling(operation: str) -> Iterator[None]:
    """Raise a failure of a call as ApiError. `operation` is its name, such as ec2:DescribeSubnets."""
    try:
        yield
    except ClientError as error:
        fault = error.response["Error"]
        raise ApiError(operation, fault["Code"], fault.get("Message", "")) from error
    except BotoCoreError as error:
        raise ApiError(operation, type(error).__name__, str(error)) from error


class Expecting:
    """Continue after the block of `with` if a call in it fails with one of these error codes, which is an answer."""

    def __init__(self, *codes: str) -> None:
        """Take the error codes. Every other error is raised."""
        self._codes = codes

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Return whether the error is an answer."""
        return isinstance(error, ApiError) and error.code in self._codes


def pages(client: Any, service: str, operation: str, field: str, **parameters: object) -> list[Mapping[str, Any]]:  # noqa: ANN401  # any client
    """Read all rows of a paginated call: `operation` in boto3's spelling, `field` the list in each page.

    Raise ApiError if any page fails, because an incomplete list is never used.
    """
    name = "".join(part.capitalize() for part in operation.split("_"))
    with calling(f"{service}:{name}"):
        paginator = client.get_paginator(operation)
        return [row for page in paginator.paginate(**parameters) for row in page[field]]


def filtered(ec2: "EC2Client", operation: str, field: str, name: str, values: Sequence[str]) -> list[Mapping[str, Any]]:
    """Read all rows of a paginated call of EC2, filtered by any number of values."""
    rows = []
    for start in range(0, len(values), _FILTER_VALUES):
        by_value = [{"Name": name, "Values": values[start : start + _FILTER_VALUES]}]
        rows += pages(ec2, "ec2", operation, field, Filters=by_value)
    return rows


def attributes(item: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return an item of DynamoDB without the types of its attributes: whole numbers as such, and sets as lists.

    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_AttributeValue.html
    """
    return {name: _attribute(kind, value) for name, typed in item.items() for kind, value in typed.items()}


def _attribute(kind: str, value: Any) -> Any:  # noqa: ANN401  # any JSON
    return int(value) if kind == "N" and value.isdecimal() else value


class OptionalReads:
    """Reads that may be denied. denied are the operations that were; refused are those that IAM refused.

    NotFound counts as denied: AWS reports another account's transit gateway route table as not found.
    """

    def __init__(self) -> None:
        """Begin with nothing denied."""
        self.denied: list[str] = []
        self.refused: list[str] = []

    def read(self, read: Callable[[], _Result]) -> _Result | None:
        """Return the result, None if it is denied; other failures raise."""
        try:
            return read()
        except ApiError as error:
            if not error.is_denied and not error.code.endswith(".NotFound"):
                raise
            self.denied.append(error.operation)
            self.refused += [error.operation] if error.is_denied else []
            return None


def unless_denied(read: Callable[[], _Result]) -> _Result | None:
    """Return the result of an optional read, or None if its permission is missing. Raise other errors."""
    try:
        return read()
    except ApiError as error:
        if error.is_denied:
            return None
        raise
