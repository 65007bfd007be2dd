"""The constraints of the service models, as the server checks them."""

import pytest

from sandbox.ssm.shapes import violations


@pytest.mark.parametrize(
    ("parameters", "where"),
    [
        ({}, "documentName"),
        ({"DocumentName": "a b"}, "DocumentName"),
        ({"DocumentName": "ab"}, "DocumentName"),
        ({"DocumentName": "Heal", "ClientToken": "x" * 35}, "ClientToken"),
        ({"DocumentName": "Heal", "Mode": "Later"}, "Mode"),
        ({"DocumentName": "Heal", "Parameters": {"a": ["x" * 513]}}, "Parameters.a.1"),
        ({"DocumentName": "Heal", "Tags": [{"Key": "a"}]}, "Tags.1.Value"),
    ],
)
def test_says_what_breaks_the_model_and_where(parameters: dict[str, object], where: str) -> None:
    """Invalid lengths, patterns, and enums, and missing members, are found at any depth."""
    found = violations("ssm", "StartAutomationExecution", parameters)
    assert found
    assert where.lower() in "; ".join(found).lower()


def test_finds_nothing_in_a_good_request() -> None:
    """Patterns with Java's character classes, which Python lacks, are not checked."""
    request = {"DocumentName": "Heal", "Tags": [{"Key": "a", "Value": "b"}], "Parameters": {"a": ["b"]}}
    assert violations("ssm", "StartAutomationExecution", request) == []
    assert violations("config", "GetDiscoveredResourceCounts", {"limit": 5}) == []
    assert violations("config", "GetDiscoveredResourceCounts", {"limit": 101}) != []
