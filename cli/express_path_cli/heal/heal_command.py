"""express-path heal: start the runbook that heals, and watch its runs."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from express_path_cli.automation.deployments import Deployment, StackEvidence, in_few_lines, own_stacks
from express_path_cli.automation.stack import StackName
from express_path_cli.aws import options
from express_path_cli.aws.account_options import OneAccount, taking
from express_path_cli.aws.sessions import AccountRegion, connect
from express_path_cli.findings.scan_file import FindingId, read_findings
from express_path_cli.heal.local import plan_locally
from express_path_cli.heal.running import KeepGoing, check_stop
from express_path_cli.heal.tables import HealOptions, LiveNetwork, heal_tables
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import OptionError, locating_errors, one_line, say
from express_path_cli.terminal.questions import DryRun, Yes
from express_path_cli.terminal.texts import count_text

EXAMPLES = """
express-path heal subnet-0a1b2c3d4e5f60718 --dry-run  # what a heal would change
express-path heal subnet-0a1b2c3d4e5f60718  # show it, ask, and heal
express-path heal data-private  # what has this Name tag: a subnet, a route table, or a VPC
express-path heal rtb-0a1b2c3d4e5f60718 rtb-1a1b2c3d4e5f60718  # several route tables, with one plan
express-path heal --from scan.json  # everything that a scan found in this account and Region
express-path undo 4105a4fc-f944-11e6-9d32-0a1b2c3d4958  # undo a heal
"""

Verbose = Annotated[bool, typer.Option("--verbose", help="Show every step of the runs.")]
Targets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TARGET...", help="IDs or Name tags of subnets, route tables, and VPCs. One run heals a route table."
    ),
]
FromScan = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="Heal the NON_COMPLIANT subnets of this account and Region in the JSON document of a scan.",
    ),
]


@taking(account=OneAccount)
def heal(
    *,
    targets: Targets = None,
    from_scan: FromScan = None,
    dry_run: DryRun = False,
    keep_going: KeepGoing = False,
    verbose: Verbose = False,
    yes: Yes = False,
    stack: StackName = None,
    account: OneAccount,
) -> None:
    """Heal subnets or route tables: show the plan, ask, and heal.

    The deployed runbook makes the changes. Without a deployed stack, the plan is made with your permissions, and the changes are printed for the AWS CLI,
    CloudFormation, and Terraform.

    Prints the progress, and the command that undoes each run. A heal briefly drops open TCP connections to S3 Express
    from all subnets of the route table. Several targets get one plan and one question. Blocked route tables are skipped.
    After a failure, no more runs are started. In mode APPROVAL, it asks the approvers, and each heal starts once one of
    them approves. While heals are stopped (express-path stop), it starts nothing.

    Exit status: 0 healed, or with --dry-run would be, or there is nothing to heal; 1 blocked or declined; 2 it failed or was stopped, the
    result is unknown, or there is no terminal to ask at.
    """
    named = _checked(targets, from_scan)
    flagged = read_findings(from_scan) if from_scan else []
    account_region = AccountRegion.of_caller(connect(account.region, account.profile))
    deployment = _deployment(account_region, stack, account.profile)
    if deployment:
        check_stop(deployment, starts=not dry_run)
    again = f"--from {shlex.quote(str(from_scan))}" if from_scan else shlex.join(named)
    again += options.as_command_line({"--stack": stack})
    flagged_here = list(_flagged_here(flagged, account_region, f"express-path heal {again}", account.profile))
    network = LiveNetwork(account_region)
    tables = network.targets(named or _existing(network, flagged_here))
    if not tables:
        echo("nothing to heal: no NON_COMPLIANT subnet of the scan still exists in this account and Region")
        raise typer.Exit
    if deployment is None:
        raise typer.Exit(plan_locally(network, tables, dry_run=dry_run))
    given = HealOptions(again, dry_run=dry_run, yes=yes, keep_going=keep_going, verbose=verbose)
    raise typer.Exit(heal_tables(deployment, tables, given))


def _deployment(here: AccountRegion, stack: str | None, profile: str | None) -> Deployment | None:
    """Return the stack that heals; None if there is none, nor one that only looks like it.

    Raise LocatedError, and OptionError if it is not clear which stack heals.
    """
    with locating_errors(here):
        stacks = own_stacks(here, profile, StackEvidence.confirmed)
    named = [row for row in stacks.values if stack in (None, row.stack)]
    if len(named) > 1:
        raise OptionError(
            f"several stacks heal in {here}: {', '.join(sorted(row.stack for row in named))}", "select one with --stack"
        )
    refused = in_few_lines({name: error for name, error in stacks.refused.items() if stack in (None, name)})
    if not named and refused:
        raise refused[0]
    if stack and not named:
        raise OptionError(
            f"there is no stack {stack} with runbooks in {here}", "check --stack, --region, and --profile"
        )
    for error in refused:
        say(f"note: {one_line(error)}")
    return named[0] if named else None


def _checked(targets: Sequence[str] | None, from_scan: Path | None) -> Sequence[str]:
    """Return each target once. Raise OptionError unless either IDs or a file are given."""
    named = options.unique(targets)
    if bool(named) == bool(from_scan):
        both, neither = "targets and --from cannot be used together", "give a subnet, a route table, or --from FILE"
        raise OptionError(both if named else neither, "express-path heal --help shows the options")
    return named


def _flagged_here(
    flagged: Sequence[FindingId], here: AccountRegion, command: str, profile: str | None
) -> Iterator[str]:
    """Yield the subnets of this account and Region in a scan, and say how to heal those of others."""
    elsewhere: Counter[tuple[str, str]] = Counter()
    for row in flagged:
        if (row.account_id, row.region) == (here.account_id, here.aws.region):
            yield row.subnet_id
        else:
            elsewhere[row.account_id, row.region] += 1
    for (account_id, region), number in sorted(elsewhere.items()):
        is_ours = account_id == here.account_id
        selected = options.as_command_line({"--region": region, "--profile": profile if is_ours else None})
        run = "run" if is_ours else "with credentials of that account, run"
        subnets = count_text(number, "NON_COMPLIANT subnet")
        say(f"skipped {subnets} of account {account_id} {region} ({run}: {command}{selected})")


def _existing(network: LiveNetwork, subnet_ids: Sequence[str]) -> list[str]:
    """Return the subnets that still exist, and name the others."""
    for subnet_id in subnet_ids:
        if not network.has_subnet(subnet_id):
            say(f"skipped {subnet_id}: it was deleted after the scan")
    return [subnet_id for subnet_id in subnet_ids if network.has_subnet(subnet_id)]
