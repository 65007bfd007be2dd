"""Security Hub CSPM where moto lacks it: findings that are checked, merged, and filtered.

`apply` lets moto answer with it. `findings_of` returns the findings of one account and Region, for tests.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from threading import RLock
from typing import Any

from moto.securityhub import urls
from moto.securityhub.exceptions import SecurityHubClientError
from moto.securityhub.models import securityhub_backends
from moto.securityhub.responses import SecurityHubResponse

from config_rule_sandbox.constraints import violations
from config_rule_sandbox.iam_policies import Authorization
from config_rule_sandbox.patches import Patches
from config_rule_sandbox.wire import Request

# --- authorization -------------------------------------------------------------------------------------------------
#
# What requests to Security Hub are authorized on, and the condition keys that they bring.
#
# https://docs.aws.amazon.com/service-authorization/latest/reference/list_awssecurityhub.html


HUB = "hub/default"


def _on_the_hub(request: Request) -> Iterator[Authorization]:
    yield Authorization(request.action, request.arn("securityhub", HUB))


def _import_resources(request: Request) -> Iterator[Authorization]:
    for finding in request.parameters.get("Findings", []):
        keys = {"securityhub:TargetAccount": [finding["AwsAccountId"]]}
        yield Authorization(request.action, finding["ProductArn"], keys)


READERS: Mapping[str, Callable[[Request], Iterator[Authorization]]] = {
    "securityhub:BatchImportFindings": _import_resources,
    "securityhub:GetFindings": _on_the_hub,
}


# --- checks --------------------------------------------------------------------------------------------------------
#
# What Security Hub refuses in a finding.
#
# Lengths: https://docs.aws.amazon.com/securityhub/latest/userguide/asff-required-attributes.html and
# https://docs.aws.amazon.com/securityhub/latest/userguide/asff-top-level-attributes.html.


LONGEST = {"Id": 512, "GeneratorId": 512, "Title": 256, "Description": 1024}
MAXIMUM_BYTES = 240 * 1024
"""Of one finding (https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_BatchImportFindings.html)."""

MAXIMUM_TEXT = 512
"""Characters of a recommendation (https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_Recommendation.html)."""

MAXIMUM_FIELDS = 50
MAXIMUM_KEY = 128
MAXIMUM_VALUE = 2048


class InvalidInputError(Exception):
    """A request, or one finding in it, is not acceptable."""


def check_finding(given: dict[str, Any], account_id: str, region: str) -> None:
    """Raise InvalidInputError unless an account may import a finding for its default product."""
    if broken := violations("securityhub", "BatchImportFindings", {"Findings": [given]}):
        raise InvalidInputError("; ".join(broken))
    product = f":securityhub:{region}:{account_id}:product/{account_id}/default"
    if not given["ProductArn"].endswith(product) or given["AwsAccountId"] != account_id:
        raise InvalidInputError(f"the finding is not of account {account_id} and its default product")
    for name, longest in LONGEST.items():
        if len(given[name]) > longest:
            raise InvalidInputError(f"{name} has more than {longest} characters")
    for name in ("CreatedAt", "UpdatedAt"):
        checked_timestamp(given[name])
    check_text(
        given.get("Remediation", {}).get("Recommendation", {}).get("Text", "x"), "Remediation.Recommendation.Text"
    )
    check_fields(given)
    check_size(given)


def checked_timestamp(value: str) -> datetime:
    """Return a time. It must be ISO 8601 with a time zone."""
    try:
        time = datetime.fromisoformat(value)
    except ValueError as error:
        raise InvalidInputError(f"{value} is not a timestamp") from error
    if time.tzinfo is None:
        raise InvalidInputError(f"{value} has no time zone")
    return time


def check_text(value: object, name: str) -> None:
    """Raise InvalidInputError unless a value is a text of 1 to 512 characters that is not blank."""
    if not isinstance(value, str) or not value.strip() or len(value) > MAXIMUM_TEXT:
        raise InvalidInputError(f"{name} must have 1 to {MAXIMUM_TEXT} characters")


def check_fields(given: dict[str, Any]) -> None:
    """Raise InvalidInputError unless ProductFields has at most 50 entries, none of them blank or too long."""
    found = given.get("ProductFields") or {}
    if len(found) > MAXIMUM_FIELDS:
        raise InvalidInputError(f"ProductFields has more than {MAXIMUM_FIELDS} entries")
    for key, value in found.items():
        if not 0 < len(key) < MAXIMUM_KEY or not value.strip() or len(value) > MAXIMUM_VALUE:
            raise InvalidInputError(f"ProductFields has a bad entry {key}")


def check_size(given: dict[str, Any]) -> None:
    """Raise InvalidInputError for a finding of more than 240 KB."""
    if len(json.dumps(given).encode()) > MAXIMUM_BYTES:
        raise InvalidInputError("Finding size exceeded 240 KB")


# --- filters -------------------------------------------------------------------------------------------------------
#
# The filters of GetFindings that are evaluated here. Any other filter is refused.
#
# https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_AwsSecurityFindingFilters.html: values of one attribute
# are alternatives, and attributes are combined with AND.


Finding = dict[str, Any]

MAXIMUM_ATTRIBUTES = 10
MAXIMUM_VALUES = 20
"""https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_GetFindings.html, "Filters"."""

ATTRIBUTES = ("AwsAccountId", "GeneratorId", "Id", "ProductArn", "RecordState", "Region")


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
    return [finding for finding in findings if all(finding[name] in values for name, values in wanted.items())]


# --- findings ------------------------------------------------------------------------------------------------------
#
# The findings of one account and Region, merged as Security Hub merges what providers and customers say.


Key = tuple[str, str]
"""ProductArn and Id."""

OF_CUSTOMERS = ("Note", "UserDefinedFields", "VerificationState", "Workflow")
"""What BatchImportFindings cannot change in a finding that exists.

https://docs.aws.amazon.com/securityhub/latest/userguide/finding-update-batchimportfindings.html
"""
UPDATABLE = (
    "Confidence",
    "Criticality",
    "Note",
    "RelatedFindings",
    "Severity",
    "Types",
    "UserDefinedFields",
    "VerificationState",
    "Workflow",
)
"""What BatchUpdateFindings can change (https://docs.aws.amazon.com/securityhub/latest/userguide/finding-update-batchupdatefindings.html)."""


@dataclass
class Findings:
    """The findings, and the knobs for tests.

    `failing` has the error codes with which the next imports of a finding fail, by its id.
    """

    account_id: str
    region: str
    failing: dict[str, list[str]] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock)
    _findings: dict[Key, Finding] = field(default_factory=dict)
    _severities: set[Key] = field(default_factory=set)

    def all(self) -> list[Finding]:
        """Return copies of all findings."""
        with self.lock:
            return deepcopy(list(self._findings.values()))

    def import_all(self, given: Iterable[Finding]) -> list[dict[str, str]]:
        """Import findings of a provider, and return those that failed as FailedFindings."""
        failed = []
        for finding in given:
            code = self._failure(finding.get("Id", ""))
            try:
                check_finding(finding, self.account_id, self.region)
                if not code:
                    self.provide(finding)
                    continue
                message = "The test requested it."
            except InvalidInputError as error:
                code, message = "InvalidInput", str(error)
            failed.append({"Id": finding.get("Id", ""), "ErrorCode": code, "ErrorMessage": message})
        return failed

    def provide(self, given: Finding) -> None:
        """Create or update one finding. An update that is not newer is ignored.

        https://docs.aws.amazon.com/securityhub/latest/userguide/finding-update-batchimportfindings.html: what counts
        is UpdatedAt, and an equal or earlier one changes nothing. Workflow goes back to NEW when an archived finding
        becomes active, or a passed one does not pass anymore:
        https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_Workflow.html.
        """
        key = (given["ProductArn"], given["Id"])
        with self.lock:
            earlier = self._findings.get(key)
            if earlier and checked_timestamp(given["UpdatedAt"]) <= checked_timestamp(earlier["UpdatedAt"]):
                return
            finding: Finding = {
                "Region": self.region,
                "RecordState": "ACTIVE",
                "Compliance": {"Status": "PASSED"},
                **deepcopy({name: value for name, value in given.items() if name not in OF_CUSTOMERS}),
                "Workflow": {"Status": "NEW"},
            }
            if earlier:
                finding |= {name: earlier[name] for name in OF_CUSTOMERS if name in earlier}
                finding["Workflow"] = {"Status": _workflow(earlier, finding)}
                if key in self._severities:
                    finding["Severity"] = earlier["Severity"]
            self._findings[key] = finding

    def update(self, key: Key, request: dict[str, Any]) -> None:
        """Change a finding as a customer does. UpdatedAt stays."""
        with self.lock:
            updated = self._findings[key] | {name: request[name] for name in UPDATABLE if name in request}
            if "Severity" in request:
                self._severities.add(key)
            self._findings[key] = deepcopy(updated)

    def _failure(self, finding_id: str) -> str:
        codes = self.failing.get(finding_id)
        return codes.pop(0) if codes else ""


def _workflow(earlier: Finding, now: Finding) -> str:
    status = str(earlier["Workflow"]["Status"])
    is_back = (earlier["RecordState"], now["RecordState"]) == ("ARCHIVED", "ACTIVE")
    fails_again = earlier["Compliance"]["Status"] == "PASSED" != now["Compliance"]["Status"]
    return "NEW" if status in ("NOTIFIED", "RESOLVED") and (is_back or fails_again) else status


def findings_of(account_id: str, region: str) -> Findings:
    """Return the findings of one account and Region. A reset of moto's backend removes them."""
    backend = securityhub_backends[account_id][region]
    found: Findings = vars(backend).setdefault("sandbox_findings", Findings(account_id, region))
    return found


# --- operations ----------------------------------------------------------------------------------------------------
#
# The operations on findings of Security Hub's API, which replace or complete those of moto's response class.


MAXIMUM_FINDINGS = 100
"""Of one BatchImportFindings or BatchUpdateFindings call, and of one page of GetFindings (botocore model)."""

Parameters = dict[str, Any]


def apply(patches: Patches) -> None:
    """Let moto answer BatchImportFindings, BatchUpdateFindings and GetFindings until `patches` are undone.

    https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_BatchUpdateFindings.html has a path that moto lacks.
    """
    paths = {**urls.url_paths, "{0}/findings/batchupdate$": SecurityHubResponse.dispatch}
    patches.set(urls, "url_paths", paths)
    for name, operation in OPERATIONS.items():
        patches.set(SecurityHubResponse, name, _method(operation))


def _import(findings: Findings, parameters: Parameters) -> dict[str, Any]:
    given = parameters.get("Findings") or []
    _check_number(given, "Findings")
    failed = findings.import_all(given)
    return {"FailedCount": len(failed), "SuccessCount": len(given) - len(failed), "FailedFindings": failed}


def _update(findings: Findings, parameters: Parameters) -> dict[str, Any]:
    given = parameters.get("FindingIdentifiers") or []
    _check_number(given, "FindingIdentifiers")
    for identifier in given:
        findings.update((identifier["ProductArn"], identifier["Id"]), parameters)
    return {"ProcessedFindings": given, "UnprocessedFindings": []}


def _get(findings: Findings, parameters: Parameters) -> dict[str, Any]:
    size = int(parameters.get("MaxResults") or MAXIMUM_FINDINGS)
    if not 1 <= size <= MAXIMUM_FINDINGS:
        raise InvalidInputError(f"MaxResults must be from 1 to {MAXIMUM_FINDINGS}")
    found = chosen_findings(findings.all(), parameters.get("Filters") or {})
    start = int(parameters.get("NextToken") or 0)
    page = found[start : start + size]
    return {"Findings": page} | ({"NextToken": str(start + size)} if start + size < len(found) else {})


OPERATIONS: dict[str, Callable[[Findings, Parameters], dict[str, Any]]] = {
    "batch_import_findings": _import,
    "batch_update_findings": _update,
    "get_findings": _get,
}
"""Operations by the name of moto's method; each takes the parsed request and returns the answer."""


def _check_number(rows: list[Any], name: str) -> None:
    if not 1 <= len(rows) <= MAXIMUM_FINDINGS:
        raise InvalidInputError(f"{name} must have from 1 to {MAXIMUM_FINDINGS} members")


def _method(operation: Callable[[Findings, Parameters], dict[str, Any]]) -> Callable[[SecurityHubResponse], str]:
    """Return a method of the response class. An account that has not enabled Security Hub gets InvalidAccessException.

    https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_GetFindings.html, "Errors"
    """

    def answer(self: SecurityHubResponse) -> str:
        if not self.securityhub_backend.enabled:
            message = f"Account {self.current_account} is not subscribed to AWS Security Hub"
            raise SecurityHubClientError("InvalidAccessException", message)
        try:
            found = operation(findings_of(self.current_account, self.region), json.loads(self.body or "{}"))
        except InvalidInputError as error:
            raise SecurityHubClientError("InvalidInputException", str(error)) from error
        return json.dumps(found)

    return answer
