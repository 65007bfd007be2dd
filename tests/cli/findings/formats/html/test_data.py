"""The data of the page: what its scripts show of rows, paths, and the worklist."""

import json
from pathlib import Path
from typing import Any

from express_path.domain.path.reasons import Reason
from express_path.domain.verdict.parameters import parse_parameters
from express_path_cli.aws.options import LiveOptions
from express_path_cli.findings.formats.html.data import page_data
from express_path_cli.findings.options import RenderOptions, ScanOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.worklist import CROSSES_NAT, fixes_of, worklist
from express_path_cli.sources.source import Source
from tests.cli.findings.results import labeled
from tests.cli.report.results import organization, result_of, views_of


def data_of(result: Result, options: RenderOptions | None = None) -> dict[str, Any]:
    """Return the data as the scripts get it."""
    found: dict[str, Any] = json.loads(json.dumps(page_data(result, options or RenderOptions())))
    return found


def test_data_tells_every_verdict() -> None:
    """Each row, resolved with the lists, is the verdict: ids, zone, compliance, reason, hops and annotation."""
    result = organization()
    page = data_of(result)
    for row, expected in zip(page["subnets"], result.rows, strict=True):
        vpc, path = page["vpcs"][row[2]], page["paths"][row[8]]
        table_id, *_ = page["tables"][row[4]]
        assert (*vpc[:3], row[0], page["zones"][row[3]], table_id or None) == (
            *(expected.account_id, expected.region, expected.vpc_id, expected.subnet_id),
            *(expected.availability_zone_id, expected.route_table_id),
        )
        assert page["compliances"][row[5]] == expected.compliance
        assert page["reasons"][row[6]][0] == page["reasons"][path[0]][0] == expected.reason
        assert page["annotations"][row[7]] == expected.annotation
        assert [(hop[1], hop[2]) for hop in path[1]] == [(hop.id, hop.destination) for hop in expected.path]


def test_a_path_that_crosses_a_nat_marks_its_nat() -> None:
    """Every path whose reason is a NAT has one hop marked as NAT, a gateway or an instance; no other path has one."""
    page = data_of(organization())
    marked = {(page["reasons"][reason][0], hop[0]) for reason, hops in page["paths"] for hop in hops if hop[3]}
    for reason, hops in page["paths"]:
        assert sum(hop[3] for hop in hops) == (page["reasons"][reason][0] in CROSSES_NAT)
    assert {kind for _, kind in marked} == {"NAT gateway", "NAT instance's interface"}
    assert {reason for reason, _ in marked} >= {"PARTLY_NAT", "NAT_GATEWAY", "NAT_INSTANCE"}


def test_partly_nat_shows_the_endpoint_beside_the_nat() -> None:
    """If some addresses use the endpoint and some a NAT, the report has both paths."""
    page = data_of(result_of(views_of("transit-gateway-hijacks-part")))
    [row] = [row for row in page["subnets"] if page["reasons"][row[6]][0] == "PARTLY_NAT"]
    others = [page["paths"][index] for index in page["otherPaths"][row[9]]]
    assert [page["reasons"][reason][0] for reason, _ in others] == ["ENDPOINT"]
    assert others[0][1][-1][0] == "gateway endpoint"


def test_rule_parameters_are_shown_and_those_that_were_set_are_marked() -> None:
    """The page shows each rule parameter's value, and which of them are not the default."""
    chosen = parse_parameters({"publicSubnets": "NON_COMPLIANT", "vpcIds": "vpc-2,vpc-1"})
    page = data_of(result_of(views_of("gateway-endpoint"), chosen))
    shown = {name: (value, is_set) for name, value, is_set in page["parameters"]}
    assert shown["publicSubnets"] == ("NON_COMPLIANT", 1)
    assert shown["vpcIds"] == ("vpc-1, vpc-2", 1)
    assert shown["scope"] == ("ALL", 0)
    assert shown["networkRoleArn"] == ("", 0)


def test_every_reason_that_can_be_non_compliant_says_what_to_do() -> None:
    """A row that needs a change says which, and all others say nothing; a heal is offered where it can help."""
    data = data_of(organization())
    heals = {name for name, _, _, is_healable in data["reasons"] if is_healable}
    assert heals == CROSSES_NAT - {Reason.PARTLY_NAT}
    by_reason = {data["reasons"][row[6]][0]: data["remedies"][row[10]] for row in data["subnets"]}
    assert by_reason[Reason.ENDPOINT][:2] == ["", ""]
    assert by_reason[Reason.NAT_GATEWAY][1].startswith("aws ec2 ")


def test_the_worklist_is_that_of_the_command() -> None:
    """Each item has its table, its reason, and its NATs."""
    result = organization()
    data, found = data_of(result), worklist(result.rows)
    items = [("flagged", item) for item in found.flagged]
    items += [("dropped", item) for item in found.dropped] + [("unresolved", item) for item in found.unresolved]
    assert len(data["worklist"]) == len(items)
    for (kind, vpc, table, reason, nat_ids), (expected, item) in zip(data["worklist"], items, strict=True):
        row = item.first
        assert (kind, data["vpcs"][vpc][2], data["tables"][table][0]) == (
            expected,
            row.vpc_id,
            row.route_table_id or "",
        )
        assert (data["reasons"][reason][0], nat_ids) == (row.reason, list(item.nat_ids))


def test_tables_that_are_changed_together_have_one_remedy() -> None:
    """Each of their subnets has it, with one command for all tables."""
    result = organization()
    data = data_of(result)
    shown = [data["remedies"][row[10]][:2] for row in data["subnets"]]
    remedies = {row.key: remedy for row, remedy in zip(result.rows, shown, strict=True)}
    changes = fixes_of(worklist(result.rows).flagged)
    assert max(len(change.route_table_ids) for change in changes) > 1
    for change in changes:
        expected = [change.remedy.advice, change.remedy.command]
        assert all(remedies[row.key] == expected for row in change.rows)


def test_commands_have_the_options_of_the_scan() -> None:
    """Those of the commands to copy."""
    scan = ScanOptions(Source(live=LiveOptions(profile="prod eu")), ("scope=ALL",))
    data = data_of(labeled(), RenderOptions(scan=scan))
    assert data["explainOptions"] == "--profile 'prod eu' --parameter scope=ALL"
    assert data["healOptions"] == "--profile 'prod eu'"
    from_dump = data_of(labeled(), RenderOptions(scan=ScanOptions(Source(Path("my dump")))))
    assert (from_dump["explainOptions"], from_dump["healOptions"]) == ("--from-dump 'my dump'", "")
