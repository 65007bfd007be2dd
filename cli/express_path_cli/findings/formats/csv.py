"""Rows as comma-separated values, one row for each subnet."""

import csv
import io
import re
from collections.abc import Iterator
from itertools import chain

from express_path.domain.findings.texts import path_text
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row

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
"""The first columns of every scan."""
LAST_COLUMNS = ("remedy", "command")
"""The last columns of every scan. Before them are baseline, with one, and those of _DECIDED, if a configuration file decides."""
_DECIDED = ("ignored", "set_by")
"""Why the configuration file ignores a finding, and the parameter of that file that sets the compliance, with the reason."""

_FORMULA_BEGINNINGS = "=+-@\t\r\uff1d\uff0b\uff0d\uff20"
_FORMULA = re.compile(rf"(^|[\r\n])(?=[{re.escape(_FORMULA_BEGINNINGS)}])")
"""The beginning of a line that a spreadsheet takes as a formula: also with the full-width forms of = + - @."""


def as_csv(result: Result) -> Iterator[str]:
    """Yield a header, then a row for each subnet (RFC 4180), with the path in one cell. Unknown values are empty.

    A value that a spreadsheet would run as a formula gets an apostrophe; a name or a forged dump can contain one
    (https://owasp.org/www-community/attacks/CSV_Injection).
    """
    line = io.StringIO(newline="")
    writer = csv.writer(line)
    for cells in chain([_header(result)], (_cells(row, result) for row in result.rows)):
        writer.writerow(cells)
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def _header(result: Result) -> list[str | None]:
    header: list[str | None] = [*COLUMNS]
    if result.comparison:
        header.append("baseline")
    if result.settings:
        header += _DECIDED
    return [*header, *LAST_COLUMNS]


def _cells(row: Row, result: Result) -> list[str | None]:
    """Return the values of a row in the order of the columns."""
    cells = [
        row.account_id,
        row.region,
        row.vpc_id,
        row.subnet_id,
        row.availability_zone_id,
        row.route_table_id,
        row.compliance,
        row.reason,
        row.annotation,
        path_text(row),
        row.subnet_name,
        row.route_table_name,
        row.vpc_name,
    ]
    if result.comparison:
        cells.append(row.baseline)
    if result.settings:
        cells.append(str(row.ignored or ""))
        cells.append(f"{row.set_by}: {row.set_by.reason}" if row.set_by else "")
    if row.remedy:
        cells += [row.remedy.advice, row.remedy.command]
    else:
        cells += ["", ""]
    return list(map(_safe, cells))


def _safe(value: str | None) -> str | None:
    """Return a value in which no line begins like a formula."""
    if not value or (value.isprintable() and value[0] not in _FORMULA_BEGINNINGS):
        return value
    return _FORMULA.sub(r"\1'", value)
