"""docs/organization.md, literally: a shell runs its commands, with the AWS CLI, in the organization of `make sandbox ORG=1`.

The artifact buckets are in another account than the StackSets. An account of the OU has no recorder, so it fails until it is
repaired. Where the page says `<operation>` or has the ID of an account, the command gets what is there. What `make org-package`
writes is made by org.package. org/terraform has tests of its own.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from moto.config.models import config_backends

from config_rule_sandbox.cloudformation.operations import CloudFormation
from config_rule_sandbox.cloudformation.stack_sets import administrator_of
from config_rule_sandbox.config.deployment import prepare
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from demo.organization import BUCKETS, NETWORK, REGIONS, PracticeOrganization
from org.package import package
from tests.docs.test_commands import BLOCK, ROOT
from tests.org.conftest import code, packaged
from tests.support.organization import Packaged

__all__ = ["code", "packaged"]

TOOLS_OF_SHELL = ROOT / ".venv-tools" / "bin"
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not (TOOLS_OF_SHELL / "aws").exists(), reason="no AWS CLI: make .venv-tools/.ready installs it"),
]
PAGE = (ROOT / "docs" / "organization.md").read_text(encoding="utf-8")
OPTIONAL = "3. Create the role in the network account"
ELSEWHERE = {"Terraform"}
"""The sections whose commands tests/terraform/ runs."""


def sections() -> dict[str, list[str]]:
    """Return the blocks of shell code by the heading above them, in the page's order."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"^#{2,3} ", PAGE, flags=re.MULTILINE)[1:]:
        blocks = [block["code"] for block in BLOCK.finditer(part)]
        if blocks:
            found[part.partition("\n")[0]] = blocks
    return found


class Person:
    """Someone at a shell, in a copy of the repository with two versions, who pastes blocks of the page."""

    def __init__(
        self, shell: str, folder: Path, variables: Mapping[str, str], versions: Mapping[str, Packaged], first: str = ""
    ) -> None:
        """Open the shell in the first version, with these variables. It runs the lines `first` before each block."""
        self._shell, self._folder, self._first = shell, folder / "repository", first
        shutil.copytree(ROOT / "org", self._folder / "org", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        self._git("init", "-q")
        for name, version in versions.items():
            recipe = f"rm -rf build/org && mkdir -p build && cp -r {version.upload.parent} build/"
            (self._folder / "Makefile").write_text(f"org-package:\n\t{recipe}\n", encoding="utf-8")
            self._git("add", "Makefile", "org")
            self._git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", name)
            self._git("tag", name)
        self._git("checkout", "-q", next(iter(versions)))
        path = f"{ROOT / '.venv' / 'bin'}:{TOOLS_OF_SHELL}:{os.environ['PATH']}"
        own = {"PATH": path, "HOME": str(folder), "AWS_PAGER": "", "COLUMNS": "200", "NO_PROXY": "127.0.0.1"}
        self._variables = own | dict(variables)

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self._folder, check=True)

    def set(self, **variables: str) -> None:
        """Set variables, such as credentials."""
        self._variables |= variables

    def run(self, block: str, statuses: Sequence[int] = (0,)) -> str:
        """Paste a block, which ends at the first command that fails, and return what it prints. Variables are kept."""
        kept = self._folder.parent / "variables"
        script = f"set -eu\ntrap 'env -0 > {kept}' EXIT\n{self._first}\n{block}"
        done = subprocess.run(
            [self._shell, "-c", script],
            cwd=self._folder,
            env=self._variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in statuses, f"{block}\n{done.stdout}\n{done.stderr}"
        assert "rror" not in done.stderr or statuses != (0,), done.stderr  # also of a command in $(...)
        lines = kept.read_text(encoding="utf-8").split("\0")
        self._variables = dict(line.split("=", 1) for line in lines if line)
        return done.stdout + done.stderr


class Page:
    """The page, with an organization in which its commands run: the OU has two accounts, of which legacy does not record."""

    def __init__(self, sandbox: Sandbox, person: Person, network_id: str, delegated: str) -> None:
        """Create the organization.

        network_id: empty without a network account. delegated: the name of the account that has the stacks, empty for the
        management account, to which the StackSets belong in both cases.
        """
        self.sandbox, self.person, self._sections, self._done = sandbox, person, sections(), set[tuple[str, int]]()
        self.organization = PracticeOrganization(sandbox)
        self.accounts, self.root_id = self.organization.accounts, self.organization.root_id
        self.unit_id = self.organization.units["workloads"]
        self.network_id = network_id
        self.stack_set = f"express-path-{self.unit_id}"
        self.call_as = "DELEGATED_ADMIN" if delegated else "SELF"
        self.operator_id = self.organization.delegate(delegated) if delegated else sandbox.account_id
        credentials = sandbox.credentials(self.operator_id)
        self.stacks: Client = sandbox.client("cloudformation", credentials=credentials)
        self.cloudformation: Client = sandbox.client("cloudformation")

    def stop_recording(self, name: str) -> None:
        """Delete the recorders of an account."""
        for region in REGIONS:
            config_backends[self.accounts[name]][region].recorders.clear()

    def sign_in(self, account_id: str = "") -> None:
        """Use credentials of an account, by default of that with the stacks."""
        credentials = self.sandbox.credentials(account_id or self.operator_id)
        self.person.set(**{name.upper(): value for name, value in credentials.items()})

    def paste(self, title: str, number: int = 0, *, statuses: Sequence[int] = (0,), **values: str) -> str:
        """Run a block of a section with what is here instead of some words, each of which it has once; return its output."""
        block = self._sections[title][number]
        self._done.add((title, number))
        for word, value in values.items():
            assert block.count(WORDS[word]) == 1, word
            block = block.replace(WORDS[word], value)
        return self.person.run(block, statuses)

    def paste_with_result(self, title: str, number: int, word: str, status: int = 0) -> str:
        """Run a block whose last command has the result of those before it instead of a word; return its output."""
        first, last = self._sections[title][number].rstrip().rsplit("\naws ", 1)
        self._done.add((title, number))
        printed = self.person.run(first)
        result = json.loads(printed)["Policy"]["PolicySummary"]["Id"] if word == "<policy-id>" else None
        return self.person.run("aws " + last.replace(word, result or json.loads(printed)[0]), (status,))

    def left(self) -> set[str]:
        """Return the sections of which not every block was run."""
        blocks = {(title, number) for title, found in self._sections.items() for number in range(len(found))}
        blocks.discard(("Protect it from administrators", 0))  # CloudTrail, which the sandbox does not have
        return {title for title, _ in blocks - self._done}

    def statuses(self) -> dict[str, set[str]]:
        """Return the statuses of the instances of the rule by the account's name."""
        names = {account_id: name for name, account_id in self.accounts.items()}
        found: dict[str, set[str]] = {}
        for row in self.cloudformation.list_stack_instances(StackSetName=self.stack_set)["Summaries"]:
            found.setdefault(names[row["Account"]], set()).add(row["Status"])
        return found

    def parameter(self, name: str) -> str:
        """Return a parameter of the StackSet of the OU."""
        found = self.cloudformation.describe_stack_set(StackSetName=self.stack_set)["StackSet"]["Parameters"]
        return str(next(row["ParameterValue"] for row in found if row["ParameterKey"] == name))

    def status(self) -> str:
        """Return the status of the stack of the OU."""
        return str(self.stacks.describe_stacks(StackName=self.stack_set)["Stacks"][0]["StackStatus"])

    def fail_in_both_directions(self) -> None:
        """Let legacy join without a recorder, and change the rule, so that the update and its rollback fail."""
        self.organization.move("legacy", self.unit_id, self.root_id)
        self.stop_recording("legacy")
        self.organization.move("legacy", self.root_id, self.unit_id)
        found = self.stacks.describe_stacks(StackName=self.stack_set)["Stacks"][0]
        rows = [
            {"ParameterKey": row["ParameterKey"], "UsePreviousValue": True}
            for row in found["Parameters"]
            if row["ParameterKey"] != "PublicSubnets"
        ]
        changed = {"ParameterKey": "PublicSubnets", "ParameterValue": "NON_COMPLIANT"}
        self.stacks.update_stack(StackName=self.stack_set, UsePreviousTemplate=True, Parameters=[*rows, changed])
        assert self.status() == "UPDATE_ROLLBACK_FAILED"


WORDS = {
    "organization": "o-a1b2c3d4e5",
    "root": "r-ab12\n",
    "unit": "ou-ab12-11112222",
    "artifact_account": "999988887777",
    "call_as": "CALL_AS=SELF",
    "path": "$PWD/.venv/bin",
    "version": "<new version>",
    "account": "111122223333",
    "regions": "--regions eu-north-1",
    "role": "<the role that you use>",
}


@pytest.fixture(
    params=[("bash", "", ""), ("zsh", NETWORK, ""), ("bash", "", "data")],
    ids=["bash", "zsh", "delegated administrator"],
)
def page(
    request: pytest.FixtureRequest, sandbox: Sandbox, code: Path, packaged: Packaged, tmp_path: Path
) -> Iterator[Page]:
    """Yield the page in an organization, with a second version of the package."""
    shell, network_id, delegated = request.param
    if not shutil.which(shell):
        pytest.skip(f"no {shell}")
    (code / "another.py").write_text("VALUE = 2\n", encoding="utf-8")
    output = tmp_path / "org"
    versions = {"deployed": packaged, "next": Packaged(package(code, code, output), output / "upload")}
    (code / "another.py").unlink()
    patches = Patches()
    CloudFormation(sandbox).apply(patches)
    with Automation(sandbox) as automation, Remediation(sandbox, automation):
        yield Page(sandbox, Person(shell, tmp_path, sandbox.environment(), versions), network_id, delegated)
    patches.undo()


def test_the_page(page: Page) -> None:
    """Each section does what it says, from the package to the removal: also with a network role, and as a delegated administrator."""
    roll_out(page)
    repair_and_promote(page)
    deploy_a_version(page)
    repair_stacks(page)
    use_the_management_account(page)
    remove(page)
    assert page.left() == ELSEWHERE | (set() if page.network_id else {OPTIONAL})


def roll_out(page: Page) -> None:
    """Paste "In one hour". The check names the account that then fails, and no other."""
    here = {"organization": page.organization.id, "root": f"{page.root_id}\n", "unit": page.unit_id}
    here |= {"artifact_account": BUCKETS, "call_as": f"CALL_AS={page.call_as}", "path": str(ROOT / ".venv" / "bin")}
    page.paste("Before you start", **here)
    page.paste("1. Build the package")
    page.sign_in(BUCKETS)
    page.paste("2. Create the artifact buckets")
    if page.network_id:
        page.sign_in(page.network_id)
        page.paste(OPTIONAL)
    page.sign_in()
    page.paste("4. Create the roles of the auditor and the operator")
    assert page.paste("4. Create the roles of the auditor and the operator", 1) == ""
    checked = page.paste("5. Check what would fail", statuses=(1,))
    assert "RECORDER_MISSING" in checked
    assert "BUCKET" not in checked
    assert ("network account's role was not checked" in checked) is not bool(page.network_id)
    page.paste("6. Create the ledgers")
    page.paste("7. Deploy the rule")
    assert page.statuses() == {"apps": {"CURRENT"}, "legacy": {"OUTDATED"}}
    assert page.parameter("NetworkRoleArn").partition("role/")[0] == (
        f"arn:aws:iam::{NETWORK}:" if page.network_id else ""
    )
    status = page.paste("8. Read the results", statuses=(2,))  # nothing was evaluated yet
    assert "NoAvailableConfigurationRecorder" in status
    page.paste("8. Read the results", 1)


def repair_and_promote(page: Page) -> None:
    """Paste what repairs the account, and then what promotes all of them."""
    legacy = page.accounts["legacy"]
    assert legacy in page.paste("If accounts fail")
    page.organization.record("legacy")
    page.paste("If accounts fail", 1, account=legacy, regions="--regions us-east-1 eu-north-1")
    assert page.paste("If accounts fail") == ""
    assert set.union(*page.statuses().values()) == {"CURRENT"}
    page.paste("Promote an OU")
    assert page.parameter("RemediationMode") == "APPROVAL"


def deploy_a_version(page: Page) -> None:
    """Paste the way to a new version and back, and find the operation that runs."""
    title, before = "Deploy a new version", page.parameter("CodeKey")
    page.sign_in(BUCKETS)
    page.paste(title, version="next")
    page.sign_in()
    page.paste(title, 1, statuses=(1,))  # nothing evaluates here, so no verdict is there yet
    page.paste(title, 2)
    assert page.parameter("CodeKey") != before
    page.paste("Put the previous version back")
    assert page.parameter("CodeKey") == before
    administrator = administrator_of(page.sandbox.account_id, page.sandbox.region)
    administrator.instance_seconds = 3600
    targets = {"OrganizationalUnitIds": [page.unit_id]}
    page.cloudformation.update_stack_instances(
        StackSetName=page.stack_set, Regions=[*REGIONS], DeploymentTargets=targets
    )
    # The work of an operation is done when the sandbox answers, so it finds the operation, and cannot stop it.
    refused = page.paste_with_result("Put the previous version back", 1, "<operation>", 255)
    assert re.search(r"InvalidOperationException.* has ended", refused)
    administrator.instance_seconds = 0


def repair_stacks(page: Page) -> None:
    """Paste both ways out of a rollback that failed, and the policy that protects an OU."""
    page.fail_in_both_directions()
    page.organization.record("legacy")
    page.paste("If a stack fails")
    assert page.status() == "UPDATE_ROLLBACK_COMPLETE"
    page.fail_in_both_directions()
    page.paste("If a stack fails", 1)
    assert page.status() == "UPDATE_ROLLBACK_COMPLETE"
    page.organization.record("legacy")
    page.paste("If accounts fail", 1, account=page.accounts["legacy"], regions="--regions us-east-1 eu-north-1")
    page.sign_in(page.sandbox.account_id)
    page.paste_with_result("Protect it from administrators", 1, "<policy-id>")
    page.sign_in()


def use_the_management_account(page: Page) -> None:
    """Paste what deploys to the management account, to which StackSets do not deploy."""
    prepare(page.sandbox)
    page.sign_in(page.sandbox.account_id)
    page.paste("The management account", role=f"arn:aws:iam::{page.sandbox.account_id}:role/Deploys")
    stack = page.cloudformation.describe_stacks(StackName="express-path")["Stacks"][0]
    assert stack["StackStatus"] == "CREATE_COMPLETE"
    page.sign_in()


def remove(page: Page) -> None:
    """Paste what deletes one instance, and then everything but the tables, the buckets, and the network role."""
    targets = {"OrganizationalUnitIds": [page.unit_id], "AccountFilterType": "INTERSECTION"}
    page.cloudformation.delete_stack_instances(
        StackSetName=f"express-path-integrations-{page.unit_id}",
        Regions=["eu-north-1"],
        DeploymentTargets=targets | {"Accounts": [page.accounts["apps"]]},
        RetainStacks=False,
    )
    page.paste("Exclude accounts", account=page.accounts["apps"])
    if page.operator_id != page.sandbox.account_id:
        page.cloudformation.delete_stack(StackName="express-path")
    page.paste("Uninstall", 2)
    page.paste("Uninstall")
    page.paste("Uninstall", 1)
    assert page.cloudformation.list_stack_sets(Status="ACTIVE")["Summaries"] == []
