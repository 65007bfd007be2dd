"""express-path heal: start the runbook that heals, and watch its run."""

import re
from typing import Annotated

import typer

from express_path.domain.path.reasons import Reason
from express_path_cli import options
from express_path_cli.problems import OptionError
from express_path_cli.runbook_commands import (
    DEFAULT_STACK,
    Deployment,
    StackName,
    Yes,
    confirm,
    deployment_of,
    request_approval,
    run_document,
)
from express_path_cli.runbooks.automation_runs import Run

BLOCKED = 1
"""The exit status of a heal that is blocked."""
_RUN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
EXAMPLES = """
express-path heal subnet-0a1b2c3d4e5f60718  # what a heal would change
express-path heal subnet-0a1b2c3d4e5f60718 --apply  # heal it, after asking
express-path undo 4105a4fc-f944-11e6-9d32-0a1b2c3d4958  # undo that heal
"""


SubnetId = Annotated[str, typer.Argument(metavar="SUBNET", help="The subnet ID.")]
Apply = Annotated[bool, typer.Option("--apply", help="Heal it. Without this, only show what would change.")]


def heal(
    *,
    subnet: SubnetId,
    apply: Apply = False,
    yes: Yes = False,
    stack: StackName = DEFAULT_STACK,
    region: options.Region = None,
    profile: options.Profile = None,
) -> None:
    """Heal a subnet with the deployed runbook. Without --apply, this is a dry run.

    Shows the plan, then each step as it finishes, and prints the command that undoes the run. A heal briefly drops open
    TCP connections to S3 Express from all subnets of the route table. Exit status: 0 healed, or would be, or there is
    nothing to heal; 1 blocked or declined, nothing was changed; 2 it failed, or the result is unknown. If the stack is
    in mode APPROVAL, --apply asks the approvers, and the heal starts once one of them approves.
    """
    deployment = deployment_of(stack, region, profile)
    documents = deployment.stack
    given = {"SubnetId": subnet, **documents.common}
    if not _has_work(run_document(deployment, documents.heal_document, {**given, "DryRun": "true"}, "dry run")):
        return
    if not apply:
        typer.echo(f"nothing was changed; to heal: express-path heal {subnet} --apply{deployment.options}")
    elif documents.approval_document:
        confirm(yes=yes, question="Ask the approvers now?")
        request_approval(deployment, given)
    else:
        confirm(yes=yes, question="Heal it now?")
        _heal(deployment, given)


def _heal(deployment: Deployment, given: dict[str, str]) -> None:
    """Heal, and print the verdict and the command that undoes it."""
    run = run_document(deployment, deployment.stack.heal_document, given, "heal")
    typer.echo(run.outputs.get("verify.Annotation") or run.outputs.get("plan.Summary", ""))
    # If another run healed the table first, that run is the one to undo. If nothing was left to heal, there is none.
    undone_by = _RUN_ID.search(run.outputs.get("verify.Undo", ""))
    if undone_by:
        typer.echo(f"to undo: express-path undo {undone_by[0]}{deployment.options}")


def _has_work(plan: Run) -> bool:
    """Print the plan, and return whether there is something to heal. Exit with BLOCKED if the heal is blocked."""
    summary = plan.outputs.get("plan.Summary", "")
    for line in summary.split(" | "):
        typer.echo(line)
    action = plan.outputs.get("plan.Action", "BLOCKED")
    if f": {Reason.DELETED}: " in summary:
        raise OptionError("this subnet does not exist", "name its --region and --profile")
    if action == "BLOCKED":
        raise typer.Exit(BLOCKED)
    return action != "NOTHING_TO_DO"
