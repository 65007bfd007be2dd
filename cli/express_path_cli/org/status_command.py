"""express-path org status: the results of the rule in a whole organization."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Annotated, Any, NamedTuple

import typer

from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions, TableFormat
from express_path_cli.findings.summary import EXCLUDED_FIX
from express_path_cli.findings.worklist import WorkItem
from express_path_cli.org.status import (
    AccountReason,
    Attention,
    OrgStatus,
    PlaceAttention,
    PlaceStatus,
    read_status,
)
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import show_failures_and_notes
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.tables import Layout, Record, Screen, print_lines, record_lines
from express_path_cli.terminal.texts import count_text

EXAMPLES = """
express-path org status --aggregator organization --role-name Audit  # results, stacks and sweeps of every account
express-path org status --aggregator organization  # without a role: no sweeps and no excluded subnets
express-path org status --aggregator organization --region eu-north-1 --format json  # one Region, for other tools
"""
Aggregator = Annotated[
    str,
    options.where(
        metavar="NAME", help="The AWS Config aggregator of the organization, in the Region of your AWS settings."
    ),
]
Role = Annotated[
    str | None,
    options.where(
        "--role-name", metavar="NAME", help="The role that reads the sweeps and the excluded subnets in each account."
    ),
]
Regions = Annotated[
    list[str] | None,
    options.where(
        "--region",
        metavar="REGION",
        help="Only the results of this Region; repeatable. Default: every Region of the aggregator.",
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
    form: options.TableOrJson = TableFormat.TABLE,
    quiet: options.Quiet = False,
) -> None:
    """After a roll-out, show the verdicts and what needs attention.

    The verdicts are AWS Config's results in an aggregator, which contains COMPLIANT and NON_COMPLIANT subnets. The
    StackSets show which accounts and Regions should have results, and which stacks are outdated. With --role-name, it
    also reads the last sweep of each account and Region from the log of the function, what does not work there, and
    which tags exclude subnets. Accounts that are not active are listed and skipped. It changes nothing.

    Exit status: 0 nothing needs attention, 1 a subnet is NON_COMPLIANT, a stack is not current, a sweep is overdue or
    found something that does not work, the aggregator is behind, or an account moved or left, 2 something could not be read or has no results. Standard error names what could not be
    read, and the rest is still reported.
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
        found = read_status(aggregator, live, watch)
    show_failures_and_notes(found.failures, found.notes, quiet=quiet)
    if form is TableFormat.JSON:
        echo(as_org_status_json(found), nl=False)
    elif not (found.places or found.failures):
        echo(
            f"nothing is deployed: aggregator {aggregator} has no results of the rule, and no StackSet deploys it here"
        )
    else:
        print_lines(partial(as_org_status_table, found, aggregator=aggregator))
    raise typer.Exit(found.exit_status)


SCHEMA_VERSION = 1


def as_org_status_json(found: OrgStatus) -> str:
    """Return every account and Region, the verdicts by account and reason, and what needs attention.

    Numbers of NOT_APPLICABLE and unresolved subnets are null if the sweep was not read, because an aggregator does not
    contain them.
    """
    document = {
        "madeAt": found.now.isoformat(timespec="seconds"),
        "exitStatus": found.exit_status,
        "byAccount": [_account(row, number, found.names) for row, number in found.by_account.items()],
        "worklist": [_item_fields(item, found.names) for item in found.to_fix],
        "natIds": found.nat_ids,
        "places": [_place(status, found) for status in found.places],
        "accountsWithoutRule": [{"accountId": row, "accountName": found.names[row]} for row in found.without_rule],
        "inactiveAccounts": [
            {"accountId": account_id, "accountName": found.names[account_id], "state": state}
            for account_id, state in sorted(found.inactive.items())
        ],
        "stackSets": [
            {"name": row.name, "remediationMode": row.mode or None, "version": row.version or None}
            for row in found.stack_sets
        ],
        "failures": [failure.fields() for failure in found.failures],
        "notes": list(found.notes),
    }
    return json_document(SCHEMA_VERSION, document)


def _account(row: AccountReason, number: int, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "accountId": row.account_id,
        "accountName": names.get(row.account_id),
        "compliance": row.compliance,
        "reason": row.reason,
        "subnets": number,
    }


def _item_fields(item: WorkItem, names: Mapping[str, str]) -> dict[str, Any]:
    row = item.first
    return {
        "accountId": row.account_id,
        "accountName": names.get(row.account_id),
        "region": row.region,
        "vpcId": row.vpc_id or None,
        "routeTableId": row.route_table_id,
        "reason": row.reason,
        "natIds": list(item.nat_ids),
        "subnetIds": [row.subnet_id for row in item.rows],
    }


def _place(status: PlaceStatus, found: OrgStatus) -> dict[str, Any]:
    sweep = status.sweep if status.sweep and status.sweep.time else None
    instance = status.instance
    return {
        "accountId": status.place.account_id,
        "accountName": found.names.get(status.place.account_id),
        "region": status.place.region,
        "nonCompliant": status.flagged if status.rows else None,
        "compliant": len(status.rows) - status.flagged if status.rows else None,
        "notApplicable": sweep.counts["NOT_APPLICABLE"] if sweep else None,
        "unresolved": sweep.unresolved if sweep else None,
        "excluded": [{"by": by, "subnets": number} for by, number in sweep.excluded.items()] if sweep else [],
        "stackSet": instance.stack_set.name if instance else None,
        "stackStatus": instance.status if instance else None,
        "lastSweepAt": sweep.time.isoformat() if sweep and sweep.time else None,
        "attention": [{"code": row.code.name, "text": row.text} for row in status.attention(found.now)],
    }


_ACCOUNT = ("Account", "Name")
_ROW_LAYOUTS: Sequence[Layout] = (
    [("Subnets",), ("Route table",), ("VPC",), ("Reason", "NAT"), _ACCOUNT, ("Region",)],
    [("Subnets",), ("Route table", "Reason"), ("VPC", "NAT"), (*_ACCOUNT, "Region")],
)


class _Section(NamedTuple):
    """A title, the records below it, and a sentence below them. A section without records is not shown."""

    title: str
    records: Sequence[Record]
    layouts: Sequence[Layout] = ()
    note: str = ""


def as_org_status_table(found: OrgStatus, screen: Screen, aggregator: str) -> Iterator[str]:
    """Yield the lines. aggregator: its name, for the next command."""
    for line in _totals(found):
        yield from screen.folded(line)
    for section in _sections(found):
        if section.records:
            yield ""
            yield from (screen.paint(line, "bold") for line in screen.folded(section.title))
            yield from record_lines(section.records, section.layouts, screen)
            if section.note:
                yield from screen.folded(section.note)
    if found.to_fix:
        yield ""
        yield from screen.folded("To see each change with its command:")
        yield f"  {shlex.join(['express-path', 'scan', '--aggregator', aggregator])}"


def _sections(found: OrgStatus) -> Iterator[_Section]:
    names = found.names
    flagged = [_record(item, names) for item in found.to_fix]
    yield _Section("NON_COMPLIANT: what to fix", flagged, _ROW_LAYOUTS)
    for code, rows in groupby(found.attention, key=lambda row: row.code):
        records = [_attention(row, names) for row in rows]
        yield _Section(code.value, records, [[("Account",), ("Name",), ("Region",)]])
    yield _Section("Verdicts by account and reason", list(_accounts(found)))
    without_rule = [Record({"Account": [row], "Name": [names[row]]}) for row in found.without_rule]
    management = found.management_account_id
    note = f"{management} is the management account: deploy template.yaml there on its own."
    yield _Section(
        "Accounts without the rule: no StackSet deploys to them",
        without_rule,
        note=note if management in found.without_rule else "",
    )
    inactive = [
        Record({"Account": [account_id], "Name": [names[account_id]], "State": [state]})
        for account_id, state in sorted(found.inactive.items())
    ]
    yield _Section(
        "Accounts that are not active: skipped, and StackSets skips them (SKIPPED_SUSPENDED_ACCOUNT)", inactive
    )
    yield _Section("EXCLUDED", _excluded(found), [[("Excluded by",), ("Subnets",), ("Accounts",)]], EXCLUDED_FIX)
    if len({row.version for row in found.stack_sets if row.version}) > 1:
        versions = [
            Record({"StackSet": [row.name], "Mode": [row.mode], "Version": [row.version]}) for row in found.stack_sets
        ]
        yield _Section("The StackSets deploy different versions", versions)


def _totals(found: OrgStatus) -> Iterator[str]:
    flagged, total = sum(row.is_flagged for row in found.rows), len(found.rows)
    accounts = {status.place.account_id for status in found.places}
    attention = Counter(row.code for row in found.attention)
    listed = ", ".join(f"{attention[code]:,} {code.name}" for code in Attention if attention[code])
    deployed = f"{count_text(len(found.places), 'deployment')} in {count_text(len(accounts), 'account')}"
    yield f"{deployed}: {listed}" if listed else deployed
    yield (
        f"{count_text(total, 'subnet')}: {flagged:,} NON_COMPLIANT, {total - flagged:,} COMPLIANT (aggregators do not contain "
        "NOT_APPLICABLE ones)"
    )


def _accounts(found: OrgStatus) -> Iterator[Record]:
    for row, number in found.by_account.items():
        yield Record(
            {
                "Account": [row.account_id],
                "Name": [found.names.get(row.account_id, "")],
                "Compliance": [row.compliance],
                "Reason": [row.reason],
                "Subnets": [str(number)],
            }
        )


def _record(item: WorkItem, names: Mapping[str, str]) -> Record:
    row = item.first
    return Record(
        {
            "Subnets": [str(len(item.rows))],
            "Reason": [row.reason],
            "Route table": [row.route_table_id or "unknown"],
            "VPC": [row.vpc_id or "unknown"],
            "NAT": item.nat_ids,
            "Account": [row.account_id],
            "Name": [names.get(row.account_id, "")],
            "Region": [row.region],
        }
    )


def _attention(row: PlaceAttention, names: Mapping[str, str]) -> Record:
    account_id, region = row.place
    cells = {"Account": [account_id], "Name": [names.get(account_id, "")], "Region": [region]}
    return Record(cells, {"Why": [row.text]})


def _excluded(found: OrgStatus) -> list[Record]:
    """Return the tags that exclude subnets, and how many in how many accounts."""
    subnets: Counter[str] = Counter()
    accounts: dict[str, set[str]] = {}
    for status in found.places:
        for by, number in status.sweep.excluded.items() if status.sweep else ():
            subnets[by] += number
            accounts.setdefault(by, set()).add(status.place.account_id)
    return [
        Record({"Excluded by": [by], "Subnets": [str(number)], "Accounts": sorted(accounts[by])})
        for by, number in sorted(subnets.items(), key=lambda item: (-item[1], item[0]))
    ]
