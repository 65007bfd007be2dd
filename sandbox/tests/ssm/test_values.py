"""Values of runbooks: their selectors, and how the API shows them.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-outputs-inputs.html
"""

from datetime import UTC, datetime

import pytest

from config_rule_sandbox.ssm.selectors import parse_selector
from config_rule_sandbox.ssm.values import plain, shown

RESPONSE = {"NextToken": "more", "Vpc": {"State": {"Name": "available"}}}


@pytest.mark.parametrize(
    ("expression", "selected"),
    [
        ("$.NextToken", "more"),
        ("$.Vpc.State", {"Name": "available"}),
        ("$.Vpc.State.Name", "available"),
        ("$.Nothing", None),
        ("$.NextToken.Deeper", None),
    ],
)
def test_selectors_find_children(expression: str, selected: object) -> None:
    """A dot selects a child. What is missing is None."""
    assert parse_selector(expression).select(RESPONSE) == selected


@pytest.mark.parametrize("expression", ["", "Vpcs", "$", "$Vpcs", "$.", "$..Vpcs", "$.Vpcs[0]"])
def test_selectors_have_no_other_operator(expression: str) -> None:
    """A selector with anything except children is an error, not an empty result."""
    with pytest.raises(ValueError, match="JSONPath"):
        parse_selector(expression)


def test_values_are_shown_as_lists_of_strings() -> None:
    """The API returns list items separately, maps as JSON, and times as ISO 8601 text at any depth."""
    assert [shown("a"), shown(["a", "b"]), shown([{"a": True}]), shown(7)] == [["a"], ["a", "b"], ['{"a":true}'], ["7"]]
    moment = datetime(2026, 2, 13, tzinfo=UTC)
    assert plain({"a": [moment], "b": 1}) == {"a": ["2026-02-13T00:00:00+00:00"], "b": 1}
