"""express-path org shadow: what this version would judge otherwise than the deployed one."""

from collections.abc import Iterator

import typer

from express_path_cli.automation.selection import members, selecting
from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions
from express_path_cli.org.shadow import Shadow, read_shadow
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import show_failures_and_notes
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.texts import count_text

EXAMPLES = """
express-path org shadow --role-name express-path/Audit --all-regions  # every account and Region
express-path org shadow --role-name express-path/Audit --ou ou-ab12-c3d4e5f6 --region eu-north-1  # the canary
"""


@selecting(members)
def org_shadow(
    *,
    live: LiveOptions,
    quiet: options.Quiet = False,
) -> None:
    """Before a release, show the subnets on which this version judges otherwise than the deployed one.

    It does what a sweep of this version would do in each account and Region, with the parameters of the deployed rule,
    but reports and publishes nothing. It compares its verdicts with the results that AWS Config has stored, which the
    deployed version made: compliance, reason, and path. What changed in a network in the last minutes may not be
    evaluated yet: run it again.

    Exit status: 0 every verdict is the same, 1 at least one differs, 2 something could not be read, or no stack was
    found. Standard error names what could not be read, and the rest is still compared.
    """
    with watching(quiet=quiet) as watch:
        found = read_shadow(live, watch)
    show_failures_and_notes(found.failures, (), quiet=quiet)
    for line in _lines(found):
        echo(line)
    raise typer.Exit(found.exit_status)


def _lines(found: Shadow) -> Iterator[str]:
    for row in found.differences:
        stored = f"{row.stored.compliance} {row.stored.annotation}" if row.stored else "no result"
        yield f"{row.deployment}: {row.verdict.subnet_id} would change"
        yield f"  from {stored}"
        yield f"  to   {row.verdict.compliance} {row.verdict.annotation}"
    where = f"{count_text(found.subnets, 'subnet')} of {count_text(found.deployments, 'deployment')}"
    yield f"{where}: {count_text(len(found.differences), 'verdict')} would change"
