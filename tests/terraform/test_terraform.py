"""Real Terraform manages networks in the sandbox: heals and patches cause no drift, with one exception."""

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.pytest_plugin import pointed_at
from config_rule_sandbox.server import Sandbox
from express_path.domain.heal.patches import create_patches
from tests.runbooks.conftest import deployment
from tests.support.command import invoke
from tests.support.heal_situation import AWKWARD
from tests.support.heals import Deployment, status
from tests.support.make import endpoint
from tests.support.terraform import Workspace, needs_terraform, terraform

__all__ = ["deployment"]

pytestmark = pytest.mark.long

CONFIGURATION = Path(__file__).parent / "main.tf"


@pytest.fixture(scope="module")
def workspace(running_sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Yield the applied configuration."""
    needs_terraform()
    running_sandbox.reset()
    with Workspace(tmp_path_factory.mktemp("terraform"), running_sandbox) as made:
        shutil.copy(CONFIGURATION, made.folder)
        made.apply()
        yield made


@pytest.fixture
def sandbox(workspace: Workspace, running_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """Yield the sandbox in which Terraform works, with everything that it created."""
    del workspace
    with pointed_at(running_sandbox, monkeypatch) as kept:
        yield kept


HEALED = ("inline-1", "separate", "main", "shared-2")
"""Subnets whose heals Terraform must not see: routes inline or separate, the main route table, a shared endpoint."""


PATCHED = ("inline-1", "shared-2")
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
    endpoint_id, table_id = workspace.output("listing_endpoint"), workspace.output("route_tables")["listed-2"]
    patch = patch_for(workspace, "listed-2")
    assert f"If the aws_vpc_endpoint of {endpoint_id} sets\n# route_table_ids" in patch
    assert f'add "{table_id}" to it' in patch
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table_id])
    yield
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, RemoveRouteTableIds=[table_id])


@contextmanager
def table_listed(workspace: Workspace) -> Iterator[None]:
    """Add that route table to the list in the configuration, as the patch says, and remove it at the end."""
    before = (workspace.folder / CONFIGURATION.name).read_text(encoding="utf-8")
    listed, table_id = '[aws_route_table.private["listed-1"].id', workspace.output("route_tables")["listed-2"]
    assert listed in before
    (workspace.folder / CONFIGURATION.name).write_text(
        before.replace(listed, f'{listed}, "{table_id}"'), encoding="utf-8"
    )
    yield
    (workspace.folder / CONFIGURATION.name).write_text(before, encoding="utf-8")


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
