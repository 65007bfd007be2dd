"""Every network gets the expected verdicts.

The commands' tests build on this: what a scan prints of a verdict is shown here, for every reason and with each parameter.
"""

import json
import re
from typing import Any

import pytest

from tests.support import command, scenarios
from tests.support.scenarios import Expected, Run, dump_of


@pytest.mark.parametrize("name", scenarios.names())
def test_scenario(name: str) -> None:
    """A scan gives the expected rows and exit status for each set of parameters."""
    for run in scenarios.runs(name):
        result = command.scan(dump_of(name), run.parameters)
        assert result.exit_code == run.exit_status, result.stderr
        assert result.stderr == ""
        _check(json.loads(result.stdout), run)


def _check(document: dict[str, Any], run: Run) -> None:
    rows = document["subnets"]
    order = [(row["accountId"], row["region"], row["subnetId"]) for row in rows]
    assert order == sorted(order)
    several = any("/" in key for key in run.subnets)
    by_key = {f"{row['accountId']}/{row['subnetId']}" if several else row["subnetId"]: row for row in rows}
    assert len(by_key) == len(rows)
    verdicts = {key: (row["compliance"], row["reason"], row["routeTableId"]) for key, row in by_key.items()}
    assert verdicts == {key: tuple(expected[:3]) for key, expected in run.subnets.items()}, run.parameters
    for key, row in by_key.items():
        _check_evidence(row, run.subnets[key])


def _check_evidence(row: dict[str, Any], expected: Expected) -> None:
    assert 1 <= len(row["annotation"]) <= 256
    words = set(re.split(r"[\s,;()]+", row["annotation"]))
    named = [route for route in expected.routes if words.issuperset(route)]
    assert named or not expected.routes, f"{row['annotation']!r} names none of {expected.routes}"
    hops = iter([hop["id"] for hop in row["path"]])
    assert all(hop_id in hops for hop_id in expected.through), f"{row['path']} misses {expected.through}"


@pytest.mark.parametrize(("name", "is_said"), [("nat64-beside-the-endpoint", True), ("one-family-through-nat", False)])
def test_annotation_says_where_ipv6_is_at_fault(name: str, is_said: bool) -> None:
    """If only one address family crosses a NAT, the annotation names IPv6, or no family for IPv4."""
    rows = json.loads(command.scan(dump_of(name)).stdout)["subnets"]
    partly = [row["annotation"] for row in rows if row["reason"] == "PARTLY_NAT"]
    assert ["(IPv6)" in annotation for annotation in partly] == [is_said]
