"""Which of our own findings are imported."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from express_path.domain.findings.texts import SEVERITIES, path_text, severity
from express_path.domain.network.resources import TargetKind
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path_integrations.adapters.asff import asff_finding
from express_path_integrations.adapters.security_hub import MAX_AGE, OwnFinding, finding_to_import
from express_path_integrations.findings import StoredVerdict

START = datetime(2026, 11, 22, tzinfo=UTC)
RULE = "s3express-no-nat-path"


def seen(reason: Reason | None, minute: int, remedy: str = "") -> StoredVerdict:
    """Return a verdict on the subnet that was read at a minute."""
    at = START + timedelta(minutes=minute)
    if reason is None:
        return StoredVerdict("subnet-1", at, None)
    compliance = RuleParameters().compliance_of(reason)
    path = (Hop(TargetKind.NAT_GATEWAY, "nat-1", "0.0.0.0/0"),)
    verdict = Verdict("1", "eu-west-1", "vpc-1", "subnet-1", "z", "rtb-1", compliance, reason, f"{reason}: x", path)
    return StoredVerdict("subnet-1", at, verdict, Remedy(remedy) if remedy else None)


def imported(content: dict[str, Any]) -> OwnFinding:
    """Return a finding as it is after its import; Security Hub adds fields of its own."""
    fields = {**content["ProductFields"], "aws/securityhub/FindingId": "1"}
    content = {**content, "ProductFields": fields}
    updated_at = datetime.fromisoformat(content["UpdatedAt"])
    return OwnFinding("subnet-1", updated_at, content["RecordState"] == "ACTIVE", content)


@given(
    st.lists(
        st.builds(
            seen,
            st.sampled_from([*Reason, None]),
            st.integers(0, 9),
            st.sampled_from(["", "Fix."]),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_an_import_is_final_and_never_older(dated: list[StoredVerdict]) -> None:
    """No dated verdict is imported twice, each import is newer, and a finding that never existed is not closed."""
    existing: OwnFinding | None = None
    for one in dated:
        made = finding_to_import(existing, one, RULE)
        if made is None:
            continue
        assert made["Compliance"]["Status"] in ("FAILED", "PASSED")
        assert (made["Compliance"]["Status"] == "FAILED") is one.fails is (made["RecordState"] == "ACTIVE")
        assert existing or one.fails
        assert existing is None or existing.updated_at < datetime.fromisoformat(made["UpdatedAt"])
        assert existing is None or existing.content["CreatedAt"] == made["CreatedAt"]
        assert not [key for key in made["ProductFields"] if key.startswith("aws/")]
        existing = imported(made)
        assert finding_to_import(existing, one, RULE) is None


def test_unchanged_findings_are_imported_again_before_they_expire() -> None:
    """A finding that says the same is imported again only when it is 30 days old; one that says more, at once."""
    first = finding_to_import(None, seen(Reason.NAT_GATEWAY, 0), RULE)
    assert first is not None
    existing = imported(first)
    assert finding_to_import(existing, seen(Reason.NAT_GATEWAY, 5), RULE) is None
    assert finding_to_import(existing, seen(Reason.NAT_GATEWAY, 5, "Fix."), RULE) is not None
    late = replace(seen(Reason.NAT_GATEWAY, 0), at=START + MAX_AGE)
    assert finding_to_import(existing, late, RULE) is not None


def test_severity_depends_on_the_reason_of_a_failing_subnet() -> None:
    """Every reason has a severity, which counts only if the subnet is NON_COMPLIANT."""
    assert SEVERITIES.keys() == set(Reason)
    verdict = seen(Reason.NAT_BEYOND_TRANSIT_GATEWAY, 1).verdict
    assert verdict is not None
    assert severity(verdict) == "HIGH"
    assert severity(replace(verdict, compliance=Compliance.COMPLIANT)) == "INFORMATIONAL"


def test_finding_without_a_path_or_remedy_is_complete() -> None:
    """Blank values, which Security Hub rejects, are left out or replaced."""
    verdict = Verdict("1", "cn-north-1", "", "subnet-1", "", None, Compliance.NOT_APPLICABLE, Reason.DELETED, "gone")
    finding = asff_finding(verdict, None, {}, RULE, "2026-11-22T00:00:00Z")
    assert path_text(verdict) == ""
    assert finding["ProductFields"]["express-path/path"] == "none"
    assert finding["Resources"][0]["Details"] == {"AwsEc2Subnet": {"SubnetId": "subnet-1"}}
    assert finding["ProductArn"] == "arn:aws-cn:securityhub:cn-north-1:1:product/1/default"
    assert "Remediation" not in finding
    long = asff_finding(verdict, Remedy("word " * 200, "command"), {}, RULE, "2026-11-22T00:00:00Z")
    assert len(long["Remediation"]["Recommendation"]["Text"]) == 512


def test_missing_result_closes_a_finding_as_it_is() -> None:
    """Without a verdict, a closed finding keeps its text and fields, except those of Security Hub itself."""
    first = finding_to_import(None, seen(Reason.NAT_GATEWAY, 0, "Fix."), RULE)
    assert first is not None
    closed = finding_to_import(imported(first), seen(None, 1), RULE)
    assert closed is not None
    assert (closed["Compliance"], closed["RecordState"]) == ({"Status": "PASSED"}, "ARCHIVED")
    assert closed["ProductFields"] == first["ProductFields"]
    assert closed["Description"] == first["Description"]
    assert finding_to_import(imported(closed), seen(None, 2), RULE) is None
