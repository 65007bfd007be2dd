"""Errors as people see them: one line, with what to do."""

import re
from pathlib import Path

import pytest

from express_path.errors import ApiError, ParameterError
from express_path_cli.terminal.errors import LocatedError, one_line

CLI = Path(__file__).parents[3] / "cli" / "express_path_cli" / "terminal"
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


def test_a_web_page_without_a_title() -> None:
    """The title is optional."""
    assert "not an answer from AWS (a proxy" in one_line(ApiError("sts:AssumeRole", "503", "<html>busy</html>"))


def test_a_wrong_rule_parameter_lists_the_parameters() -> None:
    """The hint does not refer to a file of the repository."""
    hint = one_line(ParameterError("public", "x", "a known name")).rpartition(" (")[2]
    assert hint.startswith("the rule parameters are ")
    assert "publicSubnets" in hint


@pytest.mark.parametrize("module", ["errors.py", "command_line.py"])
def test_hints_name_no_file_of_the_repository(module: str) -> None:
    """Someone who installed the wheel can open every page that a hint names."""
    text = (CLI / module).read_text(encoding="utf-8")
    assert re.findall(r"[\w/-]+\.md\b", text) == []
