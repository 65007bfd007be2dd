"""The pipelines in docs/pipeline.md: their commands, run by bash on dumps instead of on AWS."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import processes
from tests.support.changing_network import dump_with
from tests.support.command import invoke
from tests.support.plans import PlanBuilder, nat_route, network

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "pipeline.md"
BASELINE, OUTPUT = "express-path-baseline.json", "express-path.json"
ON_A_DUMP = '#!/usr/bin/env bash\nexec {command} "$@" --from-dump "$DUMP"\n'
"""What stands for express-path: the real command, which reads a dump instead of the role's account."""


def blocks() -> list[dict[str, Any]]:
    """Return the pipelines of the document: for the network on GitHub and GitLab, and the four for plans."""
    found = re.findall(r"^```yaml\n(.*?)^```", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [yaml.safe_load(text) for text in found]


def pipelines() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the GitHub workflow and the GitLab pipeline for the network."""
    github, gitlab, *_ = blocks()
    return github, gitlab


def plan_commands() -> dict[str, list[str]]:
    """Return the lines with express-path of each pipeline for plans."""
    github, gitlab, atlantis, codebuild = blocks()[2:]
    steps = [step for step in atlantis["workflows"]["default"]["plan"]["steps"] if isinstance(step, dict)]
    scripts = {
        "github": [step.get("run", "") for step in github["jobs"]["paths"]["steps"]],
        "gitlab": gitlab["paths"]["script"],
        "atlantis": [step["run"] for step in steps],
        "codebuild": codebuild["phases"]["build"]["commands"],
    }
    return {name: [line for line in lines if "express-path scan" in line] for name, lines in scripts.items()}


def commands(pipeline: str) -> tuple[str, str]:
    """Return the script that fails on new findings, and the one that runs after it, whether or not it failed."""
    github, gitlab = pipelines()
    if pipeline == "gitlab":
        job = gitlab["express-path"]
        return "\n".join(job["script"]), "\n".join(job["after_script"])
    steps = [step for step in github["jobs"]["scan"]["steps"] if "express-path scan" in step.get("run", "")]
    first, second = steps
    assert "if" not in first
    assert second["if"] == "${{ !cancelled() }}"
    return first["run"], second["run"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a folder with a baseline that has one finding, and with express-path on the search path of bash."""
    dump = dump_with(tmp_path / "before", {"old": "nat", "good": "endpoint"})
    folder = tmp_path / "repository"
    folder.mkdir()
    assert invoke(["scan", "--from-dump", str(dump), "--output", str(folder / BASELINE)]).exit_code == 1
    stand_in = tmp_path / "bin" / "express-path"
    stand_in.parent.mkdir()
    command = shlex.join(processes.command({"PATH": os.environ["PATH"]}))
    stand_in.write_text(ON_A_DUMP.format(command=command), encoding="utf-8")
    stand_in.chmod(0o755)
    return folder


def run(script: str, repository: Path, dump: Path) -> subprocess.CompletedProcess[str]:
    """Run a script as runners do, in the repository, and let express-path read a dump."""
    environment = {
        "PATH": f"{repository.parent / 'bin'}:{os.environ['PATH']}",
        "DUMP": str(dump),
        "GITHUB_STEP_SUMMARY": str(repository / "summary.md"),
        "SHOWFILE": "plan.json",
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=repository,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("pipeline", ["github", "gitlab"])
def test_only_new_findings_fail_the_pipeline(pipeline: str, repository: Path, tmp_path: Path) -> None:
    """The status is 0 without a new finding, 1 with one, which the next step names, and 2 with a broken dump."""
    gate, after = commands(pipeline)
    dump = dump_with(tmp_path / "now", {"old": "nat", "good": "endpoint"})
    done = run(gate, repository, dump)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "0 new, 1 unchanged, 0 fixed, 0 unknown" in done.stderr

    dump_with(dump, {"old": "nat", "good": "nat"})
    done = run(gate, repository, dump)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "1 new, 1 unchanged, 0 fixed, 0 unknown" in done.stderr
    rows = json.loads((repository / OUTPUT).read_text(encoding="utf-8"))["subnets"]
    assert {row["subnetId"]: row["baseline"] for row in rows}["subnet-good"] == "new"
    shown = run(after, repository, dump)
    assert shown.returncode == 0, shown.stderr
    summary = repository / "summary.md"
    text = summary.read_text(encoding="utf-8") if summary.exists() else shown.stdout
    assert "new: 123456789012 us-east-1 vpc-app subnet-good NAT" in text

    (dump / "subnets.json").write_text('{"Subnets": [', encoding="utf-8")
    (repository / OUTPUT).unlink()
    done = run(gate, repository, dump)
    assert (done.returncode, done.stdout) == (2, "")
    assert "subnets.json" in done.stderr
    assert not (repository / OUTPUT).exists()


def test_pipelines_keep_the_result() -> None:
    """Both pipelines keep the file that can replace the baseline, also if a finding is new, and have no secret."""
    github, gitlab = pipelines()
    upload = github["jobs"]["scan"]["steps"][-1]
    assert upload["uses"].startswith("actions/upload-artifact@")
    assert (upload["if"], upload["with"]["path"]) == ("${{ !cancelled() }}", OUTPUT)
    assert github["permissions"] == {"contents": "read", "id-token": "write"}
    assert gitlab["express-path"]["artifacts"] == {"when": "always", "paths": [OUTPUT]}
    assert "secrets." not in DOCUMENT.read_text(encoding="utf-8")


def test_the_baseline_of_the_document_can_be_made(tmp_path: Path) -> None:
    """The first command of the document writes the file that the pipelines read."""
    [first, second] = re.findall(r"^express-path (scan .*?) +#", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    dump = dump_with(tmp_path / "now", {"old": "nat"})
    for line, status in ((first, 1), (second, 0)):
        words = [str(tmp_path / word) if word == BASELINE else word for word in line.split()]
        assert invoke([*words, "--from-dump", str(dump)]).exit_code == status


@pytest.mark.parametrize("pipeline", plan_commands())
def test_plans_fail_if_they_add_a_finding(pipeline: str, repository: Path, tmp_path: Path) -> None:
    """A plan that changes nothing passes, although the network has a finding, and one with a new NAT path fails."""
    dump = dump_with(tmp_path / "now", {"old": "nat"})
    (repository / "main.tf").write_text('resource "aws_route" "nat" {\n}\n', encoding="utf-8")
    script = "\n".join(plan_commands()[pipeline])
    PlanBuilder().write(repository)
    done = run(script, repository, dump)
    assert done.returncode == 0, done.stderr
    nat_route(network()).write(repository)
    done = run(script, repository, dump)
    assert done.returncode == 1, done.stderr
    if pipeline == "github":
        assert "This plan puts 1 subnet behind a NAT." in (repository / "summary.md").read_text(encoding="utf-8")
        assert '"uri":"main.tf"' in (repository / "express-path.sarif").read_text(encoding="utf-8")
