"""Rows as SARIF: a log of the published schema, with the state of each finding."""

import json
from dataclasses import replace
from typing import Any

from fluidattacks_core.sarif import SarifLog

from express_path.domain.path.reasons import Reason
from express_path_cli.findings.formats import Format
from express_path_cli.findings.result import Result
from tests.cli.findings.results import (
    COMPLIANT,
    DENIED,
    DROPPED,
    EVERY,
    EXCLUDED,
    FLAGGED,
    LABELED,
    REMEDY,
    compared,
    labeled,
    rendered,
    result_of,
)


def run_of(result: Result) -> dict[str, Any]:
    """Return the run of a log, which is valid SARIF 2.1.0."""
    text = rendered(Format.SARIF, result)
    SarifLog.model_validate_json(text)
    [run] = json.loads(text)["runs"]
    found: dict[str, Any] = run
    return found


def test_each_route_table_and_reason_is_a_result_of_the_rule_of_its_reason() -> None:
    """Only NON_COMPLIANT fails. The location of a table is its place in the network, since it is in no file."""
    second = replace(FLAGGED, subnet_id="subnet-6")
    run = run_of(result_of(*EVERY, second))
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    kinds = {"NON_COMPLIANT": ("fail", "error"), "COMPLIANT": ("pass", "none")}
    results = {result["ruleId"]: result for result in run["results"]}
    assert len(results) == len(run["results"]) == len(EVERY)
    for row in EVERY:
        result = results[row.reason]
        assert (result["kind"], result["level"]) == kinds.get(row.compliance, ("notApplicable", "none"))
        assert rules[result["ruleIndex"]] == row.reason
        assert result["message"]["text"].startswith(row.annotation)
        [location] = result["locations"]
        place = f"{row.account_id}/{row.region}/{row.vpc_id}/{row.route_table_id or 'unknown'}"
        assert location["physicalLocation"]["artifactLocation"]["uri"] == place
    flagged = results[FLAGGED.reason]
    assert flagged["message"]["text"] == f"{FLAGGED.annotation} (2 subnets: {FLAGGED.subnet_id}, subnet-6)"
    assert flagged["properties"]["subnetIds"] == [FLAGGED.subnet_id, "subnet-6"]


def test_nothing_that_others_write_is_a_link() -> None:
    """A message of plain text may have links: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html, section 3.11.6."""
    link = "[a](https://example.com)"
    failure = replace(DENIED, where=f"account {link}")
    result = replace(result_of(replace(FLAGGED, annotation=link)), failures=[failure], settings=[link])
    run = run_of(result)
    notes = [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]]
    messages = [run["results"][0]["message"]["text"], *notes]
    assert len(messages) == 3
    assert [text for text in messages if "](" in text or "[a] (https://example.com)" not in text] == []


def test_a_fingerprint_stays_with_the_table_and_the_reason() -> None:
    """Viewers recognize a finding when subnets of the table change; each table and reason has a fingerprint of its own."""
    others = [replace(FLAGGED, route_table_id="rtb-2"), replace(FLAGGED, reason=Reason.PARTLY_NAT), FLAGGED]
    before = {json.dumps(result["partialFingerprints"]) for result in run_of(result_of(*others))["results"]}
    changed = [replace(row, subnet_id="subnet-9", annotation="another") for row in others]
    after = {json.dumps(result["partialFingerprints"]) for result in run_of(result_of(*changed, *others))["results"]}
    assert before == after
    assert len(before) == len(others)


def test_a_result_has_properties() -> None:
    """They have the names, the paths, and the remedy."""
    first, second = (result["properties"] for result in run_of(labeled())["results"])
    assert first == {
        "routeTableId": LABELED.route_table_id,
        "subnetIds": [LABELED.subnet_id],
        "subnetNames": {LABELED.subnet_id: LABELED.subnet_name},
        "paths": [f"0.0.0.0/0 -> {LABELED.path[0].id}"],
        "names": {"routeTable": LABELED.route_table_name, "vpc": LABELED.vpc_name},
        "remedy": REMEDY.advice,
        "remedyUrl": REMEDY.url,
        "command": REMEDY.command,
    }
    assert second["names"] == {}
    [fine] = run_of(result_of(COMPLIANT))["results"]
    assert "remedy" not in fine["properties"]


def test_a_run_says_what_is_missing() -> None:
    """If an account could not be read, the run is not successful; it counts what is dropped and excluded."""
    run = run_of(result_of(FLAGGED, DROPPED, EXCLUDED, failures=[DENIED]))
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"] is False
    [notification] = invocation["toolExecutionNotifications"]
    assert notification["message"]["text"].startswith(DENIED.where)
    assert run["properties"] == {
        "express-path/dropped": 1,
        "express-path/excluded": {"tag key=a on b": 1},
        "express-path/ignored": 0,
        "express-path/setByFile": 0,
    }
    assert run_of(result_of())["invocations"][0]["executionSuccessful"] is True


def test_results_have_a_baseline_state() -> None:
    """A table is new if one of its findings is. One whose findings are all fixed is absent and passes.

    What is unknown is a notification.
    """
    run = run_of(compared())
    states = {(result["ruleId"], result["kind"]): result.get("baselineState") for result in run["results"]}
    assert states == {
        ("PARTLY_NAT", "fail"): "new",
        ("NAT_GATEWAY", "fail"): "new",
        ("ENDPOINT", "pass"): None,
        ("UNRESOLVED_EGRESS", "notApplicable"): None,
    }, "a finding of this table is fixed, and another one is not"
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert [note["level"] for note in notes] == ["note", "note"]
    assert all("subnet-hidden" in note["message"]["text"] or "subnet-gone" in note["message"]["text"] for note in notes)
    left = [row for row in compared().rows if not row.is_flagged]
    [absent] = [
        one for one in run_of(replace(compared(), rows=left))["results"] if one.get("baselineState") == "absent"
    ]
    assert (absent["ruleId"], absent["kind"], absent["level"]) == ("NAT_GATEWAY", "pass", "none")
    assert run["tool"]["driver"]["rules"][absent["ruleIndex"]]["id"] == "NAT_GATEWAY"
    [flagged] = [one for one in run["results"] if one["ruleId"] == "NAT_GATEWAY"]
    assert absent["partialFingerprints"] == flagged["partialFingerprints"]
