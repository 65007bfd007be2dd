"""The endpoint of a heal: which one is used, who owns it, what its route would not win, what it opens, and its quotas."""

from dataclasses import replace

import pytest

from express_path.domain.heal.endpoints import (
    counts_against_quota,
    express_endpoints,
    needs_more_routes_than_default,
    with_association,
)
from express_path.domain.heal.ledger_records import (
    LedgerView,
    Marks,
    RunKind,
    RunRecord,
    StartedBy,
    TableRecord,
    VpcRecord,
)
from express_path.domain.heal.ownership import policy_hash
from express_path.domain.heal.preflight import ENDPOINT_QUOTA, ROUTE_QUOTA, Evidence, Policy, Quota
from express_path.domain.heal.records import FULL_ACCESS, MANAGED_TAG, Blocker, PlanAction
from express_path.domain.network.addresses import Family, parse_cidr
from express_path.domain.network.merging import merged
from express_path.domain.network.resources import (
    Association,
    BlockMode,
    NatGateway,
    NetworkInterface,
    PrefixList,
    Rank,
    Route,
    Subnet,
    Vpc,
    VpcEndpoint,
)
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.parameters import RuleParameters
from tests.support.heal_situation import (
    BOTH,
    DUAL_STACK,
    EXPRESS_LIST_6,
    IPV6_ONLY,
    TO_NAT,
    blockers,
    evidence_of,
    network,
    planned,
)
from tests.support.make import (
    ACCOUNT,
    EXPRESS,
    EXPRESS_LIST,
    NEIGHBOUR,
    REGION,
    by_id,
    endpoint,
    route,
    snapshot,
    subnet,
    table,
)

MANAGED = {MANAGED_TAG: "true"}
STACK = {"aws:cloudformation:stack-name": "network", "aws:cloudformation:logical-id": "Express"}

# --- the choice ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        endpoint(service_name=f"com.amazonaws.{REGION}.s3"),
        endpoint(endpoint_type="interface"),
        endpoint(vpc_id="vpc-2"),
        endpoint(service_name="com.amazonaws.eu-west-1.s3express"),
    ],
    ids=["S3", "interface", "other VPC", "other Region"],
)
def test_only_gateway_endpoints_of_the_service_and_vpc_count(other: VpcEndpoint) -> None:
    """An endpoint of another service, type, VPC, or Region does not prevent the creation of one."""
    assert express_endpoints(network(endpoints=(other,)), "vpc-1") == []


def test_endpoints_of_other_partitions_count() -> None:
    """In China, the service's name begins with cn."""
    assert planned(network(endpoints=(endpoint(service_name=f"cn.{EXPRESS}"),))).action is PlanAction.ASSOCIATE


@pytest.mark.parametrize(
    ("state", "action", "found"),
    [
        *((state, PlanAction.ASSOCIATE, []) for state in ("available", "pending")),
        ("deleting", PlanAction.BLOCKED, [Blocker.ENDPOINT_DELETING]),
        *(
            (state, PlanAction.CREATE_AND_ASSOCIATE, [])
            for state in ("deleted", "failed", "rejected", "pendingacceptance")
        ),
    ],
)
def test_endpoint_is_used_by_its_state(state: str, action: PlanAction, found: list[Blocker]) -> None:
    """The runbook waits for a pending one. One that is being deleted blocks: a new one would meet its routes.

    An endpoint that will never carry traffic is ignored, and a new one is created.
    """
    plan = planned(network(endpoints=(endpoint(state=state),)))
    assert (plan.action, blockers(plan)) == (action, found)
    assert all("vpce-express" in concern.evidence for concern in plan.blockers)


DUAL_ENDPOINT = endpoint("vpce-1", ip_address_type="dualstack")


@pytest.mark.parametrize(
    ("endpoints", "dual", "chosen"),
    [
        ((endpoint("vpce-1", state="deleting"), endpoint("vpce-2")), False, "vpce-2"),
        ((endpoint("vpce-1"), endpoint("vpce-2", tags=MANAGED)), False, "vpce-2"),
        ((endpoint("vpce-1", tags=STACK), endpoint("vpce-2")), False, "vpce-2"),
        ((endpoint("vpce-1", tags={**STACK, **MANAGED}), endpoint("vpce-2")), False, "vpce-2"),
        ((endpoint("vpce-1", tags={"terraform": "yes"}), endpoint("vpce-2")), False, "vpce-2"),
        ((endpoint("vpce-2"), endpoint("vpce-1")), False, "vpce-1"),
        ((DUAL_ENDPOINT, endpoint("vpce-2")), False, "vpce-2"),
        ((endpoint("vpce-0"), DUAL_ENDPOINT), True, "vpce-1"),
    ],
    ids=[
        *["not being deleted", "a heal's", "not CloudFormation's", "not even if a heal's", "not Terraform's", "by id"],
        *["one that EC2 accepts for the subnets", "one that cures both families"],
    ],
)
def test_of_several_endpoints_one_is_chosen(endpoints: tuple[VpcEndpoint, ...], dual: bool, chosen: str) -> None:
    """One that cures, rather one that no tool owns, then one that a heal made, then the first by id: all runs agree."""
    routes = (TO_NAT, route("::/0", "nat-2")) if dual else (TO_NAT,)
    subnets = (DUAL_STACK,) if dual else (subnet(),)
    found = network(*routes, subnets=subnets, endpoints=endpoints, lists=BOTH)
    plan = planned(found, owner_tags=("terraform",))
    assert (plan.action, plan.endpoint_id, plan.blockers) == (PlanAction.ASSOCIATE, chosen, ())


@pytest.mark.parametrize("address_type", ["dualstack", "ipv6"])
def test_endpoint_whose_address_type_the_subnets_lack_is_not_used(address_type: str) -> None:
    """EC2 refuses a dual-stack (IPv6) endpoint for a table with a subnet that is not dual-stack (IPv6-only)."""
    plan = planned(network(lists=BOTH, endpoints=(endpoint(ip_address_type=address_type),)))
    assert (plan.action, plan.endpoint_id) == (PlanAction.CREATE_AND_ASSOCIATE, None)


# --- its owner -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tags", "owner_tags", "shown"),
    [
        ({"aws:cloudformation:stack-name": "network"}, (), "aws:cloudformation:stack-name=network"),
        ({"aws:cloudformation:stack-id": "arn"}, (), "aws:cloudformation:stack-id=arn"),
        ({"terraform": "anything"}, ("terraform",), "terraform=anything"),
        ({"managed-by": "terraform"}, ("owner", "managed-by=terraform"), "managed-by=terraform"),
    ],
)
def test_endpoint_of_a_tool_is_left_to_it(tags: dict[str, str], owner_tags: tuple[str, ...], shown: str) -> None:
    """OWNED_BY_IAC: CloudFormation's tags, and those that a team names, mark an endpoint as a tool's.

    With AdoptIacOwned, a team lets heals change what a tool owns.
    """
    found = network(endpoints=(endpoint(tags=tags),))
    plan = planned(found, owner_tags=owner_tags)
    assert (plan.action, blockers(plan), plan.endpoint_id) == (
        PlanAction.BLOCKED,
        [Blocker.OWNED_BY_IAC],
        "vpce-express",
    )
    assert plan.blockers[0].evidence == f"vpce-express has the tag {shown}, so a tool owns it"
    adopted = planned(found, owner_tags=owner_tags, adopt_iac_owned=True)
    assert (adopted.action, adopted.blockers) == (PlanAction.ASSOCIATE, ())


MANAGED = {MANAGED_TAG: "true"}
OTHER_POLICY = '{"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3express:*", "Resource": "*"}]}'
CREATOR = RunRecord(
    *("run-1", RunKind.HEAL, StartedBy.PERSON, ACCOUNT, "subnet-2", "vpc-1", "rtb-2", "vpce-express"),
    created_endpoint=True,
    associated_at="2026-11-20T12:00:00+00:00",
    marks=Marks(policy=policy_hash(FULL_ACCESS), tag_keys=frozenset({"express-path:managed", "cost"})),
)
INTERRUPTED = replace(CREATOR, associated_at="", marks=Marks(policy=policy_hash(FULL_ACCESS)))
UNRECORDED = replace(CREATOR, endpoint_id="", created_endpoint=False, associated_at="", marks=None)
CREATED = LedgerView(TableRecord(""), VpcRecord("vpc-1", created_ids=frozenset({"vpce-express"})))
UNLISTED = LedgerView(TableRecord(""), VpcRecord("vpc-1", token_run="run-1"))


@pytest.mark.parametrize(
    ("tags", "policy", "tools"),
    [
        ({**MANAGED, "Project": "data"}, FULL_ACCESS, ["cloudFormation", "terraform"]),
        ({**MANAGED, "managed-by": "terraform"}, FULL_ACCESS, ["terraform"]),
        ({"cost": "1"}, FULL_ACCESS, ["cloudFormation", "terraform"]),
        (MANAGED, OTHER_POLICY, ["cloudFormation", "terraform"]),
    ],
    ids=["a key was added", "a tool's key was added", "the managed tag is gone", "another policy"],
)
def test_endpoint_of_heals_that_a_tool_took_over_is_left_to_it(
    tags: dict[str, str], policy: str, tools: list[str]
) -> None:
    """OWNED_BY_IAC, with that tool's patch, by undo's test: what changed since the heal that created it read it back."""
    found = network(endpoints=(endpoint(tags=tags),))
    evidence = Evidence(policies=(Policy("vpce-express", policy, endpoint_id="vpce-express"),))
    plan = planned(found, evidence, ledger=CREATED, creators=(CREATOR,))
    assert (plan.action, blockers(plan), sorted(plan.patches)) == (PlanAction.BLOCKED, [Blocker.OWNED_BY_IAC], tools)
    assert "so a tool owns it now" in plan.blockers[0].evidence
    assert planned(found, evidence, ledger=CREATED, creators=(CREATOR,), adopt_iac_owned=True).blockers == ()


def test_endpoint_as_a_heal_left_it_is_used_again() -> None:
    """Keys that were there then, and those that an organization adds to everything, show no tool."""
    found = network(endpoints=(endpoint(tags={**MANAGED, "cost": "1", "map-migrated": "x"}),))
    evidence = Evidence(policies=(Policy("vpce-express", FULL_ACCESS, endpoint_id="vpce-express"),))
    settings = {"automatic_tag_keys": frozenset({"map-migrated"})}
    for creators in ((CREATOR,), (INTERRUPTED, UNRECORDED, CREATOR)):
        plan = planned(found, evidence, ledger=CREATED, creators=creators, **settings)
        assert plan.action is PlanAction.ASSOCIATE
    elsewhere = replace(CREATOR, endpoint_id="vpce-other")
    assert planned(found, evidence, ledger=CREATED, creators=(elsewhere,)).action is PlanAction.ASSOCIATE
    assert planned(found, evidence, creators=(UNRECORDED,)).action is PlanAction.ASSOCIATE


@pytest.mark.parametrize(
    ("tags", "policy", "creator", "ledger"),
    [
        ({**MANAGED, "Name": "s3"}, FULL_ACCESS, INTERRUPTED, CREATED),
        ({"Name": "s3"}, FULL_ACCESS, INTERRUPTED, CREATED),
        (MANAGED, OTHER_POLICY, INTERRUPTED, CREATED),
        ({"Name": "s3"}, FULL_ACCESS, UNRECORDED, CREATED),
        ({**MANAGED, "Name": "s3"}, FULL_ACCESS, UNRECORDED, UNLISTED),
    ],
    ids=["another key", "no managed tag", "another policy", "no association was intended", "not recorded"],
)
def test_endpoint_of_an_interrupted_heal_is_as_it_was_created(
    tags: dict[str, str], policy: str, creator: RunRecord, ledger: LedgerView
) -> None:
    """No heal read the endpoint back, so what differs from how heals create one shows a tool. The next heal uses it else."""
    evidence = [
        Evidence(policies=(Policy("vpce-express", text, endpoint_id="vpce-express"),)) for text in (policy, FULL_ACCESS)
    ]
    plans = [
        planned(network(endpoints=(endpoint(tags=found),)), read, ledger=ledger, creators=(creator,))
        for found, read in zip((tags, MANAGED), evidence, strict=True)
    ]
    assert [blockers(plan) for plan in plans] == [[Blocker.OWNED_BY_IAC], []]


@pytest.mark.parametrize(
    ("tags", "owner_tags"),
    [
        ({"managed-by": "hand"}, ("managed-by=terraform",)),
        ({"Terraform": "yes"}, ("terraform",)),
        ({"cloudformation": "yes"}, ()),
    ],
    ids=["other value", "other case", "no tool's tag"],
)
def test_other_tags_mark_no_owner(tags: dict[str, str], owner_tags: tuple[str, ...]) -> None:
    """Keys and values must be just those, in case too."""
    assert planned(network(endpoints=(endpoint(tags=tags),)), owner_tags=owner_tags).action is PlanAction.ASSOCIATE


# --- what its route would not win ------------------------------------------------------------------------------------

OWN_LIST = PrefixList("pl-own", "own", Family.IPV4, (parse_cidr("198.51.100.128/25"),), aws_owned=False)
TWIN = replace(OWN_LIST, cidrs=EXPRESS_LIST.cidrs)
HIDDEN = PrefixList("pl-hidden", "hidden", Family.IPV4, None, aws_owned=False)
HIJACK = route("198.51.100.9/32", "nat-1")
EXISTING = pytest.mark.parametrize("endpoints", [(), (endpoint(),)], ids=["to be created", "existing"])


@pytest.mark.parametrize(
    ("hijack", "block"),
    [
        (route("198.51.100.0/25", "nat-1"), "198.51.100.0/25"),
        (route("198.51.100.77/32", "nat-1"), "198.51.100.77/32"),
        (route("198.51.100.0/24", "nat-1"), "198.51.100.0/24"),
        (route("198.51.100.0/25", "nat-1", rank=Rank.PROPAGATED), "198.51.100.0/25"),
        (route("pl-own", "nat-1"), "198.51.100.128/25"),
    ],
    ids=["longer", "host", "static and equal", "propagated and longer", "customer's list"],
)
@EXISTING
def test_route_that_wins_over_the_endpoint_is_named(
    hijack: Route, block: str, endpoints: tuple[VpcEndpoint, ...]
) -> None:
    """MORE_SPECIFIC_ROUTE names the route, its table and the addresses that it takes from the endpoint."""
    plan = planned(network(TO_NAT, hijack, endpoints=endpoints, lists=(EXPRESS_LIST, OWN_LIST)))
    assert (plan.action, blockers(plan)) == (PlanAction.BLOCKED, [Blocker.MORE_SPECIFIC_ROUTE])
    shown = evidence_of(plan, Blocker.MORE_SPECIFIC_ROUTE)
    assert shown == f"{hijack.destination} -> nat-1 in rtb-1 wins {block} over the endpoint's route"
    assert plan.blockers[0].fix.startswith(f"delete {hijack.destination} from rtb-1,")


def test_every_such_route_is_named() -> None:
    """A person who deletes routes wants to know all of them at once."""
    plan = planned(network(TO_NAT, route("198.51.100.0/26", "nat-1"), route("198.51.100.64/26", "eni-1")))
    assert blockers(plan) == [Blocker.MORE_SPECIFIC_ROUTE] * 2
    assert {concern.evidence.partition(" in ")[0] for concern in plan.blockers} == {
        "198.51.100.0/26 -> nat-1",
        "198.51.100.64/26 -> eni-1",
    }


@pytest.mark.parametrize("endpoints", [(), (endpoint(ip_address_type="dualstack"),)], ids=["to be created", "existing"])
def test_nat64_of_a_dual_stack_subnet_is_named_with_its_fixes(endpoints: tuple[VpcEndpoint, ...]) -> None:
    """An endpoint matches no 64:ff9b:: address: one concern for the route, and the two ways to fix it."""
    routes = [route(prefix_list.id, endpoints[0].id) for prefix_list in BOTH for _ in endpoints]
    two = replace(EXPRESS_LIST, cidrs=(*EXPRESS_LIST.cidrs, parse_cidr("203.0.113.0/24")))
    plan = planned(
        network(
            *(TO_NAT, route("64:ff9b::/96", "nat-1"), *routes),
            subnets=(replace(DUAL_STACK, dns64=True),),
            lists=(two, EXPRESS_LIST_6),
            endpoints=endpoints,
        )
    )
    assert plan.verdict.reason == ("PARTLY_NAT" if endpoints else "NAT_GATEWAY")
    assert (plan.action, blockers(plan)) == (PlanAction.BLOCKED, [Blocker.WOULD_NOT_CURE])
    shown = evidence_of(plan, Blocker.WOULD_NOT_CURE)
    assert shown.startswith("64:ff9b::/96 -> nat-1 in rtb-1 would still carry S3 Express traffic to 64:ff9b::")
    for part in ("turn off DNS64", "dual-stack host names", "the verdict changes only when"):
        assert part in plan.blockers[0].fix


@pytest.mark.parametrize(
    "used",
    [endpoint(), endpoint(state="pending"), endpoint(tags={"aws:cloudformation:stack-name": "network"})],
    ids=["available", "pending", "a stack's"],
)
@pytest.mark.parametrize("others", [(), (endpoint("vpce-0", tags=MANAGED),)], ids=["alone", "beside another"])
def test_table_that_uses_an_endpoint_gets_no_patch(used: VpcEndpoint, others: tuple[VpcEndpoint, ...]) -> None:
    """An association that is there already changes nothing, so no patch shows it, and no tool is asked to make it.

    Neither does another endpoint of the VPC help; only the route in the way does, and it is named.
    """
    plan = planned(network(TO_NAT, route("pl-express", "vpce-express"), HIJACK, endpoints=(*others, used)))
    assert (plan.patches, plan.endpoint_id, blockers(plan)) == ({}, "vpce-express", [Blocker.MORE_SPECIFIC_ROUTE])


def test_table_that_uses_an_endpoint_for_one_family_gets_a_patch() -> None:
    """A dual-stack endpoint without its IPv6 route still needs the association."""
    routes = (TO_NAT, route("::/0", "nat-1"), route("pl-express", "vpce-1"))
    assert planned(network(*routes, subnets=(DUAL_STACK,), lists=BOTH, endpoints=(DUAL_ENDPOINT,))).patches


@pytest.mark.parametrize(
    "harmless",
    [
        route("198.51.101.0/24", "nat-1"),
        route("198.51.0.0/16", "nat-1"),
        route("198.51.100.0/24", "nat-1", rank=Rank.PROPAGATED),
        route("198.51.100.0/25", "nat-1", state="blackhole"),
        route("pl-hidden", "vpce-express"),
    ],
    ids=["elsewhere", "shorter", "propagated and equal", "blackhole", "unreadable with the endpoint's target"],
)
def test_route_that_does_not_win_blocks_nothing(harmless: Route) -> None:
    """Routes that lose to the endpoint's route, or that carry no traffic, do not block."""
    found = network(TO_NAT, harmless, endpoints=(endpoint(),), lists=(EXPRESS_LIST, HIDDEN))
    assert (planned(found).action, planned(found).blockers) == (PlanAction.ASSOCIATE, ())


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (
            network(route("::/0", "nat-1"), route("64:ff9b::/96", "nat-1"), subnets=(replace(IPV6_ONLY, dns64=True),)),
            "64:ff9b::/96 -> nat-1 in rtb-1 would still carry S3 Express traffic to 64:ff9b::c633:6400/120",
        ),
        (
            network(TO_NAT, route("::/0", "nat-2"), subnets=(DUAL_STACK,), lists=BOTH, endpoints=(endpoint(),)),
            "::/0 -> nat-2 in rtb-1 would still carry S3 Express traffic to 2001:db8::/36",
        ),
        (
            network(TO_NAT, route("::/0", "nat-2"), subnets=(DUAL_STACK, subnet("subnet-2")), lists=BOTH),
            "::/0 -> nat-2 in rtb-1 would still carry S3 Express traffic to 2001:db8::/36",
        ),
        (
            network(TO_NAT, route("pl-own", "nat-2"), lists=(EXPRESS_LIST, TWIN)),
            "pl-own -> nat-2 in rtb-1 would still carry S3 Express traffic to 198.51.100.0/24",
        ),
        (
            network(TO_NAT, route("pl-hidden", "nat-2"), lists=(EXPRESS_LIST, HIDDEN)),
            "pl-hidden -> nat-2 in rtb-1 may carry S3 Express traffic to 198.51.100.0/24",
        ),
        (
            network(
                *(TO_NAT, route("::/0", "igw-1")),
                subnets=(DUAL_STACK,),
                lists=(EXPRESS_LIST, replace(EXPRESS_LIST_6, cidrs=None)),
            ),
            "rtb-1 may carry S3 Express traffic to ::/0",
        ),
    ],
    ids=[
        *["NAT64", "endpoint of one family", "families that differ", "customer's twin", "customer's unreadable list"],
        "unreadable entries of the service's list",
    ],
)
def test_traffic_that_no_endpoint_route_can_win_is_named(found: Snapshot, shown: str) -> None:
    """WOULD_NOT_CURE names the blocking route, or the route table if the addresses cannot be read."""
    plan = planned(found)
    assert (plan.action, blockers(plan)) == (PlanAction.BLOCKED, [Blocker.WOULD_NOT_CURE])
    assert evidence_of(plan, Blocker.WOULD_NOT_CURE) == shown


@EXISTING
def test_route_to_the_list_itself_blocks(endpoints: tuple[VpcEndpoint, ...]) -> None:
    """A table that routes the s3express list elsewhere cannot take the endpoint's route: RouteAlreadyExists."""
    plan = planned(network(TO_NAT, route("pl-express", "nat-1"), endpoints=endpoints))
    assert plan.action is PlanAction.BLOCKED
    assert any("pl-express -> nat-1 in rtb-1" in concern.evidence for concern in plan.blockers)


def test_rest_that_leaves_by_an_internet_gateway_follows_the_parameter() -> None:
    """An IPv6 path through an egress-only gateway blocks only if public paths are NON_COMPLIANT."""
    found = network(TO_NAT, route("::/0", "eigw-1"), subnets=(DUAL_STACK, subnet("subnet-2")), lists=BOTH)
    assert planned(found).blockers == ()
    strict = planned(found, parameters=RuleParameters(public_subnets=Compliance.NON_COMPLIANT))
    assert blockers(strict) == [Blocker.WOULD_NOT_CURE]


@pytest.mark.parametrize(
    ("ip_address_type", "brought"),
    [("ipv4", {"pl-express"}), ("ipv6", {"pl-express6"}), ("dualstack", {"pl-express", "pl-express6"})],
)
def test_endpoint_brings_the_lists_of_its_address_type(ip_address_type: str, brought: set[str]) -> None:
    """The address type of an endpoint decides which prefix lists are put into its route tables."""
    found = network(lists=BOTH, endpoints=(endpoint(ip_address_type=ip_address_type, state="pending"),))
    after = with_association(found, found.route_tables["rtb-1"], found.vpc_endpoints["vpce-express"])
    in_table = after.route_tables["rtb-1"].routes
    assert {added.destination for added in in_table if added.target_id == "vpce-express"} == brought
    states = (found.vpc_endpoints["vpce-express"].state, after.vpc_endpoints["vpce-express"].state)
    assert states == ("pending", "available")


@pytest.mark.parametrize("gateway_id", ["igw-1", "vgw-1"])
def test_table_of_a_gateway_gets_no_endpoint(gateway_id: str) -> None:
    """EC2 accepts no prefix list in a gateway's route table; a regional NAT gateway's table is like any other."""

    def associated_with(gateway_id: str) -> Snapshot:
        found = network()
        edge = Association(gateway_id=gateway_id)
        governed = found.route_tables["rtb-1"]
        governed = replace(governed, associations=(*governed.associations, edge))
        return replace(found, route_tables=by_id(governed))

    plan = planned(associated_with(gateway_id))
    assert (plan.action, blockers(plan)) == (PlanAction.BLOCKED, [Blocker.WOULD_NOT_CURE])
    assert f"also associated with {gateway_id}" in evidence_of(plan, Blocker.WOULD_NOT_CURE)
    assert blockers(planned(associated_with("nat-1"))) == []


# --- what it would open ----------------------------------------------------------------------------------------------

CLOSED = BlockMode.BIDIRECTIONAL


def behind_closed_nat(*routes: Route) -> Snapshot:
    """Return a network whose NAT gateway nat-1 is in a subnet that Block Public Access closes."""
    return network(
        *routes,
        other_subnets=(subnet("subnet-nat", block_mode=CLOSED),),
        tables=(table("rtb-nat", route("0.0.0.0/0", "igw-1"), subnets=("subnet-nat",)),),
        nat_gateways=by_id(NatGateway("nat-1", "vpc-1", "subnet-nat")),
    )


def test_a_subnet_behind_a_closed_nat_gateway_is_not_healed() -> None:
    """All of its traffic is dropped, because somebody closed the path; a heal would open it."""
    plan = planned(behind_closed_nat(TO_NAT))
    assert (plan.verdict.reason, plan.action, blockers(plan)) == ("DROPPED", PlanAction.BLOCKED, [Blocker.PATH_CLOSED])
    assert "subnet-nat" in evidence_of(plan, Blocker.PATH_CLOSED)


def test_traffic_that_is_dropped_for_another_cause_needs_no_heal() -> None:
    """Nobody closed a blackhole on purpose, so far as AWS shows."""
    plan = planned(network(route("0.0.0.0/0", "nat-1", state="blackhole")))
    assert (plan.verdict.reason, plan.action) == ("DROPPED", PlanAction.NOTHING_TO_DO)


def test_a_heal_that_would_open_a_part_is_blocked() -> None:
    """A part of the addresses crosses an open NAT, and the rest is dropped at the closed one."""
    plan = planned(behind_closed_nat(TO_NAT, route("198.51.100.0/25", "nat-2")))
    assert plan.verdict.reason == "NAT_GATEWAY"
    assert "198.51.100.128/25" in evidence_of(plan, Blocker.PATH_CLOSED)


NEW = BlockMode.NEW
REGIONAL_NAT = NatGateway("nat-1", "vpc-1", availability_mode="regional")
IN_NEW_MODE = {
    "a zonal NAT gateway's subnet": replace(
        behind_closed_nat(TO_NAT),
        subnets=by_id(subnet(), subnet("subnet-nat", block_mode=NEW)),
    ),
    "a regional NAT gateway's VPC": network(vpcs=by_id(Vpc("vpc-1", block_mode=NEW)), nat_gateways=by_id(REGIONAL_NAT)),
    "a NAT instance's subnet": network(
        route("0.0.0.0/0", "eni-1"),
        other_subnets=(subnet("subnet-nat", block_mode=NEW),),
        tables=(table("rtb-nat", route("0.0.0.0/0", "igw-1"), subnets=("subnet-nat",)),),
        network_interfaces=by_id(NetworkInterface("eni-1", "subnet-nat", source_dest_check=False)),
    ),
}


@pytest.mark.parametrize("found", IN_NEW_MODE.values(), ids=IN_NEW_MODE)
def test_what_a_new_mode_may_close_is_not_opened(found: Snapshot) -> None:
    """Somebody chose a mode that is not known here. A mode that the source does not show closes nothing, as far as it is known."""
    plan = planned(found)
    assert (plan.action, blockers(plan)) == (PlanAction.BLOCKED, [Blocker.PATH_CLOSED])
    assert "in a mode that is not known here, and may close" in evidence_of(plan, Blocker.PATH_CLOSED)
    not_shown = replace(
        found,
        subnets={key: replace(each, block_mode=BlockMode.UNKNOWN) for key, each in found.subnets.items()},
        vpcs={},
    )
    assert blockers(planned(not_shown)) == []


def test_new_mode_of_a_subnet_that_the_path_does_not_meet_closes_nothing() -> None:
    """The mode counts where traffic would reach an internet gateway."""
    assert blockers(planned(network(other_subnets=(subnet("subnet-2", block_mode=NEW),)))) == []
    assert blockers(planned(network(subnets=(subnet(block_mode=NEW),)))) == []


@pytest.mark.parametrize(
    ("neighbor", "blocked"),
    [
        (subnet("subnet-2", has_ipv6=True, block_mode=CLOSED), True),
        (subnet("subnet-2", has_ipv6=True, block_mode=NEW), True),
        (subnet("subnet-2", has_ipv6=True), False),
        (subnet("subnet-2", block_mode=CLOSED), False),
    ],
    ids=["closed", "new", "open", "closed, without IPv6"],
)
def test_a_neighbor_that_the_heal_would_open_blocks_it(neighbor: Subnet, blocked: bool) -> None:
    """The existing endpoint serves IPv6 too, where the neighbor's egress-only internet gateway is closed."""
    both = endpoint(ip_address_type="dualstack")
    routes = (TO_NAT, route("::/0", "eigw-1"))
    found = network(*routes, subnets=(DUAL_STACK, neighbor), endpoints=(both,), lists=BOTH)
    assert (Blocker.PATH_CLOSED in blockers(planned(found))) is blocked
    only_ipv4 = planned(replace(found, vpc_endpoints=by_id(endpoint())))
    assert Blocker.PATH_CLOSED not in blockers(only_ipv4)


# --- quotas ----------------------------------------------------------------------------------------------------------

S3_LIST = PrefixList("pl-s3", f"com.amazonaws.{REGION}.s3", Family.IPV4, (parse_cidr("203.0.113.0/24"),) * 9)


def routes_of(quota: int) -> Evidence:
    """Return evidence with the account's quota of routes."""
    return Evidence(route_quota=replace(ROUTE_QUOTA, value=quota))


@pytest.mark.parametrize(
    ("there", "quota", "blocked"), [(19, 20, False), (20, 20, True), (21, 20, True), (20, 21, False)]
)
def test_endpoint_quota_blocks_one_more(there: int, quota: int, blocked: bool) -> None:
    """ENDPOINT_QUOTA: as many gateway endpoints in the Region as the quota allows. An existing one takes no place."""
    evidence = Evidence(gateway_endpoints=there, endpoint_quota=Quota("L-1B52E74A", quota))
    plan = planned(network(), evidence)
    assert [found.evidence for found in plan.blockers] == [
        f"the Region has {there} gateway endpoints; the quota is {quota}"
    ] * blocked
    assert set(blockers(plan)) <= {Blocker.ENDPOINT_QUOTA}
    assert planned(network(endpoints=(endpoint(),)), evidence).blockers == ()


def test_quota_that_could_not_be_read_says_so() -> None:
    """The blocker says that AWS's default counts, and why."""
    quota = replace(ENDPOINT_QUOTA, fault="the call was denied")
    plan = planned(network(), Evidence(gateway_endpoints=20, endpoint_quota=quota))
    told = evidence_of(plan, Blocker.ENDPOINT_QUOTA)
    assert told.endswith("the quota is 20 (AWS's default, because the call was denied)")


def test_endpoints_that_are_gone_do_not_count_against_the_quota() -> None:
    """One that is being deleted still does."""
    assert not counts_against_quota("Deleted")
    assert counts_against_quota("deleting")


def filled(number: int, *others: Route, ipv6: bool = False) -> tuple[Route, ...]:
    """Return so many routes to single addresses, the way to the NAT gateway among them."""
    singles = [
        f"2001:db8:ffff::{host:x}/128" if ipv6 else f"10.0.{host >> 8}.{host & 255}/32" for host in range(number)
    ]
    return (TO_NAT, *(route(destination, "pcx-1") for destination in singles[int(not ipv6) :]), *others)


LEARNED = route("192.168.0.0/16", "vgw-1", rank=Rank.PROPAGATED)
TO_S3, TO_LIST_6 = route("pl-s3", "vpce-s3"), route("pl-6", "pcx-1")
LISTS = (EXPRESS_LIST, S3_LIST, replace(EXPRESS_LIST_6, id="pl-6", aws_owned=False))


@pytest.mark.parametrize(
    ("routes", "quota", "blocked"),
    [
        (filled(494), 500, False),
        (filled(495), 500, True),
        (filled(900), 1000, False),
        (filled(494, LEARNED), 500, False),
        (filled(499, ipv6=True), 500, False),
        (filled(493, TO_S3), 500, False),
        (filled(494, TO_S3), 500, True),
        (filled(494, TO_LIST_6), 500, False),
    ],
    ids=[
        *["just enough room", "one too many", "raised quota", "propagated routes have their own", "IPv6 routes"],
        *["S3's list is one", "S3's list is one too many", "list of IPv6"],
    ],
)
def test_route_quota_counts_six_for_the_prefix_list(routes: tuple[Route, ...], quota: int, blocked: bool) -> None:
    """ROUTE_QUOTA: the s3express prefix list has weight 6, those of other services 1, and each family counts apart."""
    plan = planned(network(*routes, lists=LISTS), routes_of(quota))
    assert blockers(plan) == [Blocker.ROUTE_QUOTA] * blocked
    if blocked:
        assert evidence_of(plan, Blocker.ROUTE_QUOTA).startswith("rtb-1 has 495 IPv4 routes, and")


def test_route_quota_counts_the_routes_of_ipv6() -> None:
    """A dual-stack endpoint needs room in both families."""
    plan = planned(network(*filled(499, ipv6=True), subnets=(DUAL_STACK,), lists=BOTH))
    assert blockers(plan) == [Blocker.ROUTE_QUOTA]
    assert "IPv6" in evidence_of(plan, Blocker.ROUTE_QUOTA)


@pytest.mark.parametrize(("there", "expected"), [(494, False), (495, True)])
@pytest.mark.parametrize("ipv6", [False, True])
def test_quota_is_needed_if_the_default_could_be_exceeded(there: int, expected: bool, ipv6: bool) -> None:
    """No quota is lower than AWS's default, so below it, the account's own value does not matter."""
    found = network(*filled(there, ipv6=ipv6))
    assert needs_more_routes_than_default(found, found.route_tables["rtb-1"]) is expected


def test_customer_list_counts_with_its_maximum() -> None:
    """A customer's prefix list takes as many places as its maximum number of entries, not as it has entries now.

    https://docs.aws.amazon.com/vpc/latest/userguide/managed-prefix-lists.html
    """
    own = replace(OWN_LIST, cidrs=(parse_cidr("10.0.0.0/8"),), max_entries=100)
    found = network(TO_NAT, route("pl-own", "pcx-1"), lists=(EXPRESS_LIST, own))
    assert blockers(planned(found, routes_of(106))) == [Blocker.ROUTE_QUOTA]
    assert blockers(planned(found, routes_of(107))) == []


def test_list_that_the_table_has_already_is_not_counted_twice() -> None:
    """Associating an associated table takes no further place."""
    found = network(TO_NAT, route("pl-express", "vpce-express"), HIJACK, endpoints=(endpoint(),))
    assert blockers(planned(found, routes_of(8))) == [Blocker.MORE_SPECIFIC_ROUTE]


def test_heal_is_blocked_if_accounts_disagree_about_the_table() -> None:
    """The table with a NAT is one of those that may govern the subnet; whichever the other one is, the heal does not change it."""
    main = table("rtb-0", main=True)
    names_another = endpoint("vpce-1", route_table_ids=("rtb-9",))
    participant = snapshot(subnets=by_id(subnet()), route_tables=by_id(main))
    plan = planned(
        merged([network(tables=(main,), endpoints=(names_another,)), replace(participant, account_id=NEIGHBOUR)])
    )
    assert (plan.action, plan.verdict.route_table_id) == (PlanAction.BLOCKED, "rtb-1")
    evidence = evidence_of(plan, Blocker.WOULD_NOT_CURE)
    assert "accounts disagree about its route table: rtb-0 or rtb-1 or one that is not known" in evidence
