"""The table of a scan: the worklist, groups, and subnets, in terminals and in pipes."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from express_path.domain.network.resources import TargetKind, VpcEndpoint
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.texts import Remedy
from express_path_cli.findings.formats.text import as_text
from express_path_cli.findings.grouping import Grouping
from express_path_cli.findings.options import RenderOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row, rows_of
from express_path_cli.terminal.tables import Screen, printable
from tests.cli.findings.test_formats import MADE_AT
from tests.support.command import invoke
from tests.support.many_subnets import write_dump
from tests.support.scenarios import dump_of

PATH = (Hop(TargetKind.NAT_GATEWAY, "nat-0204e28944207a124", "0.0.0.0/0"),)
FAILED = Row(
    "111122223333",
    "us-east-1",
    "vpc-0edcd841989b4dde2",
    "subnet-0039cb1b2e70efa19",
    "use1-az4",
    "rtb-035d2c55604d54d49",
    Compliance.NON_COMPLIANT,
    Reason.NAT_GATEWAY,
    "NAT_GATEWAY: it crosses a NAT",
    PATH,
)
CENTRAL = replace(
    FAILED,
    account_id="444455556666",
    region="ap-southeast-1",
    route_table_id="rtb-0aaaaaaaaaaaaaaaa",
    reason=Reason.NAT_BEYOND_TRANSIT_GATEWAY,
)
DROPPED = replace(
    FAILED,
    compliance=Compliance.NOT_APPLICABLE,
    reason=Reason.DROPPED,
    note="blackhole: its target no longer exists; 部署 in words of two columns each; replace or delete the route",
)
COMPLIANT = replace(
    FAILED, subnet_id="subnet-0ccccccccccccccccc", compliance=Compliance.COMPLIANT, reason=Reason.ENDPOINT, path=()
)
EVERY = [FAILED, replace(FAILED, subnet_id="subnet-0b"), CENTRAL, DROPPED, COMPLIANT]


def terminal(*verdicts: Row, options: RenderOptions | None = None, **console: object) -> str:
    """Return the table as a terminal shows it."""
    usual = {"force_terminal": True, "color_system": None, "legacy_windows": False}
    screen = Screen(Console(file=io.StringIO(), **(usual | console)))  # type: ignore[arg-type]
    return "".join(as_text(Result(verdicts, MADE_AT), options or RenderOptions(), screen))


def piped(*verdicts: Row, options: RenderOptions | None = None) -> list[str]:
    """Return the lines that a pipe or a file gets."""
    return "".join(as_text(Result(verdicts, MADE_AT), options or RenderOptions(), Screen())).splitlines()


@pytest.fixture(scope="module")
def eight_tables(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a dump of 400 subnets, 200 of them with one of ten bad route tables."""
    dump = tmp_path_factory.mktemp("many") / "dump"
    write_dump(dump, 2)
    return str(dump)


def test_terminals_show_colors() -> None:
    """Headings stand out, and secondary lines are dim; without colors the text is the same."""
    colored = terminal(*EVERY, width=80, color_system="standard")
    assert "\x1b[1;31mNON_COMPLIANT\x1b[0m\n" in colored
    assert "\x1b[1mSubnets  Route table" in colored
    assert re.search(r"\n\x1b\[2m +NAT_GATEWAY +nat-0204e28944207a124 +us-east-1\x1b\[0m\n", colored)
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == terminal(*EVERY, width=80)
    assert "\x1b" not in terminal(*EVERY, width=80)


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_a_table_fits(width: int) -> None:
    """No line but a command is wider than the terminal. IDs are whole, and text is broken between words."""
    lines = terminal(*EVERY, width=width).splitlines()
    assert max(cell_len(line) for line in lines if not line.startswith("  express-path")) <= width
    text = "\n".join(lines)
    for whole in (FAILED.route_table_id, FAILED.vpc_id, FAILED.account_id, CENTRAL.region, PATH[0].id, CENTRAL.reason):
        assert re.search(rf"(^|\s){whole}(\s|$)", text)
    assert DROPPED.note in " ".join(text.split())
    assert all(line == line.rstrip() for line in lines)


def test_the_narrowest_terminal_breaks_no_id() -> None:
    """If the columns do not fit, lines are longer than the terminal, which wraps them."""
    assert re.search(f"\n      2  {FAILED.route_table_id} +{FAILED.vpc_id} ", terminal(*EVERY, width=20))


def test_rows_of_one_account_name_it_once() -> None:
    """A terminal shows the account and Region of all rows in the heading; a pipe has them in every row."""
    lines = terminal(FAILED, width=80).splitlines()
    assert "NON_COMPLIANT, account 111122223333 us-east-1" in lines
    assert sum("111122223333" in line for line in lines) == 1
    [row] = [line for line in piped(FAILED) if line.startswith("      1  ")]
    assert row.split() == [
        *("1", "NAT_GATEWAY", FAILED.route_table_id, "-", FAILED.vpc_id, "-", "111122223333", "us-east-1", PATH[0].id)
    ]


def test_the_worst_is_first_and_parts_are_separate() -> None:
    """NAT paths by reason, then dropped subnets; COMPLIANT ones only if they are wanted."""
    lines = piped(*EVERY)
    places = [lines.index("NON_COMPLIANT"), next(place for place, line in enumerate(lines) if "DROPPED:" in line)]
    assert places == sorted(places)
    rows = [line.split()[:3] for line in lines if re.match(r" +\d+  ", line)]
    assert rows == [
        ["2", "NAT_GATEWAY", FAILED.route_table_id],
        ["1", "NAT_BEYOND_TRANSIT_GATEWAY", CENTRAL.route_table_id],
        ["1", "DROPPED", FAILED.route_table_id],
    ]
    assert "3 of 5 subnets reach S3 Express through a NAT (2 route tables)." in lines
    assert "ENDPOINT" in "\n".join(piped(*EVERY, options=RenderOptions(with_all=True)))


def test_details_are_one_line_each() -> None:
    """A line has everything that grep may look for, and the first seven columns have no spaces."""
    lines = piped(*EVERY, options=RenderOptions(details=True))
    [line] = [line for line in lines if FAILED.subnet_id in line and "NAT_GATEWAY" in line]
    ids = (FAILED.account_id, FAILED.region, FAILED.vpc_id, FAILED.subnet_id, FAILED.route_table_id)
    assert line.split()[:7] == [*ids, "NON_COMPLIANT", "NAT_GATEWAY"]
    assert line.endswith("0.0.0.0/0 -> nat-0204e28944207a124")
    [dropped] = [line for line in lines if " DROPPED " in line]
    assert dropped.endswith(f"(to fix: {DROPPED.note})")
    assert not any("ENDPOINT" in line for line in lines)
    assert "1 COMPLIANT not listed; --show COMPLIANT lists them" in lines
    every = piped(*EVERY, options=RenderOptions(details=True, with_all=True))
    assert sum("subnet-" in line for line in every) == len(EVERY) + 1  # and the next command
    assert [
        line for line in terminal(*EVERY, width=80, options=RenderOptions(details=True)).splitlines() if line in every
    ]


def test_control_characters_do_not_reach_the_terminal() -> None:
    """A forged name or ID cannot color, overwrite, or imitate other lines."""
    evil = "rtb-1\x1b[2J\r\n0 subnets\u202e\u0085"
    for lines in (
        piped(replace(FAILED, route_table_id=evil, vpc_id=evil)),
        piped(replace(FAILED, subnet_id=evil, annotation=evil, path=()), options=RenderOptions(details=True)),
        terminal(replace(FAILED, route_table_id=evil), replace(DROPPED, note=evil), width=80).splitlines(),
    ):
        assert not any(line.startswith("0 subnets") for line in lines)
        assert all(line.isprintable() for line in lines)
    assert printable(evil) == "rtb-1\ufffd[2J 0 subnets\ufffd"


def test_a_long_name_does_not_push_columns_away() -> None:
    """A terminal shortens names; IDs and what a pipe gets are whole."""
    values = ["部署" * 40, "x" * 200]
    options = RenderOptions(grouping=Grouping("vpc"))
    for value in values:
        verdict = replace(FAILED, account_id=value)
        assert max(cell_len(line) for line in terminal(verdict, width=80, options=options).splitlines()[:4]) <= 80
        assert any(value in line for line in piped(verdict, options=options))


def test_many_tables_fit_a_screen(eight_tables: str) -> None:
    """Ten bad tables are ten rows, and each VPC has one command for all of its tables."""
    lines = invoke(["scan", "--from-dump", eight_tables]).stdout.splitlines()
    assert len([line for line in lines if re.match(r" +20  NAT_GATEWAY  rtb-", line)]) == 10
    commands = [line.split() for line in lines if line.startswith("aws ec2 modify-vpc-endpoint ")]
    assert [len(command[command.index("--add-route-table-ids") :]) for command in commands] == [6, 6]
    assert (
        sum(line.startswith("100 subnets: Associate 5 route tables with gateway endpoint vpce-") for line in lines) == 2
    )
    assert "200 of 400 subnets reach S3 Express through a NAT (10 route tables)." in lines
    assert len(lines) < 40


def test_only_a_few_remedies_are_printed() -> None:
    """The others are counted, with the command that shows each of them."""
    tables = [replace(FAILED, subnet_id=f"subnet-{number}", route_table_id=f"rtb-{number}") for number in range(5)]
    lines = piped(*rows_of(tables))
    assert sum(line.startswith("1 subnet: Associate route table rtb-") for line in lines) == 3
    assert any(line.startswith("2 subnets: changes like these, in other route tables.") for line in lines)
    assert "  express-path report" in lines


def test_a_change_that_fixes_two_reasons_is_shown_where_there_is_space() -> None:
    """Five VPCs have a table behind a NAT and one behind an appliance: three changes are below one reason, two below the other."""
    rows = []
    for number in range(5):
        endpoint = VpcEndpoint(
            f"vpce-{number}", f"vpc-{number}", "gateway", "com.amazonaws.us-east-1.s3express", "available"
        )
        here = replace(FAILED, vpc_id=f"vpc-{number}", remedy=Remedy("Associate it.", endpoint=endpoint))
        rows.append(replace(here, route_table_id=f"rtb-a{number}"))
        rows.append(replace(here, route_table_id=f"rtb-b{number}", reason=Reason.NAT_BEHIND_APPLIANCE))
    lines = piped(*rows)
    parts = [line for line in lines if line.startswith(("What to do", "2 subnets"))]
    assert [line.partition(":")[0] for line in parts] == [
        "What to do",
        *["2 subnets, 1 of them NAT_BEHIND_APPLIANCE"] * 3,
        "2 subnets",
        "What to do",
        *["2 subnets, 1 of them NAT_GATEWAY"] * 2,
    ]
    assert len([line for line in lines if line.startswith("aws ec2 modify-vpc-endpoint")]) == 5


@pytest.mark.parametrize(
    ("by", "values"),
    [
        ("vpc", [("vpc-00000000000000000", "100"), ("vpc-00000000000000001", "100")]),
        ("account", [("111122223333", "200")]),
        ("region", [("us-east-1", "200")]),
        ("reason", [("NAT_GATEWAY", "200")]),
        ("tag:team", [("data", "200")]),
        ("tag:owner", [("(no", "200")]),
    ],
)
def test_groups_are_counted(eight_tables: str, by: str, values: list[tuple[str, str]]) -> None:
    """Each group is one row with its subnets, its NON_COMPLIANT subnets, and their route tables."""
    lines = invoke(["scan", "--quiet", "--from-dump", eight_tables, "--group-by", by]).stdout.splitlines()
    header = next(place for place, line in enumerate(lines) if "NON_COMPLIANT  Route tables  DROPPED" in line)
    rows = [line.split() for line in lines[header + 1 : header + 1 + len(values)]]
    assert [(row[0], row[-4]) for row in rows] == values
    assert lines[header + 1 + len(values)] == ""
    assert ("1 more without" in "\n".join(lines)) is (by == "reason")  # the COMPLIANT ones


def test_names_and_tags_are_columns(eight_tables: str) -> None:
    """The names of the table and the VPC, and the values of selected tags, are in the worklist and the details."""
    command = ["scan", "--from-dump", eight_tables, "--tags", "team"]
    row = next(line for line in invoke(command).stdout.splitlines() if re.match(r" +20  NAT_GATEWAY", line)).split()
    assert (row[3], row[5], row[-1]) == ("private-0", "vpc-0", "data")
    result = invoke([*command, "--details"])
    line = next(line for line in result.stdout.splitlines() if line.startswith("1111")).split()
    assert line[7:11] == ["private-0", "private-0", "vpc-0", "data"]
    assert "express-path scan --details" not in result.stdout
    assert result.stderr == ""


def test_grouping_by_table_is_the_worklist(eight_tables: str) -> None:
    """It is the default, too."""
    command = ["scan", "--from-dump", eight_tables]
    assert invoke([*command, "--group-by", "table"]).stdout == invoke(command).stdout


@pytest.mark.parametrize("by", ["subnet", "tag:", "tag: ", "tag", "VPC-1"])
def test_an_unknown_group_is_refused(by: str) -> None:
    """One line names what is allowed."""
    result = invoke(["scan", "--from-dump", str(dump_of("nat-gateway-zonal")), "--group-by", by])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "must be one of table, vpc, account, region, reason, or tag:KEY, such as tag:owner" in result.stderr


@pytest.mark.parametrize("option", [["--details"], ["--group-by", "vpc"]])
def test_options_of_the_table_need_a_table(option: list[str], tmp_path: Path) -> None:
    """Other formats list every subnet, so the options would have no effect."""
    command = ["scan", "--from-dump", str(dump_of("nat-gateway-zonal")), *option]
    result = invoke([*command, "-o", str(tmp_path / "out.json")])
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert f"{option[0]} and --format json cannot be used together" in result.stderr
    assert invoke([*command, "-o", str(tmp_path / "out.txt")]).exit_code == 1
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == invoke(command).stdout


def test_verdict_selects_what_is_listed() -> None:
    """--verdict COMPLIANT shows COMPLIANT subnets, by table or one per line, and says nothing about others."""
    command = ["scan", "--from-dump", str(dump_of("nat-gateway-zonal")), "--show", "compliant"]
    rows = json.loads(invoke([*command, "--format", "json"]).stdout)["subnets"]
    for options, key in ([], "routeTableId"), (["--details"], "subnetId"):
        out = invoke([*command, *options]).stdout
        assert all(row[key] in out for row in rows)
        assert "NAT" not in out
        assert "No subnet is NON_COMPLIANT" not in out
        assert "Next" not in out
