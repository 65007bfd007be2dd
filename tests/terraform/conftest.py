"""Fixtures of the tests with Terraform: one configuration, applied once in a sandbox."""

from collections.abc import Iterator

import pytest

from sandbox.pytest_plugin import pointed_at
from sandbox.server import Sandbox
from tests.runbooks.conftest import deployment
from tests.terraform.workspace import Workspace, provider, terraform

__all__ = ["deployment"]


@pytest.fixture(scope="module")
def workspace(running_sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Yield the applied configuration."""
    if not terraform():
        pytest.skip("no terraform on PATH")
    if not provider():
        pytest.skip("no Terraform AWS provider: set TERRAFORM_PLUGIN_DIR to the folder that contains it")
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
