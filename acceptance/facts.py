"""What a run found: facts.json, one fact for each probe and each step of the story, and what AWS answered at each step.

`python -m acceptance.facts A B` shows where the facts of two runs differ.
"""

import json
import re
import shutil
import sys
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from acceptance.place import Json

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
    """One thing that was asked, and what AWS answered. `as_believed` is None if the place cannot show it."""

    name: str
    service: str
    region: str
    date: str
    asked: str
    answer: Json
    as_believed: bool | None
    seconds: float


@dataclass
class Facts:
    """The facts of a run, and the answers at some steps by name. Both are free of ids, accounts, and times."""

    run: str
    region: str
    is_sandbox: bool
    found: dict[str, Fact] = field(default_factory=dict)
    steps: dict[str, Json] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        """Count the seconds of the next fact from now."""
        self.begun = time.monotonic()

    def add(
        self, name: str, service: str, asked: str, answer: Json, as_believed: bool | None, step: Json = None
    ) -> None:
        """Add a fact, and everything that AWS answered at that step."""
        date, seconds = datetime.now(UTC).date().isoformat(), round(time.monotonic() - self.begun, 1)
        shown = self.removed(answer)
        self.found[name] = Fact(name, service, self.region, date, asked, shown, as_believed, seconds)
        if step is not None:
            self.steps[name] = self.removed(step)
        self.begin()

    def add_at_aws(self, name: str, service: str, asked: str, answer: Json, as_believed: bool | None) -> None:
        """Add a fact that the sandbox cannot answer."""
        if self.is_sandbox:
            answer, as_believed = "the sandbox cannot answer", None
        self.add(name, service, asked, answer, as_believed)

    def removed(self, value: Json) -> Json:
        """Return a value without ids, accounts, and times."""
        if isinstance(value, dict):
            return {self.removed(key): self.removed(one) for key, one in value.items() if key != "ResponseMetadata"}
        if isinstance(value, (list, tuple)):
            return [self.removed(one) for one in value]
        if isinstance(value, datetime):
            return "TIME"
        if not isinstance(value, str):
            return value
        value = value.replace(self.run, "RUN").replace(self.region, "REGION")
        for pattern, shown in REMOVED:
            value = pattern.sub(shown, value)
        return value

    def write(self, folder: Path) -> None:
        """Write facts.json, and one file for each step."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _write(folder / "facts.json", [asdict(fact) for fact in self.found.values()])
        for step, answer in self.steps.items():
            _write(folder / f"{step}.json", answer)


def _write(file: Path, value: Json) -> None:
    file.write_text(json.dumps(value, indent=1, sort_keys=True, default=str) + "\n", encoding="utf-8")


def differences(one: list[Json], other: list[Json]) -> list[str]:
    """Return a line for each fact that differs between two runs."""
    sides = [
        {fact["name"]: {key: fact[key] for key in fact.keys() - IGNORED} for fact in facts} for facts in (one, other)
    ]
    return [
        f"{name}\n  - {json.dumps(sides[0].get(name), sort_keys=True)}\n  + {json.dumps(sides[1].get(name), sort_keys=True)}"
        for name in sorted(sides[0].keys() | sides[1].keys())
        if sides[0].get(name) != sides[1].get(name)
    ]


def main(first: str, second: str) -> int:
    """Print where the facts in two files differ, and return 1 if they do."""
    found = differences(*(json.loads(Path(name).read_text(encoding="utf-8")) for name in (first, second)))
    sys.stdout.write("\n".join([*found, f"{len(found)} facts differ", ""]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
