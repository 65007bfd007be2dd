"""Read a baseline: the findings in the JSON document of an earlier scan."""

from pathlib import Path

from express_path.fields import Description, identifier, optional_identifier, rows
from express_path_cli.findings.baseline import Baseline, Cause, FindingId
from express_path_cli.findings.history import point_in
from express_path_cli.findings.scan_document import DOCUMENT, faults_in, flagged_rows, read_scan, subnet_in
from express_path_cli.terminal.errors import OptionError


def read_baseline(file: Path) -> Baseline:
    """Return the findings in the JSON output of a scan. Raise OptionError if it is not one, or if it lacks some.

    A finding that was unknown in that scan is still in the baseline, unless its subnet was no longer listed.
    """
    document = read_scan(file)
    with faults_in(file):
        flagged = flagged_rows(document)
        unknown = [row for row in rows(document, "unknown", DOCUMENT) if row.get("cause") != Cause.NOT_LISTED.name]
        point = point_in(document) if "madeAt" in document else None
        findings = dict(map(_finding, [*unknown, *flagged]))
    if point and point.flagged > len(flagged):
        raise OptionError(
            f"{file} lists {len(flagged)} of its {point.flagged} NON_COMPLIANT subnets",
            "make the baseline without --verdict, or with --verdict NON_COMPLIANT",
        )
    return Baseline(findings, point)


def _finding(row: Description) -> tuple[FindingId, str]:
    fields = (identifier(row, name, subnet_in(row)) for name in ("accountId", "region", "subnetId", "reason"))
    return FindingId(*fields), optional_identifier(row, "vpcId", subnet_in(row))
