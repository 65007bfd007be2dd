"""Every policy that a page shows, or that is a file, names what exists, and is enough for the requests that it is about."""

import json
import re
from typing import Any

import pytest

from config_rule_sandbox.cloudformation.text import read
from tests.support.iam import faults, lacking
from tests.support.template import ROOT
from tests.template.test_permissions import statements

BLOCK = re.compile(r"```json\n(.*?)```", re.DOTALL)
FILES = [
    *(ROOT / "org").glob("*.json"),
    *(ROOT / "acceptance" / "templates").glob("*.yaml"),
    ROOT / "acceptance" / "recorded" / "policy.json",
    *ROOT.glob("deployer-*.json"),
]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
LONGEST = 6144
"""The characters of a managed policy, without white space: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html."""


def policies() -> dict[str, list[dict[str, Any]]]:
    """Return the statements of each policy, by the name of its page or file."""
    shown = [(page, block) for page in PAGES for block in BLOCK.findall(page.read_text(encoding="utf-8"))]
    texts = [(f"{page.relative_to(ROOT)} {number}", text) for number, (page, text) in enumerate(shown)]
    texts += [(str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")) for file in FILES]
    found = {name: list(statements(read(text))) for name, text in texts if '"Effect"' in text or "Effect:" in text}
    return {name: [_resolved(row) for row in rows] for name, rows in found.items()}


def _resolved(statement: dict[str, Any]) -> dict[str, Any]:
    """Return a statement with "*" for the ARNs of a template's resources, and for what Fn::Sub inserts."""

    def text(node: dict[str, Any]) -> Any:  # JSON
        if "Fn::Sub" in node:
            return re.sub(r"\$\{[\w:]+\}", "*", node["Fn::Sub"])
        return "*" if node.keys() & {"Fn::GetAtt", "Ref"} else node

    resolved: dict[str, Any] = json.loads(json.dumps(statement), object_hook=text)
    return resolved


@pytest.mark.parametrize(("name", "rows"), policies().items(), ids=[*policies()])
def test_policy_names_what_exists_and_is_enough(name: str, rows: list[dict[str, Any]]) -> None:
    """Actions and condition keys exist, resources are of the types of the actions, and no change is allowed on "*"."""
    own = name.startswith("acceptance/templates")  # its resources are not resolved
    found = [
        fault for row in rows for fault in faults(row, of_person=True) if not (own and "supports resources" in fault)
    ]
    assert found + lacking(rows) == []
    assert len(json.dumps({"Version": "2012-10-17", "Statement": rows}, separators=(",", ":"))) <= LONGEST


def test_policies_are_found() -> None:
    """Those of pages, of the organization, of the acceptance run, and of deployments."""
    assert len(policies()) > 12
