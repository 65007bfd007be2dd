"""Behavior that all EC2 operations share."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

from sandbox.dynamic import Client


def test_dry_run_changes_nothing(ec2: Client) -> None:
    """A permitted dry run fails with DryRunOperation and status 412, and creates nothing.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonParameters.html
    """
    before = ec2.describe_vpcs()["Vpcs"]
    with pytest.raises(ClientError) as raised:
        ec2.create_vpc(CidrBlock="10.0.0.0/16", DryRun=True)
    assert raised.value.response["Error"]["Code"] == "DryRunOperation"
    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 412
    assert ec2.describe_vpcs()["Vpcs"] == before


def test_concurrent_requests_with_one_token_make_one_endpoint(ec2: Client, vpc_id: str) -> None:
    """Fifty concurrent requests with the same ClientToken share one endpoint.

    https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
    """

    def create(_: int) -> str:
        answer = ec2.create_vpc_endpoint(
            VpcId=vpc_id, ServiceName="com.amazonaws.us-east-1.s3express", ClientToken="one"
        )
        return str(answer["VpcEndpoint"]["VpcEndpointId"])

    with ThreadPoolExecutor(max_workers=10) as pool:
        assert len(set(pool.map(create, range(50)))) == 1
    assert len(ec2.describe_vpc_endpoints()["VpcEndpoints"]) == 1
