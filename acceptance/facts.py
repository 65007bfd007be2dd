"""What a run found: facts.json, one fact for each probe and each step of the story, and what AWS answered at each step.

`python -m acceptance.facts A B` shows where the facts of two runs differ.
"""

import json
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from acceptance.place import Json, Place

REMOVED = (
    (re.compile(r', \\?"stackTrace\\?": \[.*?\](?=\})', re.DOTALL), ""),  # has paths of the machine
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\b(vpce|vpc|subnet|rtb|igw|nat|eipalloc|eipassoc|pl|eni|acl|rtbassoc|i)-[0-9a-z]{8,17}\b"), r"\1-ID"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d[:\d.]*(Z|\+00:00)?"), "TIME"),
    (re.compile(r"\b\d{12}\b"), "ACCOUNT"),
    (re.compile(r"-[0-9A-F]{12}\b|-[0-9A-Za-z]{12,13}$"), "-SUFFIX"),
)
"""What tells one account, run, or time from another, and what stands for it in facts."""
IGNORED = ("date", "region", "seconds")
"""Members in which the facts of two runs may differ."""
OUTPUT = Path(__file__).parent.parent / "build" / "acceptance"
"""Where a run writes its facts, in a folder for each kind of place."""
RECORDED = Path(__file__).parent / "recorded"
"""The facts of the sandbox."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that was asked, what AWS answered, and what we believe. `as_believed` is None if this is not known."""

    name: str
    service: str
    region: str
    date: str
    asked: str
    answer: Json
    believed: Json
    as_believed: bool | None
    seconds: float


@dataclass
class Facts:
    """The facts of a run, and the answers at some steps by name. Both are free of ids, accounts, and times."""

    place: Place
    found: dict[str, Fact] = field(default_factory=dict)
    steps: dict[str, Json] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        """Count the seconds of the next fact from now."""
        self.begun = time.monotonic()

    def add(
        self,
        name: str,
        service: str,
        asked: str,
        answer: Json,
        believed: Json = None,
        step: Json = None,
        *,
        only_at_aws: bool = False,
    ) -> None:
        """Add a fact, and everything that AWS answered at that step. The sandbox cannot answer what is `only_at_aws`."""
        if only_at_aws and self.place.is_sandbox:
            answer, believed, step = "the sandbox cannot answer", None, None
        date, seconds = datetime.now(UTC).date().isoformat(), round(time.monotonic() - self.begun, 1)
        where, known = (self.place.region, date, asked), {self.place.run: "RUN", self.place.region: "REGION"}
        as_believed = None if believed is None else answer == believed
        self.found[name] = Fact(name, service, *where, removed(answer, known), believed, as_believed, seconds)
        if step is not None:
            self.steps[name] = removed(step, known)
        self.begin()


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


def differences(one: list[Json], other: list[Json]) -> list[str]:
    """Return a line for each fact that differs between two runs."""
    first, second = (
        {
            fact["name"]: json.dumps({key: fact[key] for key in fact if key not in IGNORED}, sort_keys=True)
            for fact in facts
        }
        for facts in (one, other)
    )
    names = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    return [f"{name}\n  - {first.get(name)}\n  + {second.get(name)}" for name in names]


def main(first: str, second: str) -> int:
    """Print where the facts in two files differ, and return 1 if they do."""
    found = differences(*(json.loads(Path(name).read_text(encoding="utf-8")) for name in (first, second)))
    sys.stdout.write("\n".join([*found, f"{len(found)} facts differ", ""]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
