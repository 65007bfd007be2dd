"""The table of a scan: the worklist and the subnets, in terminals and in pipes."""

import io
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from express_path.domain.network.resources import VpcEndpoint
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.texts import Remedy
from express_path_cli.findings.formats.text import as_text
from express_path_cli.findings.options import RenderOptions, ScanOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Mark, Row
from express_path_cli.findings.selection import Selection
from express_path_cli.findings.summary import EXCLUDED_FIX
from express_path_cli.terminal.tables import Screen
from tests.cli.findings import results
from tests.cli.findings.results import (
    COMPLIANT,
    DROPPED,
    EXCLUDED,
    FLAGGED,
    LABELED,
    NAT,
    REMEDY,
    UNKNOWN,
    compared,
    result_of,
)

CENTRAL = replace(
    FLAGGED,
    account_id="444455556666",
    region="ap-southeast-1",
    route_table_id="rtb-0aaaaaaaaaaaaaaaa",
    reason=Reason.NAT_BEYOND_TRANSIT_GATEWAY,
)
FIX = "blackhole: its target is gone; 部署 in words of two columns each; replace or delete the route"
LONG = replace(DROPPED, note=FIX, remedy=Remedy(f"AWS drops the traffic: {FIX}."))
EVERY = (FLAGGED, replace(FLAGGED, subnet_id="subnet-0b"), CENTRAL, LONG, COMPLIANT)


def terminal(*rows: Row, options: RenderOptions | None = None, **console: object) -> str:
    """Return the table as a terminal shows it."""
    usual = {"force_terminal": True, "color_system": None, "legacy_windows": False}
    screen = Screen(Console(file=io.StringIO(), **(usual | console)))  # type: ignore[arg-type]
    return "".join(as_text(result_of(*rows), options or RenderOptions(), screen))


def piped(*rows: Row, options: RenderOptions | None = None, **more: object) -> list[str]:
    """Return the lines that a pipe or a file gets."""
    return lines_of(result_of(*rows, **more), options)


def lines_of(result: Result, options: RenderOptions | None = None) -> list[str]:
    """Return the lines of a result in a pipe."""
    return "".join(as_text(result, options or RenderOptions(), Screen())).splitlines()


def test_terminals_show_colors() -> None:
    """Headings stand out, and secondary lines are dim; without colors the text is the same."""
    colored = terminal(*EVERY, width=80, color_system="standard")
    assert "\x1b[1;31mNON_COMPLIANT\x1b[0m\n" in colored
    assert "\x1b[1mSubnets  Route table" in colored
    assert re.search(r"\n\x1b\[2m +NAT_GATEWAY  nat-0204e28944207a124  us-east-1\x1b\[0m\n", colored)
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == terminal(*EVERY, width=80)
    assert "\x1b" not in terminal(*EVERY, width=80)


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_a_table_fits(width: int) -> None:
    """No line but a command is wider than the terminal. IDs are whole, and text is broken between words."""
    lines = terminal(*EVERY, width=width).splitlines()
    assert max(cell_len(line) for line in lines if not line.startswith(("  express-path", REMEDY.command))) <= width
    text = "\n".join(lines)
    for whole in (FLAGGED.route_table_id, FLAGGED.vpc_id, FLAGGED.account_id, CENTRAL.region, NAT.id, CENTRAL.reason):
        assert re.search(rf"(^|\s){whole}(\s|$)", text)
    assert f"DROPPED, 1 subnet of {LONG.route_table_id}: AWS drops the traffic: {FIX}." in " ".join(text.split())
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("width", [80, 160])
def test_an_item_is_at_most_two_lines(width: int) -> None:
    """Also one with names, several NATs, and what is unknown. Only names are ever cut, at their end."""
    nats = [NAT._replace(id=f"nat-{number:017}") for number in range(3)]
    named = replace(
        LABELED, route_table_name="private-a-" * 4, vpc_name="production", reason=Reason.NAT_BEYOND_TRANSIT_GATEWAY
    )
    rows = [replace(named, subnet_id=f"subnet-{nat.id}", path=(nat,)) for nat in nats]
    rows += [LONG, replace(UNKNOWN, note="set networkRoleArn", path=(NAT,) * 4), CENTRAL]
    shown = terminal(*rows, width=width)
    worklist = shown[: shown.index("What to do")]
    items = re.findall(r"\n +\d+  .*(?:\n  +[^\d\s].*)*", worklist)
    assert len(items) == 4
    assert [item for item in items if item.count("\n") > 2] == []
    for whole in (named.reason, nats[0].id, "and 2 more", named.route_table_id, named.account_id, "priva"):
        assert str(whole) in items[0]
    wide = terminal(named, width=300)
    assert f"  {named.route_table_name}  " in wide, "a name is not cut where there is room"


def test_a_terminal_lists_twenty_tables_or_the_worst_eight() -> None:
    """Of more than twenty, it lists eight, counts the others, and names the command that shows them, with the same selection. A pipe gets all."""
    many = [replace(row, remedy=REMEDY) for row in tables(24)]
    rows = [*many, replace(LONG, route_table_id="rtb-dropped")]
    lines = terminal(*rows, width=120).splitlines()
    assert sum(bool(re.match(r" +1  rtb-|  +1  NAT_", line)) for line in lines) == 8
    place = lines.index("17 more route tables. To see each, with what to do:")
    assert lines[place + 1] == "  express-path scan --output express-path.html"
    selected = RenderOptions(scan=ScanOptions(selection=Selection(frozenset(["vpc-1"]))))
    command = "  express-path scan --output express-path.html --vpc vpc-1"
    assert command in terminal(*rows, width=120, options=selected).splitlines()
    assert sum(bool(re.match(r" +1  (NAT_|DROPPED)", line)) for line in piped(*rows)) == 25
    assert not any("more route table" in line for line in piped(*rows))
    assert not any("more route table" in line for line in terminal(*tables(20), width=120).splitlines())


@pytest.mark.parametrize("width", [1, 40])
def test_the_narrowest_terminal_breaks_no_id(width: int) -> None:
    """If the columns do not fit, lines are longer than the terminal, which wraps them."""
    shown = terminal(*EVERY, width=width)
    assert re.search(f"\n      2  {FLAGGED.route_table_id} +{FLAGGED.vpc_id} ", shown)
    assert f" {NAT.id}  " in shown


def test_rows_of_one_account_name_it_once() -> None:
    """A terminal shows the account and Region of all rows in the heading; a pipe has them in every row."""
    lines = terminal(FLAGGED, width=80).splitlines()
    assert "NON_COMPLIANT, account 111122223333 us-east-1" in lines
    assert sum("111122223333" in line for line in lines) == 1
    [row] = [line for line in piped(FLAGGED) if line.startswith("      1  ")]
    assert row.split() == [
        *("1", "NAT_GATEWAY", FLAGGED.route_table_id, "-", FLAGGED.vpc_id, "-", FLAGGED.account_id, "us-east-1", NAT.id)
    ]


def test_the_worst_is_first_and_parts_are_separate() -> None:
    """NAT paths by reason, then dropped subnets with their fix, then unresolved ones."""
    lines = piped(*EVERY, EXCLUDED, UNKNOWN)
    rows = [line.split()[:3] for line in lines if re.match(r" +\d+  ", line)]
    assert rows == [
        ["2", "NAT_GATEWAY", FLAGGED.route_table_id],
        ["1", "NAT_BEYOND_TRANSIT_GATEWAY", CENTRAL.route_table_id],
        ["1", "DROPPED", DROPPED.route_table_id],
        ["1", "UNRESOLVED_EGRESS", "unknown"],
    ]
    [dropped] = [line for line in lines if "DROPPED  rtb-" in line]
    assert dropped.endswith(f"0.0.0.0/0 -> {NAT.id}  {LONG.note}")
    assert "3 of 7 subnets reach S3 Express through a NAT (2 route tables)." in lines
    assert f"EXCLUDED: {EXCLUDED_FIX}" in lines
    assert any("express-path explain" in line for line in lines)


def test_findings_with_and_without_a_path_to_look_at_are_in_one_table() -> None:
    """With unresolvedEgress=NON_COMPLIANT, a path that could not be determined is a finding beside those of a NAT."""
    unresolved = replace(UNKNOWN, compliance=Compliance.NON_COMPLIANT, path=(NAT,), note="its table cannot be read")
    header, first, second = (line.split("  ") for line in piped(FLAGGED, unresolved)[3:6])
    assert "Unknown" in "  ".join(header)
    assert first[-1].strip() == "-"
    assert "its table cannot be read" in "  ".join(second)
    shown = terminal(FLAGGED, unresolved, width=80)
    assert shown.index("NAT_GATEWAY") < shown.index("UNRESOLVED_EGRESS")


def test_subnets_are_one_line_each() -> None:
    """A line has everything that grep may look for, and the first seven columns have no spaces."""
    listing = RenderOptions(lists_subnets=True)
    lines = piped(*EVERY, replace(UNKNOWN, path=()), options=listing)
    [line] = [line for line in lines if FLAGGED.subnet_id in line and " NAT_GATEWAY " in line]
    ids = (FLAGGED.account_id, FLAGGED.region, FLAGGED.vpc_id, FLAGGED.subnet_id, FLAGGED.route_table_id)
    assert line.split()[:7] == [*ids, "NON_COMPLIANT", "NAT_GATEWAY"]
    assert line.endswith(f"0.0.0.0/0 -> {NAT.id}")
    [dropped] = [line for line in lines if " DROPPED " in line]
    assert dropped.endswith(f"(to fix: {LONG.note})")
    [unknown] = [line for line in lines if " UNRESOLVED_EGRESS " in line]
    assert unknown.endswith("its route table is not known")
    assert any(line.startswith("Account  ") for line in lines)  # numbers are at the right, account IDs are not
    assert sum("  subnet-" in line for line in lines) == len(EVERY) + 1
    assert not any("express-path scan" in line for line in lines)
    assert {*lines} & {*terminal(*EVERY, width=80, options=listing).splitlines()}


def test_control_characters_do_not_reach_the_terminal() -> None:
    """A forged name or ID cannot color, overwrite, or imitate other lines."""
    evil = "rtb-1\x1b[2J\r\n0 subnets\u202e\u0085"
    for lines in (
        piped(replace(FLAGGED, route_table_id=evil, vpc_id=evil)),
        piped(replace(FLAGGED, subnet_id=evil, annotation=evil, path=()), options=RenderOptions(lists_subnets=True)),
        terminal(replace(FLAGGED, route_table_id=evil), replace(DROPPED, note=evil), width=80).splitlines(),
    ):
        assert not any(line.startswith("0 subnets") for line in lines)
        assert all(line.isprintable() for line in lines)


def test_a_terminal_shows_two_of_many_values() -> None:
    """If there are more, it shows the first and counts the others. A pipe gets all of them."""
    nats = [f"nat-{number}" for number in range(1, 5)]
    rows = [replace(FLAGGED, subnet_id=f"subnet-{nat}", path=(NAT._replace(id=nat),)) for nat in nats]
    shown = terminal(*rows, width=200)
    assert [nat in shown for nat in nats] == [True, False, False, False]
    assert "and 3 more" in shown
    assert nats[1] in terminal(*rows[:2], width=200)
    assert any(line.endswith("nat-1, nat-2, nat-3, nat-4") for line in piped(*rows))


def test_names_are_columns() -> None:
    """The names of the table and the VPC are in the worklist and in the list of subnets."""
    row = replace(LABELED, route_table_name="private-a")
    [line] = [line for line in piped(row) if line.startswith("      1  ")]
    words = line.split()
    assert (words[3], words[5]) == ("private-a", "prod")
    lines = piped(row, options=RenderOptions(lists_subnets=True))
    names = next(line for line in lines if line.startswith("1111")).split()[7:10]
    assert names == ["app-a", "private-a", "prod"]


def tables(number: int, **changed: object) -> list[Row]:
    """Return a flagged row in each of several route tables, each with a remedy of its own."""
    return [
        replace(
            FLAGGED,
            subnet_id=f"subnet-{place}",
            route_table_id=f"rtb-{place}",
            remedy=replace(REMEDY, text=f"Associate rtb-{place}."),
            **changed,  # type: ignore[arg-type]
        )
        for place in range(number)
    ]


def test_only_a_few_changes_are_printed() -> None:
    """A command is a line of its own; the other changes are counted, with the command that shows them."""
    lines = piped(*tables(5))
    assert sum(line.startswith("NAT_GATEWAY, 1 subnet: Associate rtb-") for line in lines) == 3
    assert lines.count(REMEDY.command) == 3
    assert (
        lines[lines.index("2 more changes. To see each, with what to do:") + 1]
        == "  express-path scan --output express-path.html"
    )
    assert "  express-path scan --output express-path.html" not in piped(*tables(3))


def test_the_changes_have_an_example_of_each_reason() -> None:
    """The first change of each reason is before the second of any; a change for several reasons says how many of each."""
    endpoint = VpcEndpoint("vpce-1", "vpc-1", "gateway", "com.amazonaws.us-east-1.s3express", "available")
    both = replace(FLAGGED, vpc_id="vpc-1", remedy=Remedy("Associate it.", endpoint=endpoint))
    behind = replace(both, subnet_id="subnet-2", route_table_id="rtb-2", reason=Reason.NAT_BEHIND_APPLIANCE)
    beside = replace(both, subnet_id="subnet-3")
    lines = piped(
        both, beside, behind, *tables(4), LONG, replace(UNKNOWN, remedy=Remedy("What is unknown: its table."))
    )
    place = lines.index("What to do")
    heads = [line.partition(":")[0] for line in lines[place:] if re.match("[A-Z_]+, ", line)]
    assert heads == [
        "NAT_GATEWAY, 3 subnets, 1 of them NAT_BEHIND_APPLIANCE",
        f"DROPPED, 1 subnet of {LONG.route_table_id}",
        "UNRESOLVED_EGRESS, 1 subnet",
    ]


def test_a_comparison_is_counted_and_listed() -> None:
    """The counts come first, then what is new, fixed, or unknown; each row counts its new subnets, or has its mark."""
    lines = lines_of(compared())
    assert lines[1].startswith("Compared with the baseline: 2 new (1 NON_COMPLIANT before, for another reason), 1 unch")
    assert (
        f"  fixed: 111122223333 us-east-1 {FLAGGED.vpc_id} {FLAGGED.route_table_id} NAT_GATEWAY -> ENDPOINT: subnet-fixed"
        in lines
    )
    [row] = [line.split()[:3] for line in lines if line.endswith(NAT.id) and " NAT_GATEWAY " in line]
    assert row == ["2", "1", "NAT_GATEWAY"]
    details = lines_of(compared(), RenderOptions(lists_subnets=True))
    assert {line.split()[3] for line in details if line.startswith("1111") and " new " in line} == {
        "subnet-new",
        "subnet-worse",
    }


def test_advice_is_about_what_is_new() -> None:
    """With a baseline, new route tables come first, and only they have a change and a next command."""
    new = replace(FLAGGED, route_table_id="rtb-new", subnet_id="subnet-new", baseline=Mark.NEW)
    old = [replace(FLAGGED, subnet_id=f"subnet-{number}", baseline=Mark.UNCHANGED) for number in range(3)]
    result = replace(compared(), rows=[*old, new])
    lines = lines_of(result)
    tables = [line.split()[3] for line in lines if line.endswith(NAT.id)]
    assert tables == ["rtb-new", FLAGGED.route_table_id]
    advice = lines[lines.index("What to do") :]
    assert any(line.startswith("NAT_GATEWAY, 1 subnet") for line in advice)
    assert not any("subnet-0" in line or FLAGGED.route_table_id in line for line in advice)


def test_a_large_network_begins_with_totals() -> None:
    """By account, with names, and by owner; then the worst tables of each account, and the command that hands them over."""
    rows = [
        replace(
            FLAGGED,
            account_id="111122223333" if number else "444455556666",
            route_table_id=f"rtb-{number:02}",
            subnet_id=f"subnet-{number:02}-{place}",
            table_tags={"owner": f"team {number % 2}"},
            tags={"owner": f"team {number % 2}"},
        )
        for number in range(25)
        for place in range(2 if number else 1)
    ]
    result = result_of(*rows, account_names={"444455556666": "data"})
    screen = Screen(Console(file=io.StringIO(), force_terminal=True, color_system=None, width=160))
    lines = "".join(as_text(result, RenderOptions(scan=ScanOptions(file="scan.json")), screen)).splitlines()
    assert [line.split()[:4] for line in lines[3:6]] == [
        ["Account", "Name", "Subnets", "NON_COMPLIANT"],
        ["111122223333", "-", "48", "48"],
        ["444455556666", "data", "1", "1"],
    ]
    assert [line.split()[:4] for line in lines[9:11]] == [["team", "0", "25", "25"], ["team", "1", "24", "24"]]
    assert sum(" rtb-" in line and NAT.id in line for line in lines) == 8
    assert any("rtb-00" in line and "444455556666" in line for line in lines)
    assert "  express-path scan --from scan.json --split-by tag:owner --output owners" in lines
    assert any(
        line.startswith("  express-path explain subnet-") and line.endswith(" --from scan.json") for line in lines
    )


def test_a_terminal_shows_the_first_findings_of_each_mark() -> None:
    """In a pipe, the list is complete."""
    result = compared()
    comparison = replace(
        result.comparison, new=[replace(FLAGGED, route_table_id=f"rtb-{number}") for number in range(25)]
    )  # type: ignore[type-var]
    result = replace(result, comparison=comparison)
    screen = Screen(Console(file=io.StringIO(), force_terminal=True, color_system=None, width=200))
    shown = "".join(as_text(result, RenderOptions(), screen)).splitlines()
    assert sum(line.startswith("  new: 1111") for line in shown) == 20
    assert "  new: 5 more route tables, which --format json lists" in shown
    assert sum(line.startswith("  new: 1111") for line in lines_of(result)) == 25


def test_a_part_that_could_not_be_read_is_not_called_fine() -> None:
    """The sentence at the end says that it is about what was read."""
    lines = piped(COMPLIANT, failures=[results.DENIED])
    assert "No subnet that could be read is NON_COMPLIANT." in lines
    assert piped()[0] == f"0 subnets: 0 {Compliance.NON_COMPLIANT}, 0 COMPLIANT, 0 NOT_APPLICABLE"
