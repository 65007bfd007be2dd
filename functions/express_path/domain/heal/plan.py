"""The plan of a heal: what the runbook would change so that the verdict turns COMPLIANT, or why it may not."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from express_path.domain.heal.endpoint_choice import (
    NEW_ENDPOINT,
    brought_lists,
    endpoint_findings,
    endpoint_to_create,
    is_associated,
    usable_endpoints,
)
from express_path.domain.heal.evidence import Evidence, Policy
from express_path.domain.heal.ledger import LedgerView, StartedBy
from express_path.domain.heal.ledger_findings import ledger_findings
from express_path.domain.heal.patches import associate_patches, create_patches
from express_path.domain.heal.preflight import calendar_findings, preflight
from express_path.domain.heal.quotas import quota_findings
from express_path.domain.heal.records import MAY_WARN, Action, Blocker, Finding, HealSettings, Plan
from express_path.domain.heal.simulation import cures, excluded_neighbours, in_the_way, with_association
from express_path.domain.network.resources import RouteTable, VpcEndpoint
from express_path.domain.path.reasons import NAT_REASONS, Compliance, Reason
from express_path.domain.verdict.evaluator import Judge, Verdict

LISTED = 10
"""How many findings of one name a plan lists."""


class Circumstances(NamedTuple):
    """What a plan is made from besides the snapshot.

    ledger is what the ledger says about the subnet's route table and VPC, None where there is no ledger to ask.
    needs_approval: the heal must have been approved, and its approval must not have been used.
    """

    evidence: Evidence
    settings: HealSettings
    now: datetime
    ledger: LedgerView | None = None
    started_by: StartedBy = StartedBy.PERSON
    needs_approval: bool = False


def make_plan(judge: Judge, subnet_id: str, around: Circumstances) -> Plan:
    """Plan the heal of a subnet; nothing is planned for a subnet that no NAT is on the way of."""
    verdict = judge.verdict(subnet_id)
    refusal = REFUSALS.get(verdict.reason)
    if refusal:
        return Plan(Action.BLOCKED, verdict, blockers=(refusal, *calendar_findings(around.evidence)))
    if verdict.compliance is not Compliance.NON_COMPLIANT:
        return Plan(Action.NOTHING_TO_DO, verdict)
    if not is_healable(verdict):
        return Plan(Action.BLOCKED, verdict, blockers=(_not_a_nat(verdict), *calendar_findings(around.evidence)))
    return _heal(judge, verdict, around)


def is_healable(verdict: Verdict) -> bool:
    """Whether a verdict is of the kind that an endpoint's route may cure: a NAT is on the way."""
    return verdict.reason in {*NAT_REASONS, Reason.PARTLY_NAT}


REFUSALS = {
    Reason.NOT_OWNED: Finding(
        Blocker.NOT_OWNED, "the subnet belongs to another account", "run the heal in the account that owns the VPC"
    ),
    Reason.EXCLUDED: Finding(
        Blocker.EXCLUDED,
        "excludeTag or vpcIds leaves the subnet out",
        "take the tag away, or change the rule parameter",
    ),
}
"""What blocks a heal although the rule does not flag the subnet, by the reason of its verdict."""


def _not_a_nat(verdict: Verdict) -> Finding:
    return Finding(
        Blocker.NOT_A_NAT_PATH,
        verdict.annotation,
        "only paths that cross a NAT are healed; associate the table by hand",
    )


def _heal(judge: Judge, verdict: Verdict, around: Circumstances) -> Plan:
    table = judge.snapshot.route_tables[str(verdict.route_table_id)]
    endpoint = _endpoint(judge, verdict, table, around)
    findings = list(_findings(judge, verdict, endpoint, around))
    may_warn = around.settings.warn_only & MAY_WARN
    warnings = tuple(each for each in findings if each.blocker in may_warn)
    blockers = tuple(each for each in findings if each.blocker not in may_warn)
    plan = _create(verdict, endpoint, around) if endpoint.id == NEW_ENDPOINT else _associate(verdict, endpoint, around)
    return replace(
        plan,
        action=Action.BLOCKED if blockers else plan.action,
        blockers=shortened(blockers),
        warnings=shortened(warnings),
        patches={} if is_associated(judge.snapshot, table, endpoint) else plan.patches,
    )


def _endpoint(judge: Judge, verdict: Verdict, table: RouteTable, around: Circumstances) -> VpcEndpoint:
    """The endpoint to associate: the best that cures, else that in use, else the best that fits, else a new one.

    One that an undo deletes, or is about to delete, is not used again.
    """
    deleted = around.ledger.vpc.deleted_ids if around.ledger else frozenset()
    usable = [each for each in usable_endpoints(judge.tracer, table, around.settings) if each.id not in deleted]
    curing = [each for each in usable if cures(judge, table, each, verdict.subnet_id)]
    in_use = [each for each in usable if is_associated(judge.snapshot, table, each)]
    return next(iter([*curing, *in_use, *usable]), None) or endpoint_to_create(judge.tracer, table)


def _findings(judge: Judge, verdict: Verdict, endpoint: VpcEndpoint, around: Circumstances) -> Iterator[Finding]:
    snapshot, settings, evidence = judge.snapshot, around.settings, around.evidence
    table = snapshot.route_tables[str(verdict.route_table_id)]
    yield from excluded_neighbours(judge, table)
    yield from in_the_way(judge, with_association(snapshot, table, endpoint), verdict.subnet_id)
    yield from endpoint_findings(snapshot, table, endpoint, settings)
    yield from quota_findings(snapshot, table, endpoint, evidence, settings)
    if around.ledger:
        yield from ledger_findings(
            table, around.ledger.table, around.now, around.started_by, needs_approval=around.needs_approval
        )
    own = Policy(endpoint.id, settings.policy)
    others = [each for each in evidence.policies if each.holder == endpoint.id or not each.holder.startswith("vpce-")]
    met = replace(evidence, policies=(own, *others) if endpoint.id == NEW_ENDPOINT else tuple(others))
    yield from preflight(met, [each for each in brought_lists(snapshot, endpoint) if each.cidrs])


def shortened(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """At most ten findings of a name: what a step may answer has an upper size, and ten show the pattern."""
    kept: list[Finding] = []
    for blocker in dict.fromkeys(each.blocker for each in findings):
        same = [each for each in findings if each.blocker is blocker]
        kept += same[:LISTED]
        if len(same) > LISTED:
            kept.append(Finding(blocker, f"and {len(same) - LISTED} more of the same", same[0].cure))
    return tuple(kept)


def _associate(verdict: Verdict, endpoint: VpcEndpoint, around: Circumstances) -> Plan:
    return Plan(
        Action.ASSOCIATE,
        verdict,
        service_name=endpoint.service_name,
        endpoint_id=endpoint.id,
        ip_address_type=endpoint.ip_address_type,
        patches=associate_patches(endpoint, str(verdict.route_table_id), around.evidence.policies),
    )


def _create(verdict: Verdict, endpoint: VpcEndpoint, around: Circumstances) -> Plan:
    settings = around.settings
    return Plan(
        Action.CREATE_AND_ASSOCIATE,
        verdict,
        service_name=endpoint.service_name,
        policy=settings.policy,
        ip_address_type=endpoint.ip_address_type,
        patches=create_patches(endpoint, str(verdict.route_table_id), settings.policy),
    )
