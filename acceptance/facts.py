"""What runs find: facts.json, one fact for each probe and each step of the story, and what AWS answered at each step."""

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Json = Any
IDS = "tgw-attach|tgw-rtb|tgw|vpce|vpc|subnet|rtb|igw|nat|eipalloc|eipassoc|pl|eni|acl|rtbassoc|i"
"""How the IDs of resources begin."""
REMOVED = (
    (re.compile(r', \\?"stackTrace\\?": \[.*?\](?=\})', re.DOTALL), ""),  # has paths of the machine
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(rf"\b({IDS})-[0-9a-f]{{8,17}}\b"), r"\1-ID"),
    (re.compile(r"(?<=_)(vpc|rtb)_[0-9a-f]{8,17}\b"), r"\1_ID"),  # in names of Terraform
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d[:\d.]*(Z|\+00:00)?"), "TIME"),
    (re.compile(r"\b\d{12}\b"), "ACCOUNT"),
    (re.compile(r"-(?=\w*\d)([0-9A-F]{12}|[0-9A-Za-z]{12,13}$)"), "-SUFFIX"),
)
"""What tells one account, run, or time from another, and what stands for it in facts."""
COMPARE = ["diff", "--unified=9", *(f'--ignore-matching-lines="{name}":' for name in ("date", "region", "seconds"))]
"""The command that compares two files of facts. Date, Region, and seconds may differ, and a fact has nine lines."""
OUTPUT = Path(__file__).parent.parent / "build" / "acceptance"
"""Where a run writes its facts, in a folder for the sandbox and one for AWS."""
RECORDED = Path(__file__).parent / "recorded"
"""The facts of the sandbox."""


def removed(value: Json, known: Mapping[str, str]) -> Json:
    """Return a value without ids, accounts, and times. `known` is what stands for the run and its Region."""
    if isinstance(value, dict):
        return {removed(key, known): removed(one, known) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [removed(one, known) for one in value]
    if not isinstance(value, str):
        return value
    for name, shown in known.items():
        value = value.replace(name, shown)
    for pattern, shown in REMOVED:
        value = pattern.sub(shown, value)
    return value


def write(folder: Path, values: Mapping[str, Json]) -> None:
    """Write each value to a file with its name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in values.items():
        (folder / f"{name}.json").write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def read(folder: Path, name: str) -> Json:
    """Return a value that was written."""
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def are_equal(one: Path, other: Path) -> bool:
    """Print where two files differ, and return whether they are equal."""
    return subprocess.run([*COMPARE, str(one), str(other)], check=False).returncode == 0  # our own command
