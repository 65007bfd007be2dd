"""Connections of the command: which AWS settings apply."""

import pytest

from express_path_cli.aws.sessions import connect


@pytest.mark.parametrize("name", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_region_of_the_environment(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The Region variable of AWS's other SDKs also works, and takes precedence over boto3's, as in the AWS CLI."""
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")
    monkeypatch.setenv(name, "eu-west-1")
    assert connect().region == "eu-west-1"
