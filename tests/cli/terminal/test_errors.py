"""Errors as people see them: one line, with what to do."""

import pytest

from express_path.errors import ApiError, ExpressPathError, ParameterError
from express_path_cli.terminal.errors import LocatedError, note_profile, one_line
from tests.support.command import invoke

PAGE = (
    """<!DOCTYPE html>
<html><head><title>
407 Proxy Authentication Required</title></head><body>"""
    + "<p>Sign in</p>" * 500
)


@pytest.mark.parametrize("code", ["407", "ResponseParserError"])
def test_a_web_page_of_a_proxy_is_one_short_line(code: str) -> None:
    """The page's title is kept, its markup is not, and the hint names the settings to check."""
    error = LocatedError("account 111122223333 us-east-1", ApiError("ec2:DescribeSubnets", code, PAGE))
    assert one_line(error) == (
        "account 111122223333 us-east-1: ec2:DescribeSubnets failed: the answer is a web page, not an answer from AWS, "
        'with the title "407 Proxy Authentication Required" '
        "(a proxy answered instead of AWS: check HTTPS_PROXY and NO_PROXY)"
    )
    assert "not an answer from AWS (a proxy" in one_line(ApiError("sts:AssumeRole", "503", "<html>busy</html>"))


DENIED = "UnauthorizedOperation"
BY_POLICY = "not authorized to perform: ec2:DescribeVpcs with an explicit deny in a service control policy"


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (ParameterError("publicSubnet", "x", "a known name"), "did you mean publicSubnets?"),
        (
            ParameterError("scope", "directory_bucket", "one of ALL, DIRECTORY_BUCKETS"),
            "did you mean DIRECTORY_BUCKETS?",
        ),
        (ApiError("ec2:DescribeSubnets", DENIED, "no"), "allow ec2:DescribeSubnets, or use credentials that allow it"),
        (ApiError("ec2:DescribeVpcs", DENIED, BY_POLICY), "a service control policy of the organization denies ec2:"),
        (ApiError("sts:AssumeRole", "AccessDenied", "no"), "the role must exist and trust this account"),
        (ApiError("organizations:ListAccounts", "AccessDenied", "no"), "works only in the management account"),
        (ApiError("sts:GetCallerIdentity", "AccessDenied", "no"), "allow sts:GetCallerIdentity"),
        (ApiError("sts:GetCallerIdentity", "ExpiredToken", "no"), "sign in again"),
        (ApiError("sts:GetCallerIdentity", "InvalidClientTokenId", "no"), "sign in again"),
        (ApiError("sts:GetCallerIdentity", "AuthFailure", "no"), "check that the Region is enabled"),
        (ApiError("ec2:DescribeSubnets", "RequestLimitExceeded", "no"), "try again later"),
        (ApiError("boto3:client", "NoCredentialsError", "no"), "aws sso login"),
        (ApiError("boto3:client", "ProfileNotFound", "no"), "aws configure list-profiles"),
        (ApiError("logs:StartQuery", "ResourceNotFoundException", "no"), "aws logs describe-log-groups"),
        (ApiError("cloudformation:DescribeStackResources", "ValidationError", "no"), "deploy the stack first"),
        (ApiError("ec2:DescribeSubnets", "ValidationError", "no"), ""),
    ],
)
def test_the_hint_says_what_to_do(error: ExpressPathError, hint: str) -> None:
    """It depends on the code, on the operation, or on the words of AWS."""
    message, _, found = one_line(error).partition(" (")
    assert message
    assert hint in found
    assert bool(found) is bool(hint)


def test_a_hint_keeps_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of the AWS CLI get the --profile of the command, or the one in the environment, quoted for the shell."""
    monkeypatch.setenv("AWS_PROFILE", "ops team")
    note_profile(None)  # another test may have given one
    expired = ApiError("boto3:client", "UnauthorizedSSOTokenError", "expired")
    assert one_line(expired).endswith("(run: aws sso login --profile 'ops team')")
    assert note_profile("prod") == "prod"
    assert one_line(expired).endswith("(run: aws sso login --profile prod)")
    unknown = invoke(["scan", "--profile", "no-such-profile"])
    assert unknown.stderr.endswith("(run `aws configure list-profiles` to list your profiles)\n")
    monkeypatch.delenv("AWS_PROFILE")
    assert note_profile(None) is None
    assert one_line(expired).endswith("(run: aws sso login)")
