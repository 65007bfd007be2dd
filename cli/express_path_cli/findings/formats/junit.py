"""Verdicts as JUnit XML, which CI systems show as tests: one suite for each VPC, one test for each subnet."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring
from xml.sax.saxutils import escape

from express_path.domain.findings.texts import RULE_NAME
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.formats.findings import Finding
from express_path_cli.findings.formats.row_templates import RowTemplates
from express_path_cli.findings.result import Result, is_flagged
from express_path_cli.findings.row import ResourceLabels
from express_path_cli.findings.summary import dropped, exclusions
from express_path_cli.terminal.errors import Failure

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot contain (https://www.w3.org/TR/xml/#charsets); a dump from elsewhere may have them."""
_EMPTY_SUITE, _EMPTY_CASE = "<testsuite />", "<testcase />"
_ESCAPES = {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
"""What a text becomes that can be in an attribute, in addition to &, < and > (https://www.w3.org/TR/xml/#AVNormalize)."""


def as_junit(result: Result) -> Iterator[str]:
    """Yield the document, suite by suite.

    NON_COMPLIANT fails, NOT_APPLICABLE is skipped, and what could not be determined is an error.

    It has the elements and attributes that Jenkins accepts
    (https://github.com/jenkinsci/xunit-plugin/tree/master/src/main/resources/org/jenkinsci/plugins/xunit/types).
    """
    root = Element("testsuites", {"name": RULE_NAME, **_totals(result)})
    if result.verdicts or result.failures:
        SubElement(root, "testsuite")  # where the suites go
    before, *after = _as_text(root, level=0, xml_declaration=True).split(_EMPTY_SUITE)
    yield before
    for number, suite in enumerate(_suites(result)):
        yield ("\n  " if number else "") + suite
    yield from (*after, "\n")


def _as_text(element: Element, level: int, *, xml_declaration: bool = False) -> str:
    indent(element, level=level)
    return _without_forbidden(tostring(element, encoding="unicode", xml_declaration=xml_declaration))


def _without_forbidden(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _escaped(text: str) -> str:
    return _without_forbidden(escape(text, _ESCAPES))


def _totals(result: Result) -> dict[str, str]:
    errors = len(result.failures)
    flagged = sum(map(is_flagged, result.verdicts))
    return {"tests": str(len(result.verdicts) + errors), "failures": str(flagged), "errors": str(errors)}


def _suites(result: Result) -> Iterator[str]:
    stamp, labels = result.made_at.isoformat(timespec="seconds"), ResourceLabels(result.views)
    cases = RowTemplates(result, lambda finding: _as_text(_case(finding), level=2), _escaped)
    for name, verdicts in groupby(sorted(result.verdicts, key=_in_vpc_order), key=_suite_name):
        of_vpc = list(verdicts)
        suite = _suite(name, of_vpc, stamp, labels.names(of_vpc[0]).vpc)
        SubElement(suite, "testcase")  # where the cases go
        before, after = _as_text(suite, level=1).split(_EMPTY_CASE)
        yield before + "\n    ".join(cases.of(of_vpc)) + after
    if result.failures:
        yield _as_text(_not_determined(result.failures, stamp), level=1)


def _in_vpc_order(verdict: Verdict) -> tuple[str, str, str, str]:
    return verdict.account_id, verdict.region, verdict.vpc_id, verdict.subnet_id


def _suite_name(verdict: Verdict) -> str:
    return f"{verdict.account_id}/{verdict.region}/{verdict.vpc_id}"


def _suite(name: str, verdicts: Sequence[Verdict], stamp: str, vpc_name: str) -> Element:
    """Return the suite of a VPC, without its tests."""
    counts = {
        "tests": len(verdicts),
        "failures": sum(verdict.compliance is Compliance.NON_COMPLIANT for verdict in verdicts),
        "errors": 0,
        "skipped": sum(verdict.compliance is Compliance.NOT_APPLICABLE for verdict in verdicts),
    }
    attributes = {key: str(value) for key, value in counts.items()}
    suite = Element("testsuite", attributes, name=name, timestamp=stamp, time="0")
    _properties(suite, verdicts, vpc_name)
    return suite


def _case(finding: Finding) -> Element:
    """Return the test of a subnet. Its labels are in system-out, since a test has no properties in Jenkins' schema."""
    verdict, written = finding.verdict, list(_label_lines(finding))
    case = Element("testcase", name=verdict.subnet_id, classname=_suite_name(verdict), time="0")
    if verdict.compliance is Compliance.NON_COMPLIANT:
        failure = SubElement(case, "failure", message=verdict.annotation, type=verdict.reason)
        failure.text = str(finding.remedy or "")
    elif verdict.compliance is Compliance.NOT_APPLICABLE:
        SubElement(case, "skipped", message=verdict.annotation)
    else:
        written.insert(0, verdict.annotation)
    if written:
        SubElement(case, "system-out").text = "\n".join(written)
    return case


def _label_lines(finding: Finding) -> Iterator[str]:
    """Yield the baseline's mark, the names of a subnet and its route table, and the selected tags, one in each line."""
    if finding.mark:
        yield f"baseline: {finding.mark}"
    if finding.names.subnet:
        yield f"subnet name: {finding.names.subnet}"
    if finding.names.route_table:
        yield f"route table name: {finding.names.route_table}"
    for key, value in finding.tags.items():
        yield f"tag {key}: {value}"


def _properties(suite: Element, verdicts: Sequence[Verdict], vpc_name: str) -> None:
    """Add the VPC's name, and how many skipped subnets are DROPPED or excluded, by tag or parameter."""
    excluded = {f"EXCLUDED by {cause}": number for cause, number in exclusions(verdicts).items()}
    counts = {"DROPPED": dropped(verdicts), **excluded} if dropped(verdicts) or excluded else {}
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
