"""What is added to native findings: idempotent, within limits, and never older than what is there."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from express_path.domain.findings.enrichment import AUTHOR, NativeFinding, Update, enrichment
from express_path.domain.findings.observations import Observation
from express_path.domain.network.targets import TargetKind
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.parameters import RuleParameters

START = datetime(2026, 11, 22, tzinfo=UTC)
NATIVE = NativeFinding("finding-1", "arn:aws:config", "subnet-1", "FAILED", "NEW", True, "", {})
HOPS = (Hop(TargetKind.TRANSIT_GATEWAY, "tgw-1", "0.0.0.0/0"), Hop(TargetKind.NAT_GATEWAY, "nat-1", "0.0.0.0/0"))
LONG = Remedy("Associate. " * 50, "aws ec2 " + "x" * 300)


def observation(
    reason: Reason | None,
    minute: int,
    annotation: str = "words",
    remedy: Remedy | None = None,
    *,
    is_complete: bool = True,
) -> Observation:
    """Return an observation of the subnet at a minute."""
    at = START + timedelta(minutes=minute)
    if reason is None:
        return Observation("subnet-1", at, None)
    compliance = RuleParameters().compliance_of(reason)
    path = HOPS if is_complete else ()
    verdict = Verdict(
        "1", "eu-west-1", "vpc-1", "subnet-1", "z", "rtb-1", compliance, reason, f"{reason}: {annotation}", path
    )
    return Observation("subnet-1", at, verdict, remedy, is_complete)


def applied(update: Update) -> NativeFinding:
    """Return the finding after Security Hub carried out an update."""
    finding = replace(update.finding, fields=update.fields, workflow=update.workflow or update.finding.workflow)
    return replace(finding, note_author=AUTHOR) if update.note is not None else finding


observations = st.builds(
    observation,
    st.sampled_from([*Reason, None]),
    st.integers(0, 9),
    st.sampled_from(["words", "w" * 240]),
    st.sampled_from([None, Remedy("Fix it."), LONG]),
    is_complete=st.booleans(),
)
findings = st.builds(
    NativeFinding,
    id=st.just("finding-1"),
    product_arn=st.just("arn"),
    subnet_id=st.just("subnet-1"),
    status=st.sampled_from(["PASSED", "FAILED", "NOT_AVAILABLE", "WARNING"]),
    workflow=st.sampled_from(["NEW", "NOTIFIED", "RESOLVED", "SUPPRESSED"]),
    is_active=st.booleans(),
    note_author=st.sampled_from(["", AUTHOR, "jane"]),
    fields=st.sampled_from([{}, {"team": "net"}, {"express-path/orderingTimestamp": "long ago"}]),
)


@given(findings, st.lists(observations, min_size=1, max_size=6))
def test_an_update_is_final_for_its_observation(finding: NativeFinding, seen: list[Observation]) -> None:
    """After an update, the same observation changes nothing, so the events of updates cannot lead to more updates."""
    for one in seen:
        update = enrichment(finding, one)
        if update is None:
            continue
        assert not finding.is_never_touched
        assert update.workflow in (None, "NEW", "RESOLVED")
        assert update.note is None or 0 < len(update.note) <= 512
        assert update.note is None or finding.note_author in ("", AUTHOR)
        assert all(0 < len(value) < 1024 for value in update.fields.values())
        finding = applied(update)
        assert finding.fields.get("team") == update.finding.fields.get("team")
        assert enrichment(finding, one) is None
        consistent = replace(finding, status="FAILED" if one.fails else "NOT_AVAILABLE")
        assert consistent.is_settled


@given(st.permutations([observation(reason, minute) for minute, reason in enumerate([Reason.NAT_GATEWAY, *Reason])]))
def test_the_newest_observation_wins_in_any_order(seen: list[Observation]) -> None:
    """Whatever the order, the finding describes the newest observation in the end."""
    finding = NATIVE
    for one in seen:
        update = enrichment(finding, one)
        finding = applied(update) if update else finding
    newest = max(seen, key=lambda one: one.at)
    assert newest.verdict
    assert finding.fields["express-path/reason"] == newest.verdict.reason
    assert (finding.workflow == "RESOLVED") is not newest.fails


@pytest.mark.parametrize(
    ("remedy", "annotation", "expected"),
    [
        (None, "words", "words. Path: 0.0.0.0/0 -> tgw-1, then 0.0.0.0/0 -> nat-1."),
        (Remedy("Fix."), "words", "0.0.0.0/0 -> nat-1. Remedy: Fix."),
        (Remedy("Fix.", "fix --now", note="Or not."), "words", "nat-1. Remedy: Fix. Or not. Command: fix --now"),
        (Remedy("Fix. " * 50, "fix --now"), "w" * 200, "Fix. Fix.  Command: fix --now"),
        (Remedy("Fix. " * 90, "fix --now"), "w" * 240, "www. Command: fix --now"),
        (Remedy("Fix. " * 99), "w" * 240, "Fix. Fix. Fix. F..."),
    ],
)
def test_note_has_what_fits(remedy: Remedy | None, annotation: str, expected: str) -> None:
    """A note leaves out the path first, then the text of the remedy, and keeps the command as long as it can."""
    update = enrichment(NATIVE, observation(Reason.NAT_GATEWAY, 1, annotation, remedy))
    assert update is not None
    assert update.note is not None
    assert update.note.startswith(f"NAT_GATEWAY: {annotation}.")
    assert update.note.endswith(expected)


def known(**fields: str) -> Mapping[str, str]:
    """Return our fields in a finding."""
    return {f"express-path/{name}": value for name, value in fields.items()}


@pytest.mark.parametrize(
    ("status", "workflow", "is_active", "compliance", "expected"),
    [
        ("FAILED", "NEW", True, "", False),
        ("PASSED", "NEW", True, "", True),
        ("FAILED", "NEW", False, "", True),
        ("FAILED", "SUPPRESSED", True, "", True),
        ("FAILED", "NEW", True, "NON_COMPLIANT", True),
        ("FAILED", "RESOLVED", True, "NON_COMPLIANT", False),
        ("PASSED", "NEW", True, "NON_COMPLIANT", False),
        ("FAILED", "RESOLVED", True, "COMPLIANT", False),
        ("NOT_AVAILABLE", "NEW", True, "NOT_APPLICABLE", False),
        ("NOT_AVAILABLE", "RESOLVED", True, "NOT_APPLICABLE", True),
    ],
)
def test_finding_that_agrees_with_what_we_added_is_settled(
    status: str, workflow: str, *, is_active: bool, compliance: str, expected: bool
) -> None:
    """Nothing has to be read for a finding that is settled: passed, left alone, or as we left it."""
    fields = known(compliance=compliance, orderingTimestamp=START.isoformat(), resolvedByRule="true")
    finding = replace(
        NATIVE, status=status, workflow=workflow, is_active=is_active, fields=fields if compliance else {}
    )
    assert finding.is_settled is expected


def test_times_that_are_not_ours_do_not_count() -> None:
    """A timestamp that somebody else wrote counts as none."""
    for text in ("", "yesterday", "2026-11-22T00:00:00"):
        assert replace(NATIVE, fields=known(orderingTimestamp=text)).seen_at is None


def test_result_of_config_never_replaces_what_an_event_said() -> None:
    """The stored result lacks the remedy, so it changes nothing where the event said the same."""
    event = observation(Reason.NAT_GATEWAY, 1, remedy=Remedy("Fix."))
    update = enrichment(NATIVE, event)
    assert update is not None
    stored = observation(Reason.NAT_GATEWAY, 2, is_complete=False)
    assert enrichment(applied(update), stored) is None
    other = enrichment(applied(update), observation(Reason.PARTLY_NAT, 2, is_complete=False))
    assert other is not None
    assert "express-path/remedy" not in other.fields


def test_missing_result_keeps_what_is_known_of_a_passing_subnet() -> None:
    """Without a result, only the workflow of a finding changes whose subnet did not fail."""
    fields = known(compliance=Compliance.NOT_APPLICABLE, reason="EXCLUDED", orderingTimestamp=START.isoformat())
    update = enrichment(replace(NATIVE, fields=fields), observation(None, 1))
    assert update == Update(
        replace(NATIVE, fields=fields), {**fields, **known(resolvedByRule="true")}, workflow="RESOLVED"
    )
    assert enrichment(replace(NATIVE, fields=fields, workflow="RESOLVED"), observation(None, 1)) is None


def test_missing_result_resolves_a_finding_without_dating_it() -> None:
    """Without a result, the finding is resolved, and the next event of the rule counts as newer."""
    update = enrichment(NATIVE, observation(None, 5))
    assert update is not None
    assert update.note is not None
    assert update.note.startswith("AWS Config has no result")
    assert (update.severity, update.workflow) == ("INFORMATIONAL", "RESOLVED")
    again = enrichment(applied(update), observation(Reason.NAT_GATEWAY, 1))
    assert again is not None
    assert again.workflow == "NEW"
