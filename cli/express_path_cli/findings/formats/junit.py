"""Rows as JUnit XML, which CI systems show as tests: one suite for each VPC, one test for each route table."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring
from xml.sax.saxutils import quoteattr

from express_path.domain.path.reasons import SEVERITY_ORDER, Compliance
from express_path.domain.verdict.parameters import RULE_NAME
from express_path_cli.findings.hubs import TITLE, Hub, hub_advice
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row
from express_path_cli.findings.summary import dropped, exclusions

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot contain (https://www.w3.org/TR/xml/#charsets); a dump from elsewhere may have them."""


def as_junit(result: Result) -> Iterator[str]:
    """Yield the document, suite by suite.

    A table with a NON_COMPLIANT subnet fails, one with only NOT_APPLICABLE ones is skipped, and what could not be
    determined is an error. If a configuration file decides, the first suite names it, and each finding that it ignores and each
    parameter that it sets is a skipped test. So is each hub that cuts other VPCs off, unless the output is about news: it fails no
    scan. Then what is not new is one skipped test, with its numbers.

    It has the elements and attributes that Jenkins accepts
    (https://github.com/jenkinsci/xunit-plugin/tree/master/src/main/resources/org/jenkinsci/plugins/xunit/types).
    """
    stamp = result.made_at.isoformat(timespec="seconds")
    named_totals = {"name": RULE_NAME, **_totals(result)}
    attributes = " ".join(f"{name}={quoteattr(value)}" for name, value in named_totals.items())
    yield f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites {attributes}>\n'
    for title in result.settings[:1]:
        decided = [(f"{row.subnet_id} {row.reason}", f"ignored: {row.ignored}") for row in result.ignored]
        decided += [(str(parameter), parameter.effect) for parameter in result.set_parameters]
        yield _as_text(_other_suite(title, "skipped", "ignored", decided, stamp))
    for name, rows in groupby(sorted(result.rows, key=_in_vpc_order), key=_suite_name):
        yield _as_text(_suite(name, list(rows), stamp))
    hubs = _listed_hubs(result)
    if hubs:
        cases = [(hub.endpoint_id, f"{hub.where}: {hub.what}. {' '.join(hub_advice([hub]))}") for hub in hubs]
        yield _as_text(_other_suite(TITLE, "skipped", "hub", cases, stamp))
    if result.not_news:
        yield _as_text(_other_suite("not new", "skipped", "notNew", [("not listed", result.not_news)], stamp))
    if result.failures:
        failures = [(failure.where, failure.message) for failure in result.failures]
        yield _as_text(_other_suite("could not be determined", "errors", "notRead", failures, stamp))
    yield "</testsuites>\n"


def _as_text(suite: Element) -> str:
    indent(suite, level=1)
    return _NOT_XML.sub("\ufffd", f"  {tostring(suite, encoding='unicode').strip()}\n")


def _listed_hubs(result: Result) -> Sequence[Hub]:
    return () if result.is_about_news else result.hubs


def _totals(result: Result) -> dict[str, str]:
    errors = len(result.failures)
    tables = {(_suite_name(row), row.route_table_id) for row in result.rows}
    flagged = {(_suite_name(row), row.route_table_id) for row in result.rows if row.is_flagged}
    return {
        "tests": str(
            len(tables)
            + errors
            + len(result.ignored)
            + len(result.set_parameters)
            + len(_listed_hubs(result))
            + bool(result.not_news)
        ),
        "failures": str(len(flagged)),
        "errors": str(errors),
    }


def _in_vpc_order(row: Row) -> tuple[str, str, str, str, bool, int, str]:
    place = (row.account_id, row.region, row.vpc_id, row.route_table_id or "")
    return (*place, not row.is_flagged, SEVERITY_ORDER[row.reason], row.subnet_id)


def _suite_name(row: Row) -> str:
    return f"{row.account_id}/{row.region}/{row.vpc_id}"


def _suite(name: str, rows: Sequence[Row], stamp: str) -> Element:
    """Return the suite of a VPC."""
    tables = [list(group) for _, group in groupby(rows, key=lambda row: row.route_table_id)]
    counts = {
        "tests": len(tables),
        "failures": sum(table[0].is_flagged for table in tables),
        "errors": 0,
        "skipped": sum(map(_is_skipped, tables)),
    }
    attributes = {key: str(value) for key, value in counts.items()}
    suite = Element("testsuite", attributes, name=name, timestamp=stamp, time="0")
    _properties(suite, rows)
    suite.extend(map(_case, tables))
    return suite


def _is_skipped(rows: Sequence[Row]) -> bool:
    return all(row.compliance is Compliance.NOT_APPLICABLE for row in rows)


def _case(rows: Sequence[Row]) -> Element:
    """Return the test of a route table; its first row is the worst.

    The subnets are in system-out, since a test has no properties in Jenkins' schema.
    """
    first = rows[0]
    name = first.route_table_id or "unknown route table"
    case = Element("testcase", name=name, classname=_suite_name(first), time="0")
    if first.is_flagged:
        failure = SubElement(case, "failure", message=first.annotation, type=first.reason)
        remedies = (str(row.remedy) for row in rows if row.is_flagged and row.remedy)
        failure.text = "\n".join(dict.fromkeys(remedies))
    elif _is_skipped(rows):
        SubElement(case, "skipped", message=first.annotation)
    lines = list(map(_line, rows))
    if first.route_table_name:
        lines.insert(0, f"route table name: {first.route_table_name}")
    SubElement(case, "system-out").text = "\n".join(lines)
    return case


def _line(row: Row) -> str:
    """Return a subnet with its name, its verdict, and the baseline's mark."""
    name = f"{row.subnet_id} {row.subnet_name}" if row.subnet_name else row.subnet_id
    line = f"{name}: {row.annotation}"
    if row.baseline:
        line += f", baseline: {row.baseline}"
    return line


def _properties(suite: Element, rows: Sequence[Row]) -> None:
    """Add the VPC's name, and how many skipped subnets are DROPPED or excluded, by tag or parameter."""
    values = {}
    if rows[0].vpc_name:
        values["vpcName"] = rows[0].vpc_name
    if dropped(rows):
        values["DROPPED"] = str(dropped(rows))
    for cause, number in exclusions(rows).items():
        values[f"EXCLUDED by {cause}"] = str(number)
    if values:
        properties = SubElement(suite, "properties")
        for name, value in values.items():
            SubElement(properties, "property", name=name, value=value)


def _other_suite(name: str, counted: str, kind: str, cases: Sequence[tuple[str, str]], stamp: str) -> Element:
    """Return a suite of what is no route table: tests by name, with a message. All of them are errors, or skipped."""
    number = str(len(cases))
    counts = {"failures": "0", "errors": "0", "skipped": "0", "tests": number, counted: number}
    suite = Element("testsuite", counts, name=name, timestamp=stamp, time="0")
    for case_name, message in cases:
        case = SubElement(suite, "testcase", name=case_name, classname=name, time="0")
        SubElement(case, counted.removesuffix("s"), message=message, type=kind)
    return suite
