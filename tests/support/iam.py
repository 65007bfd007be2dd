"""IAM's actions and a policy linter, both from parliament's copy of AWS's data."""

import importlib.util
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any


def actions(statement: dict[str, Any]) -> list[str]:
    """Return a statement's actions as a list; a statement can have one or several."""
    return [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]


def access_level(action: str) -> str:
    """Return the access level of an action: List, Read, Write, Tagging or Permissions management."""
    return str(_privileges()[action]["access_level"])


def condition_keys(action: str, resource_type: str) -> set[str]:
    """Return the condition keys of an action for a resource type, with those for any resource."""
    types = {row["resource_type"].rstrip("*"): row for row in _privileges()[action]["resource_types"]}
    return {key for name in (resource_type, "") if name in types for key in types[name]["condition_keys"]}


@cache
def _privileges() -> dict[str, dict[str, Any]]:
    spec = importlib.util.find_spec("parliament")
    assert spec is not None
    assert spec.origin is not None
    definition = json.loads(Path(spec.origin).with_name("iam_definition.json").read_bytes())
    return {
        f"{service['prefix']}:{privilege['privilege']}": privilege
        for service in definition
        for privilege in service["privileges"]
    }


def lint(policy: dict[str, Any]) -> list[str]:
    """Return parliament's findings in a policy: unknown actions, mismatched resources, malformed statements.

    Its findings about S3 Express buckets are left out, because it expects the ARN of an S3 bucket, which has no slash.
    """
    command = [Path(sys.executable).with_name("parliament"), "--string", json.dumps(policy), "--json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == bool(run.stdout.strip()), run.stderr
    return [line for line in run.stdout.splitlines() if '"required_format": "arn:*:s3express:*:*:bucket/*"' not in line]
