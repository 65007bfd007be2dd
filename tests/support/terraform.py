"""Real Terraform, with the real AWS provider, in the sandbox. Nothing is ever downloaded."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pytest

from config_rule_sandbox.server import Sandbox

PROVIDER = "registry.terraform.io/hashicorp/aws/*/*/terraform-provider-aws*"
NO_CHANGES, ERROR, CHANGES = 0, 1, 2
"""The exit statuses of a plan: https://developer.hashicorp.com/terraform/cli/commands/plan#detailed-exitcode."""
SECONDS = 240
"""The longest that one command may take."""


def terraform() -> str | None:
    """Return the path of the program, or None if it is not installed."""
    return shutil.which("terraform")


def provider() -> Path | None:
    """Return the path of the AWS provider, or None if it is not installed; nothing is ever downloaded.

    It is looked for in the folder that TERRAFORM_PLUGIN_DIR names, in the folders where Terraform looks by itself
    (https://developer.hashicorp.com/terraform/cli/config/config-file#implied-local-mirror-directories), and in /opt.
    """
    named = os.environ.get("TERRAFORM_PLUGIN_DIR")
    folders = [
        *([Path(named)] if named else []),
        Path.home() / ".terraform.d" / "plugins",
        Path.home() / ".local" / "share" / "terraform" / "plugins",
        Path("/usr/local/share/terraform/plugins"),
        Path("/usr/share/terraform/plugins"),
        *sorted(Path("/opt").glob("*")),
    ]
    return next((found for folder in folders for found in sorted(folder.glob(PROVIDER))), None)


def needs_terraform() -> None:
    """Skip the test if the program or the provider is missing."""
    if not terraform():
        pytest.skip("no terraform on PATH")
    if not provider():
        pytest.skip("no Terraform AWS provider: set TERRAFORM_PLUGIN_DIR to the folder that contains it")


class Workspace:
    """A folder with a configuration and the resources that Terraform created from it in a sandbox.

    As a context manager, it starts the provider once for all commands, because starting it takes most of the time of a
    command: https://developer.hashicorp.com/terraform/plugin/debugging#starting-a-provider-in-debug-mode.
    """

    def __init__(self, folder: Path, sandbox: Sandbox, credentials: Mapping[str, str] | None = None) -> None:
        """Start with an empty configuration. Without credentials, the account is the sandbox's own."""
        self.folder = folder
        (folder / "terraform.rc").touch()
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TF_CLI_CONFIG_FILE": str(folder / "terraform.rc"),
            "TF_IN_AUTOMATION": "1",
            "TF_LOG": "off",
            "CHECKPOINT_DISABLE": "1",
            "GOGC": "400",  # collecting garbage less often takes a quarter less processor time
            **sandbox.environment(),
            **{name.upper(): value for name, value in (credentials or {}).items()},
        }

    def __enter__(self) -> Self:
        """Start the provider."""
        program = provider()
        assert program
        self._provider = subprocess.Popen(
            [program, "-debug"], env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._provider.stdout
        [name, _, value] = next(line for line in self._provider.stdout if "='" in line).strip().partition("=")
        self._environment[name] = value.strip("'")
        return self

    @property
    def started(self) -> dict[str, str]:
        """The variables with which another Terraform uses the provider that runs already."""
        return {name: value for name, value in self._environment.items() if name == "TF_REATTACH_PROVIDERS"}

    def __exit__(self, *_: object) -> None:
        """Stop the provider."""
        self._provider.terminate()
        self._provider.communicate(timeout=SECONDS)

    def apply(self) -> dict[str, int]:
        """Apply the configuration; return how many resources were added, changed, and removed."""
        messages = self._messages(self.run("apply", "-auto-approve", "-input=false", "-json"))
        [summary] = [message["changes"] for message in messages if message["type"] == "change_summary"][-1:]
        [self.outputs] = [message["outputs"] for message in messages if message["type"] == "outputs"][-1:]
        return {name: summary[name] for name in ("add", "change", "remove")}

    def plan(self) -> dict[str, str]:
        """Return the actions that Terraform plans, by resource address; empty if it reports no changes."""
        done = self.run("plan", "-detailed-exitcode", "-input=false", "-json", statuses=(NO_CHANGES, CHANGES))
        changes = [message["change"] for message in self._messages(done) if message["type"] == "planned_change"]
        assert bool(changes) == (done.returncode == CHANGES), done.stdout
        return {change["resource"]["addr"]: change["action"] for change in changes}

    def init(self) -> None:
        """Install the modules of the configuration."""
        self.run("init", "-backend=false", "-input=false")

    def plan_file(self, name: str = "plan") -> Path:
        """Plan, and return the file with the plan as JSON."""
        self.run("plan", "-input=false", f"-out={name}.out")
        shown = self.folder / f"{name}.json"
        shown.write_text(self.run("show", "-json", f"{name}.out").stdout, encoding="utf-8")
        return shown

    def apply_plan(self, name: str = "plan") -> None:
        """Apply a plan that `plan_file` made."""
        self.run("apply", "-input=false", f"{name}.out")

    def state(self) -> dict[str, dict[str, Any]]:
        """Return the values of each resource of the state by its address."""
        found: dict[str, dict[str, Any]] = {}

        def add(module: dict[str, Any]) -> None:
            found.update(
                {row["address"]: row["values"] for row in module.get("resources", ()) if row["mode"] == "managed"}
            )
            for child in module.get("child_modules", ()):
                add(child)

        add(json.loads(self.run("show", "-json").stdout).get("values", {}).get("root_module", {}))
        return found

    def output(self, name: str) -> Any:
        """Return the value of an output of the configuration."""
        return self.outputs[name]["value"]

    def add(self, text: str) -> None:
        """Add a file to the configuration."""
        (self.folder / "added.tf").write_text(text, encoding="utf-8")

    def run(
        self, *arguments: str, folder: Path | None = None, statuses: tuple[int, ...] = (NO_CHANGES,)
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the workspace, or in another folder with the same provider; check its exit status."""
        program = terraform()
        assert program
        done = subprocess.run(
            [program, *arguments, "-no-color"],
            cwd=folder or self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert done.returncode in statuses, done.stdout + done.stderr
        return done

    @staticmethod
    def _messages(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
        """What Terraform says, a JSON object a line: https://developer.hashicorp.com/terraform/internals/machine-readable-ui."""
        return [json.loads(line) for line in done.stdout.splitlines()]
