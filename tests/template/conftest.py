"""Fixtures for the tests of template.yaml."""

import re
from collections.abc import Callable

import pytest

from tests.support.template import source


@pytest.fixture(scope="session")
def allows() -> Callable[[str, str], bool]:
    """Return a function that checks whether CloudFormation accepts a value for a stack parameter."""

    def check(name: str, value: str) -> bool:
        parameter = source()["Parameters"][name]
        if "AllowedValues" in parameter:
            return value in map(str, parameter["AllowedValues"])
        if parameter["Type"] == "Number":
            return value.isdecimal() and parameter["MinValue"] <= int(value) <= parameter["MaxValue"]
        length = parameter.get("MinLength", 0) <= len(value) <= parameter.get("MaxLength", 4096)
        # CloudFormation's patterns are Java's, where \w and \d are ASCII unless asked otherwise.
        return length and re.fullmatch(parameter.get("AllowedPattern", ".*"), value, re.ASCII) is not None

    return check
