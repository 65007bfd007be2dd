"""Rows as JUnit XML, which CI systems show as tests: one suite for each VPC, one test for each subnet."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring
from xml.sax.saxutils import quoteattr

from express_path.domain.findings.texts import RULE_NAME
from express_path.domain.path.reasons import Compliance
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row
from express_path_cli.findings.summary import dropped, exclusions
from express_path_cli.terminal.errors import Failure

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot contain (https://www.w3.org/TR/xml/#charsets); a dump from elsewhere may have them."""


def as_junit(result: Result) -> Iterator[str]:
    """Yield the document, suite by suite.

    NON_COMPLIANT fails, NOT_APPLICABLE is skipped, and what could not be determined is an error.

    It has the elements and attributes that Jenkins accepts
    (https://github.com/jenkinsci/xunit-plugin/tree/master/src/main/resources/org/jenkinsci/plugins/xunit/types).
    """
    stamp = result.made_at.isoformat(timespec="seconds")
    attributes = " ".join(
        f"{name}={quoteattr(value)}" for name, value in {"name": RULE_NAME, **_totals(result)}.items()
    )
    yield f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites {attributes}>\n'
    for name, rows in groupby(sorted(result.rows, key=_in_vpc_order), key=_suite_name):
        yield _as_text(_suite(name, list(rows), stamp))
    if result.failures:
        yield _as_text(_not_determined(result.failures, stamp))
    yield "</testsuites>\n"


def _as_text(suite: Element) -> str:
    indent(suite, level=1)
    return _NOT_XML.sub("\ufffd", f"  {tostring(suite, encoding='unicode').strip()}\n")


def _totals(result: Result) -> dict[str, str]:
    errors = len(result.failures)
    flagged = sum(row.is_flagged for row in result.rows)
    return {"tests": str(len(result.rows) + errors), "failures": str(flagged), "errors": str(errors)}


def _in_vpc_order(row: Row) -> tuple[str, str, str, str]:
    return row.account_id, row.region, row.vpc_id, row.subnet_id


def _suite_name(row: Row) -> str:
    return f"{row.account_id}/{row.region}/{row.vpc_id}"


def _suite(name: str, rows: Sequence[Row], stamp: str) -> Element:
    """Return the suite of a VPC."""
    counts = {
        "tests": len(rows),
        "failures": sum(row.is_flagged for row in rows),
        "errors": 0,
        "skipped": sum(row.compliance is Compliance.NOT_APPLICABLE for row in rows),
    }
    attributes = {key: str(value) for key, value in counts.items()}
    suite = Element("testsuite", attributes, name=name, timestamp=stamp, time="0")
    _properties(suite, rows)
    suite.extend(map(_case, rows))
    return suite


def _case(row: Row) -> Element:
    """Return the test of a subnet. Its labels are in system-out, since a test has no properties in Jenkins' schema."""
    written = list(_label_lines(row))
    case = Element("testcase", name=row.subnet_id, classname=_suite_name(row), time="0")
    if row.compliance is Compliance.NON_COMPLIANT:
        failure = SubElement(case, "failure", message=row.annotation, type=row.reason)
        failure.text = str(row.remedy or "")
    elif row.compliance is Compliance.NOT_APPLICABLE:
        SubElement(case, "skipped", message=row.annotation)
    else:
        written.insert(0, row.annotation)
    if written:
        SubElement(case, "system-out").text = "\n".join(written)
    return case


def _label_lines(row: Row) -> Iterator[str]:
    """Yield the baseline's mark, the names of a subnet and its route table, and the selected tags, one in each line."""
    if row.baseline:
        yield f"baseline: {row.baseline}"
    if row.subnet_name:
        yield f"subnet name: {row.subnet_name}"
    if row.route_table_name:
        yield f"route table name: {row.route_table_name}"
    for key, value in row.tags.items():
        yield f"tag {key}: {value}"


def _properties(suite: Element, rows: Sequence[Row]) -> None:
    """Add the VPC's name, and how many skipped subnets are DROPPED or excluded, by tag or parameter."""
    excluded = {f"EXCLUDED by {cause}": number for cause, number in exclusions(rows).items()}
    counts = {"DROPPED": dropped(rows), **excluded} if dropped(rows) or excluded else {}
    vpc_name = rows[0].vpc_name
    values = ({"vpcName": vpc_name} if vpc_name else {}) | {name: str(number) for name, number in counts.items()}
    if values:
        properties = SubElement(suite, "properties")
        for name, value in values.items():
            SubElement(properties, "property", name=name, value=value)


def _not_determined(failures: Sequence[Failure], stamp: str) -> Element:
    """Return the suite of what could not be determined."""
    number = str(len(failures))
    attributes = {"tests": number, "failures": "0", "errors": number, "skipped": "0", "timestamp": stamp, "time": "0"}
    suite = Element("testsuite", attributes, name="could not be determined")
    for failure in failures:
        case = SubElement(suite, "testcase", name=failure.where, classname="could not be determined", time="0")
        SubElement(case, "error", message=str(failure.error), type=type(failure.error).__name__)
    return suite
