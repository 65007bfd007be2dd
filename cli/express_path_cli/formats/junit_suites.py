"""Verdicts as JUnit XML, which CI systems show as tests: one suite for each VPC, one test for each subnet."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.baseline import Mark
from express_path_cli.remedies import Remedies
from express_path_cli.resource_labels import ResourceLabels
from express_path_cli.result import Failure, Result
from express_path_cli.summary import dropped, exclusions
from express_path_cli.wording import RULE_NAME

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot contain (https://www.w3.org/TR/xml/#charsets); a dump from elsewhere may have them."""


def as_junit(result: Result) -> str:
    """Return the document. NON_COMPLIANT fails, NOT_APPLICABLE is skipped; what could not be determined is an error.

    It has the elements and attributes that Jenkins accepts
    (https://github.com/jenkinsci/xunit-plugin/tree/master/src/main/resources/org/jenkinsci/plugins/xunit/types).
    """
    root = Element("testsuites", name=RULE_NAME)
    stamp = result.made_at.isoformat(timespec="seconds")
    remedies, labels = Remedies(result.views), ResourceLabels(result.views, result.tag_keys)
    for name, verdicts in groupby(sorted(result.verdicts, key=_in_vpc_order), key=_suite_name):
        of_vpc = list(verdicts)
        suite = _suite(root, name, of_vpc, stamp, labels.names(of_vpc[0]).vpc)
        for verdict in of_vpc:
            _case(suite, verdict, remedies, "\n".join(_label_lines(verdict, labels, result.mark(verdict))))
    if result.failures:
        _not_determined(root, result.failures, stamp)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    indent(root)
    return _NOT_XML.sub("\ufffd", tostring(root, encoding="unicode", xml_declaration=True)) + "\n"


def _in_vpc_order(verdict: Verdict) -> tuple[str, str, str, str]:
    return verdict.account_id, verdict.region, verdict.vpc_id, verdict.subnet_id


def _suite_name(verdict: Verdict) -> str:
    return f"{verdict.account_id}/{verdict.region}/{verdict.vpc_id}"


def _suite(root: Element, name: str, verdicts: Sequence[Verdict], stamp: str, vpc_name: str) -> Element:
    """Add the suite of a VPC, without its tests."""
    counts = {
        "tests": len(verdicts),
        "failures": sum(verdict.compliance is Compliance.NON_COMPLIANT for verdict in verdicts),
        "errors": 0,
        "skipped": sum(verdict.compliance is Compliance.NOT_APPLICABLE for verdict in verdicts),
    }
    attributes = {key: str(value) for key, value in counts.items()}
    suite = SubElement(root, "testsuite", attributes, name=name, timestamp=stamp, time="0")
    _properties(suite, verdicts, vpc_name)
    return suite


def _case(suite: Element, verdict: Verdict, remedies: Remedies, labels: str) -> None:
    """Add the test of a subnet. Its labels are in system-out, since a test has no properties in Jenkins' schema."""
    case = SubElement(suite, "testcase", name=verdict.subnet_id, classname=_suite_name(verdict), time="0")
    written = [labels] if labels else []
    if verdict.compliance is Compliance.NON_COMPLIANT:
        failure = SubElement(case, "failure", message=verdict.annotation, type=verdict.reason)
        failure.text = str(remedies.of(verdict) or "")
    elif verdict.compliance is Compliance.NOT_APPLICABLE:
        SubElement(case, "skipped", message=verdict.annotation)
    else:
        written.insert(0, verdict.annotation)
    if written:
        SubElement(case, "system-out").text = "\n".join(written)


def _label_lines(verdict: Verdict, labels: ResourceLabels, mark: Mark | None) -> Iterator[str]:
    """Yield the baseline's mark, the names of a subnet and its route table, and the selected tags, one in each line."""
    if mark:
        yield f"baseline: {mark}"
    names = labels.names(verdict)
    if names.subnet:
        yield f"subnet name: {names.subnet}"
    if names.route_table:
        yield f"route table name: {names.route_table}"
    for key, value in labels.tags(verdict).items():
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


def _not_determined(root: Element, failures: Sequence[Failure], stamp: str) -> None:
    number = str(len(failures))
    attributes = {"tests": number, "failures": "0", "errors": number, "skipped": "0", "timestamp": stamp, "time": "0"}
    suite = SubElement(root, "testsuite", attributes, name="could not be determined")
    for failure in failures:
        case = SubElement(suite, "testcase", name=failure.where, classname="could not be determined", time="0")
        SubElement(case, "error", message=str(failure.error), type=type(failure.error).__name__)
