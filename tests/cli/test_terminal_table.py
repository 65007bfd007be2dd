"""The table in terminals: colors and widths."""

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from express_path.domain.network.targets import TargetKind
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.formats.terminal_table import as_table

PATH = (Hop(TargetKind.NAT_GATEWAY, "nat-0204e28944207a124", "0.0.0.0/0"),)
FAILED = Verdict(
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
SHARED = FAILED._replace(
    compliance=Compliance.NOT_APPLICABLE,
    reason=Reason.NOT_OWNED,
    annotation="NOT_OWNED: shared by another account, whose own rule decides, 部署 in words of two columns each",
    path=(),
)


def shown(*verdicts: Verdict, **console: object) -> str:
    """Return the table as a console shows it."""
    return "".join(as_table(verdicts, Console(file=io.StringIO(), **console)))  # type: ignore[arg-type]


def test_terminals_show_colors() -> None:
    """NON_COMPLIANT is red, headings are bold, and secondary ids are dim; without colors the text is the same."""
    coloured = shown(FAILED, width=80, force_terminal=True, color_system="standard")
    assert "\x1b[1;31mNON_COMPLIANT\x1b[0m  NAT_GATEWAY\n" in coloured
    assert "\x1b[1mvpc-0edcd841989b4dde2  us-east-1  account 111122223333\x1b[0m\n" in coloured
    assert "\x1b[2muse1-az4  rtb-035d2c55604d54d49\x1b[0m   0.0.0.0/0 -> nat-0204e28944207a124\n" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == shown(FAILED, width=80)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_table_fits(width: int) -> None:
    """No line is wider than the terminal, and text is broken between words and stays in its column."""
    lines = shown(FAILED, SHARED, width=width).splitlines()
    assert max(map(cell_len, lines)) <= width
    column = next(line.index("Path") for line in lines if "Path to S3 Express" in line)
    words = " ".join(line[column:].strip() for line in lines[4:]).split()
    assert SHARED.annotation.removeprefix("NOT_OWNED: ") in " ".join(words)
    assert all(line == line.rstrip() for line in lines)


def test_the_narrowest_terminal_breaks_no_id_of_a_subnet() -> None:
    """If two columns do not fit, lines are longer than the terminal, which wraps them."""
    text = shown(FAILED, width=20)
    assert f"\n{FAILED.subnet_id}   " in text
    assert f"\n{FAILED.availability_zone_id}  {FAILED.route_table_id}   " in text


def test_columns_are_as_wide_as_their_content() -> None:
    """In each VPC's table, the second column begins three columns after the longest text of the first."""
    text = shown(FAILED, SHARED._replace(vpc_id="vpc-2", route_table_id=None, availability_zone_id="z"), width=120)
    assert "\nuse1-az4  rtb-035d2c55604d54d49   0.0.0.0/0" in text
    assert f"\nz  unknown table{' ' * (len(FAILED.subnet_id) - len('z  unknown table'))}   shared by" in text
