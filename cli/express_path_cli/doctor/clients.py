"""Clients for a check-up: of the services that it alone asks, and soon tired, since it asks many things."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from botocore.config import Config

from express_path.adapters.aws import calling
from express_path_cli.organization.clients import AccountClients

if TYPE_CHECKING:
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sqs import SQSClient

_BRIEF = Config(retries={"mode": "standard", "total_max_attempts": 3}, connect_timeout=3, read_timeout=10)


class CheckupAws(AccountClients):
    """The clients of one account and Region; without an answer each check ends within half a minute."""

    def _client(self, service: str) -> Any:  # noqa: ANN401  # each property has its own type
        with calling(f"boto3:{service} in {self.region}"), self._making_a_client:
            return self._session.client(
                service,  # type: ignore[call-overload]
                region_name=self.region,
                config=_BRIEF,
                **self._credentials,
            )

    @cached_property
    def functions(self) -> "LambdaClient":
        """Lambda."""
        return cast("LambdaClient", self._client("lambda"))

    @cached_property
    def iam(self) -> "IAMClient":
        """IAM."""
        return cast("IAMClient", self._client("iam"))

    @cached_property
    def quotas(self) -> Any:  # noqa: ANN401  # no types are installed for it
        """Service Quotas."""
        return self._client("service-quotas")

    @cached_property
    def sns(self) -> "SNSClient":
        """SNS."""
        return cast("SNSClient", self._client("sns"))

    @cached_property
    def sqs(self) -> "SQSClient":
        """SQS."""
        return cast("SQSClient", self._client("sqs"))

    @cached_property
    def identity(self) -> tuple[str, str]:
        """Account id and ARN of whoever makes the calls; needs no permission. Raises ApiError."""
        with calling("sts:GetCallerIdentity"):
            answer = self.sts.get_caller_identity()
        return answer["Account"], answer["Arn"]
