"""Terraform evaluates the endpoint policy of a Terraform patch."""

import base64
import json
import re
import subprocess
from pathlib import Path

import pytest

from express_path.domain.heal.patches import create_patches
from tests.support.heal_situation import AWKWARD
from tests.support.make import endpoint
from tests.terraform.workspace import terraform


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
