"""Verdicts as comma-separated values, one row for each subnet."""

import csv
import io
import re

from express_path.domain.findings.texts import path_text
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import ResourceLabels

COLUMNS = (
    "accountId",
    "region",
    "vpcId",
    "subnetId",
    "availabilityZoneId",
    "routeTableId",
    "compliance",
    "reason",
    "annotation",
    "path",
    "subnetName",
    "routeTableName",
    "vpcName",
)
"""The columns of every scan. A column for each selected tag follows, such as tag:owner, and with a baseline, the column
baseline."""

_FORMULA = re.compile(r"(^|[\r\n])(?=[=+\-@\t\r\uff1d\uff0b\uff0d\uff20])")
"""The beginning of a line that a spreadsheet takes as a formula: also with the full-width forms of = + - @."""


def as_csv(result: Result) -> str:
    """Return a header, then a row for each subnet (RFC 4180), with the path in one cell. Unknown values are empty.

    A value that a spreadsheet would run as a formula gets an apostrophe; a name or a forged dump can contain one
    (https://owasp.org/www-community/attacks/CSV_Injection).
    """
    written = io.StringIO(newline="")
    writer = csv.writer(written)
    labels = ResourceLabels(result.views, result.tag_keys)
    baseline = ("baseline",) if result.comparison else ()
    writer.writerow((*COLUMNS, *(_cell(f"tag:{key}") for key in result.tag_keys), *baseline))
    for verdict in result.verdicts:
        tags = labels.tags(verdict)
        row = (*_row(verdict), *labels.names(verdict), *(tags.get(key, "") for key in result.tag_keys))
        writer.writerow((*map(_cell, row), *(result.mark(verdict) for _ in baseline)))
    return written.getvalue()


def _row(verdict: Verdict) -> tuple[str | None, ...]:
    """Return the values that the verdict itself contains, in the order of COLUMNS."""
    return (
        verdict.account_id,
        verdict.region,
        verdict.vpc_id,
        verdict.subnet_id,
        verdict.availability_zone_id,
        verdict.route_table_id,
        verdict.compliance,
        verdict.reason,
        verdict.annotation,
        path_text(verdict),
    )


def _cell(value: str | None) -> str | None:
    """Return a value in which no line begins like a formula."""
    return _FORMULA.sub(r"\1'", value) if value else value
