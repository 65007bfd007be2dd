"""org/terraform with real Terraform: the roll-out, its failures, and its recovery, as docs/terraform.md has them."""

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config_rule_sandbox.cloudformation.operations import CloudFormation
from config_rule_sandbox.cloudformation.stack_sets import administrator_of
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.server import Sandbox
from tests.org.conftest import code, packaged
from tests.support.organization import PREFIX, Packaged
from tests.support.roll_out import REGION, RollOut
from tests.support.template import ROOT, source
from tests.support.terraform import ERROR, NO_CHANGES, Workspace, needs_terraform

__all__ = ["code", "packaged"]

pytestmark = pytest.mark.long
NORTH = "eu-north-1"


class Roots:
    """org/terraform in a folder, with an organization to which it rolls out."""

    def __init__(self, folder: Path, sandbox: Sandbox, packaged: Packaged) -> None:
        """Copy the templates and the configuration; nothing is applied."""
        self.roll_out = RollOut(sandbox, packaged)
        self.sandbox = sandbox
        self.package = folder / "parameters"
        self.upload(**packaged.keys)
        shutil.copytree(ROOT / "org", folder / "org", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        self.workspace = Workspace(folder / "org" / "terraform", sandbox)
        self.variables: dict[str, Any] = {
            "root_id": self.roll_out.root_id,
            "regions": [REGION],
            "artifact_bucket_prefix": PREFIX,
            "package": str(self.package),
            "accounts": 3,
            "units": {self.roll_out.unit_id: {}},
        }

    def upload(self, **keys: str) -> None:
        """Write the keys as `make org-package` does."""
        self.package.write_text("".join(f"{name}={key}\n" for name, key in keys.items()), encoding="utf-8")

    def set(self, **variables: Any) -> None:
        """Write terraform.tfvars.json with these variables besides the others."""
        self.variables |= variables
        file = self.workspace.folder / "terraform.tfvars.json"
        file.write_text(json.dumps(self.variables), encoding="utf-8")

    def unit(self, **parameters: str) -> None:
        """Set the parameters that only the OU has."""
        self.set(units={self.roll_out.unit_id: parameters})

    def apply(self, *options: str) -> str:
        """Apply, and return what went wrong, or an empty text."""
        done = self.workspace.run("apply", "-auto-approve", "-input=false", *options, statuses=(NO_CHANGES, ERROR))
        return done.stderr if done.returncode else ""

    def rule(self) -> str:
        """Return the address of the stack of the OU."""
        return f'aws_cloudformation_stack.rule["{self.roll_out.unit_id}"]'


@pytest.fixture
def roots(sandbox: Sandbox, packaged: Packaged, tmp_path: Path) -> Iterator[Roots]:
    """Yield the configuration in a sandbox in which CloudFormation deploys."""
    needs_terraform()
    patches = Patches()
    CloudFormation(sandbox).apply(patches)
    made = Roots(tmp_path, sandbox, packaged)
    made.set()
    with made.workspace:
        yield made
    patches.undo()


def test_it_is_the_same_roll_out(roots: Roots) -> None:
    """The defaults are planned and applied, a setting loses no other, and exclusions change by differences."""
    roots.workspace.run("fmt", "-check")
    assert roots.apply() == ""
    roll_out = roots.roll_out
    roll_out.open(NORTH)
    assert set(roll_out.statuses().values()) == {"CURRENT"}
    assert roots.workspace.plan() == {}
    seen = [" ".join(roll_out.deployed())]
    for names in (["apps"], ["apps", "data"], ["data"], []):
        roots.unit(ExcludedAccountIds=",".join(roll_out.accounts[name] for name in names))
        assert roots.apply() == ""
        seen.append(" ".join(roll_out.deployed()))
    assert seen == ["apps data legacy", "data legacy", "legacy", "apps legacy", "apps data legacy"]
    roots.set(public_subnets="NON_COMPLIANT", warn_only="", integrations=True)
    assert roots.apply() == ""
    assert roll_out.deployed() == dict.fromkeys(roll_out.accounts, "NON_COMPLIANT")
    found = roll_out.cloudformation.describe_stack_set(StackSetName=roll_out.name)["StackSet"]["Parameters"]
    values = {row["ParameterKey"]: row["ParameterValue"] for row in found}
    assert (values["ExcludeTag"], values["WarnOnly"]) == ("NONE", "")
    assert roots.workspace.plan() == {}
    for mode in ("ON", "OFF"):  # this changes the time limits of the integrations, and nothing else of them
        roots.unit(RemediationMode=mode)
        assert roots.apply() == ""
    data = roll_out.accounts["data"]
    roots.set(excluded_from_integrations=[data])  # before the rule, whose event bus they use
    assert roots.apply() == ""
    roots.unit(ExcludedAccountIds=data)
    assert roots.apply() == ""
    assert (roll_out.deployed().keys(), roll_out.statuses().keys()) == ({"apps", "legacy"}, {"apps", "legacy"})
    for variables in ({"regions": [REGION, NORTH]}, {"regions_without_integrations": [NORTH]}, {"regions": [REGION]}):
        roots.set(**variables)
        assert roots.apply() == ""
        rows = roll_out.cloudformation.list_stack_instances(StackSetName=roll_out.name)["Summaries"]
        assert {(row["Region"], row["Status"]) for row in rows} == {
            (region, "CURRENT") for region in roots.variables["regions"]
        }
    refused = roots.workspace.run("destroy", "-auto-approve", "-input=false", statuses=(ERROR,)).stderr
    assert "Instance cannot be destroyed" in refused
    main = roots.workspace.folder / "main.tf"
    main.write_text(
        main.read_text(encoding="utf-8").replace("prevent_destroy = true", "prevent_destroy = false"), encoding="utf-8"
    )
    roots.workspace.run("destroy", "-auto-approve", "-input=false")
    assert roll_out.deployed() == {}
    assert roll_out.cloudformation.list_stack_sets(Status="ACTIVE")["Summaries"] == []


def test_a_failed_creation_is_applied_again(roots: Roots) -> None:
    """What could not be created is gone, so that the next apply creates it, although it is tainted and guarded."""
    keys = roots.roll_out.keys
    roots.upload(**keys | {"TemplateKey": "express-path-0123.json"})
    assert "stack status (DELETE_COMPLETE)" in roots.apply()
    roots.upload(**keys)
    assert roots.apply() == ""
    assert set(roots.roll_out.statuses().values()) == {"CURRENT"}
    assert roots.workspace.plan() == {}


def test_a_failed_update_is_rolled_back_and_applied_again(roots: Roots) -> None:
    """A promotion that fails in one account of three leaves all in report mode. Terraform plans it again."""
    assert roots.apply() == ""
    roots.roll_out.stop_recording("data")
    roots.unit(RemediationMode="ON", PublicSubnets="NON_COMPLIANT")
    assert "UPDATE_ROLLBACK_COMPLETE" in roots.apply()
    assert roots.roll_out.deployed() == dict.fromkeys(roots.roll_out.accounts, "COMPLIANT")
    roots.roll_out.organization.record("data", REGION)
    assert roots.workspace.plan() == {roots.rule(): "update"}
    assert roots.apply() == ""
    assert roots.roll_out.deployed() == dict.fromkeys(roots.roll_out.accounts, "NON_COMPLIANT")


def test_after_a_timeout_the_stack_is_untainted(roots: Roots) -> None:
    """CloudFormation goes on. Terraform would replace the stack, which it is not allowed to, until it is untainted."""
    assert roots.apply("-target=aws_cloudformation_stack.ledger") == ""
    administrator_of(roots.sandbox.account_id, REGION).instance_seconds = 5
    roots.set(minutes_per_instance=0.01)
    assert "timeout while waiting" in roots.apply()
    while roots.roll_out.status() == "CREATE_IN_PROGRESS":
        time.sleep(0.5)
    roots.set(minutes_per_instance=5)
    assert "Instance cannot be destroyed" in roots.workspace.run("plan", "-input=false", statuses=(ERROR,)).stderr
    roots.workspace.run("untaint", roots.rule())
    assert roots.apply() == ""
    assert roots.workspace.plan() == {}
    assert set(roots.roll_out.statuses().values()) == {"CURRENT"}


def test_every_parameter_is_a_variable() -> None:
    """Those of org/*.yaml are passed, and the variables of settings are named after them."""
    text = (ROOT / "org" / "terraform" / "main.tf").read_text(encoding="utf-8")
    for name in ("stackset", "integrations-stackset", "ledger-stackset"):
        parameters = source(f"org/{name}.yaml")["Parameters"]
        assert [parameter for parameter in parameters if parameter not in text] == []
