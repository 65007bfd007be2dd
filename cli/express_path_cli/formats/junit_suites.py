"""Verdicts as JUnit XML, so that any CI shows them as tests: one suite for each VPC, one test for each subnet."""

import re
from collections.abc import Sequence
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.result import Failure, Result
from express_path_cli.summary import dropped, exclusions
from express_path_cli.wording import RULE_NAME

_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write (https://www.w3.org/TR/xml/#charsets); a dump of somebody else's may hold it."""


def as_junit(result: Result) -> str:
    """NON_COMPLIANT fails, NOT_APPLICABLE is skipped; what could not be determined is an error.

    Elements and attributes are those that Jenkins takes
    (https://github.com/jenkinsci/xunit-plugin/tree/master/src/main/resources/org/jenkinsci/plugins/xunit/types).
    """
    root = Element("testsuites", name=RULE_NAME)
    stamp = result.made_at.isoformat(timespec="seconds")
    by_vpc = sorted(result.verdicts, key=lambda each: (each.account_id, each.region, each.vpc_id, each.subnet_id))
    for name, rows in groupby(by_vpc, key=lambda each: f"{each.account_id}/{each.region}/{each.vpc_id}"):
        _suite(root, name, list(rows), stamp)
    if result.failures:
        _could_not_tell(root, result.failures, stamp)
    for counted in ("tests", "failures", "errors"):
        root.set(counted, str(sum(int(suite.get(counted, "0")) for suite in root)))
    indent(root)
    return _NO_XML.sub("\ufffd", tostring(root, encoding="unicode", xml_declaration=True)) + "\n"


def _suite(root: Element, name: str, verdicts: Sequence[Verdict], stamp: str) -> None:
    counts = {
        "tests": len(verdicts),
        "failures": sum(each.compliance is Compliance.NON_COMPLIANT for each in verdicts),
        "errors": 0,
        "skipped": sum(each.compliance is Compliance.NOT_APPLICABLE for each in verdicts),
    }
    attributes = {key: str(value) for key, value in counts.items()}
    suite = SubElement(root, "testsuite", attributes, name=name, timestamp=stamp, time="0")
    _count_apart(suite, verdicts)
    for each in verdicts:
        case = SubElement(suite, "testcase", name=each.subnet_id, classname=name, time="0")
        if each.compliance is Compliance.NON_COMPLIANT:
            SubElement(case, "failure", message=each.annotation, type=each.reason)
        elif each.compliance is Compliance.NOT_APPLICABLE:
            SubElement(case, "skipped", message=each.annotation)
        else:
            SubElement(case, "system-out").text = each.annotation


def _count_apart(suite: Element, verdicts: Sequence[Verdict]) -> None:
    """Among what is skipped, the subnets whose traffic AWS drops, and those that each tag excludes."""
    excluded = {f"EXCLUDED by {way}": number for way, number in exclusions(verdicts).items()}
    counts = {"DROPPED": dropped(verdicts), **excluded}
    if any(counts.values()):
        properties = SubElement(suite, "properties")
        for name, number in counts.items():
            SubElement(properties, "property", name=name, value=str(number))


def _could_not_tell(root: Element, failures: Sequence[Failure], stamp: str) -> None:
    number = str(len(failures))
    attributes = {"tests": number, "failures": "0", "errors": number, "skipped": "0", "timestamp": stamp, "time": "0"}
    suite = SubElement(root, "testsuite", attributes, name="could not tell")
    for each in failures:
        case = SubElement(suite, "testcase", name=each.where, classname="could not tell", time="0")
        SubElement(case, "error", message=str(each.error), type=type(each.error).__name__)
