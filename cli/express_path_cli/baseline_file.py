"""Read a baseline: the findings in the JSON document of an earlier scan."""

from pathlib import Path

from express_path.adapters.fields import Description, identifier, optional_identifier, rows
from express_path.domain.path.reasons import Compliance
from express_path.errors import RecordError
from express_path_cli.baseline import Baseline, Cause, Finding
from express_path_cli.history import point_in
from express_path_cli.problems import OptionError
from express_path_cli.scan_document import DOCUMENT, faults_in, read_scan


def read_baseline(file: Path) -> Baseline:
    """Return the findings in the JSON output of a scan. Raise OptionError if it is not one, or if it lacks some.

    A finding that was unknown in that scan is still in the baseline, unless its subnet was no longer listed.
    """
    document = read_scan(file)
    with faults_in(file):
        flagged = [row for row in document["subnets"] if _compliance(row) is Compliance.NON_COMPLIANT]
        unknown = [row for row in rows(document, "unknown", DOCUMENT) if row.get("cause") != Cause.NOT_LISTED.name]
        point = point_in(document) if "madeAt" in document else None
        findings = dict(map(_finding, [*unknown, *flagged]))
    if point and point.flagged > len(flagged):
        raise OptionError(
            f"{file} lists {len(flagged)} of its {point.flagged} NON_COMPLIANT subnets",
            "make the baseline without --verdict, or with --verdict NON_COMPLIANT",
        )
    return Baseline(findings, point)


def _compliance(row: Description) -> Compliance:
    found = identifier(row, "compliance", _subnet(row))
    try:
        return Compliance(found)
    except ValueError as error:
        raise RecordError(_subnet(row), "compliance", found, f"one of {', '.join(Compliance)}") from error


def _finding(row: Description) -> tuple[Finding, str]:
    fields = (identifier(row, name, _subnet(row)) for name in ("accountId", "region", "subnetId", "reason"))
    return Finding(*fields), optional_identifier(row, "vpcId", _subnet(row))


def _subnet(row: Description) -> str:
    return identifier(row, "subnetId", DOCUMENT)
