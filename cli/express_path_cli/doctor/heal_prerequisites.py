"""Read what healing needs in addition to the rule: runbooks, role, quotas, calendar, and the endpoint service."""

from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import calling, pages
from express_path.domain.heal.endpoints import counts_against_quota
from express_path.domain.network.snapshot import is_express_service
from express_path.errors import ApiError
from express_path_cli.doctor.heal_checks import MAX_CONCURRENT_RUNS, Calendar

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_ssm import SSMClient


def read_document_status(ssm: "SSMClient", name: str) -> str | None:
    """Read the status of a runbook's default version, such as Active, or None if it does not exist. Raise ApiError."""
    try:
        with calling("ssm:DescribeDocument"):
            return ssm.describe_document(Name=name)["Document"].get("Status", "")
    except ApiError as error:
        if error.code != "InvalidDocument":
            raise
        return None


def role_exists(iam: "IAMClient", arn: str) -> bool:
    """Read whether a role exists. Raise ApiError."""
    try:
        with calling("iam:GetRole"):
            iam.get_role(RoleName=arn.rpartition("/")[2])
    except ApiError as error:
        if error.code not in ("NoSuchEntity", "NoSuchEntityException"):
            raise
        return False
    return True


def count_gateway_endpoints(ec2: "EC2Client") -> int:
    """Read how many gateway endpoints count against the Region's quota. Raise ApiError."""
    gateways = [{"Name": "vpc-endpoint-type", "Values": ["Gateway"]}]
    found = pages(ec2, "ec2", "describe_vpc_endpoints", "VpcEndpoints", Filters=gateways)
    return sum(counts_against_quota(str(row.get("State"))) for row in found)


def count_running_automations(ssm: "SSMClient") -> int:
    """Read how many automations run in this account and Region, up to MAX_CONCURRENT_RUNS. Raise ApiError."""
    running: dict[str, Any] = {"Filters": [{"Key": "ExecutionStatus", "Values": ["InProgress"]}]}
    limits = {"MaxItems": MAX_CONCURRENT_RUNS}
    operation, field = "describe_automation_executions", "AutomationExecutionMetadataList"
    return len(pages(ssm, "ssm", operation, field, PaginationConfig=limits, **running))


def read_calendar(ssm: "SSMClient", name: str) -> Calendar | None:
    """Read the state of a change calendar, or return None if it does not exist. Raise ApiError."""
    try:
        with calling("ssm:GetCalendarState"):
            found = ssm.get_calendar_state(CalendarNames=[name])
    except ApiError as error:
        if error.code != "InvalidDocument":
            raise
        return None
    return Calendar(found["State"], found.get("NextTransitionTime", ""))


def find_express_service(ec2: "EC2Client", region: str) -> str | None:
    """Read the service name of gateway endpoints for S3 Express, or return None if the Region does not offer them.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeVpcEndpointServices.html. Raise ApiError.
    """
    gateways = [{"Name": "service-type", "Values": ["Gateway"]}]
    found = pages(ec2, "ec2", "describe_vpc_endpoint_services", "ServiceDetails", Filters=gateways)
    names = (row["ServiceName"] for row in found)
    return next((name for name in names if is_express_service(name, region)), None)
