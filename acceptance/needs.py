"""What a run needs of an account before it makes anything: a recorder of what it changes, and room in the quotas."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from acceptance.run import Run
from express_path.adapters.recorder import (
    Frequency,
    frequency_of,
    read_recorder,
    read_recorder_status,
    recorder_problem,
    records,
)

TYPES = (
    "AWS::EC2::NatGateway",
    "AWS::EC2::PrefixList",
    "AWS::EC2::RouteTable",
    "AWS::EC2::Subnet",
    "AWS::EC2::VPCEndpoint",
)
"""The resource types whose changes the story waits for."""
ALONE_TYPE = "AWS::EC2::VPCBlockPublicAccessOptions"
"""The type of the setting that ALONE=1 changes."""


def listed(operation: str, query: str) -> Callable[[Run], int]:
    """Return what counts the resources that an operation of EC2 lists."""
    return lambda run: len(run.ask("ec2", operation, query))


def in_fullest_zone(run: Run) -> int:
    """Return how many NAT gateways the Availability Zone with most of them has: EC2 chooses the zone of the run's."""
    zones = dict(run.ask("ec2", "describe_subnets", "Subnets[].[SubnetId, AvailabilityZone]"))
    query = "NatGateways[?State=='pending' || State=='available'].SubnetId"
    counts = Counter(zones.get(subnet_id) for subnet_id in run.ask("ec2", "describe_nat_gateways", query))
    return max(counts.values(), default=0)


@dataclass(frozen=True)
class Quota:
    """A quota: its codes, what it is about, how many more the run needs, and what counts those that exist."""

    service: str
    code: str
    what: str
    needed: int
    count: Callable[[Run], int]


LEFT = "State!='deleting' && State!='deleted'"
QUOTAS = (
    Quota("vpc", "L-F678F1CE", "VPCs", 2, listed("describe_vpcs", "Vpcs[].VpcId")),
    Quota(
        "vpc",
        "L-A4707A72",
        "internet gateways",
        1,
        listed("describe_internet_gateways", "InternetGateways[].InternetGatewayId"),
    ),
    Quota("vpc", "L-FE5A380F", "NAT gateways in an Availability Zone", 2, in_fullest_zone),
    Quota(
        "vpc",
        "L-1B52E74A",
        "gateway endpoints",
        2,
        listed("describe_vpc_endpoints", f"VpcEndpoints[?VpcEndpointType=='Gateway' && {LEFT}].VpcEndpointId"),
    ),
    Quota("ec2", "L-0263D0A3", "Elastic IP addresses", 2, listed("describe_addresses", "Addresses[].AllocationId")),
    Quota(
        "ec2",
        "L-A2478D36",
        "transit gateways",
        1,
        listed("describe_transit_gateways", f"TransitGateways[?{LEFT}].TransitGatewayId"),
    ),
)
"""Quotas of a Region: https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html,
https://docs.aws.amazon.com/vpc/latest/tgw/transit-gateway-quotas.html."""


def problems(run: Run) -> list[str]:
    """Return what keeps the run from being made, each with what to do. Everything is only read."""
    return [*_of_recorder(run), *_of_quotas(run), *(_of_others(run) if run.is_alone else [])]


def _of_recorder(run: Run) -> Iterator[str]:
    config = run.client("config")
    if problem := recorder_problem(read_recorder_status(config)):
        yield f"{problem}. Let AWS Config record in {run.region} first."
    recorder = read_recorder(config)
    if recorder is None:
        return
    for resource_type in (*TYPES, ALONE_TYPE) if run.is_alone else TYPES:
        if not records(recorder, resource_type):
            yield f"recorder {recorder.name} does not record {resource_type}. Add it in the settings of AWS Config."
        elif frequency_of(recorder, resource_type) is not Frequency.CONTINUOUS:
            yield f"recorder {recorder.name} records {resource_type} once a day. Let it record this type continuously."


def _of_quotas(run: Run) -> Iterator[str]:
    for quota in QUOTAS:
        there, most = quota.count(run), _value(run, quota)
        if there + quota.needed > most:
            yield (
                f"{run.region} has {there} of {most} {quota.what}, and the run needs {quota.needed}. "
                f"Delete some, or ask for more: quota {quota.code} of {quota.service}."
            )


def _value(run: Run, quota: Quota) -> int:
    """Return the value of a quota: the applied one, or AWS's default if none was applied.

    https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetServiceQuota.html
    """
    client = run.client("service-quotas")
    named = {"ServiceCode": quota.service, "QuotaCode": quota.code}
    try:
        found = client.get_service_quota(**named)
    except client.exceptions.NoSuchResourceException:
        found = client.get_aws_default_service_quota(**named)
    return int(found["Quota"]["Value"])


def _of_others(run: Run) -> Iterator[str]:
    """Yield whom a setting of the whole account and Region would disturb."""
    if others := run.ask("ec2", "describe_internet_gateways", "InternetGateways[?Attachments].InternetGatewayId"):
        yield f"Block Public Access would cut off the VPCs of {', '.join(others)}. Use an account without any, or no ALONE=1."
    if (mode := run.block_public_access()) != "off":
        yield f"Block Public Access is {mode}, and the run would turn it off. Use an account where it is off, or no ALONE=1."
