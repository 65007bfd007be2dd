"""What S3 Express traffic costs at each NAT, as `express-path cost` wrote it."""

import json
from pathlib import Path
from typing import Any

import pytest

from express_path_cli.findings.costs import NatCharge, read_costs
from express_path_cli.terminal.errors import OptionError

GATEWAY = {
    "id": "nat-1",
    "region": "us-east-1",
    "upperBound": {"bytes": 1, "usd": 1.5, "usdPerMonth": 1.6},
    "measured": {"usdPerMonth": 0.4, "atLeast": True},
}
COSTS = {
    "schemaVersion": 1,
    "start": "2026-01-14T05:00:00Z",
    "end": "2026-02-13T05:00:00Z",
    "natGateways": [GATEWAY, {"id": "nat-2", "region": "us-east-1", "upperBound": None, "measured": None}],
    "natInstances": [],
}


def cost_file(folder: Path, document: object) -> Path:
    """Write a file for --cost."""
    file = folder / "cost.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def test_costs_are_read_by_region_and_id(tmp_path: Path) -> None:
    """The upper bound and what was measured are per month; a gateway whose metrics could not be read has neither."""
    costs = read_costs(cost_file(tmp_path, COSTS))
    assert (costs.start, costs.end) == ("2026-01-14", "2026-02-13")
    assert costs.by_nat == {
        ("us-east-1", "nat-1"): NatCharge(1.6, 0.4, at_least=True),
        ("us-east-1", "nat-2"): NatCharge(None, None, at_least=False),
    }


def changed(**fields: object) -> dict[str, Any]:
    """The costs with a gateway that has other fields."""
    return {**COSTS, "natGateways": [{**GATEWAY, **fields}]}


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"schemaVersion": 1, "subnets": []}, "is not the JSON output of express-path cost"),
        ({**COSTS, "schemaVersion": 2}, "has the schemaVersion 2"),
        ({**COSTS, "start": None}, "start"),
        ({**COSTS, "natGateways": ["nat-1"]}, "natGateways"),
        (changed(id=7), "id"),
        (changed(upperBound={"usdPerMonth": "1.6"}), "usdPerMonth"),
        (changed(upperBound={"usdPerMonth": -1}), "usdPerMonth"),
        (changed(upperBound={"usdPerMonth": True}), "usdPerMonth"),
        (changed(upperBound={"usdPerMonth": float("inf")}), "usdPerMonth"),
        (changed(measured={"usdPerMonth": 1, "atLeast": "yes"}), "atLeast"),
    ],
)
def test_a_file_that_is_not_of_cost_is_refused(tmp_path: Path, document: object, says: str) -> None:
    """A damaged file, or that of another command, is named with what is wrong and how to make one."""
    with pytest.raises(OptionError, match=says) as caught:
        read_costs(cost_file(tmp_path, document))
    assert str(tmp_path / "cost.json") in str(caught.value)
    assert "express-path" in caught.value.hint
