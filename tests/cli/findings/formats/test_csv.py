"""Rows as CSV: columns, cells of a reader, and no formulas."""

import csv
import io
from dataclasses import replace

import pytest

from express_path_cli.findings.formats import Format
from express_path_cli.findings.result import Result
from tests.cli.findings.results import (
    FLAGGED,
    LABELED,
    NAT,
    OF_LABELED,
    REMEDY,
    UNKNOWN,
    compared,
    labeled,
    rendered,
    result_of,
)


def rows_in(result: Result) -> list[dict[str, str]]:
    """Return the rows that a CSV reader gets."""
    return list(csv.DictReader(io.StringIO(rendered(Format.CSV, result), newline="")))


def test_each_field_is_in_its_column() -> None:
    """The path is in one cell, and unknown values are empty."""
    first, second = rows_in(labeled())
    assert first == {
        **OF_LABELED,
        "path": f"0.0.0.0/0 -> {NAT.id}",
        "subnetName": LABELED.subnet_name,
        "routeTableName": LABELED.route_table_name,
        "vpcName": LABELED.vpc_name,
        "remedy": REMEDY.advice,
        "command": REMEDY.command,
    }
    assert {value for column, value in second.items() if "Name" in column} == {""}
    two_hops = replace(FLAGGED, path=(NAT._replace(id="tgw-1"), NAT._replace(destination="::/0")))
    [row, unknown] = rows_in(result_of(two_hops, UNKNOWN))
    assert row["path"] == f"0.0.0.0/0 -> tgw-1, then ::/0 -> {NAT.id}"
    assert unknown["routeTableId"] == ""


def test_a_column_is_the_mark_of_a_comparison() -> None:
    """It is empty without a finding, and missing without a baseline."""
    rows = rows_in(compared())
    assert list(rows[0])[-3:] == ["baseline", "remedy", "command"]
    assert [row["baseline"] for row in rows] == ["unchanged", "new", "new", "fixed", "unknown", ""]


@pytest.mark.parametrize("value", ["=1+1", "+1", "-1", "@sum(a1)", "\t=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201"])
def test_no_cell_is_a_formula(value: str) -> None:
    """Text from somebody else's dump is not a formula in a spreadsheet, also not in a later line of its cell."""
    for before in ("", "a\n", "a\r\n"):
        [row] = rows_in(result_of(replace(FLAGGED, annotation=before + value)))
        assert row["annotation"] == f"{before}'{value}"
