"""Rows as JSON: the document that its JSON Schema describes."""

import json
from dataclasses import replace
from datetime import date, timedelta, timezone
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from express_path.domain.path.reasons import Reason, Unknown
from express_path_cli.findings.formats import Format
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Ignored, SetParameter, TrafficPath
from express_path_cli.schema.command import FILES, Schema
from tests.cli.findings.results import (
    COMPLIANT,
    DENIED,
    EVERY,
    FLAGGED,
    HUB,
    LABELED,
    MADE_AT,
    NAT,
    OF_LABELED,
    UNKNOWN,
    compared,
    labeled,
    rendered,
    result_of,
)
from tests.cli.report.results import organization

SCHEMA = Draft202012Validator(json.loads(FILES[Schema.SCAN].read_text(encoding="utf-8")))


def document(result: Result) -> dict[str, Any]:
    """Return the document of a result, which fits the schema."""
    found: dict[str, Any] = json.loads(rendered(Format.JSON, result))
    SCHEMA.validate(found)
    return found


OF_PLANS = {"before", "address", "routeTableAddress", "changedBy", "file", "line"}
"""The fields of a subnet that only a plan has; tests/cli/scan/test_plan.py looks at them."""


SET = SetParameter("scope", "DIRECTORY_BUCKETS", "why", date(2026, 3, 31), 1)


def test_the_schema_has_no_field_that_documents_lack() -> None:
    """With a baseline, a document has every field; without one, it lacks the marks and the lists of past findings."""
    found = document(compared())
    sometimes = {"plan", "routeTables", "undecided", "accountNames", "hubs"}
    assert found.keys() == SCHEMA.schema["properties"].keys() - sometimes
    fields = SCHEMA.schema["$defs"]["subnet"]["properties"].keys() - OF_PLANS
    optional = {"note", "lacks", "unknown", "excludedBy", "otherPaths", "ignored", "setBy", "tableTags"}
    assert all(fields - subnet.keys() <= optional for subnet in found["subnets"])
    without = document(result_of(*EVERY))
    assert found.keys() - without.keys() == {"fixed", "unknown", "replaced"}
    assert all(fields - subnet.keys() - optional == {"baseline"} for subnet in without["subnets"])
    other = replace(
        FLAGGED,
        note="a note",
        table_tags={"owner": "net"},
        lacks="ec2:DescribeVpcs",
        unknown=Unknown.PERMISSION,
        excluded_by="vpcIds",
        other_paths=(TrafficPath(Reason.ENDPOINT, (NAT,)),),
        ignored=Ignored("why", date(2026, 3, 31)),
        set_by=SET,
    )
    whole = document(result_of(other, set_parameters=[SET]))
    [subnet] = whole["subnets"]
    assert subnet.keys() == fields - {"baseline"}
    [entry] = whole["setParameters"]
    assert entry.keys() == SCHEMA.schema["properties"]["setParameters"]["items"]["properties"].keys()
    [change] = document(result_of(FLAGGED))["changes"]
    assert change.keys() == SCHEMA.schema["$defs"]["change"]["properties"].keys() - {"owner"}
    [hub] = document(result_of(FLAGGED, hubs=[HUB]))["hubs"]
    assert hub.keys() == SCHEMA.schema["$defs"]["hub"]["properties"].keys()


def test_a_row_has_its_fields() -> None:
    """`names` and `tags` contain only those that exist, and an unknown route table is null."""
    first, second = document(labeled())["subnets"]
    assert first == {
        **OF_LABELED,
        "path": [{"kind": "NAT_GATEWAY", "id": NAT.id, "destination": NAT.destination}],
        "names": {"subnet": "app-a", "routeTable": LABELED.route_table_name, "vpc": "prod"},
        "tags": {"owner": "data:team", "cost=center": "42"},
        "change": 0,
    }
    assert (second["names"], second["tags"]) == ({}, {})
    assert document(result_of(UNKNOWN))["subnets"][0]["routeTableId"] is None


def test_a_document_says_what_its_scan_covered() -> None:
    """The time is in UTC, the totals count hidden rows, too, and a place that was not read is named with its error."""
    here = replace(
        result_of(FLAGGED, unlisted=[COMPLIANT], failures=[DENIED], filters=["--vpc vpc-1"]),
        made_at=MADE_AT.astimezone(timezone(timedelta(hours=5))),
    )
    found = document(here)
    assert found["madeAt"] == "2026-02-13T05:48:51Z"
    assert found["totals"] == {
        "evaluated": 2,
        "compliances": {"COMPLIANT": 1, "NON_COMPLIANT": 1, "NOT_APPLICABLE": 0},
        "reasons": {"ENDPOINT": 1, "NAT_GATEWAY": 1},
        "ignored": 0,
        "setByFile": 0,
    }
    assert len(found["subnets"]) == 1
    assert found["filters"] == ["--vpc vpc-1"]
    [place] = found["notRead"]
    assert place["where"] == DENIED.where
    assert "UnauthorizedOperation" in place["error"]


def test_a_change_is_for_all_its_route_tables() -> None:
    """Subnets refer to it. It has one command, and the endpoint as it is, or null for another change."""
    found = document(organization())
    [change] = [one for one in found["changes"] if len(one["routeTableIds"]) > 1][:1]
    place = found["changes"].index(change)
    subnets = [row for row in found["subnets"] if row["change"] == place]
    assert {row["routeTableId"] for row in subnets} == set(change["routeTableIds"])
    assert (change["subnets"], change["endpoint"]["vpcId"]) == (len(subnets), subnets[0]["vpcId"])
    assert all(table in change["command"] for table in change["routeTableIds"])
    assert change["patches"].keys() == {"cloudFormation", "terraform"}
    assert any(one["endpoint"] is None for one in found["changes"])
    creating = [one["endpoint"]["vpcId"] for one in found["changes"] if "create-vpc-endpoint" in one["command"]]
    assert len(creating) == len(set(creating)) > 1


def test_past_findings_have_their_reason_and_what_is_known_now() -> None:
    """The cause is named for those that are unknown."""
    found = document(compared())
    past = {
        row["subnetId"]: (mark, row["reason"], row["now"], row["cause"])
        for mark in ("fixed", "unknown", "replaced")
        for row in found[mark]
    }
    assert past == {
        "subnet-fixed": ("fixed", "NAT_GATEWAY", "ENDPOINT", None),
        "subnet-hidden": ("unknown", "NAT_GATEWAY", "UNRESOLVED_EGRESS", "PATH_UNKNOWN"),
        "subnet-gone": ("unknown", "NAT_GATEWAY", None, "NOT_LISTED"),
        "subnet-worse": ("replaced", "NAT_GATEWAY", "PARTLY_NAT", None),
    }
    place = {"accountId": FLAGGED.account_id, "region": FLAGGED.region, "vpcId": FLAGGED.vpc_id}
    assert place.items() <= found["fixed"][0].items()


@pytest.mark.parametrize("chosen", [Format.JSON, Format.SARIF, Format.OCSF])
def test_each_item_is_one_line(chosen: Format) -> None:
    """A document is easy to search and to compare, whatever its texts contain."""
    odd = '"results": [] "subnets": []\n{"'
    text = rendered(chosen, result_of(FLAGGED, replace(FLAGGED, subnet_id="subnet-2", annotation=odd)))
    found = json.loads(text)
    rows = {Format.JSON: lambda: found["changes"] + found["subnets"], Format.SARIF: lambda: found["runs"][0]["results"]}
    lines = [line.removesuffix(",") for line in text.splitlines() if line.startswith('{"')]
    assert [json.loads(line) for line in lines] == rows.get(chosen, lambda: found)()
    assert len(lines) == {Format.JSON: 3, Format.SARIF: 1}.get(chosen, 2)
