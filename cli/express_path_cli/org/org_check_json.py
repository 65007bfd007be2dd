"""A check of an organization as JSON, for other tools."""

import json
from typing import Any

from express_path_cli.org.check_results import OrgCheck, PlaceCheck
from express_path_cli.terminal.errors import one_line

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
