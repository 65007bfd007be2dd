"""Verdicts: what is decided before routing, how addresses combine, and what the annotation says."""

from dataclasses import replace

import pytest

from express_path.domain.network.addresses import Family, parse_cidr
from express_path.domain.network.resources import Association, NatGateway, PrefixList, Vpc
from express_path.domain.network.snapshot import Snapshot, is_express_service, may_be_express_service
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import DELETED, LEFT_SCOPE, outside_vpc_ids, verdict_without_network
from tests.support.make import (
    ACCOUNT,
    EXPRESS,
    EXPRESS_LIST,
    NEIGHBOUR,
    by_id,
    endpoint,
    evaluator,
    route,
    snapshot,
    subnet,
    table,
    verdict_on,
)

EXPRESS6 = PrefixList(
    "pl-express6", "com.amazonaws.us-east-1.ipv6.s3express", Family.IPV6, (parse_cidr("2001:db8::/64"),)
)
TO_ENDPOINT = route("pl-express", "vpce-express")


def one(*routes: object, **more: object) -> Snapshot:
    """A VPC with one subnet, governed by rtb-1."""
    found = {
        "vpcs": by_id(Vpc("vpc-1", ACCOUNT)),
        "subnets": by_id(subnet()),
        "route_tables": by_id(table("rtb-1", *routes, subnets=("subnet-1",))),
        "vpc_endpoints": by_id(endpoint()),
        **more,
    }
    return snapshot(**found)


def test_a_verdict_names_its_subnet() -> None:
    """A verdict has the account, Region, VPC, subnet, zone, and governing route table."""
    found = one(TO_ENDPOINT, subnets=by_id(subnet(availability_zone_id="use1-az4")))
    verdict = verdict_on(found)
    assert (verdict.account_id, verdict.region, verdict.vpc_id) == (ACCOUNT, "us-east-1", "vpc-1")
    assert (verdict.subnet_id, verdict.availability_zone_id, verdict.route_table_id) == (
        "subnet-1",
        "use1-az4",
        "rtb-1",
    )
    assert (verdict.compliance, verdict.reason) == ("COMPLIANT", "ENDPOINT")
    assert verdict.path == (("GATEWAY_ENDPOINT", "vpce-express", "pl-express"),)


def test_a_subnet_that_is_gone() -> None:
    """If the subnet is not in the snapshot, the verdict has no VPC, zone, or route table."""
    verdict = verdict_on(one(), "subnet-9")
    assert verdict == verdict_without_network(ACCOUNT, "us-east-1", "subnet-9", DELETED)
    assert (verdict.vpc_id, verdict.route_table_id, verdict.reason) == ("", None, "DELETED")


def test_a_subnet_that_left_the_rules_scope() -> None:
    """The rule no longer evaluates it, regardless of its path."""
    verdict = verdict_without_network(ACCOUNT, "us-east-1", "subnet-1", LEFT_SCOPE)
    assert (verdict.compliance, verdict.reason) == ("NOT_APPLICABLE", "EXCLUDED")


@pytest.mark.parametrize("holder", ["subnets", "route_tables", "vpcs"])
def test_a_tag_excludes_on_subnet_table_or_vpc(holder: str) -> None:
    """A tag on the subnet, its governing route table, or its VPC excludes the subnet."""
    found = one(TO_ENDPOINT)
    tagged = {key: replace(resource, tags={"team": "lake"}) for key, resource in getattr(found, holder).items()}
    found = replace(found, **{holder: tagged})
    [tagged_id] = tagged
    assert verdict_on(found, exclude_tag="team").note == f"tag team on {tagged_id}"
    verdict = verdict_on(found, exclude_tag="team=lake")
    assert verdict.reason == "EXCLUDED"
    assert verdict.annotation == f"EXCLUDED: excluded from the rule (tag team=lake on {tagged_id})"
    assert verdict_on(found, exclude_tag="team=Lake").reason == "ENDPOINT"
    assert verdict_on(found, exclude_tag="Team").reason == "ENDPOINT"


@pytest.mark.parametrize(("owner", "reason"), [(ACCOUNT, "EXCLUDED"), (NEIGHBOUR, "NOT_OWNED")])
def test_a_subnet_that_vpc_ids_leaves_out_needs_no_network(owner: str, reason: str) -> None:
    """The verdict from the configuration item equals the verdict from the whole network."""
    verdict = verdict_without_network(ACCOUNT, "us-east-1", "subnet-1", outside_vpc_ids(ACCOUNT, owner))
    routed = verdict_on(one(subnets=by_id(subnet(owner_id=owner))), vpc_ids=frozenset({"vpc-2"}))
    assert verdict.reason == reason
    assert (verdict.compliance, verdict.reason, verdict.annotation) == (
        routed.compliance,
        routed.reason,
        routed.annotation,
    )


@pytest.mark.parametrize(
    ("target", "denied", "of_role", "lost"),
    [
        ("eni-1", ("ec2:DescribeNetworkInterfaces",), (), "ec2:DescribeNetworkInterfaces"),
        ("eni-1", ("ec2:DescribeInstances",), (), ""),
        ("vgw-1", ("ec2:DescribeNetworkInterfaces",), (), ""),
        ("eni-1", ("ec2:DescribeNetworkInterfaces",), ("sts:AssumeRole",), "ec2:DescribeNetworkInterfaces"),
        ("tgw-1", ("sts:AssumeRole",), ("sts:AssumeRole",), "sts:AssumeRole"),
        ("nat-1", ("ec2:DescribeNetworkInterfaces",), ("sts:AssumeRole",), ""),
    ],
)
def test_a_path_that_is_unknown_for_a_denied_read_names_the_read(
    target: str, denied: tuple[str, ...], of_role: tuple[str, ...], lost: str
) -> None:
    """Only a read that the path needs counts, and beyond a transit gateway every read under networkRoleArn."""
    found = one(route("0.0.0.0/0", target), denied=denied, denied_to_role=of_role)
    deciding = evaluator(found)
    assert deciding.lost_read(deciding.verdict("subnet-1")) == lost


TO_NAT = route("0.0.0.0/0", "nat-1")
EDGE = Association(gateway_id="igw-1")


@pytest.mark.parametrize(
    ("tables", "governing"),
    [
        ([table("rtb-1", TO_NAT, subnets=("subnet-1",)), table("rtb-0", main=True)], "rtb-1"),
        ([table("rtb-1", TO_NAT, subnets=("subnet-2",)), table("rtb-0", main=True)], "rtb-0"),
        ([table("rtb-0", main=True, vpc_id="vpc-2")], None),
        ([replace(table("rtb-0"), associations=(Association(main=True, state="disassociated"),))], None),
        ([replace(table("rtb-1"), associations=(EDGE,)), table("rtb-0", main=True)], "rtb-0"),
        ([replace(table("rtb-0"), associations=(Association(main=True), EDGE))], "rtb-0"),
        (
            [
                replace(table("rtb-1"), associations=(EDGE, Association(subnet_id="subnet-1"))),
                table("rtb-0", main=True),
            ],
            "rtb-1",
        ),
        (
            [table("rtb-1", subnets=("subnet-1",)), table("rtb-2", subnets=("subnet-1",)), table("rtb-0", main=True)],
            None,
        ),
        ([table("rtb-1", main=True), table("rtb-2", main=True)], None),
        ([table("rtb-1", main=True), table("rtb-2", main=True), table("rtb-3", main=True)], None),
        ([table("rtb-1", main=True), table("rtb-2", main=True), table("rtb-3", subnets=("subnet-1",))], "rtb-3"),
        ([table("rtb-1", subnets=("subnet-1", "subnet-1"))], "rtb-1"),
        ([table("rtb-regional", main=True)], "rtb-regional"),
        ([table("rtb-regional", subnets=("subnet-1",)), table("rtb-0", main=True)], "rtb-regional"),
        ([table("rtb-0")], None),
        ([replace(table("rtb-0"), associations=(Association(),))], None),
        ([table("rtb-1", subnets=("segment-1",)), table("rtb-0", main=True)], None),
        ([table("rtb-1", subnets=("segment-1",)), table("rtb-2", subnets=("subnet-1",))], "rtb-2"),
        ([table("rtb-1", subnets=("subnet-9",)), table("rtb-0", main=True)], "rtb-0"),
        ([replace(table("rtb-1", subnets=("segment-1",)), vpc_id="vpc-2"), table("rtb-0", main=True)], "rtb-0"),
    ],
    ids=[
        "explicit",
        "main",
        "another VPC's main",
        "not associated",
        "edge",
        "main and edge",
        "explicit and edge",
        "two explicit",
        "two main",
        "three main",
        "explicit beside two main",
        "explicit twice",
        "a regional NAT gateway's is main",
        "a regional NAT gateway's",
        "of nothing",
        "of a pool",
        "a subnet's id of a new form",
        "explicit beside such an id",
        "an unlisted subnet's",
        "such an id in another VPC",
    ],
)
def test_the_governing_table(tables: list, governing: str | None) -> None:
    """The explicitly associated table, else the main one of the subnet's own VPC, else none.

    Where two tables claim to be the one, as a list read during a change may show it, neither is known to be.
    """
    regional = NatGateway("nat-1", "vpc-1", availability_mode="regional", route_table_id="rtb-regional")
    listed = by_id(table("rtb-regional"), *tables)
    network = one(route_tables=listed, nat_gateways=by_id(regional))
    table_found = Tracer(network).governing_table(network.subnets["subnet-1"])
    assert (table_found.id if table_found else None) == governing
    assert verdict_on(network).route_table_id == governing


BY_DEFAULT = one(route_tables=by_id(table("rtb-0", TO_ENDPOINT, main=True)))


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        *((state, "UNRESOLVED_EGRESS") for state in ("available", "pending")),
        *((state, "ENDPOINT") for state in ("deleting", "deleted", "failed")),
    ],
)
def test_an_endpoint_that_names_an_unlisted_table_shows_that_the_list_is_partial(state: str, reason: str) -> None:
    """An endpoint of any service does, unless it is being deleted: it may still name a table that is gone already."""
    other = endpoint(
        "vpce-s3", service_name="com.amazonaws.us-east-1.s3", state=state, route_table_ids=("rtb-9", "rtb-0")
    )
    verdict = verdict_on(replace(BY_DEFAULT, vpc_endpoints=by_id(endpoint(), other)))
    assert (verdict.reason, verdict.route_table_id) == (reason, "rtb-0" if reason == "ENDPOINT" else None)
    assert ("vpce-s3 names rtb-9" in verdict.annotation) is (reason != "ENDPOINT")


def test_an_unlisted_table_of_the_subnet_itself_is_never_replaced_by_the_main_one() -> None:
    """The source knows that the subnet has an association of its own."""
    named = replace(BY_DEFAULT, subnets=by_id(subnet(table_ids=("rtb-9",))))
    verdict = verdict_on(named)
    assert (verdict.reason, verdict.route_table_id) == ("UNRESOLVED_EGRESS", None)
    assert "subnet-1 names rtb-9" in verdict.annotation
    listed = {**named.route_tables, "rtb-9": table("rtb-9", TO_ENDPOINT, subnets=("subnet-1",))}
    assert verdict_on(replace(named, route_tables=listed)).route_table_id == "rtb-9"


@pytest.mark.parametrize(
    ("routes", "reason"),
    [
        ((), "NO_ROUTE"),
        ((route("10.0.0.0/16", "local"),), "NO_ROUTE"),
        ((route("::/0", "eigw-1"),), "NO_ROUTE"),
        ((route("0.0.0.0/0", "nat-1", state="blackhole"),), "NO_ROUTE"),
        ((route("pl-express", "vpce-gone", state="blackhole"),), "NO_ROUTE"),
        ((route("pl-own6", "nat-1"),), "NO_ROUTE"),
        ((route("10.0.0.0/16", "local"), TO_NAT), "UNRESOLVED_EGRESS"),
        ((TO_ENDPOINT,), "UNRESOLVED_EGRESS"),
        ((route("pl-unknown", "nat-1"),), "UNRESOLVED_EGRESS"),
    ],
)
def test_a_list_of_s3_express_without_entries_in_sight(routes: tuple, reason: str) -> None:
    """If S3 Express's addresses are unknown, only a table without a way out gives a certain verdict."""
    hidden = replace(EXPRESS_LIST, cidrs=None)
    own6 = PrefixList("pl-own6", "own", Family.IPV6, None, aws_owned=False)
    assert verdict_on(one(*routes, prefix_lists=by_id(hidden, own6))).reason == reason
    ipv4_only = one(*routes, prefix_lists=by_id(replace(EXPRESS6, cidrs=None)))
    assert verdict_on(ipv4_only).reason == "NO_ROUTE"


def test_an_annotation_is_never_longer_than_config_takes() -> None:
    """256 characters, the end cut off with three dots."""
    verdict = verdict_on(one(route("0.0.0.0/0", "x" * 300)))
    assert len(verdict.annotation) == 256
    assert verdict.annotation.endswith("...")


def test_hops_are_those_of_every_address() -> None:
    """Hops are yielded for each S3 Express address; a table out of sight leads to none."""
    found = one(TO_ENDPOINT, route("198.51.100.64/26", "nat-1"))
    assert {hop.id for hop in Tracer(found).hops(found.subnets["subnet-1"])} == {"vpce-express", "nat-1"}
    assert not list(Tracer(one(route_tables={})).hops(subnet()))


@pytest.mark.parametrize(
    ("name", "known"),
    [
        (EXPRESS, True),
        ("com.amazonaws.us-east-1.ipv6.s3express", True),
        ("cn.com.amazonaws.us-east-1.s3express", True),
        ("com.amazonaws.us-east-1.s3", False),
        ("com.amazonaws.eu-west-1.s3express", False),
        ("com.amazonaws.us-east-1.s3express.x", False),
        ("com.amazonaws.us-east-1xs3express", False),
    ],
)
def test_the_service_is_known_by_name_and_region(name: str, known: bool) -> None:
    """A list counts in any partition and for either family, but only in this Region."""
    assert is_express_service(name, "us-east-1") is known


@pytest.mark.parametrize(
    ("name", "doubtful"),
    [
        ("com.amazonaws.us-east-1.s3express.ipv6", True),
        ("com.amazonaws.global.S3Express", True),
        ("", True),
        ("com.amazonaws.us-east-1.s3express-onezone", True),
        (EXPRESS, False),
        ("com.amazonaws.us-east-1.s3", False),
        ("com.amazonaws.eu-west-1.s3express", False),
        ("com.amazonaws.eu-west-1.s3express.ipv6", False),
    ],
)
def test_a_name_of_an_unknown_form_may_be_the_services(name: str, doubtful: bool) -> None:
    """It contains the service's name, and is not known to be that of another Region."""
    assert may_be_express_service(name, "us-east-1") is doubtful


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, "UNRESOLVED_EGRESS"),
        ({"aws_owned": False}, "ENDPOINT"),
        ({"family": Family.IPV6}, "ENDPOINT"),
    ],
)
def test_a_doubtful_list_has_unknown_addresses_of_its_family(change: dict, reason: str) -> None:
    """The subnet has no IPv6, and customers choose the names of their lists."""
    doubtful = replace(EXPRESS_LIST, id="pl-odd", name="com.amazonaws.us-east-1.s3express.ipv6", **change)
    assert verdict_on(one(TO_ENDPOINT, prefix_lists=by_id(EXPRESS_LIST, doubtful))).reason == reason


def test_a_doubtful_list_alone_may_be_the_services() -> None:
    """SERVICE_NOT_OFFERED needs certainty. Without any route, no address has a way out."""
    doubtful = by_id(replace(EXPRESS_LIST, name="com.amazonaws.us-east-1.s3express.dual"))
    assert verdict_on(one(TO_NAT, prefix_lists=doubtful)).reason == "UNRESOLVED_EGRESS"
    assert verdict_on(one(prefix_lists=doubtful)).reason == "NO_ROUTE"
