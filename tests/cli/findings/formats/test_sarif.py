"""Rows as SARIF: a log of the published schema, with the state of each finding."""

import json
from typing import Any

from fluidattacks_core.sarif import SarifLog

from express_path_cli.findings.output import Format
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


def test_each_subnet_is_a_result_of_the_rule_of_its_reason() -> None:
    """Only NON_COMPLIANT fails. The location of a subnet is its place in the network, since it is in no file."""
    run = run_of(result_of(*EVERY))
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    kinds = {"NON_COMPLIANT": ("fail", "error"), "COMPLIANT": ("pass", "none")}
    for result, row in zip(run["results"], EVERY, strict=True):
        assert (result["kind"], result["level"]) == kinds.get(row.compliance, ("notApplicable", "none"))
        assert rules[result["ruleIndex"]] == result["ruleId"] == row.reason
        assert result["message"]["text"] == row.annotation
        [location] = result["locations"]
        place = f"{row.account_id}/{row.region}/{row.vpc_id}/{row.subnet_id}"
        assert location["physicalLocation"]["artifactLocation"]["uri"] == place
        assert location["logicalLocations"][0]["name"] == row.subnet_id
    assert len({json.dumps(result["partialFingerprints"]) for result in run["results"]}) == len(EVERY)


def test_a_result_has_properties() -> None:
    """They have the names, the tags, the path, and the remedy; `tags` keeps the meaning that SARIF gives it."""
    first, second = (result["properties"] for result in run_of(labeled())["results"])
    assert first == {
        "routeTableId": LABELED.route_table_id,
        "path": f"0.0.0.0/0 -> {LABELED.path[0].id}",
        "names": LABELED.names(),
        "resourceTags": LABELED.tags,
        "remedy": REMEDY.advice,
        "remedyUrl": REMEDY.url,
        "command": REMEDY.command,
    }
    assert (second["names"], second["resourceTags"]) == ({}, {})
    [fine] = run_of(result_of(COMPLIANT))["results"]
    assert "remedy" not in fine["properties"]


def test_a_run_says_what_is_missing() -> None:
    """If an account could not be read, the run is not successful; it counts what is dropped and excluded."""
    run = run_of(result_of(FLAGGED, DROPPED, EXCLUDED, failures=[DENIED]))
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"] is False
    [notification] = invocation["toolExecutionNotifications"]
    assert notification["message"]["text"].startswith(DENIED.where)
    assert run["properties"] == {"express-path/dropped": 1, "express-path/excluded": {"tag key=a on b": 1}}
    assert run_of(result_of())["invocations"][0]["executionSuccessful"] is True


def test_results_have_a_baseline_state() -> None:
    """Findings are new or unchanged, fixed ones are absent and pass, and unknown ones are notifications."""
    run = run_of(compared())
    names = [result["locations"][0]["logicalLocations"][0]["name"] for result in run["results"]]
    states = [result.get("baselineState") for result in run["results"]]
    assert list(zip(names, states, strict=True)) == [
        (FLAGGED.subnet_id, "unchanged"),
        ("subnet-new", "new"),
        ("subnet-worse", "new"),
        ("subnet-fixed", None),
        ("subnet-hidden", None),
        ("subnet-fine", None),
        ("subnet-fixed", "absent"),
    ]
    absent = run["results"][-1]
    assert (absent["ruleId"], absent["kind"], absent["level"]) == ("NAT_GATEWAY", "pass", "none")
    assert run["tool"]["driver"]["rules"][absent["ruleIndex"]]["id"] == "NAT_GATEWAY"
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert [note["level"] for note in notes] == ["note", "note"]
    assert all("subnet-hidden" in note["message"]["text"] or "subnet-gone" in note["message"]["text"] for note in notes)
