"""The commands of docs/integrations.md that resolve the findings of integrations that were deleted, in a shell."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from config_rule_sandbox.server import Sandbox
from tests.docs.test_commands import BLOCK, ROOT

AWS_CLI = ROOT / ".venv-tools" / "bin"
RULE = "s3express-no-nat-path"
MORE_THAN_ONE_CALL = 150

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not (AWS_CLI / "aws").exists(), reason="no AWS CLI: make .venv-tools/.ready installs it"),
]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_all_findings_of_the_rule_are_resolved(sandbox: Sandbox, tmp_path: Path, shell: str) -> None:
    """Also more than one call updates, and none of another rule; without a finding, nothing is called."""
    if not shutil.which(shell):
        pytest.skip(f"no {shell}")
    client = sandbox.client("securityhub")
    client.enable_security_hub()
    rows = [
        {
            "SchemaVersion": "2018-10-08",
            "Id": f"finding/{number}",
            "ProductArn": f"arn:aws:securityhub:us-east-1:{sandbox.account_id}:product/{sandbox.account_id}/default",
            "GeneratorId": RULE if number else "another",
            "AwsAccountId": sandbox.account_id,
            "Types": ["Software and Configuration Checks"],
            "CreatedAt": "2026-11-01T00:00:00Z",
            "UpdatedAt": "2026-11-01T00:00:00Z",
            "Severity": {"Label": "LOW"},
            "Title": "title",
            "Description": "description",
            "Resources": [{"Type": "Other", "Id": "resource"}],
        }
        for number in range(MORE_THAN_ONE_CALL)
    ]
    for first in range(0, len(rows), 100):
        client.batch_import_findings(Findings=rows[first : first + 100])
    page = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
    block = BLOCK.search(page, page.index("### Remove"))
    assert block
    environment = {"PATH": f"{AWS_CLI}:{os.environ['PATH']}", "HOME": str(tmp_path), **sandbox.environment()}
    sandbox.calls.clear()
    for _ in range(2):
        subprocess.run([shell, "-ec", block["code"]], cwd=tmp_path, env=environment, check=True, capture_output=True)
    found = [row for page in client.get_paginator("get_findings").paginate() for row in page["Findings"]]
    assert {row["GeneratorId"]: row["Workflow"]["Status"] for row in found} == {"another": "NEW", RULE: "RESOLVED"}
    assert len(sandbox.calls.of("securityhub", "BatchUpdateFindings")) == 2
