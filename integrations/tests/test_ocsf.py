"""The OCSF function: each changed verdict becomes one Compliance Finding on the integrations' event bus."""

import random
from typing import Any

import pytest

from express_path.domain.path.reasons import Reason
from express_path.errors import ApiError, FindingsError, SettingError
from express_path_integrations.handlers.ocsf import compose_services
from integrations.tests.hub import SUBNET, at, published
from integrations.tests.siem import Siem
from sandbox.server import Sandbox
from tests.support.rule import RULE

NAT, BEYOND, GOOD, EXCLUDED, DELETED = (
    Reason.NAT_GATEWAY,
    Reason.NAT_BEYOND_TRANSIT_GATEWAY,
    Reason.ENDPOINT,
    Reason.EXCLUDED,
    Reason.DELETED,
)
ONE = "subnet-1"


@pytest.fixture
def siem(sandbox: Sandbox) -> Siem:
    """Return the consumer of findings, with the function."""
    return Siem(sandbox)


def said(findings: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return subnet, activity, and reason of findings."""
    return [
        (row["resources"][0]["name"], row["activity_name"], row["compliance"].get("status_code", ""))
        for row in findings
    ]


@pytest.mark.parametrize(
    ("old", "reason", "activity", "status", "severity"),
    [
        (None, NAT, (1, 200301), "Fail", 3),
        (NAT, BEYOND, (2, 200302), "Fail", 4),
        (NAT, GOOD, (3, 200303), "Pass", 1),
        (GOOD, DELETED, (2, 200302), "Not applicable", 1),
    ],
)
def test_changed_verdict_becomes_a_finding(
    siem: Siem, old: Reason | None, reason: Reason, activity: tuple[int, int], status: str, severity: int
) -> None:
    """The finding has what happened, the status, the severity, and the ID that the command's findings have too."""
    if old:
        siem.deliver(siem.hub.evaluate(ONE, old, at(0)))
        siem.findings()
    assert siem.deliver(siem.hub.evaluate(ONE, reason, at(1))) == []
    [finding] = siem.findings()
    assert (finding["activity_id"], finding["type_uid"]) == activity
    assert (finding["compliance"]["status"], finding["compliance"]["status_code"]) == (status, reason)
    assert (finding["severity_id"], finding.get("status_id")) == (severity, 4 if activity[0] == 3 else None)
    assert finding["finding_info"]["uid"] == "s3express-no-nat-path/123456789012/us-east-1/subnet-1"
    assert finding["metadata"]["uid"] == f"{finding['finding_info']['uid']}/{finding['time']}"
    assert finding["time"] == siem.hub.clock.timestamp() * 1000
    assert finding["resources"][0]["data"]["path"] == ("0.0.0.0/0 -> nat-1" if status == "Fail" else "")
    assert ("remediation" in finding) is (status == "Fail")


def test_repeated_and_reordered_events_publish_nothing_twice(siem: Siem) -> None:
    """Only the newest state is published, and only once."""
    first, second = siem.hub.evaluate(ONE, NAT, at(1)), siem.hub.evaluate(ONE, BEYOND, at(2))
    siem.deliver(second)
    siem.deliver(first, second)
    siem.deliver(*siem.hub.snapshot([published(ONE, BEYOND)], at(3)), siem.hub.sweep_completed(at(3)), second)
    assert said(siem.findings()) == [(ONE, "Create", "NAT_BEYOND_TRANSIT_GATEWAY")]


def test_sweeps_publish_what_was_lost(siem: Siem) -> None:
    """Without any VerdictChanged, a sweep publishes each change with its path and remedy, and closes what is gone."""
    hub = siem.hub
    verdicts = [hub.store_result(f"subnet-{number}", NAT, at(1)) for number in range(3)]
    left_out = published("subnet-9", EXCLUDED)
    siem.deliver(*hub.snapshot([*verdicts, left_out], at(1)), hub.sweep_completed(at(1)))
    findings = siem.findings()
    assert said(findings) == [(f"subnet-{number}", "Create", "NAT_GATEWAY") for number in range(3)]
    assert all(finding["resources"][0]["data"]["path"] and finding["remediation"] for finding in findings)
    fixed = hub.store_result("subnet-0", GOOD, at(2))
    hub.results.results.pop((RULE.name, (SUBNET, "subnet-1")))
    events = [*hub.snapshot([fixed, verdicts[2], left_out], at(3)), hub.sweep_completed(at(3))]
    for event in reversed(events):
        siem.deliver(event)
    findings = siem.findings()
    assert said(findings) == [("subnet-0", "Close", "ENDPOINT"), ("subnet-1", "Close", "")]
    assert findings[1]["message"].startswith("AWS Config has no result for this subnet anymore")
    siem.deliver(*events, hub.event_of_deletion("subnet-1", at(2)))
    assert siem.findings() == []


@pytest.mark.parametrize("seed", range(3))
def test_each_order_of_events_leads_to_the_state_in_config(siem: Siem, seed: int) -> None:
    """After late, repeated, reordered, and lost events and one sweep, the last finding of each subnet is its result."""
    hub, chance = siem.hub, random.Random(seed)
    subnet_ids = [f"subnet-{number}" for number in range(6)]
    events, newest = [], {}
    for minute in range(40):
        subnet_id, reason = chance.choice(subnet_ids), chance.choice([NAT, BEYOND, GOOD, EXCLUDED])
        events.append(hub.evaluate(subnet_id, reason, at(minute)))
        newest[subnet_id] = published(subnet_id, reason)
        if chance.random() < 0.3:
            hub.results.clean_up()
    chance.shuffle(events)
    for event in events[:25]:
        siem.deliver(event, chance.choice(events))
    sweep = [*hub.snapshot(newest.values(), at(50)), hub.sweep_completed(at(50))]
    chance.shuffle(sweep)
    siem.deliver(*sweep)
    last: dict[str, tuple[str, str]] = {}
    for finding in siem.findings():
        compliance = finding["compliance"]
        last[finding["resources"][0]["name"]] = (compliance["status"], compliance.get("status_code", ""))
    for subnet_id, row in newest.items():
        if row.verdict.reason is EXCLUDED:
            assert last.get(subnet_id, ("Not applicable",))[0] == "Not applicable"
        else:
            assert last[subnet_id][1] == row.verdict.reason
    siem.deliver(*sweep, *events)
    assert siem.findings() == []


def test_finding_that_is_not_taken_fails_its_message(siem: Siem) -> None:
    """If EventBridge does not take a finding, the queue delivers the message again, and nothing is remembered."""
    events = [siem.hub.evaluate(f"subnet-{number}", NAT, at(1)) for number in range(2)]
    siem.sandbox.eventbridge.fail_entries("ThrottlingException", times=3 * 2)
    with pytest.raises(FindingsError, match="2 findings were rejected, the first: subnet-0: ThrottlingException"):
        siem.deliver(*events)
    assert siem.deliver(*events) == []
    assert said(siem.findings()) == [("subnet-0", "Create", "NAT_GATEWAY"), ("subnet-1", "Create", "NAT_GATEWAY")]


def test_finding_that_cannot_be_remembered_is_published_again(siem: Siem) -> None:
    """If the table cannot be written, the message fails after the publication, and the finding is published again."""
    event = siem.hub.evaluate(ONE, NAT, at(1))
    siem.sandbox.faults.deny("dynamodb", "PutItem")
    with pytest.raises(ApiError, match="dynamodb:PutItem"):
        siem.deliver(event)
    siem.sandbox.faults.clear()
    siem.deliver(event)
    assert said(siem.findings()) == [(ONE, "Create", "NAT_GATEWAY")] * 2


@pytest.mark.parametrize("missing", ["RULE_NAME", "EVENT_BUS_NAME", "TABLE_NAME"])
def test_settings_are_checked(missing: str) -> None:
    """The function needs the rule's name, a bus, and a table."""
    environment = {"RULE_NAME": "rule", "EVENT_BUS_NAME": "bus", "TABLE_NAME": "table", missing: ""}
    with pytest.raises(SettingError, match=missing):
        compose_services(environment, "123456789012")
