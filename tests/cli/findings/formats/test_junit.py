"""Rows as JUnit XML: suites and cases as a parser reads them, and text that XML can contain."""

from dataclasses import replace
from xml.etree.ElementTree import Element, fromstring

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from express_path_cli.findings.output import Format
from express_path_cli.findings.result import Result
from tests.cli.findings.results import (
    COMPLIANT,
    DENIED,
    DROPPED,
    EVERY,
    EXCLUDED,
    FLAGGED,
    LABELED,
    ODD,
    compared,
    labeled,
    rendered,
    result_of,
)


def suites_in(result: Result) -> Element:
    """Return the root of the document."""
    return fromstring(rendered(Format.JUNIT, result))


def test_each_subnet_is_a_test_in_the_suite_of_its_vpc() -> None:
    """NON_COMPLIANT fails with its remedy, NOT_APPLICABLE is skipped, a place that was not read is an error."""
    other = replace(FLAGGED, vpc_id="vpc-2")
    suites = JUnitXml.fromstring(
        rendered(Format.JUNIT, result_of(FLAGGED, other, *EVERY[1:], failures=[DENIED])).encode()
    )
    cases = {(suite.name, case.name): [type(found) for found in case.result] for suite in suites for case in suite}
    place = f"{FLAGGED.account_id}/{FLAGGED.region}"
    assert cases == {
        (f"{place}/{FLAGGED.vpc_id}", FLAGGED.subnet_id): [Failure],
        (f"{place}/{FLAGGED.vpc_id}", "subnet-2"): [],
        (f"{place}/{FLAGGED.vpc_id}", "subnet-3"): [Skipped],
        (f"{place}/{FLAGGED.vpc_id}", "subnet-4"): [Skipped],
        (f"{place}/{FLAGGED.vpc_id}", "subnet-5"): [Skipped],
        (f"{place}/vpc-2", FLAGGED.subnet_id): [Failure],
        ("could not be determined", DENIED.where): [Error],
    }
    assert (suites.tests, suites.failures, suites.errors) == (7, 2, 1)
    first, *_ = suites
    assert (first.tests, first.failures, first.skipped) == (5, 1, 3)
    [failure] = next(iter(first)).result
    assert (failure.message, failure.type) == (FLAGGED.annotation, "NAT_GATEWAY")
    assert failure.text == str(FLAGGED.remedy)


def test_a_suite_counts_what_is_dropped_and_excluded() -> None:
    """Skipped alone would look harmless, so the counts are properties, as is the VPC's name."""
    [suite] = suites_in(result_of(LABELED, DROPPED, EXCLUDED))
    assert {element.get("name"): element.get("value") for element in suite.iter("property")} == {
        "vpcName": "prod",
        "DROPPED": "1",
        "EXCLUDED by tag key=a on b": "1",
    }
    assert list(suites_in(result_of(FLAGGED)).iter("properties")) == []


def test_labels_are_in_the_output() -> None:
    """In the schema that Jenkins uses, a test may have output, but no properties."""
    named, unnamed = suites_in(labeled())
    [output] = [element.text for element in named.iter("system-out")]
    assert output == f"subnet name: app-a\nroute table name: {ODD}\ntag owner: data:team\ntag cost=center: 42"
    assert [element.tag for element in unnamed.iter()] == ["testsuite", "testcase", "failure"]
    [suite] = suites_in(compared())
    outputs = {case.get("name"): "".join(case.itertext()) for case in suite.iter("testcase")}
    assert "baseline: new" in outputs["subnet-new"]
    assert "baseline: unchanged" in outputs[FLAGGED.subnet_id]
    assert "baseline" not in outputs["subnet-fine"]


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\uffff", "\ud800"])
def test_characters_that_xml_cannot_contain_are_replaced(character: str) -> None:
    """The rest of the text stays."""
    [suite] = suites_in(result_of(replace(COMPLIANT, annotation=f"a{character}b \U0001f680")))
    assert [element.text for element in suite.iter("system-out")] == ["a\ufffdb \U0001f680"]
