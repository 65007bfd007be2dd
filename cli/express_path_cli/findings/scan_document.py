"""Read the JSON document of an earlier scan. It is read strictly, so that a damaged file does not hide a finding."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from express_path.domain.path.reasons import Compliance
from express_path.errors import RecordError
from express_path.fields import Description, identifier
from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.files import WrittenBy, read_json

SCHEMA_VERSION = 1
"""The version of the document's schema. A new key does not change it."""
DOCUMENT = "the scan"
"""What messages call the document."""
_WRITTEN_BY = WrittenBy(
    "JSON output of a scan", "express-path scan --format json --output", SCHEMA_VERSION, ["subnets"]
)


def read_scan(file: Path) -> Description:
    """Return the document in a file, whose list `subnets` has an object for each subnet.

    Raise OptionError if the file cannot be read or is not the output of `scan --format json`.
    """
    document = read_json(file, _WRITTEN_BY)
    subnets = document["subnets"]
    if not isinstance(subnets, list) or not all(isinstance(row, Mapping) for row in subnets):
        raise OptionError(f"{file}: subnets must be a list of objects", _WRITTEN_BY.hint(file))
    return document


def flagged_rows(document: Description) -> list[Description]:
    """Return the rows of NON_COMPLIANT subnets. Raise RecordError if a row has no subnet or no valid compliance."""
    return [row for row in document["subnets"] if _compliance(row) is Compliance.NON_COMPLIANT]


def subnet_in(row: Description) -> str:
    """Return the ID of the subnet in a row. Raise RecordError if it is missing or not valid."""
    return identifier(row, "subnetId", DOCUMENT)


def _compliance(row: Description) -> Compliance:
    found = identifier(row, "compliance", subnet_in(row))
    try:
        return Compliance(found)
    except ValueError as error:
        raise RecordError(subnet_in(row), "compliance", found, f"one of {', '.join(Compliance)}") from error


@contextmanager
def faults_in(file: Path) -> Iterator[None]:
    """Raise each RecordError as OptionError, which names the file as well as the field."""
    try:
        yield
    except RecordError as error:
        raise OptionError(f"{file}: {error}", _WRITTEN_BY.hint(file)) from error
