"""Clients of AWS: their settings, and the errors that they raise."""

from dataclasses import replace

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import Aws, calling, pages, unless_denied
from express_path.errors import ApiError


def refuse(code: str) -> None:
    """Raise what boto3 raises where AWS refuses a call."""
    raise ClientError({"Error": {"Code": code, "Message": "No."}}, "DescribeSubnets")


def test_region_is_that_of_the_environment(aws: Aws, sandbox: Sandbox) -> None:
    """By default, the clients use the environment's Region."""
    assert aws.region == sandbox.region


def test_region_may_be_named(sandbox: Sandbox) -> None:
    """A Region that is named goes before the environment's."""
    sandbox.client("ec2", region="eu-west-1").create_vpc(CidrBlock="10.9.0.0/16")
    vpcs = Aws.connect("eu-west-1").ec2.describe_vpcs()["Vpcs"]
    assert "10.9.0.0/16" in [vpc["CidrBlock"] for vpc in vpcs]


def test_no_region_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any Region there is nothing to read, and the error says what is missing."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(ApiError, match="You must specify a region") as raised:
        Aws.connect()
    assert (raised.value.operation, raised.value.code) == ("boto3:Session", "NoRegionError")


def test_unknown_profile_is_an_error() -> None:
    """A profile that does not exist is named."""
    with pytest.raises(ApiError, match="nowhere") as raised:
        Aws.connect("us-east-1", "nowhere")
    assert raised.value.code == "ProfileNotFound"


def test_no_credentials_are_an_error(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without credentials the first call says so."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    with pytest.raises(ApiError) as raised:
        pages(Aws.connect().ec2, "ec2", "describe_vpcs", "Vpcs")
    assert (raised.value.operation, raised.value.code) == ("ec2:DescribeVpcs", "NoCredentialsError")
    assert list(sandbox.calls) == []


def test_clients_are_made_once(aws: Aws) -> None:
    """Asked for again, a client is the same one."""
    for name in ("ec2", "config", "s3", "sts", "ssm"):
        assert getattr(aws, name) is getattr(aws, name)


def test_clients_have_the_given_config_and_region(sandbox: Sandbox) -> None:
    """Any service has a client, with the given timeouts, in the Region of its Aws and in that of a copy."""
    aws = Aws.connect(sandbox.region, client_config=Config(read_timeout=7))
    other = replace(aws, region="eu-west-1")
    assert aws.client("logs").meta.config.read_timeout == other.client("logs").meta.config.read_timeout == 7
    assert (aws.client("logs").meta.region_name, other.client("logs").meta.region_name) == (sandbox.region, "eu-west-1")


def test_pages_are_joined(aws: Aws, sandbox: Sandbox) -> None:
    """All pages of a list are read."""
    sandbox.ec2.knobs.page_size = 2
    subnets = pages(aws.ec2, "ec2", "describe_subnets", "Subnets")
    assert len(subnets) == len({row["SubnetId"] for row in subnets}) == 6
    assert len(sandbox.calls.of("ec2", "DescribeSubnets")) == 3


def test_refusal_carries_operation_code_and_message() -> None:
    """What AWS said is in the error, for programs and for people."""
    with pytest.raises(ApiError) as raised, calling("ec2:DescribeSubnets"):
        refuse("RequestLimitExceeded")
    error = raised.value
    assert (error.operation, error.code, error.message) == ("ec2:DescribeSubnets", "RequestLimitExceeded", "No.")
    assert str(error) == "ec2:DescribeSubnets failed with RequestLimitExceeded: No."


def test_our_own_mistakes_are_not_disguised() -> None:
    """An error that is not AWS's passes as it is."""
    with pytest.raises(KeyError), calling("ec2:DescribeSubnets"):
        raise KeyError


@pytest.mark.parametrize("code", ["AccessDenied", "AccessDeniedException", "UnauthorizedOperation"])
def test_denied_optional_read_is_none(code: str) -> None:
    """However a service spells it, a missing permission makes an optional read None."""

    def read() -> None:
        with calling("ec2:DescribeSubnets"):
            refuse(code)

    assert unless_denied(read) is None


@pytest.mark.parametrize("code", ["RequestLimitExceeded", "InternalError", "InvalidParameterValue"])
def test_other_failures_of_an_optional_read_are_raised(code: str) -> None:
    """Nothing but a missing permission is taken for "cannot be read"."""

    def read() -> None:
        with calling("ec2:DescribeSubnets"):
            refuse(code)

    with pytest.raises(ApiError, match=code):
        unless_denied(read)


def test_empty_result_of_an_optional_read_is_not_none() -> None:
    """An empty list is an answer."""
    assert unless_denied(list) == []
