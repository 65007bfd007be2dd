"""Reading what healing needs besides the rule: runbooks, role, quotas, calendar and the service itself."""

from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import calling, pages
from express_path.domain.heal.quotas import counts_against_quota
from express_path.domain.network.snapshot import is_express_service
from express_path.errors import ApiError
from express_path_cli.doctor.heal_checks import CONCURRENT, Calendar

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_ssm import SSMClient

GATEWAY_ENDPOINTS = "L-1B52E74A"
"""The quota of gateway endpoints for each Region
(https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-limits-endpoints.html)."""


def read_document_status(ssm: "SSMClient", name: str) -> str | None:
    """The status of a runbook's default version, such as Active; None where there is none. Raises ApiError."""
    try:
        with calling("ssm:DescribeDocument"):
            return ssm.describe_document(Name=name)["Document"].get("Status", "")
    except ApiError as error:
        if error.code != "InvalidDocument":
            raise
        return None


def role_exists(iam: "IAMClient", arn: str) -> bool:
    """Whether there is a role. Raises ApiError."""
    try:
        with calling("iam:GetRole"):
            iam.get_role(RoleName=arn.rpartition("/")[2])
    except ApiError as error:
        if error.code not in ("NoSuchEntity", "NoSuchEntityException"):
            raise
        return False
    return True


def count_gateway_endpoints(ec2: "EC2Client") -> int:
    """How many gateway endpoints count against the Region's quota. Raises ApiError."""
    gateways = [{"Name": "vpc-endpoint-type", "Values": ["Gateway"]}]
    found = pages(ec2, "ec2", "describe_vpc_endpoints", "VpcEndpoints", Filters=gateways)
    return sum(counts_against_quota(str(each.get("State"))) for each in found)


def read_endpoint_quota(quotas: Any) -> int:  # noqa: ANN401  # no types are installed for it
    """How many gateway endpoints the Region may have: what was granted, else AWS's default. Raises ApiError.

    https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetServiceQuota.html
    """
    named = {"ServiceCode": "vpc", "QuotaCode": GATEWAY_ENDPOINTS}
    try:
        with calling("servicequotas:GetServiceQuota"):
            found = quotas.get_service_quota(**named)
    except ApiError as error:
        if error.code != "NoSuchResourceException":
            raise
        with calling("servicequotas:GetAWSDefaultServiceQuota"):
            found = quotas.get_aws_default_service_quota(**named)
    return int(found["Quota"]["Value"])


def count_running_automations(ssm: "SSMClient") -> int:
    """How many automations run in this account and Region, counting as far as it matters. Raises ApiError."""
    running: dict[str, Any] = {"Filters": [{"Key": "ExecutionStatus", "Values": ["InProgress"]}]}
    limits = {"MaxItems": CONCURRENT}
    operation, field = "describe_automation_executions", "AutomationExecutionMetadataList"
    return len(pages(ssm, "ssm", operation, field, PaginationConfig=limits, **running))


def read_calendar(ssm: "SSMClient", name: str) -> Calendar | None:
    """A change calendar as it is now, None where there is none. Raises ApiError."""
    try:
        with calling("ssm:GetCalendarState"):
            found = ssm.get_calendar_state(CalendarNames=[name])
    except ApiError as error:
        if error.code != "InvalidDocument":
            raise
        return None
    return Calendar(found["State"], found.get("NextTransitionTime", ""))


def find_express_service(ec2: "EC2Client", region: str) -> str | None:
    """The name of the service that gateway endpoints for S3 Express are made for, None where none is offered.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeVpcEndpointServices.html. Raises ApiError.
    """
    gateways = [{"Name": "service-type", "Values": ["Gateway"]}]
    found = pages(ec2, "ec2", "describe_vpc_endpoint_services", "ServiceDetails", Filters=gateways)
    return next((each["ServiceName"] for each in found if is_express_service(each["ServiceName"], region)), None)
