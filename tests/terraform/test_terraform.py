"""Terraform manages networks in the sandbox: heals and patches cause no drift, with one exception."""

import json

import pytest

from sandbox.server import Sandbox
from tests.support.command import invoke
from tests.support.heals import Deployment, status
from tests.terraform.workspace import Workspace

pytestmark = pytest.mark.slow

HEALED = ("inline", "separate", "main", "shared-2")
"""Subnets whose heals Terraform must not see: routes inline or separate, the main route table, a shared endpoint."""


def patch_for(workspace: Workspace, name: str) -> str:
    """Return the Terraform patch that the command prints for a subnet."""
    explanation = json.loads(invoke(["explain", workspace.output("subnets")[name], "--format", "json"]).stdout)
    return str(explanation["plan"]["patches"]["terraform"])


def reasons(workspace: Workspace, *names: str) -> list[str]:
    """Return the reasons that a scan reports for subnets."""
    rows = json.loads(invoke(["scan", "--format", "json"]).stdout)["subnets"]
    by_subnet = {row["subnetId"]: row["reason"] for row in rows}
    return [by_subnet[workspace.output("subnets")[name]] for name in names]


@pytest.mark.usefixtures("sandbox")
def test_terraform_patches_fix_the_verdict_and_cause_no_drift(workspace: Workspace) -> None:
    """One patch creates an endpoint, one associates an existing one; after both, the plan is empty."""
    flagged = ("inline", "shared-2")
    assert reasons(workspace, *flagged) == ["NAT_GATEWAY", "NAT_GATEWAY"]
    patches = [patch_for(workspace, name) for name in flagged]
    assert ["aws_vpc_endpoint.s3express" in patch for patch in patches] == [True, False]
    with workspace.adding("\n".join(patches)):
        assert workspace.apply() == {"add": 3, "change": 0, "remove": 0}
        assert reasons(workspace, *flagged) == ["ENDPOINT", "ENDPOINT"]
        assert workspace.plan() == {}
    assert workspace.apply() == {"add": 0, "change": 0, "remove": 3}
    assert reasons(workspace, *flagged) == ["NAT_GATEWAY", "NAT_GATEWAY"]


def test_an_endpoint_that_lists_its_route_tables_drifts(workspace: Workspace, sandbox: Sandbox) -> None:
    """Terraform would remove a table that a heal adds to that list, so the patch says to add it there."""
    endpoint_id, table_id = workspace.output("endpoints")["listed"], workspace.output("route_tables")["listed-2"]
    patch = patch_for(workspace, "listed-2")
    assert f"route_table_ids in the aws_vpc_endpoint of {endpoint_id}" in patch
    assert f'add "{table_id}" to that list' in patch
    ec2 = sandbox.client("ec2")
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table_id])
    assert workspace.plan() == {"aws_vpc_endpoint.listed": "update"}
    before = workspace.configuration.read_text(encoding="utf-8")
    listed = '[aws_route_table.private["listed-1"].id'
    assert listed in before
    workspace.configuration.write_text(before.replace(listed, f'{listed}, "{table_id}"'), encoding="utf-8")
    assert workspace.plan() == {}
    workspace.configuration.write_text(before, encoding="utf-8")
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, RemoveRouteTableIds=[table_id])


def test_a_heal_and_its_undo_cause_no_drift(workspace: Workspace, deployment: Deployment) -> None:
    """After heals, the plan is empty and an apply changes nothing; after their undos, it is empty again."""
    subnets = workspace.output("subnets")
    runs = [deployment.heal(subnets[name]) for name in HEALED]
    assert [status(run) for run in runs] == ["Success"] * len(HEALED)
    assert workspace.plan() == {}
    deployment.sandbox.calls.clear()
    assert workspace.apply() == {"add": 0, "change": 0, "remove": 0}
    assert deployment.changes() == []
    assert reasons(workspace, *HEALED) == ["ENDPOINT"] * len(HEALED)
    undone = [deployment.undo(run["AutomationExecutionId"]) for run in runs]
    assert [status(run) for run in undone] == ["Success"] * len(HEALED)
    assert reasons(workspace, *HEALED) == ["NAT_GATEWAY"] * len(HEALED)
    assert workspace.plan() == {}
