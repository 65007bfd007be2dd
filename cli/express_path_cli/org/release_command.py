"""express-path org release: deploy a version in rings, and put the previous one back if the canary suffers."""

from pathlib import Path
from typing import Annotated

import typer

from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions
from express_path_cli.org.check_command import RoleName, StackSetPrefix
from express_path_cli.org.release import Release, ReleaseRequest, described, plan_release, read_version
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.questions import Yes, confirm

EXAMPLES = """
express-path org release --canary express-path-ou-ab12-c3d4 --previous old --new build/org/parameters --role-name Audit
"""
_RINGS = "Rings"
Canary = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="The StackSet that gets the version first, in all Regions.", rich_help_panel=_RINGS
    ),
]
Previous = Annotated[
    Path, typer.Option(metavar="FILE", help="The file build/org/parameters of the deployed version, to put it back.")
]
New = Annotated[Path, typer.Option(metavar="FILE", help="The file build/org/parameters of the new version.")]
Batch = Annotated[
    int,
    typer.Option(
        min=1, metavar="NUMBER", help="How many Regions each ring after the canary has.", rich_help_panel=_RINGS
    ),
]
Minutes = Annotated[
    float,
    typer.Option(
        "--watch",
        min=0,
        metavar="MINUTES",
        help="How long to watch the alarms of a ring after it is deployed.",
        rich_help_panel=_RINGS,
    ),
]


def org_release(
    *,
    canary: Canary,
    previous: Previous,
    new: New,
    role_name: RoleName,
    batch: Batch = 3,
    watch: Minutes = 30,
    yes: Yes = False,
    profile: options.Profile = None,
    external_id: options.ExternalId = "",
    workers: options.Workers = 32,
    stack_set_prefix: StackSetPrefix = "express-path",
) -> None:
    """Deploy a new version in rings, and put the previous one back if the canary suffers.

    The rings are a canary, and then the other StackSets of the rule in batches of Regions. Run `org shadow` first. In the canary, no account may fail. In the other rings, at most 10 % of the accounts of a Region
    may. While a ring is deployed, and for some time after, the role reads the alarms of its stacks. If one goes off that
    was not on before, or an operation fails, the running operations are stopped, and the previous version is deployed
    again wherever the new one was begun. Run it in the management account, or as a delegated administrator.

    Exit status: 0 all rings have the new version, 1 the previous version was put back, or declined, 2 something could not
    be read or put back.
    """
    live = LiveOptions((), False, profile, True, role_name, external_id, workers)
    versions = read_version(previous, "--previous"), read_version(new, "--new")
    plan = plan_release(ReleaseRequest(live, canary, *versions, stack_set_prefix, batch, watch * 60))
    for ring in plan.rings:
        echo(f"ring {ring.name}: {described(ring.targets)}")
    confirm(yes=yes, question=f"Deploy {versions[1].code_key} now?")
    if not Release(plan, echo).run():
        raise typer.Exit(1)
    echo(
        "released. Pass the same keys to your stacks of org/stackset.yaml or to Terraform, so that they do not go back"
    )
