"""The action and the component, with the inputs of docs/pipeline.md: their scripts, run by bash on dumps instead of on AWS."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.docs.comments import TOKEN, Api, api
from tests.support import processes
from tests.support.changing_network import dump_with
from tests.support.command import NO_CREDENTIALS, invoke
from tests.support.plans import PlanBuilder, nat_route, network

__all__ = ["api"]
ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "pipeline.md"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
COMPONENT = ROOT / "templates" / "express-path.yml"
WHEELS = ROOT / "build" / "wheels"
BOTH = ["github", pytest.param("gitlab", marks=pytest.mark.long)]
BASELINE, OUTPUT = "express-path-baseline.json", "express-path.json"
ON_A_DUMP = """#!/usr/bin/env bash
case " $* " in *" --from="*" --output="*".${{BROKEN:-none}} "*)
  echo "express-path: unexpected TypeError: *x* [a](b) (a bug)" >&2
  exit 2
esac
case " $* " in *" --from="* | " comment "*) exec {command} "$@" ;; esac
echo "$*" >> "$READS"
exec {command} "$@" --from-dump "$DUMP"
"""
"""What stands for express-path: the real command, which reads a dump instead of the role's account. BROKEN: the suffix of a file
that it fails to write."""


class Done(NamedTuple):
    """What a pipeline did: its exit status, its log, and what it shows people."""

    status: int
    log: str
    shown: str


def blocks() -> list[dict[str, Any]]:
    """Return the pipelines of the document: for the network on GitHub and GitLab, and the three for plans."""
    found = re.findall(r"^```yaml\n(.*?)^```", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [yaml.safe_load(text) for text in found]


def documented() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the GitHub workflow and the GitLab pipeline for the network."""
    github, gitlab, *_ = blocks()
    return github, gitlab


def action_inputs(given: Mapping[str, str]) -> dict[str, str]:
    """Return the values in the action's expressions. An input that it does not have is a KeyError, an empty one is not."""
    assert given.keys() <= ACTION["inputs"].keys()
    defaults = {name: declared["default"] for name, declared in ACTION["inputs"].items()}
    return {f"inputs.{name}": value for name, value in (defaults | given).items()}


def component(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the jobs of the component with its inputs filled in, as GitLab does before it reads a value.

    https://docs.gitlab.com/ci/inputs/: an input without a default has to be given.
    """
    header, body = COMPONENT.read_text(encoding="utf-8").split("\n---\n")
    declared = yaml.safe_load(header)["spec"]["inputs"]
    assert given.keys() <= declared.keys()
    values = {name: given[name] if name in given else about["default"] for name, about in declared.items()}
    used = set(re.findall(r"\$\[\[ inputs\.([a-z-]+) \]\]", body))
    assert used == declared.keys()
    filled: dict[str, Any] = yaml.safe_load(
        re.sub(r"\$\[\[ inputs\.([a-z-]+) \]\]", lambda found: values[found[1]], body)
    )
    return filled


class Runner:
    """A machine that runs pipelines in a folder, with express-path where the action installs it and on the search path."""

    def __init__(self, folder: Path) -> None:
        """Make the folder of the repository, with a baseline that has one finding."""
        self.repository, self._temp, self._files = folder / "repository", folder / "runner", folder / "files"
        binaries = self._temp / "express-path" / "bin"
        for made in (self.repository, binaries, self._files):
            made.mkdir(parents=True)
        dump = dump_with(folder / "before", {"old": "nat", "good": "endpoint"})
        assert invoke(["scan", "--from-dump", str(dump), "--output", str(self.repository / BASELINE)]).exit_code == 1
        stand_in = binaries / "express-path"
        command = shlex.join(processes.command({"PATH": os.environ["PATH"]}))
        stand_in.write_text(ON_A_DUMP.format(command=command), encoding="utf-8")
        stand_in.chmod(0o755)
        self._environment = {
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "READS": str(self._files / "reads"),
            "RUNNER_TEMP": str(self._temp),
            "GITHUB_OUTPUT": str(self._files / "output"),
            "GITHUB_STEP_SUMMARY": str(self._files / "summary.md"),
            **NO_CREDENTIALS,
            "AWS_WEB_IDENTITY_TOKEN_FILE": str(self._files / "token"),
            "EXPRESS_PATH_TOKEN": "token",
        }

    def breaks(self, suffix: str) -> None:
        """Let the command fail to write the files that end with this."""
        self._environment["BROKEN"] = suffix

    def in_pull_request(self, pipeline: str, api: Api) -> None:
        """Let the jobs that follow be of a pull request whose comments are in an API."""
        self._environment |= api.job(pipeline, self._temp)

    @property
    def sarif(self) -> Path:
        """The file that the action uploads to code scanning."""
        return self._temp / "express-path" / "scan.sarif"

    def results(self) -> list[dict[str, Any]]:
        """Return the results in that file."""
        found: list[dict[str, Any]] = json.loads(self.sarif.read_text(encoding="utf-8"))["runs"][0]["results"]
        return found

    def reads(self) -> list[str]:
        """Return the arguments of each scan that read the account."""
        file = self._files / "reads"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def outputs(self) -> dict[str, str]:
        """Return the outputs of the action's steps."""
        lines = (self._files / "output").read_text(encoding="utf-8").splitlines()
        return {name: value for name, _, value in (line.partition("=") for line in lines)}

    def github(self, dump: Path, given: Mapping[str, str], upload: str = "success") -> Done:
        """Run the steps of the action that follow its installation, as a runner does: a failed step is the last one.

        upload: the outcome of the step that uploads to code scanning, which is another action.
        """
        for file in self._files.iterdir():
            file.unlink()
        known, log, status = action_inputs(given) | {"github.token": TOKEN, "steps.upload.outcome": upload}, "", 0
        steps = [step for step in ACTION["runs"]["steps"] if "run" in step and step["name"] != "Install"]
        for step in steps:
            if "if" in step and step["if"] != "${{ inputs.comment == 'true' }}":
                raise AssertionError(step["if"])
            if "if" in step and known["inputs.comment"] != "true":
                continue
            values = {name: _evaluated(text, known) for name, text in step["env"].items()}
            done = self._bash(step["run"], dump, values)
            status, log = done.returncode, log + done.stdout + done.stderr
            if status:
                break
            if "id" in step:
                known |= {f"steps.{step['id']}.outputs.{name}": value for name, value in self.outputs().items()}
        summary = self._files / "summary.md"
        return Done(status, log, summary.read_text(encoding="utf-8") if summary.exists() else "")

    def gitlab(self, dump: Path, given: Mapping[str, str]) -> Done:
        """Run the script of the component's job."""
        for file in self._files.iterdir():
            file.unlink()
        [job] = component(given).values()
        variables = {name: value for name, value in job["variables"].items() if not name.startswith("AWS_")}
        done = self._bash("\n".join(job["script"]), dump, variables)
        return Done(done.returncode, done.stdout + done.stderr, done.stdout)

    def script(self, script: str, dump: Path) -> Done:
        """Run the commands of a pipeline for plans."""
        done = self._bash(script, dump, {"SHOWFILE": "plan.json"})
        summary = self._files / "summary.md"
        shown = summary.read_text(encoding="utf-8") if summary.exists() else done.stdout
        return Done(done.returncode, done.stdout + done.stderr, shown)

    def _bash(self, script: str, dump: Path, values: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.repository,
            env={**self._environment, "DUMP": str(dump), **values},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


def _evaluated(text: str, known: Mapping[str, str]) -> str:
    """Return a value with its expressions evaluated."""
    return re.sub(r"\$\{\{ ([a-z.-]+) \}\}", lambda found: known[found[1]], text)


def inputs_of(pipeline: str, *, plan: bool = False) -> dict[str, str]:
    """Return the inputs that the document gives the action or the component."""
    github, gitlab, *_ = blocks()[2:] if plan else blocks()
    if pipeline == "gitlab":
        [included] = gitlab["include"]
        return dict(included["inputs"])
    [job] = github["jobs"].values()
    [step] = [step for step in job["steps"] if "express-path@" in step.get("uses", "")]
    return dict(step["with"])


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """Return a machine that runs pipelines."""
    return Runner(tmp_path)


@pytest.mark.parametrize("pipeline", BOTH)
def test_only_new_findings_fail_the_pipeline(pipeline: str, runner: Runner, tmp_path: Path) -> None:
    """The status is 0 without a new finding, 1 with one, which people see, and 2 with a broken dump. AWS is read once."""
    run, inputs = getattr(runner, pipeline), inputs_of(pipeline)
    dump = dump_with(tmp_path / "now", {"old": "nat", "good": "endpoint"})
    done = run(dump, inputs)
    assert done.status == 0, done.log
    assert "0 new, 1 unchanged, 0 fixed, 0 unknown" in done.log

    dump_with(dump, {"old": "nat", "good": "nat"})
    done = run(dump, inputs)
    assert done.status == 1, done.log
    assert "1 new, 1 unchanged, 0 fixed, 0 unknown" in done.log
    rows = json.loads((runner.repository / OUTPUT).read_text(encoding="utf-8"))["subnets"]
    assert {row["subnetId"]: row["baseline"] for row in rows}["subnet-good"] == "new"
    assert "subnet-good" in done.shown
    [options] = runner.reads()
    assert options.startswith("scan --baseline express-path-baseline.json --fail-on new --format=json")

    (dump / "subnets.json").write_text('{"Subnets": [', encoding="utf-8")
    (runner.repository / OUTPUT).unlink()
    done = run(dump, inputs)
    assert done.status == 2
    assert "subnets.json" in done.log
    assert not (runner.repository / OUTPUT).exists()


@pytest.mark.parametrize("pipeline", BOTH)
def test_what_could_be_read_is_shown(pipeline: str, runner: Runner, tmp_path: Path) -> None:
    """If one of two folders is bad input, the status is 2, and the findings of the other one are shown and kept."""
    dump = tmp_path / "now"
    dump_with(dump / "good", {"old": "nat"})
    (dump_with(dump / "bad", {"other": "nat"}, region="eu-west-1") / "subnets.json").write_text("[", encoding="utf-8")
    done = getattr(runner, pipeline)(dump, {**inputs_of(pipeline), "arguments": ""})
    assert done.status == 2, done.log
    assert "subnet-old" in done.shown or "rtb-old" in done.shown
    assert json.loads((runner.repository / OUTPUT).read_text(encoding="utf-8"))["notRead"]


def test_code_scanning_and_the_list_of_tests_get_the_findings(runner: Runner, tmp_path: Path) -> None:
    """The action writes the SARIF file that it uploads, and the component the JUnit file that its job reports."""
    dump = dump_with(tmp_path / "now", {"old": "nat", "good": "endpoint"})
    assert runner.github(dump, {}).status == 1
    [sarif] = json.loads(runner.sarif.read_text(encoding="utf-8"))["runs"]
    assert len(sarif["results"]) == 1
    [upload] = [step for step in ACTION["runs"]["steps"] if "upload-sarif" in step.get("uses", "")]
    assert upload["with"]["sarif_file"] == "${{ steps.scan.outputs.sarif }}"
    assert runner.outputs()["sarif"] == str(runner.sarif)

    inputs = inputs_of("gitlab")
    assert runner.gitlab(dump, {**inputs, "arguments": ""}).status == 1
    [(name, job)] = component(inputs).items()
    report = (runner.repository / job["artifacts"]["reports"]["junit"]).read_text(encoding="utf-8")
    assert "rtb-old" in report
    assert documented()[1].keys() == {"include", name}


@pytest.mark.long
@pytest.mark.skipif(not (WHEELS / ".ready").exists(), reason="`make verify` downloads what the action installs")
def test_the_action_installs_itself(tmp_path: Path) -> None:
    """The first steps make an environment of its own, with the locked versions and the command of the checkout."""
    [install] = [step for step in ACTION["runs"]["steps"] if step.get("name") == "Install"]
    environment = {"PATH": os.environ["PATH"], "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(WHEELS)}
    runner = {"PYTHON": sys.executable, "RUNNER_TEMP": str(tmp_path), "GITHUB_ACTION_PATH": str(ROOT)}
    assert install["env"] == {"PYTHON": "${{ steps.python.outputs.python-path }}"}
    subprocess.run(
        ["bash", "-eo", "pipefail", "-c", install["run"]], cwd=tmp_path, env=environment | runner, check=True
    )
    installed = [tmp_path / "express-path" / "bin" / "express-path", "scan", "--example", "--fail-on", "never"]
    shown = subprocess.run(installed, cwd=tmp_path, capture_output=True, text=True, check=True, env={}).stdout
    assert "4 subnets: 2 NON_COMPLIANT" in shown


def test_options_are_not_code(runner: Runner, tmp_path: Path) -> None:
    """The action's arguments are split at spaces and nothing else: no file names, no commands."""
    dump = dump_with(tmp_path / "now", {"old": "nat"})
    done = runner.github(dump, {"arguments": "--vpc vpc-* $(touch$IFS''made); --fail-on never"})
    assert done.status == 2
    assert runner.reads()[0].startswith("scan --vpc vpc-* $(touch$IFS''made); --fail-on never --format=json")
    assert not (runner.repository / "made").exists()


def test_every_input_is_explained() -> None:
    """The document has each input of the action and of the component, with its default."""
    github, _, gitlab = DOCUMENT.read_text(encoding="utf-8").partition("\n## GitLab\n")
    for name, declared in ACTION["inputs"].items():
        shown = f"`{declared['default']}`" if declared["default"] else "(none)"
        assert f"| `{name}` | {shown} |" in github
    inputs = yaml.safe_load(COMPONENT.read_text(encoding="utf-8").split("\n---\n")[0])["spec"]["inputs"]
    assert {"plan", "source", "comment", "arguments"} <= inputs.keys() & ACTION["inputs"].keys()
    for name, declared in inputs.items():
        assert f"`{name}`" in gitlab
        assert f"`{declared.get('default', name) or 'arguments'}`" in gitlab


def test_actions_are_pinned_to_commits() -> None:
    """Each action of action.yml, the workflows, and examples in pages is named by a commit, always the same one."""
    pinned: dict[str, set[str]] = {}
    files = [ROOT / "action.yml", *(ROOT / ".github" / "workflows").glob("*.yml"), *ROOT.glob("*.md")]
    for file in (*files, *(ROOT / "docs").rglob("*.md")):
        for used in re.findall(r"^ *-? *uses: (?!\./)(.+)", file.read_text(encoding="utf-8"), re.MULTILINE):
            action = re.fullmatch(r"(?P<name>[\w./-]+)@(?P<commit>[0-9a-f]{40} # v\d+\.\d+\.\d+)", used)
            assert action, f"{file.name}: {used}"
            pinned.setdefault(action["name"], set()).add(action["commit"])
    assert len(pinned) >= 7
    assert [name for name, commits in pinned.items() if len(commits) > 1] == []
    components = re.findall(r"component: \S+@(\S+)", DOCUMENT.read_text(encoding="utf-8"))
    assert {component for component in components if not re.fullmatch("[0-9a-f]{40}", component)} == set()


def test_what_is_installed_is_pinned_by_hashes() -> None:
    """Each package of the action, the workflows, the documented pipelines, and the image, and the image below it."""
    files = [ROOT / "action.yml", DOCUMENT, ROOT / "Dockerfile", *(ROOT / ".github" / "workflows").glob("*.yml")]
    texts = [file.read_text(encoding="utf-8") for file in files]
    commands = [line for text in texts for line in re.findall(r"(?:pip|pipx|uv).* (?:install|wheel) .+", text)]
    assert len(commands) >= 10
    own = ("--no-deps --no-build-isolation ", "--no-deps dist/", "--no-deps /tmp/express-path/")
    for command in commands:
        assert "--require-hashes " in command or any(words in command for words in own), command
    assert re.search(r"^FROM python:[\w.-]+@sha256:[0-9a-f]{64}$", texts[2], re.MULTILINE)


MAIN = """resource "aws_route_table" "private" {
}

resource "aws_route" "nat" {
}
"""


@pytest.mark.parametrize("pipeline", [*BOTH, "atlantis"])
def test_plans_fail_if_they_add_a_finding(pipeline: str, runner: Runner, tmp_path: Path) -> None:
    """A plan that changes nothing passes, although the network has a finding, and one with a new NAT path fails."""
    dump = dump_with(tmp_path / "now", {"old": "nat"})
    folder = runner.repository / ("." if pipeline == "atlantis" else "network")
    folder.mkdir(exist_ok=True)
    (folder / "main.tf").write_text(MAIN, encoding="utf-8")

    def run() -> Done:
        if pipeline != "atlantis":
            return Done(*getattr(runner, pipeline)(dump, inputs_of(pipeline, plan=True)))
        steps = blocks()[4]["workflows"]["default"]["plan"]["steps"]
        [line] = [step["run"] for step in steps if isinstance(step, dict)]
        return runner.script(line, dump)

    PlanBuilder().write(folder)
    done = run()
    assert done.status == 0, done.log
    nat_route(network()).write(folder)
    done = run()
    assert done.status == 1, done.log
    assert "This plan puts 1 subnet behind a NAT." in done.shown
    if pipeline != "atlantis":
        [options] = runner.reads()
        assert "--plan=network/plan.json" in options
        assert "--no-terraform" in options
    if pipeline == "github":
        [result] = [one for one in runner.results() if one["baselineState"] == "new"]
        place = result["locations"][0]["physicalLocation"]
        assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("network/main.tf", 4)


def test_terraform_and_a_folder_are_used_where_they_are_asked_for(runner: Runner, tmp_path: Path) -> None:
    """The action runs the providers of a pull request only if an input says so."""
    dump = dump_with(tmp_path / "now", {"good": "endpoint"})
    PlanBuilder().write(runner.repository)
    (runner.repository / "my network").mkdir()
    (runner.repository / "my network" / "main.tf").write_text(MAIN, encoding="utf-8")
    given = {"plan": "plan.json", "source": "my network"}
    for run, inputs in ((runner.github, {"terraform": "true"}), (runner.gitlab, inputs_of("gitlab"))):
        done = run(dump, {**inputs, **given})
        assert done.status == 0, done.log
        [options] = runner.reads()
        assert ("--no-terraform" in options) is (run == runner.gitlab)
        assert "--plan=plan.json" in options
        assert "--source=my network" in options


@pytest.fixture(params=BOTH)
def job(request: pytest.FixtureRequest, runner: Runner, api: Api, tmp_path: Path) -> Callable[..., Done]:
    """Return how to run the documented job for plans in a pull request, with a plan and inputs."""
    runner.in_pull_request(request.param, api)
    dump = dump_with(tmp_path / "now", {"old": "nat"})
    (runner.repository / "network").mkdir()

    def run(changed: PlanBuilder | None, **inputs: str) -> Done:
        given = {**inputs_of(request.param, plan=True), **inputs}
        file = runner.repository / given["plan"]
        changed.write(file.parent) if changed else file.write_text("{", encoding="utf-8")
        (runner.repository / OUTPUT).unlink(missing_ok=True)
        done: Done = getattr(runner, request.param)(dump, given)
        return done

    return run


def test_a_pull_request_has_one_comment(job: Callable[..., Done], runner: Runner, api: Api) -> None:
    """The first run writes it, and each later run changes that one: when the finding is new, and when it is gone.

    Comments of others stay, even if they begin with the same line, and so does that of another plan. AWS is read once.
    """
    assert job(nat_route(network())).status == 1
    [first] = api.comments
    assert "This plan puts 1 subnet behind a NAT." in first["body"]
    assert "network/plan.json: Commit c0ffee, [log](https://" in first["body"]
    assert len(runner.reads()) == 1

    foreign = {**first, "id": 1, "user": {"login": "somebody"}, "author": {"username": "somebody"}}
    before = [foreign, *({**first, "id": number, "body": f"> {first['body']}"} for number in range(2, 250))]
    api.comments[:0] = [dict(one) for one in before]
    assert job(PlanBuilder()).status == 0
    assert api.comments[:-1] == before
    assert api.comments[-1]["id"] == first["id"]
    assert "This plan puts no subnet behind a NAT." in api.comments[-1]["body"]

    assert job(None).status == 2  # nothing is green that was not judged
    assert "The scan failed.\n\n    express-path: network/plan.json: is not JSON" in api.comments[-1]["body"]
    assert "no subnet behind a NAT" not in api.comments[-1]["body"]

    assert job(PlanBuilder(), plan="plan.json").status == 0
    assert [one["id"] for one in api.comments[-2:]] == [first["id"], 1000 + len(before) + 1]


OLD = {f"old{number}": "nat" for number in range(216)}


def test_a_pull_request_is_about_the_pull_request(runner: Runner, api: Api, tmp_path: Path) -> None:
    """Old findings are one line of the comment, and neither annotations nor alerts, with a new finding and without one."""
    runner.in_pull_request("github", api)
    dump = dump_with(tmp_path / "now", OLD)
    (runner.repository / "network").mkdir()
    (runner.repository / "network" / "main.tf").write_text(MAIN, encoding="utf-8")
    for plan, findings in ((PlanBuilder(), 0), (nat_route(network()), 1)):
        plan.write(runner.repository / "network")
        done = runner.github(dump, inputs_of("github", plan=True))
        assert done.status == findings, done.log
        [comment] = api.comments
        assert len(comment["body"]) < 4000
        assert "Not listed: 216 findings that are not new" in comment["body"]
        assert "old1" not in comment["body"]
        assert len(runner.results()) == findings
        errors = [line for line in done.log.splitlines() if line.startswith("::error")]
        assert [error.partition("::NAT_GATEWAY")[0] for error in errors] == [
            "::error file=network/main.tf,line=4,title=NAT_GATEWAY"
        ] * findings
        [notice] = [line for line in done.log.splitlines() if line.startswith("::notice")]
        assert "NAT. Not listed: 216 findings that are not new" in notice


@pytest.mark.parametrize("broken", ["md", "sarif", "annotations", "upload"])
def test_what_fails_keeps_nothing_else_from_being_written(
    broken: str, runner: Runner, api: Api, tmp_path: Path
) -> None:
    """The comment has the error as text, and the exit status is still that of the scan."""
    runner.in_pull_request("github", api)
    runner.breaks(broken)
    dump = dump_with(tmp_path / "now", {"old": "nat"})
    (runner.repository / "network").mkdir()
    nat_route(network()).write(runner.repository / "network")
    upload = "failure" if broken == "upload" else "success"
    done = runner.github(dump, inputs_of("github", plan=True), upload)
    assert done.status == 1, done.log
    [comment] = api.comments
    assert ("This plan puts 1 subnet behind a NAT." in comment["body"]) == (broken != "md")
    if broken == "upload":
        assert "The upload to code scanning failed." in comment["body"]
    else:
        assert (
            f"could not write this scan as {broken}.\n\n    express-path: unexpected TypeError: *x*" in comment["body"]
        )
        assert f"::error::express-path could not write this scan as {broken}." in done.log
    assert ("sarif" in runner.outputs()) == (broken != "sarif")
    assert ("::error title=NAT_GATEWAY::" in done.log) == (broken != "annotations")


@pytest.mark.parametrize("status", [0, 1])
def test_a_token_that_may_only_read_changes_no_status(
    status: int, job: Callable[..., Done], runner: Runner, api: Api
) -> None:
    """As in the pull request of a fork: the log has a notice, and everything else is written."""
    api.is_read_only = True
    done = job(nat_route(network()) if status else PlanBuilder())
    assert (done.status, api.comments) == (status, []), done.log
    assert "failed: HTTP Error 403" in done.log
    assert "has no comment, because the token may not write one" in done.log
    assert TOKEN not in done.log
    assert (runner.repository / OUTPUT).exists()


def test_a_comment_can_be_turned_off(job: Callable[..., Done], api: Api) -> None:
    """The API is not called."""
    assert job(PlanBuilder(), comment="false").status == 0
    assert not api.calls


def test_the_action_has_little_code() -> None:
    """What decides is in the command."""
    scripts = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]
    assert sum(len(script.strip().splitlines()) for script in scripts) <= 40


def test_samples_have_what_they_call() -> None:
    """A job calls only what its steps install or its image has: the image of express-path has no Terraform."""
    github, gitlab = blocks()[2:4]
    [job] = github["jobs"].values()
    used = [re.split("[@ ]", step.get("uses") or step["run"])[0] for step in job["steps"]]
    assert used[2:] == ["hashicorp/setup-terraform", *["terraform"] * 3, "platform/express-path"]
    assert gitlab["plan"]["image"]["name"].startswith("hashicorp/terraform:")
    assert {line.split()[0] for line in gitlab["plan"]["script"]} == {"(umask", "terraform"}
    assert gitlab["express-path"].keys() == {"needs", "rules"}
    assert gitlab["plan"]["artifacts"]["paths"] == [gitlab["include"][0]["inputs"]["plan"]]
