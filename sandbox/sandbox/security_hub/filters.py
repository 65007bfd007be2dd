"""The filters of GetFindings that are evaluated here. Any other filter is refused.

https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_AwsSecurityFindingFilters.html: values of one attribute
are alternatives if they must be equal, and all of them must hold if they must not; attributes are combined with AND.
"""

from collections.abc import Callable, Iterable
from typing import Any

from sandbox.security_hub.checks import InvalidInputError

Finding = dict[str, Any]

MAXIMUM_ATTRIBUTES = 10
MAXIMUM_VALUES = 20
"""https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_GetFindings.html, "Filters"."""

ATTRIBUTES: dict[str, Callable[[Finding], list[str]]] = {
    "AwsAccountId": lambda finding: [finding["AwsAccountId"]],
    "ComplianceStatus": lambda finding: [finding["Compliance"]["Status"]],
    "GeneratorId": lambda finding: [finding["GeneratorId"]],
    "Id": lambda finding: [finding["Id"]],
    "ProductArn": lambda finding: [finding["ProductArn"]],
    "RecordState": lambda finding: [finding["RecordState"]],
    "Region": lambda finding: [finding["Region"]],
    "ResourceId": lambda finding: [resource["Id"] for resource in finding["Resources"]],
    "Title": lambda finding: [finding["Title"]],
    "WorkflowStatus": lambda finding: [finding["Workflow"]["Status"]],
}
TESTS: dict[str, Callable[[str, str], bool]] = {
    "EQUALS": lambda value, wanted: value == wanted,
    "PREFIX": lambda value, wanted: value.startswith(wanted),
    "NOT_EQUALS": lambda value, wanted: value != wanted,
}


def chosen(findings: Iterable[Finding], filters: dict[str, list[dict[str, str]]]) -> list[Finding]:
    """Return the findings that all filters choose, or raise InvalidInputError."""
    if len(filters) > MAXIMUM_ATTRIBUTES:
        raise InvalidInputError(f"more than {MAXIMUM_ATTRIBUTES} attributes are filtered")
    for name, tests in filters.items():
        if name not in ATTRIBUTES:
            raise InvalidInputError(f"the sandbox does not evaluate the filter {name}")
        if len(tests) > MAXIMUM_VALUES:
            raise InvalidInputError(f"the filter {name} has more than {MAXIMUM_VALUES} values")
    return [finding for finding in findings if all(_fits(finding, name, tests) for name, tests in filters.items())]


def _fits(finding: Finding, name: str, tests: list[dict[str, str]]) -> bool:
    values = ATTRIBUTES[name](finding)
    results = [any(TESTS[test["Comparison"]](value, test["Value"]) for value in values) for test in tests]
    return all(results) if tests and tests[0]["Comparison"] == "NOT_EQUALS" else any(results)
