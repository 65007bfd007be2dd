"""What is known of IAM's actions, and the linter of policies, both by parliament's copy of AWS's data."""

import importlib.util
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any


def actions(statement: dict[str, Any]) -> list[str]:
    """Return a statement's actions, which may be one or a list."""
    return [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]


def access_level(action: str) -> str:
    """Return the access level of an action: List, Read, Write, Tagging or Permissions management."""
    return str(_privileges()[action]["access_level"])


def condition_keys(action: str, resource_type: str) -> set[str]:
    """Return the condition keys that an action has for a type of resource, and those that it always has."""
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
    """Return what parliament finds in a policy: unknown actions, resources that do not fit, malformed statements.

    It takes every bucket for one of S3, whose ARN has no slash, so what it says of S3 Express buckets is left out.
    """
    command = [Path(sys.executable).with_name("parliament"), "--string", json.dumps(policy), "--json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == bool(run.stdout.strip()), run.stderr
    return [line for line in run.stdout.splitlines() if '"required_format": "arn:*:s3express:*:*:bucket/*"' not in line]
