"""The configuration file: rule parameters to set, and findings to ignore, for a time.

Whoever can write the file decides what a scan shows. So it is read only from where the command runs, it can name no role to
assume, and everything that it hides has a reason and a last day, and is counted.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated, NamedTuple
from unicodedata import category

from msgspec import Meta, Struct, ValidationError, toml

from express_path.domain.path.reasons import Reason
from express_path.domain.verdict.parameters import PARAMETERS, RuleParameters, parse_parameters
from express_path.errors import ParameterError
from express_path_cli.aws.options import parameter_pairs
from express_path_cli.findings.row import Ignored, Row, SetParameter
from express_path_cli.terminal.errors import OptionError, did_you_mean, hint_for
from express_path_cli.terminal.texts import count_text

FILE = "express-path.toml"
LONGEST = timedelta(days=180)
"""How far away the last day of an entry may be."""
_ROLE = "networkRoleArn"
"""The parameter that names a role to assume."""
_ROLE_HINT = f"use --parameter {_ROLE}=ARN on the command line"
_FORM = "set it in an entry [[parameter]] with name, value, reason, and expires"
_Text = Annotated[str, Meta(min_length=1)]
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that show nothing (https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point)."""


@dataclass(frozen=True, slots=True)
class IgnoreEntry:
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
    """The settings of a file: parameters of the rule, findings to ignore, and the names of accounts.

    given: the parameters of the command line, by name. They are the user's own, and win.
    """

    file: Path | None = None
    parameters: tuple[SetParameter, ...] = ()
    entries: tuple[IgnoreEntry, ...] = ()
    account_names: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def in_force(self) -> list[SetParameter]:
        """The parameters that the file sets today."""
        today = this_day()
        return [entry for entry in self.parameters if entry.expires >= today and entry.name not in self.given]

    def rule_parameters(self, file_parameters: Iterable[SetParameter]) -> RuleParameters:
        """Return these parameters of the file with those of the command line. Raise ParameterError."""
        return parse_parameters({**{entry.name: entry.value for entry in file_parameters}, **self.given})

    @property
    def file_notes(self) -> list[str]:
        """Which file decides, and what it sets, in one line; empty without a file."""
        names = [str(entry) for entry in self.in_force]
        names += [f"ignore ({len(self.entries)})"] if self.entries else []
        names += [f"accounts ({len(self.account_names)})"] if self.account_names else []
        return [f"{self.file} sets {', '.join(names) or 'nothing'}"] if self.file else []

    def not_in_force(self) -> Iterator[str]:
        """Yield why parameters of the file are not used, in sentences."""
        for entry in self.parameters:
            if entry.name in self.given:
                yield f"{entry} is not used, because --parameter sets {entry.name}={self.given[entry.name]}"
            elif entry.expires < this_day():
                yield f"{entry} is no longer set: {entry.reason}"

    def applied(self, rows: Sequence[Row], parameters: Iterable[SetParameter]) -> "Applied":
        """Return the rows with what is ignored today, and what a reader should know of it.

        parameters: those that a configuration file set in the scan, with what they changed.
        """
        today = this_day()
        valid = [entry for entry in self.entries if entry.ignored.expires >= today]
        marked = [self._marked(row, valid) for row in rows] if valid else list(rows)
        effects = [f"{parameter} {parameter.effect}" for parameter in parameters]
        return Applied(marked, [*self.file_notes, *effects, *self.not_in_force(), *self._notes(marked, today)])

    def _marked(self, row: Row, valid: Sequence[IgnoreEntry]) -> Row:
        entry = next((entry for entry in valid if entry.matches(row)), None)
        return replace(row, ignored=entry.ignored) if entry else row

    def _notes(self, rows: Sequence[Row], today: date) -> Iterator[str]:
        for entry in self.entries:
            findings = count_text(sum(map(entry.matches, rows)), "finding")
            verb = "no longer ignores" if entry.ignored.expires < today else "ignores"
            yield f"the entry for {entry} {verb} {findings} of this scan: {entry.ignored}"


class Applied(NamedTuple):
    """Rows with what is ignored, and what a reader should know of it: first, which file decides."""

    rows: list[Row]
    notes: list[str]


def this_day() -> date:
    """Return the day, in UTC."""
    return datetime.now(UTC).date()


def read_settings(pairs: Sequence[str] | None) -> Settings:
    """Read the settings of this folder, or of its repository's root. pairs: the parameters of the command line.

    Raise OptionError for a fault of the file, which it names, and ParameterError for one of the command line.
    """
    given = parameter_pairs(pairs)
    parse_parameters(given)
    here = Path.cwd()
    root = _root(here)
    for file in (here / FILE, root / FILE):
        if file.is_symlink() and not file.resolve().is_relative_to(root):
            raise OptionError(f"{file} is a symbolic link that leads out of {root}", "put the file itself there")
        if file.is_file():
            return replace(_settings(file), given=given)
    return Settings(given=given)


def _root(here: Path) -> Path:
    """Return the root of a folder's repository: the folder itself if it has none, or one of somebody else.

    Git trusts no repository of others either: anybody can make one in a folder such as /tmp
    (https://git-scm.com/docs/git-config#Documentation/git-config.txt-safedirectory).
    """
    root = next((folder for folder in (here, *here.parents) if os.path.lexists(folder / ".git")), here)
    is_others = root != here and hasattr(os, "getuid") and (root / ".git").lstat().st_uid != os.getuid()
    return here if is_others else root


class _Entry(Struct, forbid_unknown_fields=True, rename="kebab"):
    """An entry of the list `ignore`, as the file has it."""

    reason: _Text
    expires: date
    subnet: _Text = ""
    route_table: _Text = ""
    vpc: _Text = ""
    account: _Text = ""
    finding: Reason | None = None


class _Parameter(Struct, forbid_unknown_fields=True):
    """An entry of the list `parameter`, as the file has it."""

    name: _Text
    value: str
    reason: _Text
    expires: date


class _File(Struct, forbid_unknown_fields=True):
    """The file."""

    parameter: list[_Parameter] = []
    ignore: list[_Entry] = []
    accounts: dict[str, str] = {}


def _settings(file: Path) -> Settings:
    """Return what a file says. Raise OptionError for a fault, which it names."""
    try:
        contents = toml.decode(file.read_bytes(), type=_File)
    except OSError as error:
        raise OptionError(f"{file}: {error.strerror}", "make it readable") from error
    except ValidationError as error:
        raise OptionError(f"{file}: {error}".replace("$.", ""), _hint(str(error))) from error
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{file} is not valid TOML: {error}", "see https://toml.io") from error
    parameters: dict[str, SetParameter] = {}
    for place, entry in enumerate(contents.parameter):
        where = f"{file}: parameter[{place}]"
        if entry.name in parameters:
            raise OptionError(f"{where}.name: {entry.name} is set twice", "leave one of the entries out")
        parameters[entry.name] = _parameter(where, entry)
    entries = tuple(_entry(f"{file}: ignore[{place}]", entry) for place, entry in enumerate(contents.ignore))
    names = {key: _in_line(name) for key, name in contents.accounts.items()}
    return Settings(file, tuple(parameters.values()), entries, names)


def _hint(fault: str) -> str:
    """Return what to do about a fault of the file's form."""
    word = next(iter(re.findall("[`'](.*?)[`']", fault)), "")
    if word == _ROLE:
        return _ROLE_HINT
    if word in ("parameters", *PARAMETERS) or fault.endswith("`$.parameter`"):
        return _FORM
    structs = (_File, _Parameter, _Entry)
    names = [*dict.fromkeys(name for struct in structs for name in struct.__struct_encode_fields__), *Reason]
    return did_you_mean(word, names) or f"the names are {', '.join(names)}"


def _check_visible(where: str, found: _Parameter | _Entry) -> None:
    """Raise OptionError if a text that is given has no visible character."""
    for name, field_name in zip(found.__struct_encode_fields__, found.__struct_fields__, strict=True):
        text = getattr(found, field_name)
        if isinstance(text, str) and text and not any(map(_is_visible, text)):
            raise OptionError(f"{where}.{name}: has no visible character", "write letters, digits, or signs")


def _is_visible(character: str) -> bool:
    """Return whether a character is a letter, number, punctuation, or symbol that shows something."""
    return category(character)[0] in "LNPS" and character not in _BLANK


def _parameter(where: str, found: _Parameter) -> SetParameter:
    _check_visible(where, found)
    if found.name == _ROLE:
        raise OptionError(f"{where}.name: this file may not name a role to assume", _ROLE_HINT)
    try:
        parse_parameters({found.name: found.value})
    except ParameterError as error:
        hint = hint_for(error) or f"must be {error.allowed}"
        fault = f"{where}: {found.name}={found.value!r} is not allowed"
        raise OptionError(fault, hint) from error
    _check_day(where, found.expires)
    return SetParameter(found.name, _in_line(found.value), _in_line(found.reason), found.expires)


def _check_day(where: str, expires: date) -> None:
    """Raise OptionError if the last day of an entry is too far away."""
    latest = this_day() + LONGEST
    if expires > latest:
        raise OptionError(
            f"{where}.expires: {expires} is more than {LONGEST.days} days away", f"must be {latest} or earlier"
        )


def _entry(where: str, found: _Entry) -> IgnoreEntry:
    _check_visible(where, found)
    given = {
        "subnet_id": found.subnet,
        "route_table_id": found.route_table,
        "vpc_id": found.vpc,
        "account_id": found.account,
        "reason": found.finding,
    }
    values = {name: _in_line(value) for name, value in given.items() if value}
    if not values.keys() - {"reason"}:
        raise OptionError(f"{where}: does not say what to ignore", "add one of subnet, route-table, vpc, account")
    _check_day(where, found.expires)
    return IgnoreEntry(values, Ignored(_in_line(found.reason), found.expires))


def _in_line(text: str) -> str:
    return " ".join(text.split())
