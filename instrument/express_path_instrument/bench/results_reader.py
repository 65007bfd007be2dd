"""Read the JSON document of a measurement. It is read strictly: a damaged file must not change a comparison."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any, get_args, get_type_hints

from express_path.errors import RecordError
from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.files import WrittenBy, read_json
from express_path_instrument.bench.results import SCHEMA_VERSION, TIME, BenchResult, Kind, key_of

_DOCUMENT = "the measurement"
_WRITTEN_BY = WrittenBy(
    "output of express-path bench", "express-path bench get BUCKET --output", SCHEMA_VERSION, ["kind", "steps"]
)


def read_bench(file: Path) -> BenchResult:
    """Return the measurement in a file that `express-path bench --output` wrote. Raise OptionError for any other."""
    document = read_json(file, _WRITTEN_BY)
    # A document that does not say that it is valid is not.
    why = "" if document.get("valid") is True else document.get("invalidReason") or "no reason is given"
    try:
        result: BenchResult = _read(BenchResult, {**document, "invalidReason": why}, _DOCUMENT, "")
    except RecordError as error:
        raise OptionError(f"{file}: {error}", _WRITTEN_BY.hint(file)) from error
    if not result.steps:
        raise OptionError(f"{file} has no steps", _WRITTEN_BY.hint(file))
    return result


_CHECKS: Mapping[type, tuple[Callable[[Any], bool], str]] = {
    int: (lambda found: type(found) is int and found >= 0, "a whole number, 0 or more"),
    float: (lambda found: type(found) in (int, float) and isfinite(found) and found >= 0, "a number, 0 or more"),
    bool: (lambda found: type(found) is bool, "true or false"),
    str: (lambda found: isinstance(found, str), "a string"),
    tuple: (lambda found: isinstance(found, list), "a list"),
    dict: (lambda found: isinstance(found, dict), "an object"),
    Kind: (lambda found: found in list(Kind), f"one of {', '.join(Kind)}"),
    datetime: (lambda found: isinstance(found, str) and _is_time(found), "a time in UTC such as 2026-03-01T09:30:00Z"),
}
"""What each type of a field may be in the document, and in words."""


def _is_time(text: str) -> bool:
    try:
        datetime.strptime(text, TIME).replace(tzinfo=UTC)
    except ValueError:
        return False
    return True


def _read(wanted: Any, found: Any, where: str, key: str) -> Any:  # noqa: ANN401  # any field of a result
    """Return what a document has as a value of the type of a field. Raise RecordError unless it is one."""
    inner = get_args(wanted)
    if type(None) in inner:
        return None if found is None else _read(inner[0], found, where, key)
    origin = getattr(wanted, "__origin__", wanted)
    is_row = is_dataclass(wanted) or origin is Mapping
    is_allowed, words = _CHECKS[dict if is_row else origin]
    if not is_allowed(found):
        raise RecordError(where, key, found, words)
    if is_dataclass(wanted):
        return _row(wanted, found, where)
    if origin is tuple:
        return tuple(_read(inner[0], row, f"step {number}", key) for number, row in enumerate(found, start=1))
    if origin is Mapping:
        return {name: _read(inner[1], value, where, name) for name, value in found.items()}
    if wanted is datetime:
        return datetime.strptime(found, TIME).replace(tzinfo=UTC)
    return wanted(found)


def _row(wanted: Any, found: Mapping[str, Any], where: str) -> Any:  # noqa: ANN401  # any part of a result
    """Return a part of a result. What is missing in the document must have a default."""
    types = get_type_hints(wanted)
    has_default = {field.name: (field.default, field.default_factory) != (MISSING, MISSING) for field in fields(wanted)}
    return wanted(
        **{
            name: _read(types[name], found.get(key_of(name)), where, key_of(name))
            for name, is_optional in has_default.items()
            if not (is_optional and found.get(key_of(name)) is None)
        }
    )
