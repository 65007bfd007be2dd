"""The configuration file: rule parameters, and findings to ignore for a time.

Whoever can write the file decides what a scan shows. So it is read only from where the command runs, it can name no role to
assume, and everything that it hides is counted.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from express_path.domain.path.reasons import Reason
from express_path.domain.verdict.parameters import RuleParameters, parse_parameters
from express_path.errors import ParameterError
from express_path_cli.aws.options import parameter_pairs
from express_path_cli.findings.row import Ignored, Row
from express_path_cli.terminal.errors import OptionError, did_you_mean, hint_for
from express_path_cli.terminal.texts import count_text

FILE = "express-path.toml"
LONGEST = timedelta(days=180)
"""How far away the last day of an entry may be."""
_KEYS = ("parameters", "ignore", "accounts")
_ROLE = "networkRoleArn"
"""The parameter that names a role to assume."""
_RESOURCES = {"subnet": "subnet_id", "route-table": "route_table_id", "vpc": "vpc_id", "account": "account_id"}
"""The keys of an entry that say what is ignored, and the fields of a row."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Findings to ignore: of rows that have all these values. They count again after the day `ignored.expires`, in UTC."""

    values: Mapping[str, str]
    ignored: Ignored

    def matches(self, row: Row) -> bool:
        """Return whether a row is a finding that the entry describes, expired or not."""
        return row.is_flagged and all(getattr(row, name) == value for name, value in self.values.items())

    def __str__(self) -> str:
        """Return what is ignored, such as "vpc-1 NAT_GATEWAY"."""
        return " ".join(self.values.values())


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a file: parameters of the rule as texts by name, findings to ignore, and the names of accounts."""

    file: Path | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    entries: tuple[Entry, ...] = ()
    account_names: Mapping[str, str] = field(default_factory=dict)

    def rule_parameters(self, pairs: Sequence[str] | None) -> RuleParameters:
        """Return the parameters of the file with those of the command line, which win. Raise ParameterError."""
        return parse_parameters({**self.parameters, **parameter_pairs(pairs)})

    @property
    def title(self) -> list[str]:
        """Which file decides, and what it sets, in one line; empty without a file."""
        names = [f"{name}={value}" for name, value in self.parameters.items()]
        names += [f"ignore ({len(self.entries)})"] if self.entries else []
        names += [f"accounts ({len(self.account_names)})"] if self.account_names else []
        return [f"{self.file} sets {', '.join(names) or 'nothing'}"] if self.file else []

    def applied(self, rows: Sequence[Row]) -> "Applied":
        """Return the rows with what is ignored today, and what a reader should know of it."""
        today = this_day()
        valid = [entry for entry in self.entries if entry.ignored.expires >= today]
        marked = [self._marked(row, valid) for row in rows] if valid else list(rows)
        return Applied(marked, [*self._notes(marked, today)])

    def _marked(self, row: Row, valid: Sequence[Entry]) -> Row:
        entry = next((entry for entry in valid if entry.matches(row)), None)
        return replace(row, ignored=entry.ignored) if entry else row

    def _notes(self, rows: Sequence[Row], today: date) -> Iterator[str]:
        yield from self.title
        for entry in self.entries:
            found = count_text(sum(map(entry.matches, rows)), "finding")
            verb = "no longer ignores" if entry.ignored.expires < today else "ignores"
            yield f"the entry for {entry} {verb} {found} of this scan: {entry.ignored}"


class Applied(NamedTuple):
    """Rows with what is ignored, and what a reader should know of it: first, which file decides."""

    rows: list[Row]
    notes: list[str]


def this_day() -> date:
    """Return the day, in UTC."""
    return datetime.now(UTC).date()


def read_settings() -> Settings:
    """Read the settings of this folder, or of its repository's root. Raise OptionError for a fault, which it names."""
    here = Path.cwd()
    root = _root(here)
    for file in (here / FILE, root / FILE):
        if file.is_symlink() and not file.resolve().is_relative_to(root):
            raise OptionError(f"{file} is a symbolic link that leads out of {root}", "put the file itself there")
        if file.is_file():
            return _Reader(file).settings(_table(file))
    return Settings()


def _root(here: Path) -> Path:
    """Return the root of a folder's repository: the folder itself if it has none, or one of somebody else.

    Git trusts no repository of others either: anybody can make one in a folder such as /tmp
    (https://git-scm.com/docs/git-config#Documentation/git-config.txt-safedirectory).
    """
    root = next((folder for folder in (here, *here.parents) if os.path.lexists(folder / ".git")), here)
    is_others = root != here and hasattr(os, "getuid") and (root / ".git").lstat().st_uid != os.getuid()
    return here if is_others else root


def _table(file: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"{file}: {error.strerror}", "make it readable") from error
    except ValueError as error:
        raise OptionError(f"{file} is not valid TOML: {error}", "see https://toml.io") from error


@dataclass(frozen=True, slots=True)
class _Reader:
    file: Path

    def settings(self, table: Mapping[str, Any]) -> Settings:
        self._check_keys("", table, _KEYS)
        return Settings(
            self.file,
            self._parameters("parameters", table.get("parameters", {})),
            tuple(self._entry(f"ignore[{place}]", entry) for place, entry in enumerate(self._entries(table), 1)),
            {
                account_id: self._text(f"accounts.{account_id}", name)
                for account_id, name in self._table("accounts", table.get("accounts", {})).items()
            },
        )

    def _parameters(self, where: str, found: object) -> Mapping[str, str]:
        table = self._table(where, found)
        if _ROLE in table:
            hint = f"use --parameter {_ROLE}=ARN on the command line"
            raise self._fault(f"{where}.{_ROLE}", "this file may not name a role to assume", hint)
        try:
            parse_parameters(table)
        except ParameterError as error:
            hint = hint_for(error) or f"must be {error.allowed}"
            raise self._fault(f"{where}.{error.name}", f"{error.value!r} is not allowed", hint) from error
        return table

    def _entries(self, table: Mapping[str, Any]) -> Sequence[object]:
        found = table.get("ignore", [])
        if not isinstance(found, list):
            raise self._fault("ignore", "not a list", "write [[ignore]] before each entry")
        return found

    def _entry(self, where: str, found: object) -> Entry:
        table = self._table(where, found)
        self._check_keys(where, table, (*_RESOURCES, "finding", "reason", "expires"))
        values = {field: self._text(where, table[key]) for key, field in _RESOURCES.items() if key in table}
        if not all(values.values()) or not values:
            raise self._fault(where, "does not say what to ignore", f"add one of {', '.join(_RESOURCES)}")
        if "finding" in table:
            values["reason"] = self._text(f"{where}.finding", table["finding"])
            self._check(f"{where}.finding", values["reason"], tuple(Reason))
        why, expires = self._text(f"{where}.reason", table.get("reason", "")), table.get("expires")
        if not why:
            raise self._fault(f"{where}.reason", "missing", "say why the finding may be ignored")
        latest = this_day() + LONGEST
        if not isinstance(expires, date) or isinstance(expires, datetime) or expires > latest:
            fault = f"{expires} is not a date, without quotes, that is at most {LONGEST.days} days away"
            raise self._fault(f"{where}.expires", fault, f"must be {latest} or earlier")
        return Entry(values, Ignored(why, expires))

    def _check_keys(self, where: str, table: Mapping[str, Any], allowed: Sequence[str]) -> None:
        for key in table:
            self._check(f"{where}.{key}".lstrip("."), key, allowed)

    def _check(self, where: str, word: str, allowed: Sequence[str]) -> None:
        if word not in allowed:
            hint = did_you_mean(word, allowed) or f"must be one of {', '.join(allowed)}"
            raise self._fault(where, f"{word!r} is not known", hint)

    def _table(self, where: str, found: object) -> Mapping[str, Any]:
        if not isinstance(found, dict):
            raise self._fault(where, "not a table", f"write [{where}] before its keys")
        return found

    def _text(self, where: str, found: object) -> str:
        if not isinstance(found, str):
            raise self._fault(where, f"{found!r} is not a text", "put it in quotes")
        return " ".join(found.split())

    def _fault(self, where: str, fault: str, hint: str) -> OptionError:
        return OptionError(f"{self.file}: {where}: {fault}", hint)
