"""The result of `org check` as a table and as JSON."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from express_path_cli.org.check_results import (
    EFFECTS,
    FIXES,
    CheckReason,
    Effect,
    Finding,
    OrgCheck,
    PlaceCheck,
    PlaceState,
)
from express_path_cli.terminal.errors import one_line
from express_path_cli.terminal.tables import Record, Screen, record_lines
from express_path_cli.terminal.texts import count_text

SCHEMA_VERSION = 1


def as_org_check_json(found: OrgCheck) -> str:
    """Return every account and Region with its problems, and what could not be read."""
    management = found.management_account
    document = {
        "schemaVersion": SCHEMA_VERSION,
        "exitStatus": found.exit_status,
        "places": [_place(check) for check in found.checks],
        "managementAccountId": management.id if management else None,
        "failures": [{"where": failure.where, "error": one_line(failure.error)} for failure in found.failures],
        "notes": list(found.notes),
    }
    return json.dumps(document, indent=2) + "\n"


def _place(check: PlaceCheck) -> dict[str, Any]:
    return {
        "accountId": check.member.id,
        "accountName": check.member.name,
        "region": check.region,
        "state": check.state,
        "problems": [
            {
                "reason": problem.reason,
                "effect": problem.effect,
                "finding": problem.finding,
                "fix": problem.fix,
            }
            for problem in check.problems
        ],
        "failures": [one_line(failure.error) for failure in check.failures],
    }


_STYLES = {Effect.FAILS: "bold red", Effect.BREAKS: "bold red", Effect.LIMITS: "bold yellow"}
_CONCLUSIONS = {
    0: "Nothing blocks the roll-out.",
    1: "Fix these problems before the roll-out, or leave the accounts or Regions out of the StackSet.",
    2: "Some accounts or Regions could not be checked completely: see the messages, and check again.",
}


def as_org_check_table(found: OrgCheck, screen: Screen) -> Iterator[str]:
    """Yield the lines."""
    yield from screen.folded(_totals(found))
    for reason, findings in found.by_reason.items():
        yield from _section(reason, findings, screen)
    management = found.management_account
    if management:
        yield ""
        yield from screen.folded(
            f"Not covered: {management} is the management account, to which service-managed StackSets do not deploy. "
            "Deploy template.yaml there on its own."
        )
    yield ""
    yield from screen.folded(_CONCLUSIONS[found.exit_status])


def _totals(found: OrgCheck) -> str:
    accounts = len({check.member.id for check in found.checks})
    states = Counter(check.state for check in found.checks)
    listed = ", ".join(f"{states[state]:,} {state}" for state in PlaceState)
    places = f"{count_text(len(found.checks), 'stack instance')} in {count_text(accounts, 'account')}"
    return f"{places}: {listed}"


def _section(reason: CheckReason, findings: Sequence[Finding], screen: Screen) -> Iterator[str]:
    effect = EFFECTS[reason]
    yield ""
    for line in screen.folded(f"{reason}: {effect.meaning}"):
        yield screen.paint(line, _STYLES[effect])
    yield from screen.folded(f"To fix: {FIXES[reason]}.")
    if screen.width is None:
        yield from record_lines([_record(finding, with_text=True) for finding in findings], [_LAYOUT], screen)
        return
    for text, with_text in _by_text(findings).items():
        yield from screen.folded(f"{text[0].upper()}{text[1:]}.")
        yield from record_lines([_record(finding) for finding in with_text], [_LAYOUT], screen)


_LAYOUT = [("Account",), ("Name",), ("Region",)]


def _by_text(findings: Sequence[Finding]) -> Mapping[str, list[Finding]]:
    """Return the findings by their text, which is often the same for many accounts."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.problem.finding, []).append(finding)
    return found


def _record(finding: Finding, *, with_text: bool = False) -> Record:
    cells = {"Account": [finding.member.id], "Name": [finding.member.name], "Region": [finding.region]}
    return Record(cells | ({"Finding": [finding.problem.finding]} if with_text else {}))
