"""The artifact that integrations/Makefile builds: the code of both folders, and only what the functions call of AWS.

The build works offline: what it installs is in uv's cache, because .venv has the same locked packages.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from botocore.loaders import Loader

import trim_artifact

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

FOLDER = Path(__file__).parents[1]
LISTED: dict[str, dict[str, list[str]]] = json.loads((FOLDER / "operations.json").read_bytes())
OPERATIONS = trim_artifact.operations_of_all(LISTED)
PYTHON_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an artifact built for the interpreter that runs this test."""
    folder = tmp_path_factory.mktemp("artifact") / "SecurityHubFunction"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["make", "-C", str(FOLDER), "build-SecurityHubFunction", f"ARTIFACTS_DIR={folder}"]
    command += [f"PYTHON_VERSION={PYTHON_VERSION}", "PLATFORM=x86_64-manylinux_2_28"]
    environment = {**os.environ, "PATH": path, "UV_OFFLINE": "1"}
    built = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert built.returncode == 0, built.stderr
    return folder


def test_only_the_services_and_operations_in_use_are_left(artifact: Path) -> None:
    """Botocore's models have exactly the operations of the integrations' own list."""
    trimmed = Loader([str(artifact / "botocore" / "data")], include_default_search_paths=False)
    assert set(trimmed.list_available_services("service-2")) == OPERATIONS.keys()
    for service, operations in OPERATIONS.items():
        assert sorted(trimmed.load_service_model(service, "service-2")["operations"]) == operations


def test_handlers_and_clients_need_only_the_artifact(artifact: Path) -> None:
    """An interpreter that has only the artifact can import each handler and create each client and operation."""
    handlers = ", ".join(f"express_path_integrations.handlers.{handler}" for handler in LISTED)
    program = f"""
import sys; sys.path.insert(0, {str(artifact)!r})
import boto3, {handlers}
from botocore import xform_name
session = boto3.Session("id", "key", region_name="eu-west-1")
for service, operations in {OPERATIONS!r}.items():
    client = session.client(service)
    for name in operations:
        getattr(client, xform_name(name))
assert all(module.__file__.startswith({str(artifact)!r}) for module in (boto3, express_path_integrations))
"""
    subprocess.run([sys.executable, "-I", "-S", "-W", "error", "-c", program], check=True)
