"""Connections to AWS: the command's timeouts and retries, who the caller is, and what a Region offers."""

import os
from dataclasses import dataclass, replace
from typing import Self

from botocore.config import Config

from express_path.adapters.aws import Aws, calling, pages
from express_path.domain.network.snapshot import is_express_service
from express_path.errors import ApiError

FALLBACK_REGION = "us-east-1"
"""The Region to call if the AWS settings name none: it is enabled in every account."""

# Many accounts are read in parallel, and AWS throttles each account: standard mode backs off with jitter.
SCAN_CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 6}, connect_timeout=5, read_timeout=30)
"""The retries and timeouts, in seconds, of every command except `doctor` and `bench`."""
DOCTOR_CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 3}, connect_timeout=3, read_timeout=10)
"""Those of `doctor` and `bench`: without an answer, each check ends within half a minute."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The user or role whose credentials are used: its account (12 digits), and its ARN."""

    account_id: str
    arn: str

    @property
    def partition(self) -> str:
        """The partition of the credentials, such as aws or aws-cn."""
        return self.arn.split(":")[1]


def connect(region: str | None = None, profile: str | None = None, client_config: Config = SCAN_CONFIG) -> Aws:
    """Connect with the AWS settings, unless a Region or a profile is given. Raise ApiError if that is not possible.

    boto3 ignores AWS_REGION, which all other SDKs read
    (https://docs.aws.amazon.com/sdkref/latest/guide/feature-region.html).
    """
    return Aws.connect(region or os.environ.get("AWS_REGION"), profile, client_config)


def connect_anywhere(profile: str | None = None) -> Aws:
    """Connect to the Region of the AWS settings, or to FALLBACK_REGION if they name none. Raise ApiError."""
    try:
        return connect(None, profile)
    except ApiError as error:
        if error.code != "NoRegionError":
            raise
        return connect(FALLBACK_REGION, profile)


def read_caller(aws: Aws) -> Caller:
    """Read whose credentials are used, which needs no permission. Raise ApiError."""
    with calling("sts:GetCallerIdentity"):
        answer = aws.sts.get_caller_identity()
    return Caller(answer["Account"], answer["Arn"])


def enabled_regions(aws: Aws) -> list[str]:
    """Read the Regions that are enabled in this account, sorted. Raise ApiError.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeRegions.html omits disabled Regions.
    """
    with calling("ec2:DescribeRegions"):
        return sorted(row["RegionName"] for row in aws.ec2.describe_regions()["Regions"])


def offers_s3_express(aws: Aws) -> bool:
    """Read whether the Region has a prefix list of S3 Express, which it needs to be reached from a VPC."""
    lists = pages(aws.ec2, "ec2", "describe_prefix_lists", "PrefixLists")
    return any(is_express_service(str(row.get("PrefixListName")), aws.region) for row in lists)


@dataclass(frozen=True, slots=True)
class AccountRegion:
    """An account (12 digits) in one Region, with its clients. name: that of a member account, empty if it is not known."""

    account_id: str
    aws: Aws
    name: str = ""

    @classmethod
    def of_caller(cls, aws: Aws) -> Self:
        """Return the account of the credentials in use. Raise ApiError."""
        return cls(read_caller(aws).account_id, aws)

    @property
    def region(self) -> str:
        """The Region, such as us-east-1."""
        return self.aws.region

    def in_region(self, region: str) -> Self:
        """Return the same account in another Region."""
        return replace(self, aws=replace(self.aws, region=region))

    def __str__(self) -> str:
        name = f" ({self.name})" if self.name else ""
        return f"account {self.account_id}{name} {self.region}"
