"""The output formats of the commands for an organization."""

from typing import Annotated

import typer

from express_path.domain.findings.texts import RULE_NAME
from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions, TableFormat
from express_path_cli.org.check_rendering import as_org_check_json, as_org_check_table
from express_path_cli.org.checking import Artifact, CheckRequest, Names, NetworkRole, check_organization
from express_path_cli.terminal.console import Terminal, echo
from express_path_cli.terminal.errors import show_failures_and_notes
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.tables import Screen

_DEPLOYED = "What the StackSets deploy"
EXAMPLES = """
express-path org check --role-name Audit --all-regions  # every account and Region of the organization
express-path org check --role-name Audit --ou ou-ab12-c3d4e5f6 --region eu-north-1  # one organizational unit
express-path org check --role-name Audit --artifact-bucket-prefix example-artifacts --format json  # for a pipeline
"""


OuIds = Annotated[
    list[str] | None,
    typer.Option(
        "--ou",
        metavar="OU-ID",
        help="Only the accounts of this organizational unit and of those inside it; repeatable.",
        rich_help_panel=options.WHERE,
    ),
]
BucketPrefix = Annotated[
    str | None,
    typer.Option(
        "--artifact-bucket-prefix",
        metavar="PREFIX",
        help="The artifact buckets are named PREFIX-REGION: check that each account can read them.",
        rich_help_panel=_DEPLOYED,
    ),
]
ArtifactKey = Annotated[
    str,
    typer.Option(
        "--artifact-key",
        metavar="KEY",
        help="With --artifact-bucket-prefix: the key of the function's code, to check that it is there.",
        rich_help_panel=_DEPLOYED,
    ),
]
NetworkRoleArn = Annotated[
    str | None,
    typer.Option(
        "--network-role-arn",
        metavar="ARN",
        help="The role in the network account: check that it trusts the roles of each account.",
        rich_help_panel=_DEPLOYED,
    ),
]
NetworkExternalId = Annotated[
    str,
    typer.Option(
        "--network-external-id",
        metavar="ID",
        help="With --network-role-arn: the external ID that the rule passes.",
        rich_help_panel=_DEPLOYED,
    ),
]
RuleName = Annotated[
    str, typer.Option("--rule-name", metavar="NAME", help="The name of the rule.", rich_help_panel=_DEPLOYED)
]
StackSetPrefix = Annotated[
    str,
    typer.Option(
        "--stack-set-prefix",
        metavar="PREFIX",
        help="The names of the StackSets begin with this: what they deployed is not in the way.",
        rich_help_panel=_DEPLOYED,
    ),
]
RoleName = Annotated[
    str, typer.Option(metavar="NAME", help="The role that reads each account.", rich_help_panel=options.WHERE)
]


def org_check(
    *,
    role_name: RoleName,
    ou: OuIds = None,
    region: options.Regions = None,
    all_regions: options.AllRegions = False,
    profile: options.Profile = None,
    external_id: options.ExternalId = "",
    workers: options.Workers = 8,
    artifact_bucket_prefix: BucketPrefix = None,
    artifact_key: ArtifactKey = "",
    network_role_arn: NetworkRoleArn = None,
    network_external_id: NetworkExternalId = "",
    rule_name: RuleName = RULE_NAME,
    stack_set_prefix: StackSetPrefix = "express-path",
    form: options.TableOrJson = TableFormat.TABLE,
    quiet: options.Quiet = False,
) -> None:
    """Before a roll-out to an organization, show what would fail in each account and Region.

    It reads AWS Config's recorder, the artifact buckets, the names of the rule and its runbooks, the quota of rules,
    and the trust policy of the network account's role. It changes nothing. Run it in the management account, or as a
    delegated administrator.

    Exit status: 0 nothing blocks the roll-out, 1 something does, 2 something could not be read. What could not be read
    is named on standard error, and the rest is still reported.
    """
    live = LiveOptions(options.unique(region), all_regions, profile, True, role_name, external_id, workers)
    request = CheckRequest(
        live,
        tuple(ou or ()),
        Names(stack_set_prefix, rule_name),
        Artifact(artifact_bucket_prefix, artifact_key) if artifact_bucket_prefix else None,
        NetworkRole(network_role_arn, network_external_id) if network_role_arn else None,
    )
    with watching(quiet=quiet) as watch:
        found = check_organization(request, watch)
    show_failures_and_notes(found.failures, found.notes, quiet=quiet)
    if form is TableFormat.JSON:
        echo(as_org_check_json(found), nl=False)
    else:
        console = Terminal()
        console.file.writelines(f"{line}\n" for line in as_org_check_table(found, Screen(console)))
    raise typer.Exit(found.exit_status)
