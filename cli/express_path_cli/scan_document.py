"""Read the JSON document of an earlier scan. It is read strictly, so that a damaged file does not hide a finding."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from express_path.adapters.fields import Description
from express_path.errors import RecordError
from express_path_cli.problems import OptionError

SCHEMA_VERSION = 1
"""The version of the document's schema. A new key does not change it."""
DOCUMENT = "the scan"
"""What messages call the document."""
_TO_MAKE_ONE = "make one with: express-path scan --format json --output {}"


def read_scan(file: Path) -> Description:
    """Return the document in a file, whose list `subnets` has an object for each subnet.

    Raise OptionError if the file cannot be read or is not the output of `scan --format json`.
    """
    hint = _TO_MAKE_ONE.format(file.name)
    try:
        document = json.loads(file.read_bytes(), object_pairs_hook=_object)
    except OSError as error:
        raise OptionError(f"{file} cannot be read: {error.strerror}", hint) from error
    except _RepeatedKeyError as error:
        raise OptionError(f"{file} has the key {error} twice in one object", hint) from error
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{file} is not JSON, or is cut short ({error})", hint) from error
    if not isinstance(document, Mapping) or not {"schemaVersion", "subnets"} <= document.keys():
        raise OptionError(f"{file} is not the JSON output of a scan", hint)
    _check_version(file, document["schemaVersion"])
    subnets = document["subnets"]
    if not isinstance(subnets, list) or not all(isinstance(row, Mapping) for row in subnets):
        raise OptionError(f"{file}: subnets must be a list of objects", hint)
    return document


@contextmanager
def faults_in(file: Path) -> Iterator[None]:
    """Raise each RecordError as OptionError, which names the file as well as the field."""
    try:
        yield
    except RecordError as error:
        raise OptionError(f"{file}: {error}", _TO_MAKE_ONE.format(file.name)) from error


def _check_version(file: Path, found: object) -> None:
    if isinstance(found, bool) or found != SCHEMA_VERSION:
        raise OptionError(
            f"{file} has the schemaVersion {found!r:.40}, but this version of express-path reads {SCHEMA_VERSION}",
            "use the version of express-path that wrote it, or scan again",
        )


class _RepeatedKeyError(Exception):
    """A JSON object has the same key twice."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return one JSON object. Raise if a key is repeated, because JSON does not define which value counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKeyError(repr(next(key for key in found if keys.count(key) > 1)))
    return found
