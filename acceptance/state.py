"""What a run has done so far, in a file, so that it can be continued after an interruption."""

import json
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from acceptance.facts import OUTPUT, Json


@dataclass
class State:
    """The tests that have ended, what they found, and what later ones need to know. Each change is written at once."""

    path: Path
    place: str = ""
    """The account and Region, once the run has begun."""
    done: list[str] = field(default_factory=list)
    """The tests that have ended, and are not repeated."""
    failed: list[str] = field(default_factory=list)
    """Those of them that failed."""
    facts: dict[str, dict[str, Json]] = field(default_factory=dict)
    answers: dict[str, Json] = field(default_factory=dict)
    kept: dict[str, Json] = field(default_factory=dict)
    """Values by name, such as the IDs of executions that a repeated test must not start again."""
    calls: list[str] = field(default_factory=list)
    """The operations that the run has called, as "service:Operation"."""

    def keep(self, name: str, value: Json) -> None:
        """Keep a value."""
        self.kept[name] = value
        self.save()

    def call(self, name: str) -> None:
        """Add the name of a call; the next change writes it."""
        if name not in self.calls:
            self.calls.append(name)

    def save(self) -> None:
        """Write the file in one step, so that no interruption leaves half of it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        values: dict[str, Any] = {name: value for name, value in asdict(self).items() if name != "path"}
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
        new.replace(self.path)

    def remove(self) -> None:
        """Remove the file, because the run has ended."""
        self.path.unlink(missing_ok=True)


@cache
def state_of(run_id: str) -> State:
    """Return the state of a run, which is that of its file if there is one."""
    path = OUTPUT / "runs" / f"{run_id}.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return State(path, **known)
