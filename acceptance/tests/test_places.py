"""A run is continued and deleted only where it took place, and nothing claims to have deleted it elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from acceptance.facts import OUTPUT
from acceptance.state import State

COMMAND = [sys.executable, "-m", "acceptance"]


def refused(**variables: str) -> str:
    """Start a run with these variables, and return why it ended at once."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PROFILE", "RUN")}
    ended = subprocess.run(COMMAND, env=environment | variables, capture_output=True, text=True, check=False)
    assert ended.returncode == 1, ended.stdout
    [line] = ended.stderr.splitlines()
    return line


@pytest.mark.parametrize("variables", [{"CLEAN": "1"}, {"CLEAN": "1", "RUN": "1a2b3c4d"}])
def test_a_deletion_needs_a_run_and_its_place(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a place, a new sandbox would be searched, in which there is nothing."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    assert refused(**variables).startswith("Name ")


@pytest.mark.usefixtures("local_aws")
@pytest.mark.parametrize("variables", [{}, {"CLEAN": "1"}])
def test_a_run_of_another_place_is_left_alone(variables: dict[str, str]) -> None:
    """Its file says where it began, and stays."""
    state = State(OUTPUT / "runs" / "0ther9ce.json", place="999988887777, eu-north-1")
    state.save()
    try:
        said = refused(RUN="0ther9ce", **variables)
        assert said == "Run 0ther9ce has begun in 999988887777, eu-north-1, not in 123456789012, us-east-1."
        assert state.path.exists()
    finally:
        state.remove()


def test_a_profile_that_does_not_exist_is_named(tmp_path: Path) -> None:
    """It is a sentence."""
    assert "nobody" in refused(PROFILE="nobody", AWS_CONFIG_FILE=str(tmp_path / "config"))
