"""express-path org check: what would fail in each account and Region of an organization."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from express_path_cli.aws import options
from express_path_cli.aws.account_options import MemberAccounts, taking
from express_path_cli.aws.judging import denial_line
from express_path_cli.aws.options import TableFormat
from express_path_cli.org.check import (
    Artifact,
    CheckReason,
    Effect,
    NetworkRole,
    OrgCheck,
    PlaceCheck,
    PlaceState,
    Reaching,
    check_organization,
)
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import one_line, show_failures_and_notes
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.tables import Record, Screen, print_lines, record_lines
from express_path_cli.terminal.texts import count_text

_deployed = partial(typer.Option, rich_help_panel="What the StackSets deploy")
EXAMPLES = """
express-path org check --role-name Audit --all-regions  # every account and Region of the organization
express-path org check --role-name Audit --ou ou-ab12-c3d4e5f6 --region eu-north-1  # one organizational unit
express-path org check --role-name Audit --artifact-bucket-prefix example-artifacts --format json  # for a pipeline
"""


BucketPrefix = Annotated[
    str | None,
    _deployed(
        "--artifact-bucket-prefix",
        metavar="PREFIX",
        help="The artifact buckets are named PREFIX-REGION: check that each account can read them.",
    ),
]
ArtifactKey = Annotated[
    str,
    _deployed(
        "--artifact-key",
        metavar="KEY",
        help="With --artifact-bucket-prefix: the key of the function's code, to check that it is there.",
    ),
]
ArtifactAccount = Annotated[
    str,
    _deployed(
        "--artifact-account",
        metavar="ID",
        help="With --artifact-key: the account of the buckets. Default: the caller's.",
    ),
]
NetworkRoleArn = Annotated[
    str,
    _deployed(
        "--network-role-arn",
        metavar="ARN",
        help="The role in the network account: check that it trusts the roles of each account. Empty without such a role.",
    ),
]
NetworkExternalId = Annotated[
    str,
    _deployed(
        "--network-external-id", metavar="ID", help="With --network-role-arn: the external ID that the rule passes."
    ),
]


AlarmTopicArn = Annotated[
    str,
    _deployed(
        "--alarm-topic-arn",
        metavar="ARN",
        help="AlarmTopicArn of the stacks, with {region} and {account}: check that alarms reach somebody.",
    ),
]
EndpointPolicyParameter = Annotated[
    str,
    _deployed(
        "--endpoint-policy-parameter",
        metavar="NAME",
        help="EndpointPolicyParameter of the stacks: check that its policy lets requests through.",
    ),
]


@taking(members=MemberAccounts)
def org_check(
    *,
    members: MemberAccounts,
    artifact_bucket_prefix: BucketPrefix = None,
    artifact_key: ArtifactKey = "",
    artifact_account: ArtifactAccount = "",
    network_role_arn: NetworkRoleArn = "",
    network_external_id: NetworkExternalId = "",
    alarm_topic_arn: AlarmTopicArn = "",
    endpoint_policy_parameter: EndpointPolicyParameter = "",
    form: options.TableOrJson = TableFormat.TABLE,
    quiet: options.Quiet = False,
) -> None:
    """Before a roll-out, show what would fail in each account.

    It reads AWS Config's recorder, the artifact buckets, the names of the rule and its runbooks, the quota of rules,
    the trust policy of the network account's role, and the policies of endpoints that heals created. What the StackSets
    deployed before is no conflict; with --alarm-topic-arn, its alarms are checked. It also evaluates the organization's service control policies and resource control policies, as `policies` does. It changes
    nothing. Run it in the management account, or as a delegated administrator.

    Exit status: 0 nothing blocks the roll-out, 1 something does, 2 something could not be read. Standard error names what
    could not be read, and the rest is still reported.
    """
    live = members.live
    artifact = Artifact(artifact_bucket_prefix, artifact_key, artifact_account) if artifact_bucket_prefix else None
    network_role = NetworkRole(network_role_arn, network_external_id) if network_role_arn else None
    with watching(quiet=quiet) as watch:
        found = check_organization(
            live, artifact, network_role, Reaching(alarm_topic_arn, endpoint_policy_parameter), watch
        )
    show_failures_and_notes(found.failures, found.notes, quiet=quiet)
    if form is TableFormat.JSON:
        echo(as_org_check_json(found), nl=False)
    else:
        print_lines(partial(as_org_check_table, found))
    raise typer.Exit(found.exit_status)


SCHEMA_VERSION = 1


def as_org_check_json(found: OrgCheck) -> str:
    """Return every account and Region with its problems, and what could not be read."""
    management = found.management_account
    document = {
        "exitStatus": found.exit_status,
        "places": [_place(check) for check in found.checks],
        "managementAccountId": management.id if management else None,
        "policies": found.policies.rows(),
        "failures": [failure.fields() for failure in found.failures],
        "notes": list(found.notes),
    }
    return json_document(SCHEMA_VERSION, document)


def _place(check: PlaceCheck) -> dict[str, Any]:
    return {
        "accountId": check.account_id,
        "accountName": check.name,
        "region": check.region,
        "state": check.state,
        "problems": [
            {
                "reason": problem.reason.name,
                "effect": problem.reason.effect.name,
                "finding": problem.finding,
                "fix": problem.reason.fix,
            }
            for problem in check.problems
        ],
        "failures": [one_line(failure.error) for failure in check.failures],
    }


_CONCLUSIONS = {
    0: "Nothing blocks the roll-out.",
    1: "Fix these problems before the roll-out, or leave the accounts or Regions out of the StackSet.",
    2: "Some accounts or Regions could not be checked completely: see the messages, and check again.",
}


def as_org_check_table(found: OrgCheck, screen: Screen) -> Iterator[str]:
    """Yield the lines."""
    yield from screen.folded(_totals(found))
    for reason in CheckReason:
        findings = [
            (check, problem.finding) for check in found.checks for problem in check.problems if problem.reason is reason
        ]
        if findings:
            yield from _section(reason, findings, screen)
    management = found.management_account
    if management:
        yield ""
        yield from screen.folded(
            f"Not covered: {management} is the management account, to which service-managed StackSets do not deploy. "
            "Deploy template.yaml there on its own."
        )
    if found.policies.denials:
        yield ""
        yield from screen.folded(
            "Policies of the organization that would deny requests of healed subnets. Before mode ON:"
        )
        for denial in found.policies.denials:
            yield from screen.folded(denial_line(denial))
    yield ""
    yield from screen.folded(_CONCLUSIONS[found.exit_status])


def _totals(found: OrgCheck) -> str:
    accounts = len({check.account_id for check in found.checks})
    states = Counter(check.state for check in found.checks)
    listed = ", ".join(f"{states[state]:,} {state}" for state in PlaceState)
    places = f"{count_text(len(found.checks), 'stack instance')} in {count_text(accounts, 'account')}"
    return f"{places}: {listed}"


def _section(reason: CheckReason, found: Sequence[tuple[PlaceCheck, str]], screen: Screen) -> Iterator[str]:
    """Yield a reason, and the findings about it, each with the check that made it."""
    style = "bold yellow" if reason.effect is Effect.LIMITS else "bold red"
    yield ""
    for line in screen.folded(f"{reason.name}: {reason.effect.value}"):
        yield screen.paint(line, style)
    yield from screen.folded(f"To fix: {reason.fix}.")
    if screen.width is None:
        records = [Record(_cells(check) | {"Finding": [finding]}) for check, finding in found]
        yield from record_lines(records, [_LAYOUT], screen)
        return
    # The finding is often the same for many accounts.
    by_finding: dict[str, list[PlaceCheck]] = {}
    for check, finding in found:
        by_finding.setdefault(finding, []).append(check)
    for finding, checks in by_finding.items():
        yield from screen.folded(f"{finding[0].upper()}{finding[1:]}.")
        yield from record_lines([Record(_cells(check)) for check in checks], [_LAYOUT], screen)


_LAYOUT = [("Account",), ("Name",), ("Region",)]


def _cells(check: PlaceCheck) -> dict[str, list[str]]:
    return {"Account": [check.account_id], "Name": [check.name], "Region": [check.region]}
