"""The configuration file: rule parameters, and findings to ignore for a time."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from express_path.domain.path.reasons import Reason
from express_path.domain.verdict.parameters import PARAMETERS, RuleParameters, parse_parameters
from express_path.errors import ParameterError
from express_path_cli.aws.options import parameter_pairs
from express_path_cli.findings.row import Ignored, Row, combined
from express_path_cli.terminal.errors import OptionError, did_you_mean
from express_path_cli.terminal.texts import count_text

FILE = "express-path.toml"
_KEYS = ("parameters", "ignore")
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
    """The settings of a file: parameters of the rule as texts by name, and findings to ignore; no file without one."""

    file: Path | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    entries: tuple[Entry, ...] = ()

    def rule_parameters(self, pairs: Sequence[str] | None) -> RuleParameters:
        """Return the parameters of the file with those of the command line, which win. Raise ParameterError."""
        return parse_parameters({**self.parameters, **parameter_pairs(pairs)})

    def applied(self, rows: Sequence[Row], today: date) -> "Applied":
        """Return the rows with what is ignored today, and what a reader should know of it."""
        valid = [entry for entry in self.entries if entry.ignored.expires >= today]
        marked = [self._marked(row, valid) for row in rows] if valid else list(rows)
        return Applied(marked, [*self._notes(marked, today)])

    def _marked(self, row: Row, valid: Sequence[Entry]) -> Row:
        entry = next((entry for entry in valid if entry.matches(row)), None)
        return replace(row, ignored=entry.ignored) if entry else row

    def _notes(self, rows: Sequence[Row], today: date) -> Iterator[str]:
        if self.file:
            yield f"the settings in {self.file} are used"
        ignored = sum(row.ignored is not None for row in rows)
        if ignored:
            yield f"{count_text(ignored, 'finding')} ignored by {self.file}: --format json lists them"
        for entry in self.entries:
            found = sum(map(entry.matches, rows))
            if entry.ignored.expires < today:
                again = (
                    f", so {count_text(found, 'finding')} {'counts' if found == 1 else 'count'} again" if found else ""
                )
                yield f"the entry for {entry} expired on {entry.ignored.expires}{again} ({entry.ignored.why})"
            elif not found:
                yield f"the entry for {entry} describes no finding of this scan"


class Applied(NamedTuple):
    """Rows with what is ignored, and what a reader should know of it."""

    rows: list[Row]
    notes: list[str]

    @property
    def counting(self) -> list[Row]:
        """The rows without the findings that are ignored; a change that several tables share is only for those left."""
        counting = [row for row in self.rows if not row.ignored]
        return counting if len(counting) == len(self.rows) else combined(counting)


def this_day() -> date:
    """Return the day, in UTC."""
    return datetime.now(UTC).date()


def read_settings() -> Settings:
    """Read the settings of this folder, or of its repository's root. Raise OptionError for a fault, which it names."""
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    file = next((folder / FILE for folder in (here, root) if (folder / FILE).is_file()), None)
    return _Reader(file).settings(_table(file)) if file else Settings()


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
        )

    def _parameters(self, where: str, found: object) -> Mapping[str, str]:
        table = self._table(where, found)
        self._check_keys(where, table, tuple(PARAMETERS))
        values = {name: self._text(f"{where}.{name}", value) for name, value in table.items()}
        try:
            parse_parameters(values)
        except ParameterError as error:
            raise self._fault(
                f"{where}.{error.name}", f"{error.value!r} is not allowed", f"must be {error.allowed}"
            ) from error
        return values

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
            if values["reason"] not in Reason.__members__:
                hint = did_you_mean(values["reason"], Reason) or f"must be one of {', '.join(Reason)}"
                raise self._fault(f"{where}.finding", f"{values['reason']!r} is not a reason", hint)
        why, expires = self._text(f"{where}.reason", table.get("reason", "")), table.get("expires")
        if not why:
            raise self._fault(f"{where}.reason", "missing", "say why the finding may be ignored")
        if not isinstance(expires, date) or isinstance(expires, datetime):
            raise self._fault(f"{where}.expires", "not a date", "such as expires = 2026-03-31, without quotes")
        return Entry(values, Ignored(why, expires))

    def _check_keys(self, where: str, table: Mapping[str, Any], allowed: Sequence[str]) -> None:
        for key in table:
            if key not in allowed:
                hint = did_you_mean(key, allowed) or f"must be one of {', '.join(allowed)}"
                raise self._fault(f"{where}.{key}".lstrip("."), "unknown key", hint)

    def _table(self, where: str, found: object) -> Mapping[str, Any]:
        if not isinstance(found, dict):
            raise self._fault(where, "not a table", f"write [{where}] before its keys")
        return found

    def _text(self, where: str, found: object) -> str:
        if not isinstance(found, str):
            raise self._fault(where, f"{found!r} is not a text", "put it in quotes")
        return found

    def _fault(self, where: str, fault: str, hint: str) -> OptionError:
        return OptionError(f"{self.file}: {where}: {fault}", hint)
