"""Read the JSON document of an earlier scan. It is read strictly, so that a damaged file does not hide a finding."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

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


ReadId = Callable[[Description, str, str], str]
"""Returns an id that a field of an object must have; the third argument names the object."""


class FindingId(NamedTuple):
    """The identity of a finding, which is a NON_COMPLIANT subnet. A tuple, since a scan has many and sorts them."""

    account_id: str
    region: str
    subnet_id: str
    reason: str


def read_scan(file: Path) -> Description:
    """Return the document in a file, whose list `subnets` has an object for each subnet.

    Raise OptionError if the file cannot be read or is not the output of `scan --format json`.
    """
    document = read_json(file, _WRITTEN_BY)
    subnets = document["subnets"]
    if not isinstance(subnets, list) or not all(isinstance(row, Mapping) for row in subnets):
        raise OptionError(f"{file}: subnets must be a list of objects", _WRITTEN_BY.hint(file))
    return document


def findings_in(document: Description) -> dict[FindingId, str]:
    """Return the findings of a document, each with its VPC. Raise RecordError if a row is not valid."""
    return dict(finding_in(row) for row in document["subnets"] if _compliance(row) is Compliance.NON_COMPLIANT)


def read_findings(file: Path) -> list[FindingId]:
    """Return the findings in a file, each once. Raise OptionError if it is not the JSON output of a scan."""
    document = read_scan(file)
    with faults_in(file):
        return list(findings_in(document))


def finding_in(row: Description, an_id: ReadId = identifier) -> tuple[FindingId, str]:
    """Return the finding of a row, and its VPC, empty if the row has none. Raise RecordError."""
    subnet_id = _subnet_id(row)
    fields = (an_id(row, name, subnet_id) for name in ("accountId", "region", "subnetId", "reason"))
    return FindingId(*fields), an_id(row, "vpcId", subnet_id) if row.get("vpcId") else ""


def _subnet_id(row: Description) -> str:
    return identifier(row, "subnetId", DOCUMENT)


def _compliance(row: Description) -> Compliance:
    found = identifier(row, "compliance", _subnet_id(row))
    try:
        return Compliance(found)
    except ValueError as error:
        raise RecordError(_subnet_id(row), "compliance", found, f"one of {', '.join(Compliance)}") from error


@contextmanager
def faults_in(file: Path) -> Iterator[None]:
    """Raise each RecordError as OptionError, which names the file as well as the field."""
    try:
        yield
    except RecordError as error:
        raise OptionError(f"{file}: {error}", _WRITTEN_BY.hint(file)) from error
