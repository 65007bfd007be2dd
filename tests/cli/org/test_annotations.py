"""An annotation is read back as it was written."""

import json

import pytest

from express_path.domain.network.resources import Route, RouteTable, TargetKind, target_kind
from express_path.domain.path.outcomes import Hop, Outcome
from express_path.domain.path.reasons import Reason
from express_path.domain.verdict.evaluator import MAX_LENGTH, annotate
from express_path.errors import RecordError
from express_path_cli.org.aggregate import parse_annotation
from tests.support.command import scan
from tests.support.scenarios import dump_of, names


def test_annotations_of_networks_are_read_back() -> None:
    """The reason, route table, and hops of the verdicts on every fourth test network are in their annotations."""
    read = 0
    for name in names()[::4]:
        for verdict in json.loads(scan(dump_of(name)).stdout)["subnets"]:
            found = parse_annotation(verdict["subnetId"], verdict["annotation"])
            hops = [hop["id"] for hop in verdict["path"]]
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
    found = parse_annotation("subnet-1", text)
    assert 2 < len(found.path) < len(hops)
    assert [hop.id for hop in found.path] == ids[: len(found.path)]


@pytest.mark.parametrize("text", ["", "A rule of somebody else: fine", "nat_gateway: x", "SOMETHING: else"])
def test_an_annotation_of_another_rule_is_refused(text: str) -> None:
    """A result without a known reason is an error that names the subnet, never a verdict."""
    with pytest.raises(RecordError, match="subnet-1: field Annotation"):
        parse_annotation("subnet-1", text)
