"""Verdicts as SARIF 2.1.0, for code scanning and editors (https://docs.oasis-open.org/sarif/sarif/v2.1.0/)."""

import json
from collections.abc import Iterator
from importlib.metadata import version
from itertools import chain
from typing import Any

from express_path.domain.findings.texts import path_text
from express_path.domain.network.resources import subnet_arn
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.texts import PAGES, Remedy, general_remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.baseline import Mark, PastFinding
from express_path_cli.findings.formats.baseline_lines import past_text
from express_path_cli.findings.formats.findings import Finding, Findings
from express_path_cli.findings.formats.json_rows import JsonRows, json_document
from express_path_cli.findings.result import Result
from express_path_cli.findings.summary import dropped, exclusions
from express_path_cli.findings.wording import reason_text, subnet_uid
from express_path_cli.terminal.errors import Failure

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_KIND = {Compliance.NON_COMPLIANT: "fail", Compliance.COMPLIANT: "pass", Compliance.NOT_APPLICABLE: "notApplicable"}
_REASONS = list(Reason)


def as_sarif(result: Result) -> Iterator[str]:
    """Yield one run: a rule for each reason, a result for each subnet, a notification for each failure."""
    findings = Findings(result)
    results = JsonRows(result, _result).of(result.verdicts)
    fixed = (
        json.dumps(_result(findings.of(past.now)) | _absent(past, past.now))
        for past in (result.comparison.fixed if result.comparison else ())
        if past.now
    )
    return json_document(_log(result), "results", chain(results, fixed))


def _log(result: Result) -> dict[str, Any]:
    run = {
        "tool": {"driver": _driver()},
        "invocations": [
            {
                "executionSuccessful": not result.failures,
                "endTimeUtc": result.made_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "toolExecutionNotifications": [*map(_notification, result.failures), *_unknown(result)],
            }
        ],
        "results": [],  # one for each verdict
        "properties": {
            "express-path/dropped": dropped(result.verdicts),
            "express-path/excluded": exclusions(result.verdicts),
        },
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _driver() -> dict[str, Any]:
    rules = [
        {
            "id": reason,
            "name": "".join(word.capitalize() for word in reason.split("_")),
            "shortDescription": {"text": reason_text(reason)},
            "help": {"text": general_remedy(reason) or "Nothing to do."},
            "helpUri": PAGES[reason],
        }
        for reason in _REASONS
    ]
    return {"name": "express-path", "version": version("express-path"), "rules": rules}


def _result(finding: Finding) -> dict[str, Any]:
    verdict = finding.verdict
    kind = _KIND[verdict.compliance]
    # A network has no files. Viewers group by physical location, so it is the subnet's position in the network.
    location = "/".join((verdict.account_id, verdict.region, verdict.vpc_id or "unknown", verdict.subnet_id))
    return {
        "ruleId": verdict.reason,
        "ruleIndex": _REASONS.index(verdict.reason),
        "kind": kind,
        "level": "error" if kind == "fail" else "none",
        "message": {"text": verdict.annotation},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": location}, "region": {"startLine": 1}},
                "logicalLocations": [
                    {
                        "name": verdict.subnet_id,
                        "fullyQualifiedName": subnet_arn(verdict.account_id, verdict.region, verdict.subnet_id),
                        "kind": "resource",
                    }
                ],
            }
        ],
        "partialFingerprints": {"subnet/v1": subnet_uid(verdict)},
        "properties": _properties(finding) | _remedy(finding.remedy),
        **_baseline_state(finding.mark),
    }


def _baseline_state(mark: Mark | None) -> dict[str, str]:
    """Return the state of a finding relative to the baseline (section 3.27.24); empty without a baseline."""
    return {"baselineState": mark} if mark in (Mark.NEW, Mark.UNCHANGED) else {}


def _absent(past: PastFinding, now: Verdict) -> dict[str, Any]:
    """Return what the result of a fixed finding has instead. It passes, because some viewers ignore baselineState."""
    reason = past.finding.reason
    return {
        "ruleId": reason,
        "ruleIndex": _REASONS.index(Reason(reason)) if reason in _REASONS else -1,
        "kind": "pass",
        "level": "none",
        "message": {"text": f"{reason} is fixed; now {now.annotation}"},
        "baselineState": "absent",
    }


def _unknown(result: Result) -> Iterator[dict[str, Any]]:
    """Yield a notification for each finding of the baseline of which it is unknown whether it is fixed."""
    for past in result.comparison.unknown if result.comparison else ():
        yield {"level": "note", "message": {"text": f"baseline: {past_text(past)}"}}


def _properties(finding: Finding) -> dict[str, Any]:
    """Return the properties that every result has. SARIF defines `tags` as a list of words (section 3.8.2)."""
    return {
        "routeTableId": finding.verdict.route_table_id,
        "path": path_text(finding.verdict),
        "names": finding.names.fields(),
        "resourceTags": finding.tags,
    }


def _remedy(remedy: Remedy | None) -> dict[str, str]:
    """Return the properties that a result with a remedy has."""
    if remedy is None:
        return {}
    return {"remedy": remedy.advice, "remedyUrl": remedy.url} | ({"command": remedy.command} if remedy.command else {})


def _notification(failure: Failure) -> dict[str, Any]:
    return {"level": "error", "message": {"text": f"{failure.where}: {failure.error}"}}
