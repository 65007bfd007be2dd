"""Clients that move: to other Regions and into other accounts, all out of one session."""

from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, cast

import boto3
from botocore.config import Config

from express_path.adapters.aws import Aws, calling, pages
from express_path.domain.network.snapshot import is_express_service
from express_path.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_organizations import OrganizationsClient
    from mypy_boto3_pricing import PricingClient

FALLBACK_REGION = "us-east-1"
"""Where to ask which Regions there are when the AWS settings name none: it is in force in every account."""

# Many accounts are read at once, and AWS throttles by account: standard mode backs off with jitter.
_PATIENT = Config(retries={"mode": "standard", "total_max_attempts": 6}, connect_timeout=5, read_timeout=30)


class AccountClients(Aws):
    """The clients of one account and Region, from which those of other Regions and accounts can be had.

    A session for each would cost over 100 ms and 20 MiB, so all share one. Making clients from one session is not safe
    among threads (https://boto3.amazonaws.com/v1/documentation/api/latest/guide/resources.html), so one at a time does.
    """

    _making_a_client = Lock()

    def __init__(
        self, session: boto3.Session, credentials: Mapping[str, str] | None = None, region: str | None = None
    ) -> None:
        """Use the session's credentials and Region unless others are given."""
        super().__init__(session, credentials)
        self._region = region or session.region_name

    @classmethod
    def anywhere(cls, profile: str | None = None) -> Self:
        """The clients of the Region that the AWS settings name, else of one that answers for all."""
        try:
            return cls.connect(None, profile)
        except ApiError as error:
            if error.code != "NoRegionError":
                raise
            return cls.connect(FALLBACK_REGION, profile)

    @property
    def region(self) -> str:
        """The Region of these clients."""
        return self._region

    def in_region(self, region: str) -> Self:
        """The same account in another Region."""
        return type(self)(self._session, self._credentials, region)

    def assuming(self, role_arn: str, external_id: str = "") -> Self:
        """The same Region in the account of a role. Raises ApiError where it may not be assumed."""
        return super().assuming(role_arn, external_id).in_region(self._region)

    def _client(self, service: str) -> Any:  # noqa: ANN401  # each property has its own type
        with calling(f"boto3:{service} in {self._region}"), self._making_a_client:
            return self._session.client(
                service,  # type: ignore[call-overload]
                region_name=self._region,
                config=_PATIENT,
                **self._credentials,
            )

    @cached_property
    def organizations(self) -> "OrganizationsClient":
        """AWS Organizations."""
        return cast("OrganizationsClient", self._client("organizations"))

    @cached_property
    def cloudformation(self) -> Any:  # noqa: ANN401  # no types are installed for it
        """CloudFormation."""
        return self._client("cloudformation")

    @cached_property
    def cloudwatch(self) -> "CloudWatchClient":
        """CloudWatch."""
        return cast("CloudWatchClient", self._client("cloudwatch"))

    @cached_property
    def logs(self) -> "CloudWatchLogsClient":
        """CloudWatch Logs."""
        return cast("CloudWatchLogsClient", self._client("logs"))

    @cached_property
    def pricing(self) -> "PricingClient":
        """The Price List."""
        return cast("PricingClient", self._client("pricing"))

    @cached_property
    def caller(self) -> tuple[str, str]:
        """Account id and partition of the credentials in use. Raises ApiError."""
        with calling("sts:GetCallerIdentity"):
            answer = self.sts.get_caller_identity()
        return answer["Account"], answer["Arn"].split(":")[1]

    def enabled_regions(self) -> list[str]:
        """The Regions that are in force in this account, sorted.

        https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeRegions.html leaves out those that are off.
        """
        with calling("ec2:DescribeRegions"):
            return sorted(row["RegionName"] for row in self.ec2.describe_regions()["Regions"])

    def offers_s3_express(self) -> bool:
        """Whether the Region has a prefix list of S3 Express, which is what makes the service reachable in a VPC."""
        lists = pages(self.ec2, "ec2", "describe_prefix_lists", "PrefixLists")
        return any(is_express_service(str(row.get("PrefixListName")), self._region) for row in lists)
