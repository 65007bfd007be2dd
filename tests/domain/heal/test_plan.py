"""The plan of a heal: what it changes, everything that blocks it, and what the ledger has against it."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from express_path.adapters.heal_answers import check_not_blocked, plan_answer
from express_path.domain.heal.claims import NextStep
from express_path.domain.heal.endpoints import READ_ENTRIES
from express_path.domain.heal.ledger_records import (
    NO_RECORDS,
    Approval,
    ApprovalState,
    LedgerView,
    StartedBy,
    TableRecord,
    TableState,
    VpcRecord,
)
from express_path.domain.heal.plan import is_healable
from express_path.domain.heal.preflight import Evidence, NetworkAcl, Policy, Quota
from express_path.domain.heal.records import FULL_ACCESS, Blocker, HealSettings, PlanAction
from express_path.domain.network.resources import PrefixList, Subnet, VpcEndpoint
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.parameters import RuleParameters
from express_path.errors import BlockedError
from tests.support.heal_situation import (
    BOTH,
    DUAL_STACK,
    IPV6_ONLY,
    NOW,
    TO_NAT,
    blockers,
    evidence_of,
    healed,
    network,
    planned,
)
from tests.support.make import EXPRESS, EXPRESS_LIST, NEIGHBOUR, endpoint, route, subnet, table, verdict_on

# --- what is healed --------------------------------------------------------------------------------------------------

HEALABLE = {"NAT_GATEWAY", "NAT_INSTANCE", "NAT_BEHIND_APPLIANCE", "NAT_BEYOND_TRANSIT_GATEWAY", "PARTLY_NAT"}


@pytest.mark.parametrize("reason", Reason)
def test_only_paths_over_a_nat_are_healable(reason: Reason) -> None:
    """Heals are for the reasons of NATs and for PARTLY_NAT, and for no other."""
    assert is_healable(replace(verdict_on(network()), reason=reason)) is (reason in HEALABLE)


@pytest.mark.parametrize(
    "found",
    [
        network(TO_NAT, route("pl-express", "vpce-express"), endpoints=(endpoint(),)),
        network(route("0.0.0.0/0", "igw-1")),
        network(route("10.0.0.0/16", "local")),
        network(route("0.0.0.0/0", "vgw-1")),
        network(lists=()),
        network(subnets=(subnet("subnet-2"),)),
    ],
    ids=["endpoint", "internet gateway", "no route", "unresolved", "service not offered", "subnet deleted"],
)
def test_nothing_is_done_without_a_nat(found: Snapshot) -> None:
    """A subnet that is not NON_COMPLIANT needs no heal, even if other subnets are blocked."""
    plan = planned(found)
    assert (plan.action, plan.blockers, plan.warnings, plan.patches) == (PlanAction.NOTHING_TO_DO, (), (), {})


@pytest.mark.parametrize(
    ("found", "parameters"),
    [
        (network(route("0.0.0.0/0", "igw-1")), RuleParameters(public_subnets=Compliance.NON_COMPLIANT)),
        (network(route("0.0.0.0/0", "vgw-1")), RuleParameters(unresolved_egress=Compliance.NON_COMPLIANT)),
    ],
    ids=["internet gateway", "unresolved"],
)
def test_what_is_non_compliant_without_a_nat_is_not_healed(found: Snapshot, parameters: RuleParameters) -> None:
    """NOT_A_NAT_PATH blocks where the rule's parameters alone make a path NON_COMPLIANT, and the verdict says why."""
    plan = planned(found, parameters=parameters)
    assert (plan.action, blockers(plan)) == (PlanAction.BLOCKED, [Blocker.NOT_A_NAT_PATH])
    assert plan.blockers[0].evidence == plan.verdict.annotation
    assert plan.blockers[0].fix.startswith("heals change only paths that cross a NAT")


def test_entries_that_cannot_be_read_are_to_be_read_first() -> None:
    """They decide whether the path crosses a NAT."""
    strict = RuleParameters(unresolved_egress=Compliance.NON_COMPLIANT)
    plan = planned(network(lists=(replace(EXPRESS_LIST, cidrs=None),)), parameters=strict)
    assert (blockers(plan), plan.blockers[0].fix) == ([Blocker.NOT_A_NAT_PATH], READ_ENTRIES)


EXCLUDED_SUBNET = subnet(tags={"express-path:exclude": ""})


@pytest.mark.parametrize(
    ("found", "parameters", "blocker"),
    [
        (network(subnets=(subnet(owner_id=NEIGHBOUR),)), RuleParameters(), Blocker.NOT_OWNED),
        (network(subnets=(EXCLUDED_SUBNET,)), RuleParameters(), Blocker.EXCLUDED),
        (network(tags={"team": "db"}), RuleParameters(exclude_tag="team=db"), Blocker.EXCLUDED),
        (network(), RuleParameters(vpc_ids=frozenset({"vpc-2"})), Blocker.EXCLUDED),
    ],
    ids=["another account's", "subnet's tag", "table's tag", "vpcIds"],
)
def test_subnet_that_the_rule_leaves_out_is_not_healed(
    found: Snapshot, parameters: RuleParameters, blocker: Blocker
) -> None:
    """NOT_OWNED and EXCLUDED block, and a closed calendar is named beside them."""
    plan = planned(found, Evidence(calendar_open=False), parameters=parameters)
    assert (plan.action, blockers(plan)) == (PlanAction.BLOCKED, [blocker, Blocker.CHANGE_CALENDAR_CLOSED])


def test_table_of_an_excluded_subnet_is_not_changed_for_another() -> None:
    """A heal moves the traffic of every subnet of its table, so one that is left out blocks it, and is named."""
    left_out = subnet("subnet-2", tags={"express-path:exclude": "until spring"})
    plan = planned(network(subnets=(subnet(), left_out)))
    assert (plan.action, blockers(plan)) == (PlanAction.BLOCKED, [Blocker.EXCLUDED])
    assert plan.blockers[0].evidence.startswith("rtb-1 also governs subnet-2,")
    elsewhere = network(other_subnets=(left_out,), tables=(table("rtb-2", TO_NAT, subnets=("subnet-2",)),))
    assert planned(elsewhere).action is PlanAction.CREATE_AND_ASSOCIATE


# --- what is changed -------------------------------------------------------------------------------------------------


def test_existing_endpoint_is_associated() -> None:
    """If the VPC has the endpoint, the plan names it, and does not create a second one."""
    plan = planned(network(endpoints=(endpoint("vpce-1"),)))
    found = (plan.action, plan.endpoint_id, plan.service_name, plan.ip_address_type, plan.policy)
    assert found == (PlanAction.ASSOCIATE, "vpce-1", EXPRESS, "ipv4", "")


def test_new_endpoint_is_described_in_full() -> None:
    """It has the configured policy; without one, that which EC2 would give it."""
    plan = planned(network())
    found = (plan.action, plan.endpoint_id, plan.service_name, plan.ip_address_type, plan.policy)
    assert found == (PlanAction.CREATE_AND_ASSOCIATE, None, EXPRESS, "ipv4", FULL_ACCESS)
    assert planned(network(), policy='{"Statement":[]}').policy == '{"Statement":[]}'


def test_endpoint_that_an_undo_deletes_is_not_used() -> None:
    """An undo records the deletion first, so that no heal starts to use the endpoint in the meantime."""
    ledger = LedgerView(TableRecord("rtb-1"), VpcRecord("vpc-1", deleted_ids=frozenset({"vpce-1"})))
    plan = planned(network(endpoints=(endpoint("vpce-1"),)), ledger=ledger)
    assert (plan.action, plan.endpoint_id) == (PlanAction.CREATE_AND_ASSOCIATE, None)


@pytest.mark.parametrize(
    ("subnets", "lists", "expected"),
    [
        ((subnet(),), BOTH, "ipv4"),
        ((DUAL_STACK,), BOTH, "dualstack"),
        ((IPV6_ONLY,), BOTH, "ipv6"),
        ((DUAL_STACK,), (EXPRESS_LIST,), "ipv4"),
        ((DUAL_STACK, subnet("subnet-2")), BOTH, "ipv4"),
        ((DUAL_STACK, replace(IPV6_ONLY, id="subnet-2")), BOTH, "ipv4"),
        ((DUAL_STACK, replace(DUAL_STACK, id="subnet-2")), BOTH, "dualstack"),
    ],
    ids=["IPv4", "dual stack", "IPv6 only", "no IPv6 list", "IPv4 beside", "IPv6-only beside", "all dual stack"],
)
def test_address_type_follows_all_subnets_of_the_table(
    subnets: tuple[Subnet, ...], lists: tuple[PrefixList, ...], expected: str
) -> None:
    """An address type needs every subnet of the table to have it, so ipv4 unless all have IPv6 (or nothing else).

    Subnets of other route tables do not count.
    """
    other = table("rtb-9", TO_NAT, subnets=("subnet-9",))
    found = network(
        *(TO_NAT, route("::/0", "nat-1")),
        subnets=subnets,
        lists=lists,
        other_subnets=(subnet("subnet-9"),),
        tables=(other,),
    )
    assert planned(found).ip_address_type == expected


# --- all that blocks -------------------------------------------------------------------------------------------------

WOULD_DENY = Policy(
    "data--use1-az4--x-s3",
    '{"Statement":{"Effect":"Deny","Principal":"*","Action":"*","Resource":"*",'
    '"Condition":{"NotIpAddress":{"aws:SourceIp":"192.0.2.1"}}}}',
)
EVERYTHING = Evidence(
    group_sets=frozenset({frozenset({"sg-1"})}),
    network_acls=(NetworkAcl("acl-1", ()),),
    dns_support=False,
    policies=(WOULD_DENY,),
    gateway_endpoints=20,
    route_quota=Quota("L-93826ACB", 7),
    calendar_open=False,
)
MAY_WARN = {
    Blocker.POLICY_WOULD_DENY: 1,
    Blocker.SECURITY_GROUP_EGRESS: 1,
    Blocker.NETWORK_ACL: 2,
    Blocker.DNS_ATTRIBUTES: 1,
}
"""The four that teams may turn into warnings, and how often EVERYTHING has each: the network ACL stops both ways."""
STUCK = network(TO_NAT, route("198.51.100.9/32", "nat-1"), endpoints=(endpoint(state="deleting"),))
ALL = [
    *(Blocker.MORE_SPECIFIC_ROUTE, Blocker.ENDPOINT_DELETING, Blocker.ENDPOINT_QUOTA, Blocker.ROUTE_QUOTA),
    Blocker.REVERTED_BY_OTHERS,
    *(blocker for blocker, number in MAY_WARN.items() for _ in range(number)),
    Blocker.CHANGE_CALENDAR_CLOSED,
]


def test_all_blockers_are_named_at_once() -> None:
    """A plan reports all blockers, not one after another. It has no patch, because the change would not help or fail."""
    plan = planned(STUCK, EVERYTHING, ledger=healed(NOW.isoformat(), "vpce-gone"))
    assert (plan.action, blockers(plan), plan.warnings) == (PlanAction.BLOCKED, ALL, ())
    assert all(concern.evidence and concern.fix for concern in plan.blockers)
    assert (plan.service_name, plan.ip_address_type, plan.patches) == (EXPRESS, "ipv4", {})


@pytest.mark.parametrize("blocker", Blocker)
def test_four_blockers_may_be_warnings(blocker: Blocker) -> None:
    """A team chooses each apart. Blockers of heals that would fail, or conflict with other changes, stay blockers."""
    ledger = healed(NOW.isoformat(), "vpce-gone")
    plan = planned(STUCK, EVERYTHING, ledger=ledger, warn_only=frozenset({blocker}))
    assert [concern.code for concern in plan.warnings] == [blocker] * MAY_WARN.get(blocker, 0)
    assert blockers(plan) == [found for found in ALL if found is not blocker or blocker not in MAY_WARN]


def test_policy_of_a_single_bucket_may_only_warn() -> None:
    """The others still block."""
    other = replace(WOULD_DENY, holder="access point logs--use1-az4--xa-s3")
    evidence = Evidence(policies=(WOULD_DENY, other))
    plan = planned(network(), evidence, excepted=frozenset({WOULD_DENY.name}))
    assert [WOULD_DENY.holder in found.evidence for found in (*plan.warnings, *plan.blockers)] == [True, False]
    assert planned(network(), evidence, excepted=frozenset({WOULD_DENY.name, other.name})).blockers == ()


def test_plan_with_nothing_but_warnings_is_carried_out() -> None:
    """Warnings change nothing about the action."""
    plan = planned(network(), Evidence(dns_support=False, policies=(WOULD_DENY,)), warn_only=frozenset(Blocker))
    assert (plan.action, len(plan.warnings)) == (PlanAction.CREATE_AND_ASSOCIATE, 2)


@pytest.mark.parametrize(("number", "listed"), [(10, 10), (11, 11), (1000, 11)])
def test_many_blockers_of_one_name_are_listed_briefly(number: int, listed: int) -> None:
    """Ten are listed, one more counts the rest, and blockers of other names are all listed."""
    sets = frozenset(frozenset({f"sg-{group}"}) for group in range(number))
    plan = planned(network(), Evidence(group_sets=sets, dns_support=False))
    assert blockers(plan) == [*[Blocker.SECURITY_GROUP_EGRESS] * listed, Blocker.DNS_ATTRIBUTES]
    if number > 10:
        assert plan.blockers[10].evidence == f"and {number - 10} more"


def test_plan_is_small_however_many_routes_are_in_the_way() -> None:
    """Its concerns are far below the 200 KB of a step's output, whether one route takes many blocks or many do."""
    singles = [f"198.51.100.{host}/32" for host in range(200)]
    many_routes = planned(network(TO_NAT, *(route(single, "nat-1") for single in singles)))
    own = PrefixList("pl-own", "own", EXPRESS_LIST.family, tuple(route(single, "").destination for single in singles))
    one_route = planned(network(TO_NAT, route("pl-own", "nat-1"), lists=(EXPRESS_LIST, replace(own, aws_owned=False))))
    for plan in (many_routes, one_route):
        assert set(blockers(plan)) == {Blocker.MORE_SPECIFIC_ROUTE}
        assert len(json.dumps([(found.evidence, found.fix) for found in plan.blockers])) < 5_000


@pytest.mark.long
def test_answer_is_small_however_long_policies_are() -> None:
    """A step's output may have 200 KB, and warnings are cut rather than fatal."""
    addresses = [f"203.0.{number % 250}.{number // 250}" for number in range(900)]
    condition = {"NotIpAddress": {"aws:SourceIp": addresses}, "StringNotEquals": {"aws:PrincipalTag/a": '"' * 5_000}}
    deny = {"Sid": '"' * 5_000, "Effect": "Deny", "Action": "*", "Condition": condition}
    policy = json.dumps({"Statement": [deny, deny]})
    buckets = [Policy(f"{number}--use1-az4--x-s3", policy) for number in range(40)]
    excepted = frozenset(bucket.name for bucket in buckets[20:])
    sets = frozenset(frozenset({f"sg-{group}-{'long' * 500}"}) for group in range(20))
    evidence = Evidence(group_sets=sets, policies=(*buckets, Policy("vpce-express", padded(20_000))))
    for endpoints, own in (((endpoint(),), FULL_ACCESS), ((), padded(20_480))):
        plan = planned(network(endpoints=endpoints), evidence, excepted=excepted, policy=own)
        answer = plan_answer(plan, NextStep.DONE, HealSettings(), TableRecord("rtb-1"), NOW)
        assert set(blockers(plan)) == {Blocker.SECURITY_GROUP_EGRESS, Blocker.POLICY_WOULD_DENY}
        assert plan.warnings[-1].evidence.startswith("and ")
        with pytest.raises(BlockedError) as raised:
            check_not_blocked(plan)
        assert max(len(json.dumps(answer)), len(json.dumps(str(raised.value)))) < 200_000
    too_long = Evidence(policies=(Policy("vpce-express", padded(20_000, "\u00e9")),))
    assert set(planned(network(endpoints=(endpoint(),)), too_long).patches) == {"terraform", "cli"}


def padded(length: int, letter: str = "a") -> str:
    """Return a policy of so many characters that allows everything."""
    allow = {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}
    text = json.dumps({"Statement": [allow], "Id": ""})
    return text.replace('""', f'"{letter * (length - len(text))}"')


# --- what the ledger has against it ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ago",
    [timedelta(0), timedelta(hours=23, minutes=59, seconds=59), timedelta(hours=-1)],
    ids=["just now", "almost a day ago", "by a fast clock"],
)
@pytest.mark.parametrize("endpoints", [(), (endpoint(),)], ids=["endpoint gone too", "endpoint there"])
def test_reverted_heal_is_not_repeated(ago: timedelta, endpoints: tuple[VpcEndpoint, ...]) -> None:
    """REVERTED_BY_OTHERS: within a day of a heal, a missing association is somebody's decision."""
    plan = planned(network(endpoints=endpoints), ledger=healed((NOW - ago).isoformat()))
    assert (plan.action, blockers(plan)) == (PlanAction.BLOCKED, [Blocker.REVERTED_BY_OTHERS])
    shown = evidence_of(plan, Blocker.REVERTED_BY_OTHERS)
    assert "rtb-1" in shown
    assert "vpce-express" in shown
    assert "express-path undo run-1" in plan.blockers[0].fix


@pytest.mark.parametrize(
    "ledger",
    [
        healed((NOW - timedelta(hours=24)).isoformat()),
        healed(""),
        healed("yesterday"),
        healed(NOW.replace(tzinfo=None).isoformat()),
        healed(NOW.isoformat(), state=TableState.FAILED),
        healed(NOW.isoformat(), state=TableState.UNDONE),
        NO_RECORDS,
    ],
    ids=["a day ago", "empty", "no time", "without a time zone", "failed", "undone", "no record"],
)
def test_what_was_not_healed_lately_may_be_healed(ledger: LedgerView) -> None:
    """After a day, or where no heal ended well, a table is healed as if for the first time."""
    assert planned(network(endpoints=(endpoint(),)), ledger=ledger).blockers == ()


@pytest.mark.parametrize("when", ["2026-11-21T12:00:00Z", "2026-11-21T13:00:00+01:00", "2026-11-21 12:00:00+00:00"])
def test_time_of_a_heal_is_read_in_any_zone(when: str) -> None:
    """The ledger has ISO 8601."""
    assert blockers(planned(network(), ledger=healed(when))) == [Blocker.REVERTED_BY_OTHERS]


def test_association_that_is_still_there_was_not_reverted() -> None:
    """If a healed table gained a more specific route, only that route is named."""
    found = network(
        TO_NAT, route("pl-express", "vpce-express"), route("198.51.100.9/32", "nat-1"), endpoints=(endpoint(),)
    )
    assert blockers(planned(found, ledger=healed(NOW.isoformat()))) == [Blocker.MORE_SPECIFIC_ROUTE]


def record(**more: object) -> LedgerView:
    """Return the ledger's record of rtb-1."""
    return LedgerView(TableRecord("rtb-1", **more), VpcRecord("vpc-1"))  # type: ignore[arg-type] -- fields of a record


@pytest.mark.parametrize(
    ("ledger", "blocked"),
    [
        (record(state=TableState.UNDONE, run_id="undo-1", undo_run_id="undo-1"), True),
        (record(state=TableState.CLAIMED, run_id="undo-1", undo_run_id="undo-1"), True),
        (record(state=TableState.FAILED, run_id="undo-1", undo_run_id="undo-1"), True),
        (record(state=TableState.FAILED, run_id="run-2", undo_run_id="undo-1", state_before=TableState.UNDONE), True),
        (record(state=TableState.CLAIMED, run_id="run-2", undo_run_id="undo-1", state_before=TableState.UNDONE), True),
        (record(state=TableState.HEALED, run_id="run-2", undo_run_id="undo-1", state_before=TableState.UNDONE), False),
        (record(state=TableState.FAILED, run_id="run-2"), False),
        (record(), False),
    ],
    ids=[
        *["undone", "being undone", "undo failed", "heal by hand failed", "heal by hand was interrupted"],
        *["healed by hand", "never undone", "unknown"],
    ],
)
def test_config_does_not_heal_what_was_undone(ledger: LedgerView, *, blocked: bool) -> None:
    """UNDONE blocks what AWS Config starts, and nothing that a person starts, until a heal by hand ends well."""
    assert blockers(planned(network(), ledger=ledger, started_by=StartedBy.CONFIG)) == [Blocker.UNDONE] * blocked
    assert blockers(planned(network(), ledger=ledger)) == []


SECONDS = int(NOW.timestamp())


def approval(state: ApprovalState, expires_at: int = SECONDS + 1) -> Approval:
    """Return the last request, by run ask-1, for the plan of the usual network."""
    return Approval(state, "ask-1", expires_at, planned(network()).fingerprint)


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (None, "no heal of rtb-1 has been approved"),
        (approval(ApprovalState.REQUESTED), "run ask-1, is REQUESTED"),
        (approval(ApprovalState.DENIED), "run ask-1, is DENIED"),
        (approval(ApprovalState.USED), "run ask-1, is USED"),
        (approval(ApprovalState.APPROVED, SECONDS), "approval of run ask-1 has expired"),
        (
            Approval(ApprovalState.APPROVED, "ask-1", SECONDS + 1),
            "the plan has changed since the approval of run ask-1",
        ),
    ],
    ids=["none", "requested", "denied", "used", "expired", "of another plan"],
)
def test_heal_without_an_approval_is_blocked_where_it_needs_one(found: Approval | None, shown: str) -> None:
    """APPROVAL_REQUIRED says how the last request ended, and how to send a new one."""
    plan = planned(network(), ledger=record(approval=found), needs_approval=True)
    assert blockers(plan) == [Blocker.APPROVAL_REQUIRED]
    assert shown in evidence_of(plan, Blocker.APPROVAL_REQUIRED)
    assert "ApprovalDocumentName" in plan.blockers[0].fix
    assert planned(network(), ledger=record(approval=found)).blockers == ()


def test_approved_heal_is_planned() -> None:
    """An approval counts until it expires."""
    ledger = record(approval=approval(ApprovalState.APPROVED))
    assert planned(network(), ledger=ledger, needs_approval=True).action is PlanAction.CREATE_AND_ASSOCIATE


@pytest.mark.parametrize(
    ("snapshot", "more"),
    [
        (network(subnets=(subnet(), subnet("subnet-2"))), {}),
        (network(endpoints=(endpoint(),)), {}),
        (
            network(),
            {
                "policy": '{"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3express:*", "Resource": "*"}]}'
            },
        ),
    ],
    ids=["a subnet joined the table", "another endpoint", "another policy"],
)
def test_approval_is_bound_to_the_plan_that_was_shown(snapshot: Snapshot, more: dict[str, str]) -> None:
    """If the plan that runs differs from it, the heal needs a new approval."""
    plan = planned(snapshot, ledger=record(approval=approval(ApprovalState.APPROVED)), needs_approval=True, **more)
    assert blockers(plan) == [Blocker.APPROVAL_REQUIRED]
    assert "the plan has changed" in evidence_of(plan, Blocker.APPROVAL_REQUIRED)


def test_approval_is_bound_to_the_policy_of_an_endpoint_that_exists() -> None:
    """Somebody can replace it after the approval."""
    snapshot = network(endpoints=(endpoint(),))
    shown, now = (Evidence(policies=(Policy("vpce-express", text),)) for text in (FULL_ACCESS, '{"Statement": []}'))
    approved = Approval(ApprovalState.APPROVED, "ask-1", SECONDS + 1, planned(snapshot, shown).fingerprint)
    ledger = record(approval=approved)
    assert planned(snapshot, shown, ledger=ledger, needs_approval=True).action is PlanAction.ASSOCIATE
    assert Blocker.APPROVAL_REQUIRED in blockers(planned(snapshot, now, ledger=ledger, needs_approval=True))


def test_approved_heals_share_the_endpoint_that_the_first_one_creates() -> None:
    """For approvers, an endpoint that a heal created since is the one that they approved."""
    snapshot = network(endpoints=(endpoint(),))
    evidence = Evidence(policies=(Policy("vpce-express", FULL_ACCESS),))
    vpc = VpcRecord("vpc-1", created_ids=frozenset({"vpce-express"}))
    ledger = replace(record(approval=approval(ApprovalState.APPROVED)), vpc=vpc)
    assert planned(snapshot, evidence, ledger=ledger, needs_approval=True).action is PlanAction.ASSOCIATE
