"""The ARNs of subnets, and the partition of a Region."""

from functools import cache


@cache
def partition(region: str) -> str:
    """Return the partition of a Region, by its name.

    https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html
    """
    by_prefix = {
        "cn-": "aws-cn",
        "us-gov-": "aws-us-gov",
        "us-iso-": "aws-iso",
        "us-isob-": "aws-iso-b",
        "eusc-": "aws-eusc",
    }
    return next((name for prefix, name in by_prefix.items() if region.startswith(prefix)), "aws")


def subnet_arn(account_id: str, region: str, subnet_id: str) -> str:
    """Return the ARN of a subnet in an account."""
    return f"arn:{partition(region)}:ec2:{region}:{account_id}:subnet/{subnet_id}"
