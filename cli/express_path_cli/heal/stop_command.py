"""express-path stop: let no heal of an account and Region change anything, from now on."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from express_path.adapters.network_reader import assuming
from express_path.errors import ApiError
from express_path_cli.automation.stack import DEFAULT_STACK, StackName, read_brake
from express_path_cli.automation.stops import (
    checked_reason,
    new_stop,
    put_stop,
    read_stop,
    record_exceptions,
    wait_for_changes,
)
from express_path_cli.aws import options
from express_path_cli.aws.sessions import AccountRegion, connect, read_caller
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import UNDETERMINED, locating_errors, one_line, say
from express_path_cli.terminal.texts import count_text

EXAMPLES = """
express-path stop --reason "INC-1234: timeouts in web-shop"  # no heal of this account and Region changes anything
express-path start  # allow heals again
express-path org stop --role-name Operations --all-regions  # stop all heals of the organization
"""

Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why, for everyone who reads it later.")]


def stop(
    *,
    reason: Reason = "",
    stack: StackName = DEFAULT_STACK,
    region: options.Region = None,
    profile: options.Profile = None,
) -> None:
    """Stop all heals of this account and Region, including heals that are already running.

    Assumes the stack's StopRole, and records who stopped, when, and why. Then it waits until no run is between its last
    check and its change, at most five minutes: afterwards, no heal creates or changes an endpoint. Runs end at their
    next check and do not fail, so AWS Config adds no remediation exceptions. Undo still works. A second stop keeps the
    record of the first one. Exit status: 0 stopped, 2 it could not be stopped, or a run may still change something.
    """
    aws = connect(region, profile)
    caller = read_caller(aws)
    account_region = AccountRegion(caller.account_id, aws)
    text = checked_reason(reason)
    with locating_errors(account_region):
        brake = read_brake(aws, stack)
        role = assuming(aws, brake.stop_role_arn)
        now = new_stop(caller.arn, text, datetime.now(UTC))
        if put_stop(role.dynamodb, brake.ledger_table, now):
            echo(f"stopped: no heal in {account_region} starts a change from now on")
            try:
                known = record_exceptions(role, brake, now)
                echo(f"recorded: {count_text(known, 'remediation exception')} that existed before")
            except ApiError as error:
                say(f"remediation exceptions were not recorded, so express-path start clears none: {one_line(error)}")
        elif found := read_stop(role.dynamodb, brake.ledger_table):
            echo(f"already stopped at {found.stop.stopped_at} by {found.stop.by}: {found.stop.reason or 'no reason'}")
        running = wait_for_changes(role.ssm, brake.heal_document)
    for run in running:
        where = f"in step {run.step}" if run.step else "in no step yet"
        what = "it may still change something" if run.may_change else "it ends without a further change"
        echo(f"still running: {run.run_id}, {where}: {what}")
    other_stack = stack if stack != DEFAULT_STACK else None
    selected = options.as_command_line({"--stack": other_stack, "--region": region, "--profile": profile})
    echo(f"to undo what heals did, which still works: express-path heals{selected}")
    echo(f"to allow heals again: express-path start{selected}")
    if any(run.may_change for run in running):
        say("some runs may still change something: run the command again to wait for them")
        raise typer.Exit(UNDETERMINED)
