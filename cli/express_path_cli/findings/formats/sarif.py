"""Rows as SARIF 2.1.0, for code scanning and editors (https://docs.oasis-open.org/sarif/sarif/v2.1.0/)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from itertools import chain
from typing import Any
from urllib.parse import quote

from express_path.domain.findings.texts import path_text
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.texts import PAGES, Remedy, general_remedy
from express_path.domain.verdict.annotations import MEANINGS
from express_path.domain.verdict.parameters import RULE_NAME
from express_path_cli.findings.baseline import PastFinding, past_text
from express_path_cli.findings.formats.json import document
from express_path_cli.findings.hubs import TITLE, hub_advice, hubs_in_short
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Mark, Row
from express_path_cli.findings.summary import dropped, exclusions
from express_path_cli.findings.worklist import WorkItem, worklist
from express_path_cli.terminal.tables import limited
from express_path_cli.terminal.texts import count_text

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_KIND = {Compliance.NON_COMPLIANT: "fail", Compliance.COMPLIANT: "pass", Compliance.NOT_APPLICABLE: "notApplicable"}
_REASONS = list(Reason)


def as_sarif(result: Result) -> Iterator[bytes]:
    """Yield one run: a rule for each reason, a notification for each failure and each hub, and the results.

    A result is a route table and a reason, with the subnets that have it, because a change is made to a route table.
    """
    items = worklist(result.rows).items()
    listed = {row.key for row in result.rows}
    past = result.comparison.fixed if result.comparison else ()
    fixed = _absent([finding for finding in past if finding.now and finding.now.key in listed], items)
    run = {
        "tool": {"driver": _driver()},
        "invocations": [
            {
                "executionSuccessful": not result.failures,
                "endTimeUtc": result.made_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "toolExecutionNotifications": [
                    *map(_note, result.settings),
                    *map(_note, filter(None, [result.not_news])),
                    *(_note(f"{failure.where}: {failure.message}", "error") for failure in result.failures),
                    *_unknown(result),
                    *_hubs(result),
                ],
            }
        ],
        "results": chain((_result(item) for item in items), fixed),
        "properties": {
            "express-path/dropped": dropped(result.rows),
            "express-path/excluded": exclusions(result.rows),
            "express-path/ignored": len(result.ignored),
            "express-path/setByFile": result.set_by_file,
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


def _result(item: WorkItem) -> dict[str, Any]:
    row = item.first
    kind = _KIND[row.compliance]
    table = row.route_table_id or "unknown"
    # A network has no files. Viewers group by physical location, so it is the table's position in the network, unless the
    # table is one of a plan, and the configuration was read.
    location = "/".join((row.account_id, row.region, row.vpc_id or "unknown", table))
    located = next((located for located in item.rows if located.file), row)
    subnets = f"{count_text(len(item.rows), 'subnet')}: {', '.join(limited([row.subnet_id for row in item.rows]))}"
    result = {
        "ruleId": row.reason,
        "ruleIndex": _REASONS.index(row.reason),
        "kind": kind,
        "level": "error" if kind == "fail" else "none",
        "message": _message(f"{row.annotation} ({subnets})"),
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(located.file) if located.file else location},
                    "region": {"startLine": located.line or 1},
                },
                "logicalLocations": [
                    {"name": table, "fullyQualifiedName": located.address or location, "kind": "resource"}
                ],
            }
        ],
        "partialFingerprints": {"routeTable/v1": f"{RULE_NAME}/{location}/{row.reason}"},
        "properties": _properties(item) | _remedy(row.remedy),
    }
    if item.mark in (Mark.NEW, Mark.UNCHANGED):  # section 3.27.24
        result["baselineState"] = item.mark
    return result


def _absent(fixed: Iterable[PastFinding], current: Iterable[WorkItem]) -> Iterator[dict[str, Any]]:
    """Yield a result for each route table and reason whose findings are all fixed.

    It passes, because some viewers ignore baselineState.
    """
    rows: defaultdict[tuple[str, str, str, str | None, str], list[Row]] = defaultdict(list)
    for past in fixed:
        if past.now:
            rows[*_table_of(past.now), past.finding.reason].append(past.now)
    for item in current:
        rows.pop((*_table_of(item.first), item.first.reason), None)
    for (*_, reason), now in rows.items():
        shown = _result(WorkItem(tuple(now)))
        location = shown["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        yield shown | {
            "ruleId": reason,
            "ruleIndex": _REASONS.index(Reason(reason)) if reason in _REASONS else -1,
            "kind": "pass",
            "level": "none",
            "message": _message(f"{reason} is fixed; now {shown['message']['text']}"),
            "partialFingerprints": {"routeTable/v1": f"{RULE_NAME}/{location}/{reason}"},
            "baselineState": "absent",
        }


def _table_of(row: Row) -> tuple[str, str, str, str | None]:
    return row.account_id, row.region, row.vpc_id, row.route_table_id


def _unknown(result: Result) -> Iterator[dict[str, Any]]:
    """Yield a notification for each finding of the baseline of which it is unknown whether it is fixed."""
    for past in result.comparison.unknown if result.comparison else ():
        yield _note(f"baseline: {past_text(past)}")


def _hubs(result: Result) -> Iterator[dict[str, Any]]:
    """Yield a notification for each hub that cuts other VPCs off; one for all of them if the output is about news.

    A hub is no result, because a result is a verdict on the subnets of a route table.
    """
    if result.hubs and result.is_about_news:
        yield _note(hubs_in_short(result.hubs))
        return
    for hub in result.hubs:
        advice = " ".join(hub_advice([hub]))
        yield _note(f"{TITLE}: {hub.where}: {hub.what}. {advice}", "warning" if hub.is_certain else "note")


def _note(text: str, level: str = "note") -> dict[str, Any]:
    return {"level": level, "message": _message(text)}


def _message(text: str) -> dict[str, str]:
    """Return a message of plain text. Names, such as keys of a plan, make no link of it: `[a](b)` is one (section 3.11.6)."""
    return {"text": text.replace("](", "] (")}


def _properties(item: WorkItem) -> dict[str, Any]:
    """Return the properties that every result has. SARIF defines `tags` as a list of words (section 3.8.2)."""
    properties = {
        "routeTableId": item.first.route_table_id,
        "subnetIds": [row.subnet_id for row in item.rows],
        "subnetNames": {row.subnet_id: row.subnet_name for row in item.rows if row.subnet_name},
        "paths": list(dict.fromkeys(filter(None, map(path_text, item.rows)))),
        "names": {resource: name for resource, name in item.first.names().items() if resource != "subnet"},
    }
    changed_by = list(dict.fromkeys(address for row in item.rows for address in row.changed_by))
    if changed_by:
        properties["changedBy"] = changed_by
    return properties


def _remedy(remedy: Remedy | None) -> dict[str, str]:
    """Return the properties that a result with a remedy has."""
    if remedy is None:
        return {}
    properties = {"remedy": remedy.advice, "remedyUrl": remedy.url}
    if remedy.command:
        properties["command"] = remedy.command
    return properties
