"""The numbers of a sweep, and reasons read from annotations."""

import pytest

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.annotations import reason_of
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.summary import ExcludedSubnets, Summary, summarize
from tests.support.make import by_id, evaluator, route, snapshot, subnet, table

NETWORK = snapshot(
    subnets=by_id(
        subnet("subnet-1"),
        subnet("subnet-2", tags={"cost center": "a on b"}),
        subnet("subnet-3", tags={"cost center": "a on b"}),
        subnet("subnet-4", vpc_id="vpc-2"),
        subnet("subnet-5"),
        subnet("subnet-6"),
    ),
    route_tables=by_id(
        table("rtb-1", route("0.0.0.0/0", "nat-1"), subnets=("subnet-1",), main=True),
        table("rtb-5", route("0.0.0.0/0", "vgw-1"), subnets=("subnet-5",)),
        table("rtb-6", route("0.0.0.0/0", "nat-1", state="blackhole"), subnets=("subnet-6",)),
    ),
)


def verdicts(*subnet_ids: str) -> list[Verdict]:
    """Return the verdicts of these subnets."""
    deciding = evaluator(NETWORK, vpc_ids=frozenset({"vpc-1"}), exclude_tag="cost center=a on b")
    return [deciding.verdict(subnet_id) for subnet_id in subnet_ids]


def test_summary_counts_compliances_reasons_and_exclusions() -> None:
    """Every compliance is named, only reasons that occur are, and exclusions are counted by tag or parameter."""
    summary = summarize(verdicts(*NETWORK.subnets))
    assert summary == Summary(
        6,
        {Compliance.COMPLIANT: 0, Compliance.NON_COMPLIANT: 1, Compliance.NOT_APPLICABLE: 5},
        {Reason.NAT_GATEWAY: 1, Reason.UNRESOLVED_EGRESS: 1, Reason.DROPPED: 1, Reason.EXCLUDED: 3},
        (ExcludedSubnets("cost center=a on b", 2), ExcludedSubnets("vpcIds", 1)),
    )
    assert summary.unresolved == 2
    assert list(summary.reasons) == sorted(summary.reasons, key=list(Reason).index)


def test_summary_of_nothing_is_zero() -> None:
    """An account without subnets has zeros."""
    summary = summarize([])
    assert (summary.subnets, summary.unresolved, set(summary.counts.values())) == (0, 0, {0})


def test_reason_is_read_from_an_annotation() -> None:
    """The reason is the first word of each annotation that the rule writes."""
    for verdict in verdicts(*NETWORK.subnets, "subnet-0"):
        assert reason_of(verdict.annotation) is verdict.reason


@pytest.mark.parametrize("annotation", ["", "NAT", "NAT_GATEWAY2: x", "nat_gateway: x", ": NAT_GATEWAY"])
def test_other_annotations_have_no_reason(annotation: str) -> None:
    """An annotation of another rule has no reason."""
    assert reason_of(annotation) is None
