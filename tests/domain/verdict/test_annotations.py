"""An annotation is read back as it was written."""

import json

import pytest

from express_path.domain.network.resources import Route, RouteTable, TargetKind, target_kind
from express_path.domain.path.outcomes import Hop, Outcome
from express_path.domain.path.reasons import Reason
from express_path.domain.verdict.annotations import MAX_LENGTH, annotate, read_annotation
from tests.support.command import scan
from tests.support.scenarios import dump_of, names


def test_annotations_of_networks_are_read_back() -> None:
    """The reason, route table, and hops of the verdicts on every fourth test network are in their annotations."""
    read = 0
    for name in names()[::4]:
        for verdict in json.loads(scan(dump_of(name)).stdout)["subnets"]:
            found = read_annotation(verdict["annotation"])
            hops = [hop["id"] for hop in verdict["path"]]
            assert found is not None
            assert found.reason == verdict["reason"]
            for hop, hop_id in zip(found.path, hops, strict=False):  # an instance is named by its route's target
                assert hop.id == hop_id or hop.id.startswith("i-")
            assert len(found.path) == len(hops) or len(verdict["annotation"]) == MAX_LENGTH
            if hops:
                read += 1
                assert found.route_table_id == verdict["routeTableId"]
                assert found.path[0].destination == verdict["path"][0]["destination"]
    assert read > 40


def test_a_hop_that_is_cut_off_is_left_out() -> None:
    """AWS Config's limit may cut the last ID, which would be another resource's or none."""
    ids = [f"tgw-0123456789abcdef{number}" for number in range(9)]
    hops = tuple(Hop(target_kind(hop_id), hop_id, "0.0.0.0/0") for hop_id in ids)
    table = RouteTable(id="rtb-0123456789abcdef0", vpc_id="vpc-1")
    route = Route("0.0.0.0/0", hops[0].id, TargetKind.TRANSIT_GATEWAY)
    text = annotate(Reason.UNRESOLVED_EGRESS, Outcome(Reason.UNRESOLVED_EGRESS, hops, route), table)
    assert text.endswith("...")
    found = read_annotation(text)
    assert found is not None
    assert 2 < len(found.path) < len(hops)
    assert [hop.id for hop in found.path] == ids[: len(found.path)]


@pytest.mark.parametrize("text", ["", "A rule of somebody else: fine", "nat_gateway: x", "SOMETHING: else"])
def test_an_annotation_of_another_rule_says_nothing(text: str) -> None:
    """Without a known reason there is nothing to read."""
    assert read_annotation(text) is None


@pytest.mark.parametrize(
    ("text", "table", "hops"),
    [
        ("NAT_GATEWAY: a NAT, in words of another version; route ::/0 -> nat-1 in rtb-1", "rtb-1", ["nat-1"]),
        (
            "NAT_GATEWAY: crosses a NAT (IPv6); route ::/0 -> eni-1 in rtb-1, then nat-1 (n)",
            "rtb-1",
            ["eni-1", "nat-1"],
        ),
        ("EXCLUDED: excluded from the rule (tag a; route b -> c in rtb-1 on subnet-1)", None, []),
        ("DROPPED: AWS drops it; route pl-1 -> unknown in rtb-1 (in rtb-2, then nat-1)", "rtb-1", ["unknown"]),
        ("NAT_GATEWAY: crosses a NAT; route 0.0.0.0/0 -> nat-1 in rtb-...", None, []),
        ("NAT_GATEWAY: crosses a NAT; route 0.0.0.0/0 -> nat-...", None, []),
        ("NAT_GATEWAY", None, []),
    ],
)
def test_what_an_annotation_says(text: str, table: str | None, hops: list[str]) -> None:
    """Notes and tags may look like routes, phrases may change, and what was cut off is left out."""
    found = read_annotation(text)
    assert found is not None
    assert (found.route_table_id, [hop.id for hop in found.path]) == (table, hops)
