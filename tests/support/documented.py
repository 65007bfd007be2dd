"""The policy that docs/troubleshoot.md shows for the command."""

import json
from typing import Any

from tests.support.template import ROOT

TEXT = (ROOT / "docs" / "troubleshoot.md").read_text(encoding="utf-8").partition("```json\n")[2].partition("```")[0]


def documented(*sids: str) -> list[dict[str, Any]]:
    """Return the statements with these Sids."""
    by_sid = {statement["Sid"]: statement for statement in json.loads(TEXT)["Statement"]}
    return [by_sid[sid] for sid in sids]
