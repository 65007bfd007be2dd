"""A check-up as JSON, for other tools."""

import json

from express_path_cli.doctor.checkup import Checkup

SCHEMA_VERSION = 1


def as_checkup_json(found: Checkup) -> str:
    """Return every check with its state, finding and fix; accountId is null if it could not be determined."""
    checks = [
        {
            "group": check.question.group,
            "name": check.question.name,
            "required": check.question.required,
            "state": check.answer.state,
            "finding": check.answer.finding,
            "fix": check.answer.fix,
            "command": check.answer.command,
        }
        for check in found.checks
    ]
    document = {
        "schemaVersion": SCHEMA_VERSION,
        "accountId": found.account,
        "region": found.region,
        "exitStatus": found.exit_status,
        "checks": checks,
    }
    return json.dumps(document, indent=2) + "\n"
