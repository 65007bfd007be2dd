"""express-path org status: the results of the rule in a whole organization."""

from typing import Annotated

import typer

from express_path.domain.findings.texts import RULE_NAME
from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions, TableFormat
from express_path_cli.org.check_command import RuleName, StackSetPrefix
from express_path_cli.org.reporting import StatusRequest, read_status
from express_path_cli.org.status_rendering import as_org_status_json, as_org_status_table
from express_path_cli.terminal.console import Terminal, echo
from express_path_cli.terminal.errors import show_failures_and_notes
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.tables import Screen

EXAMPLES = """
express-path org status --aggregator organization --role-name Audit  # results, stacks and sweeps of every account
express-path org status --aggregator organization  # without a role: no sweeps and no excluded subnets
express-path org status --aggregator organization --region eu-north-1 --format json  # one Region, for other tools
"""
Aggregator = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="The AWS Config aggregator of the organization, in the Region of your AWS settings.",
        rich_help_panel=options.WHERE,
    ),
]
Role = Annotated[
    str | None,
    typer.Option(
        "--role-name",
        metavar="NAME",
        help="The role that reads the sweeps and the excluded subnets in each account.",
        rich_help_panel=options.WHERE,
    ),
]
Regions = Annotated[
    list[str] | None,
    typer.Option(
        "--region",
        metavar="REGION",
        help="Only the results of this Region; repeatable. Default: every Region of the aggregator.",
        rich_help_panel=options.WHERE,
    ),
]


def org_status(
    *,
    aggregator: Aggregator,
    role_name: Role = None,
    region: Regions = None,
    profile: options.Profile = None,
    external_id: options.ExternalId = "",
    workers: options.Workers = 8,
    rule_name: RuleName = RULE_NAME,
    stack_set_prefix: StackSetPrefix = "express-path",
    form: options.TableOrJson = TableFormat.TABLE,
    quiet: options.Quiet = False,
) -> None:
    """After a roll-out to an organization, show the verdicts, what to fix, and which sweeps are overdue.

    The verdicts are AWS Config's results in an aggregator, which contains COMPLIANT and NON_COMPLIANT subnets. The
    StackSets show which accounts and Regions should have results, and which stacks are outdated. With --role-name, it
    also reads the last sweep of each account and Region from CloudWatch, and which tags exclude subnets. It changes
    nothing.

    Exit status: 0 nothing needs attention, 1 a subnet is NON_COMPLIANT, a stack is not current, a sweep is overdue, or
    the aggregator lags, 2 something could not be read or has no results. What could not be read is named on standard
    error, and the rest is still reported.
    """
    live = LiveOptions(
        options.unique(region),
        profile=profile,
        organization=bool(role_name),
        role_name=role_name,
        external_id=external_id,
        workers=workers,
    )
    live.check()
    with watching(quiet=quiet) as watch:
        found = read_status(StatusRequest(aggregator, rule_name, stack_set_prefix, live), watch)
    show_failures_and_notes(found.failures, found.remarks, quiet=quiet)
    if form is TableFormat.JSON:
        echo(as_org_status_json(found), nl=False)
    else:
        console = Terminal()
        console.file.writelines(f"{line}\n" for line in as_org_status_table(found, Screen(console), aggregator))
    raise typer.Exit(found.exit_status)
