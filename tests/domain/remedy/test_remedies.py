"""The remedy of a verdict: what to do, with the names of the resources, and the command that does it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from express_path.domain.network.addresses import Family, parse_cidr
from express_path.domain.network.resources import PrefixList, Rank, RouteTable
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.path.tracing import Tracer
from express_path.domain.remedy.remedies import Remedies, is_accepted, remedy
from express_path.domain.remedy.texts import TEXTS, Remedy, general_remedy, listed
from express_path.domain.verdict.evaluator import Evaluator
from express_path.domain.verdict.parameters import RuleParameters
from tests.support.make import (
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

ROOT = Path(__file__).parents[3]
NAT = route("0.0.0.0/0", "nat-1")
ENDPOINT = route("pl-express", "vpce-express")


def network(*tables: RouteTable, **more: object) -> Snapshot:
    """Return a network of subnet-1 and these tables."""
    return snapshot(**{"subnets": by_id(subnet()), "route_tables": by_id(*tables), **more})


def evaluator(found: Snapshot) -> Evaluator:
    """Return the evaluator of a network."""
    return Evaluator(Tracer(found), RuleParameters())


def remedy_in(found: Snapshot, reason: Reason) -> Remedy:
    """Return the remedy of subnet-1, which has this reason."""
    verdict = verdict_on(found)
    assert verdict.reason is reason
    result = remedy(verdict, evaluator(found))
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
    assert str(found) == f"{found.text} {found.note} Command: {found.command}"


def test_without_its_network_a_remedy_names_no_command() -> None:
    """Of a saved scan, only the verdict is known."""
    found = Remedies().of(verdict_on(network(table("rtb-1", NAT, subnets=("subnet-1",)))))
    assert found is not None
    assert (found.command, str(found)) == ("", found.advice)


def test_many_ids_are_counted() -> None:
    """Up to three are named, each once."""
    assert listed(["nat-1", "nat-2", "nat-1", "nat-3"], "or", "NATs") == "nat-1, nat-2 or nat-3"
    assert listed(["nat-1", "nat-2", "nat-3", "nat-4"], "or", "NATs") == "4 NATs"


def many(number: int, **more: object) -> Snapshot:
    """Return a network of a VPC with this many subnets, each with its own table."""
    subnets = [subnet(f"subnet-{place}") for place in range(number)]
    tables = [table(f"rtb-{place}", NAT, subnets=(f"subnet-{place}",)) for place in range(number)]
    return snapshot(**{"subnets": by_id(*subnets), "route_tables": by_id(*tables), **more})


def test_one_finding_says_what_to_do_if_another_one_creates_the_endpoint() -> None:
    """A finding is about its own table; without a new endpoint, there is nothing to say."""
    found = many(2)
    for place in range(2):
        single = remedy(verdict_on(found, f"subnet-{place}"), evaluator(found))
        assert single is not None
        assert single.command.endswith(f"--route-table-ids rtb-{place}")
        assert single.note == "If vpc-1 gets an endpoint for S3 Express first, associate the route table with that one."
    existing = many(1, vpc_endpoints=by_id(endpoint()))
    assert getattr(remedy(verdict_on(existing, "subnet-0"), evaluator(existing)), "note", None) == ""


@pytest.mark.parametrize(
    ("list_id", "command"),
    [
        (
            "pl-customer",
            "aws ec2 delete-route --region us-east-1 --route-table-id rtb-1 --destination-prefix-list-id pl-customer",
        ),
        ("aws_ec2_managed_prefix_list.office", ""),
    ],
)
def test_a_prefix_list_that_wins_may_not_exist_yet(list_id: str, command: str) -> None:
    """In a plan, its address stands for its ID, so there is no command yet."""
    lists = by_id(
        EXPRESS_LIST, PrefixList(list_id, "office", Family.IPV4, (parse_cidr("198.51.100.0/25"),), aws_owned=False)
    )
    to_list = replace(route("pl-customer", "nat-1"), destination=list_id)
    found = network(
        table("rtb-1", ENDPOINT, to_list, subnets=("subnet-1",)),
        vpc_endpoints=by_id(endpoint(route_table_ids=("rtb-1",))),
        prefix_lists=lists,
    )
    assert remedy_in(found, Reason.PARTLY_NAT).command == command


STACK = {"aws:cloudformation:stack-name": "net"}


@pytest.mark.parametrize("owned", ["vpce-express", "rtb-1"])
def test_what_a_stack_owns_is_changed_with_its_template(owned: str) -> None:
    """For an endpoint or a route table of a stack, there is no command, and only CloudFormation's patch."""
    tags = {owned: STACK}
    tables = table("rtb-1", NAT, subnets=("subnet-1",), tags=tags.get("rtb-1", {}))
    endpoints = by_id(endpoint(tags=tags.get("vpce-express", {})))
    found = remedy_in(network(tables, vpc_endpoints=endpoints), Reason.NAT_GATEWAY)
    assert f"{owned} has the tag aws:cloudformation:stack-name=net: make the change in the tool" in found.text
    assert (found.command, [*found.patches]) == ("", ["cloudFormation"])
    narrow = route("198.51.100.128/25", "nat-1")
    partly = remedy_in(
        network(replace(tables, routes=(NAT, ENDPOINT, narrow)), vpc_endpoints=endpoints), Reason.PARTLY_NAT
    )
    assert (partly.command == "") is (owned == "rtb-1")


def test_a_remedy_is_one_that_a_heal_would_accept() -> None:
    """If another route would win over the endpoint's, or an excluded subnet would move, that is what to change first."""
    narrow = route("198.51.100.128/25", "nat-1")
    excluded = subnet("subnet-2", tags={"express-path:exclude": ""})
    beside = network(table("rtb-1", NAT, subnets=("subnet-1", "subnet-2")), subnets=by_id(subnet(), excluded))
    for found, text in (
        (network(table("rtb-1", NAT, narrow, subnets=("subnet-1",))), "delete 198.51.100.128/25 from rtb-1"),
        (beside, "rtb-1 also governs subnet-2"),
    ):
        result = remedy_in(found, Reason.NAT_GATEWAY)
        assert text in result.text
        assert (result.command, result.patches, result.endpoint) == ("", {}, None)
        assert not is_accepted(result)


def test_an_endpoint_of_the_vpc_is_associated() -> None:
    """The command changes the endpoint that exists, and the text says what that breaks."""
    found = remedy_in(
        network(table("rtb-1", NAT, subnets=("subnet-1",)), vpc_endpoints=by_id(endpoint())), Reason.NAT_GATEWAY
    )
    assert is_accepted(found)
    assert "with gateway endpoint vpce-express," in found.text
    assert "Open TCP connections to S3 Express drop" in found.text
    assert found.command == (
        "aws ec2 modify-vpc-endpoint --region us-east-1 --vpc-endpoint-id vpce-express --add-route-table-ids rtb-1"
    )


@pytest.mark.parametrize(
    ("target", "state", "family", "may_win"),
    [
        ("vgw-1", "active", Family.IPV4, True),
        ("nat-1", "active", Family.IPV4, True),
        ("vgw-1", "active", Family.IPV6, False),
        ("vgw-1", "blackhole", Family.IPV4, False),
        ("vpce-express", "active", Family.IPV4, False),
    ],
)
def test_a_list_that_cannot_be_read_may_win_over_the_endpoint(
    target: str, state: str, family: Family, *, may_win: bool
) -> None:
    """Then no association is called the fix: the permission is needed first, even if the route leads to the same NAT."""
    hidden = PrefixList("pl-hidden", "own", family, None, aws_owned=False)
    found = network(
        table("rtb-1", NAT, route("pl-hidden", target, state=state), subnets=("subnet-1",)),
        vpc_endpoints=by_id(endpoint()),
        prefix_lists=by_id(EXPRESS_LIST, hidden),
    )
    result = remedy_in(found, Reason.NAT_GATEWAY)
    assert (f"pl-hidden -> {target} in rtb-1 may carry S3 Express traffic" in result.text) is may_win
    assert ("grant ec2:GetManagedPrefixListEntries" in result.text) is may_win
    assert (result.command == "", result.endpoint is None) == (may_win, may_win)


def test_an_endpoint_that_is_already_there_is_not_associated_again() -> None:
    """For PARTLY_NAT, the route that wins is named and deleted."""
    narrow = route("198.51.100.128/25", "nat-1")
    found = remedy_in(
        network(
            table("rtb-1", NAT, ENDPOINT, narrow, subnets=("subnet-1",)),
            vpc_endpoints=by_id(endpoint("vpce-another"), endpoint()),
        ),
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


def test_a_propagated_route_is_not_deleted() -> None:
    """Nobody can delete it: a gateway or a route server writes it into the table."""
    advertised = route("198.51.100.128/25", "nat-1", rank=Rank.PROPAGATED)
    found = remedy_in(
        network(table("rtb-1", NAT, ENDPOINT, advertised, subnets=("subnet-1",)), vpc_endpoints=by_id(endpoint())),
        Reason.PARTLY_NAT,
    )
    assert "stop propagating it to the route table, or stop advertising it" in found.text
    assert not found.command


@pytest.mark.parametrize(
    ("destination", "has_dns64", "command"),
    [
        ("198.51.100.128/25", False, "delete-route --region us-east-1 --route-table-id rtb-1 --destination-cidr-block"),
        ("pl-1", False, "--destination-prefix-list-id pl-1"),
        ("fd00::/64", True, "--destination-ipv6-cidr-block fd00::/64"),
        ("64:ff9b::/96", True, "modify-subnet-attribute --region us-east-1 --subnet-id subnet-1 --no-enable-dns64"),
        ("0.0.0.0/0", False, ""),
        ("::/0", False, ""),
    ],
)
def test_the_route_that_wins_beside_an_endpoint_is_deleted(destination: str, command: str, *, has_dns64: bool) -> None:
    """A default route is never deleted, since it carries the rest; for NAT64, the subnet is changed, not the route."""
    found = network(table("rtb-1", NAT, ENDPOINT, subnets=("subnet-1",)), vpc_endpoints=by_id(endpoint()))
    found = replace(found, subnets=by_id(subnet(dns64=has_dns64)))
    hop = verdict_on(network(table("rtb-1", NAT, subnets=("subnet-1",)))).path[0]._replace(destination=destination)
    partly = replace(verdict_on(found), compliance=Compliance.NON_COMPLIANT, reason=Reason.PARTLY_NAT, path=(hop,))
    result = remedy(partly, evaluator(found))
    assert result is not None
    assert command in result.command
    assert bool(result.command) is bool(command)
    assert ("Use a dual-stack endpoint" in result.text) is not bool(command)


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
    remedies = Remedies([evaluator(both)])
    first, second, third = (remedies.of(verdict_on(both, subnet_id)) for subnet_id in subnets)
    assert first is second
    assert first is not None
    assert third is not None
    assert ("modify-vpc-endpoint" in first.command, "create-vpc-endpoint" in third.command) == (True, True)
