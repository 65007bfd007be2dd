"""Real Terraform manages networks in the sandbox: heals and patches cause no drift, with one exception."""

import base64
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pytest

from express_path.domain.heal.patches import create_patches
from org.expansion import expand
from sandbox.dynamic import Client
from sandbox.pytest_plugin import pointed_at
from sandbox.server import Sandbox
from tests.runbooks.conftest import deployment
from tests.support.command import invoke
from tests.support.heal_situation import AWKWARD
from tests.support.heals import Deployment, status
from tests.support.make import endpoint
from tests.support.template import ROOT

__all__ = ["deployment"]

pytestmark = pytest.mark.long

CONFIGURATION = Path(__file__).parent / "main.tf"
PROVIDER = "registry.terraform.io/hashicorp/aws/*/*/terraform-provider-aws*"
NO_CHANGES, ERROR, CHANGES = 0, 1, 2
"""The exit statuses of a plan: https://developer.hashicorp.com/terraform/cli/commands/plan#detailed-exitcode."""
SECONDS = 240
"""The longest that one command may take."""


def terraform() -> str | None:
    """Return the path of the program, or None if it is not installed."""
    return shutil.which("terraform")


def provider() -> Path | None:
    """Return the path of the AWS provider, or None if it is not installed; nothing is ever downloaded.

    It is looked for in the folder that TERRAFORM_PLUGIN_DIR names, in the folders where Terraform looks by itself
    (https://developer.hashicorp.com/terraform/cli/config/config-file#implied-local-mirror-directories), and in /opt.
    """
    named = os.environ.get("TERRAFORM_PLUGIN_DIR")
    folders = [
        *([Path(named)] if named else []),
        Path.home() / ".terraform.d" / "plugins",
        Path.home() / ".local" / "share" / "terraform" / "plugins",
        Path("/usr/local/share/terraform/plugins"),
        Path("/usr/share/terraform/plugins"),
        *sorted(Path("/opt").glob("*")),
    ]
    return next((found for folder in folders for found in sorted(folder.glob(PROVIDER))), None)


class Workspace:
    """A folder with the configuration and the resources that Terraform created from it in a sandbox.

    As a context manager, it starts the provider once for all commands, because starting it takes most of the time of a
    command: https://developer.hashicorp.com/terraform/plugin/debugging#starting-a-provider-in-debug-mode.
    """

    def __init__(self, folder: Path, sandbox: Sandbox, credentials: Mapping[str, str] | None = None) -> None:
        """Copy the configuration without applying it. Without credentials, the account is the sandbox's own."""
        self._folder = folder
        (folder / "terraform.rc").touch()
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TF_CLI_CONFIG_FILE": str(folder / "terraform.rc"),
            "TF_IN_AUTOMATION": "1",
            "TF_LOG": "off",
            "CHECKPOINT_DISABLE": "1",
            "GOGC": "400",  # collecting garbage less often takes a quarter less processor time
            **sandbox.environment(),
            **{name.upper(): value for name, value in (credentials or {}).items()},
        }
        self.configuration = folder / CONFIGURATION.name
        shutil.copy(CONFIGURATION, self.configuration)

    def __enter__(self) -> Self:
        """Start the provider."""
        program = provider()
        assert program
        self._provider = subprocess.Popen(
            [program, "-debug"], env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._provider.stdout
        [name, _, value] = next(line for line in self._provider.stdout if "='" in line).strip().partition("=")
        self._environment[name] = value.strip("'")
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the provider."""
        self._provider.terminate()
        self._provider.communicate(timeout=SECONDS)

    def apply(self) -> dict[str, int]:
        """Apply the configuration; return how many resources were added, changed, and removed."""
        messages = self._messages(self.run("apply", "-auto-approve", "-input=false", "-json"))
        [summary] = [message["changes"] for message in messages if message["type"] == "change_summary"][-1:]
        [self.outputs] = [message["outputs"] for message in messages if message["type"] == "outputs"][-1:]
        return {name: summary[name] for name in ("add", "change", "remove")}

    def plan(self) -> dict[str, str]:
        """Return the actions that Terraform plans, by resource address; empty if it reports no changes."""
        done = self.run("plan", "-detailed-exitcode", "-input=false", "-json", statuses=(NO_CHANGES, CHANGES))
        changes = [message["change"] for message in self._messages(done) if message["type"] == "planned_change"]
        assert bool(changes) == (done.returncode == CHANGES), done.stdout
        return {change["resource"]["addr"]: change["action"] for change in changes}

    def output(self, name: str) -> dict[str, str]:
        """Return an output of the configuration."""
        found: dict[str, str] = self.outputs[name]["value"]
        return found

    def add(self, text: str) -> None:
        """Add a file to the configuration."""
        (self._folder / "added.tf").write_text(text, encoding="utf-8")

    def run(
        self, *arguments: str, folder: Path | None = None, statuses: tuple[int, ...] = (NO_CHANGES,)
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the workspace, or in another folder with the same provider; check its exit status."""
        program = terraform()
        assert program
        done = subprocess.run(
            [program, *arguments, "-no-color"],
            cwd=folder or self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert done.returncode in statuses, done.stdout + done.stderr
        return done

    @staticmethod
    def _messages(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
        """What Terraform says, a JSON object a line: https://developer.hashicorp.com/terraform/internals/machine-readable-ui."""
        return [json.loads(line) for line in done.stdout.splitlines()]


def need_terraform() -> None:
    """Skip the test if Terraform or its AWS provider is not installed."""
    if not terraform():
        pytest.skip("no terraform on PATH")
    if not provider():
        pytest.skip("no Terraform AWS provider: set TERRAFORM_PLUGIN_DIR to the folder that contains it")


@pytest.fixture(scope="module")
def workspace(running_sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Yield the applied configuration."""
    need_terraform()
    running_sandbox.reset()
    with Workspace(tmp_path_factory.mktemp("terraform"), running_sandbox) as made:
        made.apply()
        yield made


@pytest.fixture
def sandbox(workspace: Workspace, running_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """Yield the sandbox in which Terraform works, with everything that it created."""
    del workspace
    with pointed_at(running_sandbox, monkeypatch) as kept:
        yield kept


HEALED = ("inline", "separate", "main", "shared-2")
"""Subnets whose heals Terraform must not see: routes inline or separate, the main route table, a shared endpoint."""


PATCHED = ("inline", "shared-2")
"""Subnets that are then fixed by Terraform patches."""


def patch_for(workspace: Workspace, name: str) -> str:
    """Return the Terraform patch that the command prints for a subnet."""
    explanation = json.loads(invoke(["explain", workspace.output("subnets")[name], "--format", "json"]).stdout)
    return str(explanation["plan"]["patches"]["terraform"])


def reasons(workspace: Workspace, *names: str) -> list[str]:
    """Return the reasons that a scan reports for subnets."""
    rows = json.loads(invoke(["scan", "--format", "json"]).stdout)["subnets"]
    by_subnet = {row["subnetId"]: row["reason"] for row in rows}
    return [by_subnet[workspace.output("subnets")[name]] for name in names]


@contextmanager
def table_added(workspace: Workspace, ec2: Client) -> Iterator[None]:
    """Add a route table to the endpoint that lists its tables, as a heal would, and remove it at the end."""
    endpoint_id, table_id = workspace.output("endpoints")["listed"], workspace.output("route_tables")["listed-2"]
    patch = patch_for(workspace, "listed-2")
    assert f"route_table_ids in the aws_vpc_endpoint of {endpoint_id}" in patch
    assert f'add "{table_id}" to that list' in patch
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table_id])
    yield
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, RemoveRouteTableIds=[table_id])


@contextmanager
def table_listed(workspace: Workspace) -> Iterator[None]:
    """Add that route table to the list in the configuration, as the patch says, and remove it at the end."""
    before = workspace.configuration.read_text(encoding="utf-8")
    listed, table_id = '[aws_route_table.private["listed-1"].id', workspace.output("route_tables")["listed-2"]
    assert listed in before
    workspace.configuration.write_text(before.replace(listed, f'{listed}, "{table_id}"'), encoding="utf-8")
    yield
    workspace.configuration.write_text(before, encoding="utf-8")


def check_heals(workspace: Workspace, deployment: Deployment) -> None:
    """Heals cause no drift, and an apply changes nothing after the patch for the list is in the configuration."""
    subnets = workspace.output("subnets")
    runs = [deployment.heal(subnets[name]) for name in HEALED]
    assert [status(run) for run in runs] == ["Success"] * len(HEALED)
    deployment.sandbox.calls.clear()
    assert workspace.apply() == {"add": 0, "change": 0, "remove": 0}
    assert deployment.changes() == []
    assert reasons(workspace, *HEALED) == ["ENDPOINT"] * len(HEALED)
    undone = [deployment.undo(run["AutomationExecutionId"]) for run in runs]
    assert [status(run) for run in undone] == ["Success"] * len(HEALED)
    assert reasons(workspace, *HEALED) == ["NAT_GATEWAY"] * len(HEALED)


def check_patches(workspace: Workspace) -> None:
    """One patch creates an endpoint, and one associates an existing one.

    The undos before them cause no drift either, because an apply only adds what is in the patches.
    """
    patches = [patch_for(workspace, name) for name in PATCHED]
    assert ["aws_vpc_endpoint.s3express" in patch for patch in patches] == [True, False]
    workspace.add("\n".join(patches))
    assert workspace.apply() == {"add": 3, "change": 0, "remove": 0}
    assert reasons(workspace, *PATCHED) == ["ENDPOINT", "ENDPOINT"]


def test_only_an_endpoint_that_lists_its_route_tables_drifts(workspace: Workspace, deployment: Deployment) -> None:
    """Heals, undos, and patches cause no drift, but Terraform would remove a route table from a list of its own.

    So the patch says to add the table to that list. One test for all, because each command of Terraform takes seconds.
    """
    with table_added(workspace, deployment.sandbox.client("ec2")):
        with table_listed(workspace):
            check_heals(workspace, deployment)
            check_patches(workspace)
        assert workspace.plan() == {"aws_vpc_endpoint.listed": "update"}


EXAMPLE = ROOT / "org" / "terraform" / "main.tf"


def test_example_of_the_organization_passes_parameters_of_the_templates() -> None:
    """The names of parameters in the example of the roll-out exist."""
    named = set(re.findall(r"\b([A-Z]\w+)\s+=", EXAMPLE.read_text(encoding="utf-8")))
    assert {"ArtifactBucketPrefix", "CodeKey", "RemediationMode", "LedgerTableName", "ExcludeTag"} <= named
    assert named <= expand(ROOT / "template.yaml", "code.zip")["Parameters"].keys()


def test_example_of_the_organization_is_valid(workspace: Workspace, tmp_path: Path) -> None:
    """Terraform accepts the example of the roll-out with the schema of the AWS provider."""
    shutil.copy(EXAMPLE, tmp_path)
    assert json.loads(workspace.run("validate", "-json", folder=tmp_path).stdout)["diagnostics"] == []
    workspace.run("fmt", "-check", folder=tmp_path)


@pytest.mark.skipif(terraform() is None, reason="no terraform on PATH")
def test_terraform_evaluates_the_policy_of_a_patch(tmp_path: Path) -> None:
    """Quotes, backslashes, ${ and %{ in a policy reach AWS unchanged."""
    patch = create_patches(endpoint("vpce-1"), ["rtb-1"], AWKWARD)["terraform"]
    [expression] = re.findall(r"policy +=(.*)", patch)
    done = subprocess.run(
        [str(terraform()), "console"],
        input=f"base64encode({expression})\n",
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "TF_CLI_CONFIG_FILE": "/dev/null", "CHECKPOINT_DISABLE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(base64.b64decode(done.stdout.strip().strip('"'))) == json.loads(AWKWARD)
