"""Read the subnets to heal from the JSON document that `express-path scan --format json` writes."""

from dataclasses import dataclass
from pathlib import Path

from express_path.fields import Description, identifier
from express_path_cli.findings.scan_document import faults_in, flagged_rows, read_scan, subnet_in


@dataclass(frozen=True, slots=True)
class FlaggedSubnet:
    """A NON_COMPLIANT subnet of a scan."""

    account_id: str
    region: str
    subnet_id: str


def read_flagged(file: Path) -> list[FlaggedSubnet]:
    """Return the NON_COMPLIANT subnets of a scan, each once. Raise OptionError if the file is not a scan's JSON."""
    document = read_scan(file)
    with faults_in(file):
        found = [_flagged(row) for row in flagged_rows(document)]
    return list(dict.fromkeys(found))


def _flagged(row: Description) -> FlaggedSubnet:
    subnet_id = subnet_in(row)
    return FlaggedSubnet(identifier(row, "accountId", subnet_id), identifier(row, "region", subnet_id), subnet_id)
