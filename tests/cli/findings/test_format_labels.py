"""Names and selected tags in every format."""

import csv
import io
import json
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from fluidattacks_core.sarif import SarifLog
from junitparser import JUnitXml
from py_ocsf_models.events.findings.compliance_finding import ComplianceFinding

from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import PrefixList, RouteTable, Subnet, Vpc
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account
from express_path_cli.findings.output import Format
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import rows_of
from express_path_cli.sources.network import View
from tests.cli.findings.test_formats import MADE_AT, rendered, verdict
from tests.cli.report.test_document import Parsed
from tests.support.command import invoke
from tests.support.scenarios import dump_of

ODD = "a|b <c> &amp; \U0001f680"
NAMES = {"subnet": "app-a", "routeTable": ODD, "vpc": "prod"}
TAG_COLUMNS = ["tag:Name", "tag:owner"]
TAGS = {"owner": "data:team", "cost=center": "42"}


def labeled() -> Result:
    """Return a result with two subnets: one that has names and tags, and one without any."""
    ids = ("subnet-1", "subnet-2")
    tags = {"Name": NAMES["subnet"], "owner": "data:team", "blank": " "}
    snapshot = Snapshot(
        *("111122223333", "us-east-1"),
        vpcs={"vpc-1": Vpc("vpc-1", "111122223333", {"Name": NAMES["vpc"], "cost=center": "42"})},
        subnets={
            "subnet-1": Subnet("subnet-1", "vpc-1", "111122223333", tags=tags),
            "subnet-2": Subnet("subnet-2", "vpc-2", "111122223333"),
        },
        route_tables={"rtb-1": RouteTable("rtb-1", "vpc-1", tags={"Name": ODD, "owner": "network"})},
        prefix_lists={"pl-1": PrefixList("pl-1", "com.amazonaws.us-east-1.s3express", Family.IPV4, ())},
    )
    verdicts = [verdict(), verdict(subnet_id="subnet-2", vpc_id="vpc-2", route_table_id="rtb-2")]
    views, tag_keys = (
        [View(Account("111122223333"), Tracer(snapshot), ids)],
        ("owner", "cost=center", "blank", "missing"),
    )
    return Result(rows_of(verdicts, views, tag_keys), MADE_AT, views=views, tag_keys=tag_keys)


def test_json_has_those_that_exist() -> None:
    """`names` and `tags` are objects without empty members, also if there are none."""
    first, second = json.loads(rendered(Format.JSON, labeled()))["subnets"]
    assert (first["names"], first["tags"]) == (NAMES, TAGS | {"blank": " "})
    assert list(first["tags"]) == ["owner", "cost=center", "blank"]
    assert (second["names"], second["tags"]) == ({}, {})


def test_csv_has_a_column_for_each() -> None:
    """The columns of names are in every scan, and those of tags have their keys."""
    first, second = csv.DictReader(io.StringIO(rendered(Format.CSV, labeled()), newline=""))
    assert (first["subnetName"], first["routeTableName"], first["vpcName"]) == tuple(NAMES.values())
    assert {key: first[f"tag:{key}"] for key in TAGS} == TAGS
    assert {value for column, value in second.items() if "Name" in column or ":" in column} == {""}


def test_markdown_shows_names_beside_ids() -> None:
    """A selected tag is a column. Names cannot break a cell."""
    header, _, first, second = rendered(Format.MARKDOWN, labeled()).splitlines()[-4:]
    assert header.endswith("| Path | owner | cost=center | blank | missing |")
    assert r"| vpc-1 prod | `subnet-1` app-a | `rtb-1` a\|b \<c\> \&amp; " in first
    assert first.endswith("| data:team | 42 |  |  |")
    assert "| vpc-2 | `subnet-2` | `rtb-2` |" in second


def test_ocsf_has_a_named_resource_with_labels() -> None:
    """The resource's name is the subnet's, or its ID. Labels are the selected tags."""
    text = rendered(Format.OCSF, labeled())
    first, second = (finding["resources"][0] for finding in json.loads(text))
    assert (first["name"], first["labels"]) == ("app-a", ["owner:data:team", "cost=center:42", "blank: "])
    assert first["data"]["names"] == NAMES
    assert (second["name"], "labels" in second) == ("subnet-2", False)
    assert all(ComplianceFinding.model_validate(finding) for finding in json.loads(text))


def test_sarif_has_properties() -> None:
    """The log is valid, and `tags` keeps the meaning that SARIF gives it."""
    text = rendered(Format.SARIF, labeled())
    SarifLog.model_validate_json(text)
    first, second = (result["properties"] for result in json.loads(text)["runs"][0]["results"])
    assert (first["names"], first["resourceTags"]) == (NAMES, TAGS | {"blank": " "})
    assert (second["names"], second["resourceTags"], "tags" in second) == ({}, {}, False)


def test_junit_has_the_vpc_in_properties_and_the_rest_in_the_output() -> None:
    """In the schema that Jenkins uses, a suite may have properties, and a test may have output only."""
    text = rendered(Format.JUNIT, labeled())
    first, second = fromstring(text)
    assert [element.attrib for element in first.iter("property")] == [{"name": "vpcName", "value": "prod"}]
    [output] = [element.text for element in first.iter("system-out")]
    assert (
        output
        == f"subnet name: app-a\nroute table name: {ODD}\ntag owner: data:team\ntag cost=center: 42\ntag blank:  "
    )
    assert [element.tag for element in second.iter()] == ["testsuite", "testcase", "failure"]
    assert JUnitXml.fromstring(text.encode()).tests == 2


@pytest.mark.parametrize("form", Format)
def test_a_scan_shows_them_in_every_format(form: Format) -> None:
    """--tags takes several keys; a key that no resource has is only noted."""
    command = ["scan", "--from-dump", str(dump_of("two-accounts")), "--format", form, "--tags", "Name,owner"]
    result = invoke(command)
    assert result.exit_code == 1
    assert "payments-private" in result.stdout
    assert result.stderr.splitlines() == [
        "express-path: note: no subnet, route table or VPC that was read has the tag owner (keys are case-sensitive)"
    ]


def test_pages_have_the_selected_tags(tmp_path: Path) -> None:
    """The page of a scan and that of a report filter by the same keys, and name the key that no resource has."""
    dump, file = str(dump_of("two-accounts")), tmp_path / "page.html"
    for command in (["scan", "--format", "html"], ["report"]):
        result = invoke([*command, "--from-dump", dump, "--tags", "Name,owner", "--output", str(file)])
        text = file.read_text(encoding="utf-8")
        data = Parsed(text).data()
        assert (result.exit_code, data["tagKeys"], data["csvColumns"][-2:]) == (1, ["Name", "owner"], TAG_COLUMNS)
        assert ["payments-private-a", ""] in data["tags"]
        assert "that was read has the tag owner (keys are case-sensitive)</li>" in text
        assert "has the tag owner" in result.stderr


@pytest.mark.parametrize("keys", ["owner,", ",", " "])
def test_an_empty_key_is_refused(keys: str) -> None:
    """An unset shell variable between commas is an error."""
    result = invoke(["scan", "--from-dump", str(dump_of("two-accounts")), "--tags", keys])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "has an empty key (use KEY or KEY,KEY" in result.stderr


def test_a_key_is_shown_once() -> None:
    """--tags may repeat keys."""
    command = ["scan", "--from-dump", str(dump_of("two-accounts")), "--format", "csv", "--tags", "Name, Name"]
    header = invoke([*command, "--tags", "Name"]).stdout.splitlines()[0]
    assert header.endswith(",vpcName,tag:Name")
