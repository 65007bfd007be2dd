"""The filters of GetFindings that are evaluated here. Any other filter is refused.

https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_AwsSecurityFindingFilters.html: values of one attribute
are alternatives, and attributes are combined with AND.
"""

from collections.abc import Iterable
from typing import Any

from config_rule_sandbox.security_hub.checks import InvalidInputError

Finding = dict[str, Any]

MAXIMUM_ATTRIBUTES = 10
MAXIMUM_VALUES = 20
"""https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_GetFindings.html, "Filters"."""

ATTRIBUTES = ("AwsAccountId", "GeneratorId", "Id", "ProductArn", "RecordState", "Region", "WorkflowStatus")


def chosen_findings(findings: Iterable[Finding], filters: dict[str, list[dict[str, str]]]) -> list[Finding]:
    """Return the findings that all filters choose, or raise InvalidInputError."""
    if len(filters) > MAXIMUM_ATTRIBUTES:
        raise InvalidInputError(f"more than {MAXIMUM_ATTRIBUTES} attributes are filtered")
    for name, tests in filters.items():
        if name not in ATTRIBUTES:
            raise InvalidInputError(f"the sandbox does not evaluate the filter {name}")
        if any(test["Comparison"] != "EQUALS" for test in tests):
            raise InvalidInputError(f"the sandbox evaluates only EQUALS, not {tests}")
        if len(tests) > MAXIMUM_VALUES:
            raise InvalidInputError(f"the filter {name} has more than {MAXIMUM_VALUES} values")
    wanted = {name: {test["Value"] for test in tests} for name, tests in filters.items()}
    return [finding for finding in findings if all(_value(finding, name) in values for name, values in wanted.items())]


def _value(finding: Finding, name: str) -> Any:  # noqa: ANN401  # JSON
    return finding["Workflow"]["Status"] if name == "WorkflowStatus" else finding[name]
