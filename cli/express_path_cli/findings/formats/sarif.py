"""Rows as SARIF 2.1.0, for code scanning and editors (https://docs.oasis-open.org/sarif/sarif/v2.1.0/)."""

from collections.abc import Iterator
from importlib.metadata import version
from itertools import chain
from typing import Any
from urllib.parse import quote

from express_path.domain.findings.texts import RULE_NAME, finding_id, path_text
from express_path.domain.network.resources import subnet_arn
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.texts import PAGES, Remedy, general_remedy
from express_path.domain.verdict.annotations import MEANINGS
from express_path_cli.findings.baseline import PastFinding, past_text
from express_path_cli.findings.formats.json import document
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Mark, Row
from express_path_cli.findings.summary import dropped, exclusions
from express_path_cli.terminal.errors import Failure

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_KIND = {Compliance.NON_COMPLIANT: "fail", Compliance.COMPLIANT: "pass", Compliance.NOT_APPLICABLE: "notApplicable"}
_REASONS = list(Reason)


def as_sarif(result: Result) -> Iterator[bytes]:
    """Yield one run: a rule for each reason, a result for each subnet, a notification for each failure."""
    fixed = (_absent(past, past.now) for past in (result.comparison.fixed if result.comparison else ()) if past.now)
    run = {
        "tool": {"driver": _driver()},
        "invocations": [
            {
                "executionSuccessful": not result.failures,
                "endTimeUtc": result.made_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "toolExecutionNotifications": [*map(_notification, result.failures), *_unknown(result)],
            }
        ],
        "results": chain(map(_result, result.rows), fixed),
        "properties": {
            "express-path/dropped": dropped(result.rows),
            "express-path/excluded": exclusions(result.rows),
        },
    }
    yield from document({"$schema": SCHEMA, "version": "2.1.0", "runs": iter([run])})


def _driver() -> dict[str, Any]:
    rules = [
        {
            "id": reason,
            "name": "".join(word.capitalize() for word in reason.split("_")),
            "shortDescription": {"text": MEANINGS[reason]},
            "help": {"text": general_remedy(reason) or "Nothing to do."},
            "helpUri": PAGES[reason],
        }
        for reason in _REASONS
    ]
    return {"name": "express-path", "version": version("express-path"), "rules": rules}


def _result(row: Row) -> dict[str, Any]:
    kind = _KIND[row.compliance]
    # A network has no files. Viewers group by physical location, so it is the subnet's position in the network, unless
    # the subnet is one of a plan, and the configuration was read.
    position = "/".join((row.account_id, row.region, row.vpc_id or "unknown", row.subnet_id))
    arn = subnet_arn(row.account_id, row.region, row.subnet_id)
    return {
        "ruleId": row.reason,
        "ruleIndex": _REASONS.index(row.reason),
        "kind": kind,
        "level": "error" if kind == "fail" else "none",
        "message": {"text": row.annotation},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(row.file) if row.file else position},
                    "region": {"startLine": row.line or 1},
                },
                "logicalLocations": [
                    {
                        "name": row.subnet_id,
                        "fullyQualifiedName": row.address or arn,
                        "kind": "resource",
                    }
                ],
            }
        ],
        "partialFingerprints": {"subnet/v1": finding_id(RULE_NAME, row.account_id, row.region, row.subnet_id)},
        "properties": _properties(row) | _remedy(row.remedy),
        **_baseline_state(row.baseline),
    }


def _baseline_state(mark: Mark | None) -> dict[str, str]:
    """Return the state of a finding relative to the baseline (section 3.27.24); empty without a baseline."""
    return {"baselineState": mark} if mark in (Mark.NEW, Mark.UNCHANGED) else {}


def _absent(past: PastFinding, now: Row) -> dict[str, Any]:
    """Return the result of a fixed finding. It passes, because some viewers ignore baselineState."""
    reason = past.finding.reason
    return _result(now) | {
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


def _properties(row: Row) -> dict[str, Any]:
    """Return the properties that every result has. SARIF defines `tags` as a list of words (section 3.8.2)."""
    return {
        "routeTableId": row.route_table_id,
        "path": path_text(row),
        "names": row.names(),
        "resourceTags": row.tags,
        **({"changedBy": row.changed_by} if row.changed_by else {}),
    }


def _remedy(remedy: Remedy | None) -> dict[str, str]:
    """Return the properties that a result with a remedy has."""
    if remedy is None:
        return {}
    return {"remedy": remedy.advice, "remedyUrl": remedy.url} | ({"command": remedy.command} if remedy.command else {})


def _notification(failure: Failure) -> dict[str, Any]:
    return {"level": "error", "message": {"text": f"{failure.where}: {failure.error}"}}
