"""Verdicts as comma-separated values, one row for each subnet."""

import csv
import io

from express_path_cli.result import Result
from express_path_cli.wording import path_text

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
)


def as_csv(result: Result) -> str:
    """A header, then a row for each subnet (RFC 4180); the path in one cell, what cannot be seen empty.

    A value that a spreadsheet would take for a formula, which AWS never writes but a dump may hold, gets an apostrophe
    (https://owasp.org/www-community/attacks/CSV_Injection).
    """
    written = io.StringIO(newline="")
    writer = csv.writer(written)
    writer.writerow(COLUMNS)
    writer.writerows(map(_cell, (*each[:9], path_text(each))) for each in result.verdicts)
    return written.getvalue()


def _cell(value: str | None) -> str | None:
    return f"'{value}" if value and value[0] in "=+-@\t\r" else value
