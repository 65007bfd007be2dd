"""The policies that docs/troubleshoot.md shows for the command: for reads, and for the deployed stack."""

import json
from typing import Any

from org.policies import EXAMPLE_ACCOUNT
from tests.support.template import ROOT

_BLOCKS = (ROOT / "docs" / "troubleshoot.md").read_text(encoding="utf-8").split("```json\n")[1:]
_POLICIES = [json.loads(block.partition("```")[0].replace(EXAMPLE_ACCOUNT, "123456789012")) for block in _BLOCKS]
TEXT = json.dumps({"Version": "2012-10-17", "Statement": [row for policy in _POLICIES for row in policy["Statement"]]})
"""Both policies in one."""


def documented(*sids: str) -> list[dict[str, Any]]:
    """Return the statements with these Sids."""
    by_sid = {statement["Sid"]: statement for statement in json.loads(TEXT)["Statement"]}
    return [by_sid[sid] for sid in sids]
