"""Terraform manages networks in the sandbox: heals and patches cause no drift, with one exception."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox.dynamic import Client
from tests.support.command import invoke
from tests.support.heals import Deployment, status
from tests.support.template import ROOT
from tests.terraform.workspace import Workspace

pytestmark = pytest.mark.long

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


def test_example_of_the_organization_is_valid(workspace: Workspace, tmp_path: Path) -> None:
    """Terraform accepts the example of the roll-out with the schema of the AWS provider."""
    shutil.copy(ROOT / "org" / "terraform" / "main.tf", tmp_path)
    assert json.loads(workspace.run("validate", "-json", folder=tmp_path).stdout)["diagnostics"] == []
    workspace.run("fmt", "-check", folder=tmp_path)
