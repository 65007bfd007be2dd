"""Real Terraform applies the files that a split by owner writes, and afterwards nothing is left to fix."""

import json
import re
from pathlib import Path

import pytest

from config_rule_sandbox.server import Sandbox
from tests.support.command import invoke
from tests.support.owned_network import SUBNETS, TABLES, dump_network, make_network
from tests.support.terraform import CHANGES, Workspace, needs_terraform

pytestmark = pytest.mark.long


def test_the_files_of_all_owners_fix_everything(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each owner plans and applies alone: first those who create endpoints, then those who wait for them.

    One test for all, because each command of Terraform takes seconds.
    """
    needs_terraform()
    accounts, dump = make_network(sandbox), tmp_path / "dump"
    dump_network(accounts, dump, monkeypatch)
    owners = tmp_path / "owners"
    assert invoke(["scan", "--from-dump", str(dump), "--split-by", "tag:owner", "--output", str(owners)]).exit_code == 1
    added = 0
    for account in accounts:
        folder = tmp_path / account.account_id
        folder.mkdir()
        with Workspace(folder, sandbox, account.credentials) as terraform:
            own = sorted(owners.glob(f"*/{account.account_id}-*"), key=lambda path: path.name.endswith("-second"))
            for place in own:
                terraform.run("plan", "-detailed-exitcode", "-input=false", folder=place, statuses=(CHANGES,))
                done = terraform.run("apply", "-auto-approve", "-input=false", folder=place)
                added += int(re.findall(r"Resources: ([0-9]+) added, 0 changed, 0 destroyed", done.stdout)[0])
    assert added == TABLES + 8, "an association for each table, and an endpoint for each VPC that had none"
    fixed, file = tmp_path / "fixed", tmp_path / "fixed.json"
    dump_network(accounts, fixed, monkeypatch)
    assert invoke(["scan", "--from-dump", str(fixed), "--output", str(file)]).exit_code == 0
    assert json.loads(file.read_text(encoding="utf-8"))["totals"]["compliances"] == {
        "COMPLIANT": SUBNETS,
        "NON_COMPLIANT": 0,
        "NOT_APPLICABLE": 0,
    }
