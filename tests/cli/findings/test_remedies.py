"""One remedy for each reason, with the names of the resources, in every format."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
import yaml

from express_path.domain.network.resources import RouteTable
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.path.tracing import Tracer
from express_path.domain.remedy.remedies import Remedies, remedy
from express_path.domain.remedy.texts import TEXTS, Remedy, general_remedy
from express_path.domain.verdict.evaluator import Account
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.findings.row import rows_of
from express_path_cli.findings.worklist import Change, changes_of, worklist
from express_path_cli.sources.network import View
from tests.cli.report.test_document import Parsed
from tests.support.command import invoke
from tests.support.heal_situation import EXPRESS_LIST_6
from tests.support.make import (
    ACCOUNT,
    EXPRESS,
    EXPRESS_LIST,
    by_id,
    endpoint,
    route,
    snapshot,
    subnet,
    table,
    verdict_on,
)
from tests.support.scenarios import dump_of

ROOT = Path(__file__).parents[3]
NAT = route("0.0.0.0/0", "nat-1")
ENDPOINT = route("pl-express", "vpce-express")


def network(*tables: RouteTable, **more: object) -> Snapshot:
    """Return a network of subnet-1 and these tables."""
    return snapshot(**{"subnets": by_id(subnet()), "route_tables": by_id(*tables), **more})


def remedy_in(found: Snapshot, reason: Reason, **changed: Any) -> Remedy:
    """Return the remedy of subnet-1, which has this reason."""
    verdict = verdict_on(found)
    assert verdict.reason is reason
    result = remedy(replace(verdict, **changed), Tracer(found))
    assert result is not None
    return result


@pytest.mark.parametrize("reason", Reason)
def test_the_document_has_the_remedy_of_every_reason(reason: Reason) -> None:
    """docs/fix.md lists each reason with its text, and with "nothing" where nothing has to change."""
    document = (ROOT / "docs" / "fix.md").read_text(encoding="utf-8")
    [shown] = re.findall(rf"^\| {reason} \| [^|]+ \| (.+) \|$", document, re.MULTILINE)
    if general_remedy(reason):
        assert shown == general_remedy(reason)
    else:
        assert shown.startswith("nothing")
        assert reason not in TEXTS


def test_without_an_endpoint_one_is_created() -> None:
    """The table, the NAT, the VPC and the service are named."""
    found = remedy_in(network(table("rtb-1", NAT, subnets=("subnet-1",))), Reason.NAT_GATEWAY)
    for part in ("route table rtb-1", "a new gateway endpoint", "vpc-1", "no longer crosses nat-1"):
        assert part in found.text
    assert found.command == (
        "aws ec2 create-vpc-endpoint --region us-east-1 --vpc-endpoint-type Gateway --vpc-id vpc-1 "
        f"--service-name {EXPRESS} --ip-address-type ipv4 --route-table-ids rtb-1"
    )


def changes_in(found: Snapshot, parameters: RuleParameters | None = None) -> list[Change]:
    """Return what to do about all flagged subnets of a network."""
    view = View(Account(ACCOUNT), Tracer(found), tuple(found.subnets))
    evaluator = view.evaluator(parameters or RuleParameters())
    rows = rows_of(map(evaluator.verdict, found.subnets), [view])
    return changes_of(worklist(rows).flagged)


def many(number: int, *targets: str, **more: object) -> Snapshot:
    """Return a network of a VPC with this many subnets, each with its own table; the targets take turns."""
    subnets = [subnet(f"subnet-{place}") for place in range(number)]
    routes = [route("0.0.0.0/0", targets[place % len(targets)]) for place in range(number)]
    tables = [table(f"rtb-{place}", to, subnets=(f"subnet-{place}",)) for place, to in enumerate(routes)]
    return snapshot(**{"subnets": by_id(*subnets), "route_tables": by_id(*tables), **more})


def test_tables_of_a_vpc_share_a_new_endpoint() -> None:
    """One command creates one endpoint for all tables of the VPC, and for subnets with other reasons, too."""
    [change] = changes_in(many(3, "nat-1", "nat-2", "igw-1"), RuleParameters(public_subnets=Compliance.NON_COMPLIANT))
    assert list(change.subnets.items()) == [(Reason.NAT_GATEWAY, 2), (Reason.INTERNET_GATEWAY, 1)]
    assert change.route_table_ids == ["rtb-0", "rtb-1", "rtb-2"]
    assert change.remedy.command.endswith("--route-table-ids rtb-0 rtb-1 rtb-2")
    assert change.remedy.text == (
        "Associate route tables rtb-0, rtb-1 and rtb-2 with a new gateway endpoint for S3 Express in vpc-1, so that S3 "
        "Express traffic no longer crosses nat-1 or nat-2 or leaves through an internet gateway. Gateway endpoints are "
        "free of charge. One endpoint serves all of these route tables."
    )
    assert yaml.safe_load(change.remedy.patches["cloudFormation"])["Resources"]["S3ExpressEndpoint"]["Properties"][
        "RouteTableIds"
    ] == ["rtb-0", "rtb-1", "rtb-2"]
    assert change.remedy.patches["terraform"].count('resource "aws_vpc_endpoint" ') == 1
    assert change.remedy.patches["terraform"].count('resource "aws_vpc_endpoint_route_table_association" ') == 3


def test_tables_of_a_vpc_share_its_endpoint() -> None:
    """One command adds all tables to the endpoint. A text counts many IDs, and the command names all."""
    [change] = changes_in(many(5, "nat-1", vpc_endpoints=by_id(endpoint())))
    assert change.remedy.text.startswith("Associate 5 route tables with gateway endpoint vpce-express, so that")
    assert "One endpoint" not in change.remedy.text
    assert change.remedy.command.endswith("--add-route-table-ids rtb-0 rtb-1 rtb-2 rtb-3 rtb-4")


def test_tables_that_need_different_endpoints_are_separate() -> None:
    """A dual-stack table needs a dual-stack endpoint, which EC2 does not accept for an IPv4 table."""
    both = many(2, "nat-1")
    dual = replace(both.subnets["subnet-1"], has_ipv6=True)
    lists = by_id(EXPRESS_LIST, EXPRESS_LIST_6)
    found = replace(both, subnets=both.subnets | {"subnet-1": dual}, prefix_lists=lists)
    changes = changes_in(found)
    types = [change.remedy.command.partition("--ip-address-type ")[2].split() for change in changes]
    assert sorted(types) == [["dualstack", "--route-table-ids", "rtb-1"], ["ipv4", "--route-table-ids", "rtb-0"]]


def test_one_finding_says_what_to_do_if_another_one_creates_the_endpoint() -> None:
    """A finding is about its own table; without a new endpoint, there is nothing to say."""
    found = many(2, "nat-1")
    for place in range(2):
        single = remedy(verdict_on(found, f"subnet-{place}"), Tracer(found))
        assert single is not None
        assert single.command.endswith(f"--route-table-ids rtb-{place}")
        assert single.note == "If vpc-1 gets an endpoint for S3 Express first, associate the route table with that one."
    existing = many(1, "nat-1", vpc_endpoints=by_id(endpoint()))
    assert getattr(remedy(verdict_on(existing, "subnet-0"), Tracer(existing)), "note", None) == ""


def test_an_endpoint_of_the_vpc_is_associated() -> None:
    """The command changes the endpoint that exists; a tag of CloudFormation says where to make the change."""
    tags = {"aws:cloudformation:stack-name": "net"}
    found = remedy_in(
        network(table("rtb-1", NAT, subnets=("subnet-1",)), vpc_endpoints=by_id(endpoint(tags=tags))),
        Reason.NAT_GATEWAY,
    )
    assert "with gateway endpoint vpce-express," in found.text
    assert "vpce-express has the tag aws:cloudformation:stack-name=net" in found.text
    assert found.command == (
        "aws ec2 modify-vpc-endpoint --region us-east-1 --vpc-endpoint-id vpce-express --add-route-table-ids rtb-1"
    )


def test_an_endpoint_that_is_already_there_is_not_associated_again() -> None:
    """For PARTLY_NAT, the route that wins is named and deleted."""
    narrow = route("198.51.100.128/25", "nat-1")
    found = remedy_in(
        network(table("rtb-1", NAT, ENDPOINT, narrow, subnets=("subnet-1",)), vpc_endpoints=by_id(endpoint())),
        Reason.PARTLY_NAT,
    )
    assert found.text.startswith("Route table rtb-1 already has a route to gateway endpoint vpce-express")
    assert "route 198.51.100.128/25 -> nat-1 wins" in found.text
    assert "Associate" not in found.text
    assert found.command == (
        "aws ec2 delete-route --region us-east-1 --route-table-id rtb-1 --destination-cidr-block 198.51.100.128/25"
    )


def test_an_equal_route_is_deleted() -> None:
    """An associated endpoint whose route never wins is not associated again either."""
    equal = route("198.51.100.0/24", "nat-1")
    found = remedy_in(
        network(table("rtb-1", ENDPOINT, equal, subnets=("subnet-1",)), vpc_endpoints=by_id(endpoint())),
        Reason.NAT_GATEWAY,
    )
    assert found.command.endswith("--destination-cidr-block 198.51.100.0/24")


@pytest.mark.parametrize(
    ("destination", "option"), [("pl-1", "--destination-prefix-list-id pl-1"), ("fd00::/64", "--destination-ipv6-cidr")]
)
def test_a_route_is_deleted_by_its_kind_of_destination(destination: str, option: str) -> None:
    """EC2 has an option for each kind of destination."""
    found = network(table("rtb-1", NAT, ENDPOINT, subnets=("subnet-1",)), vpc_endpoints=by_id(endpoint()))
    hop = verdict_on(network(table("rtb-1", NAT, subnets=("subnet-1",)))).path[0]
    verdict = replace(
        verdict_on(found),
        compliance=Compliance.NON_COMPLIANT,
        reason=Reason.PARTLY_NAT,
        path=(hop._replace(destination=destination),),
    )
    result = remedy(verdict, Tracer(found))
    assert result is not None
    assert option in result.command


def test_a_default_route_is_never_deleted() -> None:
    """If a default route carries the rest of the addresses, no command deletes it."""
    found = network(table("rtb-1", NAT, ENDPOINT, subnets=("subnet-1",)), vpc_endpoints=by_id(endpoint()))
    hop = verdict_on(network(table("rtb-1", NAT, subnets=("subnet-1",)))).path[0]
    partly = replace(verdict_on(found), compliance=Compliance.NON_COMPLIANT, reason=Reason.PARTLY_NAT, path=(hop,))
    result = remedy(partly, Tracer(found))
    assert result is not None
    assert "Use a dual-stack endpoint" in result.text
    assert result.command == ""


def test_nat64_turns_off_dns64() -> None:
    """The command changes the subnet, not the route."""
    dump = str(dump_of("dual-stack-with-dns64"))
    rows = json.loads(invoke(["scan", "--from-dump", dump, "--format", "ocsf"]).stdout)
    texts = [row["remediation"]["desc"] for row in rows if "remediation" in row]
    [text] = [text for text in texts if "64:ff9b::/96" in text]
    assert re.search(r"aws ec2 modify-subnet-attribute --region \S+ --subnet-id subnet-\S+ --no-enable-dns64$", text)


@pytest.mark.parametrize(
    ("reason", "compliance", "has_one"),
    [
        (Reason.ENDPOINT, Compliance.COMPLIANT, False),
        (Reason.INTERNET_GATEWAY, Compliance.COMPLIANT, False),
        (Reason.INTERNET_GATEWAY, Compliance.NON_COMPLIANT, True),
        (Reason.UNRESOLVED_EGRESS, Compliance.COMPLIANT, False),
        (Reason.UNRESOLVED_EGRESS, Compliance.NOT_APPLICABLE, True),
        (Reason.NO_ROUTE, Compliance.NOT_APPLICABLE, False),
        (Reason.DROPPED, Compliance.NOT_APPLICABLE, True),
    ],
)
def test_only_what_has_to_change_has_a_remedy(reason: Reason, compliance: Compliance, *, has_one: bool) -> None:
    """A passing subnet has none."""
    verdict = verdict_on(network(table("rtb-1", NAT, subnets=("subnet-1",))))
    assert (remedy(replace(verdict, reason=reason, compliance=compliance), None) is not None) is has_one


def test_a_name_of_a_forged_dump_is_no_command() -> None:
    """A command that people copy contains no id that a shell would run."""
    odd = "rtb-$(reboot)"
    found = remedy_in(network(table(odd, NAT, subnets=("subnet-1",))), Reason.NAT_GATEWAY)
    assert found.command == ""


def test_each_vpc_has_its_own_remedy() -> None:
    """Subnets of one table share a remedy; another VPC's endpoint is not used."""
    subnets = by_id(subnet(), subnet("subnet-2"), subnet("subnet-3", "vpc-2"))
    tables = by_id(
        table("rtb-1", NAT, subnets=("subnet-1", "subnet-2")),
        table("rtb-2", NAT, subnets=("subnet-3",), vpc_id="vpc-2"),
    )
    both = snapshot(subnets=subnets, route_tables=tables, vpc_endpoints=by_id(endpoint()))
    remedies = Remedies([View(Account(ACCOUNT), Tracer(both), tuple(subnets))])
    first, second, third = (remedies.of(verdict_on(both, subnet_id)) for subnet_id in subnets)
    assert first is second
    assert first is not None
    assert third is not None
    assert ("modify-vpc-endpoint" in first.command, "create-vpc-endpoint" in third.command) == (True, True)


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_a_list_of_remedies_has_one_command_for_a_vpc(form: str) -> None:
    """If remedies are listed together, no VPC gets two endpoints, and the page has the shared remedy once."""
    text = scanned(form, "network-firewall-then-nat")
    [command] = re.findall("aws ec2 create-vpc-endpoint [^`\n]*", text)
    assert command.endswith("--route-table-ids rtb-00d73354bca140aff rtb-0d78d78b0be99028e")
    assert "2 subnets, 1 of them NAT_BEHIND_APPLIANCE: Associate route tables" in text
    data = Parsed(scanned("html", "network-firewall-then-nat")).data()
    shared = {row[-1] for row in data["worklist"] if row[0] == "flagged"}
    assert [data["remedies"][index][1] for index in shared] == [command]


def scanned(form: str, dump: str = "two-halves-cover-a-cidr") -> str:
    """Return the output of a scan of a network with NATs, in one format."""
    return invoke(["scan", "--from-dump", str(dump_of(dump)), "--format", form]).stdout


def expected() -> set[str]:
    """Return the commands that every format must contain, from the JSON of explain."""
    dump = str(dump_of("nat-gateway-zonal"))
    rows = json.loads(invoke(["scan", "--from-dump", dump, "--format", "json"]).stdout)["subnets"]
    flagged = [row["subnetId"] for row in rows if row["compliance"] == "NON_COMPLIANT"]
    explained = [
        json.loads(invoke(["explain", key, "--from-dump", dump, "--format", "json"]).stdout) for key in flagged
    ]
    return {found["remedy"]["command"] for found in explained}


@pytest.mark.parametrize("form", ["table", "markdown", "html", "junit", "sarif", "ocsf"])
def test_every_format_has_the_same_command(form: str) -> None:
    """The command that explain shows is in the table, the report, and the documents for other tools."""
    commands = expected()
    assert commands
    text = scanned(form, "nat-gateway-zonal")
    for command in commands:
        assert command in text
    assert "<region>" not in text


def test_passing_findings_have_no_remedy() -> None:
    """In OCSF, SARIF, and JUnit only findings that need a change have a remedy."""
    ocsf = json.loads(scanned("ocsf", "nat-gateway-zonal"))
    assert {row["compliance"]["status"] for row in ocsf if "remediation" in row} == {"Fail"}
    [run] = json.loads(scanned("sarif", "nat-gateway-zonal"))["runs"]
    assert {result["kind"] for result in run["results"] if "remedy" in result["properties"]} == {"fail"}
    root = fromstring(scanned("junit", "nat-gateway-zonal"))
    assert all("aws ec2" in str(failure.text) for failure in root.iter("failure"))
