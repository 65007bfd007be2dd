"""express-path heal: start the runbook that heals, and follow it."""

import re
from typing import Annotated

import typer

from express_path.domain.path.reasons import Reason
from express_path_cli.problems import OptionError
from express_path_cli.runbooks.automation_runs import Run
from express_path_cli.running import Deployed, WhereDeployed, Yes, ask_approvers, confirm, run_document

BLOCKED = 1
"""Exit status where a heal may not be done."""
_RUN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
EXAMPLES = """
express-path heal subnet-0a1b2c3d4e5f60718  # what a heal would change
express-path heal subnet-0a1b2c3d4e5f60718 --apply  # heal it, after asking
express-path undo 4105a4fc-f944-11e6-9d32-0a1b2c3d4958  # take it back
"""


def heal(
    *,
    subnet: Annotated[str, typer.Argument(metavar="SUBNET", help="The subnet's id.")],
    apply: Annotated[bool, typer.Option("--apply", help="Heal it; else only show what would be changed.")] = False,
    yes: Yes = False,
    deployed: WhereDeployed,
) -> None:
    """Heal a subnet by the deployed runbook: a dry run, unless --apply is given.

    Shows the plan, follows the steps as they are done, and prints the command that undoes the run. A heal drops open
    TCP connections to S3 Express from all subnets of the route table for a moment. Exit status: 0 healed, or would be,
    or nothing is to heal; 1 blocked or declined, nothing was changed; 2 it failed, or the result is unknown. If the
    stack is in mode APPROVAL, --apply asks the approvers, and the heal starts once one of them approves.
    """
    stack, again = deployed.stack, deployed.options
    given = {"SubnetId": subnet, **stack.common}
    if not _may_go_on(run_document(deployed, stack.heal_document, {**given, "DryRun": "true"}, "dry run")):
        return
    if not apply:
        typer.echo(f"nothing was changed; to heal: express-path heal {subnet} --apply{again}")
        return
    if stack.approval_document:
        confirm(yes=yes, question="Ask the approvers now?")
        ask_approvers(deployed, given)
        return
    confirm(yes=yes, question="Heal it now?")
    _heal(deployed, given)


def _heal(deployed: Deployed, given: dict[str, str]) -> None:
    """Heal, and print the verdict and the command that undoes it."""
    run = run_document(deployed, deployed.stack.heal_document, given, "heal")
    typer.echo(run.outputs.get("verify.Annotation") or run.outputs.get("plan.Summary", ""))
    # Where another run was faster, that one can be undone; where nothing was to heal any more, there is none.
    undone_by = _RUN_ID.search(run.outputs.get("verify.Undo", ""))
    if undone_by:
        typer.echo(f"to undo: express-path undo {undone_by[0]}{deployed.options}")


def _may_go_on(plan: Run) -> bool:
    """Whether there is something to heal; ends with BLOCKED where it may not be."""
    summary = plan.outputs.get("plan.Summary", "")
    for line in summary.split(" | "):
        typer.echo(line)
    action = plan.outputs.get("plan.Action", "BLOCKED")
    if f": {Reason.DELETED}: " in summary:
        raise OptionError("there is no such subnet", "name its --region and --profile")
    if action == "BLOCKED":
        raise typer.Exit(BLOCKED)
    return action != "NOTHING_TO_DO"
