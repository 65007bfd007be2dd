"""What a user adds to the report: costs of NATs, and links to the AWS console."""

import json
from pathlib import Path
from typing import Any

import pytest

from express_path_cli.findings.costs import NatCharge, read_costs
from express_path_cli.findings.formats.html.data import console_address
from express_path_cli.terminal.errors import OptionError
from tests.cli.report.test_document import Parsed
from tests.support.command import invoke
from tests.support.scenarios import dump_of

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
    file.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
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
        ('{"schemaVersion": 1', "is not JSON, or is cut short"),
        ('{"schemaVersion": 1, "schemaVersion": 1}', "has the key 'schemaVersion' twice in one object"),
        ([], "is not the JSON output of express-path cost"),
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


def test_a_wrong_cost_file_is_one_line_and_no_report(tmp_path: Path) -> None:
    """The file is read before anything else, so nothing is read from AWS or written."""
    file = tmp_path / "report.html"
    dump = str(dump_of("gateway-endpoint"))
    result = invoke(["report", "--from-dump", dump, "--cost", str(tmp_path / "none.json"), "--output", str(file)])
    assert (result.exit_code, result.stdout, file.exists()) == (2, "", False)
    assert "none.json cannot be read" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("region", "address"),
    [
        ("eu-west-1", "https://eu-west-1.console.aws.amazon.com/vpcconsole/home?region=eu-west-1"),
        ("cn-north-1", "https://cn-north-1.console.amazonaws.cn/vpcconsole/home?region=cn-north-1"),
        ("us-gov-west-1", "https://us-gov-west-1.console.amazonaws-us-gov.com/vpcconsole/home?region=us-gov-west-1"),
        ("us-iso-east-1", ""),
    ],
)
def test_the_console_is_that_of_the_partition(region: str, address: str) -> None:
    """Each public partition has its own domain; isolated ones have none."""
    assert console_address(region) == address


def test_the_command_adds_what_its_options_name(tmp_path: Path) -> None:
    """Tags, costs, and links of the command's options are in the page; without them, none is."""
    dump = ["--from-dump", str(dump_of("nat-gateway-zonal"))]
    options = ["--tags", "owner", "--cost", str(cost_file(tmp_path, COSTS)), "--console-links"]
    pages = []
    for more in (options, []):
        file = tmp_path / f"report-{len(more)}.html"
        result = invoke(["report", *dump, *more, "--output", str(file)])
        assert result.exit_code == 1
        assert ("has the tag owner" in result.stderr) == bool(more)
        pages.append(Parsed(file.read_text(encoding="utf-8")).data())
    page, plain = pages
    assert page["tagKeys"] == ["owner"]
    assert page["csvColumns"][-1] == "tag:owner"
    assert page["costs"]["nats"][0] == ["us-east-1", "nat-1", 1.6, 0.4, 1]
    assert list(page["consoles"]) == ["us-east-1"]
    assert (page["explainOptions"], page["healOptions"]) == (f"--from-dump {dump[1]}", "")
    assert (plain["tagKeys"], plain["costs"], plain["consoles"]) == ([], None, {})
