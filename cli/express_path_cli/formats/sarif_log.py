"""Verdicts as SARIF 2.1.0, for code scanning and editors (https://docs.oasis-open.org/sarif/sarif/v2.1.0/)."""

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.formats.json_rows import json_document
from express_path_cli.remedies import PAGES, Remedies
from express_path_cli.remedy_texts import general_remedy
from express_path_cli.resource_labels import ResourceLabels
from express_path_cli.result import Failure, Result
from express_path_cli.summary import dropped, exclusions
from express_path_cli.wording import path_text, reason_text, subnet_arn, subnet_uid

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_KIND = {Compliance.NON_COMPLIANT: "fail", Compliance.COMPLIANT: "pass", Compliance.NOT_APPLICABLE: "notApplicable"}
_REASONS = list(Reason)


def as_sarif(result: Result) -> Iterator[str]:
    """Yield one run: a rule for each reason, a result for each subnet, a notification for each failure."""
    remedies, labels = Remedies(result.views), ResourceLabels(result.views, result.tag_keys)
    return json_document(_log(result), "results", (_result(verdict, remedies, labels) for verdict in result.verdicts))


def _log(result: Result) -> dict[str, Any]:
    run = {
        "tool": {"driver": _driver()},
        "invocations": [
            {
                "executionSuccessful": not result.failures,
                "endTimeUtc": result.made_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "toolExecutionNotifications": [_notification(failure) for failure in result.failures],
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


def _result(verdict: Verdict, remedies: Remedies, labels: ResourceLabels) -> dict[str, Any]:
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
                    {"name": verdict.subnet_id, "fullyQualifiedName": subnet_arn(verdict), "kind": "resource"}
                ],
            }
        ],
        "partialFingerprints": {"subnet/v1": subnet_uid(verdict)},
        "properties": _properties(verdict, labels) | _remedy(verdict, remedies),
    }


def _properties(verdict: Verdict, labels: ResourceLabels) -> dict[str, Any]:
    """Return the properties that every result has. SARIF defines `tags` as a list of words (section 3.8.2)."""
    return {
        "routeTableId": verdict.route_table_id,
        "path": path_text(verdict),
        "names": labels.names(verdict).fields(),
        "resourceTags": labels.tags(verdict),
    }


def _remedy(verdict: Verdict, remedies: Remedies) -> dict[str, str]:
    """Return the properties that a result with a remedy has."""
    remedy = remedies.of(verdict)
    if remedy is None:
        return {}
    return {"remedy": remedy.text, "remedyUrl": remedy.url} | ({"command": remedy.command} if remedy.command else {})


def _notification(failure: Failure) -> dict[str, Any]:
    return {"level": "error", "message": {"text": f"{failure.where}: {failure.error}"}}
