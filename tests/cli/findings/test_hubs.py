"""Hubs whose endpoint cuts other VPCs off: what a scan says of them, in each format, and of a selection."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest

from express_path_cli.findings.formats import Format
from tests.cli.findings.results import FLAGGED, HUB, compared, rendered, result_of
from tests.support.command import invoke
from tests.support.scenarios import dump_of

LISTED = {
    "accountId": "111122223333",
    "region": "us-east-1",
    "vpcId": "vpc-egress",
    "routeTableIds": ["rtb-egress-attachment-a", "rtb-egress-attachment-b"],
    "endpointId": "vpce-s3express",
    "gatewayId": "tgw-hub",
    "attachmentId": "tgw-attach-egress",
    "certain": True,
    "subnets": 1,
}
POSSIBLE = replace(HUB, route_table_ids=("rtb-2", "rtb-3"), attachment_id="", is_certain=False, subnets=0)


def scanned(*options: str) -> dict[str, Any]:
    """Return the JSON of a scan."""
    found: dict[str, Any] = json.loads(invoke(["scan", "--format", "json", *options]).stdout)
    return found


def from_dump(name: str = "transit-gateway-then-endpoint") -> tuple[str, str]:
    """Return the options that read a test network: by default a hub with an endpoint, and a spoke."""
    return "--from-dump", str(dump_of(name))


def test_hub_with_an_endpoint_is_listed() -> None:
    """With its tables, the endpoint, where the traffic comes from, and how many subnets have a path there."""
    assert scanned(*from_dump())["hubs"] == [LISTED]


@pytest.mark.parametrize("name", ["transit-gateway-central-egress", "transit-gateway-beside-the-endpoint"])
def test_other_networks_have_no_such_hub(name: str) -> None:
    """A hub without an endpoint, and a spoke with one."""
    assert "hubs" not in scanned(*from_dump(name))


def test_hub_is_selected_with_its_vpc_or_with_a_subnet_behind_it(tmp_path: Path) -> None:
    """The same holds for an earlier scan, of which a part is selected."""
    saved = tmp_path / "scan.json"
    saved.write_text(json.dumps(scanned(*from_dump())))
    for source in (from_dump(), ("--from", str(saved))):
        assert scanned(*source, "--vpc", "vpc-spoke")["hubs"] == [LISTED]
        assert scanned(*source, "--vpc", "vpc-egress")["hubs"] == [{**LISTED, "subnets": 0}]
        assert "hubs" not in scanned(*source, "--tag", "Name=egress-main")


def test_earlier_scan_with_a_damaged_hub_is_refused(tmp_path: Path) -> None:
    """A file may come from somebody else."""
    saved = tmp_path / "scan.json"
    saved.write_text(json.dumps({**scanned(*from_dump()), "hubs": [{**LISTED, "endpointId": "; rm"}]}))
    result = invoke(["scan", "--from", str(saved)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "endpointId" in result.stderr


LISTING = (Format.TABLE, Format.MARKDOWN, Format.HTML)


@pytest.mark.parametrize("chosen", LISTING)
def test_people_read_what_happens_and_what_to_do(chosen: Format) -> None:
    """What is certain, and what may be, with what would show it."""
    text = rendered(chosen, result_of(FLAGGED, hubs=[HUB, POSSIBLE]))
    for part in (
        "Hubs that cut off other VPCs",
        "tgw-1 leads S3 Express traffic of other VPCs to tgw-attach-1, and from there rtb-1 in vpc-1 leads it to vpce-1",
        "3 listed subnets have a path there",
        "tgw-1 may lead S3 Express traffic of other VPCs to vpc-1, and from there rtb-2 and rtb-3 in vpc-1 lead it to",
        "irst give each VPC behind the hub its own endpoint",
        "set networkRoleArn",
    ):
        assert part in text
    assert "set networkRoleArn" not in rendered(chosen, result_of(FLAGGED, hubs=[HUB]))


@pytest.mark.parametrize("chosen", [Format.TABLE, Format.MARKDOWN])
def test_output_about_news_only_counts_hubs(chosen: Format) -> None:
    """Whether a hub is new is not known."""
    text = rendered(chosen, replace(compared(), hubs=[HUB, POSSIBLE]))
    assert "Hubs that cut off other VPCs: 2. A scan without a plan and a baseline lists them." in text
    assert "vpce-1" not in text


def test_sarif_has_a_notification_for_each_hub() -> None:
    """It is about the run, and no result; one that is certain is a warning."""
    run = json.loads(rendered(Format.SARIF, result_of(FLAGGED, hubs=[HUB, POSSIBLE])))["runs"][0]
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert [note["level"] for note in notes] == ["warning", "note"]
    assert notes[0]["message"]["text"].startswith("Hubs that cut off other VPCs: account ")
    assert "leads it to vpce-1" in notes[0]["message"]["text"]
    assert len(run["results"]) == 1
    about_news = json.loads(rendered(Format.SARIF, replace(compared(), hubs=[HUB, POSSIBLE])))["runs"][0]
    texts = [note["message"]["text"] for note in about_news["invocations"][0]["toolExecutionNotifications"]]
    assert [text for text in texts if text.startswith("Hubs")] == [
        "Hubs that cut off other VPCs: 2. A scan without a plan and a baseline lists them."
    ]


def test_junit_has_a_skipped_test_for_each_hub() -> None:
    """It fails no job, because it fails no scan, and output about news has none."""
    text = rendered(Format.JUNIT, result_of(FLAGGED, hubs=[HUB, POSSIBLE]))
    document = fromstring(text)
    [suite] = [found for found in document if found.get("name") == "Hubs that cut off other VPCs"]
    assert (suite.get("tests"), suite.get("skipped"), suite.get("failures")) == ("2", "2", "0")
    assert [case.get("name") for case in suite] == ["vpce-1", "vpce-1"]
    assert "leads it to vpce-1" in (suite[0][0].get("message") or "")
    assert document.get("tests") == str(sum(int(found.get("tests") or 0) for found in document))
    assert "Hubs that cut" not in rendered(Format.JUNIT, replace(compared(), hubs=[HUB, POSSIBLE]))


@pytest.mark.parametrize("chosen", [Format.CSV, Format.OCSF])
def test_entries_for_subnets_have_no_hubs(chosen: Format) -> None:
    """Nothing there would say what the entry is about."""
    assert rendered(chosen, result_of(FLAGGED, hubs=[HUB])) == rendered(chosen, result_of(FLAGGED))
