"""The Terraform example of the roll-out is valid, and passes parameters that the templates have."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from org.expansion import expand
from tests.support.template import ROOT
from tests.terraform.workspace import SECONDS, provider, terraform

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "org" / "terraform" / "main.tf"


def test_example_is_valid(tmp_path: Path) -> None:
    """Terraform accepts the example with the schema of the AWS provider."""
    program, plugin = terraform(), provider()
    if not program or not plugin:
        pytest.skip("no terraform, or no AWS provider for it")
    shutil.copy(EXAMPLE, tmp_path)
    (tmp_path / "terraform.rc").touch()
    settings = {"TF_CLI_CONFIG_FILE": str(tmp_path / "terraform.rc"), "CHECKPOINT_DISABLE": "1", "GOGC": "400"}
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TF_IN_AUTOMATION": "1", **settings}

    def run(*arguments: str) -> str:
        command = [program, *arguments, "-no-color"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    mirror = next(folder for folder in plugin.parents if (folder / "registry.terraform.io").is_dir())
    run("init", f"-plugin-dir={mirror}", "-input=false")
    assert json.loads(run("validate", "-json"))["diagnostics"] == []
    run("fmt", "-check")


def test_example_passes_parameters_of_the_templates() -> None:
    """The names of parameters in the example exist, and the example stays about forty lines long."""
    text = EXAMPLE.read_text(encoding="utf-8")
    named = set(re.findall(r"\b([A-Z]\w+)\s+=", text))
    parameters = expand(ROOT / "template.yaml", "code.zip")["Parameters"]
    assert {"ArtifactBucketPrefix", "CodeKey", "RemediationMode", "LedgerTableName", "ExcludeTag"} <= named
    assert named <= parameters.keys()
    assert len(text.splitlines()) < 50
