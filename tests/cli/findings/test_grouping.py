"""Rows in groups: their values, their numbers, and their order."""

from dataclasses import replace

import pytest

from express_path.domain.path.reasons import Reason
from express_path_cli.findings.grouping import Grouping, groups, owners_of, parse_grouping
from express_path_cli.findings.row import Row
from express_path_cli.terminal.errors import OptionError
from tests.cli.findings.results import COMPLIANT, DROPPED, FLAGGED, LABELED, UNKNOWN

ELSEWHERE = replace(FLAGGED, account_id="444455556666", region="eu-west-1", vpc_id="vpc-2", reason=Reason.PARTLY_NAT)
ROWS = [COMPLIANT, ELSEWHERE, DROPPED, UNKNOWN, LABELED, FLAGGED]
TABLES = [replace(row, subnet_id=f"subnet-{number}", route_table_id=f"rtb-{number}") for number, row in enumerate(ROWS)]


@pytest.mark.parametrize(
    ("by", "values"),
    [
        ("account", [("111122223333",), ("444455556666",)]),
        ("tag:owner", [(None,), ("data:team",)]),
        ("tag:owner,env", [(None, None), ("data:team", None)]),
    ],
)
def test_groups_have_the_most_work_first(by: str, values: list[tuple[str | None, ...]]) -> None:
    """Flagged subnets come before dropped ones, and those before unresolved ones."""
    grouping = parse_grouping(by)
    assert [group.values for group in groups(TABLES, grouping)] == values
    assert all(len(grouping.titles) == len(found) for found in values)


@pytest.mark.parametrize(
    ("table", "subnets", "owner"),
    [
        ("net", ["data", "web"], "net"),
        ("", ["data", "web"], ""),
        (None, ["data", "data"], "data"),
        (None, ["data", "web"], None),
        (None, ["data", None], None),
    ],
)
def test_the_owner_is_that_of_the_route_table(table: str | None, subnets: list[str | None], owner: str | None) -> None:
    """Its tag counts, or that of the VPC; else that of all its subnets, if they agree."""

    def tags(value: str | None) -> dict[str, str]:
        return {} if value is None else {"owner": value}

    rows = [
        replace(FLAGGED, subnet_id=f"subnet-{number}", tags=tags(table) | tags(value), table_tags=tags(table))
        for number, value in enumerate(subnets)
    ]
    assert {*owners_of(rows, Grouping("tag:owner")).values()} == {(owner,)}


def test_a_group_counts_its_subnets_and_their_tables() -> None:
    """The route tables are those of NON_COMPLIANT subnets."""
    here, there = groups(ROWS, Grouping("account"))
    assert (len(here.rows), here.flagged, here.dropped, here.unresolved, here.route_tables) == (5, 2, 1, 1, 1)
    assert (len(there.rows), there.flagged, there.route_tables, there.needs_work) == (1, 1, 1, True)


@pytest.mark.parametrize(("row", "needs_work"), [(COMPLIANT, False), (DROPPED, True), (UNKNOWN, True)])
def test_a_group_needs_work_if_one_of_its_subnets_does(row: Row, *, needs_work: bool) -> None:
    """The others are only counted."""
    assert groups([row], Grouping("account"))[0].needs_work is needs_work


@pytest.mark.parametrize("by", ["subnet", "region", "table", "tag: ", "tag:owner,"])
def test_an_unknown_grouping_is_refused(by: str) -> None:
    """The hint names what is allowed."""
    with pytest.raises(OptionError) as raised:
        parse_grouping(by)
    assert raised.value.hint == "must be account or tag:KEY,..., such as tag:owner or tag:owner,stage"
