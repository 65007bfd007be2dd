"""Rows as JUnit XML: suites and cases as a parser reads them, and text that XML can contain."""

from dataclasses import replace
from xml.etree.ElementTree import Element, fromstring

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from express_path.domain.path.reasons import Reason
from express_path_cli.findings.formats import Format
from express_path_cli.findings.result import Result
from tests.cli.findings.results import (
    COMPLIANT,
    DENIED,
    DROPPED,
    EXCLUDED,
    FLAGGED,
    LABELED,
    ODD,
    REMEDY,
    UNKNOWN,
    compared,
    labeled,
    rendered,
    result_of,
)


def suites_in(result: Result) -> Element:
    """Return the root of the document."""
    return fromstring(rendered(Format.JUNIT, result))


def test_each_route_table_is_a_test_in_the_suite_of_its_vpc() -> None:
    """It fails with one remedy if a subnet is NON_COMPLIANT, is skipped if all are NOT_APPLICABLE, and lists them all.

    A place that was not read is an error.
    """
    other = replace(FLAGGED, vpc_id="vpc-2")
    fine, skipped = replace(COMPLIANT, route_table_id="rtb-2"), replace(DROPPED, route_table_id="rtb-3")
    rows = (COMPLIANT, FLAGGED, other, fine, replace(fine, subnet_id="subnet-6"), skipped, UNKNOWN)
    suites = JUnitXml.fromstring(rendered(Format.JUNIT, result_of(*rows, failures=[DENIED])).encode())
    cases = {(suite.name, case.name): [type(found) for found in case.result] for suite in suites for case in suite}
    place = f"{FLAGGED.account_id}/{FLAGGED.region}"
    assert cases == {
        (f"{place}/{FLAGGED.vpc_id}", "unknown route table"): [Skipped],
        (f"{place}/{FLAGGED.vpc_id}", FLAGGED.route_table_id): [Failure],
        (f"{place}/{FLAGGED.vpc_id}", "rtb-2"): [],
        (f"{place}/{FLAGGED.vpc_id}", "rtb-3"): [Skipped],
        (f"{place}/vpc-2", FLAGGED.route_table_id): [Failure],
        ("could not be determined", DENIED.where): [Error],
    }
    assert (suites.tests, suites.failures, suites.errors) == (6, 2, 1)
    first, *_ = suites
    assert (first.tests, first.failures, first.skipped) == (4, 1, 2)
    [case] = [case for case in first if case.name == FLAGGED.route_table_id]
    [failure] = case.result
    assert (failure.message, failure.type) == (FLAGGED.annotation, "NAT_GATEWAY")
    assert failure.text == str(FLAGGED.remedy)
    assert case.system_out.splitlines() == [f"{row.subnet_id}: {row.annotation}" for row in (FLAGGED, COMPLIANT)]


def test_a_failure_has_each_remedy_of_its_table_once() -> None:
    """Subnets of one table may need different changes."""
    worse = replace(FLAGGED, subnet_id="subnet-6", reason=Reason.PARTLY_NAT, remedy=replace(REMEDY, text="Delete it."))
    [suite] = suites_in(result_of(FLAGGED, worse, replace(FLAGGED, subnet_id="subnet-7")))
    [failure] = suite.iter("failure")
    assert failure.get("type") == "PARTLY_NAT"
    assert failure.text == f"{worse.remedy}\n{FLAGGED.remedy}"


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
    subnet = f"{LABELED.subnet_id} app-a: {LABELED.annotation}"
    assert output == f"route table name: {ODD}\n{subnet}"
    assert [element.text for element in unnamed.iter("system-out")] == [f"subnet-2: {FLAGGED.annotation}"]
    [suite] = suites_in(compared())
    lines = dict(line.split(":", 1) for line in "\n".join(suite.itertext()).splitlines() if line.startswith("subnet-"))
    assert lines["subnet-new"].endswith(", baseline: new")
    assert lines[FLAGGED.subnet_id].endswith(", baseline: unchanged")
    assert "baseline" not in lines["subnet-fine"]


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\uffff", "\ud800"])
def test_characters_that_xml_cannot_contain_are_replaced(character: str) -> None:
    """The rest of the text stays."""
    [suite] = suites_in(result_of(replace(COMPLIANT, annotation=f"a{character}b \U0001f680")))
    assert [element.text for element in suite.iter("system-out")] == ["subnet-2: a\ufffdb \U0001f680"]
