"""The operations on findings of Security Hub's API, which replace or complete those of moto's response class."""

import json
from collections.abc import Callable
from typing import Any

from moto.securityhub import urls
from moto.securityhub.exceptions import SecurityHubClientError
from moto.securityhub.responses import SecurityHubResponse

from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.security_hub import new_hub
from config_rule_sandbox.security_hub.checks import InvalidInputError
from config_rule_sandbox.security_hub.filters import chosen_findings
from config_rule_sandbox.security_hub.findings import Findings, findings_of

MAXIMUM_FINDINGS = 100
"""Of one BatchImportFindings or BatchUpdateFindings call, and of one page of GetFindings (botocore model)."""

Parameters = dict[str, Any]


def apply(patches: Patches) -> None:
    """Let moto answer BatchImportFindings, BatchUpdateFindings and GetFindings until `patches` are undone.

    https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_BatchUpdateFindings.html has a path that moto lacks.
    """
    paths = {**urls.url_paths, "{0}/findings/batchupdate$": SecurityHubResponse.dispatch, **new_hub.apply(patches)}
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
