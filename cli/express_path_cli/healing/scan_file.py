"""Read the subnets to heal from the JSON document that `express-path scan --format json` writes."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from express_path.domain.path.reasons import Compliance
from express_path_cli.problems import OptionError

_HINT = "write the file with: express-path scan --format json --output FILE"


@dataclass(frozen=True, slots=True)
class FlaggedSubnet:
    """A NON_COMPLIANT subnet of a scan."""

    account_id: str
    region: str
    subnet_id: str


def read_flagged(file: Path) -> list[FlaggedSubnet]:
    """Return the NON_COMPLIANT subnets of a scan, each once. Raise OptionError if the file is not a scan's JSON."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"--from {file}: {error.strerror or error}", _HINT) from error
    except (ValueError, RecursionError) as error:
        raise OptionError(f"--from {file}: the file is not JSON: {error}", _HINT) from error
    return list(dict.fromkeys(_flagged(file, document)))


def _flagged(file: Path, document: object) -> Iterator[FlaggedSubnet]:
    rows = document.get("subnets") if isinstance(document, Mapping) else None
    if not isinstance(rows, list):
        raise OptionError(f'--from {file}: the document has no list "subnets"', _HINT)
    for number, row in enumerate(rows):
        where = f"--from {file}: subnets[{number}]"
        if _text(row, "compliance", where) == Compliance.NON_COMPLIANT:
            yield FlaggedSubnet(*(_text(row, field, where) for field in ("accountId", "region", "subnetId")))


def _text(row: object, field: str, where: str) -> str:
    found = row.get(field) if isinstance(row, Mapping) else None
    if not isinstance(found, str) or not found:
        raise OptionError(f"{where}.{field} must be a non-empty string", _HINT)
    return found
