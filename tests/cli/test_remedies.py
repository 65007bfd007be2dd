"""One remedy for each reason, with the names of the resources, in every format."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest

from express_path.domain.network.resources import RouteTable
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account
from express_path_cli.remedies import Remedies, Remedy, remedy
from express_path_cli.remedy_texts import TEXTS, general_remedy
from express_path_cli.result import View
from tests.support.command import invoke
from tests.support.make import ACCOUNT, EXPRESS, by_id, endpoint, route, snapshot, subnet, table, verdict_on
from tests.support.scenarios import dump_of

ROOT = Path(__file__).parents[2]
NAT = route("0.0.0.0/0", "nat-1")
ENDPOINT = route("pl-express", "vpce-express")


def network(*tables: RouteTable, **more: object) -> Snapshot:
    """Return a network of subnet-1 and these tables."""
    return snapshot(**{"subnets": by_id(subnet()), "route_tables": by_id(*tables), **more})


def remedy_in(found: Snapshot, reason: Reason, **changed: Any) -> Remedy:  # noqa: ANN401  # fields of a verdict
    """Return the remedy of subnet-1, which has this reason."""
    verdict = verdict_on(found)
    assert verdict.reason is reason
    result = remedy(verdict._replace(**changed), Tracer(found))
    assert result is not None
    return result


@pytest.mark.parametrize("reason", Reason)
def test_the_document_has_the_remedy_of_every_reason(reason: Reason) -> None:
    """docs/how-it-decides.md lists each reason with its text, and with "nothing" where nothing has to change."""
    document = (ROOT / "docs" / "how-it-decides.md").read_text(encoding="utf-8")
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
    verdict = verdict_on(found)._replace(
        compliance=Compliance.NON_COMPLIANT, reason=Reason.PARTLY_NAT, path=(hop._replace(destination=destination),)
    )
    result = remedy(verdict, Tracer(found))
    assert result is not None
    assert option in result.command


def test_a_default_route_is_never_deleted() -> None:
    """If a default route carries the rest of the addresses, no command deletes it."""
    found = network(table("rtb-1", NAT, ENDPOINT, subnets=("subnet-1",)), vpc_endpoints=by_id(endpoint()))
    hop = verdict_on(network(table("rtb-1", NAT, subnets=("subnet-1",)))).path[0]
    partly = verdict_on(found)._replace(compliance=Compliance.NON_COMPLIANT, reason=Reason.PARTLY_NAT, path=(hop,))
    result = remedy(partly, Tracer(found))
    assert result is not None
    assert "Use a dual-stack endpoint" in result.text
    assert result.command == ""


def test_nat64_turns_off_dns64() -> None:
    """The command changes the subnet, not the route."""
    dump = str(dump_of("dual-stack-with-dns64"))
    rows = json.loads(invoke(["scan", "--from-dump", dump, "--format", "asff"]).stdout)
    texts = [row["Remediation"]["Recommendation"]["Text"] for row in rows if "Remediation" in row]
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
    assert (remedy(verdict._replace(reason=reason, compliance=compliance), None) is not None) is has_one


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


@pytest.mark.parametrize("form", ["table", "markdown", "html", "junit", "sarif", "asff", "ocsf"])
def test_every_format_has_the_same_command(form: str) -> None:
    """The command that explain shows is in the table, the report, and the documents for other tools."""
    commands = expected()
    assert commands
    text = scanned(form, "nat-gateway-zonal")
    for command in commands:
        assert command in text
    assert "<region>" not in text


def test_passing_findings_have_no_remedy() -> None:
    """In OCSF, ASFF, SARIF and JUnit only findings that need a change have a remedy."""
    asff, ocsf = (json.loads(scanned(form, "nat-gateway-zonal")) for form in ("asff", "ocsf"))
    assert {row["Compliance"]["Status"] for row in asff if "Remediation" in row} == {"FAILED"}
    assert {row["Compliance"]["Status"] for row in asff if "Remediation" not in row} == {"PASSED"}
    assert {row["compliance"]["status"] for row in ocsf if "remediation" in row} == {"Fail"}
    [run] = json.loads(scanned("sarif", "nat-gateway-zonal"))["runs"]
    assert {result["kind"] for result in run["results"] if "remedy" in result["properties"]} == {"fail"}
    root = fromstring(scanned("junit", "nat-gateway-zonal"))
    assert all("aws ec2" in str(failure.text) for failure in root.iter("failure"))
