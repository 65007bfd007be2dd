"""The findings of one account and Region, merged as Security Hub merges what providers and customers say."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from moto.securityhub.models import securityhub_backends

from config_rule_sandbox.security_hub.checks import InvalidInputError, check_finding, checked_timestamp
from config_rule_sandbox.security_hub.filters import Finding

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
