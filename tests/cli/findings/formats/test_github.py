"""Rows as annotations of GitHub Actions: what its runner reads, and what people see of many findings."""

from dataclasses import replace

from express_path_cli.findings.formats import Format
from express_path_cli.findings.formats.github import MOST
from tests.cli.findings.results import COMPLIANT, DENIED, FLAGGED, rendered, result_of


def test_a_finding_is_an_error_on_its_line() -> None:
    """Characters that end a property or a command are escaped, and names make no command of their own."""
    row = replace(FLAGGED, annotation="50 % of\n::error::it", file="a,b:c.tf", line=7)
    assert rendered(Format.GITHUB, result_of(row, COMPLIANT)) == (
        "::error file=a%2Cb%3Ac.tf,line=7,title=NAT_GATEWAY::50 %25 of%0A::error::it (1 subnet)%0AAssociate it.\n"
        "::notice::2 subnets: 1 NON_COMPLIANT, 1 COMPLIANT, 0 NOT_APPLICABLE.\n"
    )


def test_github_shows_ten_errors_of_a_step() -> None:
    """The last one counts what has none, and what could not be read is an error, too."""
    rows = [replace(FLAGGED, route_table_id=f"rtb-{number}") for number in range(MOST + 3)]
    lines = rendered(Format.GITHUB, result_of(*rows, failures=[DENIED])).splitlines()
    assert len(lines) == MOST + 3
    assert lines[MOST] == "::error::3 more route tables have findings."
    assert lines[MOST + 1].startswith(f"::error::{DENIED.where}: ")
