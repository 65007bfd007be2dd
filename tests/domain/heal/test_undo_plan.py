"""The plan of an undo, from the ledger's record of the heal and the current state in EC2."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from express_path.domain.heal.ledger_records import (
    Marks,
    RunKind,
    RunRecord,
    StartedBy,
    TableRecord,
    VpcRecord,
)
from express_path.domain.heal.ownership import policy_hash
from express_path.domain.heal.records import FULL_ACCESS, MANAGED_TAG, HealSettings
from express_path.domain.heal.undo_plan import (
    MAX_NAMED_SUBNETS,
    HealRecords,
    LiveResources,
    UndoChange,
    UndoFact,
    UndoFactCode,
    UndoPlan,
    check_heal,
    check_not_undone,
    make_undo_plan,
    moves,
)
from express_path.domain.network.resources import RouteTable, VpcEndpoint
from express_path.errors import UndoBlockedError, UndoError
from tests.support.make import ACCOUNT, NEIGHBOUR, REGION, by_id, endpoint, evaluator, route, snapshot, subnet, table

HEAL = RunRecord(
    "run-1",
    RunKind.HEAL,
    StartedBy.PERSON,
    ACCOUNT,
    "subnet-1",
    "vpc-1",
    "rtb-1",
    "vpce-express",
    created_endpoint=True,
    intended_at="2026-11-22T12:00:00+00:00",
    associated_at="2026-11-22T12:00:00+00:00",
)
INTENDED = replace(HEAL, created_endpoint=False, associated_at="")
SETTINGS = HealSettings()
OURS = endpoint(tags={MANAGED_TAG: "true"})
ROUTED = table("rtb-1", route("pl-express", "vpce-express"))
PLAIN = table("rtb-1", route("0.0.0.0/0", "nat-1"))
FULL = replace(HEAL, marks=Marks(policy=policy_hash(FULL_ACCESS)))
LIMITED = replace(HEAL, marks=Marks(policy=policy_hash("{}")))
TEAMED = replace(HEAL, marks=Marks(policy=policy_hash(FULL_ACCESS), tag_keys=frozenset({MANAGED_TAG, "Team"})))
CREATED = VpcRecord("vpc-1", created_ids=frozenset({"vpce-express"}))


def records(heal: RunRecord = HEAL, *, vpc: VpcRecord = CREATED, last: RunRecord | None = HEAL) -> HealRecords:
    """Return the ledger's record of a heal that associated rtb-1."""
    return HealRecords(heal, TableRecord("rtb-1"), vpc, last, (), datetime.min.replace(tzinfo=UTC), is_in_history=True)


def seen(*endpoints: VpcEndpoint, tables: tuple[RouteTable, ...] = (PLAIN,)) -> LiveResources:
    """What EC2 shows."""
    return LiveResources(tables, endpoints)


@pytest.mark.parametrize(
    ("shown", "tables"),
    [
        (replace(OURS, route_table_ids=("rtb-1",)), (ROUTED,)),
        (replace(OURS, route_table_ids=("rtb-1",)), (PLAIN,)),
        (OURS, (ROUTED,)),
        (replace(OURS, route_table_ids=("rtb-1",)), ()),
    ],
    ids=["both", "the endpoint's list", "routes", "table not listed"],
)
def test_association_goes_first(shown: VpcEndpoint, tables: tuple[RouteTable, ...]) -> None:
    """Routes or the endpoint's list say that the table uses it; the plan says that the deletion follows."""
    undo = make_undo_plan(records(), seen(shown, tables=tables), REGION, SETTINGS)
    assert (undo.change, undo.associated, undo.deletes, undo.kept) == (UndoChange.DISASSOCIATE, True, True, "")


@pytest.mark.parametrize(
    ("undo", "codes"),
    [
        (UndoPlan(HEAL, associated=True, is_live=True), ["DISASSOCIATE", "DELETE_ENDPOINT"]),
        (UndoPlan(HEAL, associated=False, is_live=True, kept="rtb-2 uses it"), ["NOT_ASSOCIATED", "KEEP_ENDPOINT"]),
        (UndoPlan(HEAL, associated=False, is_live=False), ["NOT_ASSOCIATED", "ENDPOINT_GONE"]),
        (UndoPlan(INTENDED, associated=False, is_live=False), ["NOT_ASSOCIATED", "UNCONFIRMED", "ENDPOINT_GONE"]),
    ],
    ids=["all of it", "endpoint stays", "nothing left", "not confirmed"],
)
def test_facts_say_what_happens_to_the_table_and_the_endpoint(undo: UndoPlan, codes: list[str]) -> None:
    """What the ledger does not confirm is said, too."""
    assert [fact.code for fact in undo.facts()] == codes


@pytest.mark.parametrize("state", ["available", "pending"])
def test_unused_endpoint_of_a_heal_is_deleted(state: str) -> None:
    """Without a table, the endpoint that a heal created goes, whichever heal that was."""
    heal = replace(HEAL, created_endpoint=False)
    assert (
        make_undo_plan(records(heal), seen(replace(OURS, state=state)), REGION, SETTINGS).change
        is UndoChange.DELETE_ENDPOINT
    )


@pytest.mark.parametrize(
    ("undo", "why"),
    [
        (make_undo_plan(records(vpc=VpcRecord("vpc-1")), seen(OURS), REGION, SETTINGS), "no heal created it"),
        (
            make_undo_plan(records(), seen(endpoint()), REGION, SETTINGS),
            "somebody else owns it (vpce-express no longer has the tag express-path:managed=true)",
        ),
        (make_undo_plan(records(), seen(replace(OURS, route_table_ids=("rtb-2",))), REGION, SETTINGS), "rtb-2 uses it"),
        (
            make_undo_plan(
                records(),
                seen(
                    replace(OURS, route_table_ids=("rtb-1", "rtb-2")),
                    tables=(ROUTED, replace(ROUTED, id="rtb-3")),
                ),
                REGION,
                SETTINGS,
            ),
            "rtb-2, rtb-3 use it",
        ),
    ],
    ids=["not created by a heal", "not managed", "used by one", "used by others too"],
)
def test_other_endpoints_stay(undo: UndoPlan, why: str) -> None:
    """The reason is named; only the association goes."""
    assert undo.is_live
    assert not undo.deletes
    assert undo.kept.startswith(why)
    assert undo.change is (UndoChange.DISASSOCIATE if undo.associated else UndoChange.FINISH)


@pytest.mark.parametrize(
    ("creators", "why"),
    [
        ((), ""),
        ((TEAMED,), ""),
        ((TEAMED, LIMITED), "somebody replaced the policy of"),
        ((TEAMED, FULL), 'with the keys "Team"'),
    ],
    ids=["unknown", "the same", "another policy", "another tag"],
)
def test_endpoint_that_changed_before_a_later_heal_stays(creators: tuple[RunRecord, ...], why: str) -> None:
    """Somebody took it over between its creation and that heal, whose undo only removes its own association."""
    later = replace(TEAMED, created_endpoint=False)
    live = LiveResources((ROUTED,), (replace(OURS, tags={**OURS.tags, "Team": "a"}),), FULL_ACCESS)
    undo = make_undo_plan(replace(records(later), creators=creators), live, REGION, SETTINGS)
    assert undo.associated
    assert why in undo.kept
    assert undo.deletes is (not why)


@pytest.mark.parametrize("shown", [(), (replace(OURS, state="deleting"),), (replace(OURS, state="deleted"),)])
def test_nothing_is_left_where_the_endpoint_is_gone(shown: tuple[VpcEndpoint, ...]) -> None:
    """EC2 removes the routes with the endpoint."""
    undo = make_undo_plan(records(), seen(*shown, tables=(ROUTED,)), REGION, SETTINGS)
    assert (undo.change, undo.is_live, undo.deletes) == (UndoChange.FINISH, False, False)


def test_table_that_the_heal_did_not_change_stays() -> None:
    """A heal that ended after it created the endpoint associated nothing: others made the associations."""
    created = replace(HEAL, intended_at="", associated_at="")
    undo = make_undo_plan(records(created), seen(OURS, tables=(ROUTED,)), REGION, SETTINGS)
    assert (undo.associated, undo.kept, undo.change) == (False, "rtb-1 uses it", UndoChange.FINISH)


def test_heal_that_can_be_undone() -> None:
    """A heal of this account that changed something passes; so does one that only created an endpoint."""
    assert check_heal("run-1", HEAL, ACCOUNT) is HEAL
    created = replace(HEAL, intended_at="", associated_at="")
    assert check_heal("run-1", created, ACCOUNT) is created
    check_not_undone(HEAL)


@pytest.mark.parametrize(
    ("run", "account_id", "found"),
    [
        (None, ACCOUNT, "the ledger has no such run"),
        (replace(HEAL, kind=RunKind.UNDO, heal_run_id="run-0"), ACCOUNT, "it is not a heal, but the undo of run run-0"),
        (HEAL, NEIGHBOUR, f"it healed a subnet of account {ACCOUNT}"),
        (replace(INTENDED, intended_at=""), ACCOUNT, "it changed nothing"),
    ],
)
def test_other_runs_are_refused(run: RunRecord | None, account_id: str, found: str) -> None:
    """The error names the run and its state in the ledger."""
    with pytest.raises(UndoError, match=f"run run-1 cannot be undone: {found}") as raised:
        check_heal("run-1", run, account_id)
    assert (raised.value.run_id, raised.value.found) == ("run-1", found)


@pytest.mark.parametrize(
    ("heal", "named"),
    [
        (INTENDED, ("2026-11-22T12:00:00+00:00", "ModifyVpcEndpoint", "AddRouteTableId rtb-1", "vpce-express")),
        (replace(INTENDED, finished_at="2026-11-22T12:00:05+00:00"), ("ModifyVpcEndpoint",)),
        (
            replace(INTENDED, intended_at="", creation_intended_at="2026-11-22T11:59:00+00:00", endpoint_id=""),
            ("2026-11-22T11:59:00+00:00", "CreateVpcEndpoint", "vpc-1"),
        ),
    ],
    ids=["association", "another tool healed the table", "creation"],
)
def test_intention_alone_is_never_undone(heal: RunRecord, named: tuple[str, ...]) -> None:
    """The error names the CloudTrail event that shows whether the call succeeded, and the run in its session."""
    with pytest.raises(UndoBlockedError, match="BLOCKED: run run-1 cannot be undone: ") as raised:
        check_heal("run-1", heal, ACCOUNT)
    assert all(text in str(raised.value) for text in (*named, "CloudTrail", "contains run-1"))


def test_unconfirmed_association_is_not_removed() -> None:
    """A heal created the endpoint, and its association is not confirmed: the endpoint goes only if nothing uses it."""
    heal = replace(INTENDED, created_endpoint=True)
    assert check_heal("run-1", heal, ACCOUNT) is heal
    with pytest.raises(UndoBlockedError, match="ModifyVpcEndpoint"):
        make_undo_plan(records(heal), seen(OURS, tables=(ROUTED,)), REGION, SETTINGS)
    assert make_undo_plan(records(heal), seen(OURS), REGION, SETTINGS).change is UndoChange.DELETE_ENDPOINT


UNOWNED = Marks(policy=policy_hash(FULL_ACCESS))
STACK = {"aws:cloudformation:stack-id": "arn:stack"}
OTHER_POLICY = '{"Statement": []}'


def taken(
    heal: RunRecord,
    *,
    endpoint_tags: dict[str, str] | None = None,
    table_tags: dict[str, str] | None = None,
    policy: str = FULL_ACCESS,
    settings: HealSettings = SETTINGS,
    vpc: VpcRecord = CREATED,
    tables: tuple[RouteTable, ...] = (ROUTED,),
) -> UndoPlan:
    """Plan the undo of a heal after its endpoint and route table got these tags and this policy."""
    endpoint_now = replace(OURS, tags={**OURS.tags, **(endpoint_tags or {})})
    tables = tuple(replace(found, tags=table_tags or {}) for found in tables)
    return make_undo_plan(
        records(heal, vpc=vpc, last=heal), LiveResources(tables, (endpoint_now,), policy), REGION, settings
    )


OWNERS = HealSettings(owner_tags=("by=terraform",))
TERRAFORM = {"by": "terraform"}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"endpoint_tags": STACK}, "vpce-express has the tag aws:cloudformation:stack-id=arn:stack"),
        ({"table_tags": STACK}, "rtb-1 has the tag aws:cloudformation:stack-id=arn:stack"),
        ({"endpoint_tags": TERRAFORM, "settings": OWNERS}, "vpce-express has the tag by=terraform"),
        ({"table_tags": TERRAFORM, "settings": OWNERS}, "rtb-1 has the tag by=terraform"),
        ({"policy": OTHER_POLICY}, "somebody replaced the policy of vpce-express"),
        ({"policy": ""}, "somebody replaced the policy of vpce-express"),
        ({"endpoint_tags": {"Team": "a", "A\n": "b"}}, r'with the keys "A\\n", "Team"; .* AutomaticTagKeys'),
        ({"endpoint_tags": {MANAGED_TAG: "false"}}, "vpce-express no longer has the tag express-path:managed=true"),
    ],
)
def test_what_others_own_since_the_heal_is_left_alone(change: dict[str, Any], found: str) -> None:
    """The undo is blocked while the table uses the endpoint; afterwards, only the endpoint stays."""
    heal = replace(HEAL, marks=UNOWNED)
    assert taken(heal).change is UndoChange.DISASSOCIATE
    with pytest.raises(UndoBlockedError, match=found):
        taken(heal, **change)
    left = taken(heal, **change, tables=(PLAIN,))
    assert (left.change, left.kept.startswith("somebody else owns it")) == (UndoChange.FINISH, True)


def test_owners_that_the_heal_saw_block_nothing() -> None:
    """An owner of before the heal does not block, and its endpoint is not deleted. A new owner in its place blocks."""
    owner = "aws:cloudformation:stack-id=arn:stack"
    heal = replace(HEAL, marks=Marks(owner, owner, UNOWNED.policy, frozenset(STACK)))
    undo = taken(heal, endpoint_tags=STACK, table_tags=STACK)
    assert (undo.change, undo.deletes) == (UndoChange.DISASSOCIATE, False)
    with pytest.raises(UndoBlockedError, match=r"rtb-1 has the tag aws:cloudformation:stack-id=arn:2"):
        taken(heal, table_tags={"aws:cloudformation:stack-id": "arn:2"})


def test_tags_that_say_nothing_about_owners_do_not_block() -> None:
    """The heal read one key back, and the setting names the other. An endpoint that no heal created may get any tag."""
    tags = {"Team": "a", "CostCenter": "1"}
    automatic = HealSettings(automatic_tag_keys=frozenset({"CostCenter"}))
    undo = taken(TEAMED, endpoint_tags=tags, settings=automatic)
    assert (undo.change, undo.deletes) == (UndoChange.DISASSOCIATE, True)
    with pytest.raises(UndoBlockedError, match='with the keys "CostCenter"'):
        taken(TEAMED, endpoint_tags=tags)
    assert taken(FULL, endpoint_tags=tags | {MANAGED_TAG: ""}, vpc=VpcRecord("vpc-1")).associated


def test_owners_do_not_block_if_heals_may_adopt_what_they_own() -> None:
    """With AdoptIacOwned, the association is removed, and the endpoint still stays."""
    adopting = replace(OWNERS, adopt_iac_owned=True)
    for tags in (TERRAFORM | STACK, {"Team": "a"}):
        undo = taken(replace(HEAL, marks=UNOWNED), endpoint_tags=tags, table_tags=tags, settings=adopting)
        assert (undo.change, undo.deletes) == (UndoChange.DISASSOCIATE, False)


def test_policy_is_compared_by_its_meaning_and_only_for_endpoints_of_heals() -> None:
    """Names, the order, and a list of one value do not matter. The owner of an endpoint may change its policy."""
    heal = replace(HEAL, marks=replace(UNOWNED, policy=policy_hash('{"Version": "1", "Statement": []}')))
    assert taken(heal, policy='{"Statement":[],"Version":"1"}').change is UndoChange.DISASSOCIATE
    same = '{"Statement": {"Sid": "All", "Principal": "*", "Resource": ["*"], "Action": ["*"], "Effect": "Allow"}}'
    assert policy_hash(same[:-1] + ', "Id": "x", "Version": "2008-10-17"}') == UNOWNED.policy
    assert policy_hash(same.replace("Allow", "Deny")) != policy_hash(same)
    assert policy_hash('{"Action": ["b", "a"]}') == policy_hash('{"Action": ["a", "b", "a"]}')
    assert taken(heal, policy=OTHER_POLICY, vpc=VpcRecord("vpc-1")).change is UndoChange.DISASSOCIATE
    assert policy_hash("not JSON") not in ("", policy_hash("other"))


MADE = datetime(2026, 11, 22, 12, 0, 0, 500, tzinfo=UTC)
FOREIGN = VpcRecord("vpc-1")
UNCREATED = replace(HEAL, created_endpoint=False)


@pytest.mark.parametrize(
    ("seconds", "ledger", "is_refused"),
    [
        (0, records(UNCREATED), False),
        (1, records(UNCREATED), True),
        (1, records(HEAL, vpc=FOREIGN), True),
        (1, records(UNCREATED, vpc=FOREIGN), False),
        (1, replace(records(UNCREATED, vpc=FOREIGN), is_in_history=False), True),
    ],
    ids=["as old", "older, of the VPC's heals", "older, of this heal", "older, of others", "older, unknown run"],
)
def test_ledger_younger_than_the_endpoint_is_refused(seconds: int, ledger: HealRecords, *, is_refused: bool) -> None:
    """It cannot be the ledger of the heal that created the endpoint. Others may have had an endpoint before."""
    live = replace(seen(OURS, tables=(ROUTED,)), created_at=MADE.replace(microsecond=0) - timedelta(seconds=seconds))
    ledger = replace(ledger, ledger_since=MADE)
    if is_refused:
        with pytest.raises(
            UndoBlockedError, match=r"the ledger was created at 2026-11-22 12:00.*, after vpce-express at"
        ):
            make_undo_plan(ledger, live, REGION, SETTINGS)
    else:
        assert make_undo_plan(ledger, live, REGION, SETTINGS).associated


def test_undone_heal_is_refused() -> None:
    """The run that undid it is named."""
    with pytest.raises(UndoError, match="run run-5 undid it already"):
        check_not_undone(replace(HEAL, undo_run_id="run-5"))


def test_heal_that_another_one_replaced_is_refused() -> None:
    """What the table has now is the later heal's."""
    later = replace(HEAL, run_id="run-2")
    with pytest.raises(UndoError, match=r"run run-2 started to associate rtb-1 again at 2026-.*; undo that run"):
        make_undo_plan(records(last=later), seen(OURS), REGION, SETTINGS)
    with pytest.raises(UndoError, match=r"run run-2 started to associate rtb-1 again at 2026-"):
        make_undo_plan(records(last=replace(later, associated_at="")), seen(OURS), REGION, SETTINGS)
    only_created = replace(HEAL, intended_at="", associated_at="")
    assert (
        make_undo_plan(records(only_created, last=later), seen(OURS), REGION, SETTINGS).change
        is UndoChange.DELETE_ENDPOINT
    )
    assert make_undo_plan(records(last=None), seen(OURS), REGION, SETTINGS).change is UndoChange.DELETE_ENDPOINT


@pytest.mark.parametrize(
    ("sight", "found"),
    [
        (seen(OURS, OURS), "EC2 lists 2 endpoints with the id vpce-express"),
        (seen(replace(OURS, service_name=f"com.amazonaws.{REGION}.s3")), "of type gateway for com.amazonaws"),
        (seen(replace(OURS, endpoint_type="interface")), "an endpoint of type interface"),
        (seen(replace(OURS, vpc_id="vpc-2")), "vpce-express is in vpc-2, not in vpc-1"),
        (seen(replace(OURS, owner_id=NEIGHBOUR)), f"vpce-express belongs to account {NEIGHBOUR}"),
        (seen(OURS, tables=(replace(ROUTED, owner_id=NEIGHBOUR),)), f"rtb-1 belongs to account {NEIGHBOUR}"),
    ],
    ids=["two", "other service", "other type", "other VPC", "other owner", "other owner of the table"],
)
def test_what_the_heal_did_not_leave_is_refused(sight: LiveResources, found: str) -> None:
    """Nothing is removed if EC2's state differs from the record; the error describes the difference."""
    with pytest.raises(UndoError, match=found.replace(".", r"\.")):
        make_undo_plan(records(), sight, REGION, SETTINGS)


def test_moves_name_where_the_traffic_goes() -> None:
    """Each subnet of the table by the way that it then takes; other tables' subnets are left out."""
    routed = table("rtb-1", route("0.0.0.0/0", "nat-1"), route("pl-express", "vpce-express"), subnets=("subnet-1",))
    other = table("rtb-2", subnets=("subnet-2",))
    network = snapshot(
        subnets=by_id(subnet(), subnet("subnet-2"), subnet("subnet-3")),
        route_tables=by_id(routed, other),
        vpc_endpoints=by_id(OURS),
    )
    assert moves(evaluator(network), "rtb-1", "vpce-express") == (
        UndoFact(UndoFactCode.MOVE, "subnet-1", "use nat-1 (NAT_GATEWAY)"),
    )
    assert moves(evaluator(network), "rtb-9", "vpce-express") == ()


def test_moves_of_many_subnets_are_counted() -> None:
    """A step's output is limited, so further subnets are counted. One without another way has no path."""
    names = [f"subnet-{number:03}" for number in range(MAX_NAMED_SUBNETS + 2)]
    routed = table("rtb-1", route("pl-express", "vpce-express"), subnets=tuple(names))
    network = snapshot(subnets=by_id(*map(subnet, names)), route_tables=by_id(routed), vpc_endpoints=by_id(OURS))
    found = moves(evaluator(network), "rtb-1", "vpce-express")
    assert found[0] == UndoFact(UndoFactCode.MOVE, "subnet-000", "be NO_ROUTE")
    assert (len(found), found[-1]) == (MAX_NAMED_SUBNETS + 1, UndoFact(UndoFactCode.MORE_MOVES, "rtb-1", "2"))
